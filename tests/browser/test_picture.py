"""The picture of the board, as SVG and as PNG, beside the board it was taken of."""

import base64
import io
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageStat
from playwright.sync_api import Browser, Page, expect

from attention_core import Experiment, Mask
from playground import link
from tests.browser.conftest import Server, watch_console
from tests.browser.driver import Playground

SVG = "{http://www.w3.org/2000/svg}"
TOKENS = ("<b>&amp;\"'", "שלום", "喜欢", "a long one " * 15)
MARGIN = 8
CLEAR = "rgba(0, 0, 0, 0)"


@dataclass
class Picture:
    """An SVG, and what the board showed when it was taken."""

    svg: str
    shown: dict
    page: Page

    @property
    def root(self) -> ET.Element:
        return ET.fromstring(self.svg)

    def texts(self) -> list[ET.Element]:
        return list(self.root.iter(f"{SVG}text"))

    def written(self) -> list[str]:
        return [element.text for element in self.texts()]

    def texts_in(self, box: dict) -> list[ET.Element]:
        return [text for text in self.texts() if holds(box, at(text))]

    def rects_at(self, box: dict) -> list[ET.Element]:
        return [rect for rect in self.root.iter(f"{SVG}rect") if is_at(rect, box)]


def at(element: ET.Element) -> tuple[float, float]:
    return float(element.get("x")), float(element.get("y"))


def holds(box: dict, point: tuple[float, float]) -> bool:
    x, y = point
    return 0 <= x - box["x"] <= box["width"] and 0 <= y - box["y"] <= box["height"]


def is_at(rect: ET.Element, box: dict) -> bool:
    """Whether it stands there: to half a pixel, as a browser rounds what it paints."""
    x, y = at(rect)
    moved = re.match(r"translate\((\S+) (\S+)\)", rect.get("transform", ""))
    if moved:
        x, y = x + float(moved[1]), y + float(moved[2])
    size = float(rect.get("width")), float(rect.get("height"))
    right, bottom = box["x"] + box["width"], box["y"] + box["height"]
    differences = (x - box["x"], y - box["y"], x + size[0] - right, y + size[1] - bottom)
    return all(abs(difference) <= 0.51 for difference in differences)


def hexadecimal(colour: str) -> str:
    """ "rgb(255, 0, 16)" as "#ff0010"."""
    return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", colour)[:3])


def open_board(page: Page, url: str, experiment: Experiment) -> Playground:
    page.goto(f"{url}/?e={link.encode(experiment)}&lang=en")
    playground = Playground(page, url)
    playground.settle()
    page.evaluate(_HELPERS)
    return playground


def take(page: Page) -> Picture:
    return Picture(page=page, **page.evaluate("() => window.takePicture()"))


