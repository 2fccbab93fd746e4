"""The step in which the attention of a trained model is put to the test: does it explain it?"""

from functools import partial

import streamlit as st

from playground import lesson, running, session, shell
from playground.lessons import sentiment_examine as examine
from playground.lessons.sentiment import Trained
from playground.steps import sentiment
from playground.texts import Texts

EXAMINE = "sentiment.examine"  # the step, and the job that it shows


def draw(t: Texts) -> None:
    """A model is examined on all validation sentences, or asked about one."""
    trained = sentiment.choose(t)
    if trained is None:
        return
    views = {"all": t("sentiment.examine.all"), "one": t("sentiment.examine.one")}
    inputs = st.container(horizontal=True, vertical_alignment="bottom")
    with inputs:
        view = lesson.choose(f"{EXAMINE}.view", t("sentiment.examine.view"), views)
    if view == "one":
        with inputs:
            witness = choose_sentence(t, trained)
        draw_one(t, witness)
    else:
        with inputs:
            label = t("sentiment.examine.start")
            lesson.start_or_stop(t, EXAMINE, label, begin, trained, icon=":material/gavel:")
        draw_all(t, trained)


def draw_all(t: Texts, trained: Trained) -> None:
    """The verdict, and what it was found out from."""
    is_running = running.is_active(EXAMINE)
    view = lesson.watch(t, EXAMINE, partial(examine.progress, t), has_stop=False)
    examined = examine.examined(view)
    if view is None or examined is None:
        lesson.found(t, *examine.known(t, trained), is_changing=is_running)
        return
    said = examine.found(t, examined, trained, view)
    lesson.found(t, *said, is_list=True, is_changing=is_running)
    if not examined.examination.statements:
        return
    figure = examine.figure(t, examined.examination, shell.theme())
    lesson.plot(f"{EXAMINE}.figure", figure, t("sentiment.examine.alt"))
    st.table(examine.effects(t, examined.examination))
    st.table(examine.agreements(t, examined.examination))
    with st.expander(t("sentiment.examine.rules_title"), icon=":material/rule:"):
        st.markdown("\n".join(f"- {rule}" for rule in examine.rules(t)))


def choose_sentence(t: Texts, trained: Trained) -> examine.Witness | None:
    """A validation sentence, or that of another step where there is one."""
    text = session.setting("sentiment.look.text", "")
    which = t("sentiment.examine.which")
    if text and lesson.choose(f"{EXAMINE}.way", which, examine.ways(t)) == "look":
        return examine.of_text(trained, text)
    most = len(trained.corpus.validation)
    number = lesson.number(f"{EXAMINE}.number", t("sentiment.examine.number"), 1, most, default=1)
    return examine.of_validation(trained, number)


def draw_one(t: Texts, witness: examine.Witness | None) -> None:
    """Three ways to rank the tokens of one sentence."""
    if witness is None:
        lesson.found(t, t("sentiment.examine.one_too_short"))
        return
    figure = examine.bars(t, witness, shell.theme())
    lesson.plot(f"{EXAMINE}.bars", figure, t("sentiment.examine.one_alt"))
    lesson.found(t, *examine.of_one(t, witness), is_list=True)


def begin(trained: Trained) -> None:
    """Let this model be examined, if nobody has examined it before."""
    lesson.start(EXAMINE, examine.work(trained), key=(EXAMINE, examine.identity(trained)))
