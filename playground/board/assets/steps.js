/**
 * Every step of the experiment, one below the other, for the screen and for paper: its formula,
 * its numbers, and how one row of them was made.
 *
 * All of it comes from the matrices that the board shows. Texts of a learner go in through
 * `textContent` only.
 */

import { element, nameOf, resize, sizeOf, update } from "./element.js";
import { explain } from "./graph.js";
import { OPENED, opened } from "./opened.js";
import { looksOf, withSubscripts } from "./sheet.js";

/** @typedef {import("./board.js").Board} Board */
/** @typedef {import("./view.js").Matrix} Matrix */

const MOST_COLUMNS = 12; // of a table that fits across a sheet of paper
const FEW = 4; // lines that stand below each other
const SHORT = 23; // letters of a line, so that three stand side by side where there are more
const MIDDLE = 41; // or two

export class Steps {
  /** @param {HTMLElement} root @param {Board} board @param {(key: string, values?: object) => string} tell */
  constructor(root, board, tell) {
    Object.assign(this, { root, board, tell });
    this.row = element("select", { id: "row" });
    this.row.addEventListener("change", () => this.choose(Number(this.row.value)));
    this.options = [];
    this.ofHead = element("p", { class: "hint" });
    this.stages = element("div", {});
    root.append(
      element("h2", {}, tell("steps")),
      this.ofHead,
      element("p", { class: "bar" }, element("label", {}, tell("arithmetic_of"), " ", this.row)),
      this.stages,
    );
    this.built = [];
  }

  /** The token whose row is worked out is the one that the board follows. */
  choose(row) {
    if (this.board.followedToken() !== row) this.board.toggleFollow(row);
  }

  show() {
    const { board, tell } = this;
    const { data, say } = board;
    const row = board.followedToken() ?? 0;
    resize(this.options, data.axes.tokens.length, this.row, (value) => ({
      node: element("option", { value }),
    }));
    this.options.forEach(({ node }, index) => update(node, nameOf(data.axes.tokens, index)));
    this.row.value = String(row);
    const { length: count } = data.heads;
    this.ofHead.hidden = count === 1;
    update(this.ofHead, tell("of_head", { count, number: data.head + 1 }));
    this.matrices = new Map(board.matrices);
    if (data.softmax && board.openedRow() !== row) this.matrices.set(OPENED, opened(data, row, say));
    resize(this.built, data.stages.length, this.stages, newStage);
    data.stages.forEach((stage, index) => this.showStage(stage, index, row));
  }

  showStage({ id, title }, index, row) {
    const stage = this.built[index];
    const matrices = [...this.matrices.values()].filter((matrix) => matrix.stage === id);
    update(stage.title, title);
    update(stage.number, String(index + 1));
    resize(stage.steps, matrices.length, stage.node, () => ({
      node: element("article", { class: "step" }),
    }));
    matrices.forEach((matrix, place) => {
      const step = stage.steps[place];
      const number = `${index + 1}.${place + 1}`;
      const content = this.content(matrix, row);
      const key = JSON.stringify([number, content]);
      if (step.key === key) return;
      step.key = key;
      step.node.dataset.step = matrix.id;
      step.node.replaceChildren(...this.drawStep(number, content));
    });
  }

  /** All that a step shows, as plain data, to be compared. @param {Matrix} matrix */
  content(matrix, row) {
    const { data } = this.board;
    const [rows, columns] = [data.axes[matrix.rows], data.axes[matrix.columns]];
    const looks = ["light", "dark"].map((theme) => looksOf(matrix, data.palette, theme));
    const { id, symbol, name, expression, operation, values, scale } = matrix;
    const about = ABOUT[id] ? this.tell(ABOUT[id]) : matrix.about;
    const cells = values.map((line, r) =>
      line.map((value, c) => ({
        text: looks[0][r][c].text,
        isMasked: value === null,
        shades: scale === "plain" ? [] : looks.map((look) => look[r][c].shade),
      })),
    );
    return {
      ...{ id, symbol, name, about, expression, rows, columns, cells },
      perHead: operation.kind === "concat" ? operation.d_k : 1,
      size: sizeOf(values),
      lines:
        matrix.rows === "tokens" && !SELF_EVIDENT.has(operation.kind)
          ? this.lines(matrix, row)
          : [],
      token: nameOf(data.axes.tokens, row),
      row: matrix.rows === "tokens" ? row : -1,
    };
  }

