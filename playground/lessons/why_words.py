"""What the step on words shows: query, key and value of a small example, in plain words."""

from dataclasses import replace

import numpy as np

from attention_core import Experiment, ExperimentTrace, is_untouched, to_plain
from attention_core.arrays import FloatArray
from playground.exhibit import Exhibit
from playground.numerals import short
from playground.pipeline import Matrix, axis_labels, pipeline
from playground.texts import Texts

_ASKERS = {"cat": 0, "apple_company": 0, "apple_fruit": 3}  # who asks at first, by place
_TOKENS = {
    "cat": (
        "why_attention.words.cat",
        "why_attention.words.chases",
        "why_attention.words.mouse",
    ),
    "apple_company": (
        "why_attention.words.apple",
        "why_attention.words.company",
        "why_attention.words.releases",
        "why_attention.words.new",
        "why_attention.words.phone",
    ),
    "apple_fruit": (
        "why_attention.words.i",
        "why_attention.words.want",
        "why_attention.words.eat",
        "why_attention.words.apple",
    ),
}
_OF_ASKER = ("Q", "asked", "scores", "weights", "output")  # whose row of the asker is framed
_ROUNDING = 1e-9  # nothing closer is told apart


def examples(t: Texts) -> dict[str, str]:
    """The presets that can be looked at, by name."""
    return {
        "cat": t("why_attention.words.example_cat"),
        "apple_company": t("why_attention.words.example_company"),
        "apple_fruit": t("why_attention.words.example_fruit"),
    }


def askers(t: Texts, e: Experiment) -> dict[int, str]:
    """The tokens of an example by their place."""
    return {place: t(key) for place, key in enumerate(_TOKENS[e.preset])}


def first_asker(e: Experiment) -> int:
    """Whom the example is about."""
    return _ASKERS[e.preset]


def is_taken(current: Experiment, name: str) -> bool:
    """Whether the current experiment is this example, as it starts."""
    return current.preset == name and is_untouched(to_plain(current))


# --- the board


def words(t: Texts, e: Experiment, trace: ExperimentTrace, asker: int) -> Exhibit:
    """All matrices from X to the output, none to be edited, with what each query asks for."""
    matrices = []
    for matrix in pipeline(e, trace, 0):
        if matrix.id == "scores":
            matrices.append(_asked(t, trace))
        matrices.append(_read_only(t, matrix))
    return Exhibit(
        f"why_attention.words.{e.preset}",
        {
            "inputs": t("why_attention.words.inputs_stage"),
            "projections": t("why_attention.words.projections_stage"),
            "asked": t("why_attention.words.asked_stage"),
            "scores": t("why_attention.words.scores_stage"),
            "weights": t("why_attention.words.weights_stage"),
            "output": t("why_attention.words.output_stage"),
        },
        [_marked(t, matrix, asker) for matrix in matrices],
        axis_labels(e, t.group("feature")),
    )


def asked_for(trace: ExperimentTrace) -> FloatArray:
    """(n_tokens, d_model): what 1 of each feature in another token adds to its score."""
    attention = trace.attention
    asked: FloatArray = attention.heads.Q[0] @ attention.W_K[0].T
    return asked


def _asked(t: Texts, trace: ExperimentTrace) -> Matrix:
    return Matrix(
        "asked",
        "",
        "asked",
        asked_for(trace),
        "tokens",
        "features",
        "Q W_Kᵀ",
        {"kind": "matmul_transposed", "of": ["Q", "W_K"]},
        name=t("why_attention.words.asked"),
        about=t("why_attention.words.asked_about"),
    )


def _read_only(t: Texts, matrix: Matrix) -> Matrix:
    """The matrix without anything to edit; "X" is where the board lets tokens be edited."""
    operation = matrix.operation
    if operation["kind"] == "given":
        operation = {"kind": "told", "text": t("why_attention.words.given")}
    elif "X" in operation["of"]:
        operation = operation | {"of": [_renamed(id) for id in operation["of"]]}
    return replace(
        matrix,
        id=_renamed(matrix.id),
        text=matrix.text_id,
        operation=operation,
        is_editable=False,
    )


def _renamed(id: str) -> str:
    return "tokens_in" if id == "X" else id


def _marked(t: Texts, matrix: Matrix, asker: int) -> Matrix:
    if matrix.id not in _OF_ASKER:
        return matrix
    marked = np.zeros(matrix.values.shape, dtype=bool)
    marked[asker] = True
    return replace(matrix, marked=marked, mark=t("why_attention.words.mark"))


# --- in words


def words_found(t: Texts, e: Experiment, trace: ExperimentTrace, asker: int) -> str:
    """What one token asks, who answers, what is handed over and what becomes of it."""
    said = [
        _query(t, e, trace, asker),
        _key(t, e, trace, asker),
        _value(t, e, trace, asker),
        _afterwards(t, e, trace, asker),
    ]
    other = _other(t, e, trace, asker)
    return "\n\n".join([*said, other] if other else said)


