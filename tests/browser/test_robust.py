"""Whatever is typed, opened or looked at, and on whatever screen: exact, legible, in place."""

import ast
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from attention_core import Experiment, Mask, to_plain
from playground import back_row, link, take_away
from playground.board.board import board_data
from playground.narrate import narrate
from playground.texts import Texts
from tests.browser.conftest import Server, watch_console
from tests.browser.driver import Playground
from tests.playground.test_link import nasty_links

SIZES = [(1280, 720), (1440, 900), (390, 844)]
THEMES = ["light", "dark"]
LANGUAGES = ["en", "zh"]
LEAST_CONTRAST = 4.5


@pytest.fixture(scope="module")
def one_tab(browser: Browser, server: Server) -> Iterator[Playground]:
    """One tab for all tests of this file: each opens what it needs."""
    with browser.new_context(viewport={"width": 1280, "height": 720}, locale="en-US") as context:
        page = context.new_page()
        # Or the sidebar stays folded after a phone, and a pin or a followed token stays on.
        page.add_init_script("localStorage.clear(); sessionStorage.clear()")
        faults = watch_console(page)
        dialogs = []
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        yield Playground(page, server.url)
    assert faults == []
    assert dialogs == []


@pytest.fixture
def tab(one_tab: Playground) -> Playground:
    fit(one_tab.page, SIZES[0])
    one_tab.page.emulate_media(color_scheme="light")
    return one_tab


def fit(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})


def largest() -> Experiment:
    """The most that a board can hold: every mask, a bias, all heads and their projection."""
    kinds = ("causal", "padding", "window", "painted")
    e = Experiment.from_preset("random").resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)
    e = replace(e, mask=Mask(kinds, n_padding=2, before=3, after=0), encoding="alibi")
    return e.with_output_projection(True).with_painted([(0, 2)], True)


# --- tokens

TOKENS = {
    "repeated, numbers and dates": (
        ("the", "cat", "the", "1", "007", "1e5", "2020-01-01", "3.0", "-5", "NaN", "null", "1/2"),
        0,
    ),
    "markup": (
        (
            "<img src=x onerror=alert(1)>",
            "<b>b</b>",
            "<script>alert(2)</script>",
            "&amp;&lt;",
            "$x^2$",
            "*b* _i_ `c`",
            ":red[x] :material/home:",
            "[a](javascript:alert(3))",
            "{row} {0} %s %{z}",
            '"\'"""\\',
            "# - > |",
            "${alert(4)}",
        ),
        1,
    ),
    "scripts of the world": (
        (
            "苹果",
            "שלום",
            "مرحبا",
            "👨\u200d👩\u200d👧\u200d👦",
            "🇨🇳",
            "e\u0301",
            "Z\u0351\u036b\u0343\u032a\u0302a\u0310\u0329l",
            "हिन्दी",
            "한국어",
            "𝒳",
            "👍🏽",
            "a\u200bb",
        ),
        2,
    ),
    "200 characters": (
        (
            "x" * 200,
            "长" * 200,
            "W " * 99 + "W.",
            "ש" * 200,
            "e\u0301" * 100,
            "🙂" * 200,
            "<b>" * 66,
        ),
        0,
    ),
}


def with_tokens(tokens: tuple[str, ...], row: int) -> Experiment:
    experiment = Experiment.from_preset("random").resized(n_tokens=len(tokens))
    return replace(experiment, tokens=tokens)


