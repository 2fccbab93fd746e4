/**
 * A part of the page as vector graphics: every element with a background, border, shadow or
 * outline becomes a shape, every line of text a <text>. It knows nothing of matrices.
 *
 * Not drawn: blur, images, gradients that are not linear, `background-size` and `-position`,
 * an order by z-index, transforms.
 */

import {
  attributesOf,
  escaped,
  expanded,
  hatch,
  isVisible,
  linearGradient,
  listed,
  moved,
  number,
  overlap,
  paint,
  readGradient,
  readShadow,
  rect,
  ring,
} from "./svg.js";

/**
 * @typedef {import("./svg.js").Box} Box
 * @typedef {{left: number, right: number, top: number, bottom: number}} Edges on the screen
 * @typedef {Edges & {isRtl: boolean}} Clip a box that cuts longer texts off, with an ellipsis
 *
 * @typedef {Object} Surroundings what an element has from those around it
 * @property {CSSStyleDeclaration} [decoration] of what underlines it
 * @property {Clip} [clip]
 */

const MARGIN = 8; // around what is drawn
const SHARES = { start: 0, middle: 0.5, end: 1 };

export class Drawing {
  /** @param {HTMLElement} root its corner is the origin; its font is said once for all texts */
  constructor(root) {
    const { left, top } = root.getBoundingClientRect();
    this.origin = { left, top };
    this.base = getComputedStyle(root);
    this.shapes = [];
    this.outlines = []; // lie over all that surrounds them
    this.definitions = new Map(); // markup without its id → id
    this.edges = { left: 0, top: 0, right: 0, bottom: 0 };
    this.middles = new Map(); // by font: see `middleOf`
    this.pen = document.createElement("canvas").getContext("2d");
    for (const child of root.children) this.addElement(child);
  }

  /** The whole picture, as the text of a file. */
  svg(background, title, description) {
    const x = Math.floor(this.edges.left - MARGIN);
    const y = Math.floor(this.edges.top - MARGIN);
    const width = Math.ceil(this.edges.right + MARGIN) - x;
    const height = Math.ceil(this.edges.bottom + MARGIN) - y;
    const attributes = attributesOf({
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `${x} ${y} ${width} ${height}`,
      role: "img",
      "xml:lang": document.documentElement.lang || undefined,
      "xml:space": "preserve",
      "font-family": this.base.fontFamily,
      "font-size": this.base.fontSize,
      "font-weight": this.base.fontWeight,
    });
    const definitions = [...this.definitions].map(([markup, id]) =>
      markup.replace('id=""', `id="${id}"`),
    );
    return [
      `<svg${attributes}>`,
      `<title>${escaped(title)}</title>`,
      `<desc>${escaped(description)}</desc>`,
      `<defs>${definitions.join("\n")}</defs>`,
      rect({ x, y, width, height }, paint("fill", background)),
      ...this.shapes,
      ...this.outlines,
      "</svg>\n",
    ].join("\n");
  }

  /** @param {Element} element @param {Surroundings} around */
  addElement(element, around = {}) {
    const style = getComputedStyle(element);
    if (style.display === "none") return;
    if (style.opacity === "1") this.addContents(element, style, around);
    else this.addGroup(element, style, around);
  }

  addGroup(element, style, around) {
    const { shapes, outlines } = this;
    [this.shapes, this.outlines] = [[], []];
    this.addContents(element, style, around);
    const group = (parts) => [`<g${attributesOf({ opacity: style.opacity })}>`, ...parts, "</g>"];
    if (this.shapes.length) shapes.push(...group(this.shapes));
    if (this.outlines.length) outlines.push(...group(this.outlines));
    [this.shapes, this.outlines] = [shapes, outlines];
  }

