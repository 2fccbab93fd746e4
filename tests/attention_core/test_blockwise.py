import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attention_core import (
    blockwise_attention,
    dense_attention,
    masks,
    scaled_dot_product_attention,
    windowed_attention,
)
from attention_core.errors import (
    AttentionError,
    ChoiceError,
    DtypeError,
    EmptyRowError,
    RangeError,
    ShapeError,
)

ROOT = Path(__file__).parents[2]


def random_qkv(*leading, n_q=11, n_k=17, d_k=4, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(*leading, n_q, d_k)),
        rng.normal(size=(*leading, n_k, d_k)),
        rng.normal(size=(*leading, n_k, d_v)),
    )


def in_window(Q, K, V, before=2, after=3, **more):
    return windowed_attention(Q, K, V, before=before, after=after, **more)


def expected(Q, K, V, allowed=None, **more):
    return scaled_dot_product_attention(Q, K, V, allowed=allowed, **more).output


def close(actual, desired):
    np.testing.assert_allclose(actual, desired, rtol=1e-12, atol=1e-12)


every_way = pytest.mark.parametrize(
    "attend", [dense_attention, blockwise_attention, in_window], ids=["dense", "blocks", "window"]
)
SHAPES = [(1, 1), (1, 9), (9, 1), (8, 8), (7, 13), (13, 7)]


# --- by hand


def test_two_keys_in_two_blocks_by_hand():
    # Scores 0 and ln 3: weights 1/4 and 3/4. The second block has the larger score, so what the
    # first one left is shrunk by exp(0 - ln 3) = 1/3.
    Q, K, V = [[1.0]], [[0.0], [np.log(3)]], [[4.0], [8.0]]

    output = blockwise_attention(Q, K, V, scale=1.0, block=1)

    np.testing.assert_allclose(output, [[4 / 4 + 8 * 3 / 4]], rtol=1e-15)


def test_three_tokens_that_see_the_one_before_by_hand():
    # All scores are 0, so each takes the mean of what it sees.
    Q, K, V = np.zeros((3, 1)), np.zeros((3, 1)), [[1.0], [3.0], [8.0]]

    output = windowed_attention(Q, K, V, before=1, after=0)

    np.testing.assert_allclose(output, [[1.0], [2.0], [5.5]], rtol=1e-15)


def test_a_dense_mean_by_hand():
    output = dense_attention(np.zeros((1, 2)), np.zeros((2, 2)), [[1.0], [3.0]])

    np.testing.assert_allclose(output, [[2.0]], rtol=1e-15)


# --- the same as with everything kept


@pytest.mark.parametrize(("n_q", "n_k"), SHAPES)
@pytest.mark.parametrize("block", [1, 2, 3, 8, 100])
def test_blocks_of_any_size_give_the_dense_result(n_q, n_k, block):
    Q, K, V = random_qkv(n_q=n_q, n_k=n_k)

    close(blockwise_attention(Q, K, V, block=block), expected(Q, K, V))
    close(dense_attention(Q, K, V), expected(Q, K, V))


@pytest.mark.parametrize(("n_q", "n_k"), SHAPES)
@pytest.mark.parametrize(("before", "after"), [(0, 0), (2, 0), (0, 3), (2, 3), (20, 30)])
@pytest.mark.parametrize("empty_rows", ["raise", "zeros"])
def test_a_window_gives_the_result_of_its_mask(n_q, n_k, before, after, empty_rows):
    Q, K, V = random_qkv(n_q=n_q, n_k=n_k)
    allowed = masks.window(n_q, before, after, n_k=n_k)
    if empty_rows == "raise" and not allowed.any(axis=-1).all():
        with pytest.raises(EmptyRowError):
            in_window(Q, K, V, before, after)
        return

    output = in_window(Q, K, V, before, after, empty_rows=empty_rows)

    close(output, expected(Q, K, V, allowed, empty_rows=empty_rows))


