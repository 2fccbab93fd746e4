/**
 * What CSS says of boxes and colours, as SVG 1.1 writes it.
 */

/**
 * @typedef {{x: number, y: number, width: number, height: number, radius?: number}} Box
 */

// --- values of CSS

/** The items of a CSS list, split at the commas outside of parentheses. */
export function listed(css) {
  const items = css.match(/(?:\((?:\([^()]*\)|[^()])*\)|[^(),])+/g) ?? [];
  return items.map((item) => item.trim());
}

/** @returns {{colour: string, x: number, y: number, spread: number, isInset: boolean}} */
export function readShadow(css) {
  const { colour, rest } = afterColour(css);
  const [x, y, , spread] = rest.match(/-?[\d.]+(?=px)/g).map(Number);
  return { colour, x, y, spread, isInset: rest.endsWith("inset") };
}

/** A colour and what follows it. */
function afterColour(css) {
  const [, colour, rest] = css.match(/^([-\w]+\([^()]*\)|[#\w]+)\s*(.*)$/);
  return { colour, rest };
}

/** @returns {{colour: string, opacity: number}} */
function readColour(css) {
  if (css === "transparent") return { colour: "#000000", opacity: 0 };
  const unit = css.startsWith("rgb") ? 1 : css.startsWith("color(srgb ") ? 255 : null;
  const [red, green, blue, opacity = 1] = unit
    ? css.match(/-?[\d.]+(?:e-?\d+)?/g).map(Number)
    : pixelOf(css);
  const hex = [red, green, blue].map((part) => {
    const byte = Math.round(Math.min(255, Math.max(0, part * (unit ?? 1))));
    return byte.toString(16).padStart(2, "0");
  });
  return { colour: `#${hex.join("")}`, opacity };
}

/** A colour of another space, as the browser paints it. */
function pixelOf(css) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = css;
  pen.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
  return [red, green, blue, alpha / 255];
}

export function isVisible(css) {
  return readColour(css).opacity > 0;
}

/** The attributes of a colour. @param {"fill" | "stroke"} property */
export function paint(property, css) {
  const { colour, opacity } = readColour(css);
  return { [property]: colour, [`${property}-opacity`]: opacity === 1 ? undefined : opacity };
}

// --- gradients

/**
 * @typedef {Object} Gradient
 * @property {boolean} isRepeating
 * @property {number} angle in degrees: 0 is up, 90 is to the right
 * @property {number} length of the line it runs along
 * @property {{x: number, y: number}} start of that line, in the box
 * @property {{colour: string, at: number}[]} stops in pixels along it
 */

/** @param {string} css @param {Box} box @returns {Gradient | null} null for other images */
export function readGradient(css, { width, height }) {
  const [, repeating, list] = css.match(/^(repeating-)?linear-gradient\((.*)\)$/) ?? [];
  if (list === undefined) return null;
  const items = listed(list);
  const angle = items[0].endsWith("deg") ? parseFloat(items.shift()) : towards(items);
  const along = direction(angle);
  const length = Math.abs(width * along.x) + Math.abs(height * along.y);
  const stops = items.flatMap((item, index) => {
    const { colour, rest } = afterColour(item);
    const places = rest ? rest.split(" ") : [`${(100 * index) / (items.length - 1)}%`];
    const inPixels = (at) => parseFloat(at) * (at.endsWith("%") ? length / 100 : 1);
    return places.map((at) => ({ colour, at: inPixels(at) }));
  });
  const start = { x: (width - length * along.x) / 2, y: (height - length * along.y) / 2 };
  return { isRepeating: Boolean(repeating), angle, length, start, stops };
}

function towards(items) {
  const sides = { "to top": 0, "to right": 90, "to bottom": 180, "to left": 270 };
  return items[0] in sides ? sides[items.shift()] : 180;
}

function direction(angle) {
  return { x: Math.sin((angle * Math.PI) / 180), y: -Math.cos((angle * Math.PI) / 180) };
}

/** The definition of a gradient that does not repeat. @param {Gradient} gradient */
export function linearGradient({ angle, start, length, stops }) {
  const along = direction(angle);
  const attributes = attributesOf({
    gradientUnits: "userSpaceOnUse",
    x1: start.x,
    y1: start.y,
    x2: start.x + length * along.x,
    y2: start.y + length * along.y,
  });
  const marks = stops.map(({ colour: css, at }) => {
    const { colour, opacity } = readColour(css);
    const stop = { offset: at / length, "stop-color": colour, "stop-opacity": opacity };
    return `<stop${attributesOf(stop)}/>`;
  });
  return `<linearGradient id=""${attributes}>${marks.join("")}</linearGradient>`;
}

/**
 * The definition of a gradient that repeats plain bands; the first band is what it lies upon.
 *
 * @param {Gradient} gradient
 */
export function hatch({ start, angle, stops }) {
  const [first] = stops;
  const period = stops.at(-1).at - first.at;
  const bands = stops.slice(1).flatMap(({ colour, at }, index) => {
    const before = stops[index];
    if (colour !== before.colour || colour === first.colour) return [];
    const box = { x: before.at - first.at, y: 0, width: at - before.at, height: period };
    return [rect(box, paint("fill", colour))];
  });
  const attributes = attributesOf({
    patternUnits: "userSpaceOnUse",
    width: period,
    height: period,
    patternTransform: `translate(${number(start.x)} ${number(start.y)}) rotate(${angle - 90})`,
  });
  return `<pattern id=""${attributes}>${bands.join("")}</pattern>`;
}

// --- shapes

/** @param {Box} box @returns {Box} */
export function expanded({ x, y, width, height, radius = 0 }, by) {
  return {
    x: x - by,
    y: y - by,
    width: Math.max(0, width + 2 * by),
    height: Math.max(0, height + 2 * by),
    radius: radius > 0 ? Math.max(0, radius + by) : 0,
  };
}

/** @param {Box} box @param {{x: number, y: number, spread: number}} by @returns {Box} */
export function moved(box, { x, y, spread }) {
  const grown = expanded(box, spread);
  return { ...grown, x: grown.x + x, y: grown.y + y };
}

/** @param {Box} a @param {Box} b @returns {Box} */
export function overlap(a, b) {
  const [x, y] = [Math.max(a.x, b.x), Math.max(a.y, b.y)];
  const width = Math.max(0, Math.min(a.x + a.width, b.x + b.width) - x);
  const height = Math.max(0, Math.min(a.y + a.height, b.y + b.height) - y);
  return { x, y, width, height, radius: b.radius };
}

/** @param {Box} box */
export function rect({ x, y, width, height, radius }, attributes) {
  return `<rect${attributesOf({ x, y, width, height, rx: radius || undefined, ...attributes })}/>`;
}

/** What lies between two boxes. @param {Box} outer @param {Box} inner */
export function ring(outer, inner, colour) {
  const d = around(outer) + around(inner);
  return `<path${attributesOf({ d, "fill-rule": "evenodd", ...paint("fill", colour) })}/>`;
}

function around({ x, y, width, height, radius = 0 }) {
  const r = Math.min(radius, width / 2, height / 2);
  const turn = (dx, dy) => `a${number(r)} ${number(r)} 0 0 1 ${number(dx)} ${number(dy)}`;
  const [across, down] = [number(width - 2 * r), number(height - 2 * r)];
  const top = `M${number(x + r)} ${number(y)}h${across}${turn(r, r)}`;
  return `${top}v${down}${turn(-r, r)}h${-across}${turn(-r, -r)}v${-down}${turn(r, -r)}z`;
}

// --- XML

/** Attributes as they are written in a tag; those that are undefined are left out. */
export function attributesOf(attributes) {
  return Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, typeof value === "number" ? number(value) : escaped(value)])
    .map(([name, value]) => ` ${name}="${value}"`)
    .join("");
}

/** A thousandth of a pixel is more than is seen. */
export function number(value) {
  return Number(value.toFixed(3));
}

const MARKUP = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A learner's text in XML 1.0, without the characters that it has no way to write. */
export function escaped(text) {
  return text
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, "")
    .replace(/[&<>"]/g, (sign) => MARKUP[sign]);
}
