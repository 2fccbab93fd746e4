/**
 * The DOM of the board: built once for an outline, then repainted.
 */

import { reshaped } from "./compare.js";
import { element, nameOf, resize, sayFrom, sizeOf, update } from "./element.js";
import { Sheet, kindOf } from "./sheet.js";

/**
 * @typedef {Object} Matrix
 * @property {string} id
 * @property {string} symbol "W_Q" means W with the subscript Q
 * @property {string} name
 * @property {string} about
 * @property {string} expression
 * @property {string} stage
 * @property {string} chain matrices of one chain stand below each other
 * @property {(number | string | null)[][]} values null is -inf; "NaN" and "∞" are texts
 * @property {string} rows the axis its rows run along
 * @property {string} columns
 * @property {"signed" | "weights" | "plain"} scale
 * @property {boolean} editable
 * @property {boolean} paintable
 * @property {boolean} [sortable] whether its rows are carried up and down by their names
 * @property {number | null} head
 * @property {Record<string, any>} operation
 * @property {number} [reach] the size at which a signed colour is full; else the largest in it
 * @property {number[]} [bands] the colour of each column's frame
 * @property {number[]} [row_bands] the colour of each row's frame
 * @property {boolean} [compact] whether its numbers are read where one points, not in the cells
 * @property {boolean[][]} [marked] cells that are pointed out
 * @property {string} [mark] what a screen reader says of them
 *
 * @typedef {Object} BoardData
 * @property {string} of what it shows; boards that show the same share a memory
 * @property {Matrix[]} matrices
 * @property {(Record<string, any> | null)[]} heads what the heads that are not shown are given
 * @property {number} head the one that is shown
 * @property {Record<string, (number | null)[][]> | null} softmax its steps for every row; null
 *   where none is opened up
 * @property {{kind: string, row: number | null, text: string}[]} sentences
 * @property {{id: string, title: string}[]} stages
 * @property {Record<string, string[]>} axes
 * @property {Record<string, number[]>} [places] which token is at each place of an axis along
 *   which they stand in another order
 * @property {Record<string, string>} texts
 * @property {Record<string, Record<string, string[]>>} palette
 * @property {{value: number, tokens: number}} limits
 * @property {boolean} [isPreview] whether it was evaluated here, not by Python
 * @property {{query: Record<string, string>, language: string, run: number}} address what the
 *   address bar shall hold; `run` counts the runs of the session
 * @property {boolean} is_first whether the rest of the page waits until the board is painted
 * @property {string} session tells this session of Python from others
 * @property {"" | "projector"} view
 * @property {number} revision
 * @property {Record<string, number>} taken for each board, its last edit that Python has taken
 * @property {{mount?: string, attempt?: number}} heard the message that Python has heard last
 *
 * @typedef {Object} Scene all that a sheet needs beside its matrix
 * @property {BoardData} data
 * @property {Matrix[]} matrices those of the data, and the opened softmax
 * @property {BoardData["palette"]} palette
 * @property {"light" | "dark"} theme
 * @property {import("./compare.js").Changes} changes
 * @property {Element | null} editing the cell that is typed into; it keeps what is typed
 * @property {boolean} [isFinal] whether what is out of view is painted, too
 * @property {(key: string, values?: object) => string} say
 */

const MANY_CELLS = 800; // beyond these, what is out of view is left to the browser to skip

/** What must be equal for the DOM of the board to be kept. @param {BoardData} data */
export function outline(data, matrices) {
  const titles = data.stages.map((stage) => stage.title);
  return JSON.stringify([data.of, matrices.map(kindOf), titles, data.texts.hint]);
}

/** What must be equal for its sheets to fit as they are. */
export function sizes(matrices) {
  return JSON.stringify(matrices.map(({ values }) => sizeOf(values)));
}

