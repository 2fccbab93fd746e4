"""The current experiment in PyTorch: the same numbers, other conventions, gradients, and a fit."""

from playground import lesson, shell
from playground.texts import Texts

t = shell.open_page(has_board=True)


def draw_parity(t: Texts) -> None:
    """The experiment through all routes, and how far they lie apart."""


def draw_conventions(t: Texts) -> None:
    """What differs by convention, with the real calls and the measured effect."""


def draw_batch(t: Texts) -> None:
    """Sentences of unequal length, padded together."""


def draw_gradients(t: Texts) -> None:
    """What one cell of the output depends on, and how gradients die."""


def draw_fit(t: Texts) -> None:
    """Gradient descent looks for a pattern."""


def draw_code(t: Texts) -> None:
    """The layer that this page runs, from its source, and the experiment as a script."""


lesson.page(
    t,
    "pytorch",
    {
        "parity": lesson.with_torch(draw_parity),
        "conventions": lesson.with_torch(draw_conventions),
        "batch": lesson.with_torch(draw_batch),
        "gradients": lesson.with_torch(draw_gradients),
        "fit": lesson.with_torch(draw_fit),
        "code": lesson.with_torch(draw_code),
    },
)
