/**
 * One matrix on the board: a card with its caption and a table, built once, fitted to the shape
 * of the matrix and repainted. Only what differs from the last painting touches the DOM, so that a number can be
 * dragged at the speed of the screen.
 *
 * Texts of a learner go in through `textContent` and attributes only, never as markup.
 */

import { cellShade } from "./colour.js";
import { element, nameOf, resize, sizeOf, update, wording } from "./element.js";
import { decimalsFor, formatCell, formatScore } from "./number.js";

/** @typedef {import("./view.js").Matrix} Matrix */
/** @typedef {import("./view.js").Scene} Scene */

const TRACK_GAP = 2; // pixels, as in the style sheet
const WIDE = 6; // columns; the names of more have no room beside each other on a phone

export class Sheet {
  /** @param {Matrix} matrix */
  constructor(matrix) {
    this.kind = kindOf(matrix);
    this.isX = matrix.id === "X";
    this.caption = buildCaption(matrix);
    this.head = element("tr", { role: "row" }, element("td", {}));
    this.body = element("tbody", { role: "rowgroup" });
    this.columnNames = [];
    /** @type {Row[]} */
    this.rows = [];
    this.table = element(
      "table",
      { role: "grid" },
      element("thead", { role: "rowgroup" }, this.head),
      this.body,
    );
    this.node = element(
      "div",
      { class: "card", "data-matrix": matrix.id, "data-editable": matrix.editable, "data-paintable": matrix.paintable },
      this.caption.node,
      element("div", { class: "scroll" }, this.table),
    );
    this.legend = null; // what the frames of marked cells mean, where there are any
    if (this.isX) {
      this.add = element("button", { class: "add", type: "button" });
      this.node.append(this.add);
    }
    this.isInView = true; // until the browser says otherwise
    this.isStale = false; // whether it was out of view when the others were painted
    this.isUnlabelled = false;
  }

  /**
   * As many rows and columns as the matrix has; those that were there stay.
   *
   * @param {Matrix} matrix
   */
  fit(matrix) {
    const [rows, columns] = [matrix.values.length, matrix.values[0].length];
    const size = sizeOf(matrix.values);
    this.isRefitted = size !== this.size;
    if (!this.isRefitted) return;
    this.size = size;
    resize(this.rows, rows, this.body, (row) => new Row(matrix, row));
    for (const row of this.rows) row.fit(matrix, columns);
    resize(this.columnNames, columns, this.head, () => ({
      node: element("th", { role: "columnheader" }),
    }));
    this.node.classList.toggle("wide", columns > WIDE);
    this.node.style.setProperty("--columns", String(columns));
    this.node.style.setProperty("--rows", String(rows));
    this.caption.shape.textContent = size;
    if (!this.table.querySelector("[tabindex='0']")) this.rows[0].cells[0].target.tabIndex = 0;
    this.names = null;
    this.forget();
  }

  /**
   * Writes numbers and colours, and what stands beside them where that changed.
   *
   * @param {Matrix} matrix
   * @param {Scene} scene
   */
  paint(matrix, scene) {
    this.matrix = matrix;
    this.places = scene.data.places?.[matrix.rows];
    this.isUnlabelled = true;
    this.isStale = !this.isInView && !scene.isFinal;
    if (this.isStale) {
      this.forget();
      return;
    }
    this.paintNames(matrix, scene);
    if (!this.isPaintedAs(matrix, scene)) this.paintCells(matrix, scene);
  }

  /** Whether these numbers, marks and colours are what the cells show. */
  isPaintedAs(matrix, { theme, changes, editing }) {
    const shown = [matrix.values, matrix.marked, matrix.reach, changes.get(matrix.id)];
    const values = JSON.stringify(shown);
    const isSame = this.values === values && this.theme === theme && !this.node.contains(editing);
    Object.assign(this, { values, theme });
    return isSame;
  }

