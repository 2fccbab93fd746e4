/**
 * The layout for a projector: all type grows with the screen, and the frame of the page gives its
 * room to what is taught. What is said in rem, by Streamlit and by the board, follows.
 */

const SHEET = new CSSStyleSheet();

// 18 px at 1280 × 720, and as much larger as the screen is; a phone keeps the type it has.
SHEET.replaceSync(`
  @media (min-width: 640px) {
    html[data-view="projector"] {
      font-size: max(18px, min(1.40625vw, 2.5vh));
    }
  }

  [data-view="projector"] {
    [data-testid="stHeader"] {
      width: 3rem;
      height: 2.6rem;
      min-height: 0;
      padding: 0 0.4rem;
      background: none;
    }
    [data-testid="stMainMenu"] {
      display: none;
    }
    .st-key-way_back {
      position: fixed;
      top: 0.25rem;
      left: 3.2rem;
      z-index: 1;
      width: 2rem;
    }
    .st-key-way_back button {
      min-height: 2rem;
    }
    .st-key-way_back [data-testid="stIconMaterial"] {
      font-size: 1.5rem;
    }
    .st-key-way_back button p {
      display: none;
    }
    [data-testid="stMainBlockContainer"] {
      padding: 0.3rem 1rem 0.2rem;
    }
    [data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] {
      gap: 0.4rem;
    }
    [data-testid="stMainBlockContainer"] h1 {
      padding: 0.2rem 0 0.2rem 4.2rem;
      font-size: 1.35rem;
    }
    .st-key-heading button {
      min-height: 0;
      padding-block: 0.1rem;
    }
  }
`);
document.adoptedStyleSheets.push(SHEET);

/** @param {string} view "projector", or "" for the usual one */
export function layOut(view) {
  if (view) document.documentElement.dataset.view = view;
  else delete document.documentElement.dataset.view;
}
