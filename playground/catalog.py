"""The lessons: which file, which icon, in which section of the menu, in which order.

Titles and summaries are texts: `lesson.<id>.title` and `lesson.<id>.summary`. Each step of a lesson
has three more: `<id>.<step>.title`, what to do (`.ask`) and what to try at the end (`.next`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lesson:
    """One page."""

    id: str  # also its path in the address bar; the first lesson has none
    file: str
    icon: str
    section: str
    steps: tuple[str, ...] = ()  # what a lesson is made of, in order
    is_on_experiment: bool = True  # whether it works on the experiment, whose inputs stand beside


LESSONS = (
    Lesson("playground", "pages/playground.py", ":material/grid_on:", "touch"),
    Lesson("guide", "pages/guide.py", ":material/menu_book:", "touch"),
    Lesson(
        "multi_head",
        "pages/multi_head.py",
        ":material/call_split:",
        "lessons",
        ("heads", "fused", "shapes", "view", "grouped"),
    ),
    Lesson(
        "masks",
        "pages/masks.py",
        ":material/filter_alt:",
        "lessons",
        ("patterns", "spellings", "polarity", "leaks", "cross", "cache", "cost"),
    ),
    Lesson(
        "scaling",
        "pages/scaling.py",
        ":material/compress:",
        "lessons",
        ("sampling", "factor", "stability", "axis", "shift"),
    ),
    Lesson(
        "permutation",
        "pages/permutation.py",
        ":material/swap_vert:",
        "lessons",
        ("order", "encodings", "search"),
    ),
    Lesson(
        "pytorch",
        "pages/pytorch.py",
        ":material/code:",
        "lessons",
        ("parity", "conventions", "batch", "gradients", "fit", "code"),
    ),
    Lesson(
        "why_attention",
        "pages/why_attention.py",
        ":material/hub:",
        "lessons",
        ("relay", "influence", "pace", "words"),
    ),
    Lesson(
        "sentiment",
        "pages/sentiment.py",
        ":material/sentiment_satisfied:",
        "lessons",
        ("texts", "train", "look", "errors", "examine", "warmup", "weights"),
        is_on_experiment=False,
    ),
)


def lesson(id: str) -> Lesson:
    """The lesson of this id."""
    return next(each for each in LESSONS if each.id == id)
