"""What is kept because it took its time: the latest ones, up to so many and so many bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Any


class Shelf:
    """Forgets what was not asked for longest. Any thread may use it.

    Args:
        most: Things that are kept.
        most_bytes: That they may take, as far as they say so (`nbytes`).
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._kept

    def __len__(self) -> int:
        with self._lock:
            return len(self._kept)

    def get(self, key: Hashable) -> Any:
        """What is kept under this key; None if there is nothing, or nothing any more."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, thing: Any) -> None:
        """Keep this, and let go of the oldest where there is no room."""
        with self._lock:
            self._kept[key] = thing
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and self._is_full():
                self._kept.popitem(last=False)

    def _is_full(self) -> bool:
        return len(self._kept) > self._most or total(self._kept.values()) > self._most_bytes


def total(things: Any) -> int:
    """Bytes of all of them; what stands there twice is one thing."""
    return sum(
        getattr(thing, "nbytes", 0) for thing in {id(each): each for each in things}.values()
    )
