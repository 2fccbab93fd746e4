/**
 * The board: shows the matrices that Python computed, takes edits, lights what made a cell.
 *
 * Python is the truth. The board sends every edit with a rising number until Python says it
 * has taken it; until then it shows what the same graph gives with the edits written in.
 */

import { showAddress } from "./address_bar.js";
import { formatBlock, parseBlock, roomProblem } from "./block.js";
import { copyText } from "./clipboard.js";
import { channels, luminance } from "./colour.js";
import { changesSince, countOf, fingerprint, lastsOn } from "./compare.js";
import { clipped, nameOf, sayFrom, sizeOf, update, wording } from "./element.js";
import { withEdits } from "./evaluate.js";
import { onPaste, onPointerDown } from "./gestures.js";
import { explain } from "./graph.js";
import { onKey } from "./keyboard.js";
import { Menu } from "./menu.js";
import { formatNumber, formatScore, parseNumber } from "./number.js";
import { OPENED, hasQueries, opened, steps } from "./opened.js";
import { Player } from "./player.js";
import { store, stored } from "./stored.js";
import * as view from "./view.js";

const NUDGE = 0.1;
const PATIENCE = 3_000; // ms to wait for Python before edits are sent again
const MOST_PATIENCE = 60_000;
const LEAVING = 3_000; // ms in which a page goes once another one was asked for
const PACE = 140; // ms between two questions to Python while dragging: each answer costs frames
const touch = matchMedia("(pointer: coarse)"); // a finger, which cannot point at a number
const CALM = 150; // ms without a painting before screen readers are told the numbers

/** @typedef {{id: string, row: number, column: number}} Place */

/**
 * Streamlit fades what a run has not sent again yet. Each fade would begin with a new layer and a
 * painting of all in it; the board says by itself what it waits for.
 */
const noFading = new CSSStyleSheet();
noFading.replaceSync("[data-stale] { opacity: 1 !important; transition: none !important; }");
document.adoptedStyleSheets.push(noFading);

/**
 * One board for each place in the page. Streamlit may leave a place and come back to the same
 * DOM, between two runs that follow fast: the board there goes on, with what is being typed.
 *
 * @type {WeakMap<Node, Board>}
 */
const boards = new WeakMap();

/**
 * What outlives a board when its page is left: the version before, the one held, what was seen.
 * Boards that show something else have a memory each.
 *
 * @type {Map<string, {before: view.BoardData, held: view.BoardData, seen: view.BoardData}>}
 */
const memories = new Map();

function memoryOf(of) {
  if (of === null) return { before: null, held: null, seen: null };
  if (!memories.has(of)) memories.set(of, { before: null, held: null, seen: null });
  return memories.get(of);
}

/**
 * Called by Streamlit on every run and every change of theme; what it returns, on leaving.
 *
 * @param {{
 *   parentElement: ShadowRoot,
 *   data: view.BoardData,
 *   setStateValue: (name: string, value: unknown) => void,
 * }} component
 */
export default function ({ parentElement, data, setStateValue }) {
  let board = boards.get(parentElement);
  if (!board) {
    board = new Board(parentElement.querySelector(".board"));
    boards.set(parentElement, board);
  }
  board.sendState = setStateValue;
  board.arrive();
  try {
    board.receive(data);
  } catch (error) {
    console.error(error);
    board.giveUp(data.texts.fault);
  }
  return () => board.leave();
}