export class View {
  /**
   * @param {HTMLElement} root
   * @param {BoardData} data
   * @param {Matrix[]} matrices
   * @param {View | null} before whose sheets are used again where they fit
   * @param {import("./player.js").Player} player whose bar and signs stand among the rest
   */
  constructor(root, data, matrices, before, player) {
    const say = sayFrom(data.texts);
    const kept = new Map([...(before?.sheets.values() ?? [])].map((sheet) => [sheet.kind, sheet]));
    /** @type {Map<string, Sheet>} */
    this.sheets = new Map(matrices.map((m) => [m.id, kept.get(kindOf(m)) ?? new Sheet(m)]));
    before?.light(null, null, "");
    before?.watcher.disconnect();
    this.root = root;
    this.lit = [];
    this.tools = new Tools(say);
    this.what = element("div", { class: "what" });
    this.arithmetic = element("div", { class: "arithmetic" });
    this.seen = element("ul", {});
    this.told = element("section", { class: "seen" }, element("h2", {}, say("seen")), this.seen);
    this.message = element("div", { class: "message", role: "alert", hidden: true });
    this.menu = element("div", { class: "menu", role: "menu", hidden: true, "data-screen-only": "" });
    const stages = data.stages.map((stage, index) =>
      element(
        "section",
        { class: `stage stage-${stage.id}`, "aria-label": stage.title },
        element("h2", {}, element("span", { class: "step" }, String(index + 1)), stage.title),
        element(
          "div",
          { class: "cards" },
          ...this.chains(matrices.filter((matrix) => matrix.stage === stage.id)),
        ),
      ),
    );
    this.stages = element("div", { class: "stages" }, ...stages, ...player.signs);
    this.explanation = element(
      "div",
      { class: "explanation", id: "explanation", tabindex: 0, role: "note" },
      this.what,
      this.arithmetic,
    );
    root.replaceChildren(
      this.tools.node,
      player.bar.node,
      this.stages,
      this.explanation,
      this.told,
      this.message,
      this.menu,
    );
    this.watch();
  }

  /** Gives every matrix a sheet of its size, and every token a chip. */
  fit(matrices, n_tokens) {
    for (const matrix of matrices) this.sheets.get(matrix.id).fit(matrix);
    this.tools.fit(n_tokens);
    const cells = matrices.map(({ values }) => values.length * values[0].length);
    this.root.classList.toggle("large", cells.reduce((sum, count) => sum + count) > MANY_CELLS);
  }

  /** Notes which sheets are in view: the others are painted when there is time. */
  watch() {
    const sheets = new Map([...this.sheets.values()].map((sheet) => [sheet.node, sheet]));
    this.watcher = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const sheet = sheets.get(target);
        sheet.isInView = isIntersecting;
        if (isIntersecting && sheet.isStale) sheet.paint(sheet.matrix, this.scene);
      }
    });
    for (const node of sheets.keys()) this.watcher.observe(node);
  }

  /** Matrices of one chain stand below each other. @param {Matrix[]} matrices */
  chains(matrices) {
    const byChain = new Map();
    for (const { chain, id } of matrices) {
      byChain.set(chain, [...(byChain.get(chain) ?? []), this.sheets.get(id).node]);
    }
    return [...byChain.values()].map((nodes) => element("div", { class: "chain" }, ...nodes));
  }

  /** @param {Scene} scene */
  paint(scene) {
    this.scene = scene;
    for (const matrix of scene.matrices) this.sheets.get(matrix.id).paint(matrix, scene);
    this.tools.rename(scene);
    this.tell(scene.data.sentences);
  }

  /** What a painting left for when there is time. */
  finish() {
    if (!this.scene) return; // not painted yet
    for (const sheet of this.sheets.values()) sheet.finish(this.scene);
  }

  /** The sentences, where they changed. */
  tell(sentences) {
    this.told.hidden = sentences.length === 0;
    while (this.seen.children.length > sentences.length) this.seen.lastChild.remove();
    sentences.forEach(({ row, text }, index) => {
      const item = this.seen.children[index] ?? this.seen.appendChild(element("li"));
      update(item, text);
      if (row === null) item.removeAttribute("data-row");
      else update(item, null, { "data-row": row });
    });
  }

  /** Lights the way of a token. @param {number | null} token */
  follow(token) {
    for (const sheet of this.sheets.values()) sheet.follow(token);
    this.tools.chips.forEach(({ node }, index) => {
      update(node, null, { "aria-pressed": index === token });
    });
    for (const sentence of this.seen.children) {
      const isOfToken = token !== null && sentence.dataset.row === String(token);
      sentence.classList.toggle("followed", isOfToken);
    }
  }

  /**
   * Lights a cell and those it was made from, and writes its arithmetic below the board.
   *
   * @param {{id: string, row: number, column: number} | null} cell
   * @param {import("./graph.js").Explanation | null} explanation
   * @param {string} heading
   */
  light(cell, explanation, heading) {
    const lit = (explanation?.sources ?? []).map((source) => [this.cellAt(source), source.role]);
    if (cell) lit.push([this.cellAt(cell), "shown"]);
    for (const [node, name] of this.lit) node.classList.remove(name);
    this.lit = lit.filter(([node]) => node);
    for (const [node, name] of this.lit) node.classList.add(name);
    update(this.what, heading);
    const said = JSON.stringify(explanation?.parts);
    if (said === this.said) return;
    this.said = said;
    const parts = (explanation?.parts ?? []).map(({ text, role, raised }) =>
      element(raised ? "sup" : "span", { class: role }, text),
    );
    this.arithmetic.replaceChildren(...parts);
  }

  /** @param {{id: string, row: number, column: number}} place @returns {HTMLElement | null} */
  cellAt({ id, row, column }) {
    return this.sheets.get(id)?.rows[row]?.cells[column]?.node ?? null;
  }

  /** @param {{id: string, row: number}} place @returns {HTMLElement | null} the name of a row */
  headerAt({ id, row }) {
    return this.sheets.get(id)?.rows[row]?.header ?? null;
  }
}