@pytest.mark.parametrize(("n_q", "n_k"), SHAPES)
@pytest.mark.parametrize("block", [1, 3, 5])
def test_a_causal_mask_comes_as_a_function_or_as_an_array(n_q, n_k, block):
    Q, K, V = random_qkv(n_q=n_q, n_k=n_k)
    allowed = masks.causal(n_q, n_k)

    by_function = blockwise_attention(Q, K, V, allowed=lambda i, j: j <= i, block=block)
    by_array = blockwise_attention(Q, K, V, allowed=allowed, block=block)

    close(by_function, expected(Q, K, V, allowed))
    np.testing.assert_array_equal(by_array, by_function)


@pytest.mark.parametrize("seed", range(5))
def test_any_mask_in_which_each_query_sees_something(seed):
    Q, K, V = random_qkv(2, seed=seed)
    allowed = np.random.default_rng(seed).random((2, 11, 17)) < 0.3
    allowed[..., 0] = True

    output = blockwise_attention(Q, K, V, allowed=allowed, block=4)

    close(output, expected(Q, K, V, allowed))


@pytest.mark.parametrize("scale", [None, 0.0, -2.0, 0.3])
@every_way
def test_leading_axes_broadcast_and_the_scale_counts(attend, scale):
    Q, K, V = random_qkv(2, 3)
    K, V = K[:1, 0], V[:, :1]

    output = attend(Q, K, V, scale=scale)

    allowed = masks.window(11, 2, 3, n_k=17) if attend is in_window else None
    close(output, expected(Q, K, V, allowed, scale=scale))
    assert output.shape == (2, 3, 11, 3)


def test_values_alone_may_lead():
    Q, K, V = random_qkv()
    V = np.stack([V, 2 * V])

    for attend in (dense_attention, blockwise_attention, in_window):
        output = attend(Q, K, V)
        close(output[1], 2 * output[0])
        assert output.shape == (2, 11, 3)


def test_pytorch_agrees():
    Q, K, V = random_qkv(2, n_q=70, n_k=70)
    near = torch.tensor(masks.window(70, 5, 9))

    whole = F.scaled_dot_product_attention(*map(torch.tensor, (Q, K, V))).numpy()
    part = F.scaled_dot_product_attention(*map(torch.tensor, (Q, K, V)), attn_mask=near).numpy()

    close(blockwise_attention(Q, K, V, block=32), whole)
    close(dense_attention(Q, K, V), whole)
    close(in_window(Q, K, V, 5, 9), part)


# --- what breaks the naive versions


@pytest.mark.parametrize("order", [1, -1], ids=["rising", "falling"])
@every_way
def test_scores_of_thousands_need_the_running_maximum(attend, order):
    Q, K, V = np.full((6, 1), 1000.0), np.arange(6.0)[::order, None], np.arange(6.0)[:, None]

    output = attend(Q, K, V)

    allowed = masks.window(6, 2, 3) if attend is in_window else None
    close(output, expected(Q, K, V, allowed))
    with np.errstate(over="ignore"):
        assert np.isinf(np.exp(Q @ K.T)).any()


def test_scores_far_below_0_do_not_vanish():
    Q, K, V = np.full((4, 1), -1000.0), np.arange(1.0, 5)[:, None], np.arange(4.0)[:, None]

    close(blockwise_attention(Q, K, V, block=1), expected(Q, K, V))


def test_a_first_block_without_any_key_leaves_no_trace():
    Q, K, V = random_qkv(n_q=4, n_k=8)
    allowed = np.repeat(np.arange(8)[None, :] >= 5, 4, axis=0)
    allowed[0] = True  # so that the first block is computed, for this row

    output = blockwise_attention(Q, K, V, allowed=allowed, block=4)

    close(output, expected(Q, K, V, allowed))


