"""What the step "look" shows of a sentence is what the model computes, and is said as it is."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from attention_core.errors import RangeError
from attention_core.neural.sentiment.corpus import MOST_TOKENS
from attention_core.neural.sentiment.model import Architecture, batch
from attention_core.neural.sentiment.training import logits, result
from playground.board import exhibit_data
from playground.charts import Chart, Map
from playground.lessons import sentiment, sentiment_look
from playground.lessons.sentiment import Trained
from playground.texts import LANGUAGES, Texts
from tests.playground.lessons.of_sentiment_look import every_model
from tests.sentiment import training

KINDS = ("bag", "lstm", "lstm_attention", "attention")
ATTENTIVE = ("lstm_attention", "attention")
EN = Texts("en")
TEXT = "The plot is good, but the acting is dull."
LONG = "the plot is good and the acting is dull but " * 3

every_kind = pytest.mark.parametrize("kind", KINDS)


def trained(kind="lstm_attention"):
    return sentiment.choices(training())[kind, 0]


def at(kind="lstm_attention", text=TEXT, index=None):
    model = trained(kind)
    index = sentiment_look.result_of(model.run) if index is None else index
    return sentiment_look.look(model, text, index)


def said(look, head=0, t=EN):
    return " ".join([sentiment_look.verdict(t, look), *sentiment_look.found(t, look, head)])


def matrices(look, head=0):
    return {m.id: m for m in sentiment_look.exhibit(EN, look, head).matrices}


# --- the numbers


@every_kind
def test_it_reads_the_sentence_with_the_parameters_of_each_epoch(kind):
    model = trained(kind)
    ids = model.corpus.vocabulary.ids(model.corpus.read(TEXT))

    for index, epoch in enumerate(model.run.epochs):
        look = at(kind, index=index)

        reading = result(model.run, index)(batch([ids]))
        assert look.epoch is epoch
        assert look.logit == pytest.approx(reading.logits.item(), abs=1e-5)
        assert look.probability == pytest.approx(torch.sigmoid(reading.logits).item(), abs=1e-5)
        if kind in ATTENTIVE:
            np.testing.assert_allclose(look.weights, reading.weights[0].detach(), atol=1e-5)
            mean = sentiment_look.attended_in(look, 0)
            np.testing.assert_allclose(mean, reading.attended[0].detach(), atol=1e-5)
            assert mean.sum() == pytest.approx(1.0)


def test_each_head_is_looked_at_by_itself_or_all_in_the_mean():
    look = at()

    assert look.n_heads == 2
    for head in (1, 2):
        shown = matrices(look, head)
        np.testing.assert_array_equal(shown["look_weights"].values, look.weights[head - 1])
        np.testing.assert_array_equal(shown["look_scores"].values, look.scores[head - 1])
    shown = matrices(look, 0)
    assert "look_scores" not in shown
    np.testing.assert_array_equal(shown["look_weights"].values, look.weights.mean(axis=0))
    np.testing.assert_array_equal(
        shown["look_attended"].values[0], look.weights.mean(axis=0).mean(axis=0)
    )


def test_a_longer_sentence_is_shown_small_and_without_scores():
    look = at("attention", text="the plot is good and the acting is not dull but good .")

    shown = matrices(look)
    assert len(look.tokens) == 13
    assert list(shown) == ["look_weights", "look_attended"]
    assert all(matrix.is_compact for matrix in shown.values())
    np.testing.assert_array_equal(shown["look_weights"].values, look.weights[0])


def test_with_one_head_its_scores_stand_there_at_once():
    look = at("attention")

    assert list(matrices(look)) == ["look_scores", "look_weights", "look_attended"]
    assert sentiment_look.head_names(EN, 2) == {0: "Mean of all", 1: "1", 2: "2"}


def test_what_the_words_of_a_bag_add_is_its_logit():
    look = at("bag")
    shown = matrices(look)

    assert shown["look_parts"].values.shape == (1, len(look.tokens))
    assert shown["look_logit"].values.item() == pytest.approx(look.logit)
    model = result(look.run)
    vectors = model.embedding(torch.tensor(look.corpus.vocabulary.ids(look.tokens)))
    expected = (vectors @ model.head.weight[0] / len(look.tokens)).detach()
    np.testing.assert_allclose(shown["look_parts"].values[0], expected, atol=1e-6)


def test_the_course_is_the_probability_after_each_epoch():
    look = at()
    ids = tuple(look.corpus.vocabulary.ids(look.tokens))

    values = sentiment_look.course(look.run, ids)

    assert values == [pytest.approx(at(index=i).probability) for i in range(len(values))]
    assert len(values) == len(look.run.epochs) == 4


def test_the_beginnings_are_read_each_by_itself():
    look = at("lstm")
    ids = tuple(look.corpus.vocabulary.ids(look.tokens))

    values = sentiment_look.beginnings(look.run, look.index, ids)

    model = result(look.run)
    for n, value in enumerate(values, 1):
        alone = torch.sigmoid(model(batch([ids[:n]])).logits).item()
        assert value == pytest.approx(alone, abs=1e-5)
    assert values[-1] == pytest.approx(look.probability)


def test_where_only_the_result_was_kept_there_is_one_moment():
    run = sentiment.choices(training(n_seeds=2))["lstm", 1].run

    assert sentiment_look.epoch_names(run) == {0: "3"}
    assert sentiment_look.result_of(run) == 0
    assert sentiment_look.moments(run) == [run.epochs[3]]


# --- sentences that are offered


@every_kind
def test_right_and_wrong_ones_are_judged_by_the_result(kind):
    model = trained(kind)
    examples = model.corpus.validation
    given = logits(result(model.run), [model.corpus.vocabulary.ids(e.tokens) for e in examples])
    of_text = dict(zip((e.text for e in examples), given.tolist(), strict=True))

    offered = sentiment_look.offered(model)

    assert len(offered.right) + len(offered.wrong) == len(examples)
    assert len(offered.right) == round(model.run.accuracy * len(examples))
    assert all((of_text[e.text] > 0) == (e.label == 1) for e in offered.right)
    sure = [abs(of_text[e.text]) for e in offered.wrong]
    assert sure == sorted(sure, reverse=True)


def test_after_the_last_comes_the_first():
    offered = sentiment_look.offered(trained())
    count = len(offered.right)

    assert offered.text("right", count + 1) == offered.right[1].text
    assert sentiment_look.first(EN, trained()) == trained().corpus.validation[0].text


# --- what is said


def test_a_sentence_of_the_validation_set_is_judged_by_its_label():
    model, index = trained(), sentiment_look.result_of(trained().run)
    offered = sentiment_look.offered(model)
    for example in (*offered.right[:1], *offered.wrong[:1]):
        is_right = example in offered.right
        look = sentiment_look.look(model, example.text, index)
        label = "positive" if example.label else "negative"
        answer = "right" if is_right else "wrong"
        assert f"By its label it is {label}, so the answer is {answer}." in said(look)
        assert "It is a validation sentence" in said(look)
    learnt = sentiment_look.look(model, model.corpus.train[0].text, index)
    assert "It is one of the training sentences" in said(learnt)
    assert "label" not in said(at(text="what a day"))


@every_kind
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_verdict_has_its_probability_and_the_epoch_its_accuracy(kind, language):
    t = Texts(language)
    for index in (0, 3):
        look = at(kind, index=index)
        sentences = said(look, t=t)

        sure = max(look.probability, 1 - look.probability)
        assert sentiment_look.probability(sure) in sentences
        label = "positive" if look.probability > 0.5 else "negative"
        assert t(f"sentiment.look.is_{label}") in sentences
        assert str(round(look.epoch.accuracy * 40)) in sentences
    assert t(
        "sentiment.look.untrained", right=round(at(kind, index=0).epoch.accuracy * 40), count=40
    ) in (said(at(kind, index=0), t=t))


def test_a_probability_is_never_rounded_to_certainty():
    shown = [sentiment_look.probability(p) for p in (0.0, 0.0004, 0.0006, 0.5, 0.9994, 0.9996, 1.0)]

    assert shown == ["< 0.001", "< 0.001", "0.001", "0.500", "0.999", "> 0.999", "> 0.999"]


def test_the_most_attended_tokens_are_named_with_their_shares():
    look = at("attention")
    attended = sentiment_look.attended_in(look, 0)

    first = look.names[int(attended.argmax())]
    assert f"“{first}” ({attended.max():.3g})" in said(look)
    assert f"each would get {1 / len(look.tokens):.3g}" in said(look)


def test_shares_that_are_pooled_are_said_to_be():
    pools = Architecture("attention", embed_dim=8, pooling="attended")
    model = sentiment.choices(training(architectures=(pools,)))["attention", 0]
    look = sentiment_look.look(model, TEXT, 3)

    assert EN("sentiment.look.pools") in said(look)
    assert EN("sentiment.look.pools") not in said(at("attention"))


def test_a_bag_names_the_words_that_weigh_most():
    look = at("bag")

    assert look.names[int(look.parts.argmax())] in said(look).partition("for positive:")[2]
    assert look.names[int(look.parts.argmin())] in said(look).partition("for negative:")[2]


def test_without_attention_it_says_so():
    assert EN("sentiment.look.no_weights") in said(at("lstm"))


def test_unknown_words_are_named():
    look = at(text="The plot is zorgblat, but *vexil* is good.")

    assert list(look.is_known) == [each not in ("zorgblat", "*", "vexil") for each in look.tokens]
    assert "does not know “zorgblat”, “\\*”, “vexil”" in said(look)
    assert "(3 here)" in said(look)
    assert EN("sentiment.look.all_unknown") in said(at(text="zorg vexil"))


def test_many_unknown_words_are_counted():
    assert "and 2 more" in said(at(text="good a1 a2 a3 a4 a5"))


def test_a_text_that_is_too_long_is_cut_and_says_so():
    look = at(text="good " * 100)

    assert len(look.tokens) == MOST_TOKENS
    assert f"Only the first {MOST_TOKENS} tokens are read; 36 more" in said(look)


@pytest.mark.parametrize("text", ["", "  ", "\n\t"])
def test_where_there_is_no_token_there_is_nothing_to_see(text):
    assert at(text=text) is None


@every_kind
@pytest.mark.parametrize(
    "text",
    ["good", "👩‍👩‍👧 🎉", "**a** $b$ <i>", "\u200b \u202e", "zorg", "good " * 70, "\ud83d"],
)
def test_whatever_is_typed_can_be_shown(kind, text):
    look = at(kind, text=text)
    heads = range(look.n_heads + 1) if look.n_heads > 1 else [0]

    for head in heads:
        if sentiment_look.is_on_board(look):
            exhibit = sentiment_look.exhibit(EN, look, head)
            json.dumps(exhibit_data(EN, exhibit), allow_nan=False)
        assert said(look, head)
        go.Figure(sentiment_look.curves(EN, look, head, "light"))
    if look.n_heads:
        sentiment_look.reduction(look).experiment.trace()


# --- the figure


def panels(look, head=0):
    return sentiment_look.panels(EN, look, head)


def test_a_short_sentence_has_its_course_alone_in_the_figure():
    (course,) = panels(at())

    positive, accuracy = course.lines
    assert list(positive.x) == [0, 1, 2, 3]
    assert list(accuracy.y) == [epoch.accuracy for epoch in at().run.epochs]
    assert positive.y[3] == pytest.approx(at().probability)
    assert course.x_marks == [3]


def test_a_long_sentence_has_its_weights_there():
    look = at(text=LONG)
    assert not sentiment_look.is_on_board(look)

    weights, bars, course = panels(look, 2)

    assert isinstance(weights, Map)
    np.testing.assert_array_equal(weights.values, look.weights[1])
    assert weights.are_weights
    assert 0 < sum(name != "" for name in weights.rows) <= 16
    np.testing.assert_allclose(bars.lines[0].y, look.weights[1].mean(axis=0))
    assert list(bars.lines[0].x) == look.names
    assert len({*look.names}) == len(look.tokens)
    assert isinstance(course, Chart)


def test_a_long_sentence_of_a_bag_has_its_parts_there():
    look = at("bag", text=LONG)

    bars, _ = panels(look)

    np.testing.assert_array_equal(bars.lines[0].y, look.parts)


def test_without_attention_the_beginnings_stand_there():
    look = at("lstm")
    bars, _ = panels(look)

    assert bars.lines[0].y[-1] == pytest.approx(look.probability)


@every_kind
def test_the_figure_is_told_to_those_who_do_not_see_it(kind):
    for text in (TEXT, LONG):
        look = at(kind, text=text)
        told = sentiment_look.curves_alt(EN, look)
        shown = panels(look)
        assert ("heatmap" in told) == any(isinstance(panel, Map) for panel in shown)
        assert ("adds to the logit" in told) == (kind == "bag" and text == LONG)
        assert ("after each token" in told) == (kind == "lstm")
        assert "after each epoch" in told


def test_one_moment_has_no_course():
    model = sentiment.choices(training(n_seeds=2))["lstm_attention", 1]
    look = sentiment_look.look(model, TEXT, 0)

    assert panels(look) == []
    assert sentiment_look.curves(EN, look, 0, "light") is None


def test_a_sentence_that_is_looked_at_again_is_not_read_again():
    assert at() is at()


# --- to the Playground


def test_the_sentence_goes_along_as_it_is_shown():
    look = at()
    taken = sentiment_look.reduction(look)
    told = sentiment_look.take_told(EN, taken)

    kept = list(taken.kept)
    among = look.weights[:, kept][:, :, kept]
    np.testing.assert_allclose(taken.weights, among / among.sum(axis=-1, keepdims=True), atol=1e-9)
    heads = taken.experiment.trace().attention.heads
    assert taken.weights_error == pytest.approx(np.abs(heads.weights - taken.weights).max())
    assert f"{taken.weights_error:.3g}" in told
    assert f"the {taken.experiment.d_model} directions" in told
    assert ("most looked at go along" in told) == (len(kept) < len(look.tokens))


def test_of_a_long_sentence_a_part_goes_along():
    told = sentiment_look.take_told(EN, sentiment_look.reduction(at(text=LONG)))

    assert told.startswith("Of the 30 tokens only the ")


def test_too_many_heads_are_refused_with_the_reason():
    many = Architecture("attention", embed_dim=12, n_heads=12)
    model = sentiment.choices(training(architectures=(many,)))["attention", 0]

    assert isinstance(sentiment_look.reduction(sentiment_look.look(model, TEXT, 0)), RangeError)


# --- from a file


def test_a_model_whose_sentences_are_gone_tells_what_its_file_says():
    model = trained()
    alone = Trained(model.run, type(model.corpus)((), (), model.corpus.vocabulary, "words"))
    look = sentiment_look.look(alone, TEXT, 3)

    assert sentiment_look.offered(alone).right == sentiment_look.offered(alone).wrong == ()
    assert sentiment_look.first(EN, alone) == EN("sentiment.look.first")
    assert "It comes from a file which says" in said(look)


def test_every_model_of_the_exhibits_is_another():
    assert len([*every_model()]) == 6
