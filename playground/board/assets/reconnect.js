/**
 * A page whose server went away asks the next one for all of itself.
 *
 * Streamlit 1.67 connects again by itself, maybe to a server that has never seen this browser. It
 * then says nothing, most times, and of what is touched the new server knows no part: the page
 * would be dead until it is loaded anew. And what it tells of the address is how the page was
 * opened, not what stands there since; only who goes back in the history makes it look again.
 */

const CONNECTED = "CONNECTED";
const RERUN = "r"; // the key for it

/** Watches the connection, once for the page. */
export function keepConnected() {
  const app = document.querySelector("[data-test-connection-state]");
  if (!app || app.dataset.isWatched) return;
  app.dataset.isWatched = "true";
  let state = app.dataset.testConnectionState;
  new MutationObserver(() => {
    const before = state;
    state = app.dataset.testConnectionState;
    if (state !== CONNECTED) window.dispatchEvent(new PopStateEvent("popstate")); // asks nobody
    else if (before !== CONNECTED) askForPage();
  }).observe(app, { attributeFilter: ["data-test-connection-state"] });
}

/**
 * Presses Streamlit's own key for it, which it tells by its name alone; while a run is asked for
 * already, that does nothing.
 */
function askForPage() {
  for (const type of ["keydown", "keyup"]) {
    document.body.dispatchEvent(new KeyboardEvent(type, { key: RERUN, bubbles: true }));
  }
}
