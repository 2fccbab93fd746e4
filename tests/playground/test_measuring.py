"""A measurement is made once, and one at a time."""

import threading

import pytest

from attention_core.measurement import Measured
from playground import measuring


@pytest.fixture
def asked(monkeypatch):
    """The arguments of each measurement, which itself is replaced."""
    calls = []

    def measure(counts, sizes, **more):
        calls.append((counts, sizes.before, sizes.after, more))
        more["tell"](0.5, "dense", counts[-1])
        return Measured((), (), ((counts[-1], float(len(calls))),))

    monkeypatch.setattr(measuring, "measure", measure)
    measuring._kept.clear()
    yield calls
    measuring._kept.clear()


def attention(reach=8, d_k=16, n_tokens=512, seed=0, tell=lambda *_: None):
    return measuring.attention(reach, d_k, n_tokens, seed, tell=tell)


def test_the_settings_are_those_of_the_measurement(asked):
    told = []

    attention(tell=lambda *what: told.append(what))

    ((counts, before, after, more),) = asked
    assert (counts, before, after, more["d_k"]) == ([256, 512], 8, 8, 16)
    assert more["most_bytes"] == 200_000_000
    assert more["most_seconds"] <= 10
    assert told == [(0.5, "dense", 512)]


def test_the_second_run_comes_from_the_cache(asked):
    told = []
    first = attention()

    second = attention(tell=lambda *what: told.append(what))

    assert len(asked) == 1
    assert second.gaps == first.gaps
    assert told == []


@pytest.mark.parametrize(
    "other", [{"reach": 16}, {"d_k": 32}, {"n_tokens": 1024}, {"seed": 1}], ids=str
)
def test_other_settings_are_measured_anew(asked, other):
    attention()

    attention(**other)

    assert len(asked) == 2


def test_what_lies_beyond_the_limit_is_the_same_measurement(asked):
    attention(n_tokens=16_384)

    attention(n_tokens=100_000)

    assert len(asked) == 1


def test_the_seed_draws_the_numbers(asked):
    attention(seed=3)
    attention(seed=4)
    draws = [more["rng"].normal() for *_, more in asked]
    measuring._kept.clear()
    attention(seed=3)

    assert draws[0] != draws[1]
    assert asked[-1][-1]["rng"].normal() == draws[0]


def test_one_measures_and_the_other_is_told(asked, monkeypatch):
    has_begun, may_end = threading.Event(), threading.Event()
    measure = measuring.measure

    def slow(*args, **more):
        has_begun.set()
        assert may_end.wait(20)
        return measure(*args, **more)

    attention(reach=32)  # which is known from then on
    monkeypatch.setattr(measuring, "measure", slow)
    one = threading.Thread(target=attention)
    one.start()
    assert has_begun.wait(20)

    with pytest.raises(measuring.BusyError):
        attention(reach=16)
    assert attention(reach=32).gaps
    may_end.set()
    one.join(20)

    assert attention(reach=16).gaps
    assert len(asked) == 3


def test_who_goes_on_meanwhile_lets_the_next_one_in(asked):
    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attention(tell=interrupt)

    assert attention().gaps
    assert len(asked) == 2