@pytest.mark.parametrize("hidden", [np.nan, np.inf, -np.inf, 1e300])
def test_what_is_hidden_changes_nothing(hidden):
    Q, K, V = random_qkv(n_q=9, n_k=9)
    plain = blockwise_attention(Q, K, V, allowed=lambda i, j: j <= i, block=4)
    near = in_window(Q, K, V, 2, 0)
    K[8], V[8] = hidden, hidden

    spoiled = blockwise_attention(Q, K, V, allowed=lambda i, j: j <= i, block=4)

    close(spoiled[:8], plain[:8])
    close(in_window(Q, K, V, 2, 0)[:8], near[:8])


def test_a_nan_spreads_over_its_own_row_only():
    Q, K, V = random_qkv()
    Q[3, 0] = np.nan

    for attend in (dense_attention, blockwise_attention, in_window):
        is_nan = np.isnan(attend(Q, K, V))
        assert is_nan[3].all()
        assert is_nan.sum() == 3


def test_nothing_is_written_into_the_arguments():
    arrays = random_qkv(n_q=17)
    for array in arrays:
        array.setflags(write=False)

    for attend in (dense_attention, blockwise_attention, in_window):
        attend(*arrays)


# --- what is computed at all


def test_blocks_in_which_nothing_is_allowed_are_not_computed(monkeypatch):
    Q, K, V = random_qkv(n_q=8, n_k=8)
    computed = []
    matmul = np.swapaxes
    monkeypatch.setattr(np, "swapaxes", lambda a, *axes: computed.append(a) or matmul(a, *axes))

    blockwise_attention(Q, K, V, allowed=lambda i, j: j <= i, block=2)

    assert len(computed) == 4 * 5 / 2


def test_a_function_is_asked_about_no_more_than_a_block():
    asked = []

    def allowed(i, j):
        asked.append((i.shape, j.shape))
        return j <= i

    blockwise_attention(*random_qkv(n_q=7, n_k=5), allowed=allowed, block=4)

    assert asked == [((4, 1), (1, 4)), ((4, 1), (1, 1)), ((3, 1), (1, 4)), ((3, 1), (1, 1))]


def held(attend, *arrays):
    """Bytes held at most, beside the arguments and the output."""
    tracemalloc.start()
    try:
        output = attend(*arrays)
        return tracemalloc.get_traced_memory()[1] - output.nbytes
    finally:
        tracemalloc.stop()


def test_the_memory_of_blocks_does_not_depend_on_the_number_of_keys():
    def run(n_k):
        return held(blockwise_attention, *random_qkv(n_q=300, n_k=n_k, d_k=8))

    assert run(16_384) < 1.1 * run(512)


def test_the_memory_of_a_window_grows_as_the_tokens_do_and_dense_as_their_square():
    def growth(attend):
        few, many = (held(attend, *random_qkv(n_q=n, n_k=n, d_k=8)) for n in (1024, 2048))
        return many / few

    assert growth(in_window) < 2.2
    assert growth(dense_attention) > 3.8
    n_bytes = held(dense_attention, *random_qkv(n_q=1024, n_k=1024, d_k=8))
    assert n_bytes < 1.2 * 1024**2 * 8


def test_16384_tokens_take_less_than_1_gb():
    script = """
import resource, numpy as np
from attention_core import blockwise_attention, windowed_attention
rng = np.random.default_rng(0)
Q, K, V = (rng.normal(size=(16384, 64)) for _ in range(3))
few = slice(0, 512)
causal = blockwise_attention(Q, K, V, allowed=lambda i, j: j <= i)
whole = blockwise_attention(Q[few], K, V)
near = windowed_attention(Q, K, V, before=256, after=256)
scores = Q[few] @ K.T / 8
weights = np.exp(scores - scores.max(axis=1, keepdims=True))
weights /= weights.sum(axis=1, keepdims=True)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, np.abs(weights @ V - whole).max())
"""

    printed = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    kilobytes, gap = printed.split()
    assert int(kilobytes) * 1024 < 1e9
    assert float(gap) < 1e-12


