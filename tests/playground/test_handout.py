"""The hand-out as a file: all that it needs stands in it, and nothing in it is run by mistake."""

import base64
import hashlib
import json
import re
import tomllib
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
import pytest

from attention_core import Experiment, Mask, to_plain
from playground import handout, link
from playground.board.board import board_data
from playground.handout import _ASSETS, _SETTINGS
from playground.session import Seen
from playground.take_away import HANDOUT
from playground.texts import LANGUAGES, Texts
from tests.playground.experiments import SETTINGS, of_setting

every_language = pytest.mark.parametrize("language", LANGUAGES)
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--",
    "<img src=x onerror=alert(1)>",
    "\"'`${alert(1)}\\u003c",
    "&lt;b&gt; &amp;",
    "\u202eright\u200f to left",
    "$title $$ %s {0}",
)


class File(HTMLParser):
    """A file as a browser takes it apart."""

    def __init__(self, text):
        super().__init__()
        self.text = text
        self.tags = []
        self.contents = {}  # of scripts and styles, by their type
        self.said = ""
        self._within = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._within = dict(attributes).get("type", tag) if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self._within = None

    def handle_data(self, data):
        if self._within:
            self.contents.setdefault(self._within, []).append(data)
        else:
            self.said += data

    @property
    def data(self):
        (text,) = self.contents["application/json"]
        return json.loads(text)

    @property
    def modules(self):
        """The source of each module, by the name that it is imported by."""
        (text,) = self.contents["importmap"]
        start = "data:text/javascript;charset=utf-8,"
        imports = json.loads(text)["imports"]
        assert all(address.startswith(start) for address in imports.values())
        return {name: unquote(address.removeprefix(start)) for name, address in imports.items()}

    @property
    def policy(self):
        (meta,) = [a for tag, a in self.tags if a.get("http-equiv") == "Content-Security-Policy"]
        rules = (rule.split() for rule in meta["content"].split(";"))
        return {name: sources for name, *sources in rules}


def file_of(experiment, language="en", head=0, **seen):
    return File(HANDOUT.make_of(Seen(experiment, language, head, **seen)))


def named(*tokens):
    """An experiment with these tokens."""
    experiment = Experiment.from_preset("random").resized(n_tokens=len(tokens))
    for index, token in enumerate(tokens):
        experiment = experiment.with_token_renamed(index, token)
    return experiment


LARGEST = replace(
    Experiment.from_preset("random")
    .resized(n_tokens=12, d_model=8, d_k=8, n_heads=8)
    .with_output_projection(True),
    mask=Mask(("causal", "painted")),
    encoding="alibi",
)


# --- nothing is fetched


def test_no_tag_names_another_file():
    file = file_of(Experiment.from_preset(), url="https://demo.example/")

    attributes = {name for _, given in file.tags for name in given}
    assert attributes & {"src", "href", "srcset", "action", "background", "poster", "data"} == set()
    assert {tag for tag, _ in file.tags} & {"link", "iframe", "img", "object", "base"} == set()


def test_no_style_fetches_anything():
    styles = "".join(file_of(Experiment.from_preset()).contents["style"])

    assert ".board" in styles
    assert re.findall(r"url\(|@import|@font-face|image-set", styles) == []


def test_every_module_that_is_imported_stands_in_the_file():
    modules = file_of(Experiment.from_preset()).modules

    asked_for = {
        name for text in modules.values() for name in re.findall(r'(?:from |import\()"(.*?)"', text)
    }
    assert asked_for <= set(modules)
    assert {"board/handout.js", "board/board.js", "board/picture.js"} <= set(modules)


def test_the_modules_are_those_of_the_app_but_for_comments_and_the_names_they_import():
    for name, text in file_of(Experiment.from_preset()).modules.items():
        source = (_ASSETS / name.removeprefix("board/")).read_text(encoding="utf-8")

        ours = [
            line.replace('from "board/', 'from "./').replace('import("board/', 'import("./')
            for line in text.split("\n")
        ]
        left_out, is_inside = [], False
        for line in source.split("\n"):
            if ours and line == ours[0] and not is_inside:
                is_inside = ours.pop(0).count("`") % 2 == 1  # a text of several lines has begun
            elif ours and line == ours[0]:
                is_inside = ours.pop(0).count("`") % 2 == 0
            else:
                assert not is_inside, line
                left_out.append(line.strip())

        assert ours == []
        assert all(line.startswith(("/*", "*", "//")) for line in left_out), name


