/**
 * How the matrices of one step are laid out, as large as there is room for.
 *
 *     row     A · B = R
 *     block   A · B       with B to the right of both, for wide matrices on a low screen
 *             R
 */

/**
 * @typedef {Object} Card
 * @property {number} rows
 * @property {number} columns
 * @property {number} label the width of its row names, in pixels like all that follows
 * @property {number} frame the height of all that stands above and below its rows
 *
 * @typedef {Object} Room
 * @property {number} width
 * @property {number} height
 * @property {number} sign the width of a sign between two cards
 * @property {number} gap between two cards, one below the other
 *
 * @typedef {Object} Type
 * @property {number} smallest size of the font
 * @property {number} largest
 * @property {number} characters that a cell has to hold
 *
 * @typedef {{layout: "row" | "block", cell: number, line: number, font: number}} Arrangement
 */

const BETWEEN = 2; // pixels between two cells
const EDGES = 6; // at both edges of a table
const DIGIT = 0.5; // of the size of the font: the width of a digit
const PADDING = 0.5;
const LEADING = 1.3; // the least height of a line
const AIRY = 1.9; // the height of a line that is wanted
const BROAD = 4; // the width of a cell that is wanted
const WORTH = 1.25; // how much larger the type has to be for the matrices to leave their row

/**
 * @param {Card[]} left the first and the last, which may stand below each other
 * @param {Card[]} right those between them, or to the right of both
 * @param {Room} room
 * @param {Type} type
 * @returns {Arrangement} with the smallest type, it may need more than there is room for
 */
export function arrange(left, right, room, type) {
  const all = [...left, ...right];
  const row = fitted([all], all.map((card) => [card]), room, type);
  const stacks = [left, ...right.map((card) => [card])];
  const block = fitted(left.map((card) => [card, ...right]), stacks, room, type);
  const worth = row.scale < type.smallest ? 1 : WORTH;
  const isBetter = left.length > 1 && Math.min(block.scale, type.largest) > worth * row.scale;
  const { cell, line, scale } = isBetter ? block : row;
  const font = Math.min(Math.max(scale, type.smallest), type.largest);
  const least = font * (DIGIT * type.characters + PADDING);
  return {
    layout: isBetter ? "block" : "row",
    cell: Math.max(least, Math.min(cell, font * BROAD)),
    line: Math.max(font * LEADING, Math.min(line, font * AIRY)),
    font,
  };
}

/**
 * The largest cells, and the scale of the type that goes into them.
 *
 * @param {Card[][]} beside cards that share the width
 * @param {Card[][]} below cards that share the height
 */
function fitted(beside, below, room, { characters }) {
  const widths = beside.map((cards) => {
    const taken = sum(cards, ({ label }) => label + EDGES) + room.sign * (cards.length - 1);
    return (room.width - taken) / sum(cards, ({ columns }) => columns) - BETWEEN;
  });
  const heights = below.map((cards) => {
    const taken = sum(cards, ({ frame }) => frame) + room.gap * (cards.length - 1);
    return (room.height - taken) / sum(cards, ({ rows }) => rows) - BETWEEN;
  });
  const [cell, line] = [Math.min(...widths), Math.min(...heights)];
  return { cell, line, scale: Math.min(cell / (DIGIT * characters + PADDING), line / LEADING) };
}

function sum(cards, of) {
  return cards.reduce((total, card) => total + of(card), 0);
}
