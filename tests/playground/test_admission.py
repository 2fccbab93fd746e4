"""So many may learn at once: who is in stays in, and who waits gets what is free."""

import pytest

from playground.admission import KEPT, POLL, VARIABLE, Admission, limit


class Building:
    """An admission with a clock, and learners who come and go."""

    def __init__(self, most):
        self.now, self.there = 0.0, set()
        self.admission = Admission(most, is_there=self.there.__contains__, clock=lambda: self.now)

    def comes(self, *names, **asked):
        self.there.update(names)
        return [self.admission.enter(name, **asked) for name in names]

    def leaves(self, *names):
        self.there.difference_update(names)

    def after(self, seconds):
        self.now += seconds


def test_as_many_are_let_in_as_there_are_places():
    building = Building(2)

    assert building.comes("ann", "bob", "cem") == [True, True, False]
    assert building.admission.n_inside == 2


def test_without_a_limit_everyone_is_let_in_and_nobody_is_counted():
    building = Building(None)

    assert building.comes(*map(str, range(1_000))) == [True] * 1_000
    assert building.admission.n_inside == 0


def test_who_is_in_stays_in_however_long():
    building = Building(1)
    building.comes("ann")

    for _ in range(10):
        building.after(3_600)
        assert building.comes("ann", "bob") == [True, False]


def test_a_place_that_was_left_is_there_for_someone_new_at_once():
    building = Building(1)
    building.comes("ann", "bob")

    building.leaves("ann")

    assert building.comes("ann again") == [True]
    assert building.comes("bob") == [False]
    assert building.admission.n_inside == 1


def test_who_waits_gets_a_place_that_stayed_free():
    building = Building(1)
    building.comes("ann", "bob")
    building.leaves("ann")

    answers = []
    for _ in range(3):
        answers += building.comes("bob")
        building.after(POLL)

    assert answers == [False, False, True]
    assert POLL < KEPT < 2 * POLL


def test_who_waits_gets_at_once_what_was_left_long_ago():
    building = Building(1)
    building.comes("ann", "bob")
    building.after(KEPT + 1)
    building.leaves("ann")  # and nobody looked meanwhile

    assert building.comes("bob") == [True]


def test_who_comes_back_to_work_is_let_in_even_when_all_is_taken():
    building = Building(1)
    building.comes("ann")
    building.leaves("ann")
    building.after(60)
    building.comes("bob")

    assert building.comes("ann", has_begun=True) == [True]
    assert building.admission.n_inside == 2
    assert building.comes("cem") == [False]
    building.leaves("bob")
    assert building.comes("cem again") == [False]  # ann alone is one


def test_who_goes_away_waits_no_more():
    building = Building(1)
    building.comes("ann", *map(str, range(100)))
    slow = building.admission.pause

    building.leaves(*map(str, range(100)))
    building.comes("ann")

    assert slow == 20
    assert building.admission.pause == POLL


@pytest.mark.parametrize("n_waiting", [1, 10, 100, 1_000])
def test_a_crowd_that_waits_asks_no_more_often_than_a_few_do(n_waiting):
    building = Building(1)
    building.comes("ann", *map(str, range(n_waiting)))

    assert n_waiting / building.admission.pause <= 5
    assert building.admission.pause >= POLL


def test_nobody_is_remembered_who_has_left():
    building = Building(10)
    for visitor in range(1_000):
        building.comes(f"{visitor}")
        building.leaves(f"{visitor}")
        building.after(1)
    building.after(KEPT + 1)

    assert building.admission.n_inside == 0
    assert len(building.admission._inside) + len(building.admission._waiting) == 0


# --- what the environment says


@pytest.mark.parametrize(
    ("text", "most"), [("1", 1), (" 40 ", 40), ("007", 7), ("999999", 999_999), ("", None)]
)
def test_the_limit_is_a_number_in_the_environment(text, most):
    assert limit({VARIABLE: text}) == most


def test_without_the_variable_there_is_no_limit():
    assert limit({}) is None


@pytest.mark.parametrize(
    "text", ["0", "-1", "1.5", "many", "1e3", "0x10", "1_000", "٣", "1000000", "9" * 5_000]
)
def test_anything_else_is_refused_by_name(text):
    with pytest.raises(ValueError, match=f"{VARIABLE} must be a whole number from 1 to 999999"):
        limit({VARIABLE: text})
