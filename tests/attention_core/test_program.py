"""Programs to take away: run, they compute the trace again, whatever the tokens are."""

import ast
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace

import nbformat
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attention_core import PRESETS, Experiment, Mask
from attention_core.canvas import MAX_TOKENS
from attention_core.experiment import MAX_VALUE
from attention_core.export import matrices
from attention_core.program import notebook, numpy_script, pytorch_script
from tests.playground.experiments import SETTINGS, every_setting, experiments

EVERY_MASK = Mask(
    ("causal", "padding", "window", "painted"),
    before=2,
    after=0,
    painted=((0, 3, True), (2, 2, False), (11, 11, False)),
)
HOSTILE = [
    "'", '"', "'''", '"""', "\\", "\\'", '\\"', "\\n", "{X}", "{0}", "{scores}", "%s", "$x$",
    "#", "# --- x", "'); import os #", '"]; x = 1 #', "np.array", "np.",
    ".copy()", "__import__('os').abort()", "<script>", "*b*", "[a](b)", "`c`", "```", "\u202e=1",
    "\u200d👩\u200d👩", "苹果", "עברית", "x" * 200,
    "\\N{BULLET}", "\\x41", "a\ufeff", "a\u2063b", "\u00a0x",
]  # fmt: skip


def run(source):
    """All names of a program after it has run, and what it printed."""
    names = {}
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(source, "script", "exec"), names)
    return names, printed.getvalue()


def code_of(text):
    cells = json.loads(text)["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def assert_computes(names, experiment):
    """Every array to 1e-9 of its own size; the size is that of its largest finite entry."""
    for name, expected in matrices(experiment).items():
        found = names[name]
        assert found.shape == expected.shape, name
        finite = np.abs(expected[np.isfinite(expected)])
        tolerance = 1e-9 * max(1.0, finite.max(initial=0))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=tolerance, err_msg=name)
    assert tuple(names["tokens"]) == experiment.tokens


def of_size(**sizes):
    return Experiment.from_preset("random", seed=3).resized(**sizes)


# --- NumPy


@every_setting
def test_the_numpy_script_computes_every_array_of_every_setting(experiment):
    assert_computes(run(numpy_script(experiment))[0], experiment)


@given(experiments())
def test_the_numpy_script_computes_every_array_of_any_experiment(experiment):
    assert_computes(run(numpy_script(experiment))[0], experiment)


@pytest.mark.parametrize("n_heads", range(1, 9))
@pytest.mark.parametrize("encoding", ["alibi", "rotary", "sinusoidal"])
def test_every_number_of_heads_and_columns_is_computed(n_heads, encoding):
    sizes = {"n_tokens": MAX_TOKENS, "n_heads": n_heads, "d_k": n_heads, "d_model": n_heads}
    experiment = replace(of_size(**sizes), encoding=encoding)

    assert_computes(run(numpy_script(experiment))[0], experiment)


@pytest.mark.parametrize("kinds", [(), ("causal",), ("padding", "window"), ("causal", "window")])
def test_painted_cells_win_over_every_rule_also_those_that_are_hidden(kinds):
    start = of_size(n_tokens=4)
    experiment = replace(start, mask=replace(EVERY_MASK, kinds=(*kinds, "painted")))

    names, _ = run(numpy_script(experiment))

    assert_computes(names, experiment)
    assert names["allowed"][0, 3]
    assert not names["allowed"][2, 2]
    assert "(11, 11" not in numpy_script(experiment)


def test_every_cell_can_be_painted():
    start = of_size(n_tokens=MAX_TOKENS)
    chance = np.random.default_rng(0).integers(2, size=(MAX_TOKENS, MAX_TOKENS))
    painted = tuple((i, j, bool(chance[i, j])) for i, j in np.ndindex(chance.shape))

    experiment = replace(start, mask=Mask(("painted",), painted=painted))

    script = numpy_script(experiment)
    assert_computes(run(script)[0], experiment)
    assert max(map(len, script.splitlines())) <= 100


def test_a_token_that_may_attend_to_nothing_gets_zeros_without_a_warning():
    experiment = replace(
        of_size(n_tokens=3), mask=Mask(("causal", "painted"), painted=((0, 0, 0),))
    )

    names, _ = run(numpy_script(experiment))

    assert names["weights"][0, 0].tolist() == [0.0, 0.0, 0.0]
    assert names["output"][0].tolist() == [0.0] * experiment.d_k


@pytest.mark.parametrize("kinds", [(), ("causal",)])
def test_scores_too_large_for_exp_are_computed(kinds):
    # exp(1000) overflows: a script without the shift by the maximum gives NaN.
    start = replace(Experiment.from_preset("identity"), is_scaled=False, mask=Mask(kinds))
    large = start.with_cell("X", (0, 0), MAX_VALUE)

    names, _ = run(numpy_script(large))

    assert names["scores"].max() > 1000
    assert_computes(names, large)