def _query(t: Texts, e: Experiment, trace: ExperimentTrace, asker: int) -> str:
    asked = asked_for(trace)[asker]
    name, features = _names(t, e)[asker], _features(t, e, trace.X[asker])
    query = _row(trace.attention.heads.Q[0, asker])
    if not asked.any():
        return t("why_attention.words.asks_nothing", name=name, features=features, query=query)
    wanted, unwanted = (
        _features(t, e, part) for part in (np.maximum(asked, 0.0), np.minimum(asked, 0.0))
    )
    said = t("why_attention.words.asks", name=name, features=features, query=query, wanted=wanted)
    if unwanted:
        said += t("why_attention.words.refuses", unwanted=unwanted)
    return said


def _key(t: Texts, e: Experiment, trace: ExperimentTrace, asker: int) -> str:
    steps, names = trace.attention.head(0), _names(t, e)
    scores, shares = steps.scores[asker], _shares(t, e, steps.weights[asker])
    best, most = _largest(scores), short(scores.max())
    if len(best) == e.n_tokens:
        return t("why_attention.words.answer_alike", score=most, shares=shares)
    if len(best) > 1:
        keys = _listed(t, [names[key] for key in best])
        said = t("why_attention.words.answer_equally", names=keys, score=most)
    else:
        numbers = _row(steps.K[best[0]])
        said = t("why_attention.words.answers", name=names[best[0]], numbers=numbers, score=most)
    scaled = short(steps.scaled_scores[asker].max())
    return said + t("why_attention.words.shares", scaled=scaled, d_k=e.d_k, shares=shares)


def _value(t: Texts, e: Experiment, trace: ExperimentTrace, asker: int) -> str:
    steps, names = trace.attention.head(0), _names(t, e)
    weights = steps.weights[asker]
    total = " + ".join(f"{short(weights[key])} · ({_row(steps.V[key])})" for key in _order(weights))
    name, output, most = names[asker], _row(steps.output[asker]), _largest(weights)
    if len(most) == e.n_tokens:
        return t("why_attention.words.hand_over_alike", name=name, sum=total, output=output)
    top = _listed(t, [names[key] for key in most])
    return t("why_attention.words.hands_over", name=name, most=top, sum=total, output=output)


def _afterwards(t: Texts, e: Experiment, trace: ExperimentTrace, asker: int) -> str:
    """How much of the mix is not its own, and as which features it is written back."""
    others = short(100 * (1 - trace.attention.head(0).weights[asker, asker]))
    said = t("why_attention.words.afterwards", name=_names(t, e)[asker], others=others)
    if trace.attention.W_O is not None:
        features = _features(t, e, trace.attention.output[asker])
        said += t("why_attention.words.written_back", features=features)
    return said


def _other(t: Texts, e: Experiment, trace: ExperimentTrace, asker: int) -> str:
    """What becomes of the same token with the same vector in another example; "" in none."""
    for name, title in examples(t).items():
        other = Experiment.from_preset(name)
        if name == e.preset or other.feature_names != e.feature_names:
            continue
        for place, token in enumerate(other.tokens):
            if token == e.tokens[asker] and np.array_equal(other.X[place], e.X[asker]):
                there = other.trace().attention.output[place]
                return _compared(t, e, trace.attention.output[asker], there, title)
    return ""


def _compared(t: Texts, e: Experiment, here: FloatArray, there: FloatArray, title: str) -> str:
    names = axis_labels(e, t.group("feature"))["features"]
    return t(
        "why_attention.words.compared",
        other=title,
        features=_features(t, e, there),
        here=names[int(np.argmax(here))],
        there=names[int(np.argmax(there))],
    )


# --- numbers and names


def _names(t: Texts, e: Experiment) -> list[str]:
    """The tokens as a sentence names them."""
    return [t("why_attention.words.quoted", name=name) for name in askers(t, e).values()]


def _features(t: Texts, e: Experiment, row: FloatArray) -> str:
    """The features that are not 0, the largest first."""
    names = axis_labels(e, t.group("feature"))["features"]
    return _listed(
        t,
        [
            t("narrate.with_number", name=names[place], number=short(row[place]))
            for place in _order(np.abs(row))
            if row[place]
        ],
    )


def _shares(t: Texts, e: Experiment, weights: FloatArray) -> str:
    """Who gets how much, the largest first."""
    names = _names(t, e)
    shares = [f"{names[key]} {short(weights[key])}" for key in _order(weights)]
    return t("narrate.comma").join(shares)


def _order(numbers: FloatArray) -> list[int]:
    """The places of the largest first."""
    places: list[int] = np.argsort(-numbers, kind="stable").tolist()
    return places


def _largest(numbers: FloatArray) -> list[int]:
    """Where the largest stands; several places if they differ by rounding alone."""
    places: list[int] = np.flatnonzero(numbers >= numbers.max() - _ROUNDING).tolist()
    return places


def _listed(t: Texts, parts: list[str]) -> str:
    *first, last = parts or [""]
    if not first:
        return last
    return t("narrate.and", first=t("narrate.comma").join(first), last=last)


def _row(numbers: FloatArray) -> str:
    return ", ".join(short(number) for number in numbers.tolist())
