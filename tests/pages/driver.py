"""Drives the app without a browser, and reads what a page tells the browser."""

import json
from pathlib import Path

import numpy as np
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from attention_core import Experiment
from playground import link, shell
from playground.catalog import LESSONS
from playground.pipeline import pipeline
from playground.texts import Texts

ROOT = Path(__file__).parents[2]

shell.HEAD_START = 0  # there is no browser to wait for


class App:
    """One learner's session, that begins on one of the pages, or at the bare address."""

    def __init__(
        self, lesson=LESSONS[0].id, *, locale="en-US", theme="light", brought=None, **query
    ):
        """`brought` is what the inputs of the browser show, if it comes from another server."""
        self.test = AppTest.from_file(ROOT / "app.py", default_timeout=30)
        self.test.context.update(locale=locale, theme=theme, url="http://localhost:8501/")
        self.test.query_params.update(query)
        if lesson is None:
            self.test.run()
        else:
            self.visit(lesson, brought)

    def visit(self, lesson, states=None):
        """Go to a page, as the menu or a deep link does."""
        self.test.switch_page(f"pages/{lesson}.py")._run(states)
        return self

    def on_another_server(self, lesson=LESSONS[0].id, *, states=None, **query):
        """The same browser, when its server has gone and it has found another."""
        states = states or self.test._tree.get_widget_states()
        said = {name: value for name, value in self.address["query"].items() if value}
        return App(lesson, brought=states, **(said | query))

    # --- what is done

    def set(self, key, value):
        """Give the input of this key another value, as a hand does."""
        (widget,) = [element for element in self.test if getattr(element, "key", None) == key]
        widget.set_value(value)
        return self._answer()

    def press(self, label):
        (button,) = [button for button in self.test.button if button.label == label]
        button.click()
        return self._answer()

    def unfold(self, section):
        """Open a section that is drawn only then."""
        self.test.session_state[section] = True
        self.test.run()
        return self

    def open_file(self, content):
        self.unfold("take_away")
        self.test.file_uploader(key="file").set_value(("a.json", content, "application/json")).run()
        return self

    def send(self, *edits, revision=None, mount="board 1", attempt=1, of=None):
        """What the board in the browser sends. AppTest has no public way to do it."""
        seen = self.board["revision"] if revision is None else revision
        message = {
            "session": self.board["session"] if of is None else of,
            "mount": mount,
            "revision": seen,
            "attempt": attempt,
            "edits": list(edits),
        }
        return self._answer(self._with_state(edits=message))

    def paint(self):
        """The board says that it is painted."""
        self.test._run(self._with_state(painted=self.board["address"]["run"]))
        return self

    def _with_state(self, **state):
        """What all inputs show, and what the board says."""
        states = self.test._tree.get_widget_states()
        sent = WidgetState(id=self._component("board").id)
        sent.json_value = json.dumps(state)
        states.widgets.append(sent)
        return states

    def _answer(self, states=None):
        """Run what was done; where only parts were run, all once more.

        AppTest knows no more than the last run drew.
        """
        if states is None:
            self.test.run()
        else:
            self.test._run(states)
        keys = {getattr(element, "key", None) for element in self.test}
        self.was_whole = "language" in keys
        if not self.was_whole:
            self.test.run()
        return self

    # --- what is shown

    @property
    def t(self):
        return Texts(self.test.session_state["work"]["language"])

    @property
    def board(self):
        return json.loads(self._component("board").bytes)

    @property
    def address(self):
        """What the address bar shall hold, which a board keeps where there is one."""
        if self._components("board"):
            return self.board["address"]
        return json.loads(self._component("address_bar").bytes)

    @property
    def experiment(self) -> Experiment:
        """The experiment of the link in the address bar."""
        return link.decode(self.address["query"]["e"])

    @property
    def figure(self):
        (chart,) = self.test.get("plotly_chart")
        return json.loads(chart.proto.spec)

    @property
    def warnings(self):
        return [warning.value for warning in self.test.warning]

    @property
    def errors(self):
        return [error.value for error in self.test.error]

    def markdown(self):
        """Every text that the browser will read as Markdown."""
        elements = [*self.test.markdown, *self.test.caption, *self.test.latex, *self.test.title]
        alerts = [*self.test.warning, *self.test.error, *self.test.info]
        texts = [element.value for element in elements + alerts + list(self.test.subheader)]
        tables = [str(value) for table in self.test.table for value in table.value.to_numpy().flat]
        labels = [getattr(element, "label", "") for element in self.test]
        helps = [getattr(element, "help", "") for element in self.test]
        return texts + tables + [text for text in labels + helps if isinstance(text, str)]

    def assert_calm(self):
        """Nothing failed and nothing warns."""
        assert [exception.value for exception in self.test.exception] == []
        assert self.errors == []
        assert self.warnings == []

    def assert_shows(self, experiment, head=0):
        """The board holds exactly what the core computes for this experiment."""
        expected = {m.id: m.values for m in pipeline(experiment, experiment.trace(), head)}
        shown = {matrix["id"]: matrix["values"] for matrix in self.board["matrices"]}
        assert list(shown) == list(expected)
        for id, values in expected.items():
            finite = np.where(np.isneginf(values), np.nan, values)
            np.testing.assert_array_equal(np.array(shown[id], dtype=float), finite, id)
        assert self.board["axes"]["tokens"] == list(experiment.tokens)

    def assert_consistent(self, head=0):
        """The address bar, the board and the core agree, and all is calm."""
        self.assert_calm()
        self.assert_shows(self.experiment, head)

    def _component(self, name):
        (component,) = self._components(name)
        return component

    def _components(self, name):
        return [
            element.proto
            for element in self.test.get("bidi_component")
            if element.proto.component_name.startswith(f"playground.{name}-")
        ]
