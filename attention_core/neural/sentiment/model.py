"""Four models that tell whether a sentence is positive: words alone, an LSTM, attention, both.

    e_i = embedding of token i
    h_i = [forward LSTM; backward LSTM](e)_i        or  e_i, or  e_i + position i
    z   = softmax(Q Kᵀ / √d_k) V  of h              or  h;  with a residual  h + z
    p   = sigmoid(w · pool(z) + b)

Sources: Hochreiter and Schmidhuber 1997, "Long Short-Term Memory"; Vaswani et al. 2017; the
reading of attention over an LSTM as in Wiegreffe and Pinter 2019, "Attention is not not
Explanation". Axes: B sentences, T tokens of the longest, E features of a token, H heads.
Padding never counts: a sentence gets the same answer in any batch as alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attention_core.arrays import FloatArray, check_counts
from attention_core.errors import ChoiceError, DivisibilityError, RangeError
from attention_core.neural.layers import MultiHeadAttention, SelfAttention
from attention_core.neural.sentiment.corpus import MOST_TOKENS, PADDING
from attention_core.positions import sinusoidal

Kind: TypeAlias = Literal["bag", "lstm", "lstm_attention", "attention"]
Pooling: TypeAlias = Literal["mean", "last", "max", "attended"]
KINDS: tuple[Kind, ...] = ("bag", "lstm", "lstm_attention", "attention")
POOLINGS: tuple[Pooling, ...] = ("mean", "last", "max", "attended")

Reweight: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Other weights for those of (B, H, T, T), given which tokens are real (B, T)."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """What a model is made of."""

    kind: Kind = "lstm_attention"
    embed_dim: int = 32
    hidden: int = 32  # features of each direction of the LSTM
    n_layers: int = 1  # of the LSTM
    n_heads: int = 1
    is_residual: bool = False  # whether attention is added to what it reads
    pooling: Pooling = "mean"
    dropout: float = 0.2

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("kind", self.kind, KINDS),
            ("pooling", self.pooling, POOLINGS),
        ):
            if value not in choices:
                raise ChoiceError(name, value, choices)
        check_counts(
            1,
            embed_dim=self.embed_dim,
            hidden=self.hidden,
            n_layers=self.n_layers,
            n_heads=self.n_heads,
        )
        if not 0 <= self.dropout < 1:
            raise RangeError("dropout", self.dropout, 0, 1)
        if self.has_attention and self.width % self.n_heads:
            raise DivisibilityError("width", self.width, "n_heads", self.n_heads)
        if self.pooling == "attended" and not self.has_attention:
            raise ChoiceError("pooling", self.pooling, POOLINGS[:-1])

    @property
    def has_lstm(self) -> bool:
        """Whether an LSTM reads the sentence."""
        return self.kind in ("lstm", "lstm_attention")

    @property
    def has_attention(self) -> bool:
        """Whether the tokens attend to each other."""
        return self.kind in ("attention", "lstm_attention")

    @property
    def width(self) -> int:
        """Features of a token that attention, or pooling, is given."""
        return 2 * self.hidden if self.has_lstm else self.embed_dim


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """All that a model makes of some sentences."""

    is_real: Tensor  # (B, T), False = padding
    embedded: Tensor  # (B, T, embed_dim)
    states: Tensor  # (B, T, width): what attention, or pooling, is given
    weights: Tensor | None  # (B, H, T, T), rows of real tokens sum to 1; None without attention
    context: Tensor  # (B, T, width): what is pooled
    pooled: Tensor  # (B, width)
    logits: Tensor  # (B,): above 0 = positive

    @property
    def attended(self) -> Tensor | None:
        """(B, T): how much each token is attended to, of 1 in all, by all tokens and heads."""
        return None if self.weights is None else attended(self.weights, self.is_real)


class _Layers(nn.Module):
    """The layers of a model without any numbers in them."""

    def __init__(self, a: Architecture, n_words: int) -> None:
        super().__init__()
        with torch.device("meta"):  # or they would draw from a generator that all share
            self.embedding = nn.Embedding(n_words, a.embed_dim, padding_idx=PADDING)
            inputs = [a.embed_dim] + [2 * a.hidden] * (a.n_layers - 1)
            lstm = [nn.LSTM(n, a.hidden, batch_first=True, bidirectional=True) for n in inputs]
            self.lstm = nn.ModuleList(lstm if a.has_lstm else [])
            self.attention = _attention(a) if a.has_attention else None
            self.head = nn.Linear(a.width, 1)


def _attention(a: Architecture) -> SelfAttention | MultiHeadAttention:
    if a.n_heads == 1:
        return SelfAttention(a.width)
    return MultiHeadAttention(a.width, a.n_heads, bias=False)


class TextClassifier(_Layers):
    """One of the four kinds."""

    def __init__(
        self, architecture: Architecture, n_words: int, *, generator: torch.Generator | None = None
    ) -> None:
        """A model with drawn parameters.

        Args:
            architecture: What it is made of.
            n_words: Of the vocabulary, with padding and the unknown.
            generator: Draws the parameters, and what dropout drops. PyTorch's own is shared by
                everything in the process, so two trainings at once would disturb each other.
        """
        super().__init__(architecture, n_words)
        a = self.architecture = architecture
        self.generator = generator or torch.Generator().manual_seed(0)
        self.to_empty(device="cpu")
        self._draw()
        positions = torch.from_numpy(sinusoidal(MOST_TOKENS, a.embed_dim)).float()
        self.register_buffer("positions", positions, persistent=False)

    def forward(self, ids: Tensor, *, reweight: Reweight | None = None) -> Reading:
        """Read some sentences.

        Args:
            ids: (B, T), the numbers of the tokens, 0 = padding at the end; each sentence has
                at least one token.
            reweight: Puts other weights in place of those of attention.
        """
        return self.read(self.embedding(ids), ids != PADDING, reweight=reweight)

    def read(
        self, embedded: Tensor, is_real: Tensor, *, reweight: Reweight | None = None
    ) -> Reading:
        """As `forward`, from embeddings (B, T, embed_dim) and which tokens are real (B, T).

        Raises:
            RangeError: There are more tokens than there are positions.
        """
        a = self.architecture
        # A weight of 0 does not keep out a padding that is not finite: 0 times NaN is NaN.
        states = self.dropped(embedded.masked_fill(~is_real[..., None], 0.0))
        if a.kind == "attention":
            if embedded.shape[1] > MOST_TOKENS:
                raise RangeError("n_tokens", embedded.shape[1], 1, MOST_TOKENS)
            states = states + self.get_buffer("positions")[: embedded.shape[1]]
        ends = None
        for layer, lstm in enumerate(self.lstm):
            states, ends = _run(lstm, states if layer == 0 else self.dropped(states), is_real)
        weights, context = None, states
        if self.attention is not None:
            mixed, weights = self.attention(states, padding=is_real)
            if weights.ndim == 3:
                weights = weights[:, None]  # (B, H, T, T)
            if reweight is not None:
                weights = reweight(weights, is_real)
                mixed = mix(self.attention, states, weights)
            context = states + mixed if a.is_residual else mixed
        pooled = pool(context, is_real, a.pooling, weights=weights, ends=ends)
        logits = self.head(self.dropped(pooled)).squeeze(-1)
        return Reading(is_real, embedded, states, weights, context, pooled, logits)

    def dropped(self, x: Tensor) -> Tensor:
        """Dropout, drawn from the model's own generator."""
        p = self.architecture.dropout
        if not self.training or p == 0:
            return x
        kept = torch.empty_like(x).bernoulli_(1 - p, generator=self.generator)
        return x * kept / (1 - p)

    def _draw(self) -> None:
        """Draw all parameters as the layers would by themselves, from the model's generator."""
        g = self.generator
        with torch.no_grad():
            for module in self.modules():
                if isinstance(module, nn.Embedding):
                    nn.init.normal_(module.weight, generator=g)
                    module.weight[PADDING].zero_()
                elif isinstance(module, nn.LSTM):
                    reach = module.hidden_size**-0.5
                    for parameter in module.parameters():
                        nn.init.uniform_(parameter, -reach, reach, generator=g)
                elif isinstance(module, nn.Linear):
                    nn.init.xavier_uniform_(module.weight, generator=g)
                    if module.bias is not None:
                        nn.init.zeros_(module.bias)


