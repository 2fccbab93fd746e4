/**
 * The board: shows the matrices that Python computed, takes edits, lights what made a cell.
 *
 * Python is the truth. The board sends every edit with a rising number until Python says it
 * has taken it, and shows edits under way on top of what it last received.
 */

import { channels, luminance } from "./colour.js";
import { explain } from "./graph.js";
import { formatNumber, parseNumber } from "./number.js";
import * as view from "./view.js";

const NUDGE = 0.1;
const PATIENCE = 1_000; // ms to wait for Python before edits are sent again
const MOST_PATIENCE = 60_000;
const PIN_KEY = "attention-playground.pin";

/**
 * One board for each place in the page. Streamlit may leave a place and come back to the same
 * DOM, between two runs that follow fast: the board there goes on, with what is being typed.
 *
 * @type {WeakMap<Node, Board>}
 */
const boards = new WeakMap();

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
  board.sendState = (message) => setStateValue("edits", message);
  window.addEventListener("pointerdown", board.onPress, true); // the same listener is added once
  try {
    board.receive(data);
  } catch (error) {
    console.error(error);
    board.giveUp(data.texts.fault);
  }
  return () => window.removeEventListener("pointerdown", board.onPress, true);
}

class Board {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    /** What is shown: Python's data under the edits it has not taken. @type {view.BoardData} */
    this.data = undefined;
    /** What is shown, by its id. @type {Map<string, view.Matrix>} */
    this.matrices = new Map();
    /** What Python computed, by its id: the arithmetic is of these. @type {typeof this.matrices} */
    this.computed = new Map();
    this.outline = "";
    this.say = (key) => key;
    this.sendState = (message) => undefined;
    this.isRebuilding = false;
    this.lastNudged = null; // the cell whose next nudge joins the last one
    this.mount = crypto.getRandomValues(new Uint32Array(2)).join("-");
    this.sent = 0; // number of the last edit
    this.attempt = 0; // tells a message from the same one sent before
    this.patience = PATIENCE;
    this.again = 0; // the timer of the next attempt
    this.pending = []; // edits that Python has not taken yet
    this.pin = loadPin();
    this.hovered = null;
    this.heldTitle = null; // the matrix whose title is pointed at
    this.editing = null; // the number that is being typed: see `begin`
    this.minusBefore = null; // the value before a "-" that may begin a negative number
    this.onPress = (event) => onPress(this, event);
    listen(this);
  }

  /** New numbers from Python. @param {view.BoardData} data */
  receive(data) {
    const isVoid = this.data && data.revision !== this.data.revision;
    const taken = data.taken[this.mount] ?? 0;
    this.pending = isVoid ? [] : this.pending.filter((edit) => edit.number > taken);
    this.data = withPending(data, this.pending);
    this.say = view.sayFrom(data.texts);
    this.matrices = byId(this.data.matrices);
    this.computed = byId(data.matrices);
    const outline = view.outline(data);
    if (outline !== this.outline) this.rebuild(outline);
    this.repaint();
  }

  rebuild(outline) {
    const focus = view.focused(this.root);
    const address = focus && view.addressOf(focus);
    this.outline = outline;
    this.editing = null;
    this.hovered = null;
    this.heldTitle = null;
    this.isRebuilding = true; // an element that is removed loses the focus, and says so
    this.root.replaceChildren(...view.buildBoard(this.data));
    this.isRebuilding = false;
    for (const table of this.root.querySelectorAll("table")) {
      const first = table.querySelector("[role=gridcell]");
      view.focusTarget(first).tabIndex = 0;
    }
    const again = address && view.find(this.root, address);
    if (again?.matches("[role=gridcell]")) this.focus(again);
    else again?.focus();
  }

  /** A fault of ours: a calm sentence instead of the board; the next run builds it anew. */
  giveUp(sentence) {
    this.outline = "";
    this.editing = null;
    this.root.textContent = sentence;
  }

  repaint() {
    this.root.dataset.pending = String(this.pending.length);
    this.root.dataset.run = String(this.data.run);
    const theme = themeOf(this.root);
    this.root.dataset.theme = theme;
    view.paint(this.root, this.data, theme, (cell) => this.editing?.cell === cell);
    this.show();
  }

  /** Lights and explains the cell that matters most now. */
  show() {
    const focus = view.focused(this.root);
    const inFocus = focus && view.cellOf(focus);
    const pin = this.pin && view.cellAt(this.root, this.pin) ? this.pin : null;
    const pointed = [this.hovered, inFocus].filter(Boolean);
    // A cell under edit gives way to the pin: one edits a number to watch the pinned one.
    const cell = pointed.find((place) => !this.isEditable(place)) ?? pin ?? pointed[0] ?? null;
    for (const pinned of this.root.querySelectorAll(".pinned")) pinned.classList.remove("pinned");
    if (pin) view.cellAt(this.root, pin).classList.add("pinned");
    if (this.heldTitle) {
      const matrix = this.matrices.get(this.heldTitle);
      view.light(this.root, null, null, `${matrix.name}: ${matrix.about}`);
    } else if (cell && view.cellAt(this.root, cell)) {
      view.light(this.root, cell, explain(this.computed, cell, this.say), this.heading(cell));
    } else {
      view.light(this.root, null, null, this.say("hint"));
    }
    if (inFocus) focus.setAttribute("aria-describedby", "explanation");
  }

  heading({ id, row, column }) {
    const matrix = this.matrices.get(id);
    return this.say(view.wording("heading", matrix), {
      name: matrix.name,
      row: view.nameOf(this.data.axes[matrix.rows], row),
      column: view.nameOf(this.data.axes[matrix.columns], column),
    });
  }

  isEditable({ id }) {
    return this.matrices.get(id)?.editable ?? false;
  }

  valueAt({ id, row, column }) {
    return this.matrices.get(id).values[row][column];
  }

  // --- focus and pin

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
    const next = { ...place, row: place.row + rows, column: place.column + columns };
    const cell = view.cellAt(this.root, next);
    if (cell) this.focus(cell);
    return Boolean(cell);
  }

  togglePin(place) {
    const same = this.pin && sameCell(this.pin, place);
    this.setPin(same ? null : place);
  }

  setPin(place) {
    this.pin = place;
    savePin(place);
    this.show();
  }

  // --- edits

  send(edit) {
    this.sent += 1;
    this.pending.push({ ...edit, number: this.sent });
    this.root.dataset.pending = String(this.pending.length);
    this.patience = PATIENCE;
    this.deliver();
  }

  /**
   * Sends all edits that Python has not taken; again, with growing patience, until it has. A
   * message that is sent while Streamlit leaves and comes back is lost; one that comes twice is
   * taken once.
   */
  deliver() {
    clearTimeout(this.again);
    if (this.pending.length === 0 || this.patience > MOST_PATIENCE) return;
    this.attempt += 1;
    this.sendState({
      mount: this.mount,
      revision: this.data.revision,
      attempt: this.attempt,
      edits: this.pending,
    });
    this.again = setTimeout(() => this.deliver(), this.patience);
    this.patience *= 2;
  }

  /** A new number for a cell. @param {boolean} joins whether it continues the last edit */
  setNumber(place, value, joins = false) {
    const { head } = this.matrices.get(place.id);
    const { id: matrix, row, column } = place;
    this.matrices.get(place.id).values[row][column] = value;
    this.send({ kind: "cell", matrix, head, row, column, value, joins });
    this.repaint();
  }

  nudge(place, direction) {
    const before = this.valueAt(place);
    const value = Number((before + direction * NUDGE).toPrecision(12)); // 0.1 + 0.2 is 0.3 here
    if (Math.abs(value) > this.data.limits.value) return this.refuse(place, "too_large");
    const joins = Boolean(this.lastNudged && sameCell(this.lastNudged, place));
    this.lastNudged = place;
    this.setNumber(place, value, joins);
    const target = view.focusTarget(view.cellAt(this.root, place));
    if (target === view.focused(this.root)) target.select();
    return undefined;
  }

  /** Typing begins. @param {number | null} beforeMinus the number before a "-" that nudged it */
  begin(cell, beforeMinus = null) {
    if (this.editing?.cell === cell) return;
    const before = beforeMinus ?? this.valueAt(view.cellOf(cell));
    const wasMinus = beforeMinus !== null;
    this.editing = { cell, before, textBefore: formatNumber(before), wasMinus };
    cell.classList.add("editing");
    this.clearRefusal();
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
    this.editing.cell.classList.remove("editing");
    this.editing = null;
    this.lastNudged = null;
  }

  // --- messages at a cell

  refuse(place, problem, text = "") {
    const cell = view.cellAt(this.root, place);
    const kept = formatNumber(this.valueAt(place));
    const limit = this.data.limits.value.toLocaleString("en");
    this.complain(cell, this.say(`refused_${problem}`, { text: clipped(text), kept, limit }));
  }

  complain(anchor, message) {
    const refusal = this.root.querySelector(".refusal");
    refusal.textContent = message;
    refusal.hidden = false;
    const box = anchor.getBoundingClientRect();
    const frame = this.root.getBoundingClientRect();
    const left = Math.min(box.left - frame.left, frame.width - refusal.offsetWidth - 4);
    refusal.style.left = `${Math.max(0, left)}px`;
    refusal.style.top = `${box.bottom - frame.top + 4}px`;
    anchor.classList.add("refused");
  }

  clearRefusal() {
    const refusal = this.root.querySelector(".refusal");
    if (refusal) refusal.hidden = true;
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
      this.data.axes.tokens[row] = text;
      this.send({ kind: "rename", row, text });
      this.repaint();
    }
  }
}

