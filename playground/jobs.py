"""Work that takes seconds: in threads of its own, few at a time, for as long as someone watches.

A job is some work with a name that belongs to a learner. It never draws: it tells how far it is
and what it has found so far, and whoever draws asks for that. It ends early when it is stopped,
when nobody has asked for it for a while, and when the process ends.
"""

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from playground.shelf import Shelf

PATIENCE = 90.0  # seconds; a browser lets a hidden tab ask only once a minute
GRACE = 10.0  # seconds for whoever is not connected any more, and may be back
MOST_KEPT = 200  # jobs that have ended, and results
MOST_BYTES = 256 * 2**20  # that each of these two may take, as far as they say so
MOST_WAITING = 30  # jobs in the queue; who comes after them would wait for many minutes
MOST_OWN = 3  # jobs of one owner that wait or run
_LEAVE = 5.0  # seconds that the process waits for jobs when it ends

Status: TypeAlias = Literal["waiting", "running", "done", "stopped", "failed"]
_ACTIVE: tuple[Status, ...] = ("waiting", "running")

_log = logging.getLogger(__name__)


class StoppedError(Exception):
    """The work is not wanted any more."""


class Tell(Protocol):
    """What a work calls often, at least a few times a second."""

    def __call__(self, done: float, shown: Any = None) -> None:
        """Tell how far it is, from 0 to 1, and what there is to see so far.

        Raises:
            StoppedError: The work is not wanted any more and has to end now.
        """


Work: TypeAlias = Callable[[Tell], Any]


class Refusal(NamedTuple):
    """Why a job was not taken."""

    why: Literal["full", "own"]  # too many wait, or the owner has too many already
    n_jobs: int  # how many these are


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """A job as it is now."""

    name: str
    status: Status
    n_before: int = 0  # how many jobs wait or run before it, while it waits
    done: float = 0.0  # from 0 to 1
    shown: Any = None  # what it told last
    result: Any = None  # what the work gave, when it is done
    error: BaseException | None = None  # why it failed

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.status in _ACTIVE

    @property
    def latest(self) -> Any:
        """What it gave, or what it told last; None before it has told anything."""
        return self.shown if self.result is None else self.result


@dataclass(eq=False)
class _Job:
    work: Work
    key: Hashable
    owners: set[str]
    is_alone: bool = False
    status: Status = "waiting"
    done: float = 0.0
    shown: Any = None
    result: Any = None
    error: BaseException | None = None
    is_unwanted: bool = False

    @property
    def nbytes(self) -> int:
        """That what it gave or told last takes, as far as that says so."""
        return int(getattr(self.shown if self.result is None else self.result, "nbytes", 0))

    def give_up(self) -> None:
        """It never began, and never will."""
        self.status, self.work = "stopped", _nothing


