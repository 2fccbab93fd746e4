/**
 * The layout for a projector: all type grows with the screen, and the frame of the page gives its
 * room to what is taught. What is said in rem, by Streamlit and by the board, follows.
 */

const SHEET = new CSSStyleSheet();

// 18 px at 1280 × 720, and as much larger as the screen is; a phone keeps the type it has. A note is
// what the class is asked: it comes first. Above a step of the board it takes the place of the
// heading, as all else has to fit below.
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
      left: 3.6rem;
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
      padding: 0.2rem 0 0.2rem 4.8rem;
      font-size: 1.35rem;
    }
    [class*="st-key-heading"] button,
    .st-key-note button {
      min-height: 0;
      padding-block: 0.1rem;
    }

    .st-key-note {
      width: auto;
      margin-left: 4.8rem;
      padding: 0.15rem 0.6rem;
    }
    .st-key-note [data-testid="stHorizontalBlock"] {
      flex-wrap: nowrap;
    }
    .st-key-note [data-testid="stText"] {
      line-height: 1.3;
    }
    .st-key-note :has(> [data-testid="stText"]) {
      flex: 1;
      min-width: 0;
    }
    .st-key-note strong {
      position: absolute;
      clip-path: inset(50%);
    }
    :has(> * > .st-key-note) h1 {
      padding-left: 0;
    }

    [data-testid="stVerticalBlock"]:has(> * > .st-key-note):has(> * > .st-key-heading_of_board) {
      flex-flow: row wrap;
      align-content: start;
      align-items: center;
      > * {
        flex-basis: 100%;
      }
      > :has(> .st-key-note) {
        order: -2;
        flex: 1 1 24rem;
        width: auto;
      }
      > :has(> .st-key-heading_of_board) {
        order: -1;
        flex: 0 1 auto;
        width: auto;
      }
      h1 {
        position: absolute;
        clip-path: inset(50%);
      }
    }

    @media (max-width: 640px) {
      [data-testid="stMainBlockContainer"] {
        padding-top: 3rem; /* the two buttons have this to themselves */
      }
      .st-key-note {
        margin-left: 0;
      }
      [data-testid="stMainBlockContainer"] h1 {
        padding-left: 0;
      }
    }
  }
`);
document.adoptedStyleSheets.push(SHEET);

/** @param {string} view "projector", or "" for the usual one */
export function layOut(view) {
  if (view) document.documentElement.dataset.view = view;
  else delete document.documentElement.dataset.view;
}