  addContents(element, style, { decoration, clip }) {
    const isShown = style.visibility === "visible";
    if (isShown) {
      for (const box of element.getClientRects()) this.addBox(this.placed(box, style), style);
      if (element.matches("input")) this.addField(element, style);
      if (style.display === "list-item") this.addMarker(element, style);
    }
    const inner = {
      decoration: decorating(style) ?? decoration,
      clip: style.textOverflow === "ellipsis" ? contentOf(element, style) : clip,
    };
    for (const child of element.childNodes) {
      if (child.nodeType === Node.ELEMENT_NODE) this.addElement(child, inner);
      if (child.nodeType === Node.TEXT_NODE && isShown) this.addText(child, style, inner);
    }
  }

  /** @param {Box} box where the markup reaches to */
  draw(markup, box, layer = this.shapes) {
    const { edges } = this;
    edges.left = Math.min(edges.left, box.x);
    edges.top = Math.min(edges.top, box.y);
    edges.right = Math.max(edges.right, box.x + box.width);
    edges.bottom = Math.max(edges.bottom, box.y + box.height);
    layer.push(markup);
  }

  /** @returns {string} a paint that refers to the definition */
  define(markup) {
    const id = this.definitions.get(markup) ?? `paint-${this.definitions.size + 1}`;
    this.definitions.set(markup, id);
    return `url(#${id})`;
  }

  // --- boxes

  /** A box on whole pixels, as a browser paints it. @returns {Box} */
  placed({ left, top, right, bottom, width, height }, style) {
    const x = Math.round(left - this.origin.left);
    const y = Math.round(top - this.origin.top);
    const given = style.borderTopLeftRadius;
    const share = given.endsWith("%") ? Math.min(width, height) / 100 : 1;
    return {
      x,
      y,
      width: Math.round(right - this.origin.left) - x,
      height: Math.round(bottom - this.origin.top) - y,
      radius: Math.min(parseFloat(given) * share, width / 2, height / 2),
    };
  }

  /** @param {Box} box */
  addBox(box, style) {
    if (box.width === 0 || box.height === 0) return;
    const shadows = style.boxShadow === "none" ? [] : listed(style.boxShadow).map(readShadow);
    shadows.reverse(); // the first one lies on top
    for (const shadow of shadows.filter(({ isInset }) => !isInset)) this.addShadow(box, shadow);
    if (isVisible(style.backgroundColor)) {
      this.draw(rect(box, paint("fill", style.backgroundColor)), box);
    }
    for (const image of listed(style.backgroundImage).reverse()) this.addImage(box, image);
    for (const shadow of shadows.filter(({ isInset }) => isInset)) this.addInset(box, shadow);
    if (style.borderWidth !== "0px") this.addBorder(box, style);
    if (style.outlineStyle !== "none") this.addOutline(box, style);
  }

  addShadow(box, shadow) {
    const cast = moved(box, shadow);
    this.draw(ring(cast, overlap(cast, box), shadow.colour), cast);
  }

  addInset(box, { colour, x, y, spread }) {
    const free = moved(box, { x, y, spread: -spread });
    if (x === 0 && y === 0) this.addLine(free, spread, "solid", colour, this.shapes);
    else this.draw(ring(box, overlap(box, free), colour), box);
  }

  /** A background image: linear gradients only. */
  addImage(box, image) {
    const gradient = readGradient(image, box);
    if (!gradient) return;
    const [{ colour }] = gradient.stops;
    if (gradient.isRepeating && isVisible(colour)) this.draw(rect(box, paint("fill", colour)), box);
    const fill = this.define(gradient.isRepeating ? hatch(gradient) : linearGradient(gradient));
    const transform = `translate(${number(box.x)} ${number(box.y)})`; // the colours move with it
    this.draw(rect({ ...box, x: 0, y: 0 }, { transform, fill }), box);
  }