export class Board {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    /** @type {view.View} */
    this.view = null;
    /** What Python computed. @type {view.BoardData} */
    this.received = null;
    /** What is shown: the same with the edits written in that Python has not taken. */
    this.data = null;
    /** What is shown, by its id, the opened softmax among them. @type {Map<string, view.Matrix>} */
    this.matrices = new Map();
    this.memory = memoryOf("");
    this.changes = new Map();
    this.shownChanges = this.changes;
    this.outline = this.sizes = "";
    this.theme = "light";
    this.say = (key) => key;
    this.sendState = (name, value) => undefined;
    this.isRebuilding = false;
    this.isOurs = false; // whether the next change began here
    this.lastNudged = null; // the cell whose next nudge joins the last one
    this.mount = crypto.getRandomValues(new Uint32Array(2)).join("-");
    this.sent = 0; // number of the last edit
    this.attempt = 0; // tells a message from the same one sent before
    this.patience = PATIENCE;
    this.lastDelivery = 0; // ms, as the page counts them
    this.again = 0; // the timer of the next attempt
    this.frame = 0; // the frame in which a preview will be painted
    this.calm = 0; // the timer after the last preview
    this.pending = []; // edits that Python has not taken yet
    this.pin = stored("pin", isPlace);
    this.followed = stored("follow", Number.isInteger);
    this.hovered = null;
    this.hoveredRow = null; // of a sentence
    this.heldTitle = null; // the matrix whose title is pointed at
    this.gesture = null; // a drag under way: see gestures.js
    this.carried = null; // the row that was carried last, until Python has answered
    this.editing = null; // the number that is being typed: see `begin`
    this.minusBefore = null; // the value before a "-" that may begin a negative number
    this.left = -Infinity; // when another page was asked for last, in ms, as the page counts them
    this.heardOfPage = {
      pointerdown: (event) => onPress(this, event),
      click: (event) => onGo(this, event),
      keydown: (event) => onTurn(this, event),
    };
    this.player = new Player(this);
    listen(this);
  }

  /** Hears what happens anywhere on the page, however often it is called. */
  arrive() {
    for (const [type, listener] of Object.entries(this.heardOfPage)) {
      window.addEventListener(type, listener, true);
    }
  }

  /** Hears it no more: the board's place is left. */
  leave() {
    for (const [type, listener] of Object.entries(this.heardOfPage)) {
      window.removeEventListener(type, listener, true);
    }
  }

  /** New numbers from Python. @param {view.BoardData} data */
  receive(data) {
    const before = this.received;
    const isElsewhere = before && data.session !== before.session; // on another server, most times
    const isVoid = before && (isElsewhere || data.revision !== before.revision);
    if (isVoid) {
      this.stopGesture(); // it began on numbers that are gone
      this.findAgain(before.axes.tokens, data.axes.tokens);
    }
    const taken = data.taken[this.mount] ?? 0;
    if (isElsewhere) {
      this.pending = this.pending.filter((edit) => lastsOn(edit, before, data));
      Object.assign(this, { patience: PATIENCE, attempt: 0 });
    } else {
      this.pending = isVoid ? [] : this.pending.filter((edit) => edit.number > taken);
    }
    // Asking for a style makes the browser compute all of them, so it is asked seldom: Streamlit
    // calls with the same data again when the theme changes.
    const mayDiffer = !this.view || this.received === data;
    this.received = data;
    this.memory = memoryOf(data.of);
    this.say = sayFrom(data.texts);
    if (mayDiffer) this.theme = themeOf(this.root);
    this.update(Boolean(this.gesture?.isActive));
    this.putDown();
    if (isElsewhere || this.pending.some((edit) => edit.isWaiting)) this.deliverInTime();
    else this.wait(); // Python is at work: no reason to repeat anything yet
    this.thereafter();
  }

  /** Whether Python has answered the last message; the one before may have brought all edits. */
  isHeard() {
    const { mount, attempt } = this.received.heard;
    return this.attempt === 0 || (mount === this.mount && attempt === this.attempt);
  }

  /** What can wait until the numbers are painted: the address, and the rest of the page. */
  thereafter() {
    const { address, is_first: isFirst } = this.received;
    requestAnimationFrame(() => {
      setTimeout(() => {
        if (this.received.address !== address) return; // newer ones have come
        showAddress(address);
        if (isFirst) this.askForRest(address);
      });
    });
  }

  /**
   * Asks for what else is stale. A message of a page that is being left says to Streamlit that it
   * is the page to be shown, and would bring it back; so it waits until the page has gone, or not.
   */
  askForRest(address) {
    if (this.received.address !== address || !this.root.isConnected) return;
    const rest = this.left + LEAVING - performance.now();
    if (rest > 0) setTimeout(() => this.askForRest(address), rest);
    else this.sendState("painted", address.run);
  }

  /** Shows what was received with the edits under way. @param {boolean} isQuick while dragging */
  update(isQuick = false) {
    const data = withEdits(this.received, this.pending);
    this.data = { ...data, axes: { ...data.axes, [OPENED]: steps(this.say) } };
    this.remember(isQuick);
    this.changes = changesSince(this.memory.held ?? this.memory.before, this.data);
    this.repaint();
  }

  /** A change that did not begin here (undo, a slider): what was seen is the version before. */
  remember(isQuick) {
    const isNew = !isQuick && !this.isOurs && this.memory.seen;
    const { seen } = this.memory;
    if (isNew && fingerprint(seen) !== fingerprint(this.data)) this.memory.before = seen;
    this.memory.seen = this.data;
    this.isOurs = false;
  }

  repaint() {
    this.player.look();
    const matrices = this.player.redacted(this.data.softmax ? this.withOpened() : this.data.matrices);
    this.shownChanges = this.player.redactedChanges(this.changes);
    this.matrices = new Map(matrices.map((matrix) => [matrix.id, matrix]));
    const outline = view.outline(this.data, matrices);
    const sizes = view.sizes(matrices);
    if (outline !== this.outline || sizes !== this.sizes) this.reshape(outline, sizes, matrices);
    update(this.root, null, {
      "data-pending": this.pending.length,
      "data-heard": this.isHeard(),
      "data-run": this.received.address.run,
      "data-first": this.received.is_first,
      "data-theme": this.theme,
    });
    this.player.place();
    this.view.paint({
      data: this.data,
      matrices,
      palette: this.data.palette,
      theme: this.theme,
      changes: this.shownChanges,
      editing: this.editing?.cell ?? null,
      say: this.say,
    });
    this.root.dataset.calm = "false";
    clearTimeout(this.calm);
    this.calm = setTimeout(() => {
      this.view.finish();
      this.root.dataset.calm = "true";
    }, CALM);
    this.view.tools.compare(this.memory.held, this.data, countOf(this.changes), this.say);
    this.player.paint();
    this.show();
  }

  /** With the softmax of one row opened up behind the weights. */
  withOpened() {
    const shown = opened(this.data, this.openedRow(), this.say);
    const weights = this.data.matrices.findIndex((matrix) => matrix.id === "weights");
    return this.data.matrices.toSpliced(weights + 1, 0, shown);
  }

  /** Other matrices, or of other sizes. */
  reshape(outline, sizes, matrices) {
    const focus = view.focused(this.root);
    const address = focus && this.root.contains(focus) && view.addressOf(focus);
    const { editing } = this;
    const caret = editing && [focus?.selectionStart ?? 0, focus?.selectionEnd ?? 0];
    this.stopGesture();
    this.hovered = null;
    this.heldTitle = null;
    this.isRebuilding = true; // an element that is removed loses the focus, and says so
    if (outline !== this.outline) {
      this.view = new view.View(this.root, this.data, matrices, this.view, this.player);
      this.menu = new Menu(this.view.menu, this.root);
    }
    this.view.fit(matrices, this.data.axes.tokens.length);
    this.isRebuilding = false;
    Object.assign(this, { outline, sizes });
    if (editing && !this.isStillThere(editing)) {
      editing.cell.classList.remove("editing");
      this.editing = null;
      this.view.sheets.get(editing.place.id)?.forget();
    }
    if (!address || view.focused(this.root) === focus) return;
    const cell = address.cell && this.view.cellAt(address.cell);
    if (!cell) {
      view.find(this.root, address)?.focus();
      return;
    }
    this.focus(cell);
    if (this.editing) view.focusTarget(cell).setSelectionRange(...caret);
  }

  /** Whether the cell that is typed into is still the same one, on a matrix of the same shape. */
  isStillThere({ cell, place, head }) {
    const isSameHead = this.matrices.get(place.id)?.head === head;
    return this.root.contains(cell) && isSameHead && !this.view.sheets.get(place.id).isRefitted;
  }

  stopGesture() {
    this.gesture?.end?.();
    this.gesture = null;
    this.root.classList.remove("dragging");
  }

  /** A fault of ours: a calm sentence instead of the board; the next run builds it anew. */
  giveUp(sentence) {
    clearTimeout(this.calm);
    this.outline = "";
    this.view = null;
    this.editing = null;
    this.root.textContent = sentence;
  }

  // --- what is lit

  /** Lights and explains the cell that matters most now. */
  show() {
    if (!this.view) return;
    const focus = view.focused(this.root);
    const inFocus = focus && view.cellOf(focus);
    const isShown = (place) => place && this.view.cellAt(place) && this.player.shows(place.id);
    const pin = isShown(this.pin) ? this.pin : null;
    const pointed = [this.hovered, inFocus].filter(isShown);
    // A cell under edit gives way to the pin: one edits a number to watch the pinned one.
    const chosen = pointed.find((place) => !this.isEditable(place)) ?? pin ?? pointed[0];
    const cell = chosen ?? this.player.cell();
    this.pinned?.classList.remove("pinned");
    this.pinned = pin && this.view.cellAt(pin);
    this.pinned?.classList.add("pinned");
    this.view.follow(this.hoveredRow ?? this.tokenShown());
    if (this.heldTitle) {
      const matrix = this.matrices.get(this.heldTitle);
      const heading = `${matrix.name}: ${matrix.about}`;
      this.view.light(null, { sources: [], parts: formula(matrix, this.say) }, heading);
    } else if (cell && this.player.isHidden(cell)) {
      this.view.light(cell, null, this.say("play_later"));
    } else if (cell) {
      this.view.light(cell, this.explanation(cell), this.heading(cell));
    } else {
      this.view.light(null, null, this.say(touch.matches ? "hint_touch" : "hint"));
    }
    if (inFocus) update(focus, null, { "aria-describedby": "explanation" });
  }

  explanation(cell) {
    const explanation = explain(this.matrices, cell, this.say);
    const old = this.shownChanges.get(cell.id)?.[cell.row][cell.column];
    if (old === undefined) return explanation;
    const was = { text: ` ${this.say("was", { before: formatScore(old) })}`, role: "was" };
    return { ...explanation, parts: [...explanation.parts, was] };
  }

  heading({ id, row, column }) {
    const matrix = this.matrices.get(id);
    return this.say(wording("heading", matrix), {
      name: matrix.name,
      row: nameOf(this.data.axes[matrix.rows], row),
      column: nameOf(this.data.axes[matrix.columns], column),
    });
  }

  /** The row whose softmax is opened up. */
  openedRow() {
    if (this.player.isOn) return this.player.row;
    const pinned = this.pin && this.data.matrices.find((matrix) => matrix.id === this.pin.id);
    if (pinned && hasQueries(pinned)) this.lastOpened = this.pin.row;
    else if (this.pin?.id !== OPENED) this.lastOpened = this.followedToken() ?? 0;
    return Math.min(this.lastOpened ?? 0, this.data.axes.tokens.length - 1);
  }

  /** After tokens came, went or were replaced: the one that is followed, if it is still there. */
  findAgain(before, now) {
    if (this.followed !== null && now[this.followed] !== before[this.followed]) {
      const place = now.indexOf(before[this.followed]);
      this.followed = place < 0 ? null : place;
      store("follow", this.followed);
    }
    if (this.pin && !now.some((token) => before.includes(token))) {
      this.pin = null;
      store("pin", null);
    }
  }

  followedToken() {
    return this.followed !== null && this.followed < this.data.axes.tokens.length
      ? this.followed
      : null;
  }

  /** The token whose way is lit: the player takes the first one where none is followed. */
  tokenShown() {
    return this.player.isOn ? this.player.row : this.followedToken();
  }

  isEditable({ id }) {
    return this.matrices.get(id)?.editable ?? false;
  }

  isPaintable({ id }) {
    return this.matrices.get(id)?.paintable ?? false;
  }

  /** Whether a cell that is painted is on: allowed in the mask, asked for in a target. */
  isOn(place) {
    const value = this.valueAt(place);
    return place.id === "mask" ? value !== null : value > 0;
  }

  valueAt({ id, row, column }) {
    return this.matrices.get(id).values[row][column];
  }

  // --- focus, pin, following, holding

  focus(cell) {
    const target = view.focusTarget(cell);
    const table = cell.closest("table");
    for (const other of table.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
    if (target.select) target.select();
  }

  /** Moves the focus by rows and columns; stays inside the matrix. */
  move(place, rows, columns) {
    const cell = this.view.cellAt({
      ...place,
      row: place.row + rows,
      column: place.column + columns,
    });
    if (cell) this.focus(cell);
    return Boolean(cell);
  }

  togglePin(place) {
    const same = this.pin && sameCell(this.pin, place);
    this.setPin(same ? null : place);
  }

  setPin(place) {
    this.pin = place;
    store("pin", place);
    this.repaint();
  }

  toggleFollow(token) {
    this.followed = this.followed === token ? null : token;
    store("follow", this.followed);
    this.repaint();
  }

  /** Pins the version that is shown, to compare later ones with; or lets it go. */
  toggleHold() {
    this.memory.held = this.memory.held ? null : this.data;
    this.changes = changesSince(this.memory.held ?? this.memory.before, this.data);
    this.repaint();
  }

  // --- edits

  /** @param {boolean} [joins] whether it continues the last step */
  send(edit, joins = false) {
    this.sent += 1;
    this.pending.push({ ...edit, joins, number: this.sent });
    this.patience = PATIENCE;
    this.begun(joins);
    this.deliver();
  }

  /** An edit begins a step: what is shown now is the version before. */
  begun(joins) {
    if (!joins) this.memory.before = this.data;
    this.isOurs = true;
    update(this.root, null, { "data-pending": this.pending.length, "data-heard": false });
  }

  /**
   * A number or a cell of the mask while it is dragged: shown with the next frame, and sent as
   * soon as Python has taken the one before.
   */
  stream(edit, joins, merge) {
    const last = this.pending.at(-1);
    const isOfSameKind = last?.kind === edit.kind && last.allowed === edit.allowed;
    if (joins && last?.isWaiting && isOfSameKind) {
      merge(last);
    } else {
      this.sent += 1;
      this.pending.push({ ...edit, joins, number: this.sent, isWaiting: true });
    }
    this.patience = PATIENCE;
    this.begun(joins);
    if (this.pending.every((each) => each.isWaiting)) this.deliverInTime();
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.update(true);
    });
  }

  /**
   * Sends all edits that Python has not taken; again, with growing patience, until it has. A
   * message that is sent while Streamlit leaves and comes back is lost; one that comes twice is
   * taken once.
   */
  deliver() {
    if (this.pending.length === 0 || this.patience > MOST_PATIENCE) return;
    this.attempt += 1;
    this.lastDelivery = performance.now();
    for (const edit of this.pending) delete edit.isWaiting;
    this.sendState("edits", {
      session: this.received.session,
      mount: this.mount,
      revision: this.received.revision,
      attempt: this.attempt,
      edits: this.pending.map((edit) => ({ ...edit })),
    });
    this.wait();
    this.patience *= 2;
  }

  /** Keeps the pace, so that most frames are free for what is dragged. */
  deliverInTime() {
    const rest = this.lastDelivery + PACE - performance.now();
    clearTimeout(this.again);
    if (rest > 0) this.again = setTimeout(() => this.deliver(), rest);
    else this.deliver();
  }

  wait() {
    clearTimeout(this.again);
    if (this.pending.length) this.again = setTimeout(() => this.deliver(), this.patience);
  }

  /** A new number for a cell. @param {boolean} joins whether it continues the last edit */
  setNumber(place, value, joins = false) {
    this.send({ kind: "cell", ...this.address(place), value }, joins);
    this.update();
  }

  /** A place as Python names it. */
  address({ id, row, column }) {
    return { matrix: id, head: this.matrices.get(id).head, row, column };
  }

  nudge(place, direction) {
    const value = this.stepped(this.valueAt(place), direction * NUDGE);
    if (Math.abs(value) > this.data.limits.value) return this.refuse(place, "too_large");
    const joins = Boolean(this.lastNudged && sameCell(this.lastNudged, place));
    this.lastNudged = place;
    this.setNumber(place, value, joins);
    const target = view.focusTarget(this.view.cellAt(place));
    requestAnimationFrame(() => {
      // With the frame that is due anyway: selecting lays out the whole board.
      if (target === view.focused(this.root) && !this.editing) target.select();
    });
    return undefined;
  }

  /** 0.1 + 0.2 is 0.3 here. */
  stepped(value, difference) {
    return Number((value + difference).toPrecision(12));
  }

  /** Cells of one matrix, switched on or off by hand. @param {Place[]} places */
  paint(places, allowed, joins) {
    const cells = places.map(({ row, column }) => [row, column]);
    const [{ id: matrix }] = places;
    const edit = { kind: "paint", matrix, cells, allowed };
    this.stream(edit, joins, (waiting) => waiting.cells.push(...cells));
    if (matrix !== "mask") return;
    const after = withEdits(this.received, this.pending).matrices.find((m) => m.id === "mask");
    const emptied = places.find(({ row }) => after.values[row].every((value) => value === null));
    if (!emptied) return;
    const token = nameOf(this.data.axes.tokens, emptied.row);
    this.complain(this.view.cellAt(emptied), this.say("emptied", { token }));
  }

  /** A row of a sortable matrix to another place. */
  carry({ id, row }, to) {
    if (!this.view.headerAt({ id, row: to })) return;
    this.carried = { id, row: to };
    this.send({ kind: "move", row, to });
  }

  /** Where the row stands that was carried last, while Python has not answered. */
  carriedTo(id) {
    return this.carried?.id === id ? this.carried.row : null;
  }

  /** The names of the rows are those of the new order: the focus goes where its row went. */
  putDown() {
    if (!this.carried || this.pending.some(({ kind }) => kind === "move")) return;
    const focus = view.focused(this.root);
    if (focus && view.rowOf(focus)) this.view.headerAt(this.carried)?.focus();
    this.carried = null;
  }

  /** A block of numbers from the clipboard, from this cell on; all of it or nothing. */
  paste(place, text) {
    const cell = this.view.cellAt(place);
    const { values, problem } = parseBlock(text, this.data.limits.value);
    if (problem) return this.complain(cell, this.say(problem.key, problem.fields));
    const rows = this.matrices.get(place.id).values;
    const room = [rows.length - place.row, rows[0].length - place.column];
    const misfit = roomProblem(values, ...room);
    if (misfit) return this.complain(cell, this.say(misfit.key, misfit.fields));
    if (this.editing) this.cancel();
    this.send({ kind: "block", ...this.address(place), values });
    this.update();
    return view.focusTarget(cell).select(); // so that the next digit types over, not behind
  }

  /** Typing begins. @param {number | null} beforeMinus the number before a "-" that nudged it */
  begin(cell, beforeMinus = null) {
    if (this.editing?.cell === cell) return;
    const place = view.cellOf(cell);
    const { head } = this.matrices.get(place.id);
    const before = beforeMinus ?? this.valueAt(place);
    const wasMinus = beforeMinus !== null;
    this.editing = { cell, place, head, before, textBefore: formatNumber(before), wasMinus };
    cell.classList.add("editing");
    this.clearMessage();
  }

  /** Ends typing. @returns {boolean} whether the number was taken */
  commit() {
    if (!this.editing) return true;
    const { cell, textBefore, wasMinus } = this.editing;
    const place = view.cellOf(cell);
    const text = view.focusTarget(cell).value;
    if (text === textBefore) {
      this.cancel(); // untouched: 0.3333 on screen must not replace the 1/3 behind it
      return true;
    }
    const parsed = parseNumber(text, this.data.limits.value);
    if (parsed.problem) {
      this.cancel();
      this.refuse(place, parsed.problem, text);
      return false;
    }
    this.stopEditing();
    if (parsed.value === this.valueAt(place)) this.repaint();
    else this.setNumber(place, parsed.value, wasMinus);
    return true;
  }

  /** Gives up what was typed; a "-" that began it has nudged, which is taken back. */
  cancel() {
    const { cell, before, wasMinus } = this.editing;
    const place = view.cellOf(cell);
    this.stopEditing();
    if (wasMinus && this.valueAt(place) !== before) this.setNumber(place, before, true);
    this.repaint();
  }

  stopEditing() {
    const { cell } = this.editing;
    cell.classList.remove("editing");
    this.view.sheets.get(view.cellOf(cell).id).forget();
    this.editing = null;
    this.lastNudged = null;
  }

  // --- messages at a cell

  refuse(place, problem, text = "") {
    const kept = formatNumber(this.valueAt(place));
    const limit = this.data.limits.value.toLocaleString("en");
    const fields = { text: clipped(text), kept, limit };
    this.complain(this.view.cellAt(place), this.say(`refused_${problem}`, fields));
  }

  complain(anchor, message) {
    this.tell(anchor, message);
    anchor.classList.add("refused");
  }

  /** A message below an element, until the next press or edit. */
  tell(anchor, message) {
    this.clearMessage();
    const bubble = this.view.message;
    bubble.textContent = message;
    bubble.hidden = false;
    const box = anchor.getBoundingClientRect();
    const frame = this.root.getBoundingClientRect();
    const left = Math.min(box.left - frame.left, frame.width - bubble.offsetWidth - 4);
    bubble.style.left = `${Math.max(0, left)}px`;
    bubble.style.top = `${box.bottom - frame.top + 4}px`;
  }

  clearMessage() {
    if (this.view) this.view.message.hidden = true;
    for (const cell of this.root.querySelectorAll(".refused")) cell.classList.remove("refused");
  }

  // --- tokens

  rename(input) {
    const row = Number(input.dataset.row);
    const before = this.data.axes.tokens[row];
    const text = input.value.trim();
    if (text === before) {
      input.value = before;
    } else if (text === "") {
      input.value = before;
      this.complain(input.closest("th"), this.say("refused_token", { kept: before }));
    } else {
      this.send({ kind: "rename", row, text });
      this.update();
    }
  }

  // --- what is taken away

  /** Waits until Python has taken all edits, and the address bar shows them. */
  settled() {
    return new Promise((go) => {
      const look = () => {
        const isShown = document.documentElement.dataset.run === this.root.dataset.run;
        if (this.pending.length === 0 && isShown) go();
        else requestAnimationFrame(look);
      };
      look();
    });
  }

  offerCopies(button) {
    const { dataset } = button.closest("[data-matrix]");
    const copy = async (kind) => {
      await this.settled();
      const { name, values } = this.matrices.get(dataset.matrix);
      const isCopied = await copyText(formatBlock(values, kind));
      const fields = { name, rows: values.length, columns: values[0].length };
      this.tell(button, this.say(isCopied ? "copied" : "copy_matrix_failed", fields));
    };
    const kinds = ["tsv", "csv", "python"];
    this.menu.open(button, kinds.map((kind) => [this.say(`copy_${kind}`), () => copy(kind)]));
  }

  async copyLink(button) {
    await this.settled();
    const { href, searchParams } = new URL(window.location.href);
    if (!searchParams.has("e")) return this.tell(button, this.say("link_too_long"));
    const isCopied = await copyText(href);
    return this.tell(button, this.say(isCopied ? "link_copied" : "copy_failed"));
  }

  offerPictures(button) {
    const save = async (kind) => {
      try {
        await this.settled();
        const { boardSvg, download, svgToPng } = await import("./picture.js"); // seldom asked for
        const { link = window.location.href } = this.received; // a hand-out lies in a folder
        const svg = boardSvg(this.root, this.say("picture_title"), link);
        const isSvg = kind === "svg";
        const blob = isSvg ? new Blob([svg], { type: "image/svg+xml" }) : await svgToPng(svg, 2);
        download(blob, `attention.${kind}`);
      } catch (error) {
        console.warn(error);
        this.tell(button, this.say("picture_failed"));
      }
    };
    const kinds = ["svg", "png"];
    this.menu.open(button, kinds.map((kind) => [this.say(`picture_${kind}`), () => save(kind)]));
  }
}

