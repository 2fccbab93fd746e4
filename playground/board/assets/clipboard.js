/** Text to the clipboard, also where a browser keeps its clipboard from scripts. */

/**
 * Copies a text; call it at a press, which is when a browser allows it.
 *
 * @param {string} text
 * @returns {Promise<boolean>} whether it is in the clipboard now
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text); // there is none on plain http; it may be closed, or not in front
  }
}

/** The old way: select a text in the document and have the browser copy it. */
function copySelected(text) {
  const focused = deepestFocus();
  const selection = document.getSelection();
  const ranges = Array.from({ length: selection.rangeCount }, (_, i) => selection.getRangeAt(i));
  const root = focused.getRootNode();
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true; // no keyboard on a phone
  area.style.cssText = "position: fixed; top: 0; opacity: 0; font-size: 16px";
  (root.body ?? root).append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    selection.removeAllRanges();
    for (const range of ranges) selection.addRange(range);
    focused.focus({ preventScroll: true });
  }
}

/** What has the focus, also within shadow roots. */
function deepestFocus() {
  let node = document.activeElement ?? document.body;
  while (node.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node;
}