@pytest.mark.parametrize(("tokens", "row"), TOKENS.values(), ids=TOKENS)
def test_tokens_are_shown_letter_by_letter_wherever_they_stand(
    tab: Playground, tokens: tuple[str, ...], row: int
):
    experiment = with_tokens(tokens, row)
    trace, t = experiment.trace(), Texts("en")
    page = tab.show(experiment).page
    data = board_data(t, experiment, trace, 0)
    tab.assert_consistent()

    shown = page.evaluate(_READ_TOKENS)
    assert shown["inputs"] == shown["chips"] == list(tokens)
    assert shown["rows"] == shown["rowTitles"] == list(tokens)
    assert shown["columns"] == shown["columnTitles"] == list(tokens)
    assert shown["sentences"] == [s.text for s in narrate(t, experiment, trace, 0)]
    named = [name_of(tokens, index) for index in range(len(tokens))]
    assert shown["chipTitles"] == [data["texts"]["follow_token"].format(token=n) for n in named]
    removals = [data["texts"]["remove_token"].format(token=name) for name in named]
    assert shown["removals"] == removals
    tab.cell("weights", row, 1).click()
    opened = data["texts"]["softmax_name"].format(token=named[row])
    expect(tab.matrix("softmax").locator(".name")).to_have_text(opened, use_inner_text=False)
    heading = page.locator(".explanation .what").text_content()
    assert heading == f"weights from {named[row]} to {named[1]}"
    label = tab.cell("weights", row, 1).get_attribute("aria-label")
    assert label.startswith(f"weights, from {named[row]} to {named[1]}: ")
    page.keyboard.press("Escape")
    nothing_ran(page)
    for size in SIZES:
        fit(page, size)
        assert sideways(page) == 0, size
        assert page.evaluate(_CUT_OFF) == []


def test_tokens_leave_and_return_as_the_same_letters(tab: Playground):
    tokens, row = TOKENS["markup"]
    tokens = (*tokens[:8], *TOKENS["scripts of the world"][0][:4])
    experiment = with_tokens(tokens, row)
    page = tab.show(experiment).page

    figure = tab.unfold(back_row.SECTION_KEY)
    expect(figure.locator(".ytick text").first).to_be_attached()
    ticks = figure.locator(".yaxislayer-above .ytick text").evaluate_all(_TEXTS)
    assert ticks == [token if len(token) <= 14 else f"{token[:13]}…" for token in tokens]
    files = tab.unfold(take_away.SECTION_KEY)
    with page.expect_download() as download:
        files.get_by_role("button", name="NumPy script").click()
    script = ast.parse(download.value.path().read_text(encoding="utf-8"))
    page.locator(".picture").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem").first.click()
    picture = ET.fromstring(download.value.path().read_text(encoding="utf-8"))

    literals = [node.value for node in ast.walk(script) if isinstance(node, ast.Constant)]
    assert [text for text in literals if text in tokens] == list(tokens)
    written = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    short = [token for token in tokens if len(token) < 6]
    assert len(short) >= 3
    assert {*short} <= {*written}
    tags = {element.tag.rpartition("}")[2] for element in picture.iter()}
    assert not tags & {"script", "img", "image", "foreignObject", "a"}
    nothing_ran(page)


def test_tokens_are_typed_letter_by_letter(tab: Playground):
    page = tab.open("/?lang=en&e=" + link.encode(Experiment.from_preset())).page
    groups = [group for group, _ in TOKENS.values()]

    for typed in zip(*(group[:4] for group in groups), strict=True):
        for row, token in enumerate(typed[:3]):
            tab.matrix("X").locator("input.token").nth(row).click()
            page.keyboard.insert_text(token)
            page.keyboard.press("Enter")
        tab.matrix("X").locator("input.token").nth(2).click()
        page.keyboard.insert_text(typed[3])
        page.keyboard.press("Enter")
        tab.settle()

        assert tab.experiment().tokens == (*typed[:2], typed[3])
        tab.assert_consistent()
    nothing_ran(page)


def name_of(tokens: tuple[str, ...], index: int) -> str:
    """Repeated tokens are told apart by their place."""
    token = tokens[index]
    return f"{token} ({index + 1})" if tokens.count(token) > 1 else token


def nothing_ran(page: Page) -> None:
    """Nothing of a learner's text became an element (dialogs are watched by the tab)."""
    made = "img[src=x], .board img, .board script, .board b, .board a, a[href^=javascript]"
    assert page.locator(made).count() == 0


def sideways(page: Page) -> int:
    """By how many pixels the page could be scrolled sideways."""
    return page.evaluate(_SIDEWAYS)


def cramped(page: Page) -> list[str]:
    """What a finger or an eye would miss on a phone; none of it can be scrolled to."""
    return page.evaluate(_CRAMPED)


