/**
 * The keys of the board: arrows move, Enter pins or ends typing, + and − nudge; with Alt, arrows
 * carry a row.
 */

import * as view from "./view.js";

/** @typedef {import("./board.js").Board} Board */

const ARROWS = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** @param {Board} board */
export function onKey(board, event) {
  if (event.isComposing || event.keyCode === 229) return; // an input method is at work
  if (event.target.matches(".token")) return void onTokenKey(board, event);
  if (event.target.matches(".guess")) return void onGuessKey(board, event);
  if (event.key === "Escape" && board.gesture?.isActive) {
    board.gesture.cancel();
    return;
  }
  const header = view.rowOf(event.target);
  if (header && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    onRowKey(board, event, header);
    return;
  }
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

/** @param {Board} board */
function onGuessKey(board, event) {
  if (event.key === "Enter") {
    event.preventDefault(); // it would press the button that has the focus then
    board.player.takeGuess();
  }
  if (event.key === "Escape") {
    event.target.value = "";
    board.clearMessage();
    board.player.bar.focus();
  }
}

/** On the name of a row: arrows go to the next one, with Alt they carry the row along. */
function onRowKey(board, event, { id, row }) {
  event.preventDefault();
  const [step] = ARROWS[event.key];
  if (!event.altKey) {
    board.view.headerAt({ id, row: row + step })?.focus();
    return;
  }
  const from = board.carriedTo(id) ?? row; // the answer to the key before may be under way
  board.carry({ id, row: from }, from + step);
}

/** @param {Board} board @returns {boolean} whether the key is used up */
function keyOnCell(board, event, place) {
  const { key } = event;
  const editable = board.isEditable(place);
  const minusBefore = board.minusBefore;
  board.minusBefore = null;
  board.clearMessage();
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
    if (board.isPaintable(place)) board.paint([place], !board.isOn(place), false);
    else board.togglePin(place);
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
  if (key.length === 1) event.target.select(); // a digit types over what is there
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