_HELPERS = """async () => {
  const files = performance.getEntriesByType("resource").map((entry) => entry.name);
  const board = files.find((name) => name.endsWith("/board.js"));
  window.picture = await import(new URL("picture.js", board));
  window.clipboard_ = await import(new URL("clipboard.js", board));
  window.board = () => [...document.querySelectorAll("*")]
    .map((node) => node.shadowRoot?.querySelector(".board")).find(Boolean);
  window.withoutControls = (read) => {
    const style = document.createElement("style");
    style.textContent = `:is(${window.picture.SCREEN_ONLY}) { display: none !important; }`;
    window.board().after(style);
    try { return read(window.board()); } finally { style.remove(); }
  };
  window.takePicture = () => {
    const svg = window.picture.boardSvg(window.board(), "The <board>", location.href);
    return { svg, shown: window.withoutControls(seen) };
  };
  function seen(board) {
    const corner = board.getBoundingClientRect();
    const boxOf = (node) => {
      const { left, top, width, height } = node.getBoundingClientRect();
      return { x: left - corner.left, y: top - corner.top, width, height };
    };
    const textOf = (node) => node.querySelector("input")?.value ?? node.textContent;
    const all = (selector) => [...board.querySelectorAll(selector)];
    const cells = all("[role=gridcell]").map((cell) => ({
      ...boxOf(cell),
      text: textOf(cell),
      background: getComputedStyle(cell).backgroundColor,
      outline: getComputedStyle(cell).outlineColor,
      ink: getComputedStyle(cell.querySelector("input") ?? cell).color,
      isMasked: cell.classList.contains("masked"),
      isMoved: cell.classList.contains("moved"),
      isPinned: cell.classList.contains("pinned"),
      table: cell.closest("[data-matrix]").dataset.matrix,
    }));
    return {
      cells,
      names: all("th").map((name) => ({
        ...boxOf(name),
        text: textOf(name).trim(),
        isCut: isCut(name.querySelector("input") ?? name),
      })),
      captions: all(".caption").map((node) => ({
        ...boxOf(node),
        text: node.innerText,
        expression: node.querySelector(".expression").textContent,
        symbol: node.querySelector(".symbol")?.textContent ?? "",
      })),
      stages: all(".stage").map((node) => ({
        ...boxOf(node),
        title: node.querySelector("h2").lastChild.textContent,
      })),
      background: getComputedStyle(board).backgroundColor,
    };
  }
  function isCut(node) {
    return node.scrollWidth > node.clientWidth;
  }
}"""


def odd_experiment() -> Experiment:
    experiment = Experiment.from_preset("random", seed=5).resized(
        n_tokens=4, d_model=3, d_k=2, n_heads=2
    )
    for index, token in enumerate(TOKENS):
        experiment = experiment.with_token_renamed(index, token.strip())
    return replace(experiment, mask=Mask(("causal",)))


@pytest.fixture(scope="module", params=["light", "dark"])
def picture(request: pytest.FixtureRequest, browser: Browser, server: Server) -> Iterator[Picture]:
    """A masked board with odd tokens, one number just changed and one pinned."""
    viewport = {"width": 1280, "height": 720}
    context = browser.new_context(viewport=viewport, locale="en-US", color_scheme=request.param)
    page = context.new_page()
    faults = watch_console(page)
    playground = open_board(page, server.url, odd_experiment())
    playground.input("X", 0, 1).click()
    page.keyboard.type("-2.5")
    page.keyboard.press("Enter")
    expect(page.locator(".board")).to_have_attribute("data-pending", "0")
    playground.cell("masked_scores", 2, 0).click()
    page.mouse.move(1, 1)
    yield take(page)
    context.close()
    assert faults == []


def test_it_is_well_formed_and_plain_svg_that_says_what_it_is(picture: Picture):
    root = picture.root

    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text == "The <board>"
    assert root.find(f"{SVG}desc").text == picture.page.url
    kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
    shapes = {"rect", "path", "circle", "text", "g"}
    paints = {"defs", "pattern", "linearGradient", "stop"}
    assert kinds <= shapes | paints | {"svg", "title", "desc"}
    assert "Source Sans" in root.get("font-family")
    assert root.get("font-family").endswith("sans-serif")


def test_every_number_stands_where_the_board_shows_it_in_its_colours(picture: Picture):
    assert len(picture.shown["cells"]) > 100
    for cell in picture.shown["cells"]:
        (number,) = picture.texts_in(cell)
        assert number.text == cell["text"]
        assert number.get("fill") == hexadecimal(cell["ink"]), cell
        assert number.get("text-anchor") == "middle"
        assert at(number)[0] == pytest.approx(cell["x"] + cell["width"] / 2, abs=0.51)
        if cell["background"] != CLEAR:
            (first, *_) = picture.rects_at(cell)
            assert first.get("fill") == hexadecimal(cell["background"]), cell