/** @param {view.Matrix[]} matrices */
function byId(matrices) {
  return new Map(matrices.map((matrix) => [matrix.id, matrix]));
}

/** Python's data with the edits it has not taken yet written over it. */
function withPending(data, pending) {
  const copy = structuredClone(data);
  for (const edit of pending) {
    const matrix = copy.matrices.find((m) => m.id === edit.matrix && m.head === edit.head);
    if (matrix) matrix.values[edit.row][edit.column] = edit.value;
    if (edit.kind === "rename") copy.axes.tokens[edit.row] = edit.text;
  }
  return copy;
}

// --- events

/** @param {Board} board */
function listen(board) {
  const { root } = board;
  const on = (type, handler) => root.addEventListener(type, handler);
  on("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    board.hovered = view.cellOf(event.target);
    board.heldTitle = titleOf(event.target);
    board.show();
  });
  on("pointerleave", () => {
    board.hovered = null;
    board.heldTitle = null;
    board.show();
  });
  on("focusin", (event) => {
    board.heldTitle = titleOf(event.target);
    if (event.target.matches(".number, .token")) event.target.select();
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
    if (event.target.matches(".token")) board.clearRefusal();
  });
  on("click", (event) => onClick(board, event));
  on("keydown", (event) => onKey(board, event));
}

