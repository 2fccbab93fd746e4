/**
 * The step player: the same board, of which one step is shown at a time: the matrix that is made
 * in it, large, beside those that it is made of. All else of the board goes on as ever.
 *
 * "Predict first" hides one number of the step until a guess is typed. What is hidden is taken out
 * of the matrices before anything is painted or explained, so that nothing can betray it.
 */

import { arrange } from "./arrangement.js";
import { clipped, element, update } from "./element.js";
import { formatNumber, parseNumber, readsAs } from "./number.js";
import { OPENED } from "./opened.js";
import { PlayerBar } from "./player_bar.js";
import { isPerHead, largest, sentence, spoken } from "./sentence.js";
import { writing } from "./sheet.js";
import { store, stored } from "./stored.js";
import * as view from "./view.js";

/** @typedef {import("./board.js").Board} Board */
/** @typedef {import("./board.js").Place} Place */
/** @typedef {import("./view.js").Matrix} Matrix */

const HIDDEN = "?";
const LAST_STEP = 3; // the row of weights in an opened softmax
const SAME = 1e-9; // relative: the preview and Python differ in the last bits
const NARROW = 30; // rem; below it, as in the style sheet, cards stand below each other
const USUAL = 6; // characters that every cell has room for: "−0.123"
const HEADER = 4; // rem, of the page
const CAPTION = 1.6; // times the smallest type
const SIGNS = { matmul: "·=", matmul_transposed: "·=", add: "+=", mask: "+=" };

/**
 * X, and then every matrix that is made of others.
 *
 * @param {Matrix[]} matrices
 */
export function steps(matrices) {
  return matrices.filter(({ id, operation }) => id === "X" || (operation.of && id !== OPENED));
}

/**
 * The columns of a row whose numbers can be predicted: what is given, masked, put together or
 * copied from the matrix before is in plain sight.
 *
 * @param {Matrix} matrix
 * @param {Matrix[]} operands
 * @param {number} row
 * @returns {number[]}
 */
export function askable({ values, operation: { kind } }, operands, row) {
  const isOpen = OPEN[kind] ?? (() => false);
  return values[row].flatMap((value, column) =>
    value !== null && isOpen(value, operands[0]?.values[row][column]) ? [column] : [],
  );
}

const differs = (value, before) => value !== before;

/** Whether a number says something that the same place of the first operand does not. */
const OPEN = {
  matmul: () => true,
  matmul_transposed: () => true,
  add: differs,
  scale: differs,
  rotate: differs,
  softmax: (_, before) => before !== null,
};

export class Player {
  /** @param {Board} board */
  constructor(board) {
    this.board = board;
    this.choices = stored("play", (value) => typeof value === "object") ?? {}; // by layout
    this.step = stored("play.step", (value) => typeof value?.id === "string");
    this.predicts = stored("play.predict", (value) => value === true) ?? false;
    this.guesses = new Map(); // by place: the guess, and the number it was for
    this.ask = null; // the cell to be predicted in this step, guessed or not
    this.guess = null; // the field in it
    this.fitted = ""; // what the cards were fitted to
    this.bar = new PlayerBar({
      go: (index) => this.go(index),
      move: (step) => this.go(this.index + step),
      close: () => this.toggle(false),
      predict: (predicts) => this.togglePredict(predicts),
    });
    this.signs = [1, 3].map((order) => {
      const style = `order: ${order}`;
      return element("span", { class: "sign", style, "aria-hidden": "true" });
    });
    new ResizeObserver(() => this.isOn && this.fit()).observe(board.root);
  }

  // --- what is shown

  get data() {
    return this.board.data;
  }

  /** Whether one step is shown; on a projector it is, until all are asked for. */
  get isOn() {
    if (this.data?.of !== "experiment") return false;
    return this.choices[this.data.view] ?? this.data.view === "projector";
  }

  /** The token that is spoken of: the one that is followed, else the first. */
  get row() {
    return this.board.followedToken() ?? 0;
  }

  /** The step that is shown: where its matrix is gone, the one that stood next to it. */
  get index() {
    const index = this.steps.findIndex(({ id }) => id === this.step?.id);
    return index < 0 ? Math.min(this.step?.index ?? 0, this.steps.length - 1) : index;
  }

  /** Reads the data anew: which steps there are, and what is asked in this one. */
  look() {
    if (!this.isOn) {
      this.ask = null;
      return;
    }
    const { matrices } = this.data;
    this.steps = steps(matrices);
    this.matrix = this.steps[this.index];
    const of = this.matrix.operation.of ?? [];
    this.operands = of.map((id) => matrices.find((matrix) => matrix.id === id));
    this.ask = this.predicts ? this.asked() : null;
  }