def test_masked_cells_are_hatched_and_no_others(picture: Picture):
    patterns = {f"url(#{pattern.get('id')})" for pattern in picture.root.iter(f"{SVG}pattern")}
    masked = [cell for cell in picture.shown["cells"] if cell["isMasked"]]

    assert {cell["text"] for cell in masked} == {"−∞"}
    for cell in picture.shown["cells"]:
        fills = {rect.get("fill") for rect in picture.rects_at(cell)}
        assert bool(fills & patterns) == cell["isMasked"], cell
    (band,) = {rect.get("fill") for p in picture.root.iter(f"{SVG}pattern") for rect in p}
    assert band != hexadecimal(picture.shown["background"])


def test_what_moved_has_its_corner_and_nothing_else_has(picture: Picture):
    corners = {f"url(#{g.get('id')})" for g in picture.root.iter(f"{SVG}linearGradient")}
    moved = [cell for cell in picture.shown["cells"] if cell["isMoved"]]

    assert 0 < len(moved) < len(picture.shown["cells"])
    for cell in picture.shown["cells"]:
        fills = {rect.get("fill") for rect in picture.rects_at(cell)}
        assert bool(fills & corners) == cell["isMoved"], cell


def test_the_pinned_cell_is_framed_and_explained(picture: Picture):
    (cell,) = [cell for cell in picture.shown["cells"] if cell["isPinned"]]
    lines = [
        box_of(rect)
        for rect in picture.root.iter(f"{SVG}rect")
        if rect.get("stroke") == hexadecimal(cell["outline"])
    ]
    around = [line for line in lines if holds(line, centre(cell))]

    assert len(around) == 2  # a double line
    for line in around:
        assert centre(line) == pytest.approx(centre(cell), abs=0.51)
        assert line["width"] == pytest.approx(cell["width"], abs=6)
    assert len([line for line in picture.root.iter() if line.get("stroke-dasharray") == "6 3"]) == 1
    explanation = picture.page.locator(".explanation")
    shown = "".join(explanation.inner_text().split())
    assert shown in "".join("".join(picture.written()).split())


def box_of(rect: ET.Element) -> dict[str, float]:
    return {name: float(rect.get(name)) for name in ("x", "y", "width", "height")}


def centre(box: dict) -> tuple[float, float]:
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_names_are_whole_or_end_in_an_ellipsis(picture: Picture):
    assert {name["isCut"] for name in picture.shown["names"]} == {True, False}
    for name in picture.shown["names"]:
        (text,) = picture.texts_in(name)
        if name["isCut"]:
            assert text.text.endswith("…")
            assert name["text"].startswith(text.text.removesuffix("…"))
            assert len(text.text) > 3
        else:
            assert text.text == name["text"]
        assert float(text.get("textLength")) <= name["width"] + 0.5


def test_a_token_from_right_to_left_is_written_so(picture: Picture):
    names = [text for text in picture.texts() if text.text == "שלום"]

    directions = {text.get("direction") for text in names}
    assert "rtl" in directions  # of row names; column names stand in a left-to-right header
    ends = [text.get("text-anchor") for text in names if text.get("direction") == "rtl"]
    assert set(ends) == {None}  # held at the start, which is on the right


def test_captions_hold_symbol_name_shape_and_expression(picture: Picture):
    subscripted = 0
    for caption in picture.shown["captions"]:
        texts = picture.texts_in(caption)
        wanted = caption["text"]
        written = "".join("".join(text.text for text in texts).split())
        assert written.replace("=", "") == "".join(wanted.split()).replace("=", "")
        if caption["symbol"] in ("WQ", "WK", "WV"):
            letter, subscript = texts[:2]
            assert (letter.text, subscript.text) == tuple(caption["symbol"])
            assert float(subscript.get("font-size").removesuffix("px")) < 0.9 * 15
            assert at(subscript)[1] > at(letter)[1]
            subscripted += 1
        if caption["expression"].startswith("X W"):
            assert written.endswith(f"=XW{caption['expression'][-1]}")
    assert subscripted == 3