@pytest.mark.parametrize("value", [1 / 3, 5e-324, 1e-300, -MAX_VALUE, 0.1 + 0.2])
def test_every_bit_of_a_number_is_in_the_script(value):
    experiment = Experiment.from_preset("apple").with_cell("X", (1, 0), value)

    assert run(numpy_script(experiment))[0]["X"][1, 0] == value


def test_the_script_ends_by_printing_who_looks_where_and_the_output():
    experiment = Experiment.from_preset("cat")

    _, printed = run(numpy_script(experiment))

    assert printed.splitlines() == [
        "Weights of head 1: a row for each token, a column for each it looks at",
        *("   " + _line(row, token) for row, token in _rows(experiment, "weights")),
        "Output",
        *("   " + _line(row, token) for row, token in _rows(experiment, "output")),
    ]
    assert "0.6" in printed.splitlines()[1]


def _rows(experiment, name):
    array = matrices(experiment)[name]
    return zip(array[0] if array.ndim == 3 else array, experiment.tokens, strict=True)


def _line(row, token):
    return " ".join(f"{number:9.4g}" for number in row) + "  " + token


def test_the_numbers_in_the_script_can_be_changed_and_it_follows():
    # Nothing is worked out beforehand: the sizes come from the arrays.
    script = numpy_script(replace(Experiment.from_preset("apple"), mask=Mask(("causal",))))
    row = "    [0.1, 1.0],  # '苹果'\n"
    assert row in script

    changed = script.replace(row, row + "    [0.5, 0.5],\n").replace("'苹果']", "'苹果', 'x']")

    names, _ = run(changed)
    assert names["weights"].shape == (1, 4, 4)
    np.testing.assert_allclose(names["weights"].sum(axis=-1), 1)


def test_a_shape_stands_beside_each_step():
    names, _ = run(numpy_script(of_size(n_heads=2)))
    script = numpy_script(of_size(n_heads=2)).splitlines()

    sizes = {name: names[name] for name in ("n_tokens", "d_model", "n_heads", "d_k")}
    told = [line for line in script if line.endswith(")") and "  # (" in line]
    for line in told:
        shape = eval(line.rpartition("# ")[2].rpartition("-> ")[2], sizes)
        name = line.partition(" ")[0]
        if name in names:
            assert names[name].shape == shape, line
    assert len(told) >= 8


# --- PyTorch


def assert_computes_in_float32(names, experiment):
    """To what float32 can promise: its rounding, grown by the size of what is summed up."""
    expected = matrices(experiment)
    inputs = np.abs(expected.get("inputs", expected["X"]))
    Q, K, V = (inputs @ np.abs(expected[f"W_{letter}"]) for letter in "QKV")
    # Rotary positions mix the columns, so only the lengths of a query and a key bound their score.
    lengths = np.linalg.norm(Q, axis=-1).max() * np.linalg.norm(K, axis=-1).max()
    sure_of_score = 1e-5 * (1 + lengths)
    size = {"X": 1, "Q": Q.max(), "K": K.max(), "V": V.max()}
    mixed = V.max() * (1 + sure_of_score / 1e-5)
    W_O = 1.0 if experiment.W_O is None else np.abs(experiment.W_O).sum(axis=0).max()
    for name, array in expected.items():
        found = names[name].numpy()
        assert found.shape == array.shape, name
        tolerance = {
            **{key: 1e-5 * (1 + largest) for key, largest in size.items()},
            **dict.fromkeys(("projected_Q", "projected_K"), 1e-5 * (1 + max(Q.max(), K.max()))),
            "weights": sure_of_score,
            "head_outputs": 1e-5 * (1 + mixed),
            "concatenated": 1e-5 * (1 + mixed),
            "output": 1e-5 * (1 + mixed * W_O),
        }.get(name, sure_of_score if "score" in name else 1e-5)
        np.testing.assert_allclose(found, array, rtol=1e-5, atol=tolerance, err_msg=name)


SOME_SETTINGS = [e for settings_ in SETTINGS.values() for e in settings_[::5]]


@pytest.mark.parametrize("experiment", SOME_SETTINGS, ids=range(len(SOME_SETTINGS)))
def test_the_pytorch_script_computes_every_array(experiment):
    names, _ = run(pytorch_script(experiment))

    for name, expected in matrices(experiment).items():
        np.testing.assert_allclose(names[name].numpy(), expected, rtol=1e-4, atol=1e-5)
        assert names[name].dtype == (torch.bool if name == "allowed" else torch.float32), name
    fused = names["fused"].numpy()
    np.testing.assert_allclose(fused, matrices(experiment)["head_outputs"], rtol=1e-4, atol=1e-5)