# --- damaged links

DAMAGED = {
    "en": ["empty", "markup", "noise", "bomb", "deep", "long number", "many numbers"],
    "zh": ["foreign"],
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_damaged_link_gives_one_sentence_and_the_default(tab: Playground, language: str):
    t = Texts(language)
    links = nasty_links()
    for name in DAMAGED[language]:
        tab.open(f"/?lang={language}&e={quote(links[name])}")

        alert = tab.page.get_by_role("alert")
        expect(alert).to_have_count(1)
        expect(alert).to_contain_text(t("notice.damaged_link"))
        assert to_plain(tab.experiment()) == to_plain(Experiment.from_preset())
        expect(tab.page.locator("[data-testid=stException]")).to_have_count(0)
    tab.assert_consistent()


# --- contrast


def every_kind_of_cell() -> Experiment:
    e = Experiment.from_preset("apple_company").resized(n_heads=2)
    e = replace(e, mask=Mask(("causal", "painted")), encoding="alibi")
    e = e.with_output_projection(True).with_painted([(0, 2)], True)
    for row, scale in enumerate((8.0, -3.0, 0.4, -0.1)):
        e = e.with_cell("X", (row, row), scale)
    return e.with_cell("W_Q", (0, 0, 0), -123.456).with_cell("X", (4, 4), -0.123456)


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_stands_out_from_what_is_behind_it(tab: Playground, theme: str):
    page = tab.page
    page.emulate_media(color_scheme=theme)
    tab.show(every_kind_of_cell())
    tab.cell("weights", 2, 1).click()
    page.locator(".chip").nth(2).click()
    tab.type("X", 0, 0, "6")
    figure = tab.unfold(back_row.SECTION_KEY)
    expect(figure.locator(".heatmap-label").first).to_be_attached()

    tab.input("X", 1, 1).click()
    page.keyboard.type("0.5")
    while_typing = page.evaluate(_CONTRASTS)
    page.keyboard.press("Escape")
    tab.cell("masked_scores", 0, 1).hover()
    tab.matrix("K").locator(".copy").click()
    with_a_menu = page.evaluate(_CONTRASTS)
    page.keyboard.press("Escape")
    tab.type("X", 1, 1, "abc")
    with_a_message = page.evaluate(_CONTRASTS)
    fit(page, SIZES[-1])
    on_a_phone = page.evaluate(_CONTRASTS)

    kinds = " ".join(text["classes"] for text in while_typing)
    for kind in ("masked", "moved", "followed", "pinned", "first", "second", "shown", "editing"):
        assert kind in kinds
    assert any("menu" in text["classes"] for text in with_a_menu)
    assert any("message" in text["classes"] for text in with_a_message)
    every = [*while_typing, *with_a_menu, *with_a_message, *on_a_phone]
    assert len(every) > 2000
    faint = [text for text in every if text["contrast"] < LEAST_CONTRAST]
    assert faint == []
    labels = page.evaluate(_FIGURE_CONTRASTS)
    assert len(labels) == 5 * 5 + 5 * 6
    assert min(labels) >= LEAST_CONTRAST


# --- size of the screen


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_screen_scrolls_sideways_with_all_sections_open(tab: Playground, language: str):
    page = tab.page
    for experiment in (Experiment.from_preset(), largest()):
        fit(page, SIZES[0])
        tab.show(experiment, language)
        unfold_all(tab)

        for size in SIZES:
            fit(page, size)
            assert sideways(page) == 0, (experiment.preset, size)
            assert page.evaluate(_CUT_OFF) == []
        assert cramped(page) == [], experiment.preset


def unfold_all(tab: Playground) -> None:
    """Open the two sections that Python draws when they are open, and the sentence's."""
    tab.unfold(take_away.SECTION_KEY)
    tab.page.locator("[data-testid=stSidebar] [data-testid=stExpander] summary").first.click()
    figure = tab.unfold(back_row.SECTION_KEY)
    expect(figure.locator(".heatmap-label").first).to_be_attached()


# --- axe

# What is amiss in Streamlit's own elements, which no setting of ours reaches: by rule, where.
STREAMLITS = {
    # 1.67 puts the headings of sections as <div> into the <ul> of the pages.
    "list": "[data-testid=stSidebarNavItems]",
    "listitem": "[data-testid=stSidebarNavItems] > div > li",
}


@pytest.mark.parametrize(("language", "theme"), list(zip(LANGUAGES, THEMES, strict=True)))
def test_axe_finds_no_serious_fault(tab: Playground, language: str, theme: str):
    page = tab.page
    page.emulate_media(color_scheme=theme)
    tab.show(Experiment.from_preset(), language)
    faults = {"as it starts": serious(page)}
    tab.show(every_kind_of_cell(), language)
    tab.cell("weights", 2, 1).click()
    page.locator(".chip").nth(2).click()
    unfold_all(tab)
    page.locator(".picture").click()
    faults["masked, pinned, followed, all open"] = serious(page)
    page.keyboard.press("Escape")
    tab.open(f"/guide?lang={language}")
    faults["the guide"] = serious(page)

    assert faults == {state: [] for state in faults}


def serious(page: Page) -> list[str]:
    """What axe-core calls serious or critical, but for Streamlit's own."""
    board = page.locator(".board")
    if board.count():
        expect(board).to_have_attribute("data-calm", "true")  # all its labels are written
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{fault['id']}: {node['html']}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
        if not (
            fault["id"] in STREAMLITS
            and page.evaluate(
                "([place, own]) => document.querySelector(place).matches(own)",
                [node["target"][-1], STREAMLITS[fault["id"]]],
            )
        )
    ]


