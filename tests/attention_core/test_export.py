"""Arrays and tables to take away: all of the trace, every digit, and no formula among labels."""

import csv
import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core import Experiment, Mask
from attention_core.export import csv_archive, matrices, npz
from tests.playground.experiments import every_setting, experiments


def every_array_of(trace):
    """The trace once more, read from its own fields."""
    attention, heads = trace.attention, trace.attention.heads
    weights = {name: getattr(attention, name) for name in ("W_Q", "W_K", "W_V", "W_O")}
    steps = ("Q", "K", "V", "scores", "scaled_scores", "biased_scores", "masked_scores", "weights")
    return (
        weights
        | {name: getattr(heads, name) for name in steps}
        | {
            "X": trace.X,
            "positions": trace.positions,
            "inputs": trace.inputs,
            "bias": trace.bias,
            "allowed": heads.allowed[0],
            "projected_Q": attention.projected_Q,
            "projected_K": attention.projected_K,
            "head_outputs": heads.output,
            "concatenated": attention.concatenated,
            "output": attention.output,
        }
    )


def tables(experiment):
    """{file: rows of cells} of the archive."""
    archive = zipfile.ZipFile(io.BytesIO(csv_archive(experiment)))
    return {
        name: list(csv.reader(io.StringIO(archive.read(name).decode("utf-8-sig"), newline="")))
        for name in archive.namelist()
    }


def with_token(token):
    return Experiment.from_preset("apple").with_token_renamed(0, token)


# --- arrays


@every_setting
def test_every_array_is_that_of_the_trace(experiment):
    expected = every_array_of(experiment.trace())

    found = matrices(experiment)

    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name], name)
        assert array.dtype == (bool if name == "allowed" else np.float64)


def test_a_plain_experiment_has_only_the_arrays_that_everyone_has():
    plain = replace(Experiment.from_preset("apple"), is_scaled=False)

    assert list(matrices(plain)) == [
        *("X", "W_Q", "W_K", "W_V", "Q", "K", "V"),
        *("scores", "weights", "head_outputs", "concatenated", "output"),
    ]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"encoding": "sinusoidal"}, {"positions", "inputs"}),
        ({"encoding": "learned"}, {"positions", "inputs"}),
        ({"encoding": "rotary"}, {"projected_Q", "projected_K"}),
        ({"encoding": "alibi"}, {"bias", "biased_scores"}),
        ({"is_scaled": True}, {"scaled_scores"}),
        ({"mask": Mask(("causal",))}, {"allowed", "masked_scores"}),
        ({"W_O": np.eye(2)}, {"W_O"}),
    ],
    ids=lambda value: " ".join(sorted(value)) if isinstance(value, set) else None,
)
def test_a_setting_adds_its_arrays(change, names):
    plain = replace(Experiment.from_preset("apple"), is_scaled=False)

    assert set(matrices(replace(plain, **change))) - set(matrices(plain)) == names


@given(experiments())
@settings(max_examples=30)
def test_npz_gives_every_array_and_the_tokens_back_without_pickle(experiment):
    loaded = np.load(io.BytesIO(npz(experiment)), allow_pickle=False)

    expected = matrices(experiment)
    assert set(loaded) == {"tokens", *expected}
    assert tuple(loaded["tokens"].tolist()) == experiment.tokens
    for name, array in expected.items():
        np.testing.assert_array_equal(loaded[name], array, name)
        assert loaded[name].dtype == array.dtype


@pytest.mark.parametrize("write", [npz, csv_archive])
def test_the_same_experiment_gives_the_same_bytes_at_any_time(monkeypatch, write):
    experiment = Experiment.from_preset("cat")
    now = write(experiment)

    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 3, 33, 20, 2, 138, 0))

    assert write(Experiment.from_preset("cat")) == now
    assert {entry.date_time for entry in zipfile.ZipFile(io.BytesIO(now)).infolist()} == {
        (1980, 1, 1, 0, 0, 0)
    }


# --- tables


def test_a_table_by_hand():
    experiment = replace(
        Experiment.from_preset("apple").with_cell("X", (0, 1), 1 / 3), feature_names=("甜", "")
    )

    assert tables(experiment)["X.csv"] == [
        ["", "甜", "2"],
        ["我", "1.0", "0.3333333333333333"],
        ["喜欢", "1.0", "1.0"],
        ["苹果", "0.1", "1.0"],
    ]


