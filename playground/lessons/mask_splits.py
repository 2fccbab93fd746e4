"""What the lesson on masks shows of a mask's uses: two sequences in one, and a cache."""

from typing import Any

import numpy as np

from attention_core import AttentionTrace, Experiment
from attention_core.arrays import BoolArray, FloatArray
from attention_core.cache import Growth, n_multiply_adds, n_multiply_adds_cached
from playground.exhibit import Exhibit
from playground.lessons import tokens
from playground.numerals import short, size
from playground.pipeline import Matrix, axis_labels
from playground.texts import Texts

# --- cross-attention


def cross(t: Texts, e: Experiment, two: AttentionTrace, one: AttentionTrace) -> Exhibit:
    """Queries of the target, keys and values of the source, beside one sequence under a mask."""
    n_source = two.K.shape[-2]
    block = np.zeros((e.n_tokens, e.n_tokens), dtype=bool)
    block[n_source:, :n_source] = True

    def of(
        id: str, symbol: str, stage: str, values: FloatArray, rows: str, columns: str, **more: Any
    ) -> Matrix:
        told = {"kind": "told", "text": t("masks.cross.told")}
        return Matrix(id, symbol, stage, values, rows, columns, **({"operation": told} | more))

    source, target = "tokens_source", "tokens_target"
    return Exhibit(
        "masks.cross",
        {
            "projections": t("masks.cross.projections_stage"),
            "two": t("masks.cross.two_stage"),
            "one": t("masks.cross.one_stage"),
        },
        [
            of(
                "Q",
                "Q",
                "projections",
                two.Q,
                target,
                "dims",
                operation={"kind": "told", "text": t("masks.cross.told_target")},
                chain="Q",
            ),
            of("K", "K", "projections", two.K, source, "dims", chain="K"),
            of("V", "V", "projections", two.V, source, "dims", chain="V"),
            of(
                "scores",
                "",
                "two",
                two.biased_scores,
                target,
                source,
                operation={"kind": "told", "text": t("masks.cross.scores_told")},
                text=_scores(e),
            ),
            of(
                "weights",
                "A",
                "two",
                two.weights,
                target,
                source,
                operation={"kind": "softmax", "of": ["scores"]},
                are_weights=True,
            ),
            of(
                "output",
                "O",
                "two",
                two.output,
                target,
                "dims",
                operation={"kind": "matmul", "of": ["weights", "V"]},
            ),
            of(
                "one_weights",
                "",
                "one",
                one.weights,
                "tokens",
                "tokens",
                operation={"kind": "told", "text": t("masks.cross.one_told")},
                are_weights=True,
                name=t("masks.cross.one"),
                about=t("masks.cross.one_about"),
                marked=block,
                mark=t("masks.cross.mark"),
            ),
        ],
        axis_labels(e)
        | {"tokens_source": e.tokens[:n_source], "tokens_target": e.tokens[n_source:]},
    )


def _scores(e: Experiment) -> str:
    """What the scores go by that the softmax is made of."""
    if e.encoding == "alibi":
        return "biased_scores"
    return "scaled_scores" if e.is_scaled else "scores"


def cross_found(t: Texts, e: Experiment, two: AttentionTrace, one: AttentionTrace) -> list[str]:
    """That both ways give the same, and how many weights each computes."""
    n_q, n_k = two.weights.shape[-2:]
    gap = float(np.abs(one.output[-n_q:] - two.output).max())
    return [
        t("masks.cross.same", gap=size(gap)),
        t("masks.cross.shapes", n_q=n_q, n_k=n_k, cross=n_q * n_k, one=e.n_tokens**2),
    ]


def one_sided(t: Texts, e: Experiment, n_source: int) -> str:
    """Why there is nothing to show: no source, no target, or a token too few for both."""
    if e.n_tokens == 1:
        return t("masks.cross.single")
    return t("masks.cross.no_target") if n_source else t("masks.cross.no_source")


# --- the cache