# --- read in the page

_TEXTS = "(nodes) => nodes.map((node) => node.textContent)"

_SIDEWAYS = """() => {
  const main = document.querySelector("[data-testid=stMain]");
  const { scrollWidth, clientWidth } = document.documentElement;
  return Math.max(main.scrollWidth - main.clientWidth, scrollWidth - clientWidth);
}"""

_BOARD = """const board = [...document.querySelectorAll("*")]
    .map((node) => node.shadowRoot?.querySelector(".board")).find(Boolean);"""

# Captions that end in an ellipsis.
_CUT_OFF = f"""() => {{
  {_BOARD}
  const captions = [...board.querySelectorAll(".expression, .shape, h2")];
  return captions.filter((node) => node.scrollWidth > node.clientWidth + 1)
    .map((node) => node.textContent);
}}"""

# On a phone: what ends beyond the screen where nothing scrolls, or scrolls without a sign of it;
# of our own, what is too small to be touched (WCAG 2.2, 2.5.8) or read, and numbers that are cut.
# Cells are touched one beside the other, as each is reached by keyboard as well.
_CRAMPED = """() => {
  const [TOUCH, TEXT, AIR] = [24, 11, 2]; // pixels
  const found = new Set();
  const parentOf = (node) => node.parentElement ?? node.getRootNode().host ?? null;
  const some = (node, is) => {
    let each = node;
    while (each && !is(each, getComputedStyle(each))) each = parentOf(each);
    return Boolean(each);
  };
  const scrolls = (_, style) => /auto|scroll/.test(style.overflowX);
  const isClipped = (_, style) => style.clipPath.startsWith("inset") || style.opacity === "0";
  const measure = new OffscreenCanvas(1, 1).getContext("2d");
  const widthOf = (text, node) => {
    const { fontWeight, fontSize, fontFamily } = getComputedStyle(node);
    measure.font = `${fontWeight} ${fontSize} ${fontFamily}`; // `font` is "" with tabular figures
    return measure.measureText(text).width;
  };
  const look = (node, main) => {
    const box = node.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) return;
    const name = `${node.tagName} ${node.getAttribute("class")} ${node.textContent.slice(0, 20)}`;
    const isOut = box.right > innerWidth + 1 || box.left < -1;
    const isOurs = node.getRootNode() instanceof ShadowRoot;
    if (isOut && !some(parentOf(node), (each, style) => each !== main && scrolls(each, style))) {
      if (!some(node, isClipped)) found.add(`beyond the screen: ${name}`);
    }
    if (node.matches("[data-testid=stButtonGroup] > div") && node.scrollWidth > node.clientWidth) {
      found.add(`options out of sight: ${name}`);
    }
    if (!isOurs) return;
    const size = Math.min(box.width, box.height);
    const font = parseFloat(getComputedStyle(node).fontSize);
    const isButton = node.matches("button, a");
    if (isButton && size < TOUCH - 0.1) found.add(`too small to be touched: ${name}`);
    if (font === 0 || node.matches("sub, sup")) return;
    const isWritten = [...node.childNodes].some((each) => each instanceof Text && each.data.trim());
    if (isWritten && font < TEXT) found.add(`too small to be read: ${name}`);
    const cell = node.closest("[role=gridcell]");
    const text = node.value ?? node.textContent;
    if (cell && widthOf(text, node) > box.width - AIR) found.add(`no room for: ${text}`);
  };
  const walk = (root, main) => {
    for (const node of root.children) {
      if (node.matches("style, script, .katex, svg *")) continue;
      look(node, main);
      if (node.shadowRoot) walk(node.shadowRoot, main);
      walk(node, main);
    }
  };
  const main = document.querySelector("[data-testid=stMain]");
  walk(main, main);
  return [...found];
}"""

