/**
 * The difference between two versions: which numbers moved, and what they were.
 *
 * Both versions are evaluated by the same code, so a matrix whose operands are the same is the
 * same to the last bit: what cannot have moved is never marked.
 */

import { sizeOf } from "./element.js";
import { atHead, evaluated } from "./evaluate.js";

/** @typedef {import("./view.js").BoardData} BoardData */

/** For each cell the old number where it moved, undefined where it did not. */
/** @typedef {Map<string, (number | null | undefined)[][]>} Changes */

/**
 * @param {BoardData | null} before
 * @param {BoardData} now
 * @returns {Changes} matrices that are new or have another shape are left out
 */
export function changesSince(before, now) {
  const changes = new Map();
  if (!before || before.heads.length <= now.head) return changes;
  const old = evaluatedOnce(before, now.head);
  for (const { id, values } of (now.isPreview ? now : evaluated(now)).matrices) {
    const was = old.get(id);
    if (!was || sizeOf(was) !== sizeOf(values)) continue;
    const rows = values.map((row, i) =>
      row.map((value, j) => (value === was[i][j] ? undefined : was[i][j])),
    );
    if (rows.some((row) => row.some((value) => value !== undefined))) changes.set(id, rows);
  }
  return changes;
}

/** The version before does not change while a number is dragged. */
let last = { before: null, head: 0, values: new Map() };

function evaluatedOnce(before, head) {
  if (last.before !== before || last.head !== head) {
    const { matrices } = evaluated(atHead(before, head));
    last = { before, head, values: new Map(matrices.map(({ id, values }) => [id, values])) };
  }
  return last.values;
}

/** How many matrices cannot be compared, since their size is another. */
export function reshaped(before, now) {
  const sizes = new Map(before.matrices.map(({ id, values }) => [id, sizeOf(values)]));
  return now.matrices.filter(({ id, values }) => sizes.has(id) && sizes.get(id) !== sizeOf(values))
    .length;
}

/** How many numbers moved. @param {Changes} changes */
export function countOf(changes) {
  const cells = [...changes.values()].flat(2);
  return cells.filter((value) => value !== undefined).length;
}

/**
 * What tells one version from another, whichever head is shown: all that is given.
 *
 * @param {BoardData} data
 */
export function fingerprint(data) {
  if (!data.softmax) return JSON.stringify(data.matrices.map(({ id, values }) => [id, values]));
  const shown = data.matrices.filter(({ operation }) => GIVEN.has(operation.kind));
  const perHead = Object.fromEntries(shown.filter((m) => m.head !== null).map((m) => [m.id, m.values]));
  const heads = data.heads.map((head) => {
    const { W_Q, W_K, W_V } = head ?? perHead;
    return [W_Q, W_K, W_V];
  });
  const others = shown.filter((m) => m.head === null).map((m) => [m.id, m.values]);
  return JSON.stringify([data.matrices.map((m) => m.id), others, heads]);
}

/**
 * Whether an edit that no server has answered means the same to a session that knows nothing of
 * it: the address has brought there what the edit was made on.
 */
export function lastsOn(edit, before, now) {
  const isMeant = ({ id, sortable }) => (edit.kind === "move" ? sortable : id === edit.matrix);
  const [old, present] = [before, now].map(({ axes, head, matrices }) =>
    JSON.stringify([axes.tokens, head, matrices.find(isMeant)?.values]),
  );
  return old === present;
}

const GIVEN = new Set(["given", "learned", "sinusoidal", "allowed"]);