def cache(t: Texts, e: Experiment, g: Growth) -> Exhibit:
    """Keys and values with the kept ones marked, and the outputs with those that moved."""
    n = len(g.before.output)
    is_kept = np.arange(n + 1) < n
    has_moved = np.append(g.moved_by > g.rounding, False)
    reach = float(max(np.abs(g.before.output).max(), np.abs(g.after.output).max())) or 1.0

    def of(id: str, symbol: str, stage: str, values: FloatArray, told: str, **more: Any) -> Matrix:
        axes = {"rows": "tokens_grown", "columns": "dims"}
        operation = {"kind": "told", "text": told}
        return Matrix(id, symbol, stage, values, operation=operation, **(axes | more))

    kept, whole = t("masks.cache.kept_told"), t("masks.cache.whole_told")
    marks = {"marked": _rows(is_kept, e.d_k), "mark": t("masks.cache.kept_mark")}
    return Exhibit(
        "masks.cache",
        {
            "kept": t("masks.cache.kept_stage"),
            "weights": t("masks.cache.weights_stage"),
            "output": t("masks.cache.output_stage"),
        },
        [
            of("K", "K", "kept", g.grown.K, kept, **marks),
            of("V", "V", "kept", g.grown.V, kept, **marks),
            of(
                "weights",
                "A",
                "weights",
                g.after.weights,
                whole,
                columns="tokens_grown",
                are_weights=True,
            ),
            of(
                "before",
                "",
                "output",
                g.before.output,
                whole,
                rows="tokens_kept",
                name=t("masks.cache.before"),
                about=t("masks.cache.before_about"),
                reach=reach,
            ),
            of(
                "after",
                "",
                "output",
                g.after.output,
                whole,
                name=t("masks.cache.after"),
                about=t("masks.cache.after_about"),
                reach=reach,
                marked=_rows(has_moved, e.d_k) if has_moved.any() else None,
                mark=t("masks.cache.moved_mark"),
            ),
        ],
        axis_labels(e) | {"tokens_grown": g.tokens, "tokens_kept": g.tokens[:-1]},
    )


def _rows(are_marked: BoolArray, width: int) -> BoolArray:
    """(n,) to (n, width): every cell of the rows that are marked."""
    return np.broadcast_to(are_marked[:, None], (len(are_marked), width))


def cache_found(t: Texts, e: Experiment, g: Growth, *, is_causal: bool) -> list[str]:
    """Which rows moved, what was reused, and what that saves."""
    n, most = len(g.tokens), float(g.moved_by.max())
    n_moved = int((g.moved_by > g.rounding).sum())
    if n_moved:
        said = [t("masks.cache.moved", count=n_moved, earlier=n - 1, most=short(most))]
    else:
        said = [t("masks.cache.stayed", earlier=n - 1, most=size(most))]
    sizes = (n, e.d_model, e.d_k, e.d_k)
    if is_causal:
        gap = float(np.abs(g.after.output[-1:] - g.new.output).max())
        said.append(
            t(
                "masks.cache.saved",
                reused=g.n_reused,
                gap=size(gap),
                full=n_multiply_adds(*sizes),
                cached=n_multiply_adds_cached(*sizes),
            )
        )
        said.append(_training(t, n, e))
    elif n_moved:
        said.append(t("masks.cache.stale"))
    return said


def _training(t: Texts, n: int, e: Experiment) -> str:
    """Why training computes all rows at once, with its count."""
    widths = (e.d_model, e.d_k, e.d_k)
    one_by_one = sum(n_multiply_adds_cached(i, *widths) for i in range(1, n + 1))
    return t(
        "masks.cache.training",
        n_tokens=n,
        full=n_multiply_adds(n, *widths),
        cached=one_by_one,
    )


def added(t: Texts, e: Experiment, g: Growth) -> str:
    """Which token plays the new one."""
    if len(g.tokens) == e.n_tokens:
        return t("masks.cache.last_plays", token=tokens.named(e, e.n_tokens - 1), count=e.n_tokens)
    grown = e.with_token_added()
    return t("masks.cache.token_added", token=tokens.named(grown, e.n_tokens))
