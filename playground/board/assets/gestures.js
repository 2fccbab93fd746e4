/**
 * What a hand does to numbers: drags one sideways, paints the mask, pastes a block; and to rows:
 * carries one up or down.
 */

import { looksLikeBlock } from "./block.js";
import * as view from "./view.js";

/** @typedef {import("./board.js").Board} Board */

const SLACK = 5; // pixels before a press becomes a drag
const PIXELS = 6; // of dragging for one step
const STEP = 0.1;
const FINE_STEP = 0.01; // with the shift key

/** @param {Board} board @param {PointerEvent} event */
export function onPointerDown(board, event) {
  if (event.button !== 0 || !event.isPrimary) return;
  const header = view.rowOf(event.target);
  if (header) follow(board, event, new Carrying(board, header, event));
  const place = view.cellOf(event.target);
  if (!place) return;
  if (board.isPaintable(place)) {
    follow(board, event, new Painting(board, place, event));
  } else if (event.target.matches(".number") && !board.editing) {
    follow(board, event, new Scrubbing(board, place, event));
  }
}

/** Leads a gesture until the pointer goes up, wherever it is. */
function follow(board, event, gesture) {
  const { target, pointerId } = event;
  board.gesture = gesture;
  const onMove = (move) => {
    if (move.pointerId === pointerId && board.gesture === gesture) gesture.move(move, target);
  };
  const end = (up) => {
    if (up.pointerId !== pointerId) return;
    window.removeEventListener("pointermove", onMove);
    window.removeEventListener("pointerup", end);
    window.removeEventListener("pointercancel", end);
    if (board.gesture !== gesture) return;
    board.stopGesture();
    if (up.type === "pointerup") gesture.release(target);
  };
  window.addEventListener("pointermove", onMove);
  window.addEventListener("pointerup", end);
  window.addEventListener("pointercancel", end); // the browser scrolls instead
}

/** A number that follows the pointer sideways. */
class Scrubbing {
  constructor(board, place, { clientX, clientY }) {
    this.board = board;
    this.place = place;
    this.start = { x: clientX, y: clientY, value: board.valueAt(place) };
    this.value = this.start.value;
    this.isActive = false;
    this.hasMoved = false;
  }

  move(event, input) {
    const { board, start } = this;
    const across = event.clientX - start.x;
    if (!this.isActive) {
      if (Math.abs(across) < SLACK) return;
      if (Math.abs(event.clientY - start.y) > Math.abs(across)) {
        board.stopGesture(); // a scroll, not a scrub
        return;
      }
      this.isActive = true;
      board.root.classList.add("dragging");
      board.lastNudged = null;
    }
    const step = event.shiftKey ? FINE_STEP : STEP;
    const { value: limit } = board.data.limits;
    const wanted = board.stepped(start.value, Math.trunc(across / PIXELS) * step);
    this.set(Math.min(limit, Math.max(-limit, wanted)));
    input.setSelectionRange(0, 0); // the press began to select the text it drags
  }

  set(value) {
    const { board, place } = this;
    if (value === this.value) return;
    this.value = value;
    const edit = { kind: "cell", ...board.address(place), value };
    board.stream(edit, this.hasMoved, (waiting) => Object.assign(waiting, { value }));
    this.hasMoved = true;
  }

  release(input) {
    if (this.isActive) input.select(); // so that the next digit types over, not behind
  }

  /** Escape: the number is what it was. */
  cancel() {
    this.set(this.start.value);
    this.board.stopGesture();
  }
}

/** Cells of one matrix that the pointer passes: all switched on, or all off, as the first one. */
class Painting {
  constructor(board, place, { pointerType, clientX }) {
    this.board = board;
    this.isActive = true;
    this.id = place.id;
    this.first = place;
    this.x = clientX;
    this.allowed = !board.isOn(place);
    this.painted = new Map(); // by their address, those that differed before
    if (pointerType !== "touch") this.paint(place); // a finger may be about to scroll
  }

  move({ clientX, clientY }) {
    if (this.painted.size === 0) {
      if (Math.abs(clientX - this.x) < SLACK) return;
      this.paint(this.first);
    }
    const node = this.board.root.getRootNode().elementFromPoint(clientX, clientY);
    const place = node && view.cellOf(node);
    if (place?.id === this.id) this.paint(place);
  }

  paint(place) {
    const key = `${place.row},${place.column}`;
    if (this.painted.has(key)) return;
    const joins = this.painted.size > 0;
    const differed = this.board.isOn(place) !== this.allowed;
    this.painted.set(key, differed ? place : null);
    this.board.paint([place], this.allowed, joins);
  }

  release() {
    if (this.painted.size === 0) this.paint(this.first);
  }

  /** Escape: the cells are what they were. */
  cancel() {
    const changed = [...this.painted.values()].filter(Boolean);
    if (changed.length) this.board.paint(changed, !this.allowed, true);
    this.board.stopGesture();
    this.board.clearMessage();
  }
}

/** A row that is carried up or down by its name; a line shows where it would be put. */
class Carrying {
  constructor(board, { id, row }, { clientY }) {
    this.board = board;
    this.id = id;
    this.row = row;
    this.to = row;
    this.y = clientY;
    this.isActive = false;
    this.headers = board.view.sheets.get(id).rows.map(({ header }) => header);
  }

  move({ clientY }) {
    if (!this.isActive && Math.abs(clientY - this.y) < SLACK) return;
    this.isActive = true;
    const below = this.headers.findIndex((th) => clientY < th.getBoundingClientRect().bottom);
    this.to = below < 0 ? this.headers.length - 1 : below;
    this.headers.forEach((th, row) => {
      const { classList } = th.parentElement;
      classList.toggle("carried", row === this.row);
      classList.toggle("put-above", row === this.to && this.to < this.row);
      classList.toggle("put-below", row === this.to && this.to > this.row);
    });
  }

  release() {
    if (this.to !== this.row) this.board.carry(this, this.to);
  }

  /** Escape: the row stays where it was. */
  cancel() {
    this.board.stopGesture();
  }

  /** However it ends: nothing is marked any more. */
  end() {
    for (const { parentElement } of this.headers) {
      parentElement.classList.remove("carried", "put-above", "put-below");
    }
  }
}

/** @param {Board} board @param {ClipboardEvent} event */
export function onPaste(board, event) {
  if (!event.target.matches(".number")) return;
  const text = event.clipboardData?.getData("text/plain") ?? "";
  if (!looksLikeBlock(text)) return; // one number is pasted into the text of its cell
  event.preventDefault();
  board.paste(view.cellOf(event.target), text);
}