class Jobs:
    """All jobs of a process.

    Args:
        limit: How many run at the same time; others wait in the order in which they came.
        is_there: Whether an owner is connected.
        clock: Seconds, for tests.
    """

    def __init__(
        self,
        limit: int,
        *,
        is_there: Callable[[str], bool] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = limit
        self._is_there = is_there or (lambda _: True)
        self._clock = clock
        self._lock = threading.RLock()
        self._jobs: OrderedDict[tuple[str, str], _Job] = OrderedDict()  # by owner and name
        self._results = Shelf(MOST_KEPT, MOST_BYTES)  # by key
        self._waiting: deque[_Job] = deque()
        self._running: dict[_Job, threading.Thread] = {}
        self._beats: dict[str, float] = {}  # when each owner asked last
        self._is_closed = False

    def start(
        self,
        owner: str,
        name: str,
        work: Work,
        *,
        key: Hashable = None,
        is_alone: bool = False,
    ) -> Refusal | None:
        """Let some work be done; another job of the same owner and name is stopped.

        Where that one is at the same already, by its key, it goes on: a button is pressed twice.
        What is refused changes nothing. What others wait for, or have got, is never refused.

        Args:
            owner: Whose it is.
            name: Of the job.
            work: Does it, and gives the result.
            key: What the result depends on, if it is the same for all. It is then remembered,
                and who asks for the same shares the job.
            is_alone: Whether nothing else may run beside it, as it measures time or memory.

        Returns:
            Why the job was not taken; None if it was.
        """
        with self._lock:
            self._beats[owner] = self._clock()
            shared = self._shared(key)
            refusal = None if shared else self._refusal(owner, name)
            if refusal:
                return refusal
            job = shared or _Job(work, key, set(), is_alone)
            if self._jobs.get((owner, name)) is not job:
                self._leave(owner, name)
            job.owners.add(owner)
            self._jobs[owner, name] = job
            if job.status == "waiting" and job not in self._waiting:
                self._waiting.append(job)
            self._forget()
            self._begin_waiting()
        return None

    def view(self, owner: str, name: str) -> View | None:
        """The job as it is now, if there is one. To ask is a sign that it is wanted."""
        with self._lock:
            self._beat(owner)
            job = self._jobs.get((owner, name))
            return self._view(name, job) if job else None

    def active(self, owner: str) -> list[View]:
        """The jobs of an owner that wait or run."""
        with self._lock:
            self._beat(owner)
            own = [(name, job) for (who, name), job in self._jobs.items() if who == owner]
            views = [self._view(name, job) for name, job in own]
            return [view for view in views if view.is_active]

    def stop(self, owner: str, name: str) -> None:
        """End the job, if nobody else waits for it; what it told last stays to be seen."""
        with self._lock:
            job = self._jobs.get((owner, name))
            if job is None or job.status not in _ACTIVE:
                return
            if job.owners != {owner}:  # it goes on for others
                self._leave(owner, name)
                return
            job.is_unwanted = True
            if job.status == "waiting":
                self._waiting.remove(job)
                job.give_up()
                self._begin_waiting()  # it may have stood in the way of others

    def forget(self, owner: str, name: str) -> None:
        """Stop the job, and let nothing of it be seen again."""
        with self._lock:
            self._leave(owner, name)
            self._begin_waiting()

    def close(self) -> None:
        """Stop all and wait until they have ended: a thread inside PyTorch at exit is a crash."""
        with self._lock:
            self._is_closed = True
            while self._waiting:
                self._waiting.popleft().give_up()
            threads = [*self._running.values()]
        deadline = time.monotonic() + _LEAVE
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    # --- under the lock

    def _beat(self, owner: str) -> None:
        if owner in self._beats:
            self._beats[owner] = self._clock()

    def _view(self, name: str, job: _Job) -> View:
        n_before = 0
        if job.status == "waiting":
            n_before = self._waiting.index(job) + len(self._running)
        # Who stopped it need not wait until it has noticed.
        is_stopping = job.is_unwanted and job.status == "running"
        status: Status = "stopped" if is_stopping else job.status
        return View(name, status, n_before, job.done, job.shown, job.result, job.error)

    def _shared(self, key: Hashable) -> _Job | None:
        """A job that does the same, or has done it."""
        if key is None:
            return None
        if key in self._results:
            result = self._results.get(key)
            return _Job(_nothing, key, set(), status="done", done=1.0, result=result)
        for job in (*self._running, *self._waiting):
            if job.key == key and not job.is_unwanted:
                return job
        return None

    def _refusal(self, owner: str, name: str) -> Refusal | None:
        """Why one more job of this owner, in place of that of the same name, is too many."""
        others = {
            job
            for (who, what), job in self._jobs.items()
            if who == owner and what != name and job.status in _ACTIVE
        }
        if len(others) >= MOST_OWN:
            return Refusal("own", len(others))
        if len(self._waiting) >= MOST_WAITING:
            for job in filter(self._is_abandoned, [*self._waiting]):
                self._waiting.remove(job)
                job.give_up()
        n_waiting = len(self._waiting)
        return Refusal("full", n_waiting) if n_waiting >= MOST_WAITING else None

    def _leave(self, owner: str, name: str) -> None:
        job = self._jobs.pop((owner, name), None)
        if job is None:
            return
        if owner not in {who for (who, _), other in self._jobs.items() if other is job}:
            job.owners.discard(owner)
        if not job.owners:
            job.is_unwanted = True
            if job in self._waiting:
                self._waiting.remove(job)

    def _forget(self) -> None:
        """Let go of the oldest that have ended."""
        ended = [each for each, job in self._jobs.items() if job.status not in _ACTIVE]
        kept = Shelf(MOST_KEPT, MOST_BYTES)
        for each in ended:
            kept.put(each, self._jobs[each])
        for each in ended:
            if each not in kept:
                del self._jobs[each]
        owners = {owner for owner, _ in self._jobs}
        self._beats = {owner: beat for owner, beat in self._beats.items() if owner in owners}

    def _begin_waiting(self) -> None:
        while self._waiting and self._has_room() and not self._is_closed:
            job = self._waiting.popleft()
            if self._is_abandoned(job):
                job.give_up()
                continue
            job.status = "running"
            # A daemon, as Python would wait for any other before it lets `close` be called.
            thread = threading.Thread(target=self._run, args=(job,), daemon=True)
            self._running[job] = thread
            try:
                thread.start()
            except RuntimeError as error:  # the system has no thread left
                del self._running[job]
                job.status, job.error = "failed", error
                _log.exception("a job could not begin")

    def _has_room(self) -> bool:
        """Whether the first of those who wait may run now."""
        if not self._running:
            return True
        is_full = len(self._running) >= self._limit
        return not (is_full or self._waiting[0].is_alone or any(r.is_alone for r in self._running))

    def _is_abandoned(self, job: _Job) -> bool:
        return not any(self._waits(owner) for owner in job.owners)

    def _waits(self, owner: str) -> bool:
        """Whether an owner may still ask for a job."""
        silence = self._clock() - self._beats.get(owner, 0.0)
        return silence <= GRACE or (silence <= PATIENCE and self._is_there(owner))

    # --- in the thread of the job

    def _run(self, job: _Job) -> None:
        def tell(done: float, shown: Any = None) -> None:
            with self._lock:
                if job.is_unwanted or self._is_closed or self._is_abandoned(job):
                    raise StoppedError
                job.done = done
                if shown is not None:
                    job.shown = shown

        status: Status = "failed"
        try:
            tell(0.0)
            job.result = job.work(tell)
            status = "done"
        except StoppedError:
            status = "stopped"
        except BaseException as error:  # whatever it is, its place has to be given on
            job.error = error
            _log.exception("a job failed")
        with self._lock:
            job.status = status
            job.work = _nothing  # it may hold on to much that nobody wants any more
            if status == "done":
                job.done = 1.0
                if job.key is not None:
                    self._results.put(job.key, job.result)
            del self._running[job]
            self._forget()
            self._begin_waiting()


def _nothing(tell: Tell) -> None:
    """The work of a job that is done already."""