/** How a matrix is computed, and its shape. */
function formula({ symbol, name, expression, values }, say) {
  const size = say("shape", { shape: sizeOf(values), rows: values.length, columns: values[0].length });
  return [{ text: expression ? `${symbol || name} = ${expression}. ${size}` : size }];
}

// --- events

/** @param {Board} board */
function listen(board) {
  const { root } = board;
  const on = (type, handler) => root.addEventListener(type, handler);
  on("pointerover", (event) => {
    if (event.pointerType === "touch" || board.gesture?.isActive) return;
    board.hovered = view.cellOf(event.target);
    board.heldTitle = titleOf(event.target);
    const { row } = event.target.closest(".seen li")?.dataset ?? {};
    board.hoveredRow = row === undefined ? null : Number(row);
    board.show();
    if (board.hovered) tooltip(board, event.target);
  });
  on("pointerleave", () => {
    board.hovered = null;
    board.hoveredRow = null;
    board.heldTitle = null;
    board.show();
  });
  on("focusin", (event) => {
    board.heldTitle = titleOf(event.target);
    if (event.target.matches(".number, .token")) event.target.select();
    if (view.cellOf(event.target)) board.view.finish(); // before a screen reader says it
    board.show();
  });
  on("focusout", (event) => {
    if (board.isRebuilding) return;
    board.minusBefore = null;
    board.lastNudged = null;
    board.heldTitle = null;
    if (event.target.matches(".token")) board.rename(event.target);
    if (event.target.matches(".number") && board.editing) board.commit();
    queueMicrotask(() => board.show());
  });
  on("input", (event) => {
    if (event.target.matches(".number")) board.begin(event.target.closest("[role=gridcell]"));
    if (event.target.matches(".token")) board.clearMessage();
  });
  on("click", (event) => onClick(board, event));
  on("keydown", (event) => onKey(board, event));
  on("pointerdown", (event) => onPointerDown(board, event));
  on("dragstart", (event) => event.preventDefault()); // of a number's selected text
  on("paste", (event) => onPaste(board, event));
}

