/**
 * How a cell was made: from which cells, and by what arithmetic.
 *
 * Every number comes from the matrices that are shown; nothing is computed here.
 */

import { formatNumber, formatScore, isExact } from "./number.js";

/** @typedef {"first" | "second" | "note" | "was"} Role which operand a piece is of; or words */
/** @typedef {{id: string, row: number, column: number, role: Role, value: number | null}} Source */
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
  return EXPLAIN[operation.kind]({ ...cell, matrix, operation, operands, result, say });
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

  difference({ row, column, operands: [A, B], result }) {
    const a = at(A, row, column, "first");
    const b = at(B, row, column, "second");
    return { sources: [a, b], parts: [...resultIs(result, a, b), number(a), { text: " − " }, factor(b)] };
  },

  shared({ row, matrix, result, say }) {
    const count = matrix.values[row].filter((value) => value > 0).length;
    return words(result > 0 ? say("shared", { count }) : say("not_shared"));
  },

  sum({ row, column, operation, operands, result, say }) {
    const terms = operands.filter((_, k) => operation.on[k]).map((A) => at(A, row, column, "first"));
    if (terms.length === 0) return words(say("empty_sum"));
    const shown = terms.map((term, k) => [k ? factor(term) : number(term)]);
    return { sources: terms, parts: [...resultIs(result, ...terms), ...joined(shown, " + ")] };
  },

  /** The same number as in another cell. */
  moved({ row, column, operation, operands: [A], say }) {
    const [i, j] = operation.from[row][column];
    const source = at(A, i, j, "first");
    const place = { name: A.name, row: i + 1, column: j + 1 };
    return { sources: [source], parts: [number(source), note(say("moved_from", place))] };
  },

  mean({ column, operands: [A], result }) {
    const terms = A.values.map((_, i) => at(A, i, column, "first"));
    const shown = terms.map((term, k) => [k ? factor(term) : number(term)]);
    const sum = [{ text: "(" }, ...joined(shown, " + "), { text: `) / ${terms.length}` }];
    return { sources: terms, parts: [...resultIs(result, ...terms), ...sum] };
  },

  row_sums({ row, operands: [A], result }) {
    return sumOf(A.values[row].map((_, k) => at(A, row, k, "first")), result);
  },

  column_sums({ column, operands: [A], result }) {
    return sumOf(A.values.map((_, k) => at(A, k, column, "first")), result);
  },

  times({ row, column, operation, operands: [A], result }) {
    const a = at(A, row, column, "first");
    const parts = [number(a), { text: " · " }, factor({ value: operation.factor })];
    return { sources: [a], parts: [...resultIs(result, a, { value: operation.factor }), ...parts] };
  },

  /** What the lesson says of it, in the reader's language: of each cell, or of all alike. */
  told({ row, column, operation }) {
    return words(operation.texts?.[row]?.[column] ?? operation.text);
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

  allowed({ row, column, operation, result, say }) {
    return words(`${result === null ? "−∞" : "0"} ${ruling(operation, row, column, result, say)}`);
  },

  mask({ row, column, operands: [A, M], result, say }) {
    const a = at(A, row, column, "first");
    const m = at(M, row, column, "second");
    const reason = note(ruling(M.operation, row, column, result, say));
    const is = result === null ? [{ text: "−∞ = " }] : resultIs(result, a);
    const parts = [...is, number(a), { text: " + " }, factor(m), reason];
    return { sources: [a, m], parts };
  },

  softmax({ row, column, operands: [A], result, say }) {
    const terms = A.values[row].map((_, k) => at(A, row, k, k === column ? "second" : "first"));
    return shareOf(terms, column, result, say);
  },

  softmax_columns({ row, column, operands: [A], result, say }) {
    const terms = A.values.map((_, k) => at(A, k, column, k === row ? "second" : "first"));
    return shareOf(terms, row, result, say);
  },

  softmax_steps(how) {
    return SOFTMAX_STEP[how.row](how);
  },

  concat({ row, column, operation, operands: [H], result, say }) {
    const head = Math.floor(column / operation.d_k);
    const dim = column % operation.d_k;
    const origin = note(say("from_head", { head: head + 1, column: dim + 1 }));
    const sources = head === operation.head ? [at(H, row, dim, "first")] : [];
    return { sources, parts: [{ text: formatNumber(result), role: "first" }, origin] };
  },
};

