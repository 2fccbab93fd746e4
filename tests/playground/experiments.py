"""Experiments for the tests of this folder: one for every setting, and random ones."""

from dataclasses import replace
from itertools import combinations, product

import pytest
from hypothesis import strategies as st

from attention_core import PRESETS, Experiment, Mask, to_plain
from attention_core.canvas import MATRICES, MAX_SEED, MAX_TOKENS
from attention_core.experiment import MASK_KINDS, MAX_VALUE
from attention_core.presets import ENCODINGS


def of_setting(encoding, kinds, is_scaled, n_heads, has_W_O):
    """Random numbers under this setting; no two axes have the same length.

    With all masks on, the last token may attend to nothing.
    """
    d_k = 3 if n_heads == 1 else 2
    start = Experiment.from_preset("random", seed=7)
    return replace(
        start.resized(n_tokens=4, d_model=5, d_k=d_k, n_heads=n_heads)
        .with_output_projection(has_W_O)
        .with_token_renamed(1, "苹果"),
        encoding=encoding,
        mask=Mask(kinds, n_padding=2, before=1, after=1),
        is_scaled=is_scaled,
    )


MASKS = [kinds for size in range(4) for kinds in combinations(MASK_KINDS, size)]
SETTINGS = {
    encoding: [
        of_setting(encoding, *others)
        for others in product(MASKS, (True, False), (1, 3), (False, True))
    ]
    for encoding in ENCODINGS
}


def every_setting(test):
    """Run a test of an experiment on all 320 settings; a failure names its setting."""

    @pytest.mark.parametrize("encoding", ENCODINGS)
    def run(encoding):
        for experiment in SETTINGS[encoding]:
            try:
                test(experiment)
            except BaseException as error:
                error.add_note(f"with {to_plain(experiment)}")
                raise

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


# --- experiments that went through a random sequence of changes

numbers = st.one_of(
    st.floats(-MAX_VALUE, MAX_VALUE),
    st.sampled_from([0.1, 1 / 3, 1e-300, 5e-324, -MAX_VALUE, MAX_VALUE]),
    st.integers(-9, 9),
)
tokens = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=4).map(
    lambda text: f"{text}x"
)


def _edited(draw, experiment):
    present = [name for name in MATRICES if getattr(experiment, name) is not None]
    matrix = draw(st.sampled_from(present))
    index = tuple(draw(st.integers(0, n - 1)) for n in getattr(experiment, matrix).shape)
    return experiment.with_cell(matrix, index, draw(numbers))


def _renamed(draw, experiment):
    index = draw(st.integers(0, experiment.n_tokens - 1))
    return experiment.with_token_renamed(index, draw(tokens))


def _without_token(draw, experiment):
    if experiment.n_tokens == 1:
        return experiment
    return experiment.without_token(draw(st.integers(0, experiment.n_tokens - 1)))


def _resized(draw, experiment):
    size = st.integers(1, 8)
    sizes = {name: draw(size) for name in ("n_tokens", "d_model", "d_k", "n_heads")}
    return experiment.resized(**sizes)


def _set(draw, experiment):
    kinds = draw(st.lists(st.sampled_from(MASK_KINDS), unique=True))
    counts = [draw(st.integers(0, MAX_TOKENS)) for _ in range(3)]
    return replace(
        experiment.with_output_projection(draw(st.booleans())),
        encoding=draw(st.sampled_from(ENCODINGS)),
        is_scaled=draw(st.booleans()),
        mask=Mask(tuple(kinds), *counts),
    )


@st.composite
def experiments(draw):
    """Any preset and seed, then up to eight changes."""
    experiment = Experiment.from_preset(
        draw(st.sampled_from(list(PRESETS))), seed=draw(st.integers(0, MAX_SEED))
    )
    changes = st.sampled_from([_edited, _edited, _renamed, _without_token, _resized, _set])
    for change in draw(st.lists(changes, max_size=8)):
        experiment = change(draw, experiment)
    return experiment