def test_the_frames_of_the_stages_are_there_with_their_titles(picture: Picture):
    for stage in picture.shown["stages"]:
        assert stage["title"] in [text.text for text in picture.texts_in(stage)]
        frame = {"x": stage["x"] + 0.5, "y": stage["y"] + 0.5}
        frame |= {"width": stage["width"] - 1, "height": stage["height"] - 1}
        assert [rect.get("fill") for rect in picture.rects_at(frame)] == ["none"]


def test_controls_are_left_out_as_if_they_had_never_been(picture: Picture):
    written = set(picture.written())

    assert not written & {"+ token", "×", "Copy link", "Picture"}
    _, top, *_ = map(float, picture.root.get("viewBox").split())
    assert top == min(stage["y"] for stage in picture.shown["stages"]) - MARGIN


def test_the_page_is_its_background(picture: Picture):
    background = picture.root.find(f"{SVG}rect")

    assert background.get("fill") == hexadecimal(picture.shown["background"])
    assert " ".join(background.get(key) for key in ("x", "y", "width", "height")) == (
        picture.root.get("viewBox")
    )
    assert picture.root.get("viewBox").split()[2:] == [
        picture.root.get("width"),
        picture.root.get("height"),
    ]


# --- PNG


_PNG = """async ([svg, scale]) => {
  const blob = await window.picture.svgToPng(svg, scale);
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1]);
    reader.readAsDataURL(blob);
  });
}"""


def png(page: Page, svg: str, scale: float) -> Image.Image:
    data = base64.b64decode(page.evaluate(_PNG, [svg, scale]))
    return Image.open(io.BytesIO(data)).convert("RGB")


def pixel(image: Image.Image, x: float, y: float) -> str:
    return "#{:02x}{:02x}{:02x}".format(*image.getpixel((int(x), int(y))))


def test_the_png_has_twice_the_pixels_and_the_colours_of_the_board(picture: Picture):
    left, top, width, height = map(float, picture.root.get("viewBox").split())

    image = png(picture.page, picture.svg, 2)

    assert image.size == (2 * width, 2 * height)
    assert pixel(image, 0, 0) == hexadecimal(picture.shown["background"])
    for cell in picture.shown["cells"]:
        if cell["isMasked"] or cell["outline"] != cell["ink"]:
            continue  # hatched, or lit
        place = 2 * (cell["x"] + 6 - left), 2 * (cell["y"] + cell["height"] - 6 - top)
        is_clear = cell["background"] == CLEAR
        wanted = picture.shown["background"] if is_clear else cell["background"]
        assert pixel(image, *place) == hexadecimal(wanted), cell


def difference(drawn: Image.Image, screen: Image.Image, x: int, y: int) -> float:
    """How far apart two pictures are in the mean, if the second lies in the first there.

    Compared in squares of four pixels, in which the edges of letters even out.
    """
    width, height = min(screen.width, drawn.width - x), min(screen.height, drawn.height - y)
    part = drawn.crop((x, y, x + width, y + height)).reduce(4)
    apart = ImageChops.difference(part, screen.crop((0, 0, width, height)).reduce(4)).convert("L")
    return ImageStat.Stat(apart).mean[0]


def test_the_png_looks_like_the_board(picture: Picture):
    page = picture.page
    size = page.viewport_size
    height = int(float(picture.root.get("height"))) + 600  # all of the board at once
    page.set_viewport_size({"width": size["width"], "height": height})
    svg = page.evaluate("() => window.takePicture().svg")
    left, top, *_ = map(float, ET.fromstring(svg).get("viewBox").split())
    hidden = "() => { window.withoutControls = null; const style = document.createElement('style');"
    hidden += "style.textContent = `:is(${window.picture.SCREEN_ONLY}) { display: none !important }"
    hidden += "tbody th { position: static !important }`; window.board().after(style); }"
    page.evaluate(hidden)

    drawn = png(page, svg, 1)
    screen = page.locator(".board").screenshot(animations="disabled")
    screen = Image.open(io.BytesIO(screen)).convert("RGB")

    # A board that begins within a pixel is rounded to either side.
    apart = [
        difference(drawn, screen, int(-left) + across, int(-top) + down)
        for across in (-1, 0, 1)
        for down in (-1, 0, 1)
    ]
    assert min(apart) < 2.5
    assert difference(drawn, screen, int(-left), int(-top) + 4) > 3 * min(apart)
    page.set_viewport_size(size)


