/**
 * The bar of the step player: where one is, what is computed here, the ways on and back.
 */

import { element, resize, sizeOf, update } from "./element.js";
import { withSubscripts } from "./sheet.js";

/** @typedef {import("./view.js").Matrix} Matrix */

const BUTTONS = ["back", "next", "close"];

export class PlayerBar {
  /**
   * @param {{
   *   go: (index: number) => void,
   *   move: (step: number) => void,
   *   close: () => void,
   *   predict: (predicts: boolean) => void,
   * }} does
   */
  constructor(does) {
    const button = (name) => element("button", { class: `play-${name} tool`, type: "button" });
    [this.back, this.next, this.close] = BUTTONS.map(button);
    this.does = does;
    this.dots = [];
    this.track = element("div", { class: "dots" });
    this.count = element("span", { class: "play-count", "aria-hidden": "true" });
    this.title = element("span", { class: "play-title" });
    this.check = element("input", { class: "play-check", type: "checkbox" });
    this.predicts = element("span");
    this.predict = element("label", { class: "play-predict" }, this.check, this.predicts);
    this.verdict = element("strong", { role: "status" });
    this.sentence = element("span");
    this.told = element("p", { class: "play-told" }, this.verdict, " ", this.sentence);
    this.status = element("div", { class: "unseen", role: "status" });
    this.node = element(
      "section",
      { class: "player", tabindex: -1, hidden: true },
      this.track,
      element("div", { class: "play-moves" }, this.back, this.next, this.count),
      this.title,
      element("div", { class: "play-ends" }, this.predict, this.close),
      this.told,
      this.status,
    );
    this.back.addEventListener("click", () => does.move(-1));
    this.next.addEventListener("click", () => does.move(1));
    this.close.addEventListener("click", () => does.close());
    this.check.addEventListener("change", () => does.predict(this.check.checked));
  }

  /**
   * @param {{
   *   steps: Matrix[],
   *   index: number,
   *   matrix: Matrix,
   *   name: (matrix: Matrix) => string,
   *   predicts: boolean,
   *   say: (key: string, values?: object) => string,
   * }} shown
   */
  paint({ steps, index, matrix, name, predicts, say }) {
    update(this.node, null, { "aria-label": say("play_bar") });
    for (const key of BUTTONS) {
      update(this[key], say(`play_${key}`), { title: say(`play_${key}_help`) });
    }
    this.back.disabled = index === 0;
    this.next.disabled = index === steps.length - 1;
    update(this.predicts, say("play_predict"));
    update(this.predict, null, { title: say("play_predict_help") });
    this.check.checked = predicts;
    update(this.count, `${index + 1} / ${steps.length}`);
    this.paintTitle(matrix, name(matrix));
    this.paintDots(steps, index, name, say);
    const place = say("play_count", { number: index + 1, count: steps.length });
    this.place = `${place}: ${name(matrix)}`;
  }

  /** Symbol, name, formula and shape. */
  paintTitle({ symbol, expression, values }, name) {
    const said = JSON.stringify([symbol, name, expression, sizeOf(values)]);
    if (said === this.said) return;
    this.said = said;
    const formula = expression ? `${symbol} = ${expression}`.trim() : symbol;
    this.title.replaceChildren(
      element("span", { class: "play-name" }, name),
      " ",
      element("span", { class: "play-formula" }, ...withSubscripts(formula)),
      " ",
      element("span", { class: "shape" }, sizeOf(values)),
    );
  }

  paintDots(steps, index, name, say) {
    resize(this.dots, steps.length, this.track, (number) => {
      const node = element("button", { class: "dot", type: "button", tabindex: -1 });
      node.addEventListener("click", () => this.does.go(number));
      return { node };
    });
    this.dots.forEach(({ node }, number) => {
      const label = say("play_goto", { number: number + 1, name: name(steps[number]) });
      update(node, null, { title: label, "aria-label": label });
      node.toggleAttribute("data-done", number <= index);
      if (number === index) node.setAttribute("aria-current", "step");
      else node.removeAttribute("aria-current");
    });
  }

  /** The sentence. A screen reader is told at another step or token, not while one drags. */
  tell(text, verdict, row) {
    update(this.sentence, text);
    update(this.verdict, verdict);
    const of = `${this.place} ${row}`;
    if (of === this.announced) return;
    this.announced = of;
    this.status.textContent = `${this.place}. ${text}`;
  }

  /** To the way on, or where there is none, to the bar. */
  focus() {
    (this.next.disabled ? this.node : this.next).focus({ preventScroll: true });
  }
}
