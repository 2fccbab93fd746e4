"""How many may learn at the same time in one process, and who is in.

Who has found a place keeps it while connected, and whoever comes back to work that was begun is
let in again, even beyond the limit. A place that was just left is kept for a moment from those who
wait: most likely its learner loads the page anew, and comes as someone new.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping

VARIABLE = "ATTENTION_MAX_SESSIONS"
POLL = 2.0  # seconds after which who waits asks again
KEPT = 3.0  # seconds that a place is kept; longer than a poll, or nobody would see it be left
_MOST_ASKED = 5  # times a second by all who wait, about


def limit(environment: Mapping[str, str]) -> int | None:
    """How many sessions the environment allows; None for any number.

    Raises:
        ValueError: It says something else than a number from 1 on.
    """
    text = environment.get(VARIABLE, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and int(text) > 0):
        raise ValueError(
            f"{VARIABLE} must be a whole number from 1 to 999999, or unset; got {text!r:.40}"
        )
    return int(text)


class Admission:
    """Who is in, and who waits.

    Args:
        most: How many may be in; None for any number.
        is_there: Whether somebody is connected.
        clock: Seconds, for tests.
    """

    def __init__(
        self,
        most: int | None,
        *,
        is_there: Callable[[str], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._is_there = is_there
        self._clock = clock
        self._lock = threading.Lock()
        self._inside: dict[str, float] = {}  # when each was seen last
        self._waiting: set[str] = set()

    def enter(self, who: str, *, has_begun: bool = False) -> bool:
        """Whether somebody is let in; who is not waits from now on, and may ask again.

        Args:
            who: Asks.
            has_begun: Whether there is work of theirs already, which nobody is kept from.
        """
        if self._most is None:
            return True
        with self._lock:
            n_present = self._look()
            n_taken = len(self._inside) if who in self._waiting else n_present
            is_in = has_begun or who in self._inside or n_taken < self._most
            if is_in:
                self._waiting.discard(who)
                self._inside[who] = self._clock()
            else:
                self._waiting.add(who)
            return is_in

    @property
    def n_inside(self) -> int:
        """How many are in."""
        with self._lock:
            return self._look()

    @property
    def pause(self) -> float:
        """Seconds after which who waits may ask again: more, the more there are."""
        with self._lock:
            return max(POLL, len(self._waiting) / _MOST_ASKED)

    def _look(self) -> int:
        """See who is there, forget who has left, and count who is in."""
        now = self._clock()
        self._waiting = {who for who in self._waiting if self._is_there(who)}
        present = [who for who in self._inside if self._is_there(who)]
        self._inside.update(dict.fromkeys(present, now))
        self._inside = {who: seen for who, seen in self._inside.items() if now - seen <= KEPT}
        return len(present)


def check() -> None:
    """Say at the start, before the first visitor, that the limit is none: `python -m` this."""
    try:
        limit(os.environ)
    except ValueError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    check()
