"""The formula as MathML: by hand, and for every setting."""

import re
from xml.etree import ElementTree

import pytest

from playground import formula
from playground.mathml import mathml
from tests.playground.experiments import every_setting


@pytest.mark.parametrize(
    ("latex", "inner"),
    [
        ("X", "<mi>X</mi>"),
        ("X = 12", "<mrow><mi>X</mi><mo>=</mo><mn>12</mn></mrow>"),
        ("W_{Q,h}", "<msub><mi>W</mi><mrow><mi>Q</mi><mo>,</mo><mi>h</mi></mrow></msub>"),
        (r"K_h^{\top}", "<msubsup><mi>K</mi><mi>h</mi><mo>⊤</mo></msubsup>"),
        (r"K^{\top}", "<msup><mi>K</mi><mo>⊤</mo></msup>"),
        ("X'", '<mrow><mi>X</mi><mo lspace="0" rspace="0">′</mo></mrow>'),
        (r"\frac{X}{\sqrt{2}}", "<mfrac><mi>X</mi><msqrt><mn>2</mn></msqrt></mfrac>"),
        (
            r"\underset{3 \times 2}{Q}",
            '<mrow><mspace width="0.2em"/><munder><mi>Q</mi><mrow><mn>3</mn><mo>×</mo><mn>2</mn>'
            '</mrow></munder><mspace width="0.2em"/></mrow>',
        ),
        (
            r"\operatorname{softmax}\Bigg(S\Bigg)",
            "<mrow><mi>softmax</mi><mo>&#x2061;</mo>"
            '<mo symmetric="false">(</mo><mi>S</mi><mo symmetric="false">)</mo></mrow>',
        ),
        (
            r"\big[H_1 \cdots\big]",
            '<mrow><mo stretchy="false">[</mo><msub><mi>H</mi><mn>1</mn></msub><mo>⋯</mo>'
            '<mo stretchy="false">]</mo></mrow>',
        ),
    ],
)
def test_by_hand(latex, inner):
    assert mathml(latex) == f'<math display="block">{inner}</math>'


@every_setting
def test_every_equation_says_in_mathml_what_it_says_in_latex(experiment):
    for equation in formula.equations(experiment, experiment.trace()):
        latex = equation.latex()

        tree = ElementTree.fromstring(mathml(latex))

        # Below each factor stands its shape, and each has an underset of its own.
        shapes = ["".join(node[1].itertext()) for node in tree.iter("munder")]
        terms = [equation.result, *equation.factors]
        assert sorted(shapes) == sorted("×".join(map(str, term.shape)) for term in terms)
        letters = re.sub(r"\\operatorname|\\[A-Za-z]+", "", latex)
        said = "".join("".join(node.itertext()) for node in tree.iter("mi"))
        assert sorted(said) == sorted(re.sub(r"[^A-Za-z]", "", letters))


@pytest.mark.parametrize(
    ("latex", "message"),
    [
        (r"\int x", r"\\int is no fence"),
        ("X < Y", "< is no fence"),
        (r"\frac{X}", "ends too early"),
        (r"\sqrt X", "{ was expected"),
        (r"\big<", "< is no fence"),
    ],
)
def test_what_formula_does_not_write_is_refused(latex, message):
    with pytest.raises(ValueError, match=message):
        mathml(latex)
