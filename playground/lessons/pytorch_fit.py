"""What the lesson on PyTorch shows of gradient descent that looks for a pattern of attention."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_core import Experiment, to_plain
from attention_core.arrays import FloatArray
from playground.charts import Chart, Line, figure
from playground.exhibit import Exhibit
from playground.figures import Figure
from playground.jobs import Tell, Work
from playground.lessons import tokens
from playground.numerals import short
from playground.palette import Theme
from playground.pipeline import Matrix, axis_labels
from playground.texts import Texts

if TYPE_CHECKING:
    from attention_core.neural.fitting import Beginning, Course, Moment, Pattern

RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
STEPS = (50, 100, 200, 400, 800, 1600)
RATE, N_STEPS = 0.1, 400  # at first

# A fit would be over before one has looked; so it takes a few seconds, however many steps.
_PAUSE, _MOST_PAUSED = 0.012, 5.0
_CLOSE = 1.01  # times the lowest loss that is possible: as good as there
_ROUNDED = 0.01  # of the loss, or of 1: what rounding the matrices may change without a word


@dataclass(frozen=True, eq=False, slots=True)
class Task:
    """What is to be fitted."""

    experiment: Experiment
    head: int
    target: FloatArray  # (n_tokens, n_tokens)
    is_painted: bool  # rather than named
    learning_rate: float
    n_steps: int
    begin_at: "Beginning"


def task(
    e: Experiment,
    head: int,
    setting: Callable[[str, Any], Any],
    painted: Iterable[Sequence[int]],
) -> Task:
    """What the inputs of the lesson describe.

    Args:
        e: The current experiment.
        head: That is followed.
        setting: Gives what an input is set to, or its default.
        painted: (query, key) of the cells that are asked for by hand.
    """
    from attention_core.neural.fitting import pattern

    name = setting("pytorch.fit.pattern", "previous")
    cells = [(query, key) for query, key in painted]
    return Task(
        e,
        head,
        pattern(name, e.mask.allowed(e.n_tokens), cells),
        name == "painted",
        setting("pytorch.fit.rate", RATE),
        setting("pytorch.fit.steps", N_STEPS),
        setting("pytorch.fit.begin", "drawn"),
    )


def work(task: Task) -> Work:
    """The fit as a job that shows its course so far."""

    def run(tell: Tell) -> "Course":
        from attention_core.neural.fitting import fit

        steps = count()
        # Many short pauses would be longer than they should be.
        every = math.ceil(_PAUSE * task.n_steps / _MOST_PAUSED) or 1

        def told(done: float, course: "Course") -> None:
            tell(done, course)
            if next(steps) % every == 0:
                time.sleep(_PAUSE)

        return fit(
            task.experiment,
            task.head,
            task.target,
            learning_rate=task.learning_rate,
            n_steps=task.n_steps,
            begin_at=task.begin_at,
            tell=told,
        )

    return run


def pattern_names(t: Texts) -> dict["Pattern", str]:
    """What can be asked for."""
    return {
        "previous": t("pytorch.fit.previous"),
        "identity": t("pytorch.fit.identity"),
        "first": t("pytorch.fit.first"),
        "uniform": t("pytorch.fit.uniform"),
        "painted": t("pytorch.fit.painted"),
    }


def beginning_names(t: Texts) -> dict["Beginning", str]:
    """Where a fit can begin."""
    return {"drawn": t("pytorch.fit.drawn"), "own": t("pytorch.fit.own")}


def start(task: Task) -> Experiment:
    """The experiment as the fit would begin with it."""
    from attention_core.neural.fitting import beginning

    return beginning(task.experiment, task.head) if task.begin_at == "drawn" else task.experiment


def is_of(course: "Course", task: Task) -> bool:
    """Whether a fit was about this: only W_Q and W_K of its head may differ."""
    e, then = task.experiment, course.experiment
    if course.head != task.head or not np.array_equal(course.target, task.target):
        return False
    return e.W_Q.shape == then.W_Q.shape and _others(e, course.head) == _others(then, course.head)


def _others(e: Experiment, head: int) -> dict[str, Any]:
    """All of an experiment but the two matrices that are fitted."""
    from attention_core.neural.fitting import with_head

    return to_plain(with_head(e, head, np.zeros_like(e.W_Q[head]), np.zeros_like(e.W_K[head])))


def with_moment(e: Experiment, head: int, moment: "Moment") -> Experiment:
    """The experiment with the matrices of this moment."""
    from attention_core.neural.fitting import with_head

    return with_head(e, head, moment.W_Q, moment.W_K)


def has(e: Experiment, head: int, moment: "Moment") -> bool:
    """Whether the experiment has the matrices of this moment."""
    return np.array_equal(e.W_Q[head], moment.W_Q) and np.array_equal(e.W_K[head], moment.W_K)


# --- the board and the curve


def fitted(
    t: Texts,
    e: Experiment,
    head: int,
    target: FloatArray,
    *,
    is_paintable: bool = False,
    is_running: bool = False,
) -> Exhibit:
    """The target, the weights of this experiment, and the matrices that make them."""
    from attention_core.neural.fitting import forbidden

    steps = e.trace().attention.head(head)
    cells = forbidden(target, e.mask.allowed(e.n_tokens))

    def of(id: str, symbol: str, stage: str, values: FloatArray, **more: object) -> Matrix:
        axes = ("features", "dims") if stage == "fitted" else ("tokens", "tokens")
        return Matrix(id, symbol, stage, values, *axes, **more)  # type: ignore[arg-type]

    return Exhibit(
        None if is_running else "pytorch.fit",  # else everything would be marked as moved
        {"asked": t("pytorch.fit.asked_stage"), "fitted": t("pytorch.fit.fitted_stage")},
        [
            of(
                "target",
                "T",
                "asked",
                target,
                operation={"kind": "shared"},
                are_weights=True,
                is_paintable=is_paintable,
                marked=cells if cells.any() else None,
                mark=t("pytorch.fit.forbidden_mark") if cells.any() else "",
                name=t("pytorch.fit.target"),
                about=t("pytorch.fit.target_about"),
            ),
            of(
                "fitted_weights",
                "A",
                "asked",
                steps.weights,
                operation={"kind": "told", "text": t("pytorch.fit.weights_told")},
                are_weights=True,
                name=t("pytorch.fit.weights"),
                about=t("pytorch.fit.weights_about"),
            ),
            of(
                "missing",
                "",
                "asked",
                steps.weights - target,
                operation={"kind": "difference", "of": ["fitted_weights", "target"]},
                reach=1.0,
                name=t("pytorch.fit.missing"),
                about=t("pytorch.fit.missing_about"),
            ),
            *(
                of(
                    f"fitted_W_{letter}",
                    f"W_{letter}",
                    "fitted",
                    getattr(e, f"W_{letter}")[head],
                    operation={"kind": "told", "text": t("pytorch.fit.matrix_told")},
                    name=t("pytorch.fit.matrix", letter=letter),
                    about=t("pytorch.fit.matrix_about"),
                )
                for letter in ("Q", "K")
            ),
        ],
        axis_labels(e, t.group("feature")),
    )


def curve(t: Texts, course: "Course", step: int, theme: Theme) -> Figure:
    """The loss after each step, the lowest one that is possible, and the step that is shown."""
    bound = lowest(course.experiment, course.head, course.target)
    lines = [Line(t("pytorch.fit.loss"), range(len(course.losses)), course.losses)]
    if bound > 0:
        ends = [0.0, float(course.n_steps)]
        lines.append(Line(t("pytorch.fit.lowest"), ends, [bound, bound], 1, "dashed"))
    return figure(
        [
            Chart(
                t("pytorch.fit.curve"),
                t("pytorch.fit.step"),
                t("pytorch.fit.loss"),
                lines,
                is_y_log=True,
                x_range=(0, course.n_steps),
                x_marks=[step],
            )
        ],
        theme,
    )


# --- sentences


def progress(t: Texts, course: "Course") -> str:
    """What is being fitted, and how far it is."""
    return t(
        "pytorch.fit.progress",
        step=len(course.losses) - 1,
        steps=course.n_steps,
        loss=short(course.losses[-1]),
        head=course.head + 1,
        rate=f"{course.learning_rate:g}",
    )


def obstacle(t: Texts, task: Task) -> str:
    """Why the fit cannot begin, or ""."""
    from attention_core.neural.fitting import forbidden

    e, target = task.experiment, task.target
    if not target.any():
        return t("pytorch.fit.nothing")
    count = int(forbidden(target, e.mask.allowed(e.n_tokens)).sum())
    return t("pytorch.fit.forbidden", count=count) if count else ""


def found_before(t: Texts, task: Task) -> list[str]:
    """How far the weights are from the target, and whether anything stands in the way."""
    from attention_core.neural.fitting import loss_of

    reason = obstacle(t, task)
    if reason:
        return [reason]
    e, head, target = start(task), task.head, task.target
    weights = e.trace().attention.heads.weights[head]
    loss, gap = loss_of(target, weights), float(np.abs(weights - target)[_asked(target)].max())
    said = t("pytorch.fit.before", loss=_written(loss), gap=short(gap))
    return [said, *_bound_told(t, e, lowest(e, head, target))]


def found_after(t: Texts, course: "Course", moment: "Moment", *, is_running: bool) -> list[str]:
    """What gradient descent has reached, and why not more."""
    from attention_core.neural.fitting import loss_of

    e, target = course.at(moment), course.target
    weights = e.trace().attention.heads.weights[course.head]
    loss = loss_of(target, weights)  # of the board; the course has that before it was rounded
    gaps = np.where(_asked(target)[:, None], np.abs(weights - target), 0.0)
    place = int(gaps.max(axis=-1).argmax())
    said = t(
        "pytorch.fit.after",
        step=moment.step,
        first=short(course.losses[0]),
        loss=_written(loss),
        gap=short(float(gaps.max())),
        token=tokens.named(e, place),
    )
    if is_running:
        return [said]
    bound = lowest(e, course.head, target)
    told = _bound_told(t, e, bound)
    if abs(loss - moment.loss) > _ROUNDED * max(1.0, moment.loss):
        told.insert(0, t("pytorch.fit.rounded", loss=short(moment.loss)))
    if moment is not course.moments[-1]:
        return [said, *told]
    if bound > 0:
        far = t("pytorch.fit.above_bound", d_k=e.d_k, d_model=e.d_model)
        told.append(t("pytorch.fit.at_bound") if moment.loss <= _CLOSE * bound else far)
    elif gaps.max() > 0.1:
        told.append(t("pytorch.fit.unfinished", d_k=e.d_k, d_model=e.d_model))
    return [said, *told]


def lowest(e: Experiment, head: int, target: FloatArray) -> float:
    """The loss that nothing can go below, 0 where it is but rounding."""
    from attention_core.neural.fitting import least_loss

    bound = least_loss(e, head, target)
    return bound if bound > 1e-9 else 0.0


def _bound_told(t: Texts, e: Experiment, bound: float) -> list[str]:
    """Which tokens stand in the way of a perfect fit, and how low the loss can be at best."""
    from attention_core.neural.fitting import turns, twins

    told = [t("pytorch.fit.twins", tokens=tokens.listed(t, e, places)) for places in twins(e)]
    if told:
        told.append(_alike(t, e))
    if bound == 0:
        return told if turns(e) and told else [t("pytorch.fit.no_bound")]
    inputs = e.trace().inputs
    zeros = [place for place in range(e.n_tokens) if not inputs[place].any()]
    if zeros:
        told.append(t("pytorch.fit.zeros", tokens=tokens.listed(t, e, zeros)))
    return [*told, t("pytorch.fit.bound", bound=short(bound))]


def _written(loss: float) -> str:
    return short(loss) if np.isfinite(loss) else "∞"


def _alike(t: Texts, e: Experiment) -> str:
    """What follows for tokens with the same inputs."""
    from attention_core.neural.fitting import turns

    if turns(e):
        return t("pytorch.fit.alike_turned")
    return t("pytorch.fit.alike_alibi") if e.encoding == "alibi" else t("pytorch.fit.alike")


def _asked(target: FloatArray) -> FloatArray:
    rows: FloatArray = target.sum(axis=-1) > 0
    return rows
