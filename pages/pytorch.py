"""The current experiment in PyTorch: the same numbers, other conventions, gradients, and a fit."""

from playground import lesson, shell
from playground.steps import (
    pytorch_batch,
    pytorch_code,
    pytorch_conventions,
    pytorch_fit,
    pytorch_gradients,
    pytorch_parity,
)

t = shell.open_page(has_board=True)

lesson.page(
    t,
    "pytorch",
    {
        "parity": lesson.with_torch(pytorch_parity.draw),
        "conventions": lesson.with_torch(pytorch_conventions.draw),
        "batch": lesson.with_torch(pytorch_batch.draw),
        "gradients": lesson.with_torch(pytorch_gradients.draw),
        "fit": lesson.with_torch(pytorch_fit.draw),
        "code": lesson.with_torch(pytorch_code.draw),
    },
)
