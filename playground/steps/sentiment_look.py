"""The step "look" of the lesson on trained attention: any sentence, and where the model looks."""

import streamlit as st

from attention_core import AttentionError
from playground import catalog, lesson, session, shell
from playground.lessons import sentiment_look as looks
from playground.lessons.sentiment import Trained
from playground.lessons.sentiment_look import Look
from playground.steps import sentiment
from playground.texts import Texts, small

LOOK = "sentiment.look"


def draw(t: Texts) -> None:
    """What the model says of a sentence, after any epoch, and in each head."""
    trained = sentiment.choose(t, needs_sentences=False)
    if trained is None:
        return
    look = draw_inputs(t, trained)
    if look is None:
        lesson.found(t, t("sentiment.look.empty"))
        return
    draw_look(t, look)


def draw_inputs(t: Texts, trained: Trained) -> Look | None:
    """The sentence, ways to another one, and the epoch."""
    text = lesson.write(
        f"{LOOK}.text",
        t("sentiment.look.text"),
        default=looks.first(t, trained),
        most=looks.MOST_CHARACTERS,
        help=t("sentiment.look.text_help"),
    )
    offered, epochs = looks.offered(trained), looks.epoch_names(trained.run)
    index = looks.result_of(trained.run)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if offered.right or offered.wrong:
            draw_another(t, "right", t("sentiment.look.right", count=len(offered.right)), trained)
            draw_another(t, "wrong", t("sentiment.look.wrong", count=len(offered.wrong)), trained)
        if len(epochs) > 1:
            label, help = t("sentiment.look.after"), t("sentiment.look.after_help")
            index = lesson.slide_along(f"{LOOK}.epoch", label, epochs, default=index, help=help)
    return looks.look(trained, text, index)


def draw_another(t: Texts, kind: str, label: str, trained: Trained) -> None:
    """A button that brings the next sentence that was right, or wrong."""
    lesson.press(
        label,
        ":material/check:" if kind == "right" else ":material/close:",
        show_another,
        kind,
        trained,
        help=t("sentiment.look.another_help"),
        is_disabled=not getattr(looks.offered(trained), kind),
        key=f"{LOOK}.{kind}",
    )


def draw_look(t: Texts, look: Look) -> None:
    """The answer, the board, what was found, the way to the Playground, and the figure."""
    st.markdown(looks.verdict(t, look))
    head = looks.ALL_HEADS
    if look.n_heads > 1:
        names = looks.head_names(t, look.n_heads)
        head = lesson.choose(f"{LOOK}.head", t("sentiment.look.head"), names)
    if looks.is_on_board(look):
        lesson.show(t, looks.exhibit(t, look, head))
    lesson.found(t, *looks.found(t, look, head), is_list=True)
    if look.n_heads:
        draw_take(t, look)
    figure = looks.curves(t, look, head, shell.theme())
    if figure:
        lesson.plot(f"{LOOK}.curves", figure, looks.curves_alt(t, look))


def draw_take(t: Texts, look: Look) -> None:
    """A way for the sentence with its Q, K and V to the Playground."""
    taken = looks.reduction(look)
    if isinstance(taken, AttentionError):
        reason = shell.phrase(t, type(taken).__name__, vars(taken))
        st.markdown(t("sentiment.look.take_refused", reason=reason))
        return
    is_there = looks.is_taken(session.experiment(), taken)
    with st.container(horizontal=True, vertical_alignment="center"):
        lesson.press(
            t("sentiment.look.taken") if is_there else t("sentiment.look.take"),
            ":material/check:" if is_there else ":material/input:",
            take,
            look,
            help=t("sentiment.look.take_help"),
            is_disabled=is_there,
            key=f"{LOOK}.take",
        )
        if is_there:
            playground = catalog.lesson("playground")
            st.page_link(playground.file, label=t("sentiment.look.go"), icon=playground.icon)
    st.markdown(small(looks.take_told(t, taken)))


def show_another(kind: str, trained: Trained) -> None:
    """The next sentence of its kind, and the first after the last."""
    count = session.setting(f"{LOOK}.n_{kind}", 0)
    session.set_setting(f"{LOOK}.text", looks.offered(trained).text(kind, count))
    session.set_setting(f"{LOOK}.n_{kind}", count + 1)


def take(look: Look) -> None:
    """Let the sentence be the experiment."""
    taken = looks.reduction(look)
    if not isinstance(taken, AttentionError):
        session.apply(lambda _: taken.experiment, moves_cells=True)