/** The old number of a cell that moved, where it is pointed at. */
function tooltip(board, target) {
  const cell = target.closest("[role=gridcell]");
  const { id, row, column } = board.hovered;
  const old = board.shownChanges.get(id)?.[row][column];
  if (old === undefined) cell.removeAttribute("title");
  else cell.title = board.say("was", { before: formatScore(old) });
}

/**
 * A press anywhere: what was typed is sent when it begins, so that it arrives before what is
 * pressed; a link to another page would leave without it.
 *
 * @param {Board} board
 */
function onPress(board, event) {
  board.clearMessage();
  if (!event.composedPath().includes(board.view?.menu)) board.menu?.close();
  const input = view.focused(board.root);
  if (input?.matches("input") && !event.composedPath().includes(input)) input.blur();
}

/** Another page is asked for, by a link. @param {Board} board */
function onGo(board, event) {
  const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
  if (!link || link.target || link.download || link.origin !== window.location.origin) return;
  if (link.pathname !== window.location.pathname) board.left = performance.now();
}

/** A key anywhere on the page: a clicker sends it wherever the focus is. @param {Board} board */
function onTurn(board, event) {
  if (event.isComposing || !board.view || !board.player.onKey(event)) return;
  event.preventDefault();
  event.stopPropagation();
}

