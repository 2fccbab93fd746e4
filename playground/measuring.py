"""Measurements that learners ask for: one at a time on a server, and none of them twice."""

from collections.abc import Callable
from threading import Lock

import numpy as np
import streamlit as st

from attention_core.measurement import Measured, Tell, measure
from playground.lessons import cost

_MOST_KEPT = 200  # settings whose result is remembered

# Two at a time would measure each other, and a class that presses at once would stop the server.
_one_at_a_time = Lock()


class BusyError(Exception):
    """Someone else measures just now."""


class _NotMeasuredError(Exception):
    pass


def attention(reach: int, d_k: int, n_tokens: int, seed: int, *, tell: Tell) -> Measured:
    """The cost of attention on this server, or what was found the first time.

    Args:
        reach: Of the window, on each side.
        d_k: Features per query, key and value.
        n_tokens: Up to so many are measured.
        seed: Of the random Q, K and V.
        tell: Is told the progress.

    Raises:
        BusyError: It would have to be measured, and another measurement has not ended.
    """

    def run() -> Measured:
        return measure(
            cost.counts(n_tokens),
            cost.sizes(reach),
            d_k=d_k,
            rng=np.random.default_rng(seed),
            most_bytes=cost.MOST_BYTES,
            most_seconds=cost.MOST_SECONDS,
            tell=tell,
        )

    settings = reach, d_k, min(n_tokens, cost.MOST_MEASURED), seed
    try:
        return _kept(settings, None)
    except _NotMeasuredError:
        return _kept(settings, _alone(run))


@st.cache_data(show_spinner=False, max_entries=_MOST_KEPT)
def _kept(settings: tuple[int, ...], _measured: Measured | None) -> Measured:
    """What was measured with these settings. Nothing is drawn in here, or it would be repeated."""
    if _measured is None:
        raise _NotMeasuredError(settings)
    return _measured


def _alone(run: Callable[[], Measured]) -> Measured:
    if not _one_at_a_time.acquire(blocking=False):
        raise BusyError
    try:
        return run()
    finally:  # also where Streamlit ends the run, as the learner has gone on
        _one_at_a_time.release()
