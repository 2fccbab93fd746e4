"""Work in threads of its own: few at a time, shared, stopped, and left by those who are gone."""

import gc
import threading
import time
import weakref
from contextlib import contextmanager

import pytest

from playground import jobs as jobs_module
from playground.jobs import (
    GRACE,
    MOST_OWN,
    MOST_WAITING,
    PATIENCE,
    Jobs,
    Refusal,
    StoppedError,
)

WAIT = 1  # seconds that a condition may take on a busy machine


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Held:
    """Work that tells what it is told to, and ends when it may."""

    def __init__(self, result="result"):
        self.result = result
        self.has_begun = threading.Event()
        self.may_go_on = threading.Event()
        self.has_ended = threading.Event()
        self.n_runs = 0

    def __call__(self, tell):
        self.n_runs += 1
        try:
            tell(0.25, "seen")
            self.has_begun.set()
            assert self.may_go_on.wait(WAIT)
            tell(0.5)
            return self.result
        finally:
            self.has_ended.set()


@contextmanager
def running(limit=1, clock=None, is_there=None):
    jobs = Jobs(limit, is_there=is_there, clock=clock or Clock())
    held = []

    def work(result="result"):
        held.append(Held(result))
        return held[-1]

    yield jobs, work
    for each in held:
        each.may_go_on.set()
    jobs.close()


def until(jobs, owner, name, status):
    """Wait until the job has this status, and give it."""
    reached = threading.Event()
    for _ in range(WAIT * 100):
        view = jobs.view(owner, name)
        if view.status == status:
            return view
        reached.wait(0.01)
    raise AssertionError(f"still {view.status}")


def test_a_job_tells_what_it_has_so_far_and_then_its_result():
    with running() as (jobs, work):
        held = work()

        jobs.start("ann", "fit", held)
        assert held.has_begun.wait(WAIT)
        during = jobs.view("ann", "fit")
        held.may_go_on.set()
        after = until(jobs, "ann", "fit", "done")

        assert (during.status, during.done, during.shown) == ("running", 0.25, "seen")
        assert during.is_active
        assert (after.done, after.shown, after.result) == (1.0, "seen", "result")
        assert not after.is_active


def test_there_is_no_job_of_others_or_of_another_name():
    with running() as (jobs, work):
        jobs.start("ann", "fit", work())

        assert jobs.view("bob", "fit") is None
        assert jobs.view("ann", "train") is None
        assert [view.name for view in jobs.active("ann")] == ["fit"]
        assert jobs.active("bob") == []


def test_no_more_than_the_limit_run_and_the_others_know_their_place():
    with running(limit=2) as (jobs, work):
        held = [work() for _ in range(4)]
        for owner, each in zip("abcd", held, strict=True):
            jobs.start(owner, "fit", each)
        assert held[0].has_begun.wait(WAIT)
        assert held[1].has_begun.wait(WAIT)

        views = [jobs.view(owner, "fit") for owner in "abcd"]
        assert [view.status for view in views] == ["running", "running", "waiting", "waiting"]
        assert [view.n_before for view in views] == [0, 0, 2, 3]

        held[0].may_go_on.set()
        assert held[2].has_begun.wait(WAIT)
        assert not held[3].has_begun.is_set()
        assert jobs.view("d", "fit").n_before == 2


def test_what_measures_time_runs_alone():
    with running(limit=3) as (jobs, work):
        first, alone, third = work(), work(), work()
        jobs.start("ann", "fit", first)
        jobs.start("bob", "measure", alone, is_alone=True)
        jobs.start("eve", "fit", third)
        assert first.has_begun.wait(WAIT)

        assert [jobs.view(*of).status for of in (("bob", "measure"), ("eve", "fit"))] == [
            "waiting",
            "waiting",
        ]
        first.may_go_on.set()
        assert alone.has_begun.wait(WAIT)
        assert jobs.view("eve", "fit").status == "waiting"
        alone.may_go_on.set()
        assert third.has_begun.wait(WAIT)


