"""An experiment as one HTML file that works by itself: the board, each step, and a way to print.

The board is the app's own: its modules stand in the file as `data:` addresses, which an import
map gives their names, since a module in such an address knows no neighbours. What Python does in
the app, `handout.js` does here. The file's content security policy allows what stands in it and
nothing else, so a browser that shows it fetches nothing.
"""

import base64
import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

from attention_core import Experiment, ExperimentTrace, is_untouched, to_plain
from playground import formula
from playground.mathml import mathml
from playground.modules import with_imports
from playground.texts import Texts

_ASSETS = Path(__file__).parent / "board" / "assets"
_SETTINGS = Path(__file__).parents[1] / ".streamlit" / "config.toml"
_COMMENT = re.compile(r"^[ \t]*(?:/\*[\s\S]*?\*/|//.*)\n", re.MULTILINE)  # on lines of its own
_NEIGHBOUR = re.compile(r'(\bfrom |\bimport\()"\./')
_PLAIN = " !$&'()*+,/:;=?@[]^`{|}~"  # what an address may hold after "data:", quotes left out
_LANGUAGE_TAGS = {"zh": "zh-CN"}


def page(
    t: Texts,
    experiment: Experiment,
    trace: ExperimentTrace,
    boards: Sequence[Mapping[str, Any]],
    head: int,
    link: str = "",
) -> str:
    """The text of the file.

    Args:
        t: The texts of its language.
        experiment: What is handed out.
        trace: What it gave.
        boards: For each head, what the board shows of it.
        head: The one that is shown first, from 0.
        link: Where the app shows this experiment; "" where nobody knows.
    """
    language = _LANGUAGE_TAGS.get(t.language, t.language)
    told = [{name: board[name] for name in ("stages", "sentences")} for board in boards]
    data = {
        **boards[head],
        "sentences": [],  # they stand below the steps, for the paper too
        "session": "",
        "view": "",
        "revision": 0,
        "taken": {},
        "heard": {},
        "is_first": False,
        "address": {"query": {}, "language": t.language, "run": 1},
        "link": link,
        "handout": {"heads": told, "texts": t.group("handout")},
    }
    import_map, start = _import_map(), 'import "board/handout.js";'
    return Template(_asset("handout.html")).substitute(
        language=language,
        policy=_policy(import_map, start),
        app=escape(t("app.title")),
        title=escape(t("handout.title")),
        theme=_theme(),
        style=_asset("handout.css"),
        board_style=_asset("board.css") + _asset("handout_board.css"),
        cannot=escape(t("handout.cannot")),
        settings_title=escape(t("handout.settings")),
        settings=_listed(_settings(t, experiment)),
        equation_title=escape(t("handout.equation")),
        equation="".join(mathml(line.latex()) for line in formula.equations(experiment, trace)),
        data=_inert(json.dumps(data, ensure_ascii=False, allow_nan=False)),
        import_map=import_map,
        start=start,
    )


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


# --- what it runs


@cache
def _import_map() -> str:
    """The names of the modules, and each module as an address."""
    scripts = with_imports(_ASSETS, "handout.js", with_late=True)
    imports = {f"board/{name}": _address(_asset(name)) for name in scripts}
    return _inert(json.dumps({"imports": imports}))


def _address(source: str) -> str:
    """A module as an address that holds it, in which it calls its neighbours by their names."""
    named = _NEIGHBOUR.sub(r'\1"board/', _COMMENT.sub("", source))
    return "data:text/javascript;charset=utf-8," + quote(named, safe=_PLAIN)


def _policy(*scripts: str) -> str:
    """Nothing is fetched: no image, font, frame or script but what the file holds or makes."""
    digests = [base64.b64encode(hashlib.sha256(each.encode()).digest()) for each in scripts]
    sources = " ".join(f"'sha256-{digest.decode()}'" for digest in digests)
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {sources} data:",
            "style-src 'unsafe-inline'",
            "img-src blob: data:",  # the picture of the board, while it becomes a PNG
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _inert(text: str) -> str:
    """JSON that no HTML parser takes for an end of its script, and no old browser for a line."""
    return text.translate({ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"})


# --- how it looks


@cache
def _theme() -> str:
    """The colours that Streamlit gives the board in the app, as its own style would name them."""
    theme = tomllib.loads(_SETTINGS.read_text(encoding="utf-8"))["theme"]
    light, dark = (
        "".join(f"--st-{_kebab(name)}:{value};" for name, value in theme[scheme].items())
        for scheme in ("light", "dark")
    )
    size, radius = theme["baseFontSize"], theme["baseRadius"]
    return (
        f":root{{{light}--st-base-radius:{radius};--size:{size}px;}}"
        f"@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}"
    )


def _kebab(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"-{letter[0].lower()}", name)


# --- what it says


def _settings(t: Texts, e: Experiment) -> dict[str, str]:
    """The settings in words, as HTML."""
    preset = t(f"preset.{e.preset}.name")
    is_as_it_starts = is_untouched(to_plain(e))
    sizes = t(
        "handout.sizes_of", n_tokens=e.n_tokens, d_model=e.d_model, d_k=e.d_k, n_heads=e.n_heads
    )
    tokens = (f'<bdi class="word">{escape(token)}</bdi>' for token in e.tokens)
    return {
        t("handout.tokens"): " ".join(tokens),
        t("handout.preset"): escape(
            preset if is_as_it_starts else t("handout.preset_edited", preset=preset)
        ),
        t("control.seed"): str(e.seed),
        t("handout.sizes"): escape(sizes),
        t("control.mask"): escape(_mask(t, e)),
        t("control.is_scaled"): escape(_yes_or_no(t, e.is_scaled)),
        t("control.encoding"): escape(t(f"control.encoding_{e.encoding}")),
        t("control.has_W_O"): escape(_yes_or_no(t, e.W_O is not None)),
    }


def _mask(t: Texts, e: Experiment) -> str:
    names = {kind: t(f"control.mask_{kind}") for kind in e.mask.kinds}
    if "padding" in names:
        names["padding"] = t(
            "handout.mask_padding",
            name=names["padding"],
            n_padding=min(e.mask.n_padding, e.n_tokens),
        )
    if "window" in names:
        before, after = (min(size, e.n_tokens - 1) for size in (e.mask.before, e.mask.after))
        names["window"] = t("handout.mask_window", name=names["window"], before=before, after=after)
    return t("narrate.comma").join(names.values()) or t("handout.mask_none")


def _yes_or_no(t: Texts, is_so: bool) -> str:
    return t("handout.yes") if is_so else t("handout.no")


def _listed(settings: Mapping[str, str]) -> str:
    return "".join(
        f"<div><dt>{escape(name)}</dt><dd>{value}</dd></div>" for name, value in settings.items()
    )