def _run(lstm: nn.Module, x: Tensor, is_real: Tensor) -> tuple[Tensor, Tensor]:
    """Both directions of one layer: (B, T, 2 hidden), and where each ends, (B, 2 hidden)."""
    packed = pack_padded_sequence(
        x, is_real.sum(dim=-1), batch_first=True, enforce_sorted=False
    )  # so the backward direction begins at the last real token
    out, (ends, _) = lstm(packed)  # ends: (2, B, hidden)
    states, _ = pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
    return states, torch.cat([*ends], dim=-1)


def projected(attention: nn.Module, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Q, K and V of each head, (B, H, T, d_k) each, of what the layer reads (B, T, E)."""
    if isinstance(attention, MultiHeadAttention):
        Q, K, V = map(attention.split, attention.in_proj(states).chunk(3, dim=-1))
        return Q, K, V
    assert isinstance(attention, SelfAttention)
    layers = (attention.query, attention.key, attention.value)
    Q, K, V = (layer(states)[:, None] for layer in layers)
    return Q, K, V


def head_weights(attention: nn.Module) -> tuple[Tensor, Tensor, Tensor]:
    """W_Q, W_K and W_V of each head, (H, E, d_k) each, that multiply from the right."""
    if isinstance(attention, MultiHeadAttention):
        fused = attention.in_proj.weight.view(3, attention.num_heads, -1, attention.embed_dim)
        W_Q, W_K, W_V = fused.mT
        return W_Q, W_K, W_V
    assert isinstance(attention, SelfAttention)
    layers = (attention.query, attention.key, attention.value)
    W_Q, W_K, W_V = (layer.weight.T[None] for layer in layers)
    return W_Q, W_K, W_V


def mix(attention: nn.Module, states: Tensor, weights: Tensor) -> Tensor:
    """(B, T, E): what the layer gives if its weights are these (B, H, T, T)."""
    _, _, V = projected(attention, states)
    if isinstance(attention, MultiHeadAttention):
        merged: Tensor = attention.out_proj(attention.merge(weights @ V))
        return merged
    return (weights @ V)[:, 0]


def pool(
    context: Tensor,
    is_real: Tensor,
    pooling: Pooling,
    *,
    weights: Tensor | None = None,
    ends: Tensor | None = None,
) -> Tensor:
    """One vector for each sentence, of its real tokens alone.

    Args:
        context: (B, T, E).
        is_real: (B, T).
        pooling: "mean" or "max" over tokens; "last": the state of the last token, where an LSTM
            is all there is the last of each direction; "attended": the mean of the tokens, each
            as much as it is attended to.
        weights: (B, H, T, T) of attention, if there is any.
        ends: (B, E), the last states of both directions, if an LSTM has read the sentence.
    """
    real = is_real[..., None]  # (B, T, 1)
    match pooling:
        case "mean":
            return (context * real).sum(dim=1) / real.sum(dim=1)
        case "max":
            return context.masked_fill(~real, -torch.inf).amax(dim=1)
        case "last":
            if ends is not None and weights is None:
                return ends
            return context[torch.arange(len(context)), is_real.sum(dim=-1) - 1]
        case "attended":
            assert weights is not None
            return (context * attended(weights, is_real)[..., None]).sum(dim=1)


def attended(weights: Tensor, is_real: Tensor) -> Tensor:
    """(B, T): the mean over heads and real queries of weights (B, H, T, T); sums to 1."""
    of_real = weights * is_real[:, None, :, None]
    return of_real.sum(dim=2).mean(dim=1) / is_real.sum(dim=-1, keepdim=True)


def contributions(model: TextClassifier, reading: Reading) -> Tensor:
    """(B, T): what each token adds to the logit of a bag of words; with the bias they sum to it.

    Exact, as pooling takes each feature from tokens that know nothing of each other: from all
    alike ("mean"), from one ("max", "last"). No other kind of model can be taken apart so, since
    what it pools holds of each token something of the others.

    Raises:
        ChoiceError: The model is no bag of words.
    """
    a = model.architecture
    if a.kind != "bag":
        raise ChoiceError("kind", a.kind, ("bag",))
    each, real = reading.context * model.head.weight[0], reading.is_real  # (B, T, E)
    match a.pooling:
        case "mean":
            return each.sum(dim=-1) / real.sum(dim=-1, keepdim=True)
        case "max":
            masked = reading.context.masked_fill(~real[..., None], -torch.inf)
            first = torch.zeros_like(each).scatter(1, masked.argmax(dim=1, keepdim=True), 1.0)
            return (each * first).sum(dim=-1)
        case _:
            last = real.sum(dim=-1, keepdim=True) - 1
            return torch.zeros_like(each[..., 0]).scatter(1, last, each.sum(-1).gather(1, last))


def probability(logit: npt.ArrayLike) -> FloatArray:
    """1 / (1 + e^-z), the probability of "positive" for logits (...), exact where it is small."""
    likely: FloatArray = np.exp(-np.logaddexp(0.0, -np.asarray(logit, dtype=np.float64)))
    return likely


# --- parameters as plain tensors, and sentences as batches

State: TypeAlias = Mapping[str, Tensor]


def state_of(model: TextClassifier) -> State:
    """A copy of all parameters by their names."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def shapes(architecture: Architecture, n_words: int) -> dict[str, tuple[int, ...]]:
    """The shape of each parameter of such a model, without making one."""
    layers = _Layers(architecture, n_words)
    return {name: tuple(value.shape) for name, value in layers.state_dict().items()}


def with_state(architecture: Architecture, state: State) -> TextClassifier:
    """The model with these parameters, ready to read."""
    model = TextClassifier(architecture, len(state["embedding.weight"]))
    model.load_state_dict(dict(state))
    return model.eval()


def batch(sentences: Sequence[Sequence[int]]) -> Tensor:
    """(B, T): sentences of several lengths below each other, filled up with padding.

    Raises:
        RangeError: A sentence is empty.
    """
    check_counts(1, n_tokens=min(map(len, sentences), default=0))
    longest = max(map(len, sentences))
    return torch.tensor([[*ids, *[PADDING] * (longest - len(ids))] for ids in sentences])