  /** The same cell as before, as long as it can be asked for: another one would show this one. */
  asked() {
    const { matrix, operands, row, ask } = this;
    const { head } = this.data;
    const isSame = ask?.id === matrix.id && ask.row === row && ask.head === head;
    const columns = askable(matrix, operands, row);
    if (isSame && columns.includes(ask.column)) return ask;
    const [column] = largest(matrix.values[row].map((value, k) => (columns.includes(k) ? Math.abs(value) : null)));
    return column === undefined ? null : { id: matrix.id, row, column, head };
  }

  /** The guess for the number that is there now. */
  guessed() {
    const given = this.ask && this.guesses.get(keyOf(this.ask));
    return given && isSame(given.value, this.answer()) ? given : null;
  }

  answer() {
    return this.matrix.values[this.ask.row][this.ask.column];
  }

  /** The cell that nothing may betray. @returns {Place | null} */
  hidden() {
    return this.ask && !this.guessed() ? this.ask : null;
  }

  /** @param {Place} place */
  isHidden({ id, row, column }) {
    const hidden = this.hidden();
    return Boolean(hidden) && hidden.id === id && hidden.row === row && hidden.column === column;
  }

  /** Whether a matrix is part of what is shown; all are where there is no player. */
  shows(id) {
    if (!this.isOn) return true;
    if (id === OPENED) return this.matrix.id === "weights" && !this.hidden();
    return id === this.matrix.id || this.operands.some((operand) => operand.id === id);
  }

  /** The matrices without the number that is hidden. @param {Matrix[]} matrices */
  redacted(matrices) {
    const hidden = this.hidden();
    if (!hidden) return matrices;
    const without = (matrix, row) => ({
      ...matrix,
      values: matrix.values.map((line, i) => (i === row ? line.with(hidden.column, HIDDEN) : line)),
    });
    return matrices.map((matrix) => {
      if (matrix.id === hidden.id) return without(matrix, hidden.row);
      return matrix.id === OPENED && hidden.id === "weights" ? without(matrix, LAST_STEP) : matrix;
    });
  }

  /** What moved, without what the hidden number was. @param {import("./compare.js").Changes} changes */
  redactedChanges(changes) {
    const hidden = this.hidden();
    const rows = hidden && changes.get(hidden.id);
    if (!rows) return changes;
    const kept = rows.map((line, i) => (i === hidden.row ? line.with(hidden.column, undefined) : line));
    return new Map([...changes, [hidden.id, kept]]);
  }

  /** The cell that is explained while none is pointed at. @returns {Place | null} */
  cell() {
    if (!this.isOn) return null;
    if (this.ask) return this.ask;
    const { matrix, row } = this;
    const [column = 0] = spoken(matrix, this.operands, row);
    return { id: matrix.id, row, column };
  }

  // --- painting

  /** Before the cells are painted: which cards are shown, and in which order. */
  place() {
    const { root, view: shown } = this.board;
    update(root, null, { "data-view": this.data.view });
    if (!this.isOn && !root.classList.contains("playing")) return; // while a number is dragged, too
    root.classList.toggle("playing", this.isOn);
    this.bar.node.hidden = !this.isOn;
    if (!this.isOn) {
      shown.stages.removeAttribute("style");
      delete shown.stages.dataset.layout;
      this.fitted = "";
    }
    const order = this.isOn ? [...this.operands, this.matrix].map(({ id }) => id) : [];
    for (const [id, sheet] of shown.sheets) {
      const isPlayed = this.isOn && this.shows(id);
      sheet.node.classList.toggle("played", isPlayed);
      const place = id === OPENED ? order.length : order.indexOf(id);
      sheet.node.style.order = isPlayed ? String(2 * place) : "";
      if (isPlayed) sheet.isInView = true; // painted at once, not when it has been seen
    }
  }

  /** After the cells are painted. */
  paint() {
    const { say, view: shown } = this.board;
    shown.tools.offerPlayer(this.data.of === "experiment" && !this.isOn, say);
    if (!this.isOn) return;
    const { matrix, index, steps: all } = this;
    const name = (each) => this.nameOf(each);
    this.bar.paint({ steps: all, index, matrix, name, predicts: this.predicts, say });
    this.bar.tell(this.told(), this.verdict(), this.row);
    const signs = SIGNS[matrix.operation.kind] ?? (this.operands.length ? "→" : "");
    this.signs.forEach((node, k) => update(node, signs[k] ?? ""));
    this.paintGuess();
    this.fit();
  }

