"""The lessons: which file, which icon, in which section of the menu, in which order.

Titles and summaries are texts: `lesson.<id>.title` and `lesson.<id>.summary`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lesson:
    """One page."""

    id: str  # also its path in the address bar; the first lesson has none
    file: str
    icon: str
    section: str


LESSONS = (
    Lesson("playground", "pages/playground.py", ":material/grid_on:", "touch"),
    Lesson("guide", "pages/guide.py", ":material/menu_book:", "touch"),
)
