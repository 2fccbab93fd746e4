/**
 * One sentence for each step of the player, about the token that is followed.
 *
 * Its numbers are the texts of cells that are shown; nothing is computed here but which of them
 * is the largest.
 */

import { nameOf } from "./element.js";
import { writing } from "./sheet.js";

/** @typedef {import("./view.js").Matrix} Matrix */
/** @typedef {import("./view.js").BoardData} BoardData */
/** @typedef {(key: string, values?: object) => string} Say */

const ROUNDING = 1e-12; // as in the sentences below the board: nothing closer is told apart
const MOST_LISTED = 4; // names or numbers in one list; the rest are counted
const LONGEST = 16; // characters of a token in a sentence
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g; // could turn round the rest of a sentence

/**
 * @param {Map<string, Matrix>} matrices
 * @param {string} id of the step
 * @param {number} row of the token
 * @param {BoardData} data
 * @param {Say} say
 */
export function sentence(matrices, id, row, data, say) {
  const matrix = matrices.get(id);
  const { operation } = matrix;
  const operands = (operation.of ?? []).map((each) => matrices.get(each));
  const told = new Telling(matrix, operands, row, data, say);
  const text = TELL[operation.kind](told);
  const isOfHead = data.heads.length > 1 && isPerHead(matrix);
  return isOfHead ? say("play_in_head", { head: data.head + 1, sentence: text }) : text;
}

/** Whether each head has a matrix of its own instead of this one. @param {Matrix} matrix */
export function isPerHead({ id, stage }) {
  return id === "head_output" || (stage !== "inputs" && stage !== "output");
}

/** By the weights that make them. */
const KEYS = { W_Q: "play_Q", W_K: "play_K", W_V: "play_V", W_O: "play_projected" };

const TELL = {
  given(told) {
    const { say, fields } = told;
    return told.isZero() ? say("play_X_zero", fields) : say("play_X", told.peaks());
  },

  add: (told) => (told.matrix.columns === "tokens" ? addedBias(told) : addedPlace(told)),

  rotate(told) {
    const { say, row, before, now, fields } = told;
    const place = { ...fields, place: row };
    const moved = now.flatMap((value, column) => (value === before[column] ? [] : [column]));
    if (moved.length === 0) return say("play_unturned", place);
    return say("play_turned", { ...place, changes: told.changes(moved) });
  },

  matmul_transposed(told) {
    const { say, now, fields } = told;
    const best = largest(now);
    const found = { ...fields, keys: told.names(best), value: told.written(best[0]) };
    if (now.length === 1) return say("play_scores_one", found);
    if (best.length === now.length) return say("play_scores_even", found);
    return say(best.length > 1 ? "play_scores_tied" : "play_scores", found);
  },

  scale(told) {
    const { say, before, now, fields, matrix } = told;
    const divided = { ...fields, d_k: matrix.operation.d_k };
    if (now.every((value, key) => value === before[key])) return say("play_scaled_same", divided);
    const [key] = largest(now);
    return say("play_scaled", { ...divided, before: told.writtenBefore(key), after: told.written(key) });
  },

  mask(told) {
    const { say, now, fields } = told;
    const keys = known(now);
    if (keys.length === 0) return say("play_masked_none", fields);
    if (keys.length === now.length) return say("play_masked_all", fields);
    const counted = { count: keys.length, total: now.length, keys: told.names(keys) };
    return say("play_masked", { ...fields, ...counted });
  },

  softmax(told) {
    const { say, before, now, fields } = told;
    const seen = known(before);
    if (seen.length === 0) return say("play_weights_none", fields);
    const best = largest(now);
    const found = { ...fields, keys: told.names(best), value: told.written(best[0]) };
    if (seen.length === 1) return say("play_weights_only", found);
    if (best.length === seen.length) return say("play_weights_even", { ...found, count: seen.length });
    return say(best.length > 1 ? "play_weights_tied" : "play_weights", found);
  },

  matmul(told) {
    const { say, fields, operands: [first, second] } = told;
    if (first.id === "weights") return mixed(told);
    const key = KEYS[second.id];
    return told.isZero() ? say(`${key}_zero`, fields) : say(key, told.peaks());
  },

  concat({ say, fields, data, now }) {
    return say("play_joined", { ...fields, count: data.heads.length, width: now.length });
  },
};

