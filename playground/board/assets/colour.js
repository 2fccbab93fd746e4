/**
 * Colours of cells, interpolated between the stops that Python's palette gives.
 */

/** @typedef {{background: string, ink: string}} Shade */

/**
 * @param {number} value
 * @param {number} low the value at the first stop
 * @param {number} high the value at the last stop
 * @param {string[]} stops colours such as "#542788"
 * @returns {Shade} the ink is black or white, whichever stands out more
 */
export function shade(value, low, high, stops) {
  const share = high > low ? (value - low) / (high - low) : 0.5;
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(place));
  const [from, to] = [stop(stops[index]), stop(stops[index + 1])];
  const mixed = from.map((start, i) => Math.round(start + (to[i] - start) * (place - index)));
  return { background: `rgb(${mixed.join(", ")})`, ink: inkOn(mixed) };
}

/**
 * The shade of a matrix cell: weights on a fixed scale from 0 to 1, signed numbers on one that
 * is centred on 0 and reaches the largest size in the matrix.
 *
 * @param {number} value
 * @param {"signed" | "weights"} scale
 * @param {number} reach
 * @param {Record<string, Record<string, string[]>>} palette
 * @param {"light" | "dark"} theme
 */
export function cellShade(value, scale, reach, palette, theme) {
  const stops = palette[scale][theme];
  return scale === "weights" ? shade(value, 0, 1, stops) : shade(value, -reach, reach, stops);
}

/** The stops of a palette are asked for with every cell. @type {Map<string, number[]>} */
const known = new Map();

function stop(colour) {
  if (!known.has(colour)) known.set(colour, channels(colour));
  return known.get(colour);
}

/** @param {string} colour "#rrggbb" or "rgb(r, g, b)" @returns {number[]} */
export function channels(colour) {
  if (colour.startsWith("#")) {
    return [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
  }
  return colour.match(/[\d.]+/g).slice(0, 3).map(Number);
}

/** The light of each channel's 256 values. */
const LINEAR = Array.from({ length: 256 }, (_, channel) => {
  const c = channel / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
});

/** WCAG 2 relative luminance. @param {number[]} rgb */
export function luminance(rgb) {
  const [r, g, b] = rgb.map((channel) => LINEAR[Math.round(channel)]);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {number[]} rgb */
function inkOn(rgb) {
  return luminance(rgb) > 0.179 ? "#000000" : "#ffffff"; // where both contrasts are equal
}
