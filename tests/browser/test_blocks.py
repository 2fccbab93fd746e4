"""Blocks of numbers from the clipboard and to it: block.js, in the browser that runs it."""

import csv
import io
import json
import random
from pathlib import Path
from string import Formatter

import numpy as np
import pandas as pd
import pytest
import torch
from playwright.sync_api import Page

from playground.texts import LANGUAGES, Texts
from tests.browser import test_modules
from tests.browser.test_modules import ASSETS, call

modules = test_modules.modules

LIMIT = 1e6
LARGEST = float(np.finfo(float).max)
KINDS = ("tsv", "csv", "python")
SOURCE = Path(ASSETS / "block.js").read_text(encoding="utf-8")


def parsed(page: Page, text: str, limit: float = LIMIT) -> dict:
    return call(page, "block", "parseBlock", text, limit)


def values(page: Page, text: str) -> list:
    result = parsed(page, text)
    assert "problem" not in result, result
    return result["values"]


# --- what is read

TABLES = {
    "Excel": ("1\t2\r\n3\t4\r\n", [[1, 2], [3, 4]]),
    "Excel, decimal commas": ("1,5\t2,5\r\n-0,25\t3\r\n", [[1.5, 2.5], [-0.25, 3]]),
    "Excel, a column": ("0.5\r\n1\r\n", [[0.5], [1]]),
    "Excel, a column with decimal commas": ("1,5\n2\n3,25\n", [[1.5], [2], [3.25]]),
    "Excel, a column in which 05 can be no number": ("1,05\n2,5\n", [[1.05], [2.5]]),
    "Excel, padded": (" 1.50 \t -2.00 \r\n", [[1.5, -2]]),
    "LibreOffice, quoted": ('"1,5"\t"2,5"\n', [[1.5, 2.5]]),
    "LibreOffice, a quoted column": ('"1,5"\n"2,5"\n', [[1.5], [2.5]]),
    "old Macintosh": ("1\t2\r3\t4", [[1, 2], [3, 4]]),
    "fractions": ("1/3\t1 / 4\n½\t-1/2", [[1 / 3, 0.25], [0.5, -0.5]]),
    "every form of number": ("1e-3\t.5\t5.\t+2\t−3\t-0.\t1E+2", [[1e-3, 0.5, 5, 2, -3, 0, 100]]),
    "CSV": ("1.5,2.5\n3,4\n", [[1.5, 2.5], [3, 4]]),
    "CSV of whole numbers": ("1,2,3\n4,5,6", [[1, 2, 3], [4, 5, 6]]),
    "CSV with spaces": ("1, 2\n3, 4", [[1, 2], [3, 4]]),
    "CSV with signs": ("1,-2\n3,-4", [[1, -2], [3, -4]]),
    "CSV, quoted": ('"1","2"\n"3","4"', [[1, 2], [3, 4]]),
    "CSV, quoted decimal commas": ('"1,5","2,5"', [[1.5, 2.5]]),
    "CSV with semicolons": ("1,5;2,5\n3;4", [[1.5, 2.5], [3, 4]]),
    "semicolons and points": ("1.5;2.5", [[1.5, 2.5]]),
    "semicolons and spaces": ("1; 2; 3", [[1, 2, 3]]),
    "commas at the ends of lines": ("1, 2,\n3, 4,", [[1, 2], [3, 4]]),
    "CSV with one line that settles the commas": (
        "1,234.5\n0.25,0.75",
        [[1, 234.5], [0.25, 0.75]],
    ),
    "CSV whose hundreds another line settles": ("100,200\n0.5,0.75", [[100, 200], [0.5, 0.75]]),
    "spaces": ("  1.0   2.0\n -3.5   4.0\n", [[1, 2], [-3.5, 4]]),
    "spaces and decimal commas": ("1,5 2,5\n3,5 4,5", [[1.5, 2.5], [3.5, 4.5]]),
    "a blank line between rows": ("1 2\n\n3 4", [[1, 2], [3, 4]]),
    "Markdown": ("| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 | 4 |", [[1, 2], [3, 4]]),
    "a drawn table": ("+---+---+\n| 1 | 2 |\n+---+---+", [[1, 2]]),
    "LaTeX": ("1 & 2 \\\\ 3 & 4", [[1, 2], [3, 4]]),
    "LaTeX with its frame": (
        "\\begin{bmatrix}\n  1 & 2 \\\\\n  3 & 4 \\\\\n\\end{bmatrix}\n",
        [[1, 2], [3, 4]],
    ),
    "LaTeX, a column": ("\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", [[1], [2]]),
    "Matlab prints": ("A =\n\n     1     2\n     3     4\n\n", [[1, 2], [3, 4]]),
    "Julia prints": ("2×2 Matrix{Float64}:\n 1.0  2.0\n 3.0  4.0", [[1, 2], [3, 4]]),
    "Julia prints a vector": ("2-element Vector{Float64}:\n 1.0\n 2.0", [[1], [2]]),
    "R prints": ("     [,1] [,2]\n[1,]  1.0    2\n[2,]  3.5    4", [[1, 2], [3.5, 4]]),
    "R prints a column": ("     [,1]\n[1,]  0.5\n[2,]    1", [[0.5], [1]]),
    "full-width, as Chinese is typed": ("１，２；３，４", [[1, 2], [3, 4]]),
    "full-width spaces": ("１　２\n３　－４", [[1, 2], [3, -4]]),
    "Chinese enumeration": ("0。5、1", [[0.5, 1]]),
    "rows in one line": ("1 2; 3 4;", [[1, 2], [3, 4]]),
    "marks without width": ("\ufeff1\t\u200b2\u200e", [[1, 2]]),
    "one number": ("0.5", [[0.5]]),
    "one number with a decimal comma": ("1,5", [[1.5]]),
}

