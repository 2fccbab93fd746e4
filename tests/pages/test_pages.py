"""Every page in both languages: it opens, each input does what it says, and no fault is loud."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import streamlit as st

from attention_core import PRESETS, Experiment, Mask, to_plain
from attention_core.canvas import MAX_D_K, MAX_D_MODEL, MAX_HEADS, MAX_SEED
from attention_core.experiment import MASK_KINDS
from attention_core.presets import ENCODINGS
from playground import link, palette
from playground.catalog import LESSONS
from playground.link import BUDGET
from playground.take_away import KINDS
from playground.texts import LANGUAGES, Texts, small
from tests.pages.driver import ROOT, App

every_lesson = pytest.mark.parametrize("lesson", [lesson.id for lesson in LESSONS])
every_language = pytest.mark.parametrize("language", LANGUAGES)
LOCALES = {"en": "en-GB", "zh": "zh-CN"}

HOSTILE = "<b>$x$ *y* `z` :red[a] [l](http://m) &amp; \\"


def cell(number, value, row=0, column=0, matrix="X", head=None, joins=False):
    place = {"matrix": matrix, "head": head, "row": row, "column": column}
    return {"number": number, "kind": "cell", **place, "value": value, "joins": joins}


def crowded():
    """An experiment with more changed numbers than a link may carry."""
    rng = np.random.default_rng(0)
    start = Experiment.from_preset("random").resized(d_model=8, d_k=8, n_heads=8)
    return replace(start, W_Q=rng.uniform(-1, 1, start.W_Q.shape))


# --- opening a page


@every_lesson
@every_language
def test_a_page_opens_with_its_question_even_as_the_very_first_request(lesson, language):
    app = App(lesson, locale=LOCALES[language])

    app.assert_calm()
    assert [title.value for title in app.test.title] == [
        Texts(language)(f"lesson.{lesson}.question")
    ]


def test_the_app_opens_on_the_first_lesson():
    app = App(None)

    app.assert_consistent()
    assert app.test.title[0].value == app.t(f"lesson.{LESSONS[0].id}.question")


@every_lesson
@every_language
def test_a_page_is_drawn_once(lesson, language):
    # A deep link runs the page's file twice; only the second time may draw.
    app = App(lesson, locale=LOCALES[language])

    counts = [len(app.test.title), len(app.test.button_group(key="language").options)]

    assert counts == [1, 2]
    assert app.address["run"] == 1


@every_lesson
def test_the_language_can_be_changed_on_every_page_and_stays(lesson):
    app = App(lesson)

    app.set("language", "zh")
    chinese = app.test.title[0].value
    for other in LESSONS:
        app.visit(other.id)

    assert chinese == Texts("zh")(f"lesson.{lesson}.question")
    assert app.t.language == "zh"
    assert app.address["query"]["lang"] == app.address["language"] == "zh"
    app.assert_calm()


@every_lesson
def test_an_edited_experiment_survives_every_page(lesson):
    app = App().set("preset", "cat").send(cell(1, 1 / 3, 2, 1))
    before = to_plain(app.experiment)

    app.visit(lesson).visit("playground")

    assert to_plain(app.experiment) == before
    app.assert_consistent()


@every_language
def test_the_guide_lists_the_matrices_of_this_experiment_with_their_shapes(language):
    experiment = replace(Experiment.from_preset("cat"), encoding="alibi", mask=Mask(("causal",)))
    app = App("guide", locale=LOCALES[language], e=link.encode(experiment))

    _, names, shapes, meanings = app.test.table[0].value.to_numpy().T

    t = app.t
    assert list(names)[:2] == [t("matrix.X.name"), t("matrix.W_Q.name")]
    assert list(shapes)[:3] == ["3 × 3", "3 × 2", "3 × 2"]
    assert t("matrix.masked_scores.about") in meanings
    assert t("matrix.bias.about") in meanings


# --- every input


@every_language
def test_every_preset_shows_itself(language):
    app = App(locale=LOCALES[language])
    for preset in [*reversed(PRESETS), "apple"]:
        app.set("preset", preset)

        app.assert_consistent()
        assert to_plain(app.experiment) == to_plain(Experiment.from_preset(preset))
        story = app.t(f"preset.{preset}.story")
        assert small(story) in [markdown.value for markdown in app.test.markdown]


def test_another_preset_keeps_the_seed():
    app = App(e=link.encode(Experiment.from_preset("cat", seed=5)))

    app.set("preset", "random")

    assert to_plain(app.experiment) == to_plain(Experiment.from_preset("random", seed=5))


@every_language
def test_every_encoding_and_switch_shows_what_it_computes(language):
    app = App(locale=LOCALES[language])
    for has_projection in (True, False):
        app.set("has_W_O", has_projection).set("is_scaled", not has_projection)
        for encoding in [*reversed(ENCODINGS), ENCODINGS[0]]:
            app.set("encoding", encoding)

            app.assert_consistent()
            assert app.experiment.encoding == encoding
        assert (app.experiment.W_O is not None) == has_projection
        assert app.experiment.is_scaled != has_projection


@pytest.mark.parametrize(
    ("name", "most"), [("d_model", MAX_D_MODEL), ("d_k", MAX_D_K), ("n_heads", MAX_HEADS)]
)
def test_every_size_goes_to_both_ends_and_comes_back_without_loss(name, most):
    app = App(e=link.encode(Experiment.from_preset("previous_token")))
    before = app.experiment

    for size in (1, most, getattr(before, name)):
        app.set(name, size)

        app.assert_consistent()
        assert getattr(app.experiment, name) == size
        assert (app.test.slider(key=name).min, app.test.slider(key=name).max) == (1, most)

    assert to_plain(app.experiment) == to_plain(before)


def test_every_mask_and_its_sizes_from_one_end_to_the_other():
    app = App()
    for kinds in ([], ["causal"], ["padding"], ["window"], list(MASK_KINDS)):
        app.set("mask", kinds)

        app.assert_consistent()
        assert app.experiment.mask.kinds == tuple(kinds)
    for name, most in (("n_padding", 3), ("before", 2), ("after", 2)):
        for size in (0, most, 1):
            app.set(name, size)

            app.assert_consistent()
            assert getattr(app.experiment.mask, name) == size
        assert app.test.slider(key=name).max == most


def test_a_window_over_one_token_has_nothing_to_set():
    app = App(e=link.encode(replace(Experiment.from_preset(), mask=Mask(("window",)))))

    app.send({"number": 1, "kind": "remove", "row": 0}).send(
        {"number": 2, "kind": "remove", "row": 0}
    )

    app.assert_consistent()
    assert app.t("control.window_of_one") in [caption.value for caption in app.test.caption]
    assert {"before", "after"}.isdisjoint(slider.key for slider in app.test.slider)


def test_a_window_wider_than_the_sentence_is_shown_at_its_end_and_kept():
    wide = replace(Experiment.from_preset(), mask=Mask(("window",), before=9, after=9))
    app = App(e=link.encode(wide))

    assert app.test.slider(key="before").value == 2
    assert app.experiment.mask.before == 9
    app.assert_consistent()


@pytest.mark.parametrize("seed", [0, 1, MAX_SEED])
def test_a_seed_draws_its_numbers(seed):
    app = App().set("seed", 7).set("seed", seed)

    app.assert_consistent()
    expected = Experiment.from_preset().randomized(seed)
    np.testing.assert_array_equal(app.experiment.X, expected.X)
    assert app.experiment.seed == seed


@pytest.mark.parametrize(("seed", "following"), [(0, 1), (MAX_SEED, 0)])
def test_new_random_numbers_come_from_the_next_seed(seed, following):
    app = App(e=link.encode(Experiment.from_preset("cat", seed=seed)))

    app.press(app.t("control.randomize"))

    app.assert_consistent()
    assert app.experiment.seed == app.test.number_input(key="seed").value == following
    assert app.experiment.tokens == ("猫", "追", "老鼠")


def test_each_head_is_shown_when_it_is_chosen_and_the_last_one_when_it_is_gone():
    app = App(e=link.encode(Experiment.from_preset("random").resized(n_heads=3)))
    for head in (1, 2, 0, 2):
        app.set("head", head)

        app.assert_consistent(head)
    app.set("n_heads", 2)

    app.assert_consistent(head=1)
    app.set("n_heads", 1)
    app.assert_consistent(head=0)


@every_language
def test_undo_redo_and_reset_walk_through_the_changes(language):
    app = App(locale=LOCALES[language])
    t = app.t
    app.set("preset", "cat").set("d_model", 5)
    seen = []
    for label in ("undo", "undo", "redo", "redo", "reset", "undo"):
        app.press(t(f"control.{label}"))
        app.assert_consistent()
        seen.append((app.experiment.preset, app.experiment.d_model))

    assert seen == [("cat", 3), ("apple", 2), ("cat", 3), ("cat", 5), ("cat", 3), ("cat", 5)]
    assert app.test.selectbox(key="preset").value == "cat"
    assert app.test.slider(key="d_model").value == 5


def test_undo_and_redo_can_be_pressed_only_when_there_is_a_step():
    def disabled(app):
        return [b.disabled for b in app.test.button if b.label in ("Undo", "Redo")]

    app = App()

    assert disabled(app) == [True, True]
    assert disabled(app.set("preset", "cat")) == [False, True]
    assert disabled(app.press("Undo")) == [True, False]


# --- the board


def test_an_edit_on_the_board_moves_everything_that_follows_from_it():
    app = App().set("has_W_O", True).set("n_heads", 2)

    app.send(cell(1, 1 / 3, 0, 1), cell(2, -7, 1, 0, "W_K", 0), cell(3, 2.5, 3, 1, "W_O"))

    app.assert_consistent()
    assert app.experiment.X[0, 1] == 1 / 3
    assert app.experiment.W_K[0, 1, 0] == -7
    assert app.experiment.W_O[3, 1] == 2.5
    assert app.board["taken"] == {"board 1": 3}


def test_ten_edits_in_one_message_are_all_kept():
    app = App()

    app.send(*(cell(i + 1, i + 0.5, *divmod(i % 6, 2)) for i in range(10)))

    assert app.experiment.X.ravel().tolist() == [6.5, 7.5, 8.5, 9.5, 4.5, 5.5]
    app.assert_consistent()


def test_a_message_that_arrives_twice_is_applied_once():
    app = App()
    add = {"number": 1, "kind": "add"}

    app.send(add, revision=0).send(add, revision=0)

    assert app.experiment.n_tokens == 4
    assert app.board["revision"] == 0


def test_the_board_learns_which_of_its_messages_was_heard():
    app = App()
    assert app.board["heard"] == {}

    app.send(cell(1, 2.0), attempt=3)
    assert app.board["heard"] == {"mount": "board 1", "attempt": 3}

    app.send(cell(2, 2.0), attempt="<b>")
    assert app.board["heard"] == {}


def test_a_late_edit_does_not_land_on_the_numbers_of_another_preset():
    app = App().set("preset", "cat")

    app.send(cell(1, 9.0), revision=0)

    app.assert_consistent()
    assert to_plain(app.experiment) == to_plain(Experiment.from_preset("cat"))
    assert app.board["taken"] == {"board 1": 1}


@every_language
def test_an_edit_that_the_core_refuses_is_told_in_the_readers_language(language):
    app = App(locale=LOCALES[language])

    app.send(cell(1, 2e6))

    (warning,) = app.warnings
    assert warning.startswith(app.t("notice.refused", reason="X"))
    assert "1000000" in warning
    app.assert_shows(Experiment.from_preset())
    app.test.run()
    app.assert_calm()


@pytest.mark.parametrize(
    "edits",
    [
        [None],
        [cell(1, "abc")],
        [cell(1, 1e400)],
        [cell(1, float("nan"))],
        [cell(1, 1.0, 10**400)],
        [{"number": 10**4000, "kind": "nothing"}],
    ],
    ids=lambda edits: repr(edits)[:60],
)
def test_a_malformed_edit_leaves_the_page_as_it_was(edits):
    app = App()

    app.send(*edits)
    app.test.run()

    app.assert_consistent()
    app.assert_shows(Experiment.from_preset())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_figure_shows_the_same_numbers_in_the_colours_of_the_theme(theme):
    app = App(theme=theme).set("preset", "previous_token").unfold("back_row")
    steps = app.experiment.trace().attention

    weights, output, *_ = app.figure["data"]

    np.testing.assert_array_equal(weights["z"], steps.head(0).weights)
    np.testing.assert_array_equal(output["z"], steps.output)
    assert weights["colorscale"][-1][1] == palette.SEQUENTIAL[theme][-1]
    assert output["colorscale"][0][1] == palette.DIVERGING[theme][0]


@every_language
def test_the_figure_follows_the_head_and_names_its_rows_and_columns(language):
    experiment = Experiment.from_preset("cat").resized(n_heads=2)
    app = App(locale=LOCALES[language], e=link.encode(experiment)).set("head", 1)
    app.unfold("back_row")

    figure, t = app.figure, app.t

    np.testing.assert_array_equal(
        figure["data"][0]["z"], experiment.trace().attention.head(1).weights
    )
    layout, tokens = figure["layout"], ["猫", "追", "老鼠"]
    titles = [annotation["text"] for annotation in layout["annotations"]]
    assert titles == [t("figure.weights_head", number=2), t("figure.output")]
    assert layout["xaxis"]["ticktext"] == layout["yaxis"]["ticktext"] == tokens
    assert layout["yaxis2"]["ticktext"] == tokens
    assert layout["xaxis2"]["ticktext"] == ["h1·1", "h1·2", "h2·1", "h2·2"]


def test_the_formula_follows_the_settings():
    app = App().set("is_scaled", False).set("mask", ["causal"])

    (equation,) = [text for text in app.markdown() if "softmax" in text and "$" in text]

    assert r"\sqrt" not in equation
    assert r"\underset{3 \times 3}{M}" in equation


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_camera_of_the_figure_saves_the_chosen_kind_of_picture(kind):
    app = App().unfold("back_row").set("back_row_format", kind)

    (chart,) = app.test.get("plotly_chart")

    options = json.loads(chart.proto.config)["toImageButtonOptions"]
    assert options["format"] == kind


def test_no_figure_is_drawn_until_it_is_asked_for():
    """Plotly takes longer to draw than all the rest of the page."""
    assert len(App().test.get("plotly_chart")) == 0


def test_the_page_imports_no_torch():
    script = (
        "import sys\n"
        "from tests.pages.driver import App\n"
        "for lesson in ('playground', 'guide'):\n"
        "    App(lesson).assert_calm()\n"
        "assert 'torch' not in sys.modules, 'torch'\n"
    )

    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, capture_output=True)


# --- a learner's text


@every_lesson
def test_a_token_is_never_read_as_markdown_or_html(lesson):
    app = App(e=link.encode(Experiment.from_preset().with_token_renamed(1, HOSTILE)))

    texts = app.visit(lesson).markdown()

    app.assert_calm()
    assert not [text for text in texts if "$x$" in text or "<b>" in text or ":red[" in text]


def test_a_token_with_markup_is_shown_letter_by_letter():
    app = App()

    app.send({"number": 1, "kind": "rename", "row": 1, "text": HOSTILE})

    assert app.board["axes"]["tokens"][1] == app.experiment.tokens[1] == HOSTILE
    app.unfold("back_row")
    assert app.figure["layout"]["yaxis"]["ticktext"][1] == "&lt;b&gt;$x$ *y* `z…"
    app.assert_consistent()


def test_what_a_file_holds_is_never_read_as_markdown_or_html():
    plain = to_plain(Experiment.from_preset()) | {HOSTILE: 1}

    app = App().open_file(json.dumps(plain).encode())

    (warning,) = app.warnings
    assert r"\<b\>\$x\$ \*y\* \`z\` \:red\[a\]" in warning


# --- links and files


def test_a_link_opens_exactly_its_experiment():
    experiment = replace(Experiment.from_preset("cat"), encoding="rotary").resized(n_heads=2)
    experiment = experiment.with_cell("W_V", (1, 0, 1), 1 / 3)

    app = App(e=link.encode(experiment))

    app.assert_consistent()
    app.assert_shows(experiment)


@every_lesson
@every_language
def test_a_damaged_link_is_told_once_and_the_default_shown(lesson, language):
    app = App(lesson, locale=LOCALES[language], e=link.encode(Experiment.from_preset("cat"))[:-5])
    first = app.warnings

    app.test.run()

    assert first == [app.t("notice.damaged_link")]
    app.assert_calm()
    assert to_plain(app.experiment) == to_plain(Experiment.from_preset())


@every_lesson
@every_language
def test_an_experiment_past_the_budget_says_so_on_every_page(lesson, language):
    app = App(lesson, locale=LOCALES[language], e=link.encode(crowded()))

    assert len(link.encode(crowded())) > BUDGET
    assert app.warnings == [app.t("notice.link_too_long")]
    assert app.address["query"]["e"] == ""
    assert app.errors == []


def test_an_experiment_past_the_budget_can_be_saved_as_a_file():
    app = App(e=link.encode(crowded()))

    app.assert_shows(crowded())
    app.unfold("take_away")
    labels = [button.label for button in app.test.download_button]
    assert labels == [app.t(kind.text) for kind in KINDS]


def test_a_link_that_just_fits_is_in_the_address():
    host = len("http://localhost:8501/?lang=en&e=")
    start = Experiment.from_preset("random").resized(d_model=8, d_k=8, n_heads=8)
    drawn = np.random.default_rng(0).uniform(-1, 1, start.W_Q.size)

    def changed(n):
        numbers = np.where(np.arange(start.W_Q.size) < n, drawn, start.W_Q.ravel())
        return link.encode(replace(start, W_Q=numbers.reshape(start.W_Q.shape)))

    texts = {len(changed(n)): changed(n) for n in range(100, 200)}
    fitting = max(length for length in texts if length + host <= BUDGET)
    too_long = min(length for length in texts if length + host > BUDGET)

    assert App(e=texts[fitting]).address["query"]["e"] == texts[fitting]
    assert App(e=texts[too_long]).address["query"]["e"] == ""


def test_a_saved_file_opens_again_and_can_be_undone(monkeypatch):
    made = []
    monkeypatch.setattr(st, "download_button", lambda _, make, **__: made.append(make))
    experiment = Experiment.from_preset("cat").with_cell("X", (0, 0), 1 / 3)
    App(e=link.encode(experiment)).unfold("take_away")
    monkeypatch.undo()

    app = App().open_file(made[0]().encode())

    app.assert_consistent()
    app.assert_shows(experiment)
    app.press(app.t("control.undo"))
    app.assert_shows(Experiment.from_preset())


NO_JSON = [b"", b"nonsense", b"\xff\xfe"]
NO_EXPERIMENT = [
    b"[" * 100_000,
    b'{"seed":' + b"9" * 5000 + b"}",
    b"null",
    b"[1]",
    b'{"version":1,"preset":"apple"}',
    b'{"version":2,"preset":"apple","seed":0}',
    b'{"version":1,"preset":"pear","seed":0}',
    b'{"version":1,"preset":"apple","seed":-1}',
    b'{"version":1,"preset":"apple","seed":0,"d_k":99}',
    b'{"version":1,"preset":"apple","seed":0,"mask":5}',
    b'{"version":1,"preset":"apple","seed":0,"X":{"0":NaN}}',
    b'{"version":1,"preset":"apple","seed":0,"X":{"0":1e400}}',
    b'{"version":1,"preset":"apple","seed":0,"X":{"0":' + b"9" * 400 + b"}}",
]


@pytest.mark.parametrize("content", NO_JSON, ids=lambda content: repr(content[:20]))
def test_a_file_that_is_no_json_is_told_and_changes_nothing(content):
    app = App().set("preset", "cat")

    app.open_file(content)

    assert app.warnings == [app.t("notice.no_json_file")]
    assert app.errors == []
    app.assert_shows(Experiment.from_preset("cat"))


@pytest.mark.parametrize("content", NO_EXPERIMENT, ids=lambda content: repr(content[:60]))
def test_a_file_without_an_experiment_is_told_and_changes_nothing(content):
    app = App().set("preset", "cat")

    app.open_file(content)

    (warning,) = app.warnings
    assert warning.startswith(app.t("notice.damaged_file", reason=""))
    assert app.errors == []
    app.assert_shows(Experiment.from_preset("cat"))


# --- a fault of ours


@pytest.fixture
def broken(monkeypatch):
    """Switches a fault in the core on."""

    def fail(_):
        raise RuntimeError("a secret of the server")

    return lambda: monkeypatch.setattr(Experiment, "trace", fail)


@pytest.mark.parametrize("lesson", [each.id for each in LESSONS if each.is_on_experiment])
@every_language
def test_a_fault_shows_one_calm_sentence_and_no_traceback(broken, lesson, language):
    # Their first steps have no use for what the experiment computes.
    steps = {"scaling": "factor", "why_attention": "words"}
    app = App(lesson, locale=LOCALES[language], s=steps.get(lesson, ""))
    broken()

    app.test.run()

    assert app.errors == [app.t("fault.sentence")]
    assert [error.proto.title for error in app.test.error] == [app.t("fault.title")]
    assert not app.test.exception
    assert not any("secret" in text for text in app.markdown())


def test_a_fault_on_the_very_first_request_is_calm_too(broken):
    broken()

    app = App("guide")

    assert app.errors == [app.t("fault.sentence")]
    assert not app.test.exception


def test_a_fault_keeps_the_work_and_its_link(broken, monkeypatch):
    app = App().set("preset", "cat").send(cell(1, 5.0))
    before = to_plain(app.experiment)
    broken()
    app.test.run()
    during = to_plain(app.experiment)
    monkeypatch.undo()

    app.test.run()

    assert during == to_plain(app.experiment) == before
    app.assert_consistent()


def test_after_a_fault_the_last_step_can_be_taken_back(broken, monkeypatch):
    app = App().set("preset", "cat")
    broken()
    app.test.run()
    monkeypatch.undo()

    app.press(app.t("control.undo"))

    app.assert_consistent()
    assert to_plain(app.experiment) == to_plain(Experiment.from_preset())


def test_after_a_fault_one_can_start_over_from_the_preset(broken, monkeypatch):
    app = App().set("preset", "cat").send(cell(1, 5.0))
    broken()
    app.test.run()
    monkeypatch.undo()

    app.press(app.t("control.reset"))

    app.assert_consistent()
    assert to_plain(app.experiment) == to_plain(Experiment.from_preset("cat"))


@every_language
def test_a_fault_in_a_change_is_told_and_nothing_is_changed(monkeypatch, language):
    app = App(locale=LOCALES[language])

    def fail(*_):
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr(Experiment, "resized", fail)
    app.set("d_k", 5)

    assert app.warnings == [app.t("notice.fault")]
    assert app.errors == []
    assert not app.test.exception
    app.assert_shows(Experiment.from_preset())
    assert app.test.slider(key="d_k").value == 2


def test_a_fault_after_half_a_page_is_calm_too(monkeypatch):
    app = App().set("preset", "cat").unfold("back_row")

    def fail(*_):
        raise RuntimeError

    monkeypatch.setattr("playground.figures.heatmaps", fail)
    app.test.run()

    assert app.errors == [app.t("fault.sentence")]
    assert not app.test.exception
    app.assert_shows(Experiment.from_preset("cat"))


@pytest.mark.parametrize("name", ["preset", "\ud800"])
def test_a_file_with_half_a_character_is_told_as_damaged(name):
    plain = to_plain(Experiment.from_preset()) | {name: "\ud800"}

    app = App().open_file(json.dumps(plain).encode())

    assert app.errors == []
    assert len(app.warnings) == 1


def test_an_emptied_seed_changes_nothing_and_comes_back():
    app = App().set("seed", 7)
    before = to_plain(app.experiment)

    app.set("seed", None)

    app.assert_calm()
    assert to_plain(app.experiment) == before
    assert app.test.number_input(key="seed").value == 7


def test_a_refused_field_of_a_file_is_named_as_it_stands_there():
    app = App().open_file(b'{"version":1,"preset":"apple","seed":0,"mask":5}')

    (warning,) = app.warnings
    assert "the field mask is not" in warning