/**
 * A press anywhere: what was typed is sent when it begins, so that it arrives before what is
 * pressed; a link to another page would leave without it.
 *
 * @param {Board} board
 */
function onPress(board, event) {
  board.clearRefusal();
  const input = view.focused(board.root);
  if (input?.matches("input") && !event.composedPath().includes(input)) input.blur();
}

function titleOf(node) {
  return node.closest?.(".title")?.closest("[data-matrix]").dataset.matrix ?? null;
}

/** @param {Board} board */
function onClick(board, event) {
  const { target } = event;
  if (target.matches(".add")) board.send({ kind: "add" });
  if (target.matches(".remove")) board.send({ kind: "remove", row: Number(target.dataset.row) });
  const place = view.cellOf(target);
  if (place && !board.isEditable(place)) board.togglePin(place);
  if (titleOf(target)) {
    board.heldTitle = titleOf(target);
    board.show();
  }
}

const ARROWS = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** @param {Board} board */
function onKey(board, event) {
  if (event.isComposing || event.keyCode === 229) return; // an input method is at work
  if (event.target.matches(".token")) return void onTokenKey(board, event);
  const place = view.cellOf(event.target);
  if (!place) {
    if (event.key === "Escape") board.setPin(null);
    return;
  }
  const handled = board.editing
    ? keyWhileTyping(board, event, place)
    : keyOnCell(board, event, place);
  if (handled) event.preventDefault();
}

