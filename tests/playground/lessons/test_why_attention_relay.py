"""What the step on relay and round table shows and says, against what is reckoned here."""

import json
import re
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from attention_core import Experiment, Mask
from playground.lessons import tokens, why_relay
from playground.lessons.cost import power
from playground.strip.strip import strip_data
from playground.texts import LANGUAGES, Texts

T = Texts("en")
RANDOM = Experiment.from_preset("random")
REPEATED = Experiment.from_preset("repeated")  # the cat saw the cat
CAUSAL = replace(REPEATED, mask=Mask(("causal",)))
EMPTY = replace(REPEATED, mask=Mask(("window", "padding"), n_padding=12, before=0, after=0))
ONE, TWO, TWELVE = (RANDOM.resized(n_tokens=n) for n in (1, 2, 12))
ALL = {
    "one": ONE,
    "two": TWO,
    "repeated": REPEATED,
    "causal": CAUSAL,
    "empty": EMPTY,
    "twelve": TWELVE,
}

every_language = pytest.mark.parametrize("language", LANGUAGES)
every_experiment = pytest.mark.parametrize("e", ALL.values(), ids=ALL)


def lanes(e, source, language="en"):
    data = json.loads(json.dumps(strip_data(why_relay.strip(Texts(language), e, source))))
    return data, {lane["id"]: lane["passings"] for lane in data["lanes"]}


def numbers(text):
    return [float(each.replace(",", "")) for each in re.findall(r"\d[\d,]*\.?\d*", text)]


def counted_in_code(n, d):
    """Multiply-adds of both, as written down in Vaswani et al., with the constants."""
    return {"rnn": 2 * n * d**2, "weights": 3 * n * d**2, "pairs": 2 * n**2 * d}


# --- the strip


@every_language
@every_experiment
def test_the_strip_has_a_step_for_each_pass_and_never_less_than_one(e, language):
    for source in range(e.n_tokens):
        data, of = lanes(e, source, language)

        assert data["tokens"] == list(e.tokens)
        assert data["source"] == source
        assert len(data["steps"]) == max(e.n_tokens, 2)
        assert len(set(data["steps"])) == len(data["steps"])
        assert len(of["relay"]) == e.n_tokens
        assert len(of["table"]) == 2
        assert all(passing["said"].strip() for lane in of.values() for passing in lane)


@every_experiment
def test_the_table_links_what_the_mask_allows_and_nothing_else(e):
    allowed = e.mask.allowed(e.n_tokens)
    for source in range(e.n_tokens):
        _, of = lanes(e, source)
        moment = of["table"][1]["moment"]

        assert sorted(map(tuple, moment["links"])) == sorted(
            (k, q) for q, k in np.argwhere(allowed).tolist()
        )
        heard = sum(moment["has_it"]) - 1
        expected = sum(allowed[q, source] for q in range(e.n_tokens) if q != source)
        assert heard == expected
        if allowed.any():
            said = f"first pass: {allowed.sum()}. Other tokens that have the message of"
            assert said in of["table"][1]["said"]
            assert of["table"][1]["said"].endswith(f"now: {expected}.")
        else:
            assert of["table"][1]["said"] == T("why_attention.relay.table_empty")


def test_each_pass_of_the_relay_is_told_as_it_was():
    _, of = lanes(REPEATED, 2)

    assert [passing["said"] for passing in of["relay"]] == [
        "Nothing has been passed yet. The message is with “saw”.",
        "“the (1)” passes to “cat (2)”. The message of “saw” has to wait for its turn.",
        "“cat (2)” passes to “saw”, which adds its own message: from here on it travels along.",
        "“saw” passes to “the (4)”, and with it the message of “saw”.",
        "“the (4)” passes to “cat (5)”, and with it the message of “saw”: it has arrived at the "
        "end.",
    ]


def test_the_message_of_the_last_token_is_heard_by_nobody_in_the_relay():
    _, of = lanes(REPEATED, 4)

    last = of["relay"][-1]
    assert last["moment"]["has_it"] == [False] * 4 + [True]
    assert last["said"] == (
        "“the (4)” passes to “cat (5)”, the last one. Nobody comes after it, so nobody hears its "
        "message."
    )


@every_language
@every_experiment
def test_a_sentence_tells_of_the_message_only_where_it_goes(e, language):
    """Whether the sentence says that it moved, waited, joined or arrived, by the events."""
    t = Texts(language)
    forms = {
        form: re.sub(r"\\{\w+\\}", "“[^”]*”", re.escape(t(f"why_attention.relay.{form}")))
        for form in ("alone", "relay_before", "waits", "joins", "too_late", "moves", "arrives")
    }
    for source in range(e.n_tokens):
        _, of = lanes(e, source, language)
        for before, passing in zip([None, *of["relay"]], of["relay"], strict=False):
            said, moment = passing["said"], passing["moment"]
            (form,) = [form for form, text in forms.items() if re.fullmatch(text, said)]
            moved = before is not None and before["moment"]["at"] != moment["at"]
            assert (form in ("moves", "arrives")) == moved
            assert (form == "arrives") == (moved and moment["at"] == [e.n_tokens - 1])
            reaches = [link[1] == source for link in moment["links"]]
            assert (form in ("joins", "too_late")) == any(reaches)
            assert (form == "too_late") == (any(reaches) and source == e.n_tokens - 1)
            assert (form == "alone") == (e.n_tokens == 1)


