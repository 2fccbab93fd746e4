"""The equation on the page: its shapes multiply through and are those of the trace."""

import re
from dataclasses import replace

import pytest

from attention_core import Experiment, Mask
from playground.formula import Term, equations, markdown
from tests.playground.experiments import every_setting


def lines(experiment):
    return equations(experiment, experiment.trace())


def times(*shapes):
    """The shape of a product, whose inner sizes must agree."""
    (rows, inner), *others = shapes
    for below, columns in others:
        assert inner == below
        inner = columns
    return rows, inner


def shape_of_right_side(equation):
    shapes = [factor.shape for factor in equation.factors]
    if equation.result.symbol.startswith("S"):
        Q, K_transposed, *added = shapes
        scores = times(Q, K_transposed)
        assert all(shape == scores for shape in added)
        return scores
    if "+" in equation.template:
        assert len(set(shapes)) == 1
        return shapes[0]
    return times(*shapes)


@every_setting
def test_the_shapes_of_every_line_multiply_through(experiment):
    for equation in lines(experiment):
        assert equation.result.shape == shape_of_right_side(equation)


@every_setting
def test_every_factor_stands_in_its_line(experiment):
    for equation in lines(experiment):
        places = sorted(set(re.findall(r"<(\d)>", equation.template)))

        assert places == [str(i) for i in range(len(equation.factors))]
        assert not re.search(r"<\d>", equation.latex())


@every_setting
def test_a_symbol_has_one_shape_and_is_made_before_it_is_used(experiment):
    shape_of = {}
    for equation in lines(experiment):
        for factor in equation.factors:
            transposed = factor.symbol.removesuffix(r"^{\top}")
            shape = factor.shape if transposed == factor.symbol else factor.shape[::-1]
            assert shape_of.setdefault(transposed, shape) == shape
        assert equation.result.symbol not in shape_of
        shape_of[equation.result.symbol] = equation.result.shape

    assert equation.result.symbol == "O"


@every_setting
def test_the_shapes_are_those_of_the_trace(experiment):
    trace = experiment.trace()
    attention, one = trace.attention, trace.attention.head(0)
    h, comma_h = ("_h", ",h") if experiment.n_heads > 1 else ("", "")
    turned = "'" if experiment.encoding == "rotary" else ""
    expected = {
        "X": trace.X.shape,
        f"Q{turned}{h}": one.Q.shape,
        (rf"{{K'{h}}}^{{\top}}" if turned else rf"K{h}^{{\top}}"): one.K.T.shape,
        f"V{h}": one.V.shape,
        f"W_{{Q{comma_h}}}": experiment.W_Q[0].shape,
        f"W_{{K{comma_h}}}": experiment.W_K[0].shape,
        f"W_{{V{comma_h}}}": experiment.W_V[0].shape,
        "O": attention.output.shape,
    }
    if experiment.W_O is not None:
        expected["W_O"] = experiment.W_O.shape
    if experiment.n_heads > 1:
        expected["H_h"] = one.output.shape
        expected[r"\big[H_1 \cdots H_{3}\big]"] = attention.concatenated.shape
    if experiment.mask.kinds or trace.bias is not None or experiment.n_heads > 1:
        expected[f"S{h}"] = one.masked_scores.shape
    if experiment.mask.kinds:
        expected["M"] = one.allowed.shape
    if trace.bias is not None:
        expected[f"B{h}"] = trace.bias[0].shape
    if trace.positions is not None:
        expected |= {"P": trace.positions.shape, "X'": trace.inputs.shape}

    terms = [term for line in lines(experiment) for term in (line.result, *line.factors)]

    shown = {term.symbol: term.shape for term in terms}
    assert expected.items() <= shown.items()
    assert set(shown) - set(expected) <= {f"K{turned}{h}", "H"}


