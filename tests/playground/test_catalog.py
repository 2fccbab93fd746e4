"""The lessons: each has a file, a path, an icon, and all its texts."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from playground.catalog import LESSONS
from playground.texts import LANGUAGES, Texts

ROOT = Path(__file__).parents[2]

every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.id)


def test_every_file_in_pages_is_one_lesson_and_every_lesson_has_a_file():
    files = {f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py")}

    assert sorted(lesson.file for lesson in LESSONS) == sorted(files)


def test_no_two_lessons_share_a_path():
    ids = [lesson.id for lesson in LESSONS]

    assert len(set(ids)) == len(ids)


@every_lesson
def test_a_path_is_ascii_and_the_name_of_the_file(lesson):
    assert re.fullmatch("[a-z][a-z0-9_]*", lesson.id)
    assert Path(lesson.file).stem == lesson.id


@every_lesson
def test_an_icon_is_a_material_icon(lesson):
    assert re.fullmatch(":material/[a-z0-9_]+:", lesson.icon)


@every_lesson
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_lesson_has_title_summary_question_and_section(lesson, language):
    t = Texts(language)

    texts = [t(f"lesson.{lesson.id}.{name}") for name in ("title", "summary", "question")]

    assert texts[-1].endswith(("?", "？"))
    assert all(texts)
    assert t(f"section.{lesson.section}")


def test_lessons_of_one_section_stand_together():
    sections = [lesson.section for lesson in LESSONS]

    changes = sum(a != b for a, b in pairwise(sections))

    assert changes == len(set(sections)) - 1


@every_lesson
def test_a_page_opens_the_frame_before_anything_else(lesson):
    source = (ROOT / lesson.file).read_text(encoding="utf-8")
    statements = [line for line in source.splitlines() if re.match(r"(\w+ = )?(st|shell)\.", line)]

    assert re.match(r"\w+ = shell\.open_page\(", statements[0])
