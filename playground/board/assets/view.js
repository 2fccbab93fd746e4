/**
 * The DOM of the board: built once for a shape, then repainted.
 *
 * Texts of a learner go in through `textContent` and attributes only, never as markup.
 */

import { cellShade } from "./colour.js";
import { decimalsFor, formatCell, formatNumber } from "./number.js";

/**
 * @typedef {Object} Matrix
 * @property {string} id
 * @property {string} symbol "W_Q" means W with the subscript Q
 * @property {string} name
 * @property {string} about
 * @property {string} expression
 * @property {string} stage
 * @property {string} chain matrices of one chain stand below each other
 * @property {(number | null)[][]} values null is -inf
 * @property {string} rows the axis its rows run along
 * @property {string} columns
 * @property {"signed" | "weights"} scale
 * @property {boolean} editable
 * @property {number | null} head
 * @property {Record<string, any>} operation
 *
 * @typedef {Object} BoardData
 * @property {Matrix[]} matrices
 * @property {{id: string, title: string}[]} stages
 * @property {Record<string, string[]>} axes
 * @property {Record<string, string>} texts
 * @property {Record<string, Record<string, string[]>>} palette
 * @property {{value: number, tokens: number}} limits
 * @property {number} run counts the runs of the session
 * @property {number} revision
 * @property {Record<string, number>} taken
 */

/**
 * An element with attributes and children; undefined and false attributes are left out.
 *
 * @param {string} tag
 * @param {Record<string, string | number | boolean | undefined>} attributes
 * @param {(Node | string)[]} children
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(name, String(value));
  }
  node.append(...children);
  return node;
}

/** The text of a key with its {fields} filled in. */
export function sayFrom(texts) {
  return (key, values = {}) =>
    texts[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? `{${name}}`));
}

/** Which wording of a text fits a matrix: tokens have names, other rows have numbers. */
export function wording(key, matrix) {
  if (matrix.columns === "tokens") return `${key}_between`;
  return matrix.rows === "tokens" ? key : `${key}_of_row`;
}

/** The name of a row or column; repeated ones are told apart by their place. */
export function nameOf(labels, index) {
  const label = labels[index];
  return labels.indexOf(label) === labels.lastIndexOf(label) ? label : `${label} (${index + 1})`;
}

/** What must be equal for the DOM of the board to be kept. @param {BoardData} data */
export function outline(data) {
  const shapes = data.matrices.map((m) => [m.id, m.values.length, m.values[0].length]);
  return JSON.stringify([shapes, data.stages.map((stage) => stage.title), data.texts.hint]);
}

/** @param {BoardData} data @returns {HTMLElement[]} */
export function buildBoard(data) {
  const say = sayFrom(data.texts);
  const stages = data.stages.map((stage, index) =>
    element(
      "section",
      { class: `stage stage-${stage.id}`, "aria-label": stage.title },
      element("h2", {}, element("span", { class: "step" }, String(index + 1)), stage.title),
      element(
        "div",
        { class: "cards" },
        ...chains(data.matrices.filter((m) => m.stage === stage.id)).map((chain) =>
          element("div", { class: "chain" }, ...chain.map((m) => buildCard(m, say))),
        ),
      ),
    ),
  );
  return [
    element("div", { class: "stages" }, ...stages),
    element(
      "div",
      { class: "explanation", id: "explanation" },
      element("div", { class: "what" }),
      element("div", { class: "arithmetic" }),
    ),
    element("div", { class: "refusal", role: "alert", hidden: true }),
  ];
}

/** Matrices that stand below each other. @param {Matrix[]} matrices */
function chains(matrices) {
  const byChain = new Map();
  for (const matrix of matrices) {
    byChain.set(matrix.chain, [...(byChain.get(matrix.chain) ?? []), matrix]);
  }
  return [...byChain.values()];
}