function titleOf(node) {
  return node.closest?.(".title")?.closest("[data-matrix]").dataset.matrix ?? null;
}

/** @param {Board} board */
function onClick(board, event) {
  const { target } = event;
  const button = target.closest("button");
  if (button?.matches(".add")) board.send({ kind: "add" });
  if (button?.matches(".remove")) board.send({ kind: "remove", row: Number(button.dataset.row) });
  if (button?.matches(".play")) board.player.toggle();
  if (button?.matches(".hold")) board.toggleHold();
  if (button?.matches(".copy")) board.offerCopies(button);
  if (button?.matches(".copy-link")) board.copyLink(button);
  if (button?.matches(".picture")) board.offerPictures(button);
  const { token } = target.closest("[data-token]")?.dataset ?? {};
  if (token !== undefined) board.toggleFollow(Number(token));
  const place = target.matches(".guess") ? null : view.cellOf(target);
  if (place && !board.isEditable(place) && !board.isPaintable(place)) board.togglePin(place);
  if (titleOf(target)) {
    board.heldTitle = titleOf(target);
    board.show();
  }
}

// --- small things

function sameCell(a, b) {
  return a.id === b.id && a.row === b.row && a.column === b.column;
}

/** Whether the page is light or dark, by the colour Streamlit gives; our own style may be late. */
function themeOf(root) {
  const style = getComputedStyle(root);
  const background = style.getPropertyValue("--st-background-color") || style.backgroundColor;
  return luminance(channels(background)) > 0.4 ? "light" : "dark";
}

function isPlace(value) {
  return typeof value?.id === "string";
}