@every_setting
def test_the_equation_shows_exactly_the_settings(experiment):
    latex = " ".join(line.latex() for line in lines(experiment))

    assert (r"\sqrt" in latex) == experiment.is_scaled
    assert (rf"\sqrt{{{experiment.d_k}}}" in latex) == experiment.is_scaled
    assert ("{M}" in latex) == bool(experiment.mask.kinds)
    assert ("{P}" in latex) == (experiment.encoding in ("sinusoidal", "learned"))
    assert ("RoPE" in latex) == (experiment.encoding == "rotary")
    assert ("{B" in latex) == (experiment.encoding == "alibi")
    assert ("{W_O}" in latex) == (experiment.W_O is not None)
    assert ("H_h" in latex) == (experiment.n_heads > 1)


@every_setting
def test_the_latex_is_balanced(experiment):
    for line in lines(experiment):
        depth, latex = 0, line.latex()
        for character in latex:
            depth += {"{": 1, "}": -1}.get(character, 0)
            assert depth >= 0

        assert depth == 0


@every_setting
def test_one_text_holds_every_line_in_order_and_can_break_between_them(experiment):
    text = markdown(experiment, experiment.trace())

    formulas = re.findall(r"\$\\displaystyle \{([^$]*)\}\$", text)  # in braces: none breaks itself
    assert formulas == [line.latex() for line in lines(experiment)]
    assert set(re.sub(r"\$[^$]*\$", "", text).split()) <= {"&emsp;"}


def test_a_term_stands_above_its_shape():
    assert Term("W_O", (4, 3)).latex() == r"\underset{4 \times 3}{W_O}"


def test_the_default_is_the_equation_of_the_paper():
    def term(symbol, rows, columns):
        return rf"\underset{{{rows} \times {columns}}}{{{symbol}}}"

    X, transposed = term("X", 3, 2), term(r"K^{\top}", 2, 3)
    Q, K, V, output = (term(symbol, 3, 2) for symbol in "QKVO")

    scores = rf"\frac{{{Q} {transposed}}}{{\sqrt{{2}}}}"

    latex = [line.latex() for line in lines(Experiment.from_preset())]

    assert latex == [
        f"{Q} = {X} {term('W_{Q}', 2, 2)}",
        f"{K} = {X} {term('W_{K}', 2, 2)}",
        f"{V} = {X} {term('W_{V}', 2, 2)}",
        rf"{output} = \operatorname{{softmax}}\Bigg({scores}\Bigg) {V}",
    ]


@pytest.mark.parametrize(
    ("settings", "scores"),
    [
        ({}, r"\frac{<0> <1>}{\sqrt{2}}"),
        ({"is_scaled": False}, "<0> <1>"),
    ],
)
def test_scores_to_which_nothing_is_added_stand_inside_the_softmax(settings, scores):
    experiment = replace(Experiment.from_preset(), **settings)

    *_, last = lines(experiment)

    assert last.template == rf"\operatorname{{softmax}}\Bigg({scores}\Bigg) <2>"


@pytest.mark.parametrize(
    ("settings", "scores", "added"),
    [
        ({"mask": Mask(("causal",))}, r"\frac{<0> <1>}{\sqrt{2}} + <2>", ["M"]),
        ({"is_scaled": False, "encoding": "alibi"}, "<0> <1> + <2>", ["B"]),
        (
            {"encoding": "alibi", "mask": Mask(("window",))},
            r"\frac{<0> <1>}{\sqrt{2}} + <2> + <3>",
            ["B", "M"],
        ),
    ],
)
def test_scores_to_which_something_is_added_have_a_line_of_their_own(settings, scores, added):
    experiment = replace(Experiment.from_preset(), **settings)

    *_, S, O = lines(experiment)  # noqa: E741

    assert S.template == scores
    assert [term.symbol for term in S.factors[2:]] == added
    assert O.template == r"\operatorname{softmax}\big(<0>\big) <1>"
    assert [term.symbol for term in O.factors] == ["S", "V"]


def test_all_lines_are_one_text_that_may_break_between_them():
    experiment = Experiment.from_preset()

    text = markdown(experiment, experiment.trace())

    assert text.split(" &emsp; ") == [
        rf"$\displaystyle {{{line.latex()}}}$" for line in lines(experiment)
    ]
