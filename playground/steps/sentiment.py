"""What the later steps of the lesson on trained attention begin with: which model they look at."""

from playground import lesson, running, session
from playground.lessons import sentiment
from playground.lessons.sentiment import TRAIN, Trained
from playground.texts import Texts


def choose(t: Texts) -> Trained | None:
    """One of the trained models, or the way to train some."""
    choices = sentiment.choices(sentiment.training(running.job(TRAIN)))
    if not choices:
        lesson.press(
            t("sentiment.go_train"),
            ":material/play_arrow:",
            session.set_setting,
            "sentiment.step",
            "train",
        )
        return None
    kinds = {kind: name for kind, name in sentiment.names(t).items() if (kind, 0) in choices}
    kind = lesson.choose("sentiment.model", t("sentiment.model"), kinds, default=[*kinds][-1])
    return choices[kind, 0]
