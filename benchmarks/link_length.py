"""How long the link is for 10 to 1,000 changed numbers: `python -m benchmarks.link_length`.

Numbers of two decimals at random places of the largest experiment, the median of 20 draws; beside
it the same plain data as JSON, deflated and encoded alike.
"""

import base64
import json
import statistics
import zlib

import numpy as np

from attention_core import Experiment, to_plain
from attention_core.canvas import MATRICES
from playground import link

LARGEST = {"n_tokens": 12, "d_model": 8, "d_k": 8, "n_heads": 8}


def changed(n: int, seed: int) -> Experiment:
    """The largest random experiment with n of its numbers changed."""
    rng = np.random.default_rng(seed)
    experiment = Experiment.from_preset("random").resized(**LARGEST).with_output_projection(True)
    arrays = {name: getattr(experiment, name).copy() for name in MATRICES}
    places = [(name, index) for name in MATRICES for index in np.ndindex(arrays[name].shape)]
    for chosen in rng.choice(len(places), n, replace=False):
        name, index = places[chosen]
        arrays[name][index] = round(rng.uniform(-2, 2), 2)
    return Experiment(
        tokens=experiment.tokens, **arrays, seed=experiment.seed, canvas=experiment.canvas
    )


def plain_length(experiment: Experiment) -> int:
    text = json.dumps(to_plain(experiment), separators=(",", ":")).encode()
    return len(base64.urlsafe_b64encode(zlib.compress(text, 9)))


def main() -> None:
    print("| changed numbers | the link | as plain JSON |\n|---|---|---|")
    for n in (10, 50, 200, 500, 1000):
        draws = [changed(n, seed) for seed in range(20)]
        ours = statistics.median(len(link.encode(draw)) for draw in draws)
        plain = statistics.median(plain_length(draw) for draw in draws)
        print(f"| {n:,} | {ours:,.0f} | {plain:,.0f} |")


if __name__ == "__main__":
    main()