  /** What was left for later: cells that were out of view, and what a screen reader says. */
  finish(scene) {
    if (this.isStale) this.paint(this.matrix, { ...scene, isFinal: true });
    if (this.isUnlabelled) this.label(scene);
  }

  paintNames(matrix, { data, theme, say }) {
    const rows = data.axes[matrix.rows];
    const columns = data.axes[matrix.columns];
    const words = [matrix.name, matrix.about, matrix.expression, say("add_token")];
    const look = [matrix.bands, matrix.row_bands, matrix.compact, theme];
    const names = JSON.stringify([rows, columns, words, look]);
    if (names === this.names) return;
    this.names = names;
    this.node.classList.toggle("compact", Boolean(matrix.compact));
    if (matrix.id === "softmax") update(this.node, null, { "data-opened": matrix.operation.row });
    this.paintBands(matrix, data.palette.bands[theme]);
    const { title, name, shape, expression, copy } = this.caption;
    update(name, matrix.name);
    update(title, null, { title: matrix.about });
    expression.replaceChildren(...withSubscripts(matrix.expression));
    const copies = say("copy_matrix", { name: matrix.name });
    update(copy, null, { title: copies, "aria-label": copies });
    const label = `${matrix.symbol} ${matrix.name}, ${shape.textContent}`.trim();
    update(this.table, null, { "aria-label": label });
    this.columnNames.forEach(({ node }, column) => {
      update(node, columns[column], { title: columns[column] });
    });
    this.rows.forEach((row, index) => row.rename(rows, index, say));
    if (this.add) {
      this.add.textContent = say("add_token");
      this.add.disabled = rows.length >= data.limits.tokens;
      this.add.title = this.add.disabled ? say("no_more_tokens", { most: data.limits.tokens }) : "";
    }
  }

  /** Columns, and rows, that belong together have a colour. */
  paintBands({ bands, row_bands: rowBands }, colours) {
    if (!bands && !rowBands && !this.hasBands) return;
    this.hasBands = Boolean(bands || rowBands);
    const paint = (node, band) => {
      node.classList.toggle("band", band !== undefined);
      if (band !== undefined) node.style.setProperty("--band", colours[band % colours.length]);
    };
    this.columnNames.forEach(({ node }, column) => paint(node, bands?.[column]));
    this.rows.forEach((row, index) => {
      paint(row.name.closest("th"), rowBands?.[index]);
      row.cells.forEach(({ node }, column) => paint(node, bands?.[column] ?? rowBands?.[index]));
    });
  }

  /** The cells may show something else than was painted last: they must be painted again. */
  forget() {
    this.values = null;
  }

  /** Says below the numbers what a dashed frame means, where there is one. */
  paintLegend({ marked, mark }) {
    const isMarked = Boolean(marked?.some((row) => row.includes(true)));
    if (isMarked && !this.legend) {
      this.legend = element("div", { class: "legend", "aria-hidden": "true" });
      this.node.append(this.legend);
    }
    if (!this.legend) return;
    this.legend.hidden = !isMarked;
    if (isMarked) update(this.legend, mark);
  }

  paintCells(matrix, { palette, theme, changes, editing }) {
    this.paintLegend(matrix);
    const before = changes.get(matrix.id);
    const looks = looksOf(matrix, palette, theme);
    matrix.values.forEach((values, row) => {
      values.forEach((value, column) => {
        const cell = this.rows[row].cells[column];
        const { text, shade } = looks[row][column];
        cell.paint(text, shade, value === null, before?.[row][column] !== undefined);
        cell.mark(Boolean(matrix.marked?.[row][column]), typeof value === "string");
        if (cell.input && cell.node !== editing && cell.input.value !== text) {
          cell.input.value = text;
        }
      });
    });
  }

