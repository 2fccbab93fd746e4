"""A relay or a round table: paths, influence, time, and what query, key and value stand for."""

import streamlit as st

from attention_core import Experiment
from attention_core.pace import Precision
from playground import lesson, running, session, shell, strip
from playground.lessons import why_influence, why_pace, why_relay, why_words
from playground.texts import Texts, small

INFLUENCE, PACE = "why_attention.influence", "why_attention.pace"  # steps, and the jobs they show

t = shell.open_page(has_board=True)


# --- relay or round table


def draw_relay(t: Texts) -> None:
    """A message along a row, or all pairs at once; steps, paths, pairs and multiply-adds."""
    e, names = session.experiment(), why_relay.token_names(session.experiment())
    source = lesson.choose("why_attention.source", t("why_attention.relay.source"), names)
    strip.show("why_attention.strip", why_relay.strip(t, e, source))
    n_tokens, d_model = draw_sizes(t)
    draw_counts(t, n_tokens, d_model)
    found = why_relay.strip_found(t, e, source)
    lesson.found(t, *found, *why_relay.counts_found(t, n_tokens, d_model))


def draw_sizes(t: Texts) -> tuple[int, int]:
    """For how many tokens, and how wide ones, it is counted what linking them takes."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label, counts = t("why_attention.relay.n_tokens"), why_relay.counted(why_relay.N_TOKENS)
        n_tokens = lesson.slide_along("why_attention.n_tokens", label, counts, default=1024)
        label, widths = t("why_attention.relay.d_model"), why_relay.counted(why_relay.WIDTHS)
        d_model = lesson.slide_along("why_attention.d_model", label, widths, default=512)
    return n_tokens, d_model


def draw_counts(t: Texts, n_tokens: int, d_model: int) -> None:
    """One of the counts as curves, and all of them in a table."""
    quantities = why_relay.quantity_names(t)
    label = t("why_attention.relay.view")
    quantity = lesson.choose("why_attention.quantity", label, quantities)
    figure = why_relay.figure(t, quantity, n_tokens, d_model, shell.theme())
    alt = t("why_attention.relay.alt", quantity=quantities[quantity])
    lesson.plot("why_attention.counts", figure, alt)
    st.table(why_relay.table(t, n_tokens, d_model))
    st.markdown(small(t("why_attention.relay.assumed")))


# --- influence


def draw_influence(t: Texts) -> None:
    """How much the last output depends on each token, in four models."""
    settings = draw_influence_settings(t)
    view = lesson.watch(t, INFLUENCE)
    found = why_influence.measured(view)
    if view is None or found is None:
        lesson.found(t, *why_influence.known(t, settings))
        return
    figure = why_influence.curves(t, found, shell.theme())
    lesson.plot(f"{INFLUENCE}.curves", figure, t("why_attention.influence.alt"))
    st.table(why_influence.table(t, found))
    lesson.found(t, *why_influence.influence_found(t, found, settings, view))


def draw_influence_settings(t: Texts) -> why_influence.Settings:
    """What is to be measured, and the button that starts it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = [
            lesson.choose(f"{INFLUENCE}.{id}", label, options, default=default, help=help)
            for id, label, options, default, help in why_influence.inputs(t)
        ]
        settings = why_influence.Settings(*chosen)
        label, is_disabled = t("why_attention.influence.measure"), running.is_active(INFLUENCE)
        icon = ":material/straighten:"
        lesson.press(label, icon, start_influence, settings, is_disabled=is_disabled)
    return settings


def start_influence(settings: why_influence.Settings) -> None:
    """Let these settings be measured, if nobody has before."""
    key, work = why_influence.key(settings), why_influence.work(settings)
    lesson.start(INFLUENCE, work, key=key)


# --- pace


def draw_pace(t: Texts) -> None:
    """The time of n steps one after the other against one matrix product."""
    d_model, precision = draw_settings(t)
    job = lesson.watch(t, PACE)
    pace = why_pace.fitting(job and job.result, d_model, precision)
    figure = why_pace.figure(t, pace, d_model, shell.theme())
    lesson.plot("why_attention.times", figure, why_pace.alt(t, pace))
    st.markdown(small(why_pace.assumed(t)))
    lesson.found(t, *why_pace.found(t, pace, d_model))


def draw_settings(t: Texts) -> tuple[int, Precision]:
    """How wide the tokens are and how precise the numbers, and a button that measures it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label, names = t("why_attention.pace.d_model"), why_pace.width_names()
        d_model = lesson.choose("why_attention.pace_width", label, names, default=64)
        label, types = t("why_attention.pace.precision"), why_pace.precision_names()
        precision = lesson.choose("why_attention.precision", label, types)
        help = t("why_attention.pace.measure_help", most=f"{why_pace.N_TOKENS[-1]:,}")
        label, icon = t("why_attention.pace.measure"), ":material/timer:"
        lesson.press(label, icon, start_pace, d_model, precision, help=help)
    return d_model, precision


def start_pace(d_model: int, precision: Precision) -> None:
    """Let these settings be measured, if nobody has before."""
    key = (PACE, d_model, precision)
    lesson.start(PACE, why_pace.work(d_model, precision), key=key, is_alone=True)


# --- query, key and value


def draw_words(t: Texts) -> None:
    """Query, key and value in words, with examples that are computed."""
    label, examples = t("why_attention.words.example"), why_words.examples(t)
    name = lesson.choose("why_attention.words.example", label, examples)
    e = Experiment.from_preset(name)
    label, askers = t("why_attention.words.asker"), why_words.askers(t, e)
    key, first = f"why_attention.words.asker.{name}", why_words.first_asker(e)
    asker = lesson.choose(key, label, askers, default=first)
    trace = e.trace()
    lesson.found(t, why_words.words_found(t, e, trace, asker))
    lesson.show(t, why_words.words(t, e, trace, asker))
    draw_take(t, name)


def draw_take(t: Texts, name: str) -> None:
    """The way to make an example the current experiment."""
    is_taken = why_words.is_taken(session.experiment(), name)
    label = t("why_attention.words.taken") if is_taken else t("why_attention.words.take")
    lesson.press(
        label,
        ":material/science:",
        take,
        name,
        key="why_attention.words.take",
        is_disabled=is_taken,
    )


def take(name: str) -> None:
    """Make an example the current experiment, which Undo takes back."""
    session.apply(lambda e: Experiment.from_preset(name, seed=e.seed), moves_cells=True)


lesson.page(
    t,
    "why_attention",
    {
        "relay": draw_relay,
        "influence": lesson.with_torch(draw_influence),
        "pace": draw_pace,
        "words": draw_words,
    },
)
