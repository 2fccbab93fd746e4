"""The jobs of the process: they end before what they use is taken away."""

import subprocess
import sys

import pytest

from playground import running
from playground.jobs import View

ENDING = """
import atexit
from playground import jobs
jobs.Jobs.close = lambda self: print("jobs")
from playground import running, session
session.id = lambda: "ann"
atexit.register(print, "a library")
running.start("lesson.step", lambda tell: None)
running.start("lesson.other", lambda tell: None)
"""


def test_jobs_end_before_a_library_that_was_imported_after_the_app():
    ran = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, check=True)

    assert ran.stdout.split("\n") == ["jobs", "a library", ""]


@pytest.mark.parametrize(
    ("status", "pace"),
    [("waiting", 2.0), ("running", 0.5), ("done", None), ("stopped", None), ("failed", None)],
)
def test_a_job_that_waits_is_looked_at_seldom_as_a_whole_class_may_wait(monkeypatch, status, pace):
    monkeypatch.setattr(running, "job", lambda name: View(name, status))

    assert running.pace("lesson.step") == pace


def test_what_was_never_started_is_not_looked_at(monkeypatch):
    monkeypatch.setattr(running, "job", lambda name: None)

    assert running.pace("lesson.step") is None