def test_what_is_forbidden_is_minus_infinity_and_false():
    found = tables(replace(Experiment.from_preset("uniform"), mask=Mask(("causal",))))

    assert [row[1:] for row in found["masked_scores.csv"][1:3]] == [
        ["0.0", "-inf", "-inf", "-inf"],
        ["0.0", "0.0", "-inf", "-inf"],
    ]
    assert found["allowed.csv"][1][1:] == ["TRUE", "FALSE", "FALSE", "FALSE"]


@given(experiments())
@settings(max_examples=25)
def test_the_tables_hold_every_number_exactly(experiment):
    found = tables(experiment)

    expected = {}
    for name, array in matrices(experiment).items():
        if array.ndim == 3 and experiment.n_heads > 1:
            heads = enumerate(array, start=1)
            expected |= {f"{name}_head_{head}.csv": table for head, table in heads}
        else:
            expected[f"{name}.csv"] = array[0] if array.ndim == 3 else array
    assert list(found) == list(expected)
    for file, table in expected.items():
        numbers = [[_number(cell) for cell in row[1:]] for row in found[file][1:]]
        np.testing.assert_array_equal(np.array(numbers), table, file)
        assert len(found[file][0]) == table.shape[1] + 1, file


def _number(cell):
    return {"TRUE": True, "FALSE": False}[cell] if cell in ("TRUE", "FALSE") else float(cell)


def test_rows_and_columns_are_named_after_what_they_stand_for():
    experiment = Experiment.from_preset("cat").resized(n_heads=2, d_k=1)

    found = tables(experiment.with_output_projection(True))
    bare = tables(experiment.with_output_projection(False))

    tokens, features, joined = list(experiment.tokens), list(experiment.feature_names), "h1·1 h2·1"
    axes = {name: (table[0][1:], [row[0] for row in table[1:]]) for name, table in found.items()}
    assert axes["weights_head_2.csv"] == (tokens, tokens)
    assert axes["W_Q_head_1.csv"] == (["1"], features)
    assert axes["Q_head_1.csv"] == (["1"], tokens)
    assert axes["concatenated.csv"] == (joined.split(), tokens)
    assert axes["W_O.csv"] == (features, joined.split())
    assert axes["output.csv"] == (features, tokens)
    assert bare["output.csv"][0][1:] == joined.split()


def test_a_file_begins_with_the_mark_by_which_excel_knows_utf_8():
    archive = zipfile.ZipFile(io.BytesIO(csv_archive(Experiment.from_preset("apple"))))

    assert {archive.read(name)[:3] for name in archive.namelist()} == {b"\xef\xbb\xbf"}


@pytest.mark.parametrize(
    ("token", "cell"),
    [
        ("a,b", '"a,b"'),
        ('say "a"', '"say ""a"""'),
        ("a;b", "a;b"),
        ("=1+1", "'=1+1"),
        ('=HYPERLINK("x","y")', '"\'=HYPERLINK(""x"",""y"")"'),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("＝1+1", "'＝1+1"),
        ("'s", "''s"),
        ("1=1", "1=1"),
    ],
)
def test_an_odd_token_is_quoted_and_never_a_formula(token, cell):
    archive = zipfile.ZipFile(io.BytesIO(csv_archive(with_token(token))))

    rows = archive.read("weights.csv").decode("utf-8-sig").split("\r\n")

    assert rows[0] == f",{cell},喜欢,苹果"
    assert rows[1].startswith(f"{cell},0.")


@given(st.text("=+-@'\",;\t ＝ａx\u200f", min_size=1, max_size=5).filter(lambda t: "\t" not in t))
def test_every_token_can_be_had_back_from_a_table(token):
    if not token.strip(" \u200f"):
        return
    (label, *_) = tables(with_token(token))["X.csv"][1]

    assert label[:1] not in set("=+-@＝＋－＠")
    assert label.removeprefix("'") == token


def test_the_name_of_a_feature_is_no_formula_either():
    named = replace(Experiment.from_preset("apple"), feature_names=("=1+1", "a,b"))

    assert tables(named)["X.csv"][0] == ["", "'=1+1", "a,b"]
