/**
 * A small menu below a button: arrow keys walk, Enter takes, Escape closes.
 */

import { element } from "./element.js";

export class Menu {
  /** @param {HTMLElement} node @param {HTMLElement} root the board it lies over */
  constructor(node, root) {
    this.node = node;
    this.root = root;
    this.opener = null;
    node.addEventListener("keydown", (event) => this.onKey(event));
    node.addEventListener("focusout", (event) => {
      if (!node.contains(event.relatedTarget)) this.close();
    });
  }

  /** @param {HTMLElement} opener @param {[string, () => void][]} items */
  open(opener, items) {
    this.opener = opener;
    const buttons = items.map(([text, take]) => {
      const button = element("button", { type: "button", role: "menuitem", tabindex: -1 }, text);
      button.addEventListener("click", () => {
        this.close();
        opener.focus();
        take();
      });
      return button;
    });
    this.node.replaceChildren(...buttons);
    this.node.setAttribute("aria-label", opener.getAttribute("aria-label") ?? opener.textContent);
    this.node.hidden = false;
    opener.setAttribute("aria-expanded", "true");
    const box = opener.getBoundingClientRect();
    const frame = this.root.getBoundingClientRect();
    const left = Math.min(box.left - frame.left, frame.width - this.node.offsetWidth);
    this.node.style.left = `${Math.max(0, left)}px`;
    this.node.style.top = `${box.bottom - frame.top + 4}px`;
    buttons[0].focus();
  }

  close() {
    if (this.node.hidden) return;
    this.node.hidden = true;
    this.opener.removeAttribute("aria-expanded");
  }

  onKey(event) {
    const items = [...this.node.children];
    const step = { ArrowDown: 1, ArrowUp: items.length - 1 }[event.key];
    if (step) {
      const index = items.indexOf(event.target);
      items[(index + step) % items.length].focus();
    } else if (event.key === "Escape") {
      this.close();
      this.opener.focus();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
