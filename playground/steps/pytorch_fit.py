"""The step in which gradient descent looks for a pattern: its inputs, its course, its result."""

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from playground import catalog, controls, lesson, running, session, shell
from playground.lessons import pytorch_fit as fit
from playground.texts import Texts

if TYPE_CHECKING:
    from attention_core.neural.fitting import Course, Moment

FIT = "pytorch.fit"  # the step, and the job that it shows


def draw(t: Texts) -> None:
    """Gradient descent looks for a pattern; nothing moves its place when it begins or ends."""
    task = fit.task(session.experiment(), session.head(), session.setting, session.target())
    is_running = running.is_active(FIT)
    draw_task(t, task, is_running=is_running)
    job = lesson.watch(t, FIT, partial(fit.progress, t), has_stop=False)
    course = job and job.latest
    if course and (is_running or fit.is_of(course, task)):
        draw_course(t, course, task, is_running=is_running)
    else:
        exhibit = fit.fitted(
            t, fit.start(task), task.head, task.target, is_paintable=task.is_painted
        )
        lesson.show(t, exhibit)
        lesson.found(t, *fit.found_before(t, task), is_changing=is_running)


def draw_task(t: Texts, task: fit.Task, *, is_running: bool) -> None:
    """What is to be looked for, and how; and one button that starts it and stops it."""
    controls.heads(t)
    lesson.choose(
        f"{FIT}.pattern", t("pytorch.fit.pattern"), fit.pattern_names(t), is_disabled=is_running
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        rates = {rate: f"{rate:g}" for rate in fit.RATES}
        label, help = t("pytorch.fit.rate"), t("pytorch.fit.rate_help")
        lesson.slide_along(
            f"{FIT}.rate", label, rates, default=fit.RATE, help=help, is_disabled=is_running
        )
        label, counts = t("pytorch.fit.steps"), {count: str(count) for count in fit.STEPS}
        lesson.slide_along(
            f"{FIT}.steps", label, counts, default=fit.N_STEPS, is_disabled=is_running
        )
        lesson.choose(
            f"{FIT}.begin", t("pytorch.fit.begin"), fit.beginning_names(t), is_disabled=is_running
        )
        is_disabled = bool(fit.obstacle(t, task))
        lesson.start_or_stop(t, FIT, t("pytorch.fit.start"), begin, is_disabled=is_disabled)


def draw_course(t: Texts, course: "Course", task: fit.Task, *, is_running: bool) -> None:
    """How a fit goes or has gone: the board at one of its moments, and the loss."""
    at = len(course.moments) - 1
    if at > 0 and not is_running:
        moments = {index: str(moment.step) for index, moment in enumerate(course.moments)}
        with st.container(horizontal=True, vertical_alignment="bottom"):
            at = lesson.slide_along(f"{FIT}.at", t("pytorch.fit.at"), moments, default=at)
            draw_take(t, course.head, course.moments[at])
    moment = course.moments[at]
    exhibit = fit.fitted(
        t,
        course.at(moment),
        course.head,
        course.target,
        is_paintable=task.is_painted and not is_running,
        is_running=is_running,
    )
    lesson.show(t, exhibit)
    figure = fit.curve(t, course, moment.step, shell.theme())
    lesson.plot(f"{FIT}.curve", figure, t("pytorch.fit.curve_alt"))
    said = fit.found_after(t, course, moment, is_running=is_running)
    lesson.found(t, *said, is_changing=is_running)


def draw_take(t: Texts, head: int, moment: "Moment") -> None:
    """A way for these matrices into the experiment, and then to the Playground."""
    is_there = fit.has(session.experiment(), head, moment)
    lesson.press(
        t("pytorch.fit.taken") if is_there else t("pytorch.fit.take"),
        ":material/check:" if is_there else ":material/input:",
        take,
        head,
        moment,
        help=t("pytorch.fit.take_help"),
        is_disabled=is_there,
        key=f"{FIT}.take",
    )
    if is_there:
        playground = catalog.lesson("playground")
        st.page_link(playground.file, label=t("pytorch.fit.go"), icon=playground.icon)


def begin() -> None:
    """Let the fit begin that the inputs describe."""
    session.take_waiting()  # what was painted just before
    session.set_setting(f"{FIT}.at", None)  # the last moment, whichever that will be
    task = fit.task(session.experiment(), session.head(), session.setting, session.target())
    lesson.start(FIT, fit.work(task))


def take(head: int, moment: "Moment") -> None:
    """Put the matrices of this moment into the experiment."""
    session.apply(lambda e: fit.with_moment(e, head, moment))
