"""What a link asks for beside the experiment: a layout, which controls are there, a note.

A teacher chooses them, and who opens the link finds exactly that. They stand in the address as
they are, so that one can read and change them there: `view`, `c` (controls) and `n` (note).
Anyone can write a link: what is unknown is left out, and a note is cut and holds no controls.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

View: TypeAlias = Literal["", "projector"]
VIEWS: tuple[View, ...] = ("", "projector")
CONTROLS = (
    "preset",
    "sentence",
    "d_model",
    "d_k",
    "n_heads",
    "mask",
    "is_scaled",
    "encoding",
    "has_W_O",
    "seed",
    "take_away",
)
MOST_NOTE = 200  # characters

_NONE, _BETWEEN = "-", "."
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn")  # Unicode's controls, formats, and what is no character


@dataclass(frozen=True, slots=True)
class Invitation:
    """What a link asks for; by itself, nothing but the app as it is."""

    view: View = ""
    controls: tuple[str, ...] | None = None  # those beside the page that are shown; None for all
    note: str = ""

    def query(self) -> dict[str, str]:
        """Its part of an address; "" for what is as ever."""
        listed = "" if self.controls is None else _BETWEEN.join(self.controls) or _NONE
        return {"view": self.view, "c": listed, "n": self.note}


def read(query: Mapping[str, str]) -> Invitation:
    """The invitation of an address, whatever stands there."""
    wanted = query.get("view", "")
    listed = query.get("c", "")[: len(_BETWEEN.join(CONTROLS)) * 2].split(_BETWEEN)
    return Invitation(
        next((view for view in VIEWS if view == wanted), ""),
        tuple(name for name in CONTROLS if name in listed) if listed != [""] else None,
        noted(query.get("n", "")),
    )


def noted(text: str) -> str:
    """A note on one line, of at most so many characters, all of which are seen."""
    start = text[: 4 * MOST_NOTE]
    seen = (each for each in start if each.isspace() or unicodedata.category(each) not in _UNSEEN)
    return " ".join("".join(seen).split())[:MOST_NOTE].strip()