# --- what is refused


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda Q, K, V: (Q[0], K, V), ShapeError),
        (lambda Q, K, V: (Q, K[:, :3], V), ShapeError),
        (lambda Q, K, V: (Q, K, V[:5]), ShapeError),
        (lambda Q, K, V: (np.stack([Q] * 2), np.stack([K] * 3), V), ShapeError),
        (lambda Q, K, V: (Q, K, V.astype(str)), DtypeError),
        (lambda Q, K, V: (Q[:, :0], K[:, :0], V), RangeError),
        (lambda Q, K, V: (Q, K[:0], V[:0]), EmptyRowError),
    ],
)
@every_way
def test_wrong_arguments_are_refused_as_everywhere(attend, spoil, error):
    arrays = spoil(*random_qkv())
    with pytest.raises(AttentionError) as everywhere:
        scaled_dot_product_attention(*arrays)

    with pytest.raises(error, match=re.escape(str(everywhere.value))):
        attend(*arrays)


@every_way
def test_an_infinite_scale_is_refused(attend):
    with pytest.raises(AttentionError, match="scale must be finite"):
        attend(*random_qkv(), scale=np.inf)


def test_all_queries_without_a_key_are_named():
    Q, K, V = random_qkv(2, n_q=5, n_k=3)

    with pytest.raises(EmptyRowError) as raised:
        blockwise_attention(Q, K, V, allowed=lambda i, j: (i < 2) & (j >= 0), block=2)
    assert raised.value.rows == ((0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4))
    with pytest.raises(EmptyRowError) as raised:
        in_window(Q, K, V, 0, 0)
    assert raised.value.rows == ((0, 3), (0, 4), (1, 3), (1, 4))


def test_queries_without_a_key_may_give_0():
    Q, K, V = random_qkv()

    output = blockwise_attention(
        Q, K, V, allowed=np.arange(11)[:, None] != 4, empty_rows="zeros", block=3
    )

    assert not output[4].any()
    assert output.any(axis=-1).sum() == 10


def test_no_query_and_no_key():
    Q, K, V = random_qkv(n_q=0)
    for attend in (dense_attention, blockwise_attention, in_window):
        assert attend(Q, K, V).shape == (0, 3)
    assert in_window(Q, K, V, 99, 99).shape == (0, 3)

    Q, K, V = random_qkv(n_k=0)
    for attend in (blockwise_attention, in_window):
        assert not attend(Q, K, V, empty_rows="zeros").any()


def test_a_block_holds_at_least_one():
    with pytest.raises(RangeError, match="block must lie between 1 and inf, got 0"):
        blockwise_attention(*random_qkv(), block=0)


@pytest.mark.parametrize("name", ["before", "after"])
def test_a_window_reaches_no_less_than_0(name):
    with pytest.raises(RangeError, match=f"{name} must lie between 0 and inf, got -1"):
        in_window(*random_qkv(), **{name: -1})


@pytest.mark.parametrize("attend", [blockwise_attention, in_window])
def test_another_word_for_empty_rows_is_refused(attend):
    with pytest.raises(ChoiceError, match="empty_rows must be one of raise, zeros, got 'nan'"):
        attend(*random_qkv(), empty_rows="nan")


@pytest.mark.parametrize(
    ("allowed", "error", "message"),
    [
        (np.ones((11, 17)), DtypeError, "allowed must hold booleans"),
        (lambda i, j: i + j, DtypeError, "allowed must hold booleans"),
        (np.ones((5, 5), dtype=bool), ShapeError, r"allowed must have shape \(11, 17\)"),
        (lambda i, j: np.ones((3, 3), bool), ShapeError, r"allowed must have shape \(11, 17\)"),
    ],
)
def test_a_mask_that_is_none_is_refused(allowed, error, message):
    with pytest.raises(error, match=message):
        blockwise_attention(*random_qkv(), allowed=allowed)
