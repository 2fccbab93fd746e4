"""Mends one fault of Streamlit 1.67: it collects garbage after each run, for all sessions at once.

That looks through the objects of every learner: the more there are, the longer each one's run
takes. So the process does it once in a while, whoever has run.
"""

import gc
import threading
import time
from types import SimpleNamespace

from streamlit.runtime.scriptrunner import script_runner

PAUSE = 2.0  # seconds between two collections

_lock = threading.Lock()
_last = [0.0]


def collect(generation: int = 2) -> int:
    """Collect, unless it was done a moment ago."""
    with _lock:
        now = time.monotonic()
        if now - _last[0] < PAUSE:
            return 0
        _last[0] = now
    return gc.collect(generation)


def mend() -> None:
    """Let Streamlit collect seldom, once for the process."""
    setattr(script_runner, "gc", SimpleNamespace(collect=collect))  # noqa: B010