  addBorder(box, style) {
    const [top, right, bottom, left] = ["Top", "Right", "Bottom", "Left"].map((side) => ({
      width: parseFloat(style[`border${side}Width`]),
      line: style[`border${side}Style`],
      colour: style[`border${side}Color`],
    }));
    const isSame = ({ width, line, colour }) =>
      width === top.width && line === top.line && colour === top.colour;
    if ([right, bottom, left].every(isSame)) {
      this.addLine(expanded(box, -top.width), top.width, top.line, top.colour, this.shapes);
      return;
    }
    const { x, y, width, height } = box;
    const [endX, endY] = [x + width - right.width, y + height - bottom.width];
    this.addBar({ x, y, width, height: top.width }, top);
    this.addBar({ x: endX, y, width: right.width, height }, right);
    this.addBar({ x, y: endY, width, height: bottom.width }, bottom);
    this.addBar({ x, y, width: left.width, height }, left);
  }

  addBar(bar, { colour }) {
    if (bar.width && bar.height) this.draw(rect(bar, paint("fill", colour)), bar);
  }

  addOutline(box, { outlineWidth, outlineOffset, outlineStyle, outlineColor }) {
    const inner = expanded(box, parseFloat(outlineOffset));
    this.addLine(inner, parseFloat(outlineWidth), outlineStyle, outlineColor, this.outlines);
  }

  /** A line all around a box. @param {Box} inner what it leaves free */
  addLine(inner, width, line, colour, layer) {
    if (width === 0 || !isVisible(colour)) return;
    if (line === "double") {
      this.addLine(inner, width / 3, "solid", colour, layer);
      this.addLine(expanded(inner, (2 / 3) * width), width / 3, "solid", colour, layer);
      return;
    }
    const dashed = width < 3 ? [3 * width, 2 * width] : [2 * width, width];
    const dashes = { dotted: [width, width], dashed }[line];
    const stroke = {
      fill: "none",
      ...paint("stroke", colour),
      "stroke-width": width === 1 ? undefined : width,
      "stroke-dasharray": dashes?.join(" "),
    };
    this.draw(rect(expanded(inner, width / 2), stroke), expanded(inner, width), layer);
  }

  // --- texts

  addText(node, style, { decoration, clip }) {
    if (style.writingMode === "sideways-lr") {
      this.writeUpwards(node, style, clip);
      return;
    }
    for (const line of linesOf(node)) {
      const isCut = clip && (line.right > clip.right + 0.5 || line.left < clip.left - 0.5);
      const shown = isCut ? cutOff(line, clip, this.widthOf("…", style), style) : line;
      this.write(shown, style, decoration);
    }
  }

  addField(input, style) {
    if (input.value === "") return;
    const box = contentOf(input, style);
    const room = box.right - box.left;
    const isLong = this.widthOf(input.value, style) > room + 0.5;
    const isCut = isLong && style.textOverflow === "ellipsis";
    const text = isCut ? this.shortened(input.value, room, style) : input.value;
    const width = this.widthOf(text, style);
    const share = isCut ? Number(box.isRtl) : SHARES[sideOf(style)];
    const left = box.left + Math.max(0, room - width) * share;
    this.write({ ...box, text, left, right: left + width }, style, decorating(style));
  }

  shortened(text, room, style) {
    const parts = graphemes(text).map(({ segment }) => segment);
    while (parts.length > 1 && this.widthOf(`${parts.join("")}…`, style) > room) parts.pop();
    return `${parts.join("")}…`;
  }

  /** The dot of a list item, where browsers put it. */
  addMarker(item, style) {
    const [line] = rangeOf(item, 0, item.childNodes.length).getClientRects();
    if (!line || style.listStyleType !== "disc") return;
    const size = parseFloat(style.fontSize);
    const r = 0.165 * size;
    const cx = line.left - 0.97 * size - this.origin.left;
    const cy = (line.top + line.bottom) / 2 + 0.03 * size - this.origin.top;
    const box = { x: cx - r, y: cy - r, width: 2 * r, height: 2 * r };
    this.draw(`<circle${attributesOf({ cx, cy, r, ...paint("fill", style.color) })}/>`, box);
  }