_READ_TOKENS = f"""() => {{
  {_BOARD}
  const all = (place, read) => [...board.querySelectorAll(place)].map(read);
  const text = (node) => node.textContent;
  const title = (node) => node.title;
  const weights = '[data-matrix="weights"]';
  return {{
    inputs: all("input.token", (node) => node.value),
    removals: all(".remove", title),
    chips: all(".chip", text),
    chipTitles: all(".chip", title),
    rows: all(`${{weights}} tbody th`, text),
    rowTitles: all(`${{weights}} tbody th span`, title),
    columns: all(`${{weights}} thead th`, text),
    columnTitles: all(`${{weights}} thead th`, title),
    sentences: all(".seen li", text),
  }};
}}"""

_COLOURS = """
  const read = (colour) => {
    const mixed = colour.match(/^color\\(srgb (\\S+) (\\S+) (\\S+?)(?: \\/ (\\S+))?\\)$/);
    if (mixed) return [...mixed.slice(1, 4).map((c) => 255 * c), Number(mixed[4] ?? 1)];
    const [r, g, b, alpha = 1] = colour.match(/[\\d.]+/g).map(Number);
    return [r, g, b, alpha];
  };
  const over = (colour, alpha, below) => below.map((c, i) => colour[i] * alpha + c * (1 - alpha));
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((channel) => {
      const c = channel / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };"""

