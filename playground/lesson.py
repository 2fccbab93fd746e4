"""The frame of a lesson, and the inputs that set it.

A lesson is one question in a few steps, of which one is drawn at a time: what to do, its inputs,
the board or a figure, what was measured, and one thing to try. All of it is the board's part of the
page, so an input runs and draws that part alone.

What a lesson is set to lives in the session, so it is there again when the learner comes back.
Each input is written from it before it is drawn, and its callback keeps what was set.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial, wraps
from importlib import import_module
from typing import Any, TypeVar

import streamlit as st

from playground import (
    address_bar,
    board,
    catalog,
    charts,
    controls,
    figures,
    parts,
    returning,
    running,
    session,
    shell,
)
from playground.exhibit import Exhibit
from playground.figures import Figure
from playground.jobs import View, Work
from playground.parts import BOARD, answering
from playground.texts import Texts

T = TypeVar("T")
Number = TypeVar("Number", int, float)
Draw = Callable[[Texts], None]

_INSTALL = "pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu"
_LINE, _AROUND = 26, 24  # pixels of a field for text: each line, and what lies around them
_VALUE, _DEFAULT, _NOTHING = "value", "default", ""  # what an input begins with, to Streamlit
_REFUSAL = "refusal"  # of a job, below its name
_ASKED = "asked"  # of a job that begins by itself, below its name: what it is to find
_SHOWN = "inputs"  # what each input of a lesson shows: as it was drawn, or as it was set since


def page(t: Texts, id: str, steps: Mapping[str, Draw]) -> None:
    """Draw the lesson of this id.

    Args:
        t: The reader's language.
        id: Of the lesson.
        steps: For each step of the catalog what draws it: inputs, board or figure, `found`.
    """
    is_on_experiment = catalog.lesson(id).is_on_experiment
    heading = st.container(key="heading", horizontal=True, horizontal_alignment="distribute")
    with st.sidebar:
        upper, place_of_sizes, lower = st.container(), st.container(), st.container()
    controls.begin()

    def pace() -> float | None:
        return running.pace(f"{id}.{session.setting(f'{id}.step', next(iter(steps)))}")

    drawn_pace = pace()

    def draw(t: Texts) -> None:
        sizes = place_of_sizes.container()  # also where the step fails, or the next run had none
        _step(t, id, steps)
        if not parts.is_board_drawn():
            address_bar.show(t)
            has_begun = pace() and not drawn_pace  # its job, as it was drawn
            # A job has ended, or a step was chosen; a board would ask for this.
            if has_begun or parts.stale():
                parts.draw_page_again()
        if is_on_experiment:
            with sizes:
                controls.sizes(t)

    # First, as it is what one waits for.
    shell.part(BOARD, draw, session.shown, run_every=drawn_pace)
    shell.give_head_start()
    with heading:
        st.title(t(f"lesson.{id}.question"), width="content")
    if not is_on_experiment:
        parts.note(parts.PAGE, pace)
        return
    with heading:
        toolbar = partial(controls.toolbar, is_quiet=True)
        shell.part("toolbar", toolbar, controls.toolbar_shows)
    with upper:
        controls.beginning(t)
    with lower:
        controls.settings(t)
    parts.note(parts.PAGE, lambda: (controls.are_right(), pace()))


def _step(t: Texts, id: str, steps: Mapping[str, Draw]) -> None:
    places = {step: f"{id}.{step}" for step in steps}
    titles = {step: t(f"{place}.title") for step, place in places.items()}
    asked = session.pop_asked_step()
    if asked in steps:
        session.set_setting(f"{id}.step", asked)
    chosen = choose(f"{id}.step", t("exhibit.step"), titles, is_label_shown=False)
    session.show_place(id, chosen)
    place = places[chosen]
    st.markdown(t(f"{place}.ask"))
    steps[chosen](t)
    st.markdown(t("exhibit.next", what=t(f"{place}.next")))


# --- what a step shows


def show(t: Texts, exhibit: Exhibit) -> None:
    """The board of a step."""
    above = st.container()
    address = address_bar.address(t)
    board.show(board.exhibit_data(t, exhibit), address)
    with above:
        address_bar.warn(t, address)


def plot(key: str, figure: Figure, alt: str) -> None:
    """The one Plotly figure of a step.

    Args:
        key: Of the element.
        figure: From `charts.figure`.
        alt: What it shows, for those who do not see it.
    """
    shown = charts.stacked(figure) if shell.is_phone() else figure
    st.plotly_chart(shown, key=key, theme=None, config=figures.config(), alt=alt)


def found(t: Texts, *sentences: str, is_list: bool = False, is_changing: bool = False) -> None:
    """What was measured, in sentences made from the numbers.

    Args:
        t: The reader's language.
        sentences: What was measured.
        is_list: Whether each after the first stands in a line of its own, where there are several.
        is_changing: Whether it changes by itself, as a job goes on. A screen reader reads aloud
            what changes in Streamlit's box, which nobody could follow twice a second.
    """
    is_list = is_list and len(sentences) > 2
    between = "\n- " if is_list else "" if t.language == "zh" else " "
    said, icon = t("exhibit.found", what=between.join(sentences)), ":material/straighten:"
    if is_changing:
        st.container(border=True).markdown(f"{icon} {said}")
    else:
        st.info(said, icon=icon)


# --- what takes its time


def start(name: str, work: Work, *, key: Hashable = None, is_alone: bool = False) -> None:
    """Let some work be done while the page goes on; as `Jobs.start`.

    Args:
        name: Of the job: the lesson and the step that show it, such as "pytorch.fit". What the
            menu calls it while another page is shown stands in the text "<name>.job".
        work: Does it.
        key: What its result depends on, if it is the same for all.
        is_alone: Whether nothing else may run beside it, as it measures time or memory.
    """
    refusal = running.start(name, work, key=key, is_alone=is_alone)
    session.set_setting(f"{name}.{_REFUSAL}", refusal and tuple(refusal))


def start_or_stop(
    t: Texts,
    name: str,
    label: str,
    begin: Callable[..., None],
    *args: Any,
    icon: str = ":material/play_arrow:",
    is_disabled: bool = False,
) -> None:
    """The one button that starts a job, and stops it while it waits or runs.

    Args:
        t: The reader's language.
        name: Of the job.
        label: What starts it.
        begin: Starts it, called with `args`.
        args: For `begin`.
        icon: Of what starts it.
        is_disabled: Whether it cannot be started.
    """
    is_active = running.is_active(name)
    press(
        t("job.stop") if is_active else label,
        ":material/stop:" if is_active else icon,
        running.stop if is_active else begin,
        *((name,) if is_active else args),
        is_disabled=is_disabled and not is_active,
        key=f"{name}.run",
    )


def watch(
    t: Texts, name: str, said: Callable[[Any], str] | None = None, *, has_stop: bool = True
) -> View | None:
    """Draw how far a job is, with a way to stop it, or that it failed or was not taken.

    Args:
        t: The reader's language.
        name: Of the job.
        said: Says it from what the job told last; else it is a share.
        has_stop: Whether the way to stop it stands here, rather than with the inputs.

    Returns:
        The job as it is now, if it was started.
    """
    job = running.job(name)
    # A place of its own: what follows stays what it is to Streamlit when a job begins or ends, or
    # a section that a learner has opened below would be closed and lose the focus.
    with st.container():
        _draw_job(t, name, job, said, has_stop=has_stop)
        _draw_refusal(t, name)
    return job


def awaited(t: Texts, name: str, asked: Hashable, work: Work) -> Any:
    """What a step shows nothing without, and takes too long to be found within a run.

    It is looked for as soon as the step is drawn with anything else asked for.

    Args:
        t: The reader's language.
        name: Of the job, as for `start`.
        asked: What its result depends on, the same for all.
        work: Finds it.

    Returns:
        The result; None while it is not there, and then what it waits for is drawn.
    """

    def begin() -> None:
        running.forget(name)
        start(name, work, key=(name, asked))

    is_refused = session.setting(f"{name}.{_REFUSAL}", None) is not None
    job = running.job(name)
    is_lost = job is None and not is_refused  # as many others have found something since
    if is_lost or session.setting(f"{name}.{_ASKED}", None) != asked:
        session.set_setting(f"{name}.{_ASKED}", asked)
        begin()
        job = running.job(name)
    if job is None or not (job.is_active or job.status == "done"):
        press(t("job.again"), ":material/refresh:", begin, key=f"{name}.again")
    watch(t, name, has_stop=False)
    return job and job.result


def _draw_job(
    t: Texts,
    name: str,
    job: View | None,
    said: Callable[[Any], str] | None,
    *,
    has_stop: bool,
) -> None:
    if job is not None and job.is_active:
        with st.container(horizontal=True, vertical_alignment="center"):
            if has_stop:
                press(t("job.stop"), ":material/stop:", running.stop, name, key=f"{name}.stop")
            text = t("job.running", share=round(100 * job.done))
            if job.status == "waiting":
                text = t("job.waiting", count=job.n_before)
            elif said and job.shown is not None:
                text = said(job.shown)
            st.progress(job.done, text=text)
    elif job is not None and job.status == "failed":
        st.error(t("job.failed"), icon=":material/healing:")


def _draw_refusal(t: Texts, name: str) -> None:
    """That a job was not taken, until it is started again."""
    refusal: tuple[str, int] | None = session.setting(f"{name}.{_REFUSAL}", None)
    if refusal:
        why, n_jobs = refusal
        st.warning(t(f"job.refused.{why}", count=n_jobs), icon=":material/hourglass_disabled:")


# --- what needs PyTorch


def with_torch(draw: Draw) -> Draw:
    """A step that needs PyTorch; on a machine without it, how to get it."""

    @wraps(draw)
    def step(t: Texts) -> None:
        try:
            import_module("attention_core.neural")
        except ImportError:
            st.warning(t("torch.missing"), icon=":material/extension_off:")
            st.code(_INSTALL, language=None)
        else:
            draw(t)

    return step


# --- inputs


def choose(
    key: str,
    label: str,
    options: Mapping[T, str],
    *,
    default: T | None = None,
    help: str | None = None,
    is_label_shown: bool = True,
    is_disabled: bool = False,
    then: Callable[[], None] | None = None,
) -> T:
    """One of a few, all in sight. `options` gives each its name; the first is the default.

    `then` is called once another one is set, for what follows from it.
    """
    first = next(iter(options)) if default is None else default
    chosen = _set(key, first, options)
    chosen = chosen if chosen in options else first
    st.segmented_control(
        label,
        list(options),
        format_func=options.__getitem__,
        required=True,
        help=help,
        label_visibility="visible" if is_label_shown else "collapsed",
        disabled=is_disabled,
        **_kept(key, chosen, then, made_of=(*options.items(),), begins=_DEFAULT),
    )
    return chosen


def choose_for(
    key: str,
    label: str,
    options: Mapping[T, str],
    value: T | None,
    commit: Callable[[T], None],
    *,
    help: str | None = None,
) -> None:
    """One of a few, for something that is not the lesson's own, such as the experiment's heads.

    Args:
        key: Of the input.
        label: Its name.
        options: What can be chosen, each with its name.
        value: What is so now; None where it is none of them.
        commit: Makes it so that another one is.
        help: Shown where one asks for it.
    """
    st.segmented_control(
        label,
        list(options),
        format_func=options.__getitem__,
        required=value is not None,
        help=help,
        **_acting(key, value, commit, made_of=(*options.items(),), begins=_DEFAULT),
    )


def choose_several(
    key: str,
    label: str,
    options: Mapping[T, str],
    *,
    default: Sequence[T] = (),
    help: str | None = None,
    is_disabled: bool = False,
    then: Callable[[], None] | None = None,
) -> list[T]:
    """Any number of a few, in their order. `then` as for `choose`."""
    kept = _set(key, list(default))
    chosen = [option for option in options if option in kept]
    st.pills(
        label,
        list(options),
        selection_mode="multi",
        format_func=options.__getitem__,
        help=help,
        disabled=is_disabled,
        **_kept(key, chosen, then, made_of=(*options.items(),), begins=_DEFAULT),
    )
    return chosen


def slide(
    key: str,
    label: str,
    low: Number,
    high: Number,
    *,
    default: Number,
    step: Number | None = None,
    help: str | None = None,
    then: Callable[[], None] | None = None,
) -> Number:
    """A number on a slider. Where there is but one, it is written instead, as a slider fails.

    `then` as for `choose`.
    """
    value = min(max(_set(key, default), low), high)
    if low == high:
        st.markdown(f"{label}: {value}")
        return value
    st.slider(
        label,
        low,
        high,
        step=step,
        help=help,
        **_kept(key, value, then, made_of=(low, high, step)),
    )
    return value


def slide_along(
    key: str,
    label: str,
    options: Mapping[T, str],
    *,
    default: T,
    help: str | None = None,
    is_disabled: bool = False,
) -> T:
    """One of many in a row, such as 1, 2, 4, 8, on a slider; `options` gives each its name."""
    value = _set(key, default, options)
    value = value if value in options else default
    st.select_slider(
        label,
        list(options),
        format_func=options.__getitem__,
        help=help,
        disabled=is_disabled,
        **_kept(key, value, made_of=(*options.items(),)),
    )
    return value


def number(
    key: str, label: str, low: int, high: int, *, default: int, help: str | None = None
) -> int:
    """A whole number to be typed."""
    value = min(max(_set(key, default), low), high)
    st.number_input(
        label,
        low,
        high,
        value=None,  # emptied, it is None and changes nothing
        help=help,
        **_kept(key, value, made_of=(low, high), begins=_NOTHING),
    )
    return value


def write(
    key: str, label: str, *, default: str, most: int, n_lines: int = 1, help: str | None = None
) -> str:
    """A text in a field for so many lines; emptied, it is the default again.

    Streamlit cuts it to `most` characters, whatever a browser sends.
    """
    value = (_set(key, "") or default)[:most]
    st.text_area(
        label,
        height=_AROUND + n_lines * _LINE,
        max_chars=most,
        help=help,
        **_kept(key, value, made_of=(most, n_lines)),
    )
    return value


def switch(
    key: str,
    label: str,
    *,
    default: bool = False,
    help: str | None = None,
    is_disabled: bool = False,
) -> bool:
    """On or off."""
    value = bool(_set(key, default))
    st.toggle(label, help=help, disabled=is_disabled, **_kept(key, value))
    return value


def press(
    label: str,
    icon: str,
    action: Callable[..., None],
    *args: Any,
    help: str | None = None,
    is_disabled: bool = False,
    key: str | None = None,
) -> None:
    """A button that changes something, and then lets the board's part be drawn."""
    st.button(
        label,
        icon=icon,
        help=help,
        key=key,
        on_click=answering(action, on=BOARD, is_patient=True),
        args=args,
        disabled=is_disabled,
    )