def test_a_stopped_job_ends_at_its_next_word_and_keeps_what_it_told():
    with running() as (jobs, work):
        held = work()
        jobs.start("ann", "fit", held)
        assert held.has_begun.wait(WAIT)

        jobs.stop("ann", "fit")
        at_once = jobs.view("ann", "fit")
        held.may_go_on.set()

        assert (at_once.status, at_once.shown) == ("stopped", "seen")
        assert held.has_ended.wait(WAIT)
        jobs.close()
        view = jobs.view("ann", "fit")
        assert (view.status, view.shown, view.result) == ("stopped", "seen", None)


def test_a_waiting_job_that_is_stopped_never_runs():
    with running() as (jobs, work):
        first, second = work(), work()
        jobs.start("ann", "fit", first)
        jobs.start("bob", "fit", second)

        jobs.stop("bob", "fit")
        first.may_go_on.set()

        assert jobs.view("bob", "fit").status == "stopped"
        until(jobs, "ann", "fit", "done")
        assert second.n_runs == 0


def test_to_stop_what_has_ended_or_never_was_changes_nothing():
    with running() as (jobs, work):
        held = work()
        held.may_go_on.set()
        jobs.start("ann", "fit", held)
        until(jobs, "ann", "fit", "done")

        jobs.stop("ann", "fit")
        jobs.stop("ann", "other")
        jobs.forget("ann", "other")

        assert jobs.view("ann", "fit").status == "done"


def test_a_new_job_of_the_same_name_takes_the_place_of_the_old_one():
    with running() as (jobs, work):
        old, new = work("old"), work("new")
        jobs.start("ann", "fit", old)
        assert old.has_begun.wait(WAIT)

        jobs.start("ann", "fit", new)
        old.may_go_on.set()
        new.may_go_on.set()

        assert until(jobs, "ann", "fit", "done").result == "new"


def test_a_job_that_is_at_the_same_goes_on():
    with running() as (jobs, work):
        first, second, third = work(), work(), work()
        jobs.start("ann", "cost", first, key=1)
        assert first.has_begun.wait(WAIT)

        jobs.start("ann", "cost", second, key=1)
        assert jobs.view("ann", "cost").shown == "seen"
        first.may_go_on.set()
        until(jobs, "ann", "cost", "done")
        assert second.n_runs == 0

        jobs.start("ann", "cost", third, key=2)
        assert third.has_begun.wait(WAIT)
        jobs.stop("ann", "cost")
        jobs.start("ann", "cost", second, key=2)  # what was stopped begins anew
        third.may_go_on.set()
        assert second.has_begun.wait(WAIT)


def test_a_job_that_is_forgotten_is_not_seen_again():
    with running() as (jobs, work):
        held = work()
        jobs.start("ann", "fit", held)

        jobs.forget("ann", "fit")

        assert jobs.view("ann", "fit") is None


def test_a_job_that_fails_says_so_and_lets_the_next_one_run(caplog):
    def fail(tell):
        raise ZeroDivisionError("on purpose")

    with running() as (jobs, work):
        held = work()
        held.may_go_on.set()

        jobs.start("ann", "fit", fail)
        jobs.start("bob", "fit", held)

        view = until(jobs, "ann", "fit", "failed")
        assert isinstance(view.error, ZeroDivisionError)
        assert until(jobs, "bob", "fit", "done").result == "result"
        assert "a job failed" in caplog.text


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_whatever_a_work_raises_its_place_is_given_on(error):
    def leave(tell):
        raise error

    with running() as (jobs, work):
        held = work()
        held.may_go_on.set()

        jobs.start("ann", "fit", leave)
        jobs.start("bob", "fit", held)

        assert isinstance(until(jobs, "ann", "fit", "failed").error, error)
        assert until(jobs, "bob", "fit", "done").result == "result"


