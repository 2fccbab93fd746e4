/**
 * The preview: the board's data with edits that Python has not taken yet, evaluated along the
 * graph that Python sent. A browser test holds it to the core's numbers.
 */

/** @typedef {import("./view.js").BoardData} BoardData */
/** @typedef {import("./view.js").Matrix} Matrix */
/** @typedef {(number | null)[][]} Values null is -inf */

/**
 * The data after these edits; the data itself if there are none.
 *
 * @param {BoardData} data
 * @param {Record<string, any>[]} edits
 * @returns {BoardData}
 */
export function withEdits(data, edits) {
  if (edits.length === 0) return data;
  const edited = {
    ...data,
    axes: { ...data.axes, tokens: [...data.axes.tokens] },
    matrices: data.matrices.map((matrix) => ({ ...matrix })),
    heads: data.heads.map((head) => head && { ...head }),
  };
  for (const edit of edits) EDIT[edit.kind]?.(edited, edit);
  return { ...evaluated(edited), isPreview: true };
}

const EDIT = {
  cell(data, { matrix, head, row, column, value }) {
    write(data, matrix, head, [[row, column, value]]);
  },
  block(data, { matrix, head, row, column, values }) {
    const cells = values.flatMap((line, r) => line.map((v, c) => [row + r, column + c, v]));
    write(data, matrix, head, cells);
  },
  paint(data, { matrix, cells, allowed }) {
    const [on, off] = matrix === "mask" ? [0, null] : [1, 0];
    write(data, matrix, null, cells.map(([row, column]) => [row, column, allowed ? on : off]));
  },
  rename(data, { row, text }) {
    data.axes.tokens[row] = text;
  },
};

/** Writes cells of a given matrix, of the head that is shown or another. */
function write(data, id, head, cells) {
  const isShown = (head ?? data.head) === data.head;
  const matrix = isShown ? data.matrices.find((m) => m.id === id) : null;
  const rows = (isShown ? matrix?.values : data.heads[head]?.[id])?.map((row) => [...row]);
  if (!rows) return; // the matrix went while the edit was under way
  for (const [row, column, value] of cells) {
    if (column in (rows[row] ?? [])) rows[row][column] = value;
  }
  if (isShown) matrix.values = rows;
  else data.heads[head][id] = rows;
}

/**
 * Every matrix computed anew from those it was made of.
 *
 * @param {BoardData} data
 * @returns {BoardData}
 */
export function evaluated(data) {
  const values = new Map();
  for (const matrix of data.matrices) {
    values.set(matrix.id, compute(matrix, values, data));
  }
  return {
    ...data,
    matrices: data.matrices.map((matrix) => ({ ...matrix, values: values.get(matrix.id) })),
    softmax: data.softmax && softmaxSteps(values.get(scoresOf(data.matrices))),
  };
}

/** The id of the scores that the softmax is made of. @param {Matrix[]} matrices */
export function scoresOf(matrices) {
  return matrices.find((matrix) => matrix.id === "weights").operation.of[0];
}

/**
 * The same data following another head.
 *
 * @param {BoardData} data
 * @param {number} head
 * @returns {BoardData}
 */
export function atHead(data, head) {
  const there = data.heads[head];
  if (head === data.head || !there) return data;
  const shown = Object.fromEntries(
    data.matrices.filter((m) => m.head !== null).map((m) => [m.id, m.values]),
  );
  const slope = data.matrices.find((m) => m.id === "bias")?.operation.slope;
  const heads = data.heads.map((other, h) => (h === head ? null : other));
  heads[data.head] = { slope, ...shown };
  const matrices = data.matrices.map((matrix) => {
    if (matrix.head !== null) return { ...matrix, head, values: there[matrix.id] };
    const { operation } = matrix;
    if (operation.kind === "alibi") {
      return { ...matrix, operation: { ...operation, slope: there.slope } };
    }
    if (operation.kind === "concat") return { ...matrix, operation: { ...operation, head } };
    return matrix;
  });
  return evaluated({ ...data, head, heads, matrices });
}

/** @param {Matrix} matrix @param {Map<string, Values>} values of all before it @returns {Values} */
function compute(matrix, values, data) {
  const { operation } = matrix;
  const operands = (operation.of ?? []).map((id) => values.get(id));
  const how = COMPUTE[operation.kind];
  return how ? how(operands, operation, data, matrix) : matrix.values; // given, or a constant
}