LISTS = {
    "Python": ("[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
    "Python, a row": ("[1, 2]", [[1, 2]]),
    "Python, a column": ("[[1], [2]]", [[1], [2]]),
    "Python, tuples": ("((1, 2), (3, 4))", [[1, 2], [3, 4]]),
    "Python, a tuple of one": ("(1,)", [[1]]),
    "Python, over lines": ("[\n    [1, 2],\n\t[3, 4],\n]\n", [[1, 2], [3, 4]]),
    "Python, fractions": ("[[1/3, 1 / 2]]", [[1 / 3, 0.5]]),
    "Python, rows without the outer brackets": ("[1, 2],\n[3, 4],", [[1, 2], [3, 4]]),
    "Python, with a name": ("W_Q = [[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
    "NumPy": ("np.array([[1., 2.], [3, 4.]])", [[1, 2], [3, 4]]),
    "NumPy, with a type": ("x = numpy.array([1, 2,], dtype=np.float32,)", [[1, 2]]),
    "NumPy, scalars": ("[np.float64(1.0), np.float64(-2.5)]", [[1, -2.5]]),
    "NumPy, a list of arrays": ("[array([1., 2.]), array([3., 4.])]", [[1, 2], [3, 4]]),
    "NumPy prints": ("[[ 1.  -2. ]\n [ 3.   4.5]]", [[1, -2], [3, 4.5]]),
    "NumPy prints wide rows": ("[[1. 2.\n  3.]\n [4. 5.\n  6.]]", [[1, 2, 3], [4, 5, 6]]),
    "NumPy prints rows of two lines": (
        "[[1. 2.\n  3. 4.]\n [5. 6.\n  7. 8.]]",
        [[1, 2, 3, 4], [5, 6, 7, 8]],
    ),
    "NumPy prints a long row": ("[0.1 0.2 0.3\n 0.4]", [[0.1, 0.2, 0.3, 0.4]]),
    "PyTorch": (
        "tensor([[1., 2.]], dtype=torch.float64, grad_fn=<MmBackward0>)",
        [[1, 2]],
    ),
    "PyTorch, a parameter": (
        "Parameter containing:\ntensor([[1., 2.],\n        [3., 4.]], requires_grad=True)",
        [[1, 2], [3, 4]],
    ),
    "PyTorch, on a GPU": ("torch.tensor([1., 2.], device='cuda:0')", [[1, 2]]),
    "JAX": ("Array([[1., 2.]], dtype=float32)", [[1, 2]]),
    "JSON, as compact as it can be": ("[[100,200],[300,400]]", [[100, 200], [300, 400]]),
    "Matlab": ("[1 2; 3 4]", [[1, 2], [3, 4]]),
    "Matlab, with commas": ("A = [1, 2; 3, 4];", [[1, 2], [3, 4]]),
    "Matlab, a column": ("[1; 2]", [[1], [2]]),
    "Julia": ("[1.0 2.0;\n 3.0 4.0]", [[1, 2], [3, 4]]),
    "Mathematica": ("{{1, 2}, {3, 4}}", [[1, 2], [3, 4]]),
    "full-width, as Chinese is typed": ("［［１，２］，【３、４】］", [[1, 2], [3, 4]]),
}


@pytest.mark.parametrize(("text", "block"), TABLES.values(), ids=TABLES)
def test_a_table_is_read(modules: Page, text: str, block: list):
    assert values(modules, text) == block


@pytest.mark.parametrize(("text", "block"), LISTS.values(), ids=LISTS)
def test_a_list_in_brackets_is_read(modules: Page, text: str, block: list):
    assert values(modules, text) == block


LABELLED = {
    "words above": "a\tb\n1\t2\n3\t4",
    "words before": "the\t1\t2\ncat\t3\t4",
    "words above and before": "\ta\tb\nthe\t1\t2\ncat\t3\t4",
    "a word in the corner": "token,a,b\nthe,1.0,2.0\ncat,3.0,4.0",
    "tokens of punctuation": "\t.\t,\n(\t1\t2\n[SEP]\t3\t4",
    "a token that begins with a bracket": "[CLS]\t1\t2\n[SEP]\t3\t4",
    'the token "': '"\t1\t2\n"\t3\t4',
    'the token " in CSV': "\",1.0,2.0\n',3.0,4.0",
    "a year among the tokens": "\ta\tb\nin\t1\t2\n2024\t3\t4",
    "Chinese": "\t特征 一\t特征 二\n苹果\t1\t2\n，\t3\t4",
    "pandas, to a CSV": ",0,1\n0,1.0,2.0\n1,3.0,4.0",
    "pandas, to the clipboard": "\ta\tb\n0\t1.0\t2.0\n1\t3.0\t4.0",
    "pandas, printed": "     a    b\n0  1.0  2.0\n1  3.0  4.0",
    "pandas, printed with numbers": "     0    1\n0  1.0  2.0\n1  3.0  4.0",
    "decimal commas": ";a;b\nthe;1,0;2,0\ncat;3,0;4,0",
}


@pytest.mark.parametrize("text", LABELLED.values(), ids=LABELLED)
def test_words_around_a_table_are_labels(modules: Page, text: str):
    assert values(modules, text) == [[1, 2], [3, 4]]


# --- what programs really write


def blocks(n: int) -> list:
    """Blocks whose numbers have at most two decimals, so that every program prints them whole."""
    rng = np.random.default_rng(3)
    shapes = rng.integers(1, 9, (n, 2))
    return [np.round(rng.normal(size=shape) * 3, 2) + 0.0 for shape in shapes]


def csv_text(array: np.ndarray, **options: str) -> str:
    file = io.StringIO()
    csv.writer(file, **options).writerows(array.tolist())
    return file.getvalue()


def saved(array: np.ndarray) -> str:
    file = io.StringIO()
    np.savetxt(file, array)
    return file.getvalue()


def frame(array: np.ndarray) -> pd.DataFrame:
    names = [f"f{column}" for column in range(array.shape[1])]
    return pd.DataFrame(array, [f"token{row}" for row in range(len(array))], names)


WRITERS = {
    "repr of a list": lambda a: repr(a.tolist()),
    "repr of NumPy scalars": lambda a: repr([list(row) for row in a]),
    "repr of NumPy": repr,
    "str of NumPy": str,
    "str of float32": lambda a: str(a.astype(np.float32)),
    "repr of float32": lambda a: repr(a.astype(np.float32)),
    "np.savetxt": saved,
    "PyTorch": lambda a: repr(torch.tensor(a)),
    "PyTorch, with a gradient": lambda a: repr(torch.tensor(a, requires_grad=True) * 1),
    "PyTorch, a parameter": lambda a: repr(torch.nn.Parameter(torch.tensor(a))),
    "JSON": lambda a: json.dumps(a.tolist()),
    "JSON, compact": lambda a: json.dumps(a.tolist(), separators=(",", ":")),
    "JSON, indented": lambda a: json.dumps(a.tolist(), indent=2),
    "csv": csv_text,
    "csv, with tabs": lambda a: csv_text(a, delimiter="\t"),
    "csv, with semicolons": lambda a: csv_text(a, delimiter=";"),
    "csv, all quoted": lambda a: csv_text(a, quoting=csv.QUOTE_ALL),
    "pandas, printed": lambda a: frame(a).to_string(),
    "pandas, printed without labels": lambda a: frame(a).to_string(index=False, header=False),
    "pandas, CSV": lambda a: frame(a).to_csv(),
    "pandas, CSV with a header alone": lambda a: frame(a).to_csv(index=False),
    "pandas, tabs": lambda a: frame(a).to_csv(sep="\t"),
    "pandas, German": lambda a: frame(a).to_csv(sep=";", decimal=","),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_what_a_program_writes_is_read(modules: Page, write):
    for array in blocks(25):
        text = write(array)

        assert values(modules, text) == array.tolist(), text


DECIMAL_COMMAS = {
    "a spreadsheet": lambda a: csv_text(a, delimiter="\t"),
    "csv with semicolons": lambda a: csv_text(a, delimiter=";"),
    "spaces": lambda a: csv_text(a, delimiter=" "),
    "csv, all quoted": lambda a: csv_text(a, quoting=csv.QUOTE_ALL).replace('","', '";"'),
}


@pytest.mark.parametrize("write", DECIMAL_COMMAS.values(), ids=DECIMAL_COMMAS)
def test_what_a_program_writes_with_decimal_commas_is_read(modules: Page, write):
    several_columns = [array for array in blocks(40) if array.shape[1] > 1]
    for array in several_columns:
        text = write(array).replace(".", ",")

        assert values(modules, text) == array.tolist(), text


# --- what is refused

REFUSED = {
    "": ("paste_empty", {}),
    " \n\t": ("paste_empty", {}),
    "hello world": ("paste_empty", {}),
    "[]": ("paste_empty", {}),
    "[[], []]": ("paste_empty", {}),
    "1\t2\n3\tx": ("paste_not_a_number", {"row": 2, "column": 2, "text": "x"}),
    "\ta\tb\nthe\t1\t2..5": ("paste_not_a_number", {"row": 2, "column": 3, "text": "2..5"}),
    "1\t" + "y" * 30: ("paste_not_a_number", {"row": 1, "column": 2, "text": "y" * 20 + "…"}),
    "[[1, 2], [3, x]]": ("paste_not_a_number", {"row": 2, "column": 2, "text": "x"}),
    "1_000\t2": ("paste_not_a_number", {"row": 1, "column": 1, "text": "1_000"}),
    "50%\t20%": ("paste_not_a_number", {"row": 1, "column": 1, "text": "50%"}),
    "$1\t$2": ("paste_not_a_number", {"row": 1, "column": 1, "text": "$1"}),
    "1 2½": ("paste_not_a_number", {"row": 1, "column": 2, "text": "2½"}),
    "10²\t1": ("paste_not_a_number", {"row": 1, "column": 1, "text": "10²"}),
    "1\u202f000,5\t2": ("paste_not_a_number", {"row": 1, "column": 1, "text": "1\u202f000,5"}),
    "1\u202f000,5\n2\u202f000,5": ("paste_not_a_number", {"row": 1, "column": 1}),
    "1,5 2,x": ("paste_not_a_number", {"row": 1, "column": 2, "text": "2,x"}),
    "0." + "3" * 300 + "\t1": ("paste_not_a_number", {"row": 1, "text": "0." + "3" * 18 + "…"}),
    "[[1, ..., 2]]": ("paste_not_a_number", {"row": 1, "column": 2, "text": "..."}),
    "sqrt(2)": ("paste_not_a_number", {"row": 1, "column": 1, "text": "sqrt("}),
    "[1, __import__('os')]": ("paste_not_a_number", {"row": 1, "column": 2, "text": "__import__("}),
    "[2, -np.float64(1)]": ("paste_not_a_number", {"row": 1, "column": 2, "text": "-np.float64("}),
    "nan\t1": ("paste_not_finite", {"row": 1, "column": 1, "text": "nan"}),
    "1\t-inf": ("paste_not_finite", {"row": 1, "column": 2, "text": "-inf"}),
    "[[0., -np.inf]]": ("paste_not_finite", {"row": 1, "column": 2, "text": "-np.inf"}),
    "1 −∞": ("paste_not_finite", {"row": 1, "column": 2, "text": "-∞"}),
    "NaN,Infinity": ("paste_not_finite", {"row": 1, "column": 1, "text": "NaN"}),
    "1\t\t2": ("paste_empty_cell", {"row": 1, "column": 2}),
    "1\n\n2": ("paste_empty_cell", {"row": 2, "column": 1}),
    "1,,2": ("paste_empty_cell", {"row": 1, "column": 2}),
    "[1,,2]": ("paste_empty_cell", {"row": 1, "column": 2}),
    "[[1, 2], [,3]]": ("paste_empty_cell", {"row": 2, "column": 1}),
    "[1, 2,,]": ("paste_empty_cell", {"row": 1, "column": 3}),
    "1/0\t1": ("paste_zero_division", {"row": 1, "column": 1, "text": "1/0"}),
    "1\t-1000001": ("paste_too_large", {"row": 1, "column": 2, "limit": "1,000,000"}),
    "1\t2\t3\t4\n5\t6\t7": ("paste_ragged", {"row": 2, "count": 3, "first": 4}),
    "1,5 2,5\n3,5": ("paste_ragged", {"row": 2, "count": 1, "first": 2}),
    "[[1, 2], [3]]": ("paste_ragged", {"row": 2, "count": 1, "first": 2}),
    "[1 2; 3]": ("paste_ragged", {"row": 2, "count": 1, "first": 2}),
    "1 2\n3 4 5": ("paste_ragged", {"row": 2, "count": 3, "first": 2}),
    "[[[1, 2]]]": ("paste_too_deep", {}),
    "[tensor([[1.]]), tensor([[2.]])]": ("paste_too_deep", {}),
    "[" * 5_000 + "1": ("paste_too_deep", {}),
    "[[1, 2], [3, 4]": ("paste_bracket", {"bracket": "["}),
    "[1, 2]]": ("paste_bracket", {"bracket": "]", "row": 1}),
    "[[1, 2), 3]": ("paste_bracket", {"bracket": ")", "row": 1, "column": 3}),
    "np.array([1, 2]": ("paste_bracket", {"bracket": "("}),
    "(1.5)": ("paste_parentheses", {"text": "(1.5)"}),
    "[(1.5), 2]": ("paste_parentheses", {"text": "(1.5)"}),
    "[[1, 2], 3]": ("paste_mixture", {"text": "3"}),
    "[1, 2].T": ("paste_mixture", {"text": ".T"}),
    "array([1, 2], 5)": ("paste_mixture", {"text": "5"}),
    '{"X": [1, 2]}': ("paste_mixture", {"text": '"X":'}),
    "x" * 20_001: ("paste_too_long", {"most": "20,000"}),
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: ascii(text[:30]))
def test_what_is_no_block_is_refused_by_name_and_place(modules: Page, text: str):
    key, fields = REFUSED[text]

    problem = parsed(modules, text)["problem"]

    assert problem["key"] == key
    assert {name: problem["fields"].get(name) for name in fields} == fields


UNCLEAR = {
    "one column of decimals, or two of whole numbers": "1,5\n2,5",
    "a thousand, or 1 and 0": "1,000\t2",
    "a thousand and a bit, or two numbers": "1,234.50\n2,345.60",
    "100.2, a hundred thousand, or two numbers": "100,200\n300,400",
    "a hundred thousand above 3.5, or 100 and 200 above 3 and 5": "100,200\n3,5",
    "a million": "1,000,000\n2,000,000",
    "a thousand between spaces": "1 000\n2 500",
    "four numbers, or two with decimal commas": "1,2, 3,4",
    "a label and a decimal, or a label and a number": "the 0,1",
    "a thousand in brackets": "[1,000]",
}


@pytest.mark.parametrize("text", UNCLEAR.values(), ids=UNCLEAR)
def test_what_can_be_read_in_two_ways_is_refused(modules: Page, text: str):
    assert parsed(modules, text)["problem"]["key"] == "paste_ambiguous"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1.000\t2,5", "paste_two_signs"),
        ("1.5;2,5", "paste_two_signs"),
        ("[1,5 2,5]", "paste_mixed_separators"),
        ("[1, 2 3; 4, 5 6]", "paste_mixed_separators"),
        ("[1 2\n 3 4]", "paste_line_break"),
        ("[1, 2\n 3, 4]", "paste_mixed_separators"),
        ("[1 2\n3 4; 5 6\n7 8]", "paste_line_break"),
    ],
)
def test_signs_that_contradict_each_other_are_refused(modules: Page, text: str, key: str):
    assert parsed(modules, text)["problem"]["key"] == key


@pytest.mark.parametrize(
    "text",
    [
        "O.5\t1",  # a slip is no label
        "1..2\t1",
        "1\ta\n2\tb",  # words after numbers
        "a\t1\n2\t3",  # one word among numbers
        "NA\t1\nNA\t2",  # nothing known is no name
        "#DIV/0!\t1",
        "\t2\n3\t4",  # an empty cell among numbers is no corner
        "\t0\n0\t4",
        "a\nb",
        "the 0.1,0.2",
    ],
)
def test_no_number_is_lost_as_a_label(modules: Page, text: str):
    assert "problem" in parsed(modules, text)


def test_every_refusal_has_its_text_in_both_languages_and_says_that_nothing_was_changed(
    modules: Page,
):
    texts = [*REFUSED, *UNCLEAR.values(), "1.0\t2,5", "[1,5 2,5]", "[1 2\n 3 4]"]
    problems = [parsed(modules, text)["problem"] for text in texts]
    problems.append(call(modules, "block", "roomProblem", [[1]], 0, 0))
    for language, ending in {"en": "Nothing was changed.", "zh": "没有做任何改动。"}.items():
        said = Texts(language).group("board")
        for problem in problems:
            text = said[problem["key"]]
            asked = {name for _, name, _, _ in Formatter().parse(text) if name}

            assert asked <= set(problem["fields"]), problem
            assert text.endswith(ending)
    pasted = {key for key in Texts("en").group("board") if f'"{key}"' in SOURCE}
    assert len(LANGUAGES) == 2
    assert {problem["key"] for problem in problems} == pasted


def test_nothing_that_is_pasted_is_run(modules: Page):
    modules.evaluate("window.ran = false")

    for text in ("[window.ran = true]", "`${window.ran = true}`", "array((window.ran=true))"):
        assert "problem" in parsed(modules, text)

    assert modules.evaluate("window.ran") is False
    assert not any(word in SOURCE for word in ("eval(", "Function(", "innerHTML", "JSON.parse"))


# --- room


@pytest.mark.parametrize(
    ("rows", "columns", "fits"), [(2, 3, True), (5, 5, True), (1, 3, False), (2, 2, False)]
)
def test_a_block_needs_room_for_its_rows_and_columns(
    modules: Page, rows: int, columns: int, fits: bool
):
    problem = call(modules, "block", "roomProblem", [[1, 2, 3], [4, 5, 6]], rows, columns)

    assert (problem is None) == fits
    if not fits:
        fields = {"rows": 2, "columns": 3, "room_rows": rows, "room_columns": columns}
        assert problem == {"key": "paste_no_room", "fields": fields}


# --- what is written


def doubles() -> list:
    """Blocks of doubles of all sizes, the hard ones among them."""
    rng = np.random.default_rng(11)
    bits = rng.integers(0, 2**64, 2_000, dtype=np.uint64).view(np.float64)
    bits = bits[np.isfinite(bits)].tolist()
    hard = [5e-324, LARGEST, -LARGEST, 0.1, -1 / 3, 1e6, 1e20, 1e21, 1e22, 1e-6, 1e-7, 2.0**53, 0.0]
    whole = rng.integers(-2_000, 2_000, 200).astype(float).tolist()
    numbers = hard + bits + whole + (rng.normal(size=500) * 10).tolist()
    random.Random(5).shuffle(numbers)
    shapes = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2), (4, 12), (12, 4)]
    found = []
    while len(numbers) > 48:
        rows, columns = shapes[len(found) % len(shapes)]
        taken, numbers = numbers[: rows * columns], numbers[rows * columns :]
        found.append([taken[r * columns : (r + 1) * columns] for r in range(rows)])
    plain = [[[100, 200], [300, 400]], [[1, 0], [0, 1]], [[1000]], [[1, 234]], [[1], [5]]]
    return [*plain, [[value] for value in hard], [hard], *found]


