"""The jobs of this learner: started, asked for and stopped from a page.

A job is named after the step that shows it, such as "pytorch.fit". That step is drawn anew twice
a second while its job is active; on any other page the frame shows the job, which also keeps it
alive there.
"""

import atexit
import os
import threading
from collections.abc import Hashable

from streamlit.runtime import Runtime

from playground import session
from playground.jobs import Jobs, Refusal, View, Work

POLL = 0.5  # seconds between two looks at a job that runs and is shown
POLL_SELDOM = 2.0  # and at one that is not, or waits: a whole class may wait

# Held by what takes some tenths of a second within a run, too short for a job: however many press
# at once, one core is enough for all of them.
BRIEF_WORK = threading.Lock()


def is_connected(connection: str) -> bool:
    """Whether a browser is connected to the session of this name, Streamlit's own."""
    return not Runtime.exists() or Runtime.instance().is_active_session(connection)


def _is_there(owner: str) -> bool:
    return is_connected(owner.split()[0])


# One core is left for everyone who does not wait for a job.
_JOBS = Jobs(max(1, (os.cpu_count() or 1) - 1), is_there=_is_there)
atexit.register(_JOBS.close)


def start(name: str, work: Work, *, key: Hashable = None, is_alone: bool = False) -> Refusal | None:
    """Let some work be done; as `Jobs.start`."""
    # What is registered last is called first. PyTorch, which is imported later than this, takes
    # parts of itself away at the end, and no job may be in the midst of them then.
    atexit.unregister(_JOBS.close)
    atexit.register(_JOBS.close)
    return _JOBS.start(session.id(), name, work, key=key, is_alone=is_alone)


def job(name: str) -> View | None:
    """The job of this name, if it was started."""
    return _JOBS.view(session.id(), name)


def stop(name: str) -> None:
    """End the job of this name."""
    _JOBS.stop(session.id(), name)


def forget(name: str) -> None:
    """Stop the job of this name, and let nothing of it be seen again."""
    _JOBS.forget(session.id(), name)


def is_active(name: str) -> bool:
    """Whether the job of this name waits or runs."""
    view = job(name)
    return view is not None and view.is_active


def pace(name: str) -> float | None:
    """Seconds between two looks at the job of this name, while it is shown; None for no more."""
    view = job(name)
    if view is None or not view.is_active:
        return None
    return POLL_SELDOM if view.status == "waiting" else POLL


def elsewhere() -> list[View]:
    """The active jobs that the step that is shown does not show."""
    return [view for view in _JOBS.active(session.id()) if view.name != session.place()]
