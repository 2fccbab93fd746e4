"""What it costs the core to keep every step: `python -m benchmarks.core`.

Ours beside PyTorch's `F.scaled_dot_product_attention`, which keeps none, in float64 on one thread.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F

from attention_core import scaled_dot_product_attention
from benchmarks import bench
from benchmarks.bench import N, Row
from playground.lessons import scaling

SHAPE = (8, 512, 64)  # heads, tokens, width


def measure() -> Iterator[Row]:
    torch.set_num_threads(1)
    Q, K, V = np.random.default_rng(0).normal(size=(3, *SHAPE))
    tensors = [torch.from_numpy(array) for array in (Q, K, V)]

    def ours() -> np.ndarray:
        return scaled_dot_product_attention(Q, K, V).output

    def theirs() -> np.ndarray:
        return F.scaled_dot_product_attention(*tensors).numpy()

    np.testing.assert_allclose(ours(), theirs(), atol=1e-12)
    pairs = [(milliseconds(theirs), milliseconds(ours)) for _ in range(N)]
    what = "attention in the core, 8 heads × 512 × 64 (floor: PyTorch)"
    yield bench.against_floor(what, *zip(*pairs, strict=True))
    yield sampling()


def sampling() -> Row:
    """What the lesson on scaling draws at first: one sample for each d_k, nothing kept."""
    times = [milliseconds(lambda: [scaling.drawn(d_k, 2048, 0) for d_k in scaling.WIDTHS])]
    times += [milliseconds(lambda: [scaling.drawn(d_k, 2048, 0) for d_k in scaling.WIDTHS])]
    what = "sampling of the lesson on scaling, at its defaults, cold"
    text = f"{max(times):,.0f} ms (slower of two)"
    return Row(what, "–", text, "–", "≤ 1,000 ms", max(times) <= 1000)


def milliseconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    bench.printed(measure())


if __name__ == "__main__":
    main()