@given(experiments())
@settings(max_examples=40)
def test_the_pytorch_script_computes_any_experiment_as_well_as_float32_can(experiment):
    assert_computes_in_float32(run(pytorch_script(experiment))[0], experiment)


def test_the_pytorch_script_gives_zeros_to_a_token_that_may_attend_to_nothing():
    mask = Mask(("causal", "painted"), painted=((0, 0, False),))
    for encoding in ("none", "alibi"):
        names, _ = run(pytorch_script(replace(of_size(), mask=mask, encoding=encoding)))

        assert names["weights"][:, 0].abs().max() == names["fused"][:, 0].abs().max() == 0


def test_the_pytorch_script_stops_where_both_ways_disagree():
    script = pytorch_script(Experiment.from_preset("cat"))
    wrong = script.replace("torch.softmax(scaled_scores", "torch.softmax(2 * scaled_scores")

    with pytest.raises(AssertionError):
        run(wrong)
    assert wrong != script


# --- the notebook


@every_setting
def test_the_notebook_is_the_script_in_cells(experiment):
    document = json.loads(notebook(experiment))

    cells = ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]
    script = numpy_script(experiment)
    for cell in cells:
        statements, _, result = cell.rpartition("\n\n")
        assert cell in script or (statements in script and result in matrices(experiment)), cell
    assert len(cells) == script.count("# --- ")


@given(experiments())
@settings(max_examples=30)
def test_the_notebook_is_valid_and_computes_every_array(experiment):
    text = notebook(experiment)

    nbformat.validate(nbformat.reads(text, as_version=nbformat.NO_CONVERT))
    assert_computes(run(code_of(text))[0], experiment)


@pytest.mark.parametrize("write", [numpy_script, pytorch_script, notebook])
def test_the_same_experiment_gives_the_same_text(write):
    assert write(Experiment.from_preset("cat")) == write(Experiment.from_preset("cat"))


# --- tokens


def skeleton(source):
    """The program without its texts and comments: what it does."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.List) and all(map(_is_text, node.elts)):
            node.elts = []
    return ast.dump(tree)


def _is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@pytest.mark.parametrize("write", [numpy_script, pytorch_script, lambda e: code_of(notebook(e))])
@pytest.mark.parametrize("token", HOSTILE, ids=ascii)
def test_no_token_changes_what_a_program_does(write, token):
    plain = Experiment.from_preset("apple")
    hostile = plain.with_token_renamed(1, token)

    source = write(hostile)

    assert skeleton(source) == skeleton(write(plain))
    (tokens,) = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "tokens"
    ]
    assert ast.literal_eval(tokens) == list(hostile.tokens)
    assert len(source.splitlines()) == len(write(plain).splitlines())


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=9))
@example("\u202e")
def test_no_text_at_all_changes_what_a_program_does(text):
    plain = Experiment.from_preset("apple")
    hostile = plain.with_token_renamed(2, f"{text}x")

    for write in (numpy_script, pytorch_script):
        source = write(hostile)

        assert skeleton(source) == skeleton(write(plain))
        assert f"{text}x" in ast.literal_eval(source.split("tokens = ")[1].split("\n")[0])


def test_what_turns_text_around_is_written_out():
    source = numpy_script(Experiment.from_preset("apple").with_token_renamed(0, "a\u202eb"))

    assert "\u202e" not in source
    assert source.count("\\u202e") == 2


def test_no_token_stands_in_the_markdown_of_the_notebook():
    plain = Experiment.from_preset("apple")

    def markdown(experiment):
        cells = json.loads(notebook(experiment))["cells"]
        return [cell for cell in cells if cell["cell_type"] == "markdown"]

    assert markdown(plain.with_token_renamed(0, "[a](http://b)")) == markdown(plain)
    assert len(markdown(plain)) > 5


# --- as a person runs them


@pytest.mark.parametrize("write", [numpy_script, pytorch_script])
def test_a_script_runs_by_itself(write, tmp_path):
    experiment = replace(
        of_size(n_heads=3).with_output_projection(True).with_token_renamed(0, "苹果"),
        mask=EVERY_MASK,
        encoding="alibi",
    )
    script = tmp_path / "script.py"
    script.write_text(write(experiment), encoding="utf-8")

    ran = subprocess.run(
        [sys.executable, "-I", "-W", "error", script],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
    )

    assert ran.stderr == ""
    assert ran.returncode == 0
    assert ran.stdout.count("苹果") == 4  # in the weights of three heads, and the output


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_runs_in_both(preset):
    experiment = Experiment.from_preset(preset)

    assert_computes(run(numpy_script(experiment))[0], experiment)
    assert_computes_in_float32(run(pytorch_script(experiment))[0], experiment)