/** @param {Matrix} matrix */
function buildCard(matrix, say) {
  const [rows, columns] = [matrix.values.length, matrix.values[0].length];
  const shape = `${rows} × ${columns}`;
  const title = element("button", { class: "title", type: "button" });
  title.append(...symbol(matrix.symbol), " ", element("span", { class: "name" }, matrix.name));
  const table = element(
    "table",
    { role: "grid", "aria-label": `${matrix.symbol} ${matrix.name}, ${shape}`.trim() },
    element("thead", {}, buildHeader(columns)),
    element(
      "tbody",
      {},
      ...matrix.values.map((_, row) => buildRow(matrix, row, columns, say)),
    ),
  );
  const card = element(
    "div",
    { class: "card", "data-matrix": matrix.id },
    element(
      "div",
      { class: "caption" },
      title,
      element("span", { class: "shape" }, shape),
      element("span", { class: "expression" }, ...expression(matrix.expression)),
    ),
    element("div", { class: "scroll" }, table),
  );
  card.style.setProperty("--columns", String(columns));
  if (matrix.id === "X") {
    card.append(element("button", { class: "add", type: "button" }, say("add_token")));
  }
  return card;
}

function buildHeader(columns) {
  const labels = Array.from({ length: columns }, () => element("th", { scope: "col" }));
  return element("tr", { role: "row" }, element("td", {}), ...labels);
}

function buildRow(matrix, row, columns, say) {
  const header = element("th", { scope: "row" });
  if (matrix.id === "X") {
    header.append(
      element("input", { class: "token", "data-row": row, spellcheck: "false", dir: "auto" }),
      element("button", { class: "remove", type: "button", "data-row": row }, "×"),
    );
  } else {
    header.append(element("span", { dir: "auto" }));
  }
  const cells = Array.from({ length: columns }, (_, column) => {
    const place = { role: "gridcell", "data-row": row, "data-column": column };
    if (!matrix.editable) return element("td", { ...place, tabindex: -1 });
    const input = element("input", {
      class: "number",
      tabindex: -1,
      type: "text",
      autocomplete: "off",
      spellcheck: "false",
      enterkeyhint: "done",
    });
    return element("td", place, input);
  });
  return element("tr", { role: "row" }, header, ...cells);
}

/** "W_Q" as W with a subscript. */
function symbol(text) {
  if (!text) return [];
  return [element("span", { class: "symbol" }, ...expression(text))];
}

/** An expression in which "_Q" is a subscript. */
function expression(text) {
  return text.split(/_(\w)/).map((part, index) => (index % 2 ? element("sub", {}, part) : part));
}

/**
 * Writes labels, numbers and colours into the DOM that `buildBoard` made.
 *
 * @param {HTMLElement} root
 * @param {BoardData} data
 * @param {"light" | "dark"} theme
 * @param {(cell: Element) => boolean} isBeingEdited such a cell keeps what is typed
 */
export function paint(root, data, theme, isBeingEdited) {
  const say = sayFrom(data.texts);
  const moved = data.matrices.flatMap((matrix) => {
    const card = root.querySelector(`[data-matrix="${matrix.id}"]`);
    card.querySelector(".title").title = matrix.about;
    paintLabels(card, matrix, data, say);
    return paintCells(card, matrix, data, theme, say, isBeingEdited);
  });
  if (moved.length) markMoved(root, moved);
}

function paintLabels(card, matrix, data, say) {
  const columnLabels = data.axes[matrix.columns];
  card.querySelectorAll("thead th").forEach((header, index) => {
    header.textContent = columnLabels[index];
    header.title = columnLabels[index];
  });
  const tokens = data.axes[matrix.rows];
  card.querySelectorAll("tbody th").forEach((header, row) => {
    const label = tokens[row];
    if (matrix.id !== "X") {
      header.firstChild.textContent = label;
      header.title = label;
      return;
    }
    const [input, remove] = header.children;
    if (input !== focused(card)) input.value = label;
    input.title = label;
    input.setAttribute("aria-label", say("token", { number: row + 1 }));
    remove.hidden = tokens.length === 1;
    remove.setAttribute("aria-label", say("remove_token", { token: label }));
    remove.title = say("remove_token", { token: label });
  });
  const add = card.querySelector(".add");
  if (add) {
    add.disabled = tokens.length >= data.limits.tokens;
    add.title = add.disabled ? say("no_more_tokens", { most: data.limits.tokens }) : "";
  }
}