  /** @param {Edges & {text: string}} line @param {CSSStyleDeclaration} [decoration] */
  write({ text, left, right, top, bottom }, style, decoration) {
    const [x, y] = [left - this.origin.left, top - this.origin.top];
    const [width, height] = [right - left, bottom - top];
    const baseline = y + height / 2 + this.middleOf(style);
    const side = sideOf(style);
    const isRtl = style.direction === "rtl";
    const anchor = isRtl ? { start: "end", middle: "middle", end: "start" }[side] : side;
    const attributes = attributesOf({
      x: x + width * SHARES[side],
      y: baseline,
      "text-anchor": anchor === "start" ? undefined : anchor,
      direction: isRtl ? "rtl" : undefined,
      ...this.fontAttributes(style),
      ...paint("fill", style.color),
      textLength: width, // another font is fitted in, rather than written over its neighbour
    });
    const box = { x, y, width, height };
    if (decoration) this.draw(underline(box, baseline, decoration, style), box);
    this.draw(`<text${attributes}>${escaped(text)}</text>`, box);
  }

  /** A line that is read from the bottom to the top, as the names of narrow columns are. */
  writeUpwards(node, style, clip) {
    const line = rangeOf(node, 0, node.data.length).getBoundingClientRect();
    const room = clip ? clip.bottom - clip.top : line.height;
    const isLong = line.height > room + 0.5;
    const text = isLong ? this.shortened(node.data, room, style) : node.data;
    const height = Math.min(line.height, room);
    const bottom = (isLong ? clip.bottom : line.bottom) - this.origin.top;
    const left = line.left - this.origin.left;
    const x = left + line.width / 2 + this.middleOf(style);
    const attributes = attributesOf({
      x,
      y: bottom,
      transform: `rotate(-90 ${x} ${bottom})`,
      ...this.fontAttributes(style),
      ...paint("fill", style.color),
      textLength: isLong ? this.widthOf(text, style) : height,
    });
    const box = { x: left, y: bottom - height, width: line.width, height };
    this.draw(`<text${attributes}>${escaped(text)}</text>`, box);
  }

  /** What differs from the font of the root. */
  fontAttributes(style) {
    const differing = Object.entries(FONT).filter(([, key]) => style[key] !== this.base[key]);
    return Object.fromEntries(differing.map(([name, key]) => [name, style[key]]));
  }

  widthOf(text, style) {
    this.pen.font = fontOf(style);
    return this.pen.measureText(text).width;
  }

  /** How far the line that letters stand on lies below the middle of their box. */
  middleOf(style) {
    const font = fontOf(style);
    if (!this.middles.has(font)) {
      this.pen.font = font;
      const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } =
        this.pen.measureText("x");
      this.middles.set(font, (above - below) / 2);
    }
    return this.middles.get(font);
  }
}

const FONT = {
  "font-family": "fontFamily",
  "font-size": "fontSize",
  "font-weight": "fontWeight",
  "font-style": "fontStyle",
};

/** @returns {Clip} */
function contentOf(element, style) {
  const box = element.getBoundingClientRect();
  const inset = (side) =>
    parseFloat(style[`padding${side}`]) + parseFloat(style[`border${side}Width`]);
  return {
    left: box.left + inset("Left"),
    right: box.right - inset("Right"),
    top: box.top + inset("Top"),
    bottom: box.bottom - inset("Bottom"),
    isRtl: style.direction === "rtl",
  };
}

