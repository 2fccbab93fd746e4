"""What the documents name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
TARGET = re.compile(r"\]\(([^)\s]+)\)")


def anchors(document: Path) -> set[str]:
    """The headings of a document, as GitHub names them in an address."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_picture_and_every_link_leads_to_a_file_and_a_heading(document: Path):
    for target in TARGET.findall(document.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        name, _, heading = target.partition("#")
        led_to = (document.parent / name).resolve() if name else document

        assert led_to.exists(), target
        assert not heading or heading in anchors(led_to), target


def test_every_picture_is_shown_somewhere():
    texts = "".join(each.read_text(encoding="utf-8") for each in DOCUMENTS)

    unused = [each.name for each in (ROOT / "docs/images").iterdir() if each.name not in texts]

    assert unused == []
