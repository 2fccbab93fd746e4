"""The equation of an experiment, with the shape of every factor under its symbol.

Shapes are read off the trace, never derived a second time, and must chain: a test multiplies
them through for every setting.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from attention_core import Experiment, ExperimentTrace

Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A symbol of the equation and its shape."""

    symbol: str  # LaTeX
    shape: Shape

    def latex(self) -> str:
        size = r" \times ".join(map(str, self.shape))
        return rf"\underset{{{size}}}{{{self.symbol}}}"


@dataclass(frozen=True, slots=True)
class Equation:
    """result = template, in which <0>, <1>, ... stand for the factors."""

    result: Term
    template: str
    factors: tuple[Term, ...]

    def latex(self) -> str:
        right = self.template
        for index, factor in enumerate(self.factors):
            right = right.replace(f"<{index}>", factor.latex())
        return f"{self.result.latex()} = {right}"


def equations(experiment: Experiment, trace: ExperimentTrace) -> list[Equation]:
    """From X to the output, one line a step, for the settings of this experiment."""
    attention = trace.attention
    one = attention.head(0)
    n_heads = experiment.n_heads
    h = "_h" if n_heads > 1 else ""

    lines = []
    X = Term("X", trace.X.shape)
    if trace.positions is not None:
        source = Term("X'", trace.inputs.shape)
        lines.append(Equation(source, "<0> + <1>", (X, Term("P", trace.positions.shape))))
        X = source
    turned = "'" if experiment.is_rotary else ""
    Q, K = Term(f"Q{turned}{h}", one.Q.shape), Term(f"K{turned}{h}", one.K.shape)
    V = Term(f"V{h}", one.V.shape)
    for result, letter in ((Q, "Q"), (K, "K"), (V, "V")):
        W = getattr(attention, f"W_{letter}")[0]
        weight = Term(rf"W_{{{letter}{',h' if h else ''}}}", W.shape)
        is_turned = turned and letter != "V"
        projection = r"\operatorname{RoPE}(<0> <1>)" if is_turned else "<0> <1>"
        lines.append(Equation(result, projection, (X, weight)))

    head = Term(f"H{h}" if h or attention.W_O is not None else "O", one.output.shape)
    scores = "<0> <1>"
    if experiment.is_scaled:
        scores = rf"\frac{{<0> <1>}}{{\sqrt{{{experiment.d_k}}}}}"
    key = f"{{{K.symbol}}}" if turned else K.symbol  # a prime and ᵀ would be two superscripts
    K_transposed = Term(rf"{key}^{{\top}}", np.swapaxes(one.K, -1, -2).shape)
    added = []
    if trace.bias is not None:
        added.append(Term(f"B{h}", trace.bias[0].shape))
    if experiment.mask.kinds:
        added.append(Term("M", one.allowed.shape))
    if not added and n_heads == 1:
        # \left and \right would reach over the buttons above the formula, and catch their clicks.
        softmax = rf"\operatorname{{softmax}}\Bigg({scores}\Bigg) <2>"
        lines.append(Equation(head, softmax, (Q, K_transposed, V)))
    else:  # in two lines, each of which fits a phone
        S = Term(f"S{h}", one.scores.shape)
        terms = "".join(f" + <{index}>" for index in range(2, 2 + len(added)))
        lines.append(Equation(S, scores + terms, (Q, K_transposed, *added)))
        softmax = r"\operatorname{softmax}\big(<0>\big) <1>"
        lines.append(Equation(head, softmax, (S, V)))

    if n_heads > 1:
        heads = rf"\big[H_1 \cdots H_{{{n_heads}}}\big]"
        joined = Term(heads, attention.concatenated.shape)
    else:
        joined = head
    output = Term("O", attention.output.shape)
    if attention.W_O is not None:
        lines.append(Equation(output, "<0> <1>", (joined, Term("W_O", attention.W_O.shape))))
    elif n_heads > 1:
        lines.append(Equation(output, "<0>", (joined,)))
    return lines


def markdown(experiment: Experiment, trace: ExperimentTrace) -> str:
    """All equations as one text, which breaks between them; one element draws faster than many."""
    lines = (equation.latex() for equation in equations(experiment, trace))
    return " &emsp; ".join(rf"$\displaystyle {{{line}}}$" for line in lines)  # braces: no break
