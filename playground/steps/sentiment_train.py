"""The step in which models are trained: which ones, how, and how it goes."""

from playground import lesson, running, session, shell
from playground.lessons import sentiment, sentiment_train
from playground.lessons.sentiment import TRAIN
from playground.texts import Texts


def draw(t: Texts) -> None:
    """Several models learn from several seeds."""
    is_running = running.is_active(TRAIN)
    draw_inputs(t, is_running=is_running)
    view = lesson.watch(t, TRAIN, has_stop=False)
    training = sentiment.training(view)
    if training is None:
        return
    figure = sentiment_train.curves(t, training, shell.theme())
    lesson.plot(f"{TRAIN}.curves", figure, t("sentiment.train.curves_alt"))
    lesson.found(t, *sentiment_train.found(t, training), is_changing=is_running)


def draw_inputs(t: Texts, *, is_running: bool) -> None:
    """What is trained, and the button that starts and stops it."""
    lesson.choose_several(
        f"{TRAIN}.models", t("sentiment.train.models"), sentiment.names(t), default=sentiment.MODELS
    )
    lesson.press(
        t("job.stop") if is_running else t("sentiment.train.start"),
        ":material/stop:" if is_running else ":material/play_arrow:",
        stop if is_running else begin,
        t,
        key=f"{TRAIN}.run",
    )


def begin(t: Texts) -> None:
    """Let that be trained which the inputs describe."""
    plan = sentiment.plan(session.setting, t)
    lesson.start(TRAIN, sentiment.work(plan), key=(TRAIN, plan))


def stop(_: Texts) -> None:
    """Let it end."""
    running.stop(TRAIN)