const COMPUTE = {
  alibi: (_, { slope }, data, { values }) =>
    values.map((row, i) => row.map((__, j) => 0 - slope * Math.abs(i - j))),

  /** Each row shared equally among the cells that are on. */
  shared: (_, __, ___, { values }) =>
    values.map((row) => {
      const count = row.filter((value) => value > 0).length;
      return row.map((value) => (value > 0 ? 1 / count : 0));
    }),

  sum: (operands, { on }) =>
    operands[0].map((row, i) =>
      row.map((_, j) => operands.reduce((sum, A, k) => (on[k] ? sum + A[i][j] : sum), 0)),
    ),

  difference: ([A, B]) => A.map((row, i) => row.map((a, j) => a - B[i][j])),

  moved: ([A], { from }) => from.map((row) => row.map(([i, j]) => A[i][j])),

  mean: ([A]) => [A[0].map((_, j) => A.reduce((sum, row) => sum + row[j], 0) / A.length)],

  row_sums: ([A]) => A.map((row) => [row.reduce((sum, a) => sum + a, 0)]),

  column_sums: ([A]) => [A[0].map((_, j) => A.reduce((sum, row) => sum + row[j], 0))],

  times: ([A], { factor }) => A.map((row) => row.map((a) => (a === null ? null : a * factor))),

  softmax_columns: ([A]) => transposed(COMPUTE.softmax([transposed(A)])),

  matmul: ([A, B]) =>
    A.map((row) => B[0].map((_, j) => row.reduce((sum, a, k) => sum + a * B[k][j], 0))),

  matmul_transposed: ([A, B]) =>
    A.map((row) => B.map((other) => row.reduce((sum, a, k) => sum + a * other[k], 0))),

  add: ([A, B]) => A.map((row, i) => row.map((a, j) => a + B[i][j])),

  // As the core does: times 1/√d_k, not divided by √d_k.
  scale: ([A], { d_k }) => A.map((row) => row.map((a) => a * (1 / Math.sqrt(d_k)))),

  mask: ([A, M]) => A.map((row, i) => row.map((a, j) => (M[i][j] === null ? null : a))),

  softmax: ([A]) => {
    const { exponentials, total } = softmaxSteps(A);
    return exponentials.map((row, i) => row.map((e) => (e ?? 0) / (total[i][0] ?? 1)));
  },

  rotate: ([A], { cos, sin }) =>
    A.map((row, i) =>
      row.map((a, j) => {
        const pair = Math.floor(j / 2);
        if (pair >= cos[i].length) return a;
        const other = row[j ^ 1];
        return j % 2 ? other * sin[i][pair] + a * cos[i][pair] : a * cos[i][pair] - other * sin[i][pair];
      }),
    ),

  concat: ([H], { head }, data) => {
    const outputs = data.heads.map((_, h) => (h === head ? H : headOutput(data, h)));
    return H.map((_, row) => outputs.flatMap((output) => output[row]));
  },
};

/** What a head gives that is not shown: the same graph with its own weights. */
function headOutput(data, head) {
  const given = data.heads[head];
  const values = new Map();
  for (const matrix of data.matrices) {
    const { kind } = matrix.operation;
    if (kind === "alibi") values.set(matrix.id, COMPUTE.alibi([], given, data, matrix));
    else values.set(matrix.id, given[matrix.id] ?? compute(matrix, values, data));
    if (matrix.id === "head_output") break;
  }
  return values.get("head_output");
}

/** @param {Values} A */
function transposed(A) {
  return A[0].map((_, j) => A.map((row) => row[j]));
}

/** Maximum, shifted, exponentials and total of each row; null in a row without any score. */
function softmaxSteps(scores) {
  const steps = { maximum: [], shifted: [], exponentials: [], total: [] };
  for (const row of scores) {
    const known = row.filter((score) => score !== null);
    const isEmpty = known.length === 0;
    const maximum = Math.max(...known);
    const shifted = row.map((score) => (score === null ? null : score - maximum));
    const exponentials = shifted.map((x) => (isEmpty ? null : x === null ? 0 : Math.exp(x)));
    const total = exponentials.reduce((sum, e) => sum + e, 0);
    steps.maximum.push([isEmpty ? null : maximum]);
    steps.shifted.push(shifted);
    steps.exponentials.push(exponentials);
    steps.total.push([isEmpty ? null : total]);
  }
  return steps;
}
