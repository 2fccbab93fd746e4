"""Jobs of a learner whose app runs without a browser: nothing polls here, so tests wait."""

import threading

from playground import running

WAIT = 30  # seconds that a condition may take on a busy machine


def job(app, name):
    """The job of this name as it is now."""
    return running._JOBS.view(app.test.session_state["work"]["id"], name)


def until(app, name, is_so):
    """Wait until the job is so, and draw what there is then."""
    pause = threading.Event()
    for _ in range(WAIT * 50):
        if is_so(job(app, name)):
            app.test.run()
            return app
        pause.wait(0.02)
    raise AssertionError(f"{name} is {job(app, name)}")


def finished(app, name):
    """Wait until the job has ended, and draw what came of it."""
    return until(app, name, lambda view: not view.is_active)