class Tools {
  constructor(say) {
    this.chips = [];
    this.group = element(
      "div",
      { class: "chips", role: "group", "aria-label": say("follow") },
      element("span", { class: "label", "aria-hidden": "true" }, say("follow")),
    );
    this.moved = element("span", { class: "moved-count", role: "status" });
    this.play = element("button", { class: "play tool", type: "button", hidden: true });
    this.hold = element("button", { class: "tool hold", type: "button" });
    this.link = element("button", { class: "tool copy-link", type: "button" }, say("copy_link"));
    this.picture = element(
      "button",
      { class: "tool picture", type: "button", "aria-haspopup": "menu", title: say("picture_help") },
      say("picture"),
    );
    this.node = element(
      "div",
      { class: "tools", role: "toolbar", "aria-label": say("tools"), "data-screen-only": "" },
      this.group,
      this.moved,
      element("div", { class: "buttons" }, this.play, this.hold, this.link, this.picture),
    );
  }

  fit(n_tokens) {
    resize(this.chips, n_tokens, this.group, (row) => ({
      node: element("button", { class: "chip", type: "button", "data-token": row, dir: "auto" }),
    }));
  }

  /** @param {Scene} scene */
  rename({ data, say }) {
    const { tokens } = data.axes;
    this.chips.forEach(({ node }, row) => {
      const label = say("follow_token", { token: nameOf(tokens, row) });
      update(node, tokens[row], { "aria-label": label, title: label });
    });
  }

  /** The way into the step player. */
  offerPlayer(isOffered, say) {
    this.play.hidden = !isOffered;
    update(this.play, say("play"), { title: say("play_help") });
  }

  /** @param {BoardData | null} held @param {BoardData} data @param {number} count of moved cells */
  compare(held, data, count, say) {
    const isHeld = held !== null;
    const key = isHeld ? "let_go" : "hold";
    update(this.hold, say(key), { title: say(`${key}_help`), "aria-pressed": isHeld });
    const others = isHeld ? reshaped(held, data) : 0;
    const none = isHeld && !others ? say("moved_nowhere") : "";
    const some = say(isHeld ? "moved_since_hold" : "moved_since_edit", { count });
    const apart = others ? say("held_other_sizes", { count: others }) : "";
    const text = [count ? some : none, apart].filter(Boolean).join(" · ");
    update(this.moved, text);
  }
}

// --- places

/** Which row of a sortable matrix an element names. */
export function rowOf(node) {
  const header = node.closest?.(".sortable");
  if (!header) return null;
  return { id: header.closest("[data-matrix]").dataset.matrix, row: Number(header.dataset.row) };
}

/** The focused element inside the same shadow root. */
export function focused(node) {
  return node.getRootNode().activeElement;
}

/** Which cell an element stands in. */
export function cellOf(node) {
  const cell = node.closest?.("[role=gridcell]");
  if (!cell) return null;
  const { row, column } = cell.dataset;
  const id = cell.closest("[data-matrix]").dataset.matrix;
  return { id, row: Number(row), column: Number(column) };
}

/** The element of a cell that takes the focus: its input, if it has one. */
export function focusTarget(cell) {
  return cell.querySelector("input") ?? cell;
}

/** Where a control of the board stands, to be found again after a rebuild. */
export function addressOf(node) {
  const id = node.closest("[data-matrix]")?.dataset.matrix;
  const part = id ? `[data-matrix="${CSS.escape(id)}"] ` : "";
  const selector = `${part}.${node.classList[0]}`;
  const peers = [...node.getRootNode().querySelectorAll(selector)];
  return { cell: cellOf(node), selector, index: peers.indexOf(node) };
}

/** The control of an address, or the nearest there is now. */
export function find(root, { selector, index }) {
  const controls = root.querySelectorAll(selector);
  return controls[Math.min(index, controls.length - 1)] ?? null;
}
