"""What a lesson lays on the board, and what it says of it: data, so that tests can read it.

A lesson's module (playground/lessons/) makes these from what the core computed; the page only
draws them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from playground.pipeline import Matrix


@dataclass(frozen=True, eq=False, slots=True)
class Exhibit:
    """Matrices in the order they are computed."""

    of: str | None  # what it shows: boards of the same are compared; None is with nothing
    stages: Mapping[str, str]  # {id: title in the reader's language}, in order
    matrices: Sequence[Matrix]
    axes: Mapping[str, Sequence[str]]  # what stands along them; "tokens" are the experiment's
    # For axes along which the tokens stand in another order: which token is at each place.
    places: Mapping[str, Sequence[int]] = field(default_factory=dict)