function fontOf(style) {
  return `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
}

/** The side on which a text is held, seen from the left: another font moves only the other one. */
function sideOf({ textAlign, direction }) {
  if (textAlign.endsWith("center")) return "middle";
  if (textAlign.endsWith("left")) return "start";
  if (textAlign.endsWith("right")) return "end";
  return (textAlign === "end") === (direction === "rtl") ? "start" : "end";
}

function decorating(style) {
  return style.textDecorationLine.includes("underline") ? style : undefined;
}

/** A line below a text; as a shape, since its distance has no attribute in SVG. */
function underline({ x, width }, baseline, decoration, style) {
  const { textDecorationThickness, textUnderlineOffset, textDecorationStyle } = decoration;
  const px = (length, usual) => (length.endsWith("px") ? parseFloat(length) : usual);
  const usual = Math.max(1, Math.floor(parseFloat(style.fontSize) / 10));
  const thickness = px(textDecorationThickness, usual);
  const y = Math.round(baseline + px(textUnderlineOffset, thickness)) + thickness / 2;
  const attributes = attributesOf({
    d: `M${number(x)} ${number(y)}h${number(width)}`,
    ...paint("stroke", decoration.textDecorationColor),
    "stroke-width": thickness === 1 ? undefined : thickness,
    "stroke-dasharray": textDecorationStyle === "dotted" ? thickness : undefined,
  });
  return `<path${attributes}/>`;
}

// --- lines of text

const BLANK = /[ \t\r\n\f]+/g; // what HTML runs together

/** The lines that a text node is broken into. */
function linesOf(node) {
  const start = node.data.search(/[^ \t\r\n\f]/);
  if (start < 0) return [];
  const end = start + node.data.slice(start).replace(/[ \t\r\n\f]+$/, "").length;
  const boxes = [...rangeOf(node, start, end).getClientRects()].filter(({ width }) => width > 0);
  if (boxes.length === 0) return [];
  const isOne = boxes.every((box) => isBeside(box, boxes[0]));
  const lines = isOne ? [{ start, end, boxes }] : brokenLines(node, start, end);
  return lines.map((line) => ({
    node,
    start: line.start,
    end: line.end,
    text: node.data.slice(line.start, line.end).replace(BLANK, " "),
    left: Math.min(...line.boxes.map(({ left }) => left)),
    right: Math.max(...line.boxes.map(({ right }) => right)),
    top: line.boxes[0].top,
    bottom: line.boxes[0].bottom,
  }));
}

function brokenLines(node, start, end) {
  const lines = [];
  for (const { from, to, box } of signs(node, start, end)) {
    if (node.data.slice(from, to).trim() === "") continue;
    const line = lines.at(-1);
    if (line && isBeside(box, line.boxes[0])) {
      line.end = to;
      line.boxes.push(box);
    } else {
      lines.push({ start: from, end: to, boxes: [box] });
    }
  }
  return lines;
}

function isBeside(a, b) {
  return Math.abs(a.top - b.top) < a.height / 2;
}

/** The characters of a text node, as a reader counts them, and where each stands. */
function signs(node, start, end) {
  return graphemes(node.data.slice(start, end))
    .map(({ index, segment }) => {
      const [from, to] = [start + index, start + index + segment.length];
      return { from, to, box: rangeOf(node, from, to).getBoundingClientRect() };
    })
    .filter(({ box }) => box.width > 0);
}

/** A line that is longer than its box, as "text-overflow: ellipsis" shows it. */
function cutOff({ node, start, end, top, bottom }, clip, dots, style) {
  const fits = ({ box }) =>
    clip.isRtl ? box.left >= clip.left + dots : box.right <= clip.right - dots;
  const kept = signs(node, start, end).filter(fits);
  const text = kept.map(({ from, to }) => node.data.slice(from, to)).join("");
  const lefts = kept.map(({ box }) => box.left);
  const rights = kept.map(({ box }) => box.right);
  const isAhead = (style.direction === "rtl") !== clip.isRtl; // where its box ends, the text begins
  const gap = text.startsWith(" ") ? " " : ""; // so it does where the text alone is from the right
  return {
    text: isAhead ? `…${text}` : `${text.trimStart()}${gap}…`,
    left: clip.isRtl ? Math.min(clip.right, ...lefts) - dots : clip.left,
    right: clip.isRtl ? clip.right : Math.max(clip.left, ...rights) + dots,
    top,
    bottom,
  };
}

function rangeOf(node, start, end) {
  const range = document.createRange();
  range.setStart(node, start);
  range.setEnd(node, end);
  return range;
}

function graphemes(text) {
  return [...new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)];
}