# --- on a page of its own


@pytest.fixture
def playground(page: Page, server: Server) -> Playground:
    return open_board(page, server.url, Experiment.from_preset("apple"))


def test_without_a_pin_nothing_is_explained(playground: Playground):
    playground.page.mouse.move(1, 1)
    hint = playground.page.locator(".explanation").inner_text()

    written = " ".join(take(playground.page).written())

    assert hint.split(".")[0] not in written
    assert "Point at" not in written


def test_what_is_scrolled_out_of_sight_is_in_the_picture(playground: Playground):
    page = playground.page
    wide = Experiment.from_preset("random", seed=1).resized(
        n_tokens=12, d_model=4, d_k=8, n_heads=4
    )
    page.set_viewport_size({"width": 390, "height": 844})
    open_board(page, playground.url, wide.with_output_projection(True))
    page.evaluate(_SCROLL_ALL)
    before = page.evaluate(_STATE)
    assert max(before["scrolled"]) == 60

    picture = take(page)

    assert page.evaluate(_STATE) == before
    numbers = Counter(cell["text"] for cell in picture.shown["cells"])
    assert numbers <= Counter(picture.written())
    frames = [
        box_of(rect) for rect in picture.root.iter(f"{SVG}rect") if rect.get("fill") == "none"
    ]
    frames = [frame for frame in frames if frame["height"] > 100]
    right = max(frame["x"] + frame["width"] for frame in frames)
    rects = [box_of(rect) for rect in picture.root.iter(f"{SVG}rect") if not rect.get("transform")]
    cells = [box for box in rects[1:] if box["width"] < 60]
    assert max(box["x"] + box["width"] for box in cells) <= right
    assert right + MARGIN <= float(picture.root.get("width")) + float(
        picture.root.get("viewBox").split()[0]
    )


_STATE = """() => {
  const board = window.board();
  return {
    html: board.getRootNode().innerHTML,
    scrolled: [...board.querySelectorAll(".scroll")].map((node) => node.scrollLeft),
    focus: board.getRootNode().activeElement?.getAttribute("aria-label"),
  };
}"""


def test_a_picture_leaves_focus_and_typing_alone(playground: Playground):
    page = playground.page
    playground.input("X", 0, 1).click()
    page.keyboard.type("12")
    before = page.evaluate(_STATE)

    picture = take(page)

    assert page.evaluate(_STATE) == before
    assert playground.input("X", 0, 1).input_value() == "12"
    assert "12" in picture.written()


_LOOKS = """<div class="board">
  <style>
    .board { margin: 30px; width: 300px; background: white; font: 16px sans-serif }
    p { margin: 8px; padding: 4px; width: 120px }
    .a { border: 3px solid #d00 } .b { border-left: 6px solid #080; border-top: 2px solid #00d }
    .c { outline: 3px solid #808; outline-offset: 2px } .d { box-shadow: 0 0 0 4px #0aa }
    .e { box-shadow: inset 0 3px 0 #c60, inset 0 -3px 0 #c60; background: #eef }
    .f { background: linear-gradient(90deg, #fff, #036) }
    .g { border-radius: 14px; background: #fc6 }
    .h { background: oklch(0.7 0.15 150) } .i { border: 6px double #555 }
    .j::after { content: "!"; color: red } .k { opacity: 0.4; background: #00f; color: #fff }
    .l { visibility: hidden; background: red } .m { text-decoration: underline; text-align: right }
    .n { background: repeating-linear-gradient(45deg, #fff 0 4px, #090 4px 8px) }
    .o { width: 60px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
  </style>
  LETTERS<ul><li>a dot</li></ul>
</div>"""


