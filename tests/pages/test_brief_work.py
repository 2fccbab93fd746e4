"""What takes some tenths of a second within a run is done for one learner at a time."""

import pytest

from playground import running
from playground.lessons import scaling, sentiment, sentiment_texts
from tests.pages.driver import App
from tests.pages.test_sentiment_texts import paste
from tests.pages.test_sentiment_weights import upload


@pytest.fixture
def held(monkeypatch):
    """Whether others had to wait, each time that the work was done."""
    seen = []

    def watch(module, name):
        work = getattr(module, name)

        def watched(*given):
            seen.append(running.BRIEF_WORK.locked())
            return work(*given)

        monkeypatch.setattr(module, name, watched)
        return seen

    return watch


def test_samples_are_drawn_for_one_at_a_time(held):
    seen = held(scaling, "drawn")

    App("scaling").set("scaling.seed", 4_321)

    assert len(seen) >= len(scaling.WIDTHS)
    assert all(seen)
    assert not running.BRIEF_WORK.locked()


def test_tables_are_read_for_one_at_a_time(held):
    seen = held(sentiment_texts, "opened")

    paste(App("sentiment", s="texts").set("sentiment.texts.source", "own"), "x,1")

    assert seen == [True]
    assert not running.BRIEF_WORK.locked()


def test_models_are_opened_for_one_at_a_time_and_a_wrong_one_keeps_nobody_waiting(held):
    seen = held(sentiment, "from_file")

    upload(App("sentiment", s="weights"), b"no model")

    assert seen == [True]
    assert not running.BRIEF_WORK.locked()