/** The rows of a softmax that was opened up: score, minus the largest, exponential, weight. */
const SOFTMAX_STEP = [
  ({ column, operation, operands: [S], result, say }) => {
    const source = at(S, operation.row, column, "first");
    return { sources: [source], parts: [{ ...number({ value: result }), role: "first" }, note(say("step_score"))] };
  },

  ({ column, operation, operands: [S], matrix, result, say }) => {
    const score = at(matrix, 0, column, "first");
    const [largest] = operation.maximum[operation.row];
    if (largest === null) return nothingToAttendTo(say);
    const scores = S.values[operation.row];
    const source = at(S, operation.row, scores.indexOf(largest), "second");
    const difference = [number(score), { text: " − " }, factor({ value: largest, role: "second" })];
    return {
      sources: source.column < 0 ? [score] : [score, source],
      parts: [...resultIs(result, score, source), ...difference, note(say("step_shifted"))],
    };
  },

  ({ column, operation, matrix, result, say }) => {
    if (operation.total[operation.row][0] === null) return nothingToAttendTo(say);
    const power = at(matrix, 1, column, "first");
    const parts = [{ text: `${number({ value: result }).text} ${power.value === null || power.value === 0 ? "=" : "≈"} e` }];
    parts.push({ ...number(power), raised: true });
    if (power.value === null) parts.push(note(say("step_exponential")));
    return { sources: [power], parts };
  },

  ({ column, operation, matrix, result, say }) => {
    const [sum] = operation.total[operation.row];
    if (sum === null) return nothingToAttendTo(say);
    const terms = matrix.values[2].map((_, k) => at(matrix, 2, k, k === column ? "first" : "second"));
    const parts = [number(terms[column]), { text: " / " }, factor({ value: sum, role: "second" })];
    return { sources: terms, parts: [...resultIs(result, terms[column], { value: sum }), ...parts] };
  },
];

/** All terms, written out. */
function sumOf(terms, result) {
  const shown = terms.map((term, k) => [k ? factor(term) : number(term)]);
  return { sources: terms, parts: [...resultIs(result, ...terms), ...joined(shown, " + ")] };
}

/** One exponential of several, as a share of their sum. */
function shareOf(terms, place, result, say) {
  if (terms.every((term) => term.value === null)) {
    return { sources: terms, parts: [{ text: "0" }, note(say("empty_row"))] };
  }
  const exponentials = terms.map((term) => [{ text: "e" }, { ...number(term), raised: true }]);
  const sum = [{ text: " / (" }, ...joined(exponentials, " + "), { text: ")" }];
  const isMasked = terms[place].value === null; // then the weight is exactly 0
  const is = isMasked ? [{ text: "0 = " }] : resultIs(result, ...terms);
  return { sources: terms, parts: [...is, ...exponentials[place], ...sum] };
}

function nothingToAttendTo(say) {
  return { sources: [], parts: [{ text: "0" }, note(say("empty_row"))] };
}

/** Which masks forbid a cell, or that it was set by hand against them. */
function ruling({ forbidden_by }, row, column, result, say) {
  const rules = Object.keys(forbidden_by).filter((kind) => forbidden_by[kind][row][column]);
  if (result !== null) return say(rules.length ? "allowed_by_hand" : "allowed");
  const kinds = rules.length ? rules : ["painted"];
  return say("forbidden", { masks: kinds.map((kind) => say(`mask_${kind}`)).join(say("and")) });
}

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
  return { text: ` ${text}`, role: "note" };
}

/** @param {{value: number | null, role?: Role}} source @returns {Part} */
function number({ value, role }) {
  return { text: formatScore(value), role };
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
 * "0.5 = " if all numbers are written in full, as "NaN" and −∞ always are, else "0.3333 ≈ ". The
 * result stands first, since a sum may be long.
 */
function resultIs(result, ...sources) {
  const values = [result, ...sources.map((source) => source.value)];
  const isFull = values.every((value) => typeof value !== "number" || isExact(formatNumber(value), value));
  return [{ text: `${number({ value: result }).text} ${isFull ? "=" : "≈"} ` }];
}

function joined(groups, separator) {
  return groups.flatMap((group, index) => (index ? [{ text: separator }, ...group] : group));
}