def looks(playground: Playground) -> None:
    letters = "".join(f"<p class={letter}>{letter}bcdefghij</p>" for letter in "abcdefghijklmno")
    playground.page.set_viewport_size({"width": 400, "height": 900})
    playground.page.evaluate(
        """(html) => {
          document.documentElement.style.fontSize = "16px";
          document.body.innerHTML = html;
          document.body.style.background = "white";
        }""",
        _LOOKS.replace("LETTERS", letters),
    )


def test_what_css_draws_is_drawn(playground: Playground):
    looks(playground)
    page = playground.page
    svg = page.evaluate("() => picture.boardSvg(document.querySelector('.board'), 'Looks')")
    left, top, width, height = map(float, ET.fromstring(svg).get("viewBox").split())

    drawn = png(page, svg, 1)

    corner = page.locator(".board").bounding_box()
    clip = {"x": corner["x"] + left + MARGIN, "y": corner["y"] + top + MARGIN}
    clip |= {"width": width - 2 * MARGIN, "height": height - 2 * MARGIN}
    screen = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
    drawn = drawn.crop((MARGIN, MARGIN, MARGIN + screen.width, MARGIN + screen.height))
    # In squares of ten pixels no mark hides in a mean, and the edges of letters even out.
    apart = ImageChops.difference(drawn.reduce(10), screen.reduce(10))
    assert max(most for _, most in apart.getextrema()) < 20


def test_what_xml_cannot_hold_is_left_out(playground: Playground):
    playground.page.evaluate(
        r"""() => { document.body.innerHTML = "<div class='board'><span></span></div>";
          document.querySelector("span").textContent =
            "a\u0001\u000b\ud800\uffff]]><b a=\"&\">\u{1f389}"; }"""
    )

    svg = playground.page.evaluate(
        "() => picture.boardSvg(document.querySelector('.board'), 'T\\u0000', '\\udfff&')"
    )

    root = ET.fromstring(svg)
    assert [text.text for text in root.iter(f"{SVG}text")] == ['a]]><b a="&">🎉']
    assert root.find(f"{SVG}title").text == "T"
    assert root.find(f"{SVG}desc").text == "&"


def test_an_empty_board_is_a_picture_too(playground: Playground):
    playground.page.evaluate("() => { document.body.innerHTML = '<div class=board></div>'; }")

    svg = playground.page.evaluate(
        "() => picture.boardSvg(document.querySelector('.board'), 'Nothing')"
    )

    assert png(playground.page, svg, 2).size == (32, 32)


_URLS = """() => {
  window.made = []; window.revoked = [];
  const { createObjectURL, revokeObjectURL } = URL;
  URL.createObjectURL = (blob) => {
    const url = createObjectURL.call(URL, blob); window.made.push(url); return url;
  };
  URL.revokeObjectURL = (url) => { window.revoked.push(url); revokeObjectURL.call(URL, url); };
}"""


def test_what_is_no_svg_is_rejected_and_leaves_no_url_behind(playground: Playground):
    page = playground.page
    page.evaluate(_URLS)

    problem = page.evaluate("() => picture.svgToPng('<svg', 2).catch((error) => error.name)")

    assert problem == "EncodingError"
    assert page.evaluate("() => made.length === 1 && made[0] === revoked[0]")


def test_a_picture_too_large_for_a_canvas_gets_fewer_pixels(playground: Playground):
    size = '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}"></svg>'

    assert png(playground.page, size.format(20_000, 10), 1).size == (16_384, 8)
    area = png(playground.page, size.format(10_000, 8_000), 2).size
    assert 0.98 * 8_192**2 < area[0] * area[1] <= 8_192**2


