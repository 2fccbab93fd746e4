"""Tokens that would be markup, programs or formulas, if anything took them for more than text."""

import ast
import csv
import io
import json
import re
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from attention_core import Experiment
from attention_core.document import to_json
from attention_core.export import csv_archive, npz
from attention_core.program import notebook, numpy_script, pytorch_script
from playground import link
from playground.catalog import LESSONS
from playground.sentence import split
from playground.texts import LANGUAGES
from tests.hostile.nasty import TOKENS, UNFIT, WINDOW_FLAG
from tests.pages.driver import App

HOSTILE = replace(Experiment.from_preset("random").resized(n_tokens=12), tokens=TOKENS)
STEPS = [(lesson.id, step) for lesson in LESSONS for step in lesson.steps]
MARKUP = re.compile(r"<(img|script|svg)|\]\(javascript|!\[i\]|\*\*b\*\*|:red\[r|\$x\^2|\\input\{")


def interpreted(text):
    """Of a Markdown text, what is left where every escaped character is taken away."""
    return MARKUP.search(re.sub(r"\\.", "", text))


def assert_inert(app):
    """Nothing that a token holds would be read as Markdown, HTML or a formula."""
    assert not app.test.exception
    assert app.errors == []
    assert [text for text in app.markdown() if interpreted(text)] == []
    charts = [chart.proto.spec for chart in app.test.get("plotly_chart")]
    assert [spec for spec in charts if re.search(r"<(img|script|svg)", spec)] == []


def test_the_check_sees_what_is_not_escaped():
    assert interpreted(f"a {TOKENS[0]} b")
    assert interpreted(TOKENS[4])
    assert not interpreted(r"a \<img src\=x\> \*\*b\*\*")


# --- shown on every page


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("lesson", [lesson.id for lesson in LESSONS if not lesson.steps])
def test_a_page_shows_them_letter_by_letter(lesson, language):
    app = App(lesson, lang=language, e=link.encode(HOSTILE))

    assert_inert(app)
    assert app.experiment.tokens == TOKENS


@pytest.mark.parametrize(("lesson", "step"), STEPS, ids=map(".".join, STEPS))
def test_a_step_shows_them_letter_by_letter_in_chinese(lesson, step):
    """And in English: `tests.pages.test_lessons`."""
    app = App(lesson, s=step, lang="zh", e=link.encode(HOSTILE))

    assert_inert(app)
    assert app.experiment.tokens == TOKENS


# --- by every way in


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_is_taken_as_it_stands_by_the_board_and_by_a_file(language):
    app = App(lang=language)
    for number, token in enumerate(TOKENS, start=1):
        app.send({"number": number, "kind": "rename", "row": 0, "text": token})

        assert app.experiment.tokens[0] == token
        assert app.board["axes"]["tokens"][0] == token
        assert_inert(app)

    app.open_file(to_json(HOSTILE).encode())
    assert app.experiment.tokens == TOKENS
    assert_inert(app)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("how", ["spaces", "characters", "chinese"])
def test_a_sentence_of_them_is_split_into_tokens_and_nothing_else(language, how):
    sentence = " ".join([*TOKENS, *UNFIT]).replace("\ud800", "")  # no message can hold it
    app = App(lang=language).unfold("sentence_section")
    app.test.text_input(key="sentence").set_value(sentence)
    (ways,) = [each for each in app.test if getattr(each, "key", None) == "sentence_how"]
    ways.set_value(how)

    app.press(app.t("sentence.submit"))

    expected = split(sentence, how)
    assert app.experiment.tokens == expected.words
    assert len(app.warnings) == 1  # that some were left out, and some shortened
    assert_inert(app)


@pytest.mark.parametrize("text", UNFIT, ids=lambda text: repr(text)[:12])
def test_what_is_no_token_makes_no_sentence_fail(text):
    for how in ("spaces", "characters", "chinese"):
        words = split(text, how).words
        assert all(0 < len(word) <= 200 and word.strip() for word in words)


# --- taken away


def test_the_programs_run_and_do_nothing_else(tmp_path):
    code = "\n".join(
        "".join(cell["source"])
        for cell in json.loads(notebook(HOSTILE))["cells"]
        if cell["cell_type"] == "code"
    )
    programs = {
        "in_numpy": numpy_script(HOSTILE),
        "in_torch": pytorch_script(HOSTILE),
        "noted": code,
    }
    for name, source in programs.items():
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    all_of_them = (
        "import runpy, sys\n"
        f"for name in {sorted(programs)}:\n"
        "    found = runpy.run_path(f'{name}.py', run_name='__main__')\n"
        "    print('\\n' + ascii(found['tokens']))\n"
    )

    ran = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", all_of_them],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("\n" + ascii(list(TOKENS)) + "\n") == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{name}.py" for name in sorted(programs)
    ]


def test_the_notebook_says_nothing_of_them_in_its_markdown():
    cells = json.loads(notebook(HOSTILE))["cells"]

    told = "".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")

    assert told
    assert WINDOW_FLAG not in told


def test_the_tables_hold_no_formula():
    archive = zipfile.ZipFile(io.BytesIO(csv_archive(HOSTILE)))
    for name in archive.namelist():
        text = io.StringIO(archive.read(name).decode("utf-8-sig"), newline="")
        for row in csv.reader(text):
            assert not row[0].startswith(("=", "+", "-", "@", "\t"))
    rows = [*csv.reader(io.StringIO(archive.read("X.csv").decode("utf-8-sig"), newline=""))]
    marked = [f"'{token}" if token[0] in "=+-@'" else token for token in TOKENS]
    assert [row[0] for row in rows[1:]] == marked


def test_the_arrays_are_opened_without_a_pickle():
    arrays = np.load(io.BytesIO(npz(HOSTILE)), allow_pickle=False)

    assert tuple(arrays["tokens"].tolist()) == TOKENS


def test_the_texts_in_the_programs_are_texts():
    for source in (numpy_script(HOSTILE), pytorch_script(HOSTILE)):
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
        assert not [call for call in calls if "__import__" in ast.unparse(call.func)]
