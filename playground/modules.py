"""The ES modules that a script needs, found by what it imports: nothing bundles them."""

import re
from pathlib import Path

_IMPORT = re.compile(r'^(?:import|export)\b[^;]*?\bfrom "\./([^"]+)";', re.MULTILINE)
_LATE_IMPORT = re.compile(r'\bawait import\("\./([^"]+)"\)')


def with_imports(folder: Path, script: str, *, with_late: bool = False) -> list[str]:
    """A script and all that it needs before it can run, each once.

    Args:
        folder: Where all of them are.
        script: Its file name.
        with_late: Whether those go along that are imported only when they are used.
    """
    found = [script]
    for name in found:  # grows meanwhile
        text = (folder / name).read_text(encoding="utf-8")
        late = _LATE_IMPORT.findall(text) if with_late else []
        for other in [*_IMPORT.findall(text), *late]:
            if other not in found:
                found.append(other)
    return found
