/**
 * Elements and words, for all that the board draws.
 */

/**
 * An element with attributes and children; undefined and false attributes are left out.
 *
 * @param {string} tag
 * @param {Record<string, string | number | boolean | undefined>} attributes
 * @param {(Node | string)[]} children
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(name, String(value));
  }
  node.append(...children);
  return node;
}

/**
 * Writes a text and attributes where they are others than there: a write of the same is no less
 * work for the browser than one of something new.
 *
 * @param {Element} node
 * @param {string | null} text null leaves what is in the element
 * @param {Record<string, string | number | boolean>} attributes
 */
export function update(node, text, attributes = {}) {
  if (text !== null && node.textContent !== text) node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) {
    if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
  }
}

/** As many parts as are wanted, each with a node at the end of the parent. */
export function resize(parts, count, parent, build) {
  while (parts.length > count) parts.pop().node.remove();
  while (parts.length < count) {
    const part = build(parts.length);
    parts.push(part);
    parent.append(part.node);
  }
}

/** "3 × 2". @param {unknown[][]} values */
export function sizeOf(values) {
  return `${values.length} × ${values[0].length}`;
}

/** The text of a key with its {fields} filled in. */
export function sayFrom(texts) {
  return (key, values = {}) =>
    texts[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? `{${name}}`));
}

/** Which wording of a text fits a matrix: tokens have names, other rows have numbers. */
export function wording(key, matrix) {
  if (matrix.id === "softmax") return `softmax_${key}`;
  if (areTokens(matrix.columns)) return `${key}_between`;
  return areTokens(matrix.rows) ? key : `${key}_of_row`;
}

/** Whether tokens stand along an axis, in their own order or another: "tokens_moved". */
function areTokens(axis) {
  return axis.startsWith("tokens");
}

/** The name of a row or column; repeated ones are told apart by their place. */
export function nameOf(labels, index) {
  const label = labels[index];
  return labels.indexOf(label) === labels.lastIndexOf(label) ? label : `${label} (${index + 1})`;
}

/** The start of a text that may be long. */
export function clipped(text) {
  return text.length > 20 ? `${text.slice(0, 20)}…` : text;
}