/** @param {Board} board */
function onTokenKey(board, event) {
  if (event.key === "Enter") event.target.blur();
  if (event.key === "Escape") {
    event.target.value = board.data.axes.tokens[Number(event.target.dataset.row)];
    event.target.blur();
  }
}

/** @param {Board} board @returns {boolean} whether the key is used up */
function keyOnCell(board, event, place) {
  const { key } = event;
  const editable = board.isEditable(place);
  const minusBefore = board.minusBefore;
  board.minusBefore = null;
  board.clearRefusal();
  if (ARROWS[key]) {
    board.move(place, ...ARROWS[key]);
    return true;
  }
  if (key === "Home" || key === "End") {
    const last = board.matrices.get(place.id).values[0].length - 1;
    board.move({ ...place, column: key === "Home" ? 0 : last }, 0, 0);
    return true;
  }
  if (key === "Escape") {
    board.setPin(null);
    return true;
  }
  if (key === "Enter" || (key === " " && !editable)) {
    board.togglePin(place);
    return true;
  }
  if (!editable || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (key === "+") {
    board.nudge(place, 1);
    return true;
  }
  if (key === "-" || key === "−") {
    const before = minusBefore ?? board.valueAt(place);
    board.nudge(place, -1);
    board.minusBefore = before;
    return true;
  }
  if (minusBefore !== null && key.length === 1) {
    beginNegative(board, event.target, key, minusBefore);
    return true;
  }
  if (key === "F2") {
    event.target.setSelectionRange(event.target.value.length, event.target.value.length);
    board.begin(event.target.closest("[role=gridcell]"));
    return true;
  }
  return false;
}

/** "-" nudged, but something follows: it was the sign of a number after all. */
function beginNegative(board, input, digit, before) {
  board.begin(input.closest("[role=gridcell]"), before);
  input.value = `-${digit}`;
  input.setSelectionRange(2, 2);
}

/** @param {Board} board @returns {boolean} whether the key is used up */
function keyWhileTyping(board, event, place) {
  const { key, target } = event;
  if (key === "Escape") {
    board.cancel();
    target.select();
    return true;
  }
  if (key === "Enter") {
    const moved = board.commit() && board.move(place, 1, 0);
    if (!moved) target.select(); // so that the next digit types over, not behind
    return true;
  }
  if (key === "Tab") {
    board.commit();
    return moveAlong(board, place, event.shiftKey ? -1 : 1);
  }
  if (key === "ArrowUp" || key === "ArrowDown") {
    if (board.commit()) board.move(place, ...ARROWS[key]);
    return true;
  }
  const atEnd = target.selectionStart === target.value.length;
  const atStart = target.selectionEnd === 0;
  if ((key === "ArrowRight" && atEnd) || (key === "ArrowLeft" && atStart)) {
    if (board.commit()) board.move(place, ...ARROWS[key]);
    return true;
  }
  return false;
}

/** To the next or previous cell in reading order; false at either end of the matrix. */
function moveAlong(board, place, step) {
  const columns = board.matrices.get(place.id).values[0].length;
  const index = place.row * columns + place.column + step;
  const next = { ...place, row: Math.floor(index / columns), column: index % columns };
  return index >= 0 && board.move(next, 0, 0);
}

// --- small things

function sameCell(a, b) {
  return a.id === b.id && a.row === b.row && a.column === b.column;
}

function clipped(text) {
  return text.length > 20 ? `${text.slice(0, 20)}…` : text;
}

/** Whether the page is light or dark, by the background Streamlit gives. */
function themeOf(root) {
  const background = getComputedStyle(root).backgroundColor;
  return luminance(channels(background)) > 0.4 ? "light" : "dark";
}

/** The pin outlives reruns and page changes, but not the browser tab. */
function loadPin() {
  try {
    const pin = JSON.parse(sessionStorage.getItem(PIN_KEY));
    return pin && typeof pin.id === "string" ? pin : null;
  } catch {
    return null;
  }
}

function savePin(place) {
  try {
    sessionStorage.setItem(PIN_KEY, JSON.stringify(place));
  } catch {
    // storage is blocked: the pin lasts as long as the board
  }
}
