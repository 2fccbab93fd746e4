/**
 * The address bar is always the share link. Replacing the current entry keeps Back useful.
 */

import { update } from "./element.js";
import { layOut } from "./projector.js";
import { keepConnected } from "./reconnect.js";

keepConnected();

/** @param {{query: Record<string, string>, language: string, run: number}} address */
export function showAddress({ query, language, run }) {
  update(document.documentElement, null, {
    lang: language === "zh" ? "zh-CN" : language,
    "data-run": run,
  });
  layOut(query.view);
  const url = new URL(window.location.href);
  for (const [name, value] of Object.entries(query)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  if (url.href !== window.location.href) {
    window.history.replaceState(window.history.state, "", url);
  }
}

/** Called by Streamlit on pages without a board. */
export default function ({ data }) {
  showAddress(data);
}
