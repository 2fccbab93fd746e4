"""What the step "relay" shows: a message on its way, what linking n tokens takes, and sentences."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from attention_core import Experiment
from attention_core.relay import (
    MODELS,
    Linking,
    Model,
    Moment,
    crossover,
    gathered,
    linking,
    relayed,
)
from playground import charts, narrate
from playground.charts import Chart, Line
from playground.figures import Figure
from playground.lessons import tokens
from playground.lessons.cost import power
from playground.numerals import short
from playground.palette import Theme
from playground.strip import Lane, Passing, Strip
from playground.texts import Texts

Quantity: TypeAlias = Literal["steps", "path", "links", "multiply_adds"]

N_TOKENS = tuple(2**power for power in range(1, 13))
WIDTHS = tuple(2**power for power in range(4, 10))
_MARGIN = 1.15  # beside the first and the last number of tokens, as a factor
_TICKS = (2, 16, 128, 1024, 4096)
_ONES = (0.5, 2.0 * N_TOKENS[-1])  # the range of an axis that counts steps or passes


# --- the strip


def strip(t: Texts, e: Experiment, source: int) -> Strip:
    """The relay and the round table of these tokens, step by step."""
    relay = relayed(e.n_tokens, source)
    table = gathered(e.mask.allowed(e.n_tokens), source)
    last = max(len(relay), len(table)) - 1
    names = narrate.names(e.tokens)
    of_relay = [Passing(each, _said_of_relay(t, names, source, each)) for each in relay]
    before, after = table
    of_table = [
        Passing(before, t("why_attention.relay.table_before")),
        Passing(after, _said_at_table(t, names[source], after)),
    ]
    return Strip(
        tokens=e.tokens,
        source=source,
        lanes=[
            Lane("relay", t("why_attention.relay.relay"), of_relay),
            Lane("table", t("why_attention.relay.table"), of_table),
        ],
        steps=[t("why_attention.relay.now", step=step, last=last) for step in range(last + 1)],
        texts={
            "back": t("why_attention.relay.back"),
            "play": t("why_attention.relay.play"),
            "pause": t("why_attention.relay.pause"),
            "forward": t("why_attention.relay.forward"),
            "time": t("why_attention.relay.time"),
            "has_it": t("why_attention.relay.has_it"),
            "has_not": t("why_attention.relay.has_not"),
            "legend": t("why_attention.relay.legend"),
        },
    )


def _said_of_relay(t: Texts, names: list[str], source: int, moment: Moment) -> str:
    """What the relay did at one step, and where it leaves the message."""
    token, last = names[source], len(names) - 1
    if last == 0:
        return t("why_attention.relay.alone", token=token)
    if not moment.links:
        return t("why_attention.relay.relay_before", token=token)
    ((giver, taker),) = moment.links
    giver_name, taker_name = names[giver], names[taker]
    if taker < source:
        return t("why_attention.relay.waits", giver=giver_name, taker=taker_name, token=token)
    if taker == source:
        key = "why_attention.relay.too_late" if source == last else "why_attention.relay.joins"
        return t(key, giver=giver_name, taker=taker_name)
    if taker == last:
        return t("why_attention.relay.arrives", giver=giver_name, taker=taker_name, token=token)
    return t("why_attention.relay.moves", giver=giver_name, taker=taker_name, token=token)


def _said_at_table(t: Texts, token: str, moment: Moment) -> str:
    """How many links there are, and how many others have heard the message."""
    if not moment.links:
        return t("why_attention.relay.table_empty")
    count = sum(moment.has_it) - 1
    return t("why_attention.relay.table_after", links=len(moment.links), count=count, token=token)


def strip_found(t: Texts, e: Experiment, source: int) -> list[str]:
    """What both ways took for the tokens of the experiment, and who has the message."""
    if e.n_tokens == 1:
        return [t("why_attention.relay.found_alone")]
    relay = relayed(e.n_tokens, source)
    _, table = gathered(e.mask.allowed(e.n_tokens), source)
    own = sum(giver == taker for giver, taker in table.links)
    said = [
        t(
            "why_attention.relay.found_heard",
            token=tokens.named(e, source),
            others=e.n_tokens - 1,
            relay=sum(relay[-1].has_it) - 1,
            table=sum(table.has_it) - 1,
        ),
        t(
            "why_attention.relay.found_links",
            links=len(table.links),
            pairs=e.n_tokens**2,
            own=own,
        ),
    ]
    forbidden = e.n_tokens**2 - len(table.links)
    if forbidden:
        said.append(t("why_attention.relay.found_masked", count=forbidden))
    return said


# --- what it takes


def counted(counts: Sequence[int]) -> dict[int, str]:
    """Numbers on a slider, and how each is written."""
    return {each: f"{each:,}" for each in counts}


def quantity_names(t: Texts) -> dict[Quantity, str]:
    """What can be drawn against the number of tokens."""
    return {
        "steps": t("why_attention.relay.steps"),
        "path": t("why_attention.relay.path"),
        "links": t("why_attention.relay.links"),
        "multiply_adds": t("why_attention.relay.multiply_adds"),
    }


def model_names(t: Texts) -> dict[Model, str]:
    """What is compared."""
    return {"rnn": t("why_attention.relay.rnn"), "attention": t("why_attention.relay.attention")}


def figure(t: Texts, quantity: Quantity, n_tokens: int, d_model: int, theme: Theme) -> Figure:
    """One quantity against the number of tokens, both on logarithmic axes."""
    names = model_names(t)
    of = {model: [linking(model, n, d_model) for n in N_TOKENS] for model in MODELS}
    lines = [
        Line(names[model], N_TOKENS, [_counted(each, quantity) for each in of[model]], colour)
        for colour, model in enumerate(MODELS)
    ]
    if quantity == "multiply_adds":
        pairs = [each.of_pairs for each in of["attention"]]
        name = t("why_attention.relay.pairs_alone")
        lines.append(Line(name, N_TOKENS, pairs, colour=1, shape="dashed"))
    chart = Chart(
        title="",  # what is drawn stands at the axis, and was chosen right above
        x_title=t("why_attention.relay.n_tokens"),
        y_title=quantity_names(t)[quantity],
        lines=lines,
        is_x_log=True,
        is_y_log=True,
        y_range=_ONES if quantity in ("steps", "path") else None,
        x_marks=[n_tokens],
    )
    drawn = charts.figure([chart], theme)
    drawn["layout"]["xaxis"] |= {
        "range": np.log10([N_TOKENS[0] / _MARGIN, N_TOKENS[-1] * _MARGIN]).tolist(),
        "tickmode": "array",
        "tickvals": list(_TICKS),
        "ticktext": [f"{n:,}" for n in _TICKS],
    }
    if chart.y_range:
        drawn["layout"]["yaxis"] |= {"nticks": None, "dtick": 1}
    drawn["layout"]["margin"]["r"] = 30  # for half of the last name, on a phone
    return drawn


def _counted(of: Linking, quantity: Quantity) -> int:
    counts: dict[Quantity, int] = {
        "steps": of.steps,
        "path": of.longest_path,
        "links": of.links,
        "multiply_adds": of.multiply_adds,
    }
    return counts[quantity]


def table(t: Texts, n_tokens: int, d_model: int) -> dict[str, list[str]]:
    """Every quantity for the chosen sizes, column by column."""
    names, quantities = model_names(t), quantity_names(t)
    columns = {
        names[model]: [
            _written(_counted(linking(model, n_tokens, d_model), each)) for each in quantities
        ]
        for model in MODELS
    }
    return {t("why_attention.relay.quantity"): list(quantities.values()), **columns}


def _written(count: int) -> str:
    return f"{count:,}" if count < 10**8 else power(count)


def counts_found(t: Texts, n_tokens: int, d_model: int) -> list[str]:
    """Steps and paths of the chosen sizes, and which of the two computes more."""
    rnn, attention = (linking(model, n_tokens, d_model) for model in MODELS)
    at = crossover(d_model)
    said = [
        t(
            "why_attention.relay.found_steps",
            n_tokens=f"{n_tokens:,}",
            d_model=d_model,
            steps=f"{rnn.steps:,}",
            path=f"{rnn.longest_path:,}",
            attention_steps=attention.steps,
            attention_path=attention.longest_path,
        ),
        t(
            "why_attention.relay.found_work",
            ratio=short(attention.multiply_adds / rnn.multiply_adds),
            weights=short(attention.of_weights / rnn.multiply_adds),
            pairs=short(attention.of_pairs / rnn.multiply_adds),
        ),
    ]
    key = "why_attention.relay.found_above" if n_tokens >= at else "why_attention.relay.found_below"
    return [*said, t(key, crossover=f"{at:,}")]
