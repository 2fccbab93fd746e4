"""The files of a learner: made of what the screen shows, drawn when asked for, opened with care."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from attention_core import Experiment, to_plain
from attention_core.document import MOST_BYTES, from_json, to_json
from attention_core.experiment import Mask
from attention_core.export import matrices
from playground import link, session
from playground.pipeline import pipeline
from playground.session import Seen
from playground.take_away import KINDS, SECTION_KEY, UPLOAD_KEY
from playground.texts import LANGUAGES, Texts
from tests.playground.experiments import SETTINGS

every_language = pytest.mark.parametrize("language", LANGUAGES)


def page():
    """The panel, the notice that the frame would show, and a few hands on the session."""
    import streamlit as st

    from attention_core import Experiment
    from attention_core.document import to_json
    from playground import session, shell, take_away
    from playground.texts import Texts

    session.start()
    t = Texts(session.language())
    take_away.panel(t)
    notice = session.pop_notice()
    if notice:
        reason = shell.phrase(t, notice["error"], notice["fields"]) if notice["error"] else ""
        st.warning(t(f"notice.{notice['notice']}", reason=reason))
    st.code(to_json(session.experiment()))
    uniform = Experiment.from_preset("uniform")
    st.button("change", on_click=session.apply, args=(lambda _: uniform,))
    st.button("undo", on_click=session.undo, disabled=not session.can_undo())
    st.button("late", on_click=take_away._open)


class Panel:
    """The panel alone, in a session of its own."""

    def __init__(self, experiment=None, *, language="en", is_open=True):
        self.test = AppTest.from_function(page)
        self.test.query_params["lang"] = language
        if experiment is not None:
            self.test.query_params["e"] = link.encode(experiment)
        self.test.session_state[SECTION_KEY] = is_open
        self._run()

    def press(self, label):
        (button,) = [button for button in self.test.button if button.label == label]
        button.click()
        return self._run()

    def open_file(self, content):
        self.test.file_uploader(key=UPLOAD_KEY).set_value(("a.json", content, "text/plain"))
        return self._run()

    def _run(self):
        self.test.run()
        assert not self.test.exception
        return self

    @property
    def experiment(self):
        return from_json(self.test.code[0].value.encode())

    @property
    def warnings(self):
        return [warning.value for warning in self.test.warning]


def saved(monkeypatch, panel):
    """{file name: content}, made as a click on each button does."""
    buttons = {}

    def note(_, make, *, file_name, **__):
        buttons[file_name] = make

    monkeypatch.setattr(st, "download_button", note)
    panel.test.run()
    monkeypatch.undo()
    return {name: make() for name, make in buttons.items()}


# --- saving


@every_language
def test_each_kind_of_file_has_a_button(language):
    panel = Panel(language=language)

    t = Texts(language)
    assert [b.label for b in panel.test.download_button] == [t(kind.text) for kind in KINDS]
    assert panel.test.file_uploader[0].label == t("take_away.open")


def test_while_it_is_closed_nothing_of_it_is_drawn(monkeypatch):
    monkeypatch.setattr(st, "download_button", lambda *_, **__: pytest.fail("drawn"))

    panel = Panel(is_open=False)

    assert [section.label for section in panel.test.expander] == ["File"]
    assert not panel.test.file_uploader


def test_drawing_the_panel_computes_nothing(monkeypatch):
    for name in ("trace", "with_cell"):
        monkeypatch.setattr(Experiment, name, lambda *_: pytest.fail("computed"))

    assert len(Panel().test.download_button) == len(KINDS)


def test_every_file_is_made_of_the_experiment_on_the_screen(monkeypatch):
    edited = Experiment.from_preset("repeated").with_cell("X", (0, 0), 1 / 3)
    panel = Panel(edited).press("change").press("undo")

    files = saved(monkeypatch, panel)

    seen = Seen(edited, url=st.context.url or "")
    assert files == {kind.file_name: kind.make_of(seen) for kind in KINDS}
    assert to_plain(from_json(files["attention-experiment.json"].encode())) == to_plain(edited)
    arrays = np.load(io.BytesIO(files["attention.npz"]))
    np.testing.assert_array_equal(arrays["output"], edited.trace().attention.output)
    assert repr(1 / 3) in files["attention_numpy.py"]
    assert repr(1 / 3) in files["attention_torch.py"]
    assert repr(1 / 3) in files["attention.ipynb"]
    assert files["attention-csv.zip"][:2] == b"PK"


def test_a_file_is_made_without_asking_the_session(monkeypatch):
    # Streamlit makes it in a thread of its own, where st.session_state is another, empty one.
    panel = Panel()
    makers = []
    monkeypatch.setattr(st, "download_button", lambda _, make, **__: makers.append(make))
    panel.test.run()
    monkeypatch.setattr(session, "_work", lambda: pytest.fail("asked the session"))

    assert all(make() for make in makers)
    assert len(makers) == len(KINDS)


def test_a_file_is_of_what_is_seen_when_it_is_asked_for():
    def script():
        import streamlit as st

        from attention_core import Experiment
        from playground import session

        session.start()
        latest = session.latest()  # when the button was drawn
        session.apply(lambda _: Experiment.from_preset("random").resized(n_heads=3))
        session.speak("zh")
        session.show_head(2)
        three = latest()
        session.apply(lambda e: e.resized(n_heads=2))
        two = latest()
        st.json([three.language, three.head, three.experiment.n_heads, two.head])

    test = AppTest.from_function(script).run()

    assert not test.exception
    assert json.loads(test.json[0].value) == ["zh", 2, 3, 1]


@pytest.mark.parametrize("encoding", SETTINGS)
def test_the_arrays_are_those_of_the_board(encoding):
    names = {"rotated_Q": "Q", "rotated_K": "K", "head_output": "head_outputs"}
    for experiment in SETTINGS[encoding]:
        trace, arrays = experiment.trace(), matrices(experiment)
        for head in range(experiment.n_heads):
            shown = {
                names.get(matrix.id, matrix.id): matrix.values
                for matrix in pipeline(experiment, trace, head)
            }
            for name in set(shown) & set(arrays):
                array = arrays[name]
                of_head = array[head] if array.ndim == 3 else array
                np.testing.assert_array_equal(of_head, shown[name], name)
            assert {"X", "Q", "K", "V", "W_Q", "scores", "weights", "output"} <= set(shown)


# --- opening


@every_language
def test_a_saved_experiment_opens_and_can_be_undone(language):
    mask = Mask(("padding", "painted"), painted=((0, 1, False),))
    experiment = replace(Experiment.from_preset("cat").resized(n_heads=2), mask=mask)
    panel = Panel(language=language)

    opened = panel.open_file(to_json(experiment).encode()).experiment
    back = panel.press("undo").experiment

    assert to_plain(opened) == to_plain(experiment)
    assert to_plain(back) == to_plain(Experiment.from_preset())
    assert panel.warnings == []


START = '"version": 1, "preset": "apple", "seed": 0'
DEEP = 100_000


@every_language
@pytest.mark.parametrize(
    ("content", "named"),
    [
        (f"{{{START}, {START}}}", r"version"),
        (f'{{{START}, "X": {{"0": NaN}}}}', r"X\.0"),
        (f'{{{START}, "W_V": {{"7": {"9" * 5000}}}}}', r"W\_V\.7"),
        (f'{{{START}, "n_heads": {"9" * 5000}}}', r"n\_heads"),
        (f'{{{START}, "d_k": 2.0}}', r"d\_k"),
        (f'{{{START}, "d_k": true}}', r"d\_k"),
        (f'{{{START}, "mask": {"[" * DEEP}{"]" * DEEP}}}', r"experiment"),
        (f'{{{START}, "tokens": {{"3": "\\ud800"}}}}', r"tokens\.3"),
        (f'{{{START}, "**$x$**\\u202e": 1}}', r"\*\*\$x\$\*\*" + "\ufffd"),
        ('{"preset": "apple", "seed": 0}', r"version"),
        ('{"version": 9, "preset": "apple", "seed": 0}', r"version"),
        (f'{{{START}, "before": 1}}', r"before"),
    ],
    ids=lambda value: value[:60],
)
def test_what_is_wrong_in_a_file_is_named_and_nothing_is_lost(language, content, named):
    panel = Panel(Experiment.from_preset("cat"), language=language).press("change").press("undo")

    panel.open_file(content.encode())

    t = Texts(language)
    reason = t("error.FieldError", field=named)
    assert panel.warnings == [t("notice.damaged_file", reason=reason)]
    assert to_plain(panel.experiment) == to_plain(Experiment.from_preset("cat"))


@every_language
def test_a_file_that_is_too_large_is_told_so_and_how_large_it_may_be(language):
    panel = Panel(language=language).open_file(b" " * 2**20)

    (warning,) = panel.warnings
    assert Texts(language)("quantity.n_bytes") in warning
    assert str(MOST_BYTES) in warning


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\xff\xfe", b"\x80\x04N.", b"{"])
def test_a_file_that_is_no_json_is_told_so(content):
    panel = Panel(Experiment.from_preset("cat")).open_file(content)

    assert panel.warnings == [Texts("en")("notice.no_json_file")]
    assert panel.experiment.preset == "cat"


def test_a_late_message_does_not_open_a_file_again():
    panel = Panel().open_file(to_json(Experiment.from_preset("cat")).encode()).press("change")

    panel.press("late")

    assert panel.experiment.preset == "uniform"


def test_the_same_file_can_be_opened_again_by_hand():
    content = to_json(Experiment.from_preset("cat")).encode()

    panel = Panel().open_file(content).press("change").open_file(content)

    assert panel.experiment.preset == "cat"
