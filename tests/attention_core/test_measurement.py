import itertools
import tracemalloc

import numpy as np
import pytest

from attention_core import dense_attention
from attention_core import measurement as module
from attention_core.cost import Sizes
from attention_core.measurement import LeftOut, measure

SIZES = Sizes(before=8, after=8, block=64)


def measured(counts=(128, 256), **more):
    limits = {"most_bytes": 10**9, "most_seconds": 1e9}
    rng = np.random.default_rng(0)
    return measure(counts, SIZES, d_k=8, rng=rng, **limits | more)


def test_every_way_is_run_with_every_number_of_tokens():
    found = measured()

    assert [(each.n_tokens, each.way) for each in found.measurements] == [
        *((128, way) for way in ("dense", "blockwise", "window")),
        *((256, way) for way in ("dense", "blockwise", "window")),
    ]
    assert [each.n_tokens for each in found.of("window")] == [128, 256]
    assert found.left_out == ()
    assert all(each.seconds > 0 for each in found.measurements)


def test_the_bytes_are_those_that_are_held():
    found = measured((512, 1024))

    dense, blockwise, window = (
        [each.n_bytes for each in found.of(way)] for way in ("dense", "blockwise", "window")
    )
    for n, n_bytes in zip((512, 1024), dense, strict=True):
        assert n * n * 8 <= n_bytes < 1.3 * n * n * 8
    assert blockwise[1] < 1.2 * blockwise[0]
    assert 1024 * 17 * 8 <= window[1] < 3 * window[0]


def test_the_gap_is_that_of_the_two_outputs(monkeypatch):
    monkeypatch.setattr(module, "dense_attention", lambda Q, K, V: dense_attention(Q, K, V) + 0.25)

    found = measured()

    assert [n for n, _ in found.gaps] == [128, 256]
    assert [gap for _, gap in found.gaps] == pytest.approx([0.25, 0.25], abs=1e-12)
    monkeypatch.undo()
    assert all(0 <= gap < 1e-12 for _, gap in measured().gaps)


def test_what_would_hold_too_much_is_left_out():
    found = measured(most_bytes=128 * 128 * 8)

    assert found.left_out == (LeftOut("dense", 256, "memory"),)
    assert [n for n, _ in found.gaps] == [128]
    assert [each.n_tokens for each in found.of("dense")] == [128]


def test_what_would_take_too_long_is_left_out_and_so_is_what_follows():
    # Each look at the clock takes a second: each way has taken one for 128 tokens, whatever it is.
    # Dense and blockwise would then take 4 for 256 tokens, the window 2.
    ticks = itertools.count()

    found = measured((128, 256, 512), most_seconds=15.0, clock=lambda: float(next(ticks)))

    # A look at the start and 3 for each way. After 128 tokens and one more look, 5 seconds are
    # left for dense; after its 2 looks and one more 2 are for blockwise, and 1 for the window.
    assert [(each.way, each.n_tokens, each.reason) for each in found.left_out] == [
        *((way, 256, "time") for way in ("blockwise", "window")),
        *((way, 512, "time") for way in ("dense", "blockwise", "window")),
    ]


def test_one_run_that_was_held_up_does_not_leave_out_the_next():
    # Dense alone: 1 second for 128 tokens, 50 for 256 by chance; 512 are expected to take 16.
    now = [0.0]

    def attend(Q, K, V):
        now[0] += {128: 1.0, 256: 50.0, 512: 16.0}[len(Q)]
        return np.zeros_like(V)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ways", lambda sizes: {"dense": attend})
        found = measured((128, 256, 512), most_seconds=68.0, clock=lambda: now[0])

    assert [each.seconds for each in found.of("dense")] == [1.0, 50.0, 16.0]
    assert found.left_out == ()


def test_a_quick_one_is_run_again_and_the_quickest_counts(monkeypatch):
    calls = []
    monkeypatch.setattr(
        module, "dense_attention", lambda Q, K, V: calls.append(len(Q)) or dense_attention(Q, K, V)
    )
    start, left = [0.0], [0.0]
    traced = [0.0, 0.01, 0.0, 0.01]  # which takes its time, so it does not count
    runs = [0.0, 0.05, 0.0, 0.02, 0.0, 0.03]
    readings = iter(start + left + traced + runs)

    found = measured((16,), clock=lambda: next(readings, 0.0))

    assert calls == [16] * 5
    assert found.of("dense")[0].seconds == 0.02


def test_a_slow_one_is_run_once(monkeypatch):
    calls = []
    monkeypatch.setattr(
        module, "dense_attention", lambda Q, K, V: calls.append(len(Q)) or dense_attention(Q, K, V)
    )
    readings = iter([0.0, 0.0, 0.0, 1.0])

    found = measured((16,), clock=lambda: next(readings, 0.0))

    assert calls == [16]
    assert found.of("dense")[0].seconds == 1.0


def test_progress_rises_and_names_what_is_next():
    told = []

    measured(tell=lambda done, way, n: told.append((done, way, n)))

    shares = [done for done, _, _ in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] < 1
    assert [(way, n) for _, way, n in told][:4] == [
        ("dense", 128),
        ("blockwise", 128),
        ("window", 128),
        ("dense", 256),
    ]


def test_the_same_generator_draws_the_same_numbers(monkeypatch):
    seen = []
    monkeypatch.setattr(
        module, "dense_attention", lambda Q, K, V: seen.append(Q) or dense_attention(Q, K, V)
    )

    measured((16,))
    measured((16,))

    np.testing.assert_array_equal(seen[0], seen[-1])


def test_tracing_is_left_as_it_was():
    measured((16,))
    assert not tracemalloc.is_tracing()

    tracemalloc.start()
    try:
        measured((16,))
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


def test_tracing_ends_when_the_run_fails(monkeypatch):
    def fail(Q, K, V):
        raise ZeroDivisionError

    monkeypatch.setattr(module, "dense_attention", fail)

    with pytest.raises(ZeroDivisionError):
        measured((16,))
    assert not tracemalloc.is_tracing()