function paintCells(card, matrix, data, theme, say, isBeingEdited) {
  const known = matrix.values.flat().filter((value) => value !== null);
  const reach = Math.max(0, ...known.map(Math.abs));
  const decimals = decimalsFor(known);
  const rowLabels = data.axes[matrix.rows];
  const columnLabels = data.axes[matrix.columns];
  const key = wording("cell", matrix);
  const moved = [];
  card.querySelectorAll("[role=gridcell]").forEach((cell) => {
    const { row, column } = placeOf(cell);
    const value = matrix.values[row][column];
    const exact = value === null ? "−∞" : formatNumber(value);
    const text = value === null || matrix.editable ? exact : formatCell(value, decimals);
    const label = say(key, {
      name: matrix.name,
      row: nameOf(rowLabels, row),
      column: nameOf(columnLabels, column),
      value: exact,
    });
    const target = focusTarget(cell);
    target.setAttribute("aria-label", label);
    if (matrix.editable && !isBeingEdited(cell)) target.value = text;
    if (!matrix.editable) cell.textContent = text;
    cell.classList.toggle("masked", value === null);
    if (cell.dataset.value !== undefined && cell.dataset.value !== String(value)) moved.push(cell);
    cell.dataset.value = String(value);
    const { background, ink } = cellShade(value ?? 0, matrix.scale, reach, data.palette, theme);
    cell.style.setProperty("--shade", background);
    cell.style.setProperty("--ink", ink);
  });
  return moved;
}

/** Marks the numbers that moved last, until others do. */
function markMoved(root, moved) {
  for (const cell of root.querySelectorAll(".moved")) cell.classList.remove("moved");
  for (const cell of moved) cell.classList.add("moved");
}

/** The element of a cell that takes the focus: its input, if it has one. */
export function focusTarget(cell) {
  return cell.querySelector("input") ?? cell;
}

/** The focused element inside the same shadow root. */
export function focused(node) {
  return node.getRootNode().activeElement;
}

/** @param {Element} cell */
export function placeOf(cell) {
  return { row: Number(cell.dataset.row), column: Number(cell.dataset.column) };
}

/** @param {{id: string, row: number, column: number}} place */
export function cellAt(root, { id, row, column }) {
  const card = root.querySelector(`[data-matrix="${CSS.escape(id)}"]`);
  return card?.querySelector(`[role=gridcell][data-row="${row}"][data-column="${column}"]`) ?? null;
}

/** Where a control of the board stands, to be found again after a rebuild. */
export function addressOf(node) {
  const id = node.closest("[data-matrix]")?.dataset.matrix;
  const kind = ["number", "token", "remove", "add", "title"].find((name) => node.matches(`.${name}`));
  return { id, kind, cell: cellOf(node), row: Number(node.dataset.row) };
}

/** The control of an address, or the nearest there is now. */
export function find(root, { id, kind, cell, row }) {
  if (cell) return cellAt(root, cell);
  const controls = root.querySelectorAll(`[data-matrix="${id}"] .${kind}`);
  return controls[Math.min(row || 0, controls.length - 1)] ?? null;
}

/** Which cell an element stands in. */
export function cellOf(node) {
  const cell = node.closest?.("[role=gridcell]");
  if (!cell) return null;
  return { id: cell.closest("[data-matrix]").dataset.matrix, ...placeOf(cell) };
}

/**
 * Lights a cell and those it was made from, and writes its arithmetic below the board.
 *
 * @param {HTMLElement} root
 * @param {{id: string, row: number, column: number} | null} cell
 * @param {import("./graph.js").Explanation | null} explanation
 */
export function light(root, cell, explanation, heading) {
  for (const name of ["shown", "first", "second"]) {
    root.querySelectorAll(`.${name}`).forEach((lit) => {
      if (lit.matches("[role=gridcell]")) lit.classList.remove(name);
    });
  }
  if (cell) cellAt(root, cell)?.classList.add("shown");
  for (const source of explanation?.sources ?? []) {
    cellAt(root, source)?.classList.add(source.role);
  }
  root.querySelector(".what").textContent = heading;
  const parts = (explanation?.parts ?? []).map(({ text, role, raised }) =>
    element(raised ? "sup" : "span", { class: role }, text),
  );
  root.querySelector(".arithmetic").replaceChildren(...parts);
}