  /** With its head, where each has one of its own. */
  nameOf(matrix) {
    const { name } = matrix;
    const { heads, head } = this.data;
    if (heads.length === 1 || !isPerHead(matrix)) return name;
    return this.board.say("play_name_of_head", { name, head: head + 1 });
  }

  /** The sentence of this step; while a number is hidden, what is asked. */
  told() {
    const { say } = this.board;
    if (this.hidden()) return say("play_ask", { place: this.board.heading(this.ask) });
    const matrices = new Map(this.data.matrices.map((matrix) => [matrix.id, matrix]));
    return sentence(matrices, this.matrix.id, this.row, this.data, say);
  }

  /** How good the guess was. */
  verdict() {
    const { say } = this.board;
    if (!this.predicts) return "";
    if (!this.ask) return say("play_nothing");
    const given = this.guessed();
    if (!given) return "";
    const [guess, value] = [given.guess, this.answer()];
    const fields = { guess: formatNumber(guess), value: formatNumber(value) };
    const text = writing(this.matrix)(value, this.row);
    if (readsAs(text, guess)) return say("play_right", fields);
    const off = { ...fields, difference: formatNumber(Math.abs(value - guess)) };
    return say(value > guess ? "play_low" : "play_high", off);
  }

  /** A field to type the guess into, in the place of the hidden number. */
  paintGuess() {
    const hidden = this.hidden();
    if (!hidden) {
      this.guess = null;
      return;
    }
    const { say, view: shown } = this.board;
    const cell = shown.cellAt(hidden);
    if (!this.guess || !cell.contains(this.guess)) {
      this.guess = element("input", {
        class: "guess",
        type: "text",
        placeholder: HIDDEN,
        autocomplete: "off",
        spellcheck: "false",
        enterkeyhint: "done",
      });
      cell.replaceChildren(this.guess);
      shown.sheets.get(hidden.id).finish(shown.scene); // what a screen reader says of it, at once
    }
    update(this.guess, null, { "aria-label": say("play_guess", { place: this.board.heading(hidden) }) });
  }

  /** Makes the cards as large as there is room for; asks the browser only where that may differ. */
  fit() {
    const { root, view: shown } = this.board;
    if (!shown) return;
    const { stages, explanation } = shown;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const isNarrow = root.clientWidth <= NARROW * rem;
    const sheets = [...shown.sheets].filter(([id]) => this.shows(id));
    const characters = Math.max(USUAL, ...sheets.map(([, sheet]) => sheet.longest()));
    const isAtTop = this.data.view === "projector"; // elsewhere the page is scrolled to the board
    const above = isAtTop ? topOf(stages) : HEADER * rem + stages.offsetTop;
    const height = window.innerHeight - above - explanation.offsetHeight - 1.5 * rem;
    const of = [this.matrix.id, sheets.map(([id, { size, names }]) => [id, size, names])];
    const fitted = JSON.stringify([of, root.clientWidth, Math.round(height), rem, characters]);
    if (fitted === this.fitted) return;
    this.fitted = fitted;
    if (isNarrow) {
      stages.removeAttribute("style");
      stages.dataset.layout = "column";
      return;
    }
    const room = { width: root.clientWidth, height, sign: 3 * rem, gap: 0.5 * rem };
    const type = { smallest: rem, largest: 2 * rem, characters };
    this.arrange(sheets, room, type);
    this.arrange(sheets, room, type); // captions may stand in more or fewer lines now
  }

  arrange(sheets, room, type) {
    const { sheets: all, stages } = this.board.view;
    const cards = new Map(sheets.map(([id, sheet]) => [id, sheet.measured()]));
    const [first, second] = this.operands.map(({ id }) => cards.get(id));
    const left = [first, cards.get(this.matrix.id)].filter(Boolean);
    const right = [second, cards.get(OPENED)].filter(Boolean);
    const { layout, cell, line, font } = arrange(left, right, room, type);
    stages.dataset.layout = layout;
    const tall = room.height - CAPTION * type.smallest; // a taller matrix scrolls in its card
    for (const [name, size] of Object.entries({ cell, line, font, tall })) {
      stages.style.setProperty(`--${name}`, `${Math.floor(10 * size) / 10}px`);
    }
    for (const [id, { node }] of all) {
      const isBelow = left.length > 1 && id === this.matrix.id;
      node.style.gridArea = right.includes(cards.get(id)) ? "1 / 3 / span 2" : isBelow ? "2 / 1" : "1 / 1";
    }
  }

