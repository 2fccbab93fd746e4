/**
 * Blocks of numbers, as other programs put them on the clipboard and take them from it.
 *
 * Read are tables (cells between tabs, semicolons, commas or spaces, a row on each line; Markdown
 * and LaTeX) and lists in brackets (Python, NumPy, PyTorch, JSON, Julia, Matlab). Words above and
 * before a table are its labels, and left out. Nothing is ever run as code.
 *
 * A comma is a decimal comma where no other comma has a role: 1,5;2,5 and 1,5 2,5 are two numbers.
 * Followed by a space, inside brackets or full-width (，、) it stands between two. Where both are
 * possible, the reading that gives a block of numbers is taken, and a text that has two such
 * readings is refused: 1,5 above 2,5 may be one column or two.
 */

import { parseNumber } from "./number.js";

/** @typedef {{key: string, fields: Record<string, string | number>}} Fault a text of the board */
/** @typedef {{values: number[][], problem?: undefined}} Block */
/** @typedef {Block | {values?: undefined, problem: Fault}} Parsed */
/** @typedef {"tsv" | "csv" | "python"} Kind */

const MOST_CHARACTERS = 20_000;
const MOST_OF_A_NUMBER = 200; // characters
const MOST_BRACKETS = 8; // one in another: two axes, and room for array(...)

class Refusal {
  /** @param {string} key @param {Fault["fields"]} fields */
  constructor(key, fields = {}) {
    Object.assign(this, { key, fields });
  }
}

/**
 * Reads a block that somebody copied.
 *
 * @param {string} text
 * @param {number} limit the largest size of a number
 * @returns {Parsed} rows of equal length; or what is wrong and where, counted from 1 in the text
 */
export function parseBlock(text, limit) {
  return attempt(() => read(text, limit));
}

/**
 * Whether a text that is pasted into one cell is more than the text of one number.
 *
 * @param {string} text
 */
export function looksLikeBlock(text) {
  if (text.length > MOST_CHARACTERS) return true;
  const plain = tidied(text).trim();
  if (readCell(plain, Infinity).problem !== "not_a_number") return false;
  return HAS_NUMBER.test(plain) && /[\t\n;&|()[\]{}]|[^,\s][,\s]+[^,\s]/.test(plain);
}

/**
 * What to say where a block reaches beyond its matrix, or nothing where it fits.
 *
 * @param {number[][]} values
 * @param {number} roomRows the rows from the chosen cell on
 * @param {number} roomColumns
 * @returns {Fault | undefined}
 */
export function roomProblem(values, roomRows, roomColumns) {
  const [rows, columns] = [values.length, values[0].length];
  if (rows <= roomRows && columns <= roomColumns) return undefined;
  const fields = { rows, columns, room_rows: roomRows, room_columns: roomColumns };
  return { key: "paste_no_room", fields };
}

/**
 * A matrix as a text that `parseBlock`, Python and spreadsheets read as the very same numbers.
 *
 * @param {(number | string | null)[][]} values null is minus infinity, which JSON lacks, as it
 *   does "NaN" and "∞"
 * @param {Kind} kind
 */
export function formatBlock(values, kind) {
  const between = { tsv: "\t", csv: ",", python: ", " }[kind];
  const write = kind === "tsv" ? String : asFloat;
  const np = kind === "python" ? "np." : "";
  const odd = { null: `-${np}inf`, NaN: `${np}nan`, "∞": `${np}inf` };
  const rows = values.map((row) =>
    row.map((value) => (typeof value === "number" ? write(value) : odd[value])).join(between),
  );
  if (kind !== "python") return rows.join("\n");
  return `np.array([${rows.map((row) => `[${row}]`).join(",\n          ")}])`;
}

/** With a point, so that 1 is no integer to NumPy, and 1.0,2.0 has no decimal comma. */
function asFloat(value) {
  const text = String(value); // the shortest that gives the same double back
  return /[.e]/.test(text) ? text : `${text}.0`;
}

// --- from a text to numbers

/** @param {() => number[][]} make @returns {Parsed} */
function attempt(make) {
  try {
    return { values: make() };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return { problem: { key: refusal.key, fields: refusal.fields } };
  }
}

