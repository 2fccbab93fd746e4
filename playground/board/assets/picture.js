/**
 * A picture of the board, as a file: SVG made from what stands on the screen, and PNG from that.
 *
 * No <foreignObject>, which taints a canvas and which few programs open.
 */

import { Drawing } from "./drawing.js";
import { isVisible } from "./svg.js";

/** What is there to be used, not to be seen: left out as if it had never been. */
export const SCREEN_ONLY = [
  "[data-screen-only]",
  "[role=toolbar]",
  "[role=alert]",
  ".add",
  ".remove",
  ".board:not(:has(.shown)) .explanation", // says how to use the board
].join(", ");

const MOST_SIDE = 16_384; // pixels of a canvas that browsers agree on
const MOST_AREA = 8_192 ** 2;
const KEPT = 60_000; // ms that a file stays, for a browser that is slow to save it

/**
 * The board as one SVG, all of it, also what is scrolled out of sight.
 *
 * @param {HTMLElement} root
 * @param {string} title for those who hear the picture
 * @param {string} description such as the address of the board
 */
export function boardSvg(root, title, description = "") {
  const copy = unrolled(root);
  try {
    return new Drawing(copy).svg(pageColour(root), title, description);
  } finally {
    copy.parentNode.remove();
  }
}

/**
 * The same picture in pixels.
 *
 * @param {string} svg
 * @param {number} scale pixels for each CSS pixel; fewer where no canvas has room for so many
 * @returns {Promise<Blob>} rejected if the browser cannot draw it
 */
export async function svgToPng(svg, scale = 2) {
  const url = URL.createObjectURL(new Blob([await withFonts(svg)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const { naturalWidth: width, naturalHeight: height } = image;
    const side = MOST_SIDE / Math.max(width, height);
    const most = Math.min(scale, side, Math.sqrt(MOST_AREA / (width * height)));
    const canvas = document.createElement("canvas");
    canvas.width = Math.floor(width * most);
    canvas.height = Math.floor(height * most);
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await pngOf(canvas);
  } finally {
    URL.revokeObjectURL(url);
  }
}

function pngOf(canvas) {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error(`no PNG of ${canvas.width} × ${canvas.height} pixels`));
    canvas.toBlob((blob) => (blob ? resolve(blob) : fail()), "image/png");
  });
}

/** Hands a file to the browser's downloads. @param {Blob} blob @param {string} name */
export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT);
}

/** The first background behind the board that is not transparent. */
function pageColour(root) {
  for (let node = root; node; node = node.parentElement ?? node.getRootNode().host) {
    const { backgroundColor } = getComputedStyle(node);
    if (isVisible(backgroundColor)) return backgroundColor;
  }
  return "rgb(255, 255, 255)";
}

// --- the copy that is drawn

/**
 * A copy of the board beside it, with nothing scrolled away and nothing stuck to an edge. It is
 * gone before the browser paints again.
 */
function unrolled(root) {
  const copy = root.cloneNode(true);
  copy.classList.remove("large"); // what is out of view is laid out too
  for (const node of copy.querySelectorAll(SCREEN_ONLY)) node.remove();
  const holder = document.createElement("div");
  holder.dataset.picture = "";
  holder.inert = true;
  holder.style.cssText = `position: absolute; width: ${root.getBoundingClientRect().width}px`;
  holder.append(copy);
  root.after(holder);
  writeOutPseudoElements(holder, copy);
  unroll(copy);
  return copy;
}

/** Puts spans in the place of ::before and ::after, which cannot be measured. */
function writeOutPseudoElements(holder, copy) {
  const spans = [...copy.querySelectorAll("*")].flatMap((node) =>
    ["::before", "::after"].flatMap((name) => {
      const style = getComputedStyle(node, name);
      if (style.content === "none" || style.content === "normal") return [];
      const span = document.createElement("span");
      span.textContent = style.content.match(/^"((?:[^"\\]|\\.)*)"/)?.[1].replace(/\\(.)/g, "$1") ?? "";
      span.style.cssText = [...style].map((key) => `${key}: ${style[key]}`).join("; ");
      return [{ node, place: name === "::before" ? "prepend" : "append", span }];
    }),
  );
  const still = document.createElement("style");
  still.textContent = `
    [data-picture] * { animation: none !important; transition: none !important; }
    [data-picture] ::before, [data-picture] ::after { content: none !important; }`;
  holder.append(still);
  for (const { node, place, span } of spans) node[place](span);
}

function unroll(copy) {
  const nodes = [...copy.querySelectorAll("*")];
  const styles = new Map(nodes.map((node) => [node, getComputedStyle(node)]));
  const stuck = nodes.filter((node) => styles.get(node).position === "sticky");
  const scrolled = nodes.filter((node) => /auto|scroll/.test(styles.get(node).overflow));
  const changes = [
    ...stuck.map((node) => [node, { position: "relative", inset: "auto" }]),
    ...scrolled.flatMap((node) => openings(node, copy, styles)),
  ]; // all are measured before the first is made
  for (const [node, change] of changes) Object.assign(node.style, change);
}

/** What opens an element that scrolls, and widens the frames around it. */
function openings(node, copy, styles) {
  const opened = [[node, { overflow: "visible", maxHeight: "none" }]];
  if (node.scrollHeight > node.clientHeight) opened.push([node, { height: "auto" }]);
  const hidden = node.scrollWidth - node.clientWidth;
  if (hidden <= 0) return opened;
  for (let frame = node; frame !== copy; frame = frame.parentNode) {
    const { borderRightStyle, backgroundColor } = styles.get(frame);
    if (borderRightStyle === "none" && !isVisible(backgroundColor)) continue;
    const minWidth = `${frame.offsetWidth + hidden}px`;
    opened.push([frame, { boxSizing: "border-box", minWidth }]);
  }
  return opened;
}

// --- fonts

/** An SVG that is drawn as an image sees no font of its page: those it names go along. */
async function withFonts(svg) {
  const loaded = [...document.fonts].filter(({ status }) => status === "loaded");
  const named = loaded.filter(({ family }) => svg.includes(unquoted(family)));
  const rules = fontRules().filter(({ style }) => named.some((face) => isOf(face, style)));
  const css = await Promise.all(rules.map(embedded));
  return svg.replace(">", () => `><style>${css.join("")}</style>`);
}

function fontRules() {
  return [...document.styleSheets].flatMap((sheet) => {
    try {
      return [...sheet.cssRules].filter((rule) => rule instanceof CSSFontFaceRule);
    } catch {
      return []; // a sheet of another origin is closed to scripts
    }
  });
}

function isOf(face, style) {
  const says = (property, usual) => style.getPropertyValue(property) || usual;
  return (
    unquoted(says("font-family", "")) === unquoted(face.family) &&
    says("font-style", "normal") === face.style &&
    says("unicode-range", "U+0-10FFFF") === face.unicodeRange
  );
}

async function embedded({ style, parentStyleSheet }) {
  const [, address] = style.getPropertyValue("src").match(/url\("?([^")]+)"?\)/);
  const answer = await fetch(new URL(address, parentStyleSheet.href ?? document.baseURI));
  if (!answer.ok) throw new Error(`no font: ${address} answered ${answer.status}`);
  const data = await dataUrl(await answer.blob());
  const kept = ["font-family", "font-style", "font-weight", "unicode-range"]
    .map((name) => [name, style.getPropertyValue(name)])
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}: ${value};`);
  return `@font-face { ${kept.join(" ")} src: url(${data}); }`;
}

function dataUrl(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

function unquoted(family) {
  return family.replace(/["']/g, "");
}