def test_the_policy_allows_the_two_scripts_in_the_file_and_no_address():
    file = file_of(Experiment.from_preset())
    scripts = [*file.contents["importmap"], *file.contents["module"]]

    digests = {
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in scripts
    }
    policy = file.policy

    assert policy["default-src"] == ["'none'"]
    assert set(policy["script-src"]) == {*digests, "data:"}
    sources = {source for sources in policy.values() for source in sources}
    assert {source for source in sources if "/" in source} <= digests
    assert sources & {"*", "'self'", "'unsafe-eval'", "file:", "http:", "https:"} == set()
    tags = [tag for tag, given in file.tags if given.get("type") != "application/json"]
    assert tags.index("meta") < tags.index("style")  # before anything that it forbids
    assert tags.count("script") == 2


# --- what is in it


@pytest.mark.parametrize(
    "experiment", [some[place] for some in SETTINGS.values() for place in (7, 70)]
)
def test_the_data_is_what_the_board_shows_of_every_head(experiment):
    t, trace = Texts("en"), experiment.trace()
    boards = [board_data(t, experiment, trace, head) for head in range(experiment.n_heads)]

    data = file_of(experiment, head=experiment.n_heads - 1).data

    shown = json.loads(json.dumps(boards[-1]))
    assert {name: data[name] for name in shown} == {**shown, "sentences": []}
    for told, board in zip(data["handout"]["heads"], boards, strict=True):
        assert told == json.loads(
            json.dumps({name: board[name] for name in ("stages", "sentences")})
        )
        assert told["sentences"]


def test_the_numbers_are_those_of_the_trace_to_the_last_digit():
    experiment = Experiment.from_preset("cat").with_cell("X", (0, 0), 1 / 3)

    matrices = {matrix["id"]: matrix["values"] for matrix in file_of(experiment).data["matrices"]}

    assert matrices["X"] == experiment.X.tolist()
    assert matrices["output"] == experiment.trace().attention.output.tolist()


@every_language
def test_it_speaks_the_language_of_its_reader(language):
    t = Texts(language)

    file = file_of(Experiment.from_preset(), language)

    (html,) = [given for tag, given in file.tags if tag == "html"]
    assert html["lang"] == {"en": "en", "zh": "zh-CN"}[language]
    assert file.data["texts"] == t.group("board")
    assert file.data["handout"]["texts"] == t.group("handout")
    for key in ("app.title", "handout.title", "handout.settings", "handout.cannot"):
        assert t(key) in file.said
    assert ("Mask" in file.said) == (language == "en")


@every_language
@pytest.mark.parametrize(
    "experiment", [Experiment.from_preset(), LARGEST, named(*HOSTILE)], ids=["first", "big", "bad"]
)
def test_the_same_experiment_gives_the_same_bytes(experiment, language):
    seen = Seen(experiment, language, 0, {}, "https://demo.example/")

    assert HANDOUT.make_of(seen) == HANDOUT.make_of(seen)


def test_it_is_small_enough_to_be_sent_around():
    assert len(file_of(Experiment.from_preset()).text.encode()) < 300_000
    assert len(file_of(LARGEST, "zh").text.encode()) < 400_000


# --- what a learner may have written


@every_language
def test_hostile_tokens_stay_texts(language):
    experiment = named(*HOSTILE)

    file = file_of(experiment, language)

    plain = file_of(named(*"abcdefg"), language)
    assert [tag for tag, _ in file.tags] == [tag for tag, _ in plain.tags]
    assert file.data["axes"]["tokens"] == list(HOSTILE)
    for token in HOSTILE:
        assert token in file.said


@pytest.mark.parametrize("mark", ["<", ">", "&", "\u2028", "\u2029"])
def test_no_mark_that_a_parser_heeds_stands_in_a_script(mark):
    experiment = named(*HOSTILE)

    file = file_of(experiment)

    (data,), (imports,) = file.contents["application/json"], file.contents["importmap"]
    assert mark not in data + imports


