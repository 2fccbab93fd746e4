"""What is kept, and what is let go of first."""

import threading
from types import SimpleNamespace

import pytest

from playground.shelf import Shelf, total


def sized(nbytes):
    return SimpleNamespace(nbytes=nbytes)


def kept(shelf, keys):
    return "".join(key for key in keys if key in shelf)


def test_what_was_put_there_is_found_and_nothing_else():
    shelf = Shelf(most=2, most_bytes=10)

    shelf.put("a", "thing")

    assert (shelf.get("a"), shelf.get("b"), len(shelf)) == ("thing", None, 1)


def test_the_one_that_was_asked_for_longest_ago_goes_first():
    shelf = Shelf(most=2, most_bytes=10)
    shelf.put("a", 1)
    shelf.put("b", 2)
    shelf.get("a")

    shelf.put("c", 3)

    assert kept(shelf, "abc") == "ac"


def test_to_put_it_there_again_is_to_ask_for_it():
    shelf = Shelf(most=2, most_bytes=10)
    for key in "aba":
        shelf.put(key, key)

    shelf.put("c", 3)

    assert kept(shelf, "abc") == "ac"
    assert len(shelf) == 2


@pytest.mark.parametrize(("nbytes", "left"), [(50, "ab"), (51, "b")])
def test_all_together_take_no_more_bytes_than_they_may(nbytes, left):
    shelf = Shelf(most=9, most_bytes=100)
    shelf.put("a", sized(50))

    shelf.put("b", sized(nbytes))

    assert kept(shelf, "ab") == left


def test_a_large_one_pushes_out_as_many_as_it_needs_room_for():
    shelf = Shelf(most=9, most_bytes=100)
    for key in "abcd":
        shelf.put(key, sized(25))

    shelf.put("e", sized(60))

    assert kept(shelf, "abcde") == "de"


def test_the_latest_stays_however_large_it_is():
    shelf = Shelf(most=9, most_bytes=100)
    shelf.put("a", sized(10))

    shelf.put("b", sized(1000))

    assert kept(shelf, "ab") == "b"


def test_one_thing_under_two_keys_is_counted_once():
    shelf, shared = Shelf(most=9, most_bytes=100), sized(80)
    shelf.put("a", shared)

    shelf.put("b", shared)

    assert kept(shelf, "ab") == "ab"
    assert total([shared, shared, sized(5), "without a size"]) == 85


def test_many_threads_may_use_it_at_once():
    shelf, begin = Shelf(most=5, most_bytes=10**6), threading.Barrier(8)
    failed = []

    def use(own):
        begin.wait()
        try:
            for number in range(300):
                shelf.put((own, number), sized(1))
                shelf.get((number % 8, number))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=use, args=(own,)) for own in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert len(shelf) == 5
