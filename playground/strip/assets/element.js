/**
 * Elements for all that the strip draws.
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element with attributes and children; undefined and false attributes are left out.
 *
 * @param {string} tag
 * @param {Record<string, string | number | boolean | undefined>} attributes
 * @param {(Node | string)[]} children
 */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for a drawing. */
export function drawing(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(name, String(value));
  }
  node.append(...children);
  return node;
}

/** Writes a text where it is another than there, so that screen readers hear news alone. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
