/**
 * Softmax opened up: one row of the weights, step by step, as a small matrix of its own.
 */

import { nameOf } from "./element.js";
import { scoresOf } from "./evaluate.js";
import { formatScore } from "./number.js";

/** @typedef {import("./view.js").BoardData} BoardData */
/** @typedef {import("./view.js").Matrix} Matrix */

export const OPENED = "softmax";

/**
 * The steps of one row; every number is one that the softmax of the data holds.
 *
 * @param {BoardData} data
 * @param {number} row
 * @param {(key: string, values?: object) => string} say
 * @returns {Matrix}
 */
export function opened(data, row, say) {
  const weights = data.matrices.find((matrix) => matrix.id === "weights");
  const scores = data.matrices.find((matrix) => matrix.id === scoresOf(data.matrices));
  const { maximum, shifted, exponentials, total } = data.softmax;
  const isEmpty = total[row][0] === null;
  const sums = { maximum: formatScore(maximum[row][0]), total: formatScore(total[row][0]) };
  return {
    id: OPENED,
    symbol: "",
    name: say("softmax_name", { token: nameOf(data.axes.tokens, row) }),
    about: say("softmax_about"),
    expression: isEmpty ? say("softmax_empty") : say("softmax_expression", sums),
    stage: "weights",
    chain: "weights",
    values: [scores.values[row], shifted[row], exponentials[row], weights.values[row]],
    rows: OPENED,
    columns: "tokens",
    scale: "plain",
    editable: false,
    paintable: false,
    head: null,
    operation: { kind: "softmax_steps", of: [scores.id], row, maximum, total },
  };
}

/** The names of its rows. */
export function steps(say) {
  return ["scores", "shifted", "exponentials", "weights"].map((step) => say(`softmax_${step}`));
}

/** Whether a cell of this matrix stands in a row of queries, so that its softmax can be opened. */
export function hasQueries(matrix) {
  return matrix.rows === "tokens" && matrix.columns === "tokens";
}