  // --- what is done

  toggle(isOn = !this.isOn) {
    this.choices = { ...this.choices, [this.data.view]: isOn };
    store("play", this.choices);
    this.board.repaint();
    if (!isOn) {
      this.board.view.tools.play.focus();
      return;
    }
    this.bar.focus(); // so that arrows work at once
    this.bringIntoView();
  }

  /** Cards are fitted to the screen: a step that reaches below it begins at the top. */
  bringIntoView() {
    const { root } = this.board;
    const isBelow = root.getBoundingClientRect().bottom > window.innerHeight;
    if (isBelow && this.data.view !== "projector") root.scrollIntoView({ block: "start" });
  }

  togglePredict(predicts) {
    this.predicts = predicts;
    this.guesses.clear();
    store("play.predict", predicts);
    this.board.clearMessage();
    this.board.repaint();
  }

  /** To another step; not past a number that is still to be predicted. */
  go(wanted) {
    const index = Math.min(Math.max(wanted, 0), this.steps.length - 1);
    this.board.clearMessage();
    if (wanted > this.index && this.hidden()) {
      this.guess.focus();
      this.board.complain(this.board.view.cellAt(this.ask), this.board.say("play_held"));
      return;
    }
    if (index === this.index) return;
    const focus = view.focused(this.board.root);
    this.step = { id: this.steps[index].id, index };
    store("play.step", this.step);
    this.board.repaint();
    this.bringIntoView();
    // What had the focus may be gone, or can do nothing more.
    if (focus && (focus.disabled || !focus.isConnected || focus.closest(".card:not(.played)"))) this.bar.focus();
  }

  /** What was typed is the guess, if it is a number. */
  takeGuess() {
    const { board, guess, ask } = this;
    const text = guess.value;
    const parsed = parseNumber(text, Number.MAX_VALUE);
    const cell = board.view.cellAt(ask);
    if (parsed.problem) {
      const key = KEYS[parsed.problem] ?? "play_refused";
      board.complain(cell, board.say(key, { text: clipped(text) }));
      guess.select();
      return;
    }
    board.clearMessage();
    this.guesses.set(keyOf(ask), { guess: parsed.value, value: this.answer() });
    board.repaint();
    this.bar.focus();
  }

  // --- keys

  /** A key that is pressed anywhere on the page. @returns {boolean} whether it is used up */
  onKey(event) {
    if (!this.isOn || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return false;
    const step = TURNS[event.key];
    if (step) {
      this.go(this.index + step);
      return true;
    }
    const [focus] = event.composedPath();
    const isOnCell = focus.matches?.("td") ?? false;
    if (event.key === "Escape" && (isOnCell || isFree(focus))) {
      const { pin } = this.board;
      if (pin && this.shows(pin.id)) this.board.setPin(null);
      else this.toggle(false);
      return true;
    }
    if (!isFree(focus)) return false;
    if (event.key in ARROWS) {
      this.go(ARROWS[event.key](this.index));
      return true;
    }
    return false;
  }
}

/** What a clicker sends. */
const TURNS = { PageUp: -1, PageDown: 1 };

const ARROWS = {
  ArrowLeft: (index) => index - 1,
  ArrowRight: (index) => index + 1,
  Home: () => 0,
  End: () => Infinity,
};

/** What is said of a guess that is no number. */
const KEYS = { empty: "play_held", ambiguous: "play_ambiguous" };

/** Whether arrows have nothing to do where the focus is. @param {EventTarget} focus */
function isFree(focus) {
  return !(focus instanceof Element) || focus.matches("input[type=checkbox]") || !focus.closest(BUSY);
}

const BUSY = [
  "input, textarea, select, [contenteditable], [role=gridcell], .sortable",
  "[role=slider], [role=radio], [role=tab], [role=option], [role=combobox], [role=menuitem]",
].join(", ");

function keyOf({ id, row, column, head }) {
  return JSON.stringify([id, row, column, head]);
}

function isSame(a, b) {
  return Math.abs(a - b) <= SAME * Math.max(1, Math.abs(a));
}

/** How far a node is below the top of the page, when nothing is scrolled. */
function topOf(node) {
  let top = node.getBoundingClientRect().top;
  for (let each = node; each; each = each.parentElement ?? each.getRootNode().host) top += each.scrollTop;
  return top;
}