  /** What a screen reader says of each cell. */
  label({ data, say, changes }) {
    const { matrix } = this;
    this.isUnlabelled = false;
    const rows = data.axes[matrix.rows];
    const columns = data.axes[matrix.columns];
    const key = wording("cell", matrix);
    const before = changes.get(matrix.id);
    matrix.values.forEach((values, row) =>
      values.forEach((value, column) => {
        const fields = { name: matrix.name, row: nameOf(rows, row), column: nameOf(columns, column) };
        const isMarked = Boolean(matrix.marked?.[row][column]);
        const plain = say(key, { ...fields, value: formatScore(value) });
        const label = isMarked ? `${plain}, ${matrix.mark}` : plain;
        const old = before?.[row][column];
        this.rows[row].cells[column].label(
          old === undefined ? label : say("cell_was", { label, before: formatScore(old) }),
        );
      }),
    );
  }

  /** How many characters its longest number has. */
  longest() {
    return Math.max(...this.rows.flatMap(({ cells }) => cells.map(({ text }) => text.length)));
  }

  /** Its size, and the pixels that do not belong to its cells. @returns {import("./arrangement.js").Card} */
  measured() {
    const [rows, columns] = [this.rows.length, this.columnNames.length];
    const { top, width } = this.rows[0].header.getBoundingClientRect();
    const { bottom } = this.rows.at(-1).header.getBoundingClientRect();
    const taken = bottom - top + TRACK_GAP; // by the rows, each with a gap
    return { rows, columns, label: width, frame: this.node.offsetHeight - taken };
  }

  /** Lights the row of a token that is followed. @param {number | null} token */
  follow(token) {
    const row = this.matrix.rows === "tokens" ? token : (this.places?.indexOf(token) ?? null);
    this.rows.forEach((each, index) => each.node.classList.toggle("followed", index === row));
  }
}

/**
 * What each cell of a matrix shows: its text, and its colours.
 *
 * @param {Matrix} matrix
 * @param {Scene["palette"]} palette
 * @param {Scene["theme"]} theme
 * @returns {{text: string, shade: import("./colour.js").Shade}[][]}
 */
export function looksOf(matrix, palette, theme) {
  const { values, scale } = matrix;
  const known = values.flat().filter(isNumber);
  const reach = matrix.reach ?? Math.max(0, ...known.map(Math.abs));
  const write = writing(matrix);
  return values.map((cells, row) =>
    cells.map((value) => {
      const isPlain = !isNumber(value) || scale === "plain";
      const shade = isPlain ? NO_SHADE : cellShade(value, scale, reach, palette, theme);
      return { text: write(value, row), shade };
    }),
  );
}

/** What must be equal for a sheet to serve another matrix. @param {Matrix} matrix */
export function kindOf({ id, symbol, rows, editable, paintable, sortable }) {
  return JSON.stringify([id, symbol, rows, editable, paintable, sortable]);
}

/**
 * How the cells of a matrix are written: all that is computed with equally many decimals.
 *
 * @param {Matrix} matrix
 * @returns {(value: number | string | null, row: number) => string}
 */
export function writing({ values, editable, scale }) {
  if (editable) return formatScore;
  const decimals = decimalsFor(values.flat().filter(isNumber));
  // Each step of an opened softmax has a size of its own.
  const ofRow = scale === "plain" ? values.map((row) => decimalsFor(row.filter(isNumber))) : null;
  return (value, row) =>
    isNumber(value) ? formatCell(value, ofRow ? ofRow[row] : decimals) : formatScore(value);
}

/** Rather than null, which is minus infinity, or a text: "NaN", "∞". */
function isNumber(value) {
  return typeof value === "number";
}

const NO_SHADE = { background: "", ink: "" };

class Cell {
  constructor(matrix, row, column) {
    this.input = matrix.editable ? buildInput() : null;
    this.node = element(
      "td",
      {
        role: "gridcell",
        "data-row": row,
        "data-column": column,
        class: matrix.paintable ? "paintable" : undefined,
      },
      ...(this.input ? [this.input] : []),
    );
    this.target = this.input ?? this.node;
    this.target.tabIndex = -1;
    this.text = this.background = this.ink = "";
    this.isMasked = this.isMoved = this.isMarked = this.isOdd = false;
  }

