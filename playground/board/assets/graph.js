/**
 * How a cell was made: from which cells, and by what arithmetic.
 *
 * Every number comes from the matrices that Python sent; nothing is computed here.
 */

import { formatNumber, isExact } from "./number.js";

/** @typedef {"first" | "second"} Role which operand a cell belongs to, for its colour */
/** @typedef {{id: string, row: number, column: number, role: Role, value: number}} Source */
/** @typedef {{text: string, role?: Role, raised?: boolean}} Part a piece of the arithmetic */
/** @typedef {{sources: Source[], parts: Part[]}} Explanation */
/** @typedef {import("./view.js").Matrix} Matrix */

/** A longer sum is cut; the result stands before it. */
const MOST_TERMS = 16;

/**
 * @param {Map<string, Matrix>} matrices
 * @param {{id: string, row: number, column: number}} cell
 * @param {(key: string, values?: Record<string, string | number>) => string} say
 * @returns {Explanation}
 */
export function explain(matrices, cell, say) {
  const matrix = matrices.get(cell.id);
  const { operation } = matrix;
  const operands = (operation.of ?? []).map((id) => matrices.get(id));
  const result = matrix.values[cell.row][cell.column];
  return EXPLAIN[operation.kind]({ ...cell, operation, operands, result, say });
}

const EXPLAIN = {
  given: ({ say }) => words(say("given")),
  learned: ({ say }) => words(say("learned")),

  sinusoidal({ row, column, operation, result, say }) {
    const even = column - (column % 2);
    const name = column % 2 ? "cos" : "sin";
    const angle = `${name}(${row} / 10000^(${even}/${operation.d_model}))`;
    return { sources: [], parts: [...resultIs(result), { text: angle }, note(say("position"))] };
  },

  alibi({ row, column, operation, result }) {
    const product = `−${formatNumber(operation.slope)} · |${row} − ${column}|`;
    return { sources: [], parts: [...resultIs(result, { value: operation.slope }), { text: product }] };
  },

  matmul(how) {
    const { row, column, operands: [A, B] } = how;
    const pairs = A.values[row].map((_, k) => [at(A, row, k, "first"), at(B, k, column, "second")]);
    return sumOfProducts(pairs, how);
  },

  matmul_transposed(how) {
    const { row, column, operands: [A, B] } = how;
    const pairs = A.values[row].map((_, k) => [at(A, row, k, "first"), at(B, column, k, "second")]);
    return sumOfProducts(pairs, how);
  },

  add({ row, column, operands: [A, B], result }) {
    const a = at(A, row, column, "first");
    const b = at(B, row, column, "second");
    return { sources: [a, b], parts: [...resultIs(result, a, b), number(a), { text: " + " }, factor(b)] };
  },

  scale({ row, column, operation, operands: [A], result }) {
    const a = at(A, row, column, "first");
    return { sources: [a], parts: [...resultIs(result, a), number(a), { text: ` / √${operation.d_k}` }] };
  },

  rotate({ row, column, operation, operands: [A], result, say }) {
    const pair = Math.floor(column / 2);
    if (pair >= operation.cos[row].length) {
      const a = at(A, row, column, "first");
      return { sources: [a], parts: [number(a), note(say("unpaired"))] };
    }
    const a = at(A, row, 2 * pair, "first");
    const b = at(A, row, 2 * pair + 1, "second");
    const turn = operation[column % 2 ? "sin" : "cos"][row][pair];
    const other = operation[column % 2 ? "cos" : "sin"][row][pair];
    const sign = column % 2 ? " + " : " − ";
    const parts = [number(a), times(turn), { text: sign }, factor(b), times(other)];
    return { sources: [a, b], parts: [...resultIs(result, a, b), ...parts] };
  },

  mask({ row, column, operation, operands: [A], result, say }) {
    const a = at(A, row, column, "first");
    if (result !== null) return { sources: [a], parts: [number(a), note(say("allowed"))] };
    const kinds = Object.entries(operation.forbidden_by)
      .filter(([, cells]) => cells[row][column])
      .map(([kind]) => say(`mask_${kind}`));
    const reason = say("forbidden", { masks: kinds.join(say("and")) });
    return { sources: [a], parts: [{ text: "−∞" }, note(reason)] };
  },

  softmax({ row, column, operands: [A], result, say }) {
    const terms = A.values[row].map((_, k) => at(A, row, k, k === column ? "second" : "first"));
    if (terms.every((term) => term.value === null)) {
      return { sources: terms, parts: [{ text: "0" }, note(say("empty_row"))] };
    }
    const exponentials = terms.map((term) => [{ text: "e" }, { ...number(term), raised: true }]);
    const sum = [{ text: " / (" }, ...joined(exponentials, " + "), { text: ")" }];
    return { sources: terms, parts: [...resultIs(result, ...terms), ...exponentials[column], ...sum] };
  },

  concat({ row, column, operation, operands: [H], result, say }) {
    const head = Math.floor(column / operation.d_k);
    const dim = column % operation.d_k;
    const origin = note(say("from_head", { head: head + 1, column: dim + 1 }));
    const sources = head === operation.head ? [at(H, row, dim, "first")] : [];
    return { sources, parts: [{ text: formatNumber(result), role: "first" }, origin] };
  },
};

/** A cell as a source, with its value. */
function at(matrix, row, column, role) {
  return { id: matrix.id, row, column, role, value: matrix.values[row][column] };
}

function sumOfProducts(pairs, { operands: [A, B], result, say }) {
  const products = pairs.map(([a, b], k) => [
    k ? factor(a) : number(a),
    { text: "·" },
    factor(b),
  ]);
  const sources = pairs.flat();
  const shown = joined(products.slice(0, MOST_TERMS), " + ");
  const rest = products.length - MOST_TERMS;
  if (rest > 0) shown.push(note(say("more_terms", { count: rest })));
  const operands = [
    { text: " (" },
    { text: A.symbol || A.name, role: "first" },
    { text: " · " },
    { text: B.symbol || B.name, role: "second" },
    { text: ")" },
  ];
  return { sources, parts: [...resultIs(result, ...sources), ...shown, ...operands] };
}

function words(text) {
  return { sources: [], parts: [note(text)] };
}

function note(text) {
  return { text: ` ${text}` };
}

/** @param {{value: number | null, role?: Role}} source @returns {Part} */
function number({ value, role }) {
  return { text: value === null ? "−∞" : formatNumber(value), role };
}

/** A number after an operator: negative ones in brackets. */
function factor(source) {
  const part = number(source);
  return part.text.startsWith("−") ? { ...part, text: `(${part.text})` } : part;
}

function times(value) {
  return { text: `·${factor({ value }).text}` };
}

/**
 * "0.5 = " if all numbers are written in full, else "0.3333 ≈ ". The result stands first, since
 * a sum may be long.
 */
function resultIs(result, ...sources) {
  const values = [result, ...sources.map((source) => source.value)];
  const isFull = values.every((value) => value === null || isExact(formatNumber(value), value));
  return [{ text: `${number({ value: result }).text} ${isFull ? "=" : "≈"} ` }];
}

function joined(groups, separator) {
  return groups.flatMap((group, index) => (index ? [{ text: separator }, ...group] : group));
}
