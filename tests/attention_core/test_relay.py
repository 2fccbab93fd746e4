"""Counts and events of a relay and of a round table, against paths that are walked here."""

import re
from fractions import Fraction
from operator import mul

import numpy as np
import pytest

from attention_core import masks
from attention_core.errors import ChoiceError, DtypeError, RangeError, ShapeError
from attention_core.relay import MODELS, Linking, crossover, gathered, linking, relayed


def walked(links, n_tokens, start):
    """By breadth-first search: how many links it takes from one token to each other one."""
    distance, frontier = {start: 0}, [start]
    while frontier:
        reached = [b for a, b in links if a in frontier and b not in distance]
        distance |= {token: max(distance.values()) + 1 for token in reached}
        frontier = reached
    return distance


class Counted(float):
    """A number that counts how often it is multiplied."""

    n_products = 0

    def __mul__(self, other):
        Counted.n_products += 1
        return Counted(float(self) * float(other))

    def __add__(self, other):
        return Counted(float(self) + float(other))

    __radd__ = __add__


def product(A, B):
    columns = transposed(B)
    return [[sum(map(mul, row, column)) for column in columns] for row in A]


def transposed(A):
    return [*map(list, zip(*A, strict=True))]


def counted(work):
    Counted.n_products = 0
    work()
    return Counted.n_products


def numbers(n_rows, n_columns):
    return [[Counted(1.0)] * n_columns for _ in range(n_rows)]


# --- counts


def test_three_tokens_of_width_two_by_hand():
    rnn, attention = (linking(model, 3, 2) for model in MODELS)

    assert rnn == Linking(steps=3, longest_path=2, links=2, of_weights=24, of_pairs=0)
    assert attention == Linking(steps=1, longest_path=1, links=6, of_weights=36, of_pairs=36)
    assert (rnn.multiply_adds, attention.multiply_adds) == (24, 72)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 3), (4, 2), (5, 3)])
def test_the_multiply_adds_are_those_of_products_that_are_counted(n, d):
    X, W, U = numbers(n, d), numbers(d, d), numbers(d, d)

    def rnn():
        for row in X:
            product([row], W)
            product(numbers(1, d), U)

    def project():
        for _ in "QKV":
            product(X, W)

    def pair():
        product(X, transposed(X))
        product(numbers(n, n), X)

    assert linking("rnn", n, d).multiply_adds == counted(rnn)
    assert linking("attention", n, d).of_weights == counted(project)
    assert linking("attention", n, d).of_pairs == counted(pair)


@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_paths_and_links_are_those_of_the_events(n):
    relay = [link for moment in relayed(n, 0) for link in moment.links]
    table = [link for moment in gathered(np.ones((n, n), bool), 0) for link in moment.links]

    for model, links in (("rnn", relay), ("attention", table)):
        needed = linking(model, n, 4)
        others = [(a, b) for a, b in links if a != b]
        assert needed.links == len(others) == len(set(others))
        assert needed.longest_path == walked(links, n, 0)[n - 1]


def test_what_doubling_the_tokens_does():
    for model, factor in (("rnn", 2), ("attention", 4)):
        once, twice = linking(model, 1000, 8), linking(model, 2000, 8)
        pairs = once.of_pairs or once.of_weights
        assert Fraction(twice.of_pairs or twice.of_weights, pairs) == factor


@pytest.mark.parametrize("d", [1, 2, 16, 512])
def test_pairs_alone_overtake_the_rnn_one_token_after_the_width(d):
    assert crossover(d) == d + 1
    assert linking("attention", d, d).of_pairs == linking("rnn", d, d).multiply_adds


def test_huge_counts_stay_exact():
    attention = linking("attention", 10**9, 10**6)

    assert attention.multiply_adds == 3 * 10**21 + 2 * 10**24


def test_a_model_that_is_not_there_is_named():
    with pytest.raises(ChoiceError, match=r"^model must be one of rnn, attention, got 'cnn'$"):
        linking("cnn", 2, 2)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 2), "n_tokens must lie between 1 and inf, got 0"),
        ((2, 0), "d_model must lie between 1 and inf, got 0"),
    ],
)
def test_a_count_below_one_is_refused(sizes, message):
    with pytest.raises(RangeError, match=f"^{re.escape(message)}$"):
        linking("rnn", *sizes)


def test_no_width_has_no_crossover():
    with pytest.raises(RangeError, match=r"^d_model must lie between 1 and inf, got 0$"):
        crossover(0)


# --- events


def test_a_relay_of_four_by_hand():
    moments = relayed(4, 1)

    assert [moment.links for moment in moments] == [(), ((0, 1),), ((1, 2),), ((2, 3),)]
    assert [moment.at for moment in moments] == [(1,), (1,), (2,), (3,)]
    assert [sum(moment.has_it) for moment in moments] == [1, 1, 2, 3]
    assert moments[-1].has_it == (False, True, True, True)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_in_a_relay_a_token_has_a_message_once_a_walk_along_the_links_so_far_reaches_it(n):
    for source in range(n):
        hears = {source}
        for moment in relayed(n, source):
            hears |= {b for a, b in moment.links if a in hears}
            assert {token for token, has in enumerate(moment.has_it) if has} == hears
            assert moment.at == (max(hears),)


def test_what_has_passed_by_before_is_not_heard_any_more():
    # A link that was used before the message came to its beginning carries nothing of it.
    assert relayed(3, 2)[-1].has_it == (False, False, True)
    assert relayed(3, 2)[-1].at == (2,)


def test_a_causal_table_of_three_by_hand():
    before, after = gathered(masks.causal(3), 1)

    assert before.links == ()
    assert before.has_it == (False, True, False)
    assert after.links == ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
    assert after.has_it == (False, True, True)
    assert (before.at, after.at) == ((1, 1), (1, 2))


@pytest.mark.parametrize("seed", range(5))
def test_at_a_table_who_may_attend_to_a_token_has_its_message(seed):
    rng = np.random.default_rng(seed)
    allowed = rng.random((6, 6)) < 0.4
    kept = allowed.copy()

    for source in range(6):
        _, after = gathered(allowed, source)

        assert set(after.links) == {(k, q) for q in range(6) for k in range(6) if allowed[q, k]}
        hears = [q == source or allowed[q, source] for q in range(6)]
        assert list(after.has_it) == hears
        assert list(after.at) == [token for token in range(6) if hears[token]]
    np.testing.assert_array_equal(allowed, kept)


def test_where_nothing_is_allowed_each_keeps_its_own():
    before, after = gathered(np.zeros((2, 2), bool), 0)

    assert after.links == ()
    assert after.has_it == before.has_it == (True, False)
    assert after.at == before.at == (0,)


@pytest.mark.parametrize("source", [-1, 3])
def test_a_message_needs_a_sender(source):
    message = f"^source must lie between 0 and 2, got {source}$"

    with pytest.raises(RangeError, match=message):
        relayed(3, source)
    with pytest.raises(RangeError, match=message):
        gathered(masks.causal(3), source)


def test_nobody_is_no_row():
    with pytest.raises(RangeError, match=r"^n_tokens must lie between 1 and inf, got 0$"):
        relayed(0, 0)


@pytest.mark.parametrize("shape", [(2, 3), (2,), (1, 2, 2)])
def test_a_mask_that_is_no_square_is_refused(shape):
    message = f"allowed must have shape (n_tokens, n_tokens), got {shape}"

    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        gathered(np.ones(shape, bool), 0)


def test_numbers_are_no_mask():
    with pytest.raises(DtypeError, match=r"^allowed must hold booleans .*, got int64$"):
        gathered(np.ones((2, 2), int), 0)