function read(text, limit) {
  if (text.length > MOST_CHARACTERS) {
    throw new Refusal("paste_too_long", { most: MOST_CHARACTERS.toLocaleString("en") });
  }
  const plain = withoutName(tidied(text));
  if (!HAS_NUMBER.test(plain)) throw new Refusal("paste_empty");
  const isOne = readCell(plain, limit).problem !== "not_a_number";
  if (isOne) return numbersOf([[plain]], limit);
  if (!/^\s*([\p{L}_][\p{L}\p{N}_.]*)?[[({]/u.test(plain)) return numbersOfTable(plain, limit);
  if (/\t|^\s*\[,1\]/.test(plain)) {
    const table = attempt(() => numbersOfTable(plain, limit)); // whose first token may be "[CLS]"
    if (table.values) return table.values;
  }
  return numbersOf(readLists(plain), limit);
}

/** With ASCII punctuation and one kind of line break; numbers stay for `parseNumber`. */
function tidied(text) {
  return text
    .replace(/\r\n?|[\v\f\u2028\u2029]/g, "\n")
    .replace(/[\u200b-\u200f\u2060\ufeff]/g, "") // marks without width, which web pages hold
    .replace(/[，、]/g, ", ")
    .replace(/[！-～]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .replace(/[【】−。]/g, (sign) => "[]-."["【】−。".indexOf(sign)])
    .replace(/(\d) ?\/ ?(?=[-+.\d])/g, "$1/"); // 1 / 3
}

/** Without what Python, Matlab, Julia and PyTorch write before a matrix: `W_Q =`. */
function withoutName(text) {
  return text
    .replace(/^\s*\d+(×\d+|-element) [^\n]*:\n/, "")
    .replace(/^\s*Parameter containing:\s*/, "")
    .replace(/^ *[\p{L}_][\p{L}\p{N}_.]* *=\s*/u, "");
}

/** @returns {ReturnType<typeof parseNumber>} */
function readCell(text, limit) {
  const plain = text.trim();
  if (plain.length > MOST_OF_A_NUMBER || /\s/.test(plain)) return { problem: "not_a_number" };
  return parseNumber(plain, limit);
}

const KEYS = {
  empty: "paste_empty_cell",
  not_a_number: "paste_not_a_number",
  ambiguous: "paste_ambiguous",
  zero_division: "paste_zero_division",
  too_large: "paste_too_large",
};
const HAS_NUMBER = /[\p{N}∞]|\b(nan|inf|infinity)\b/iu;
const NOT_FINITE = /^[-+]?((np|math|torch)\.)?(nan|inf|infinity|∞)$/i;

/**
 * @param {string[][]} cells
 * @param {number} limit
 * @param {{top: number, left: number}} labels how many rows and columns are no numbers
 */
function numbersOf(cells, limit, { top, left } = { top: 0, left: 0 }) {
  refuseRagged(cells);
  const numbers = cells.slice(top).map((row) => row.slice(left));
  const parsed = numbers.map((row) => row.map((cell) => readCell(cell, limit)));
  const problems = parsed.flatMap((row, r) =>
    row.flatMap(({ problem }, c) => (problem ? [{ problem, r: r + top, c: c + left }] : [])),
  );
  // What can be read in no way comes first: it tells that a reading of the commas is wrong.
  const first = problems.find(({ problem }) => problem !== "ambiguous") ?? problems[0];
  if (first) {
    const text = clipped(cells[first.r][first.c]);
    const key = NOT_FINITE.test(text) ? "paste_not_finite" : KEYS[first.problem];
    const place = { row: first.r + 1, column: first.c + 1 };
    throw new Refusal(key, { text, ...place, limit: limit.toLocaleString("en") });
  }
  refuseTwoDecimalSigns(numbers.flat());
  return parsed.map((row) => row.map(({ value }) => value));
}

function refuseRagged(cells) {
  const first = cells[0].length;
  const row = cells.findIndex((other) => other.length !== first);
  if (row > 0) throw new Refusal("paste_ragged", { row: row + 1, count: cells[row].length, first });
  if (first === 0) throw new Refusal("paste_empty");
}

/** Where 2,5 is two and a half, 1.000 may be a thousand. */
function refuseTwoDecimalSigns(cells) {
  const [point, comma] = [".", ","].map((sign) => cells.find((cell) => cell.includes(sign)));
  if (point === undefined || comma === undefined) return;
  throw new Refusal("paste_two_signs", { point: clipped(point), comma: clipped(comma) });
}

function clipped(text) {
  const letters = Array.from(text.trim());
  return letters.length > 20 ? `${letters.slice(0, 20).join("")}…` : letters.join("");
}

// --- tables

/** Groups of three digits: one large number, or several numbers. */
const GROUPED = /^[-+]?[1-9]\d{0,2}((,\d{3})+(\.\d+)?|( \d{3})+([.,]\d+)?)$/;
/** Two numbers with nothing but space between them. */
const SPACED_NUMBERS = /\d[^\S\n]+[-+.\d]/;
/** Spaces that stand inside a number, between its thousands, do not end a cell. */
const SPACES = /[^\S\u00a0\u2009\u202f]+/;

function numbersOfTable(text, limit) {
  const readings = tables(text);
  const results = readings.map((cells) => attempt(() => numbersOf(cells, limit, labelsOf(cells))));
  const possible = results.filter((r) => r.values || r.problem.key === "paste_ambiguous");
  const [result, other] = possible.length ? possible : results;
  if (possible.length > 1 && JSON.stringify(result.values) !== JSON.stringify(other.values)) {
    throw ambiguity(readings[1]);
  }
  if (result.problem) throw new Refusal(result.problem.key, result.problem.fields);
  return result.values;
}

/** Names the first cell that may be one number or two. */
function ambiguity(cells) {
  const isUnclear = (cell) => cell.includes(",");
  const row = Math.max(0, cells.findIndex((line) => line.some(isUnclear)));
  const column = Math.max(0, cells[row].findIndex(isUnclear));
  const text = clipped(cells[row][column]);
  return new Refusal("paste_ambiguous", { text, row: row + 1, column: column + 1 });
}

/**
 * The cells of a table: once, or for each role that its commas can have.
 *
 * @param {string} text
 * @returns {string[][][]}
 */
function tables(text) {
  const by = (lines, split) => [withoutBlankLines(lines.map(split))];
  if (text.includes("\t")) return by(linesOf(text), (line) => line.split("\t").map(unquoted));
  if (/&|\\\\|\\begin/.test(text)) return by(linesOfLatex(text), (line) => line.split("&"));
  const lines = linesOf(text);
  const rows = lines.filter((line) => !isRule(line));
  if (rows.length > 0 && rows.every((line) => line.includes("|"))) return by(rows, splitMarkdown);
  if (!text.includes(";")) return readingsOfCommas(lines);
  const areRows = text.includes(", ") || SPACED_NUMBERS.test(text); // 1, 2; 3, 4
  if (areRows) return readingsOfCommas(linesOf(text.replaceAll(";", "\n")));
  return by(lines, (line) => split(line, ";"));
}

/** @param {string[]} lines cells between commas, spaces or both @returns {string[][][]} */
function readingsOfCommas(lines) {
  const text = lines.join("\n");
  if (lines.every((line) => GROUPED.test(line.trim()))) throw ambiguity([[lines[0]]]);
  const spaced = withCorner(withoutBlankLines(lines.map(splitSpaced)));
  if (!text.includes(",") || SPACED_NUMBERS.test(text)) return [spaced];
  const separated = withoutBlankLines(
    lines.map((line) => split(line.trimEnd().replace(/,$/, ""), ",")),
  );
  const isSplit = separated.some((row) => row.slice(1).some(isTail));
  return isSplit ? [spaced] : [separated, spaced];
}

/** What follows the comma of 1,05 or 1,000: nobody writes a number of its own so. */
function isTail(cell) {
  return /^0\d/.test(cell);
}

function linesOf(text) {
  const lines = text.split("\n");
  while (lines.length > 1 && /^[^\S\t]*$/.test(lines.at(-1))) lines.pop();
  return lines;
}

function linesOfLatex(text) {
  const rows = text.replace(/\\(begin|end)\{\w+\*?\}/g, "").replace(/\\\\\s*/g, "\n");
  return linesOf(rows.trim());
}

/** A blank line is a gap between rows, but in a single column an empty cell. */
function withoutBlankLines(rows) {
  const isSingle = rows.every((row) => row.length === 1);
  return isSingle ? rows : rows.filter((row) => row.length > 1 || row[0].trim() !== "");
}

/** The line of a Markdown table that only draws. */
function isRule(line) {
  return line.includes("-") && /^[-\s|+:=]+$/.test(line);
}

function splitMarkdown(line) {
  return line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|");
}

function splitSpaced(line) {
  return line.trim().replace(/ ,|, /g, " ").split(SPACES).map(unquoted);
}

/** Cells of CSV, where quotes keep a comma inside its cell. */
function split(line, separator) {
  const cells = [""];
  let isInside = false;
  for (const letter of line) {
    if (letter === '"') isInside = !isInside;
    if (letter === separator && !isInside) cells.push("");
    else cells[cells.length - 1] += letter;
  }
  return isInside ? line.split(separator) : cells.map(unquoted);
}

function unquoted(cell) {
  const text = cell.trim();
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) return cell;
  return text.slice(1, -1).replaceAll('""', '"');
}

// --- labels of a table

/**
 * How many rows on top and columns on the left are labels, not numbers. They are where all of
 * them are words. An empty corner says so too: then one word is enough, and so are the counts
 * from 0 that pandas writes.
 *
 * @param {string[][]} cells
 */
function labelsOf(cells) {
  const [header] = cells;
  const column = cells.map((row) => row[0]);
  if (header[0].trim() === "") {
    const isBoth = areNames(header.slice(1), column.slice(1));
    return { top: Number(isBoth), left: Number(isBoth) };
  }
  const top = cells.length > 1 && header.every(isWord) ? 1 : 0;
  const left = header.length > 1 && column.slice(top).every(isWord) ? 1 : 0;
  return { top, left };
}

function areNames(header, column) {
  const both = [header, column];
  if (!both.every((names) => names.length > 0)) return false;
  const isCount = (names) => names.every((name, n) => name.trim() === String(n));
  if (both.every(isCount)) return both.every((names) => names.length > 1);
  return both.every((names) => isCount(names) || names.some(isWord));
}

/** The header of a printed data frame has no word above the names of its rows. */
function withCorner(rows) {
  const [header, ...others] = rows;
  const isShort = others.length > 0 && others.every((row) => row.length === header.length + 1);
  const names = others.map((row) => row[0]);
  return isShort && areNames(header, names) ? [["", ...header], ...others] : rows;
}

/** What a number with a slip looks like: 1..2, 50%, O.5. */
const NEARLY_A_NUMBER = /^[^\p{L}]*\d|[.,]\d/u;
const MISSING = /^(na|n\/a|null|none|#(n\/a|div\/0!|ref!|value!|num!|name\?|null!))$/i;

function isWord(cell) {
  const text = cell.trim();
  if (/^\[\d*,\d*\]$/.test(text)) return true; // [1,] and [,1] name rows and columns in R
  if (readCell(text, Infinity).problem !== "not_a_number") return false;
  return ![NEARLY_A_NUMBER, MISSING, NOT_FINITE].some((pattern) => pattern.test(text));
}

// --- lists in brackets

const TOKENS = /[[\](){},;]|\s+|[^[\](){},;\s]+/g;
const PARTNERS = { "]": "[", ")": "(", "}": "{" };
const NAME = /^[\p{L}_][\p{L}\p{N}_.]*$/u;
/** Functions that give their argument back, as an array or a number. */
const CALLS = "array asarray Array tensor Tensor as_tensor Matrix float float16 float32 float64";
const OPTION = /^((dtype|device|requires_grad|grad_fn|copy)=\S+|(np|numpy|torch)\.\w+)$/;

/** @typedef {string | Item[]} Item a number as it is written, or a list */
/**
 * A bracket that is not closed yet.
 *
 * @typedef {{
 *   bracket: string,
 *   isCall: boolean,
 *   rows: Item[][],
 *   separators: Set<string>,
 *   breaks: number[],
 *   gap: string,
 * }} Open `rows` end at ";", `breaks` counts the numbers before each line that ends without a
 *   comma, `gap` is what came since the last item.
 */

/** @returns {Open} */
function opened(bracket, isCall = false) {
  return { bracket, isCall, rows: [[]], separators: new Set(), breaks: [], gap: "" };
}

/** @param {string} text @returns {string[][]} */
function readLists(text) {
  const stack = [opened("")];
  for (const [token] of text.matchAll(TOKENS)) {
    const innermost = stack.at(-1);
    if (token === "," || token.trim() === "") innermost.gap += token;
    else if (token === ";") innermost.rows.push([]);
    else if ("[({".includes(token)) openBracket(stack, token);
    else if (token in PARTNERS) closeBracket(stack, token);
    else {
      beginItem(stack, token);
      innermost.rows.at(-1).push(token);
    }
  }
  if (stack.length > 1) refuseBracket(stack, stack.at(-1).bracket);
  const items = stack[0].rows.flat();
  const whole = items.length === 1 ? items[0] : closed({ ...stack[0], rows: [items] }, true);
  if (typeof whole === "string") return [[whole]];
  return whole.every((item) => typeof item === "string") ? [whole] : whole;
}

/** Where the next item stands, counted from 1. @param {Open[]} stack */
function placeIn(stack) {
  const lists = stack.filter(({ isCall }) => !isCall);
  const [outer, inner] = lists.length > 1 ? lists.slice(-2) : [opened(""), lists[0]];
  const row = outer.rows.at(-1).length + inner.rows.length;
  return { row, column: inner.rows.at(-1).length + 1 };
}

/** Notes what separates an item from the one before. */
function beginItem(stack, text) {
  const list = stack.at(-1);
  const row = list.rows.at(-1);
  const commas = refuseHole(stack, Math.min(row.length, 1));
  if (list.gap === "," && isTail(text)) {
    throw new Refusal("paste_ambiguous", { text: clipped(`,${text}`), ...placeIn(stack) });
  }
  if (row.length > 0) list.separators.add(commas ? "," : " ");
  if (row.length > 0 && !commas && list.gap.includes("\n")) list.breaks.push(row.length);
  list.gap = "";
}

/** @returns {number} how many commas came since the last item */
function refuseHole(stack, most) {
  const commas = stack.at(-1).gap.split(",").length - 1;
  if (commas > most) throw new Refusal("paste_empty_cell", placeIn(stack));
  return commas;
}

function openBracket(stack, bracket) {
  const row = stack.at(-1).rows.at(-1);
  const name = stack.at(-1).gap === "" ? row.at(-1) : undefined;
  const isCall = bracket === "(" && typeof name === "string";
  if (isCall) {
    row.pop();
    refuseUnknownCall(stack, name);
  } else {
    beginItem(stack, bracket);
  }
  if (stack.length > MOST_BRACKETS) throw new Refusal("paste_too_deep");
  stack.push(opened(bracket, isCall));
}

/** sqrt(2) is not 2. */
function refuseUnknownCall(stack, name) {
  if (NAME.test(name) && CALLS.split(" ").includes(name.split(".").at(-1))) return;
  throw new Refusal("paste_not_a_number", { text: clipped(`${name}(`), ...placeIn(stack) });
}

function closeBracket(stack, bracket) {
  const list = stack.at(-1);
  if (list.bracket !== PARTNERS[bracket]) refuseBracket(stack, bracket);
  refuseHole(stack, Math.min(list.rows.at(-1).length, 1));
  stack.pop();
  const isOutermost = stack.every((outer) => outer.isCall || outer.bracket === "");
  stack.at(-1).rows.at(-1).push(closed(list, isOutermost));
}

function refuseBracket(stack, bracket) {
  throw new Refusal("paste_bracket", { bracket, ...placeIn(stack) });
}

/** What a closed bracket stands for. @param {Open} list @returns {Item} */
function closed(list, isOutermost) {
  const rows = list.rows.filter((row, r) => r === 0 || r < list.rows.length - 1 || row.length > 0);
  const [items] = rows;
  if (list.isCall && rows.length === 1) return argumentOf(items);
  const isTuple = items.length !== 1 || list.gap.includes(",");
  if (list.bracket === "(" && !isTuple) return grouped(items[0]);
  if (rows.flat().every((item) => typeof item === "string")) {
    refuseUnclearRows(list, rows, isOutermost);
    return rows.length > 1 ? rows : items;
  }
  if (rows.length > 1 || items.some((item) => typeof item === "string")) refuseMixture(rows);
  if (items.some((item) => Array.isArray(item[0]))) throw new Refusal("paste_too_deep");
  return items;
}

/** Of array(..., dtype=float32). */
function argumentOf([value = [], ...options]) {
  const isKnown = (option) => typeof option === "string" && OPTION.test(option);
  if (!options.every(isKnown)) refuseMixture(options);
  return value;
}

/** Python's (2.5) is a number, but to a bookkeeper it is −2.5. */
function grouped(item) {
  if (typeof item !== "string") return item;
  throw new Refusal("paste_parentheses", { text: clipped(`(${item})`) });
}

function refuseMixture(items) {
  const isText = (item) => typeof item === "string";
  const text = items.flat().find(isText) ?? items.flat(MOST_BRACKETS).find(isText) ?? "";
  throw new Refusal("paste_mixture", { text: clipped(text) });
}

/**
 * 1,5 2,5 in brackets may be two numbers or four. A row that goes on in a new line may be a
 * long one as NumPy prints it, or two as Matlab takes them; lines of different length are one.
 */
function refuseUnclearRows({ separators, breaks }, rows, isOutermost) {
  const text = clipped(rows.flat()[0] ?? "");
  if (separators.size > 1) throw new Refusal("paste_mixed_separators", { text });
  if (!isOutermost || breaks.length === 0) return;
  const ends = [...breaks, rows[0].length];
  const lengths = new Set(ends.map((end, n) => end - (ends[n - 1] ?? 0)));
  if (rows.length > 1 || lengths.size === 1) throw new Refusal("paste_line_break", { text });
}
