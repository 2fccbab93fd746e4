/**
 * A hand-out: the board without the app behind it. What Python does there is done here: edits are
 * taken, evaluated along the same graph, and taken back.
 */

import { Board } from "./board.js";
import { fingerprint } from "./compare.js";
import { element, sayFrom, update } from "./element.js";
import { atHead, withEdits } from "./evaluate.js";
import { Steps } from "./steps.js";

/** @typedef {import("./view.js").BoardData} BoardData */

const MOST_UNDONE = 200;
const CALM = 60; // ms without a painting before the steps follow: they are many

/** Tells whenever it has painted. */
class ToldBoard extends Board {
  onPainted = () => undefined;

  repaint() {
    super.repaint();
    this.onPainted();
  }
}

/** The experiment that is handed out, and what became of it. */
class Desk {
  /** @param {BoardData} given */
  constructor(given) {
    this.given = given;
    this.data = given;
    /** @type {BoardData[]} */
    this.past = [];
  }

  /** The edits of a message, each once, in order; those of an older revision are dropped. */
  take({ mount, revision, attempt, edits }) {
    const last = this.data.taken[mount] ?? 0;
    const isVoid = revision !== this.data.revision;
    const fresh = isVoid ? [] : edits.filter(({ number }) => number > last);
    for (const edit of fresh) {
      if (!edit.joins || this.past.length === 0) this.note();
      this.data = computed(withEdits(this.data, [edit]));
    }
    const taken = { [mount]: Math.max(last, ...edits.map(({ number }) => number)) };
    this.data = { ...this.data, taken, heard: { mount, attempt } };
  }

  note() {
    this.past = [...this.past, this.data].slice(-MOST_UNDONE);
  }

  undo() {
    const now = said(this.data);
    let before = null;
    while (this.past.length && (!before || said(before) === now)) before = this.past.pop();
    if (before) this.restore(before);
  }

  reset() {
    this.note();
    this.restore(this.given);
  }

  /** An earlier version, at the head that is shown. @param {BoardData} version */
  restore(version) {
    const { head, taken, heard, revision } = this.data;
    this.data = { ...this.following(head, version), taken, heard, revision: revision + 1 };
  }

  follow(head) {
    this.data = this.following(head, this.data);
  }

  following(head, data) {
    const { stages } = this.given.handout.heads[head];
    return { ...computed(atHead(data, head)), stages };
  }

  isAsGiven() {
    return said(this.data) === said(this.given);
  }
}

/** Numbers that were evaluated here stand for those of Python. */
function computed({ isPreview, ...data }) {
  return data;
}

/** What tells one version from another. @param {BoardData} data */
function said(data) {
  return JSON.stringify([fingerprint(data), data.axes.tokens]);
}

/** The page around the board. */
class Page {
  constructor(given) {
    this.tell = sayFrom(given.handout.texts);
    this.desk = new Desk(given);
    this.root = document.getElementById("board").content.querySelector(".board");
    this.work = document.getElementById("work");
    this.seen = document.getElementById("seen");
    this.build(given);
    this.board = new ToldBoard(this.root);
    this.board.onPainted = () => this.stepsInTime();
    this.board.sendState = (name, message) => queueMicrotask(() => this.answer(name, message));
    this.steps = new Steps(document.getElementById("steps"), this.board, this.tell);
    this.timer = 0;
    this.listen();
    this.draw();
  }

  build({ link, heads }) {
    const { tell } = this;
    this.heads = heads.map((_, head) =>
      this.button(tell("head", { number: head + 1 }), () => this.desk.follow(head)),
    );
    this.undo = this.button(tell("undo"), () => this.desk.undo());
    this.reset = this.button(tell("reset"), () => this.desk.reset());
    const print = element("button", { type: "button" }, tell("print"));
    print.addEventListener("click", () => window.print());
    const open = link ? [element("a", { href: link, rel: "noreferrer" }, tell("open"))] : [];
    const chooser = element("div", { class: "group", role: "group", "aria-label": tell("heads") });
    chooser.append(element("span", {}, tell("heads")), ...this.heads);
    const host = element("div", { id: "host" });
    host.attachShadow({ mode: "open" }).append(document.getElementById("board").content);
    this.work.append(
      element("h2", {}, tell("board")),
      element("p", { class: "hint" }, tell("board_hint")),
      element(
        "div",
        { class: "bar" },
        ...(heads.length > 1 ? [chooser] : []),
        element("div", { class: "group" }, this.undo, this.reset, print, ...open),
      ),
      host,
    );
    this.edited = element("p", { id: "edited", role: "status" });
    document.getElementById("steps").before(this.edited);
  }

  /** A button that changes what the desk holds. */
  button(text, change) {
    const button = element("button", { type: "button" }, text);
    button.addEventListener("click", () => this.change(change));
    return button;
  }

  change(change) {
    change();
    this.draw();
  }

  answer(name, message) {
    if (name === "edits") this.change(() => this.desk.take(message));
  }

  listen() {
    const { board } = this;
    board.arrive();
    window.addEventListener("beforeprint", () => this.drawSteps());
    const scheme = window.matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", () => board.receive(board.received));
    window.addEventListener("keydown", (event) => {
      const isUndo = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey);
      const isName = event.composedPath()[0].matches?.(".token");
      if (!isUndo || event.shiftKey || event.altKey || board.editing || isName) return;
      event.preventDefault();
      this.change(() => this.desk.undo());
    });
  }

  draw() {
    const { desk, tell } = this;
    const isAsGiven = desk.isAsGiven();
    this.board.receive(desk.data);
    this.heads.forEach((button, head) => {
      update(button, null, { "aria-pressed": head === desk.data.head });
    });
    this.undo.disabled = desk.past.length === 0;
    this.reset.disabled = isAsGiven;
    update(this.edited, isAsGiven ? "" : tell("edited"));
    this.edited.hidden = isAsGiven;
    this.drawSentences(isAsGiven ? desk.given.handout.heads[desk.data.head].sentences : []);
  }

  /** What Python saw in the numbers as they were handed out. */
  drawSentences(sentences) {
    this.seen.hidden = sentences.length === 0;
    const items = sentences.map(({ text }) => element("li", {}, text));
    const { seen } = this.board.data.texts;
    this.seen.replaceChildren(element("h2", {}, seen), element("ul", {}, ...items));
  }

  stepsInTime() {
    document.documentElement.dataset.steps = "stale";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.drawSteps(), CALM);
  }

  drawSteps() {
    clearTimeout(this.timer);
    this.steps.show();
    document.documentElement.dataset.steps = "shown";
  }
}

const given = JSON.parse(document.getElementById("data").textContent);
const cannot = document.getElementById("cannot");
try {
  new Page(given).drawSteps();
  cannot.remove();
} catch (error) {
  console.error(error);
  const tell = sayFrom(given.handout.texts);
  cannot.textContent = tell("fault");
}