def test_marks_of_both_kinds_of_line_are_written_out():
    assert handout._inert('"\u2028\u2029<>&"') == r'"\u2028\u2029\u003c\u003e\u0026"'
    assert json.loads(handout._inert('"\u2028<"')) == "\u2028<"


# --- its look


def test_the_colours_are_those_of_the_app():
    theme = tomllib.loads(_SETTINGS.read_text(encoding="utf-8"))["theme"]

    style = file_of(Experiment.from_preset()).contents["style"][0]

    light, dark = style.split("@media screen and (prefers-color-scheme: dark)")[:2]
    for scheme, text in (("light", light), ("dark", dark)):
        assert f"--st-background-color:{theme[scheme]['backgroundColor']};" in text
        assert (
            f"--st-secondary-background-color:{theme[scheme]['secondaryBackgroundColor']};" in text
        )
        assert f"--st-primary-color:{theme[scheme]['primaryColor']};" in text


def test_what_the_board_takes_from_streamlit_is_there():
    asked_for = set(re.findall(r"var\((--st-[\w-]+)\)", (_ASSETS / "board.css").read_text()))

    given = set(re.findall(r"(--st-[\w-]+): ?", file_of(Experiment.from_preset()).text))

    assert len(asked_for) > 5
    assert asked_for - given == set()


# --- the settings in words


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e: e, ["None: everyone sees everyone", "Yes", "heads\u00a0=\u00a03"]),
        (lambda e: replace(e, mask=Mask(("causal",))), ["Causal"]),
        (
            lambda e: replace(e, mask=Mask(("padding", "window", "painted"), 3, 2, 9)),
            ["Padding (3 at the end), Window (2 before, 3 after), By hand"],
        ),
        (lambda e: replace(e, mask=Mask(("padding",), 9)), ["Padding (4 at the end)"]),
        (lambda e: replace(e, encoding="rotary"), ["Rotary (turns Q and K)"]),
        (lambda e: replace(e, seed=41), ["Seed41"]),
        (lambda e: replace(e, is_scaled=False), ["Divide scores by √d_kNo"]),
    ],
)
def test_the_settings_are_told_in_words(change, said):
    experiment = change(of_setting("none", (), True, 3, True))

    told = file_of(experiment).said

    for text in said:
        assert text in told


def test_numbers_that_were_changed_are_told():
    start = Experiment.from_preset("cat")
    name = Texts("en")("preset.cat.name")

    assert f"{name} (with numbers changed)" not in file_of(start).said
    assert f"{name} (with numbers changed)" in file_of(start.with_cell("X", (0, 0), 9)).said


# --- the way back to the app


def test_the_link_opens_the_experiment_that_was_handed_out():
    experiment = Experiment.from_preset("random").resized(n_heads=2).with_cell("X", (0, 0), 7)
    invitation = {"view": "projector", "c": "mask.seed", "n": "look at <b>"}
    url = "https://demo.example/base/multi_head"

    found = urlsplit(file_of(experiment, "zh", 1, invitation=invitation, url=url).data["link"])

    query = {name: value for name, (value,) in parse_qs(found.query).items()}
    assert (found.scheme, found.netloc, found.path) == ("https", "demo.example", "/base/")
    assert to_plain(link.decode(query.pop("e"))) == to_plain(experiment)
    assert query == {"lang": "zh", "h": "2", "c": "mask.seed", "n": "look at <b>"}


@pytest.mark.parametrize("url", ["", "file:///tmp/x", "javascript:alert(1)"])
def test_without_an_address_of_the_app_there_is_no_link(url):
    assert file_of(Experiment.from_preset(), url=url).data["link"] == ""


def test_an_experiment_that_no_link_can_carry_has_none():
    changed = LARGEST
    for head, block in enumerate(np.random.default_rng(0).normal(size=(8, 8, 8))):
        changed = changed.with_block("W_Q", (head, 0, 0), block)

    assert len(link.encode(changed)) > link.BUDGET
    assert file_of(changed, url="https://demo.example/").data["link"] == ""
