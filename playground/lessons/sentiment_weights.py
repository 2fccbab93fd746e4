"""What the step "weights" shows: the parameters of a model one by one, and their file."""

import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from playground.lessons.sentiment import Trained, names, percent
from playground.numerals import short
from playground.texts import Texts

if TYPE_CHECKING:
    from torch import Tensor

MOST_MEGABYTES = 4  # of a file that is opened, as the server takes them

_READ = """import json
from safetensors import safe_open

with safe_open("{name}", "pt") as file:
    told = json.loads(file.metadata()["attention_playground"])
    state = {{name: file.get_tensor(name) for name in file.keys()}}
print(told["architecture"])
print(state["embedding.weight"].shape, len(told["words"]))"""


def table(t: Texts, trained: Trained) -> dict[str, list[str]]:
    """Each parameter, column by column, and all together."""
    state = trained.run.state
    of_all = sum(value.numel() for value in state.values())
    return {
        t("sentiment.weights.name"): [*(f"`{name}`" for name in state), t("sentiment.weights.all")],
        t("sentiment.weights.meaning"): [*(meaning(t, name) for name in state), ""],
        t("sentiment.weights.count"): [*map(_count, state.values()), f"{of_all:,}"],
    }


def _count(value: "Tensor") -> str:
    """From its shape, if that is more than one number."""
    shape = "\u00a0×\u00a0".join(map(str, value.shape))
    return f"{shape} = {value.numel():,}" if value.dim() > 1 else shape


def _n_bytes(trained: Trained) -> int:
    return sum(value.nbytes for value in trained.run.state.values())


def meaning(t: Texts, name: str) -> str:
    """What a parameter of this name is for."""
    layer = re.fullmatch(r"lstm\.(\d+)\.(weight_ih|weight_hh|bias_ih|bias_hh)_l0(_reverse)?", name)
    if layer:
        number, part, is_back = layer.groups()
        parts = {
            "weight_ih": partial(t, "sentiment.weights.gates_of_input"),
            "weight_hh": partial(t, "sentiment.weights.gates_of_state"),
            "bias_ih": partial(t, "sentiment.weights.gates_bias"),
            "bias_hh": partial(t, "sentiment.weights.gates_bias"),
        }
        way = t("sentiment.weights.backward") if is_back else t("sentiment.weights.forward")
        return parts[part](way=way, layer=int(number) + 1)
    return {
        "embedding.weight": t("sentiment.weights.embedding"),
        "attention.query.weight": t("sentiment.weights.query"),
        "attention.key.weight": t("sentiment.weights.key"),
        "attention.value.weight": t("sentiment.weights.value"),
        "attention.in_proj.weight": t("sentiment.weights.in_proj"),
        "attention.out_proj.weight": t("sentiment.weights.out_proj"),
        "head.weight": t("sentiment.weights.last"),
        "head.bias": t("sentiment.weights.last_bias"),
    }[name]


def found(t: Texts, trained: Trained, n_bytes: int) -> list[str]:
    """How many numbers there are, where most of them are, and what is known of their model."""
    run = trained.run
    total = sum(value.numel() for value in run.state.values())
    shares = t("narrate.comma").join(
        t(
            "narrate.with_number",
            name=name,
            number=t("sentiment.percent", share=short(100 * count / total)),
        )
        for name, count in parts(t, trained).items()
    )
    said = [
        t(
            "sentiment.weights.found",
            count=f"{total:,}",
            bytes=f"{_n_bytes(trained):,}",
            file=f"{n_bytes:,}",
        ),
        t("sentiment.weights.shares", shares=shares),
    ]
    return [*said, _reached(t, trained), _source_told(t, trained)]


def parts(t: Texts, trained: Trained) -> dict[str, int]:
    """How many numbers each part of the model has, the largest first."""
    names = {
        "embedding": t("sentiment.weights.of_embedding"),
        "lstm": t("sentiment.weights.of_lstm"),
        "attention": t("sentiment.weights.of_attention"),
        "head": t("sentiment.weights.of_last"),
    }
    counts = Counter[str]()
    for name, value in trained.run.state.items():
        counts[names[name.partition(".")[0]]] += value.numel()
    return dict(counts.most_common())


def _reached(t: Texts, trained: Trained) -> str:
    """Which model it is, and what it reaches, or what its file says of that."""
    run, count = trained.run, len(trained.corpus.validation)
    model, epoch = names(t)[run.architecture.kind], run.epochs[run.kept].number
    if not count:
        share = percent(t, run.accuracy)
        return t("sentiment.weights.claimed", model=model, seed=run.seed, epoch=epoch, share=share)
    right = round(run.accuracy * count)
    return t(
        "sentiment.weights.reached",
        model=model,
        seed=run.seed,
        epoch=epoch,
        right=right,
        count=count,
    )


def _source_told(t: Texts, trained: Trained) -> str:
    from attention_core.neural.sentiment.grammar import Templates
    from attention_core.neural.sentiment.reviews import Reviews

    if isinstance(trained.source, Templates | Reviews):
        return t("sentiment.weights.with_source")
    return t("sentiment.weights.without_source", count=len(trained.corpus.vocabulary.words))


def file(trained: Trained) -> bytes:
    """The model as a file.

    Raises:
        AttentionError: A parameter is so large that the file could not be opened again.
    """
    from attention_core.neural.sentiment.storage import to_bytes

    return to_bytes(trained.run, trained.corpus, trained.source)


def file_name(trained: Trained) -> str:
    """What the file is called."""
    return f"attention-playground-{trained.run.architecture.kind}.safetensors"


def reading(trained: Trained) -> str:
    """The lines of Python that read it elsewhere."""
    return _READ.format(name=file_name(trained))
