/**
 * Numbers as people write them, and as a cell shows them.
 */

/** @typedef {"empty" | "not_a_number" | "ambiguous" | "zero_division" | "too_large"} Problem */

const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
const THOUSANDS = /^[+-]?[1-9]\d{0,2}(,\d{3})+$/;
/** 2½ and 10², which as plain digits would be 21/2 and 102. */
const RAISED = /[\p{N}.]\p{No}|\p{No}[\p{N}.]/u;

/** From this size on a number is written with an exponent. */
const EXPONENTIAL = 99_999.5;

/**
 * Reads what somebody typed: `.05`, `1e-3`, `-2,5`, `1/3`, also in full-width characters.
 *
 * @param {string} text
 * @param {number} limit the largest size allowed
 * @returns {{value: number, problem?: undefined} | {value?: undefined, problem: Problem}}
 */
export function parseNumber(text, limit) {
  const plain = normalized(text);
  if (plain === "") return { problem: "empty" };
  if (RAISED.test(text)) return { problem: "not_a_number" };
  const parts = plain.split("/");
  if (parts.length > 2) return { problem: "not_a_number" };
  const numbers = [];
  for (const part of parts) {
    const parsed = parseDecimal(part);
    if (parsed.problem) return parsed;
    numbers.push(parsed.value);
  }
  if (numbers.length === 2 && numbers[1] === 0) return { problem: "zero_division" };
  const value = numbers.length === 2 ? numbers[0] / numbers[1] : numbers[0];
  if (!(Math.abs(value) <= limit)) return { problem: "too_large" };
  return { value: value === 0 ? 0 : value }; // no -0
}

/**
 * One number without a fraction bar; a lone comma is a decimal comma.
 *
 * @param {string} text
 * @returns {{value: number, problem?: undefined} | {value?: undefined, problem: Problem}}
 */
function parseDecimal(text) {
  if (THOUSANDS.test(text)) return { problem: "ambiguous" }; // 1,000: one, or a thousand?
  const pointed = text.includes(".") ? text : text.replace(",", ".");
  if (!DECIMAL.test(pointed)) return { problem: "not_a_number" };
  return { value: Number(pointed) };
}

/** Full-width digits and signs, the real minus and the Chinese full stop, as ASCII. */
function normalized(text) {
  return text
    .normalize("NFKC")
    .replaceAll("−", "-")
    .replaceAll("⁄", "/")
    .replaceAll("。", ".")
    .replace(/\s/g, "");
}

/**
 * How many decimals all cells of a computed matrix get: at most 3, fewer where they suffice or
 * the numbers are large, so that every text fits its cell. Those with an exponent play no part.
 *
 * @param {number[]} values
 */
export function decimalsFor(values) {
  const plain = values.filter((value) => Math.abs(value) < EXPONENTIAL);
  const largest = Math.max(0, ...plain.map(Math.abs));
  const most = largest < 10 ? 3 : largest < 100 ? 2 : largest < 1000 ? 1 : 0;
  for (let decimals = 0; decimals < most; decimals++) {
    if (plain.every((value) => Number(value.toFixed(decimals)) === value)) return decimals;
  }
  return most;
}

/**
 * The text of a computed cell.
 *
 * @param {number} value
 * @param {number} decimals
 */
export function formatCell(value, decimals) {
  if (value === 0) return "0"; // exactly, which a masked weight is
  const text = value.toFixed(decimals);
  if (Math.abs(value) >= EXPONENTIAL) return tidy(value.toExponential(1));
  return tidy(Number(text) === 0 ? value.toExponential(0) : text);
}

/**
 * The text of a number in its own right (an edited cell, a term of the arithmetic): as short as
 * it can be, at most 4 decimals, at least 2 significant digits.
 *
 * @param {number} value
 */
export function formatNumber(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= EXPONENTIAL || size < 0.001) return tidy(trimmed(value.toExponential(2)));
  return tidy(trimmed(value.toFixed(size < 1000 ? 4 : 1)));
}

/**
 * The same for a score, which may be null: minus infinity. What is no number ("NaN", "∞") is
 * written already.
 *
 * @param {number | string | null} value
 */
export function formatScore(value) {
  if (typeof value === "string") return value;
  return value === null ? "−∞" : formatNumber(value);
}

/**
 * Whether a text shows a number exactly, so that "=" may stand before it.
 *
 * @param {string} text
 * @param {number} value
 */
export function isExact(text, value) {
  return Number(normalized(text)) === value;
}

/**
 * Whether a text is this number, rounded to the digits it shows.
 *
 * @param {string} text
 * @param {number} value
 */
export function readsAs(text, value) {
  const [digits, exponent] = normalized(text).split("e");
  const decimals = digits.split(".")[1]?.length ?? 0;
  const unit = 10 ** (Number(exponent ?? 0) - decimals);
  return Math.abs(Number(normalized(text)) - value) <= 0.5000001 * unit;
}

/** Without trailing zeros: 1.5000 is 1.5, and 2.00e-4 is 2e-4. */
function trimmed(text) {
  const [digits, exponent] = text.split("e");
  const short = digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
  return exponent === undefined ? short : `${short}e${exponent.replace("+", "")}`;
}

/** With a real minus, and no "-0". */
function tidy(text) {
  return (/^-[0.]+$/.test(text) ? text.slice(1) : text).replace(/-/g, "−").replace("e+", "e");
}