/** X + P: where the place shows most. */
function addedPlace(told) {
  const { say, fields, operands: [, P], row } = told;
  const sizes = P.values[row].map(Math.abs);
  const most = largest(sizes);
  if (sizes[most[0]] === 0) return say("play_placed_same", fields);
  return say("play_placed", { ...fields, changes: told.changes(most) });
}

/** Scores + B: which keys lose most. */
function addedBias(told) {
  const { say, fields, operands: [, B], row } = told;
  const sizes = B.values[row].map(Math.abs);
  const most = largest(sizes);
  if (sizes[most[0]] === 0) return say("play_biased_same", fields);
  const amount = writing(B)(B.values[row][most[0]], row);
  return say("play_biased", { ...fields, keys: told.names(most), amount });
}

/** Weights · V: whose values the output is made of. */
function mixed(told) {
  const { say, fields, operands: [weights], row } = told;
  const shares = weights.values[row];
  const best = largest(shares);
  const value = writing(weights)(shares[best[0]], row);
  const count = shares.filter((share) => share !== 0).length;
  const found = { ...fields, keys: told.names(best), value, count };
  if (count === 0) return say("play_mixed_none", found);
  if (count === 1) return say("play_mixed_only", found);
  if (best.length === count) return say("play_mixed_even", found);
  return say(best.length > 1 ? "play_mixed_tied" : "play_mixed", found);
}

/** What all sentences ask of the row of the token. */
class Telling {
  constructor(matrix, operands, row, data, say) {
    Object.assign(this, { matrix, operands, row, data, say });
    this.now = matrix.values[row];
    this.before = operands[0]?.values[row];
    this.fields = { token: this.name(row) };
  }

  isZero() {
    return this.now.every((value) => value === 0);
  }

  written(column) {
    return writing(this.matrix)(this.now[column], this.row);
  }

  writtenBefore(column) {
    return writing(this.operands[0])(this.before[column], this.row);
  }

  /** The numbers that are farthest from 0, with all that a sentence on them says. */
  peaks() {
    const columns = largest(this.now.map(Math.abs));
    const places = columns.map((column) =>
      this.say("play_number", { value: this.written(column), column: this.column(column) }),
    );
    return { ...this.fields, width: this.now.length, peaks: this.listed(places) };
  }

  /** From which number to which one it went, in each of these columns. */
  changes(columns) {
    return this.listed(
      columns.map((column) =>
        this.say("play_change", {
          column: this.column(column),
          before: this.writtenBefore(column),
          after: this.written(column),
        }),
      ),
    );
  }

  column(index) {
    return nameOf(this.data.axes[this.matrix.columns], index);
  }

  names(tokens) {
    return this.listed(tokens.map((token) => this.name(token)));
  }

  /** In quotes, and in an isolate, so that a token of another direction keeps to itself. */
  name(token) {
    const { tokens } = this.data.axes;
    const letters = [...tokens[token].replace(DIRECTIONS, "")];
    const short = letters.slice(0, LONGEST).join("") + (letters.length > LONGEST ? "…" : "");
    const number = nameOf(tokens, token).slice(tokens[token].length);
    return `“\u2068${short}\u2069”${number}`;
  }

  listed(parts) {
    const comma = this.say("play_comma");
    const rest = parts.length - MOST_LISTED;
    if (rest > 0) {
      const named = parts.slice(0, MOST_LISTED).join(comma);
      return this.say("play_more", { listed: named, count: rest });
    }
    const last = parts.at(-1);
    return parts.length === 1
      ? last
      : this.say("play_list", { listed: parts.slice(0, -1).join(comma), last });
  }
}

/** The columns that the sentence of a step speaks of, if it speaks of some. */
export function spoken({ values, columns, operation: { kind } }, [, added], row) {
  if (kind === "add") return largest(added.values[row].map(Math.abs));
  const isOfKeys = columns === "tokens"; // the best key has the highest score
  return largest(values[row].map((value) => (isOfKeys ? value : value && Math.abs(value))));
}

/** Which columns hold the largest number, as good as equal ones together; null is the least. */
export function largest(values) {
  const most = Math.max(...values.map((value) => value ?? -Infinity));
  const slack = ROUNDING * Math.max(1, Math.abs(most));
  return values.flatMap((value, column) => (value !== null && value >= most - slack ? [column] : []));
}

/** Which columns hold a number rather than minus infinity. */
function known(values) {
  return values.flatMap((value, column) => (value === null ? [] : [column]));
}
