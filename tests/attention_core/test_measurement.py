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


class Fake:
    """A clock that goes on only while attention is computed, which takes as long as it is told."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.calls = 0.0, []

        def of(way):
            def attend(Q, K, V):
                self.calls.append((way, len(Q)))
                self.now += next(seconds[way, len(Q)])
                return np.zeros_like(V)

            return attend

        names = dict.fromkeys(way for way, _ in seconds)
        monkeypatch.setattr(module, "_ways", lambda sizes: {way: of(way) for way in names})

    def __call__(self):
        return self.now


def each_time(seconds):
    return itertools.repeat(seconds)


def test_what_would_take_too_long_is_left_out_and_takes_nothing_from_the_other_ways(monkeypatch):
    # Dense and blockwise are expected to take 4 times as long for twice the tokens.
    seconds = {
        **{("dense", n): each_time(s) for n, s in ((128, 1.0), (256, 4.0), (512, 16.0))},
        **{("blockwise", n): each_time(s) for n, s in ((128, 2.0), (256, 8.0), (512, 32.0))},
    }

    found = measured((128, 256, 512), most_seconds=9.5, clock=Fake(monkeypatch, seconds))

    assert [(each.way, each.n_tokens, each.seconds) for each in found.measurements] == [
        ("dense", 128, 1.0),
        ("blockwise", 128, 2.0),
        ("dense", 256, 4.0),
    ]
    assert found.left_out == (
        LeftOut("blockwise", 256, "time"),
        LeftOut("dense", 512, "time"),
        LeftOut("blockwise", 512, "time"),
    )


def test_one_run_that_was_held_up_does_not_leave_out_the_next(monkeypatch):
    # 1 second for 128 tokens, by chance 50 for 256; 512 are expected to take 16.
    seconds = {("dense", n): each_time(s) for n, s in ((128, 1.0), (256, 50.0), (512, 16.0))}

    found = measured((128, 256, 512), most_seconds=67.0, clock=Fake(monkeypatch, seconds))

    assert [each.seconds for each in found.measurements] == [1.0, 50.0, 16.0]
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("seconds", "n_calls", "quickest"),
    [
        ([0.01, 0.01, 0.05, 0.02, 0.03], 5, 0.02),  # the first two are traced, and do not count
        ([0.1, 0.01, 0.2, 0.15], 4, 0.15),  # enough after 0.35
        ([0.9, 0.8], 2, 0.8),
        ([1.0], 1, 1.0),
    ],
)
def test_the_quickest_of_some_runs_counts_and_the_slower_they_are_the_fewer_there_are(
    monkeypatch, seconds, n_calls, quickest
):
    clock = Fake(monkeypatch, {("dense", 16): iter(seconds)})

    found = measured((16,), clock=clock)

    assert len(clock.calls) == n_calls
    assert found.measurements[0].seconds == pytest.approx(quickest)


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


def test_what_holds_too_much_is_no_part_of_the_progress():
    told = []

    measured(
        most_bytes=128 * 128 * 8, tell=lambda done, way, n: told.append((round(done, 9), way, n))
    )

    pairs = [128**2, 128**2, 128 * 17 - 72, 256**2, 256 * 17 - 72]
    assert told == [
        (0.0, "dense", 128),
        (round(pairs[0] / sum(pairs), 9), "blockwise", 128),
        (round(sum(pairs[:2]) / sum(pairs), 9), "window", 128),
        (round(sum(pairs[:3]) / sum(pairs), 9), "blockwise", 256),
        (round(sum(pairs[:4]) / sum(pairs), 9), "window", 256),
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
