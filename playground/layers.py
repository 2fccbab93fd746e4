"""The panel that stacks layers: the output becomes X, and what depth does is told and drawn."""

from collections.abc import Sequence

import streamlit as st

from attention_core import Experiment
from attention_core.errors import WidthError
from attention_core.experiment import MAX_VALUE
from attention_core.stack import (
    Layer,
    StackTrace,
    check_width,
    distances,
    fitting_sizes,
    replayed,
    stack_trace,
)
from playground import figures, session, shell
from playground.figures import Curves, Figure, Panel
from playground.parts import answering
from playground.texts import Texts, escaped

SECTION_KEY = "layers"


def panel(t: Texts) -> None:
    """Two buttons that go a layer deeper, and from the second layer on what is seen there.

    Drawn only while the section is open, as every element makes a run slower.
    """
    section = st.expander(
        t("layers.title"), icon=":material/layers:", key=SECTION_KEY, on_change="rerun"
    )
    if section.open:
        with section:
            _draw(t, session.experiment())


def _draw(t: Texts, experiment: Experiment) -> None:
    layers, misfit = session.layers(), _misfit(experiment)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(_place(t, layers), width="content", help=t("layers.hint"))
        plain = t("layers.plain"), t("layers.plain_help"), "arrow_upward"
        residual = t("layers.residual"), t("layers.residual_help"), "add"
        for is_residual, (label, hint, icon) in enumerate((plain, residual)):
            st.button(
                label,
                key="stack_residual" if is_residual else "stack_plain",
                icon=f":material/{icon}:",
                help=hint,
                on_click=answering(session.stack),
                args=(bool(is_residual),),
                disabled=misfit is not None,
            )
    if misfit:
        st.markdown(_explained(t, misfit))
    if not layers:
        return
    trace = stack_trace(layers, experiment)
    always = stack_trace(*replayed(layers, experiment, is_residual=True))
    never = stack_trace(*replayed(layers, experiment, is_residual=False))
    told = sentences(t, experiment.tokens, trace, always, never)
    st.markdown("\n".join(f"- {sentence}" for sentence in told))
    left, right = st.columns(2)
    left.plotly_chart(
        _arrival(t, experiment.tokens, trace),
        key="layers_arrival",
        theme=None,
        config=figures.config(),
        alt=t("layers.arrival_alt"),
    )
    right.plotly_chart(
        _spread(t, trace, always, never),
        key="layers_spread",
        theme=None,
        config=figures.config(),
        alt=t("layers.spread_alt"),
    )


def sentences(
    t: Texts, tokens: Sequence[str], trace: StackTrace, always: StackTrace, never: StackTrace
) -> list[str]:
    """What is seen in the layers, as Markdown.

    Args:
        t: The reader's language.
        tokens: Their names.
        trace: Of the layers as they were run, at least two.
        always: Of the same with the residual in every layer.
        never: Of the same without any.
    """
    return [*_heard(t, tokens, trace), *_differ(t, trace, always, never)]


def _arrival(t: Texts, tokens: Sequence[str], trace: StackTrace) -> Figure:
    return figures.arrival(
        Panel(
            t("layers.arrival"),
            trace.arrival,
            tokens,
            tokens,
            t("layers.listener", layer=trace.n_depths),
            t("layers.speaker"),
        ),
        shell.theme(),
    )


def _spread(t: Texts, trace: StackTrace, always: StackTrace, never: StackTrace) -> Figure:
    return figures.curves(
        Curves(
            t("layers.spread"),
            (
                (t("layers.always"), always.spread.tolist()),
                (t("layers.never"), never.spread.tolist()),
            ),
            trace.spread.tolist(),
            t("layers.layer"),
            t("layers.height"),
        ),
        shell.theme(),
    )


def _place(t: Texts, layers: Sequence[Layer]) -> str:
    """Which layer is on the board, and where its X comes from."""
    if not layers:
        return t("layers.first")
    key = "layers.from_residual" if layers[-1].is_residual else "layers.from_plain"
    return t(key, layer=len(layers) + 1, before=len(layers))


def _misfit(experiment: Experiment) -> WidthError | None:
    try:
        check_width(experiment)
    except WidthError as error:
        return error
    return None


def _explained(t: Texts, misfit: WidthError) -> str:
    n_heads, d_k = fitting_sizes(misfit.n_heads, misfit.d_k, misfit.d_model)
    return t(
        "layers.misfit",
        n_heads=misfit.n_heads,
        d_k=misfit.d_k,
        width=misfit.width,
        d_model=misfit.d_model,
        fitting_heads=n_heads,
        fitting_d_k=d_k,
    )


def _heard(t: Texts, tokens: Sequence[str], trace: StackTrace) -> list[str]:
    """From how many tokens each token has heard, and how far away they are."""
    n_tokens, counts = len(tokens), trace.reach[-1].sum(axis=1)
    most, least = int(counts.argmax()), int(counts.argmin())
    if n_tokens == 1:
        return []
    if counts[least] == n_tokens:
        heard = t("layers.all_heard", n_tokens=n_tokens, layer=trace.arrival.max())
    elif counts[least] == counts[most]:
        heard = t("layers.each_heard", count=counts[most], n_tokens=n_tokens)
    else:
        heard = t(
            "layers.some_heard",
            most=escaped(tokens[most]),
            most_place=most + 1,
            most_count=counts[most],
            least=escaped(tokens[least]),
            least_place=least + 1,
            least_count=counts[least],
            n_tokens=n_tokens,
        )
    if trace.reach[1].all():  # one layer reaches everything
        return [heard]
    first_back, first_ahead = distances(trace.reach[1])
    if trace.n_depths == 2:
        return [heard, t("layers.first_reach", back=first_back, ahead=first_ahead)]
    back, ahead = distances(trace.reach[-1])
    reach = t(
        "layers.reach",
        first_back=first_back,
        first_ahead=first_ahead,
        layers=trace.n_depths - 1,
        back=back,
        ahead=ahead,
    )
    return [heard, reach]


def _differ(t: Texts, trace: StackTrace, always: StackTrace, never: StackTrace) -> list[str]:
    """How different the rows still are, and how it would be with and without the residual."""
    first, now = trace.spread[0], trace.spread[-1]
    told = [t("layers.differ", first=_share(first), now=_share(now), layer=trace.n_depths)]
    reached = ("layers.always_reached", "layers.never_reached")
    ended = ("layers.always_ended", "layers.never_ended")
    for index, other in enumerate((always, never)):
        if other.n_depths == trace.n_depths:
            told.append(t(reached[index], value=_share(other.spread[-1])))
        else:
            told.append(t(ended[index], layer=other.n_depths, limit=f"{MAX_VALUE:,.0f}"))
    return told


def _share(value: float) -> str:
    """Never 0 for what is not."""
    return "< 0.001" if 0 < value < 0.001 else f"{value:.3f}"
