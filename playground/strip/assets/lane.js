/**
 * One lane: the tokens in a row, the links between them, and where the message is.
 *
 * Places are counted in tokens and stretched by the browser, so nothing is measured.
 */

import { drawing, element, write } from "./element.js";

/** @typedef {[number, number]} Link from which token to which */
/** @typedef {{links: Link[], has_it: boolean[], at: number[]}} Moment */
/** @typedef {{id: string, title: string, passings: {moment: Moment, said: string}[]}} LaneData */

const ROOM = 0.94; // of the height, for the widest arc, so that its line is not cut

export class Lane {
  /**
   * @param {LaneData} lane
   * @param {string[]} tokens
   * @param {number} source
   * @param {Record<string, string>} texts
   */
  constructor(lane, tokens, source, texts) {
    Object.assign(this, { lane, texts, source, n: tokens.length });
    this.links = lane.passings.flatMap(({ moment }, step) =>
      moment.links.map((link) => ({ link, step })));
    this.widest = Math.max(1, ...this.links.map(({ link: [from, to] }) => Math.abs(to - from)));
    this.nodes = tokens.map((token, index) => this.node(token, index));
    const { moment } = lane.passings[0];
    this.copies = moment.at.map(() => envelope());
    this.said = element("p", { class: "said", "aria-live": "polite" });
    const places = element("div", { class: "places" }, ...this.copies);
    const row = element("ol", { class: "nodes" }, ...this.nodes.map(({ node }) => node));
    const arcs = [this.arcs("later"), this.arcs("earlier")];
    this.root = element(
      "section",
      { class: "lane", "data-lane": lane.id, "aria-label": lane.title },
      element("h2", {}, lane.title),
      this.said,
      element("div", { class: "row" }, arcs[0], element("div", { class: "middle" }, row, places),
        arcs[1]),
    );
  }

  node(token, index) {
    const state = element("span", { class: "unseen" });
    const dot = element("span", { class: "dot" }, String(index + 1));
    const name = element("span", { class: "name", title: token }, token);
    const isSource = index === this.source;
    const node = element("li", { class: isSource ? "node source" : "node" }, dot, name, state);
    return { node, state };
  }

  /** The arcs to later tokens stand above the row, those to earlier ones hang below it. */
  arcs(side) {
    const isUp = side === "later";
    const drawn = this.links.filter(({ link: [from, to] }) => (isUp ? to > from : to < from));
    for (const each of drawn) {
      const [from, to] = each.link;
      const height = (ROOM * Math.abs(to - from)) / this.widest;
      const radius = Math.abs(to - from) / 2;
      const [base, sweep] = isUp ? [1, 1] : [0, 1];
      const d = `M${from + 0.5} ${base}A${radius} ${height} 0 0 ${sweep} ${to + 0.5} ${base}`;
      each.path = drawing("path", { d, "vector-effect": "non-scaling-stroke" });
    }
    const box = { viewBox: `0 0 ${this.n} 1`, preserveAspectRatio: "none", "aria-hidden": true };
    const paths = drawn.map(({ path }) => path);
    return drawing("svg", { class: `arcs ${side}`, hidden: drawn.length === 0, ...box }, ...paths);
  }

  /** Shows one step; after the last one of this lane, that one stays. */
  show(step) {
    const { passings } = this.lane;
    const now = Math.min(step, passings.length - 1);
    const { moment, said } = passings[now];
    write(this.said, said);
    this.nodes.forEach(({ node, state }, index) => {
      node.classList.toggle("has", moment.has_it[index]);
      write(state, moment.has_it[index] ? this.texts.has_it : this.texts.has_not);
    });
    for (const { link: [from, to], step: when, path } of this.links) {
      const isMade = when <= now;
      const carries = isMade && passings[when - 1].moment.has_it[from];
      if (path) {
        path.classList.toggle("made", isMade);
        path.classList.toggle("carries", carries);
      } else {
        this.nodes[to].node.classList.toggle("own", isMade);
      }
    }
    this.copies.forEach((copy, index) => {
      copy.style.left = `${(100 * (moment.at[index] + 0.5)) / this.n}%`;
    });
  }
}

function envelope() {
  const sheet = drawing("path", { class: "sheet", d: "M.5 .5h15v10h-15z" });
  const flap = drawing("path", { class: "flap", d: "M.5 .5l7.5 6l7.5 -6" });
  return drawing("svg", { class: "envelope", viewBox: "0 0 16 11", "aria-hidden": true },
    sheet, flap);
}