def test_a_job_for_which_there_is_no_thread_fails_and_holds_no_place(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with running() as (jobs, work):
        held = work()
        held.may_go_on.set()
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            jobs.start("ann", "fit", work())
        jobs.start("bob", "fit", held)

        assert isinstance(jobs.view("ann", "fit").error, RuntimeError)
        assert until(jobs, "bob", "fit", "done").result == "result"


@pytest.mark.parametrize("end", [Jobs.stop, Jobs.forget])
def test_what_waited_behind_one_that_ends_before_its_turn_need_not_wait_longer(end):
    with running(limit=2) as (jobs, work):
        first, third = work(), work()
        jobs.start("ann", "fit", first)
        jobs.start("bob", "measure", work(), is_alone=True)
        jobs.start("eve", "fit", third)

        end(jobs, "bob", "measure")

        assert third.has_begun.wait(WAIT)
        assert not first.has_ended.is_set()


# --- no more than can be waited for


def full_queue(jobs, work):
    """One job runs and as many wait as may; gives what runs."""
    first = work()
    jobs.start("ann", "fit", first)
    assert first.has_begun.wait(WAIT)
    for number in range(MOST_WAITING):
        assert jobs.start(f"owner {number}", "fit", work(), key=number) is None
    return first


def test_a_job_that_would_wait_behind_too_many_is_refused_and_changes_nothing():
    with running() as (jobs, work):
        first, refused = full_queue(jobs, work), work()

        assert jobs.start("bob", "fit", refused) == Refusal("full", MOST_WAITING)

        assert jobs.view("bob", "fit") is None
        assert jobs.view("owner 29", "fit").n_before == MOST_WAITING
        first.may_go_on.set()
        until(jobs, "ann", "fit", "done")
        assert jobs.start("bob", "fit", work()) is None  # one has left the queue
        assert refused.n_runs == 0


def test_what_somebody_waits_for_already_is_never_refused():
    with running() as (jobs, work):
        full_queue(jobs, work)

        assert jobs.start("bob", "fit", work(), key=5) is None

        assert jobs.view("bob", "fit").n_before == 6


def test_a_refused_job_leaves_the_one_before_it():
    with running() as (jobs, work):
        done = work("mine")
        done.may_go_on.set()
        jobs.start("bob", "fit", done)
        until(jobs, "bob", "fit", "done")
        full_queue(jobs, work)

        assert jobs.start("bob", "fit", work()) == Refusal("full", MOST_WAITING)

        assert jobs.view("bob", "fit").result == "mine"


def test_those_who_have_gone_leave_their_room_in_the_queue():
    clock = Clock()
    with running(clock=clock) as (jobs, work):
        full_queue(jobs, work)
        clock.now = PATIENCE + 1
        jobs.view("owner 7", "fit")

        assert jobs.start("bob", "fit", work()) is None

        assert jobs.view("owner 6", "fit").status == "stopped"
        assert jobs.view("owner 7", "fit").n_before == 1
        assert jobs.view("bob", "fit").n_before == 2


def test_one_learner_has_only_so_many_jobs_and_may_change_each():
    with running() as (jobs, work):
        for number in range(MOST_OWN):
            assert jobs.start("ann", f"step {number}", work()) is None

        assert jobs.start("ann", "one more", work()) == Refusal("own", MOST_OWN)
        assert jobs.start("ann", "step 1", work()) is None
        assert jobs.start("bob", "step 1", work()) is None

        jobs.stop("ann", "step 2")
        assert jobs.start("ann", "one more", work()) is None


# --- the same for all


def test_those_who_ask_for_the_same_share_one_job():
    with running() as (jobs, work):
        held, unused = work(), work()
        jobs.start("ann", "measure", held, key=(64, 8))
        assert held.has_begun.wait(WAIT)

        jobs.start("bob", "measure", unused, key=(64, 8))
        assert jobs.view("bob", "measure").shown == "seen"
        held.may_go_on.set()

        assert until(jobs, "bob", "measure", "done").result == "result"
        assert until(jobs, "ann", "measure", "done").result == "result"
        assert unused.n_runs == 0


def test_who_asks_again_for_what_runs_already_does_not_begin_anew():
    with running() as (jobs, work):
        held, unused = work(), work()
        jobs.start("ann", "measure", held, key=(64, 8))
        assert held.has_begun.wait(WAIT)

        jobs.start("ann", "measure", unused, key=(64, 8))
        held.may_go_on.set()

        assert until(jobs, "ann", "measure", "done").result == "result"
        assert unused.n_runs == 0


def test_a_result_is_remembered_and_other_settings_are_not_it():
    with running() as (jobs, work):
        first, again, other = work("first"), work("again"), work("other")
        for held in (first, again, other):
            held.may_go_on.set()
        jobs.start("ann", "measure", first, key=(64, 8))
        until(jobs, "ann", "measure", "done")

        jobs.start("bob", "measure", again, key=(64, 8))
        assert jobs.view("bob", "measure").result == "first"
        jobs.start("bob", "measure", other, key=(64, 9))

        assert until(jobs, "bob", "measure", "done").result == "other"
        assert again.n_runs == 0


def test_a_shared_job_goes_on_while_anyone_wants_it():
    with running() as (jobs, work):
        held = work()
        jobs.start("ann", "measure", held, key=1)
        jobs.start("bob", "measure", work(), key=1)

        jobs.stop("ann", "measure")
        held.may_go_on.set()

        assert jobs.view("ann", "measure") is None
        assert until(jobs, "bob", "measure", "done").result == "result"


def test_a_job_that_was_stopped_is_not_shared_but_begun_anew():
    with running() as (jobs, work):
        held, new = work("old"), work("new")
        jobs.start("ann", "measure", held, key=1)
        assert held.has_begun.wait(WAIT)
        jobs.stop("ann", "measure")

        jobs.start("bob", "measure", new, key=1)
        held.may_go_on.set()
        new.may_go_on.set()

        assert until(jobs, "bob", "measure", "done").result == "new"


class Sized:
    """A result that says how many bytes it takes."""

    def __init__(self, nbytes):
        self.nbytes = nbytes


def test_results_that_take_too_many_bytes_are_forgotten_from_the_oldest(monkeypatch):
    monkeypatch.setattr(jobs_module, "MOST_BYTES", 100)
    with running() as (jobs, work):
        for key in range(3):
            held = work(Sized(40))
            held.may_go_on.set()
            jobs.start("ann", "train", held, key=key)
            until(jobs, "ann", "train", "done")

        again, new = work("again"), work("new")
        again.may_go_on.set()
        new.may_go_on.set()
        jobs.start("bob", "train", again, key=2)
        assert until(jobs, "bob", "train", "done").result.nbytes == 40
        jobs.start("eve", "train", new, key=0)

        assert until(jobs, "eve", "train", "done").result == "new"
        assert (again.n_runs, new.n_runs) == (0, 1)


def test_jobs_that_have_ended_are_forgotten_where_they_take_too_many_bytes(monkeypatch):
    monkeypatch.setattr(jobs_module, "MOST_BYTES", 100)
    with running() as (jobs, work):
        for owner in ("ann", "bob"):
            held = work(Sized(60))
            held.may_go_on.set()
            jobs.start(owner, "train", held)
            until(jobs, owner, "train", "done")

        assert jobs.view("ann", "train") is None
        assert jobs.view("bob", "train").result.nbytes == 60


def test_what_a_stopped_job_showed_last_counts_too(monkeypatch):
    monkeypatch.setattr(jobs_module, "MOST_BYTES", 100)

    def show(tell):
        tell(0.5, Sized(90))
        jobs.stop("ann", "train")
        tell(0.6)

    with running() as (jobs, work):
        held = work(Sized(60))
        held.may_go_on.set()
        jobs.start("ann", "train", show)
        until(jobs, "ann", "train", "stopped")
        assert jobs.view("ann", "train").shown.nbytes == 90

        jobs.start("bob", "train", held)
        until(jobs, "bob", "train", "done")

        assert jobs.view("ann", "train") is None


@pytest.mark.parametrize("end", ["done", "stopped"])
def test_what_a_work_holds_on_to_is_let_go_of_with_its_end(end):
    class Large:
        pass

    large = Large()
    seen = weakref.ref(large)

    def work(tell, large=large):
        if end == "stopped":
            raise StoppedError

    with running() as (jobs, _):
        jobs.start("ann", "train", work)
        until(jobs, "ann", "train", end)
        del work, large

        for _ in range(100 * WAIT):
            gc.collect()
            if seen() is None:
                break
            time.sleep(0.01)
        assert seen() is None
        assert jobs.view("ann", "train").status == end


def test_a_work_that_never_began_is_let_go_of_too():
    class Large:
        pass

    large = Large()
    seen = weakref.ref(large)
    with running() as (jobs, work):
        jobs.start("ann", "train", work())
        jobs.start("bob", "train", lambda tell, large=large: None)
        jobs.stop("bob", "train")
        del large

        gc.collect()
        assert seen() is None


# --- those who are gone


def test_a_job_that_nobody_asks_for_ends():
    clock = Clock()
    with running(clock=clock) as (jobs, work):
        held = work()
        jobs.start("ann", "fit", held)
        assert held.has_begun.wait(WAIT)

        clock.now = PATIENCE + 1
        held.may_go_on.set()

        assert held.has_ended.wait(WAIT)
        assert until(jobs, "ann", "fit", "stopped").result is None


def test_to_ask_for_any_job_keeps_all_of_an_owner_alive():
    clock = Clock()
    with running(clock=clock) as (jobs, work):
        held = work()
        jobs.start("ann", "fit", held)
        assert held.has_begun.wait(WAIT)

        clock.now = PATIENCE - 1
        jobs.active("ann")
        clock.now = 2 * PATIENCE - 2
        held.may_go_on.set()

        assert until(jobs, "ann", "fit", "done").result == "result"


@pytest.mark.parametrize(("is_there", "status"), [(True, "done"), (False, "stopped")])
def test_who_is_not_connected_any_more_is_waited_for_a_few_seconds_only(is_there, status):
    clock = Clock()
    with running(clock=clock, is_there=lambda owner: is_there) as (jobs, work):
        held = work()
        jobs.start("ann", "fit", held)
        assert held.has_begun.wait(WAIT)

        clock.now = GRACE + 1
        held.may_go_on.set()
        assert held.has_ended.wait(WAIT)
        jobs.close()

        assert jobs.view("ann", "fit").status == status


def test_a_broken_connection_that_comes_back_loses_nothing():
    clock = Clock()
    with running(clock=clock, is_there=lambda owner: False) as (jobs, work):
        held = work()
        jobs.start("ann", "fit", held)
        assert held.has_begun.wait(WAIT)

        clock.now = GRACE - 1
        held.may_go_on.set()

        assert until(jobs, "ann", "fit", "done").result == "result"


def test_those_who_have_gone_lose_their_place_in_the_queue():
    clock = Clock()
    with running(clock=clock) as (jobs, work):
        first, gone, here = work(), work(), work()
        for owner, held in (("ann", first), ("bob", gone), ("eve", here)):
            jobs.start(owner, "fit", held)
        assert first.has_begun.wait(WAIT)
        here.may_go_on.set()

        clock.now = PATIENCE + 1
        jobs.view("ann", "fit")
        jobs.view("eve", "fit")
        first.may_go_on.set()

        assert until(jobs, "eve", "fit", "done").result == "result"
        assert gone.n_runs == 0


def test_what_has_ended_is_kept_for_a_while_only(monkeypatch):
    monkeypatch.setattr(jobs_module, "MOST_KEPT", 3)
    with running() as (jobs, work):
        for number in range(6):
            held = work(number)
            held.may_go_on.set()
            jobs.start(f"owner {number}", "fit", held, key=number)
            until(jobs, f"owner {number}", "fit", "done")
        jobs.start("last", "fit", work(), key="last")

        assert jobs.view("owner 0", "fit") is None
        assert jobs.view("owner 5", "fit").result == 5
        assert len(jobs._results) == 3
        assert set(jobs._beats) == {"owner 3", "owner 4", "owner 5", "last"}


# --- the end of the process


def test_at_the_end_all_are_stopped_and_awaited_and_none_begins():
    with running() as (jobs, work):
        held, waiting = work(), work()
        jobs.start("ann", "fit", held)
        jobs.start("bob", "fit", waiting)
        assert held.has_begun.wait(WAIT)
        threading.Timer(0.05, held.may_go_on.set).start()

        jobs.close()

        assert held.has_ended.is_set()
        assert until(jobs, "ann", "fit", "stopped").result is None
        assert jobs.view("bob", "fit").status == "stopped"
        jobs.start("eve", "fit", waiting)
        assert waiting.n_runs == 0