def test_a_browser_that_gives_no_png_is_told_of(playground: Playground):
    page = playground.page
    page.evaluate("() => { HTMLCanvasElement.prototype.toBlob = (give) => give(null); }")
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="3" height="4"></svg>'

    problem = page.evaluate("(svg) => picture.svgToPng(svg, 1).catch(String)", svg)

    assert problem == "Error: no PNG of 3 × 4 pixels"


def test_a_file_is_downloaded_under_its_name_and_its_url_is_given_back(
    browser: Browser, server: Server, tmp_path: Path
):
    with browser.new_context(locale="en-US") as context:  # a clock is that of all its tabs
        page = open_board(context.new_page(), server.url, Experiment.from_preset("apple")).page
        page.evaluate(_URLS)
        page.clock.install()

        with page.expect_download() as waiting:
            page.evaluate("() => picture.download(new Blob(['<svg/>']), 'attention.svg')")
        waiting.value.save_as(tmp_path / "saved")

        assert waiting.value.suggested_filename == "attention.svg"
        assert (tmp_path / "saved").read_text() == "<svg/>"
        assert page.evaluate("() => revoked.length") == 0
        page.clock.run_for(61_000)
        assert page.evaluate("() => made.length === 1 && made[0] === revoked[0]")


# --- clipboard.js


def pasted(page: Page) -> str:
    """What the clipboard holds, asked for as a person asks."""
    page.evaluate("""() => {
      const field = document.createElement("textarea");
      field.id = "pasted";
      document.body.append(field);
      field.focus();
    }""")
    page.keyboard.press("Control+V")
    return page.locator("#pasted").input_value()


@pytest.fixture
def copying(playground: Playground) -> Playground:
    """A board in a browser whose clipboard holds something else."""
    playground.page.evaluate("navigator.clipboard.writeText('something else')")
    return playground


TEXT = "http://127.0.0.1/?e=1&lang=zh 喜欢\n2nd line"


def test_a_text_is_copied(copying: Playground):
    assert copying.page.evaluate("(text) => clipboard_.copyText(text)", TEXT) is True

    assert pasted(copying.page) == TEXT


@pytest.mark.parametrize(
    "closed",
    [
        "() => Object.defineProperty(navigator, 'clipboard', { value: undefined })",
        "() => { navigator.clipboard.writeText = () => Promise.reject(new DOMException('no')); }",
    ],
    ids=["plain http", "not permitted"],
)
def test_a_closed_clipboard_is_written_the_old_way_and_focus_comes_back(
    copying: Playground, closed: str
):
    page = copying.page
    page.evaluate(closed)
    copying.input("X", 0, 1).click()
    before = page.evaluate(_FOCUS)

    assert page.evaluate("(text) => clipboard_.copyText(text)", TEXT) is True

    assert page.evaluate(_FOCUS) == before
    assert page.locator("textarea").count() == 0
    assert copying.text("X", 0, 1) == "0"
    assert pasted(page) == TEXT


_FOCUS = """() => {
  const { activeElement: field } = window.board().getRootNode();
  return [field.ariaLabel, field.selectionStart, field.selectionEnd];
}"""


def test_a_failed_copy_is_told(copying: Playground):
    page = copying.page
    page.evaluate(
        """() => {
          navigator.clipboard.writeText = () => Promise.reject(new DOMException("no"));
          document.execCommand = () => false;
        }"""
    )

    assert page.evaluate("(text) => clipboard_.copyText(text)", TEXT) is False
    page.evaluate("() => { document.execCommand = () => { throw new Error('no'); }; }")
    assert page.evaluate("(text) => clipboard_.copyText(text)", TEXT) is False
    expect(page.locator("textarea")).to_have_count(0)


# What is out of view takes no scrolling: the browser has not laid it out.
_SCROLL_ALL = """async () => {
  const frame = () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
  for (const scroll of window.board().querySelectorAll(".scroll")) {
    scroll.scrollIntoView({ block: "center" });
    await frame();
    scroll.scrollLeft = 60;
  }
}"""
