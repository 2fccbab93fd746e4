"""Experiments for the tests: one for every setting, and random ones."""

import unicodedata
from dataclasses import replace
from itertools import combinations, product

import pytest
from hypothesis import strategies as st

from attention_core import PRESETS, Experiment, Mask, to_plain
from attention_core.canvas import (
    MATRICES,
    MAX_D_K,
    MAX_D_MODEL,
    MAX_HEADS,
    MAX_SEED,
    MAX_TOKENS,
    Sizes,
)
from attention_core.experiment import MASK_KINDS, MAX_VALUE
from attention_core.presets import ENCODINGS

LIMITS = Sizes(MAX_TOKENS, MAX_D_MODEL, MAX_D_K, MAX_HEADS)

# Of 4 tokens: one allowed against every rule, one forbidden, a whole row, and one out of sight.
PAINTED = (
    (0, 3, True),
    (1, 1, False),
    *((2, key, False) for key in range(4)),
    (5, 1, False),
)


def of_setting(encoding, kinds, is_scaled, n_heads, has_W_O):
    """Random numbers under this setting; no two axes have the same length.

    With all rules on, the last token may attend to nothing; with painted cells, the third one.
    """
    d_k = 3 if n_heads == 1 else 2
    start = Experiment.from_preset("random", seed=7)
    return replace(
        start.resized(n_tokens=4, d_model=5, d_k=d_k, n_heads=n_heads)
        .with_output_projection(has_W_O)
        .with_token_renamed(1, "苹果"),
        encoding=encoding,
        mask=Mask(kinds, n_padding=2, before=1, after=1, painted=PAINTED),
        is_scaled=is_scaled,
    )


RULES = MASK_KINDS[:3]
MASKS = [kinds for size in range(4) for kinds in combinations(RULES, size)]
MASKS += [("painted",), ("causal", "painted"), MASK_KINDS]
SETTINGS = {
    encoding: [
        of_setting(encoding, *others)
        for others in product(MASKS, (True, False), (1, 3), (False, True))
    ]
    for encoding in ENCODINGS
}


def every_setting(test):
    """Run a test of an experiment on all 440 settings; a failure names its setting."""

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


def _can_be_seen(text):
    return any(unicodedata.category(character) not in ("Zs", "Cf") for character in text)


characters = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
tokens = st.text(characters, min_size=1, max_size=4).filter(_can_be_seen)
resizes = st.fixed_dictionaries(
    {}, optional={name: st.integers(1, limit) for name, limit in LIMITS._asdict().items()}
)
places = st.integers(0, MAX_TOKENS - 1)
masks = st.builds(
    Mask,
    st.lists(st.sampled_from(MASK_KINDS), max_size=4).map(tuple),
    *[st.integers(0, MAX_TOKENS)] * 3,
    st.lists(st.tuples(places, places, st.booleans()), max_size=6).map(tuple),
)


@st.composite
def blocks(draw, experiment):
    """A matrix, a cell of it, and numbers that fit from there on."""
    present = [name for name in MATRICES if getattr(experiment, name) is not None]
    matrix = draw(st.sampled_from(present))
    shape = getattr(experiment, matrix).shape
    index = tuple(draw(st.integers(0, n - 1)) for n in shape)
    rows, columns = (
        draw(st.integers(1, min(3, n - i))) for n, i in zip(shape[-2:], index[-2:], strict=True)
    )
    row = st.lists(numbers, min_size=columns, max_size=columns)
    return matrix, index, draw(st.lists(row, min_size=rows, max_size=rows))


@st.composite
def cells(draw, experiment):
    """A few cells of the mask, each inside."""
    place = st.integers(0, experiment.n_tokens - 1)
    return draw(st.lists(st.tuples(place, place), min_size=1, max_size=6))


def _edited(draw, experiment):
    return experiment.with_block(*draw(blocks(experiment)))


def _painted(draw, experiment):
    return experiment.with_painted(draw(cells(experiment)), draw(st.booleans()))


def _renamed(draw, experiment):
    index = draw(st.integers(0, experiment.n_tokens - 1))
    return experiment.with_token_renamed(index, draw(tokens))


def _without_token(draw, experiment):
    if experiment.n_tokens == 1:
        return experiment
    return experiment.without_token(draw(st.integers(0, experiment.n_tokens - 1)))


def _named(draw, experiment):
    names = st.tuples(*[tokens | st.just("")] * experiment.d_model)
    return replace(experiment, feature_names=draw(names | st.just(())))


def _set(draw, experiment):
    return replace(
        experiment.with_output_projection(draw(st.booleans())),
        encoding=draw(st.sampled_from(ENCODINGS)),
        is_scaled=draw(st.booleans()),
        mask=draw(masks),
    )


CHANGES = (
    _edited,
    _edited,
    _painted,
    _renamed,
    _without_token,
    _named,
    _set,
    lambda draw, experiment: experiment.resized(**draw(resizes)),
    lambda draw, experiment: experiment.randomized(draw(st.integers(0, MAX_SEED))),
)


@st.composite
def experiments(draw):
    """Any preset and seed, then up to eight changes."""
    experiment = Experiment.from_preset(
        draw(st.sampled_from(list(PRESETS))), seed=draw(st.integers(0, MAX_SEED))
    )
    for change in draw(st.lists(st.sampled_from(CHANGES), max_size=8)):
        experiment = change(draw, experiment)
    return experiment