# Each text of the page that is ours, with the least contrast to whatever may lie behind it: the
# backgrounds of all that it stands in, their pictures (hatches, corners) and inner rings where the
# text reaches them; the opacity of an ancestor fades text and ground alike.
_CONTRASTS = f"""() => {{
  {_COLOURS}
  const parentOf = (node) => node.parentElement ?? node.getRootNode().host ?? null;
  const coloursIn = (css) => css.match(/color\\([^)]*\\)|rgba?\\([^)]*\\)/g) ?? [];
  const reachesCorner = (node, box) => {{
    const cell = node.getBoundingClientRect();
    const size = 0.45 * parseFloat(getComputedStyle(document.documentElement).fontSize);
    return cell.right - box.right + box.top - cell.top < size * Math.SQRT2;
  }};
  const reachesRing = (node, box) => {{
    const cell = node.getBoundingClientRect();
    const width = parseFloat(getComputedStyle(node).boxShadow.match(/(\\S+)px inset$/)?.[1] ?? 0);
    return box.left < cell.left + width || box.right > cell.right - width;
  }};
  const groundsOf = (node, box, below) => {{
    const style = getComputedStyle(node);
    const [background, alpha] = [read(style.backgroundColor), read(style.backgroundColor)[3]];
    const plain = over(background, alpha, below);
    const grounds = [plain];
    const isGrid = node.matches("[role=gridcell]");
    const hasPicture = !isGrid || node.matches(".masked") || reachesCorner(node, box);
    if (style.backgroundImage !== "none" && hasPicture) {{
      for (const colour of coloursIn(style.backgroundImage)) {{
        grounds.push(over(read(colour), read(colour)[3], plain));
      }}
    }}
    if (isGrid && reachesRing(node, box)) {{
      const ring = read(coloursIn(style.boxShadow)[0]);
      grounds.push(over(ring, ring[3], plain));
    }}
    return grounds;
  }};
  const leastContrast = (node, box) => {{
    const way = [];
    for (let each = node; each; each = parentOf(each)) way.unshift(each);
    const ink = read(getComputedStyle(node).color);
    const pairs = (index, below) => {{
      if (index === way.length) return [[below, over(ink, ink[3], below)]];
      const opacity = Number(getComputedStyle(way[index]).opacity);
      return groundsOf(way[index], box, below)
        .flatMap((ground) => pairs(index + 1, ground))
        .map((pair) => pair.map((rgb) => over(rgb, opacity, below)));
    }};
    return Math.min(...pairs(0, [255, 255, 255]).map(([ground, text]) => contrast(ground, text)));
  }};
  const found = [];
  const note = (node, text, box) => {{
    const style = getComputedStyle(node);
    if (style.visibility !== "visible" || box.width < 2 || box.height < 2) return;
    const middle = (box.top + box.bottom) / 2;
    const half = 0.37 * parseFloat(style.fontSize); // of a digit's height
    const ink = {{ left: box.left, right: box.right, top: middle - half, bottom: middle + half }};
    const classes = [node, node.parentElement, node.closest("tr")]
      .map((each) => each?.getAttribute("class") ?? "").join(" ");
    found.push({{ text, classes, contrast: leastContrast(node, ink) }});
  }};
  const measure = new OffscreenCanvas(1, 1).getContext("2d");
  const written = (input) => {{
    const box = input.getBoundingClientRect();
    measure.font = getComputedStyle(input).font;
    const half = measure.measureText(input.value).width / 2;
    const centre = (box.left + box.right) / 2;
    return {{ ...box.toJSON(), left: centre - half, right: centre + half, width: 2 * half }};
  }};
  const walk = (root) => {{
    for (const node of root.childNodes) {{
      if (node instanceof Text && root instanceof HTMLElement && node.data.trim()) {{
        const range = document.createRange();
        range.selectNodeContents(node);
        note(root, node.data.trim(), range.getBoundingClientRect());
      }}
      if (!(node instanceof HTMLElement) || node.matches("style, script, .katex-mathml")) continue;
      // Streamlit's own: what is switched off, its sliders' numbers, which it hides, and icons.
      if (node.matches(":disabled, [data-testid=stSlider], [data-testid=stIconMaterial]")) continue;
      if (node.matches(".number, .token")) note(node, node.value, written(node));
      if (node.shadowRoot) walk(node.shadowRoot);
      walk(node);
    }}
  }};
  walk(document.body);
  return found;
}}"""

# The contrast of each number in a heatmap of Plotly with the pixel that lies beside it.
_FIGURE_CONTRASTS = f"""async () => {{
  {_COLOURS}
  const contrasts = [];
  for (const plot of document.querySelectorAll(".st-key-back_row .heatmaplayer")) {{
    const [picture] = plot.querySelectorAll("image");
    const bitmap = new Image();
    bitmap.src = picture.getAttribute("xlink:href") ?? picture.getAttribute("href");
    await bitmap.decode();
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0);
    const box = picture.getBoundingClientRect();
    for (const label of plot.querySelectorAll(".heatmap-label text")) {{
      if (!label.textContent.trim()) continue;
      const place = label.getBoundingClientRect();
      const x = ((place.left + place.right) / 2 - box.left) * bitmap.width / box.width;
      const y = ((place.top + place.bottom) / 2 - box.top) * bitmap.height / box.height;
      const [r, g, b] = context.getImageData(Math.round(x), Math.round(y), 1, 1).data;
      contrasts.push(contrast([r, g, b], read(getComputedStyle(label).fill)));
    }}
  }}
  return contrasts;
}}"""