# --- what was found


@every_experiment
def test_what_is_found_of_the_strip_are_the_counts_of_its_last_moments(e):
    for source in range(e.n_tokens):
        found = why_relay.strip_found(T, e, source)

        if e.n_tokens == 1:
            assert found == [T("why_attention.relay.found_alone")]
            continue
        n, allowed = e.n_tokens, e.mask.allowed(e.n_tokens)
        heard, links, *rest = found
        name = tokens.named(e, source)
        own = numbers(name)
        hearers = sum(allowed[q, source] for q in range(n) if q != source)
        assert numbers(heard) == [*own, n - 1 - source, n - 1, hearers, n - 1]
        assert numbers(links) == [allowed.sum(), n * n, np.trace(allowed)]
        assert [numbers(each) for each in rest] == (
            [[n * n - allowed.sum()]] if not allowed.all() else []
        )


@pytest.mark.parametrize("n", [2, 16, 512, 4096])
@pytest.mark.parametrize("d", [16, 512])
def test_what_is_found_for_other_sizes_follows_from_the_products(n, d):
    steps, work, overtakes = why_relay.counts_found(T, n, d)

    expected = counted_in_code(n, d)
    assert numbers(steps) == [n, d, n, 1, n - 1, 1]
    total = expected["weights"] + expected["pairs"]
    assert numbers(work) == pytest.approx(
        [total / expected["rnn"], 1.5, expected["pairs"] / expected["rnn"]], rel=5e-3
    )
    assert numbers(overtakes) == [d + 1]
    assert ("so they do here" in overtakes) == (expected["pairs"] > expected["rnn"])


def test_the_crossover_is_met_by_the_number_of_tokens_that_is_named():
    at, below = (why_relay.counts_found(T, n, 16)[-1] for n in (17, 16))

    assert at.endswith("so they do here.")
    assert below.endswith("so here they do not.")


@every_language
@every_experiment
def test_every_sentence_is_there_in_both_languages(e, language):
    t = Texts(language)

    said = [*why_relay.strip_found(t, e, 0), *why_relay.counts_found(t, 2, 16)]

    assert all(said)
    assert not any("{" in each for each in said)


def test_a_learners_token_is_no_markdown():
    e = REPEATED.with_token_renamed(0, "*a* $b$")

    heard, *_ = why_relay.strip_found(T, e, 0)

    assert r"\*a\* \$b\$" in heard
    assert "“*a* $b$” passes to" in lanes(e, 0)[1]["relay"][1]["said"]  # no Markdown there


# --- the figure and the table


@pytest.mark.parametrize("quantity", why_relay.quantity_names(T))
def test_the_curves_and_the_table_hold_the_same_counts(quantity):
    drawn = why_relay.figure(T, quantity, 128, 64, "light")
    table = why_relay.table(T, 128, 64)

    json.dumps(drawn, allow_nan=False)
    go.Figure(drawn)  # refuses what Plotly does not know
    expected = {
        "steps": lambda n: (n, 1),
        "path": lambda n: (n - 1, 1),
        "links": lambda n: (n - 1, n * n - n),
        "multiply_adds": lambda n: (2 * n * 64**2, 3 * n * 64**2 + 2 * n * n * 64),
    }[quantity]
    rnn, attention, *pairs = drawn["data"]
    for n, *values in zip(rnn["x"], rnn["y"], attention["y"], strict=True):
        assert tuple(values) == expected(n)
    row = list(why_relay.quantity_names(T)).index(quantity)
    shown = [table[name][row] for name in ("RNN", "Attention")]
    assert [float(each.replace(",", "")) for each in shown] == list(expected(128))
    assert [shape["x0"] for shape in drawn["layout"]["shapes"]] == [128]
    assert len(pairs) == (quantity == "multiply_adds")
    for line in pairs:
        assert line["y"] == [2 * n * n * 64 for n in line["x"]]


def test_a_count_too_long_to_read_is_a_power():
    table = why_relay.table(T, 4096, 512)

    assert table["Attention"][-1] == power(3 * 4096 * 512**2 + 2 * 4096**2 * 512)
    assert table["RNN"][-1] == power(2 * 4096 * 512**2)
    assert table["Attention"][2] == "16,773,120"
