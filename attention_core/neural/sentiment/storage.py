"""A trained model as a file, and back: safetensors, which holds numbers and no code.

    8 bytes: length of the header | header: names, types, shapes, and one text | the numbers

The text, under "attention_playground", is JSON: what the model is made of, the words it knows,
how texts are cut, where its sentences come from if they can be made again, and how it was trained.

A file comes from anyone. A pickle could run code, so none is ever opened. What a file says is
checked before anything is made from it: its size, the types and limits of each field, then that
the tensors are exactly those of the architecture, and that each number is one that a training
could have given.

Source: the format of safetensors, https://huggingface.co/docs/safetensors.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch.nn import functional as F

from attention_core.canvas import MAX_SEED, check_count
from attention_core.errors import FieldError, FileKindError, NotFiniteError, RangeError, ShapeError
from attention_core.neural.sentiment.corpus import (
    MOST_WORDS,
    UNKNOWN,
    Corpus,
    Source,
    Vocabulary,
)
from attention_core.neural.sentiment.grammar import Templates
from attention_core.neural.sentiment.model import Architecture, State, shapes
from attention_core.neural.sentiment.reviews import MissingPackageError, Reviews
from attention_core.neural.sentiment.tokens import HOW
from attention_core.neural.sentiment.training import Epoch, Recipe, Run, logits, result

MOST_BYTES = 4 * 2**20  # what the app lets be uploaded; its largest model takes 3 MB
VERSION = 1
LIMITS = {"embed_dim": 128, "hidden": 128, "n_layers": 4, "n_heads": 8}  # of an architecture
MOST_EXAMPLES = 8_000  # that a file may ask to be made again: a fraction of a second
MOST_TRIED = 1_000  # of them, that its model may ask to be tried on: about a second
LONGEST_WORD = 200  # characters
MOST_TENSORS = 100  # in a file; the largest architecture has 37
LARGEST = 1e6  # of a parameter: with all of them so large no logit is infinite

_KEY = "attention_playground"
_SOURCES: dict[str, type[Templates] | type[Reviews]] = {"templates": Templates, "reviews": Reviews}
_MAGIC = {b"PK": "zip", b"\x80": "pickle"}  # a pickle since protocol 2; PyTorch's own is a zip

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class Stored:
    """What a file holds."""

    run: Run  # of its result alone
    corpus: Corpus  # without sentences
    source: Source | None  # that made them; None if they cannot be made again


# --- to a file


def to_bytes(run: Run, corpus: Corpus, source: Source | None) -> bytes:
    """The result of a run as a file.

    Args:
        run: What was trained.
        corpus: On these sentences; only the words are stored, not the sentences.
        source: Where they come from. What a learner brought is not told.

    Raises:
        NotFiniteError, RangeError: A parameter is one that `from_bytes` would refuse.
    """
    kept = run.epochs[run.kept]
    names = {made: name for name, made in _SOURCES.items()}
    told = {
        "version": VERSION,
        "architecture": asdict(run.architecture),
        "recipe": asdict(run.recipe),
        "seed": run.seed,
        "epoch": kept.number,
        "accuracy": kept.accuracy,
        "validation_loss": kept.validation_loss,
        "how": corpus.how,
        "words": corpus.vocabulary.words,
        "known": corpus.known,
        "source": None,
    }
    if isinstance(source, Templates | Reviews):
        told["source"] = {"of": names[type(source)], **asdict(source)}
    for name, value in run.state.items():
        _check_numbers(name, value.numpy())
    tensors = {name: value.contiguous() for name, value in run.state.items()}
    return safetensors.torch.save(tensors, {_KEY: json.dumps(told, separators=(",", ":"))})


# --- from a file


def from_bytes(data: bytes) -> Stored:
    """What a file holds; its sentences are made by `rebuilt`.

    Raises:
        RangeError: It is too large, has too many tensors, or a number in it is too large.
        FileKindError: It is something else than a safetensors file.
        FieldError: A field or a tensor is missing, too many, or malformed.
        ChoiceError, DivisibilityError: A field names nothing that there is.
        ShapeError: A tensor has another shape than the architecture asks for.
        NotFiniteError: A number is NaN or infinite.
    """
    check_count("n_bytes", len(data), 0, MOST_BYTES)
    tensors = _tensors(data)
    told = _told(data)
    if told.get("version") != VERSION:
        raise FieldError("version", f"must be {VERSION}")
    architecture = _settings(Architecture, "architecture", told)
    for name, most in LIMITS.items():
        check_count(name, getattr(architecture, name), 1, most)
    words = _words("words", told)
    how = told.get("how")
    if how not in HOW:
        raise FieldError("how", f"must be one of {', '.join(HOW)}")
    state = _state(tensors, shapes(architecture, len(words) + UNKNOWN + 1))
    run = Run(
        architecture,
        _settings(Recipe, "recipe", told),
        _integer("seed", told, MAX_SEED),
        n_steps=0,
        epochs=(_epoch(told),),
        states=(state,),
        ending="all",
    )
    return Stored(run, Corpus((), (), Vocabulary(words), how, _words("known", told)), _source(told))


def _tensors(data: bytes) -> dict[str, dict[str, Any]]:
    """Type, shape and bytes of each tensor, as the library finds them in a sound file."""
    n_tensors = len(_header(data).keys() - {"__metadata__"})
    check_count("n_tensors", n_tensors, 0, MOST_TENSORS)  # or it would take seconds
    try:
        found: list[tuple[str, dict[str, Any]]] = safetensors.deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        kinds = [kind for magic, kind in _MAGIC.items() if data.startswith(magic)]
        raise FileKindError(kinds[0] if kinds else "unknown") from error
    return dict(found)


def _header(data: bytes) -> dict[str, Any]:
    """What a sound header says; of another one nothing, as the library tells what is wrong."""
    try:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    except (ValueError, RecursionError):
        return {}
    return header if isinstance(header, dict) else {}


def _told(data: bytes) -> dict[str, Any]:
    """The text in a header that the library has read, from JSON."""
    text = (_header(data).get("__metadata__") or {}).get(_KEY)
    if not isinstance(text, str):
        raise FieldError(_KEY, "is missing")
    try:
        told = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise FieldError(_KEY, "is no JSON") from error
    if not isinstance(told, dict):
        raise FieldError(_KEY, "must be an object")
    return told


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _settings(kind: type[T], name: str, told: Mapping[str, Any]) -> T:
    """A dataclass from plain data: exactly its fields, each of the type of its default."""
    plain = told.get(name)
    if not isinstance(plain, dict):
        raise FieldError(name, "must be an object")
    defaults = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    if plain.keys() != defaults.keys() or MISSING in defaults.values():
        raise FieldError(name, f"must hold {', '.join(defaults)}")
    return kind(**{field: _like(field, plain[field], defaults[field]) for field in defaults})


def _like(name: str, value: Any, default: Any) -> Any:
    """The value, if it is of the type of the default; a list for a tuple, None for no clipping."""
    if name == "clip" and value is None:
        return None
    if type(default) is float and type(value) is int and abs(value) < 2**53:
        return float(value)
    if isinstance(default, tuple):
        if not isinstance(value, list) or any(type(each) is not str for each in value):
            raise FieldError(name, "must be a list of texts")
        return tuple(value)
    if type(value) is not type(default):
        raise FieldError(name, f"must be {type(default).__name__}")
    return value


def _integer(name: str, told: Mapping[str, Any], most: int) -> int:
    value = told.get(name)
    if type(value) is not int:
        raise FieldError(name, "must be int")
    return check_count(name, value, 0, most)


def _epoch(told: Mapping[str, Any]) -> Epoch:
    """What was measured, as the file says."""
    numbers = {"validation_loss": math.inf, "accuracy": 1.0}
    for name, most in numbers.items():
        value = told.get(name)
        if type(value) is not float or not math.isfinite(value):
            raise FieldError(name, "must be a finite float")
        if not 0 <= value <= most:
            raise RangeError(name, value, 0, most)
    number = _integer("epoch", told, 10_000)
    return Epoch(number, None, told["validation_loss"], told["accuracy"])


def _words(name: str, told: Mapping[str, Any]) -> tuple[str, ...]:
    words = told.get(name)
    if not isinstance(words, list) or len(words) > MOST_WORDS:
        raise FieldError(name, f"must be a list of at most {MOST_WORDS}")
    if any(type(word) is not str or not 0 < len(word) <= LONGEST_WORD for word in words):
        raise FieldError(name, f"must be texts of 1 to {LONGEST_WORD} characters")
    if len({*words}) < len(words):
        raise FieldError(name, "must differ")
    return tuple(words)


def _source(told: Mapping[str, Any]) -> Source | None:
    plain = told.get("source")
    if plain is None:
        return None
    of = plain.get("of") if isinstance(plain, dict) else None
    if not isinstance(of, str) or of not in _SOURCES:
        raise FieldError("source", f"must be of {', '.join(_SOURCES)}")
    settings = {name: value for name, value in plain.items() if name != "of"}
    source = _settings(_SOURCES[of], "source", {"source": settings})
    check_count("seed", source.seed, 0, MAX_SEED)
    check_count("n_examples", source.n_train + source.n_validation, 1, MOST_EXAMPLES)
    check_count("n_validation", source.n_validation, 1, MOST_TRIED)
    return source


def _state(tensors: Mapping[str, Mapping[str, Any]], wanted: Mapping[str, Sequence[int]]) -> State:
    """The parameters, if they are exactly those of the architecture."""
    for name in sorted({*wanted} - {*tensors}):
        raise FieldError(name, "is missing")
    for name in sorted({*tensors} - {*wanted}):
        raise FieldError(name, "has no place in this architecture")
    return {name: _parameter(name, tensors[name], tuple(shape)) for name, shape in wanted.items()}


def _parameter(name: str, tensor: Mapping[str, Any], shape: tuple[int, ...]) -> torch.Tensor:
    if tensor["dtype"] != "F32":
        raise FieldError(name, "must be F32")
    if tuple(tensor["shape"]) != shape:
        raise ShapeError(name, shape, tuple(tensor["shape"]))
    numbers = np.frombuffer(tensor["data"], dtype="<f4").reshape(shape)
    _check_numbers(name, numbers)
    return torch.from_numpy(numbers.astype(np.float32))


def _check_numbers(name: str, numbers: npt.NDArray[np.float32]) -> None:
    """Raise unless each number is one that a training could have given."""
    wrong = np.argwhere(~np.isfinite(numbers))
    if len(wrong):
        raise NotFiniteError(name, tuple(wrong[0].tolist()))
    if np.abs(numbers).max() > LARGEST:
        raise RangeError(name, float(np.abs(numbers).max()), -LARGEST, LARGEST)


# --- the sentences of a model from a file


def rebuilt(stored: Stored) -> Corpus | None:
    """The sentences that the model was trained on, made again.

    None if they cannot be: they were somebody's own, their package is missing, or what is made
    now has other words than the model was trained on.
    """
    if stored.source is None:
        return None
    try:
        corpus = stored.source.corpus()
    except (MissingPackageError, RangeError):
        return None
    then = stored.corpus
    is_same = (corpus.vocabulary.words, corpus.how) == (then.vocabulary.words, then.how)
    return corpus if is_same else None


def measured(run: Run, corpus: Corpus) -> Run:
    """The run with what its result reaches on these sentences in place of what a file says."""
    ids = [corpus.vocabulary.ids(example.tokens) for example in corpus.validation]
    labels = torch.tensor([float(example.label) for example in corpus.validation]).double()
    given = logits(result(run), ids)
    loss = F.binary_cross_entropy_with_logits(given, labels).item()
    accuracy = ((given > 0) == (labels > 0.5)).double().mean().item()
    epoch = replace(run.epochs[run.kept], validation_loss=loss, accuracy=accuracy)
    return replace(run, epochs=(epoch,), kept=0)
