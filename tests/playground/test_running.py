"""The jobs of the process: they end before what they use is taken away."""

import subprocess
import sys

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
