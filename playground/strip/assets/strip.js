/**
 * The strip: goes through the steps that Python has worked out, by itself or one at a time.
 */

import { element, write } from "./element.js";
import { Lane } from "./lane.js";

const PACE = 1_100; // ms from one step to the next while it plays

/**
 * @typedef {Object} StripData
 * @property {string[]} tokens
 * @property {number} source whose message is followed
 * @property {import("./lane.js").LaneData[]} lanes
 * @property {string[]} steps what each step is called
 * @property {Record<string, string>} texts
 */

/** One strip for each place in the page, which stays through reruns. @type {WeakMap<Node, Strip>} */
const strips = new WeakMap();

/** Called by Streamlit on every run and change of theme; what it returns, on leaving. */
export default function ({ parentElement, data }) {
  let strip = strips.get(parentElement);
  if (!strip) {
    strip = new Strip(parentElement.querySelector(".strip"));
    strips.set(parentElement, strip);
  }
  strip.receive(data);
  return () => strip.rest();
}

export class Strip {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    /** @type {StripData} */
    this.data = null;
    this.step = 0;
    this.isPlaying = false;
    this.timer = 0;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.calm.addEventListener("change", () => this.data && this.show());
    this.build();
  }

  build() {
    this.back = element("button", { type: "button", class: "back" });
    this.play = element("button", { type: "button", class: "play" });
    this.forward = element("button", { type: "button", class: "forward" });
    this.time = element("input", { type: "range", min: 0, step: 1, value: 0 });
    this.name = element("span", { class: "now", "aria-hidden": true });
    this.back.addEventListener("click", () => this.go(this.step - 1));
    this.forward.addEventListener("click", () => this.go(this.step + 1));
    this.time.addEventListener("input", () => this.go(Number(this.time.value)));
    this.play.addEventListener("click", () => (this.isPlaying ? this.stop() : this.start()));
    const buttons = element("div", { class: "buttons" }, this.back, this.play, this.forward);
    const tools = element("div", { class: "tools" }, buttons, this.time, this.name);
    this.legend = element("p", { class: "legend" });
    this.place = element("div", { class: "lanes" });
    this.root.replaceChildren(tools, this.place, this.legend);
  }

  get last() {
    return this.data.steps.length - 1;
  }

  /** New events from Python, or the same again. @param {StripData} data */
  receive(data) {
    if (data !== this.data) {
      this.data = data;
      const { tokens, source, texts } = data;
      this.lanes = data.lanes.map((lane) => new Lane(lane, tokens, source, texts));
      this.root.style.setProperty("--n", tokens.length);
      this.root.dataset.crowd = tokens.length > 8 ? "many" : tokens.length > 4 ? "some" : "few";
      this.place.replaceChildren(...this.lanes.map(({ root }) => root));
      write(this.back, texts.back);
      write(this.forward, texts.forward);
      write(this.legend, texts.legend);
      this.time.max = this.last;
      this.time.setAttribute("aria-label", texts.time);
    }
    this.step = Math.min(this.step, this.last);
    this.show();
    if (this.isPlaying) this.tick();
  }

  /** Goes to a step, as a hand wants it: what plays is paused. */
  go(step) {
    this.stop();
    this.step = Math.max(0, Math.min(step, this.last));
    this.show();
  }

  start() {
    if (this.step === this.last) this.step = 0;
    this.isPlaying = true;
    this.show();
    this.tick();
  }

  stop() {
    this.isPlaying = false;
    this.rest();
    this.show();
  }

  /** Nothing moves until Streamlit comes back. */
  rest() {
    clearTimeout(this.timer);
  }

  tick() {
    this.rest();
    this.timer = setTimeout(() => {
      this.step = Math.min(this.step + 1, this.last);
      if (this.step === this.last) this.isPlaying = false;
      this.show();
      if (this.isPlaying) this.tick();
    }, PACE);
  }

  show() {
    if (this.calm.matches && this.isPlaying) {
      this.isPlaying = false;
      this.rest();
    }
    const { texts, steps } = this.data;
    for (const lane of this.lanes) lane.show(this.step);
    this.root.dataset.step = String(this.step);
    this.time.value = String(this.step);
    this.time.setAttribute("aria-valuetext", steps[this.step]);
    write(this.name, steps[this.step]);
    write(this.play, this.isPlaying ? texts.pause : texts.play);
    this.play.hidden = this.calm.matches;
    setOff(this.back, this.step === 0);
    setOff(this.forward, this.step === this.last);
  }
}

/** A button that has nothing to do keeps the focus, which one that is disabled would lose. */
function setOff(button, isOff) {
  button.setAttribute("aria-disabled", String(isOff));
}
