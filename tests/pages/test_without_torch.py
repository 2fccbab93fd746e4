"""PyTorch is loaded only for the steps that need it, and missed only by them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from playground import lesson
from playground.catalog import LESSONS
from playground.texts import LANGUAGES, Texts
from tests.pages.driver import ROOT, App
from tests.pages.test_lessons import LOCALES

WITH_TORCH = [("pytorch", step) for step in ("parity", "conventions", "batch", "gradients")]
WITH_TORCH += [("pytorch", "fit"), ("pytorch", "code"), ("why_attention", "influence")]
WITH_TORCH += [
    ("sentiment", step)
    for step in ("texts", "train", "look", "errors", "examine", "warmup", "weights")
]
WITHOUT = [
    (each.id, step)
    for each in LESSONS
    for step in each.steps or [""]
    if (each.id, step) not in WITH_TORCH
]

_OPEN_ALL = """
import sys
from tests.pages.driver import App
for lesson, step in {steps}:
    App(lesson, s=step).assert_calm()
print("torch" in sys.modules)
"""


@pytest.fixture
def without_torch(monkeypatch):
    """A machine on which PyTorch cannot be imported."""
    for name in [name for name in sys.modules if name.startswith("attention_core.neural")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("id", "step"), WITH_TORCH, ids=map(".".join, WITH_TORCH))
def test_a_step_that_needs_it_says_how_to_get_it(without_torch, id, step, language):
    app = App(id, s=step, locale=LOCALES[language])

    t = Texts(language)
    assert [each.value for each in app.test.exception] == []
    assert app.warnings == [t("torch.missing")]
    assert [code.value for code in app.test.code] == [lesson._INSTALL]
    assert t(f"{id}.{step}.ask") in [each.value for each in app.test.markdown]


@pytest.mark.parametrize(("id", "step"), WITHOUT, ids=map(".".join, WITHOUT))
def test_all_others_are_whole_without_it(without_torch, id, step):
    App(id, s=step).assert_calm()


def test_none_of_the_others_loads_it():
    opened = subprocess.run(
        [sys.executable, "-c", _OPEN_ALL.format(steps=WITHOUT)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert opened.stdout.split()[-1] == "False"


def test_the_command_installs_the_version_that_is_tested():
    (pinned,) = [
        line
        for line in Path(ROOT / "requirements.txt").read_text().splitlines()
        if line.startswith("torch")
    ]

    assert lesson._INSTALL.split()[2] == pinned
