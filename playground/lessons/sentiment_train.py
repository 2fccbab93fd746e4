"""What the step "train" shows: curves, a table, and sentences made from them."""

from playground.charts import Chart, Line, figure
from playground.figures import Figure
from playground.lessons.sentiment import MODELS, Training, names
from playground.palette import Theme
from playground.texts import Texts


def curves(t: Texts, training: Training, theme: Theme) -> Figure:
    """The accuracy of each run on validation sentences after each epoch."""
    lines = [
        Line(
            names(t)[run.architecture.kind],
            [epoch.number for epoch in run.epochs],
            [epoch.accuracy for epoch in run.epochs],
            MODELS.index(run.architecture.kind),
        )
        for run in training.runs
    ]
    return figure(
        [
            Chart(
                t("sentiment.train.accuracy"),
                t("sentiment.train.epoch"),
                t("sentiment.train.accuracy"),
                lines,
                y_range=(0.0, 1.02),
            )
        ],
        theme,
    )


def found(t: Texts, training: Training) -> list[str]:
    """What came out so far."""
    return [
        f"{names(t)[run.architecture.kind]} {run.seed}: {run.accuracy:.3f}" for run in training.runs
    ]