  /** What the lesson points out, and what is no number. */
  mark(isMarked, isOdd) {
    if (isMarked !== this.isMarked) this.node.classList.toggle("marked", isMarked);
    if (isOdd !== this.isOdd) this.node.classList.toggle("odd", isOdd);
    Object.assign(this, { isMarked, isOdd });
  }

  paint(text, { background, ink }, isMasked, isMoved) {
    if (!this.input && text !== this.text) this.node.textContent = text;
    if (background !== this.background) this.node.style.backgroundColor = background;
    if (ink !== this.ink) this.node.style.color = ink;
    if (isMasked !== this.isMasked) this.node.classList.toggle("masked", isMasked);
    if (isMoved !== this.isMoved) this.node.classList.toggle("moved", isMoved);
    Object.assign(this, { text, background, ink, isMasked, isMoved });
  }

  label(text) {
    if (text !== this.said) this.target.setAttribute("aria-label", text);
    this.said = text;
  }
}

class Row {
  constructor(matrix, row) {
    this.row = row;
    this.isX = matrix.id === "X";
    /** @type {Cell[]} */
    this.cells = [];
    this.isSortable = Boolean(matrix.sortable);
    const header = element("th", { role: "rowheader" });
    this.header = header;
    if (this.isX) {
      this.name = element("input", {
        class: "token",
        "data-row": row,
        spellcheck: "false",
        dir: "auto",
      });
      this.remove = element("button", { class: "remove", type: "button", "data-row": row }, "×");
      header.append(this.name, this.remove);
    } else {
      const isToken = matrix.rows === "tokens";
      this.name = element("span", { dir: "auto", "data-token": isToken ? row : undefined });
      header.append(this.name);
    }
    if (this.isSortable) {
      header.className = "sortable";
      header.dataset.row = String(row);
      header.tabIndex = 0;
    }
    this.node = element("tr", { role: "row" }, header);
  }

  fit(matrix, columns) {
    resize(this.cells, columns, this.node, (column) => new Cell(matrix, this.row, column));
  }

  rename(names, row, say) {
    const name = names[row];
    update(this.name, this.isX ? null : name, { title: name });
    if (this.isSortable) {
      const place = { token: nameOf(names, row), place: row + 1, count: names.length };
      update(this.header, null, { "aria-label": say("sortable", place) });
    }
    if (!this.isX) return;
    const isFocused = this.name.getRootNode().activeElement === this.name;
    if (!isFocused) this.name.value = name;
    update(this.name, null, { "aria-label": say("token", { number: row + 1 }) });
    this.remove.hidden = names.length === 1;
    const removes = say("remove_token", { token: nameOf(names, row) });
    update(this.remove, null, { title: removes, "aria-label": removes });
  }
}

function buildInput() {
  return element("input", {
    class: "number",
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "done",
  });
}

function buildCaption(matrix) {
  const name = element("span", { class: "name" });
  const title = element("button", {
    class: "title",
    type: "button",
    "aria-describedby": "explanation", // which tells its formula while it has the focus
  });
  if (matrix.symbol) {
    title.append(element("span", { class: "symbol" }, ...withSubscripts(matrix.symbol)), " ");
  }
  title.append(name);
  const shape = element("span", { class: "shape" });
  const expression = element("span", { class: "expression" });
  const copy = element("button", {
    class: "copy",
    type: "button",
    "aria-haspopup": "menu",
    "data-screen-only": "",
  });
  const node = element("div", { class: "caption" }, title, shape, expression, copy);
  return { node, title, name, shape, expression, copy };
}

/** An expression in which "_Q" is a subscript. */
export function withSubscripts(text) {
  return text.split(/_(\w)/).map((part, index) => (index % 2 ? element("sub", {}, part) : part));
}
