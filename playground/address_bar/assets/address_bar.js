/**
 * The address bar is always the share link. Replacing the current entry keeps Back useful.
 *
 * @param {{data: {query: Record<string, string>, language: string, run: number}}} component
 */
export default function ({ data }) {
  document.documentElement.lang = data.language === "zh" ? "zh-CN" : data.language;
  document.documentElement.dataset.run = String(data.run);
  const url = new URL(window.location.href);
  for (const [name, value] of Object.entries(data.query)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  if (url.href !== window.location.href) {
    window.history.replaceState(window.history.state, "", url);
  }
}