  /** How each number of a row was made. */
  lines(matrix, row) {
    const columns = this.board.data.axes[matrix.columns];
    return matrix.values[row].map((_, column) => {
      const cell = { id: matrix.id, row, column };
      return { to: nameOf(columns, column), parts: explain(this.matrices, cell, this.board.say).parts };
    });
  }

  drawStep(number, content) {
    const { id, symbol, name, expression, size, about, lines, token } = content;
    const names = symbol ? [element("b", {}, ...withSubscripts(symbol)), " ", name] : [name];
    const sign = id === OPENED ? "" : "= "; // which is told, not computed
    const formula = expression ? [sign, ...withSubscripts(expression)] : [];
    return [
      element(
        "h4",
        {},
        element("span", { class: "number" }, number),
        element("span", { class: "name" }, ...names),
        element("span", { class: "formula" }, ...formula),
        element("span", { class: "size" }, size),
      ),
      element("p", { class: "about" }, about),
      element(
        "div",
        { class: "work" },
        element("div", { class: "tables" }, ...this.tables(content)),
        ...(lines.length ? [this.arithmetic(token, lines)] : []),
      ),
    ];
  }

  /** The matrix, in as many tables as a sheet of paper is too narrow for one. */
  tables({ cells, rows, columns, row, perHead, name }) {
    const width = Math.max(1, Math.floor(MOST_COLUMNS / perHead)) * perHead;
    const starts = columns.map((_, column) => column).filter((column) => column % width === 0);
    return starts.map((start) => {
      const shown = columns.slice(start, start + width);
      const head = shown.map((label) => drawName(label, "col"));
      const body = cells.map((line, r) =>
        element(
          "tr",
          { class: r === row ? "chosen" : undefined },
          drawName(rows[r], "row"),
          ...line.slice(start, start + width).map(drawCell),
        ),
      );
      const fields = { first: shown[0], last: shown.at(-1) };
      const label = starts.length > 1 ? `${name}: ${this.tell("columns", fields)}` : name;
      return element(
        "div",
        { class: "scroll" },
        element(
          "table",
          { "aria-label": label },
          element("thead", {}, element("tr", {}, element("td", {}), ...head)),
          element("tbody", {}, ...body),
        ),
      );
    });
  }

  arithmetic(token, lines) {
    const longest = Math.max(...lines.map(({ to, parts }) => to.length + lengthOf(parts)));
    const isFew = lines.length <= FEW || longest >= MIDDLE;
    const width = isFew ? undefined : longest < SHORT ? "short" : "middle";
    const items = lines.map(({ to, parts }) =>
      element(
        "li",
        {},
        element("span", { class: "to", dir: "auto" }, to),
        element("span", { class: "parts" }, ...parts.map(drawPart)),
      ),
    );
    return element(
      "div",
      { class: "arithmetic" },
      element("p", { class: "whose" }, this.tell("row", { token })),
      element("ul", { class: width }, ...items),
    );
  }
}

/** Numbers that nothing was worked out for, or whose columns and rows say how. */
const SELF_EVIDENT = new Set(["given", "learned", "softmax_steps", "concat"]);

/** What the board says of these is how to press them. */
const ABOUT = { mask: "about_mask", [OPENED]: "about_softmax" };

function newStage() {
  const number = element("span", { class: "number" });
  const title = element("span", {});
  const heading = element("h3", {}, number, title);
  return { number, title, steps: [], node: element("section", { class: "stage" }, heading) };
}

function drawName(label, scope) {
  return element("th", { scope, dir: "auto", title: label }, label);
}

function drawCell({ text, isMasked, shades }) {
  const cell = element("td", { class: isMasked ? "masked" : undefined }, text);
  shades.forEach(({ background, ink }, index) => {
    const scheme = ["light", "dark"][index];
    if (background) cell.style.setProperty(`--${scheme}`, background);
    if (ink) cell.style.setProperty(`--${scheme}-ink`, ink);
  });
  return cell;
}

function drawPart({ text, role, raised }) {
  return element(raised ? "sup" : "span", { class: role }, ...withSubscripts(text));
}

function lengthOf(parts) {
  return parts.reduce((sum, { text }) => sum + text.length, 0);
}
