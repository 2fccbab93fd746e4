"""Every sentence a reader sees, in English and Simplified Chinese.

Texts live in texts/en.toml and texts/zh.toml, those of a lesson in texts/<language>/<lesson>.toml,
under the same keys in both languages, which a test holds. A text
may contain {fields}; it is never built from pieces in code, since word order differs.
"""

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

Language: TypeAlias = Literal["en", "zh"]
LANGUAGES: dict[Language, str] = {"en": "English", "zh": "中文"}

_FOLDER = Path(__file__).parent / "texts"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&])")


class Texts:
    """The texts of one language: `t("lesson.guide.title")`."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._texts = _flat(language)

    def __call__(self, key: str, **values: object) -> str:
        """The text of this key with its {fields} filled in.

        Raises:
            KeyError: No such key, or a field without a value: a fault of ours.
        """
        text = self._texts[key]
        return text.format_map(values) if values else text

    def group(self, prefix: str) -> dict[str, str]:
        """All texts below a prefix, by the rest of their key."""
        start = prefix + "."
        return {k.removeprefix(start): v for k, v in self._texts.items() if k.startswith(start)}

    def get(self, key: str, default: str) -> str:
        """The text of this key, or the default where there is none."""
        return self._texts.get(key, default)

    def long(self, name: str) -> str:
        """The Markdown file of this name."""
        return (_FOLDER / self.language / f"{name}.md").read_text(encoding="utf-8")


def first_guess(locale: str | None) -> Language:
    """The language for a browser that says it prefers this locale, such as "zh-Hans-CN"."""
    return "zh" if (locale or "").lower().startswith("zh") else "en"


def escaped(text: str) -> str:
    """A learner's text as Markdown that shows it letter by letter."""
    whole = text.encode("utf-8", "replace").decode()  # half a character cannot be sent
    return _MARKDOWN.sub(r"\\\1", whole)


def small(text: str) -> str:
    """A text of ours as smaller Markdown, in full contrast."""
    return f":small[{text}]"


@lru_cache
def _flat(language: Language) -> dict[str, str]:
    flat: dict[str, str] = {}

    def walk(branch: dict[str, Any], prefix: str) -> None:
        for key, value in branch.items():
            if isinstance(value, dict):
                walk(value, f"{prefix}{key}.")
            else:
                flat[prefix + key] = value

    for path in (_FOLDER / f"{language}.toml", *sorted((_FOLDER / language).glob("*.toml"))):
        walk(tomllib.loads(path.read_text(encoding="utf-8")), "")
    return flat