def _set(key: str, default: T, options: Iterable[Any] = ()) -> T:
    """What an input is set to: as the link asks, if it asks for what can be, else as it was left.

    A link asks for one of the options, or else for a value of exactly the kind that the default is
    of. The input itself sees to numbers that are too large, and to what is no option of several.
    """
    session.note_input(key)
    asked, known = session.pop_asked_setting(key), [(type(each), each) for each in options]
    if (type(asked), asked) in known if known else type(asked) is type(default):
        session.set_setting(key, asked)
    return session.setting(key, default)


def _kept(
    key: str,
    value: Any,
    then: Callable[[], None] | None = None,
    *,
    made_of: tuple[Any, ...] = (),
    begins: str = _VALUE,
) -> dict[str, Any]:
    """What makes an input show this value, and keep another one in the session under its key."""
    return _acting(key, value, partial(_keep, key, then), made_of=made_of, begins=begins)


def _keep(key: str, then: Callable[[], None] | None, value: Any) -> None:
    session.set_setting(key, value)
    if then and not returning.is_unseen():  # what it did to the experiment, the address tells
        then()


def _acting(
    key: str,
    value: T | None,
    act: Callable[[T], None],
    *,
    made_of: tuple[Any, ...] = (),
    begins: str,
) -> dict[str, Any]:
    """What makes an input show this value, and act on another one.

    What it is `made_of` beside is as for `parts.write`; `begins` is what Streamlit calls the
    value with which such an input begins.
    """
    st.session_state.setdefault(_SHOWN, {})[key] = value
    return {
        **parts.showing(key, value, *made_of, **({begins: value} if begins else {})),
        "on_change": answering(_act, on=BOARD, is_patient=True),
        "args": (key, act),
    }


def _act(key: str, act: Callable[[Any], None]) -> None:
    """Act on what was set, if it is another value than was shown, or set since.

    A late message of a page that was left calls this for all its inputs, changed or not.
    """
    value, shown = st.session_state.get(key), st.session_state.get(_SHOWN, {})
    if value is None or value == shown.get(key) or parts.is_echo(key, value, on=BOARD):
        return
    shown[key] = value
    act(value)