_AGAIN = """async ([blocks, kind, limit]) => {
  const { formatBlock, parseBlock } = await import("/block.js");
  return blocks.map((block) => {
    const text = formatBlock(block, kind);
    return [text, parseBlock(text, limit)];
  });
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read_back_bit_for_bit(modules: Page, kind: str):
    all_blocks = doubles()

    again = modules.evaluate(_AGAIN, [all_blocks, kind, LARGEST])

    for block, (text, result) in zip(all_blocks, again, strict=True):
        came = [list(map(float, row)) for row in result["values"]]  # 1e20 travels as an integer
        assert came == block, text
    assert len(again) > 100


@pytest.mark.parametrize("kind", KINDS)
def test_python_reads_the_very_same_doubles(modules: Page, kind: str):
    def read(text: str) -> np.ndarray:
        if kind == "python":
            return eval(text, {"__builtins__": {}, "np": np})
        rows = csv.reader(io.StringIO(text), delimiter="\t" if kind == "tsv" else ",")
        return np.array([[float(cell) for cell in row] for row in rows])

    all_blocks = doubles()

    again = modules.evaluate(_AGAIN, [all_blocks, kind, LARGEST])

    for block, (text, _) in zip(all_blocks, again, strict=True):
        array = read(text)
        assert array.dtype == np.float64, text
        assert array.tolist() == block, text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("tsv", "1\t-0.5\n1e+21\t-inf"),
        ("csv", "1.0,-0.5\n1e+21,-inf"),
        ("python", "np.array([[1.0, -0.5],\n          [1e+21, -np.inf]])"),
    ],
)
def test_a_block_is_written_as_others_write_it(modules: Page, kind: str, text: str):
    assert call(modules, "block", "formatBlock", [[1, -0.5], [1e21, None]], kind) == text


# --- one number, or a block


@pytest.mark.parametrize(
    "text",
    [
        *["1\t2", "1\n2", "1 2", "1, 2", "1,2,3", "1;2", "[0.5]", "1.5,2.5", "x\t1", "１，２"],
        *["½ ¼", "np.array([[1.0]])", "1 x", "-inf\t0", "9" * 20_001],
    ],
)
def test_several_numbers_are_a_block(modules: Page, text: str):
    assert call(modules, "block", "looksLikeBlock", text) is True


@pytest.mark.parametrize(
    "text",
    [
        *[
            "",
            "  ",
            "1",
            " -0.5\n",
            "1,5",
            "1,000",
            "1/3",
            "1 / 3",
            "½",
            "1e-3",
            "１．５",
            "abc",
            "1..2",
        ],
        *["one two", "for your information", "1/0", "-inf", "1_000"],
    ],
)
def test_one_number_or_none_is_left_to_the_cell(modules: Page, text: str):
    assert call(modules, "block", "looksLikeBlock", text) is False


@pytest.mark.parametrize("text", ["2½", "10²", "½½", "1.²"])
def test_a_raised_digit_is_never_read_as_a_plain_one(modules: Page, text: str):
    assert call(modules, "number", "parseNumber", text, LIMIT) == {"problem": "not_a_number"}


# --- whatever comes

PIECES = [
    *"0123456789.,;:-+eE/|&()[]{}\"'\\ \t\n\r_=<>x苹，、；。１－½²∞−×",
    *[", ", "\r\n", "\n\n", "1.5", "1,5", "1,000", "np.array(", "tensor(", "dtype=x", "[[", "]]"],
    *["nan", "inf", "the", "\\\\", "\\begin{a}", "\ufeff", "\u00a0", "\u202f", "A = ", "|---|"],
    *["2×2 Matrix:\n", "[1,]", "[,1]", "Parameter containing:", "\ud800", "😀", "́"],
]

_READ_ALL = """async ([texts, limit]) => {
  const { looksLikeBlock, parseBlock } = await import("/block.js");
  return texts.map((text) => [looksLikeBlock(text), parseBlock(text, limit)]);
}"""


def test_any_text_gives_a_block_or_a_reason(modules: Page):
    chance = random.Random(0)
    texts = ["".join(chance.choices(PIECES, k=chance.randrange(1, 14))) for _ in range(5_000)]
    said = Texts("en").group("board")

    results = modules.evaluate(_READ_ALL, [texts, LIMIT])

    n_read = 0
    for text, (is_block, result) in zip(texts, results, strict=True):
        assert is_block in (True, False)
        if "problem" in result:
            assert said[result["problem"]["key"]].format_map(result["problem"]["fields"])
            continue
        block = result["values"]
        assert len({len(row) for row in block}) == 1, text
        assert all(abs(value) <= LIMIT for row in block for value in row), text
        n_read += 1
    assert n_read > 200


HOSTILE = [
    *[
        "1",
        "1x",
        " ",
        "  1",
        "\t",
        "\n",
        ",",
        ", ",
        " ,",
        ";",
        "[",
        "]",
        "(",
        "a(",
        "array(",
        "[1,",
    ],
    *[
        "[1],",
        "1,",
        "1,5",
        "1,5 ",
        "1,5\n",
        "0.5 ",
        '"',
        '""',
        '"a",',
        '"\t',
        "-",
        "--|",
        "|",
        "\\\\",
    ],
    *[
        "\\begin{a}",
        "&",
        "/",
        "1 / ",
        "=",
        "a =",
        "a.",
        "½",
        "\u00a0",
        "1,000",
        "100 200 ",
        "×",
        "1,2;",
    ],
    *[
        "\u0301\u0316",
        "[1,] 1\n",
        "na ",
        "#",
        "[[1,2],",
        "1 2;",
        "Parameter containing:",
        "{",
        "x\t1\n",
    ],
]
BEGINNINGS = ["", "[", "\t"]

# Counts the blocks of code that run, and the letters that are given to functions of the language.
_COUNT = """async ([piece, beginning, size]) => {
  const { looksLikeBlock, parseBlock } = await import("/block.js");
  const text = (beginning + piece.repeat(size)).slice(0, size);
  const names = ["split", "replace", "replaceAll", "trim", "trimEnd", "includes", "slice",
    "startsWith", "endsWith", "normalize", "indexOf", "matchAll"];
  const strings = names.map((name) => [String.prototype, name, (self) => self.length]);
  const tests = [[RegExp.prototype, "test", (self, text) => String(text).length]];
  const kept = [];
  let letters = 0;
  for (const [home, name, lengthOf] of [...strings, ...tests]) {
    const original = home[name];
    kept.push([home, name, original]);
    home[name] = function (...args) {
      letters += lengthOf(this, ...args);
      return original.apply(this, args);
    };
  }
  try {
    looksLikeBlock(text);
    parseBlock(text, 1e6);
  } finally {
    for (const [home, name, original] of kept) home[name] = original;
  }
  return letters;
}"""


def test_the_work_grows_no_faster_than_the_text(modules: Page):
    page = modules.context.new_page()  # code that has run before is not counted in full
    page.goto(modules.url)
    profiler = page.context.new_cdp_session(page)
    profiler.send("Profiler.enable")
    profiler.send("Profiler.startPreciseCoverage", {"callCount": True, "detailed": True})

    def work(piece: str, beginning: str, size: int) -> int:
        profiler.send("Profiler.takePreciseCoverage")  # and so start from 0
        letters = page.evaluate(_COUNT, [piece, beginning, size])
        scripts = profiler.send("Profiler.takePreciseCoverage")["result"]
        functions = [f for s in scripts if s["url"].endswith(".js") for f in s["functions"]]
        return letters + sum(r["count"] for f in functions for r in f["ranges"])

    for piece in HOSTILE:
        for beginning in BEGINNINGS:
            small, large = (work(piece, beginning, size) for size in (2_500, 20_000))

            assert large <= 9 * small + 1_000, (piece, beginning, small, large)
            assert large < 400 * 20_000, (piece, beginning, large)
    page.close()
