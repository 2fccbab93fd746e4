"""Imports point one way: attention_core, then playground, then pages, then app.py.

The imports are read from the source, so a forbidden one is found in a branch that no test runs.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

SCREEN = ("streamlit", "plotly", "pandas", "playground", "pages", "app")
# These parts of the playground also work without a running app.
WITHOUT_STREAMLIT = (
    *("catalog.py", "texts.py", "narrate.py", "figures.py", "formula.py", "link.py", "sentence.py"),
    *("admission.py", "charts.py", "exhibit.py", "invitation.py", "pipeline.py", "lessons"),
    *("handout.py", "mathml.py", "modules.py"),
)


class Import(NamedTuple):
    name: str  # dotted and absolute
    is_late: bool  # inside a function, so it waits until that is called


def imports(source, package=""):
    """Every import of a source text that lies in this package, in the order of the text."""
    found = []

    def visit(node, is_late):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return  # nothing is imported, it is for the type checker alone
        if isinstance(node, ast.Import):
            found.extend(Import(alias.name, is_late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            found.append(Import(base, is_late))
            found.extend(Import(f"{base}.{alias.name}", is_late) for alias in node.names)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            found.extend(
                Import(argument.value, is_late)
                for argument in node.args[:1]
                if isinstance(argument, ast.Constant)
            )
        waits = is_late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, waits)

    visit(ast.parse(source), is_late=False)
    return found


def _called(call):
    return getattr(call.func, "attr", getattr(call.func, "id", None))


def files(*places):
    """The source files under these places, from the root; places that do not exist have none."""
    paths = [ROOT / place for place in places]
    found = [path for path in paths if path.is_file()]
    return found + sorted(file for path in paths for file in path.rglob("*.py"))


def offenders(paths, forbidden, *, late_is_fine=False):
    """ "file: import" for every import of a forbidden package or of something in it."""
    found = []
    for path in paths:
        package = ".".join(path.relative_to(ROOT).parent.parts)
        for name, is_late in imports(path.read_text(encoding="utf-8"), package):
            inside = any(f"{name}.".startswith(f"{root}.") for root in forbidden)
            if inside and not (late_is_fine and is_late):
                found.append(f"{path.relative_to(ROOT)}: {name}")
    return found


def outside_neural():
    neural = ROOT / "attention_core" / "neural"
    app = files("attention_core", "playground", "pages", "app.py")
    return [path for path in app if neural not in path.parents]


# --- the reader


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch", [("torch", False)]),
        ("import numpy as np, torch.nn", [("numpy", False), ("torch.nn", False)]),
        ("from torch import nn", [("torch", False), ("torch.nn", False)]),
        ("from . import neural", [("a.b", False), ("a.b.neural", False)]),
        ("from .. import c", [("a", False), ("a.c", False)]),
        ("from ..c.d import e", [("a.c.d", False), ("a.c.d.e", False)]),
        ("if x:\n    import torch", [("torch", False)]),
        ("class A:\n    import torch", [("torch", False)]),
        ("try:\n    pass\nexcept E:\n    import torch", [("torch", False)]),
        ("def f():\n    if x:\n        import torch", [("torch", True)]),
        ("async def f():\n    import torch", [("torch", True)]),
        (
            "import importlib\nimportlib.import_module('torch')",
            [("importlib", False), ("torch", False)],
        ),
        ("f = lambda: __import__('torch')", [("torch", True)]),
        ("if TYPE_CHECKING:\n    import torch", []),
    ],
)
def test_the_reader_sees_every_form_of_import(source, expected):
    assert imports(source, package="a.b") == expected


def test_an_import_is_an_offence_in_the_package_or_below_it_and_nowhere_else(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    source = "import torch.nn\nimport torchvision\ndef f():\n    import torch\n"
    (tmp_path / "one.py").write_text(source)

    paths = files("one.py", "absent", "absent.py")

    assert offenders(paths, ["torch"]) == ["one.py: torch.nn", "one.py: torch"]
    assert offenders(paths, ["torch"], late_is_fine=True) == ["one.py: torch.nn"]


# --- the rules


def test_the_core_knows_no_screen():
    core = files("attention_core")

    assert len(core) > 10
    assert offenders(core, SCREEN) == []


def test_only_neural_imports_torch():
    assert offenders(outside_neural(), ["torch"]) == []


def test_neural_waits_until_it_is_called():
    assert offenders(outside_neural(), ["attention_core.neural"], late_is_fine=True) == []


def test_the_playground_knows_no_page():
    assert offenders(files("playground"), ["pages", "app"]) == []


def test_what_needs_no_app_imports_no_streamlit():
    paths = files(*(f"playground/{name}" for name in WITHOUT_STREAMLIT))

    assert offenders(paths, ["streamlit"]) == []


def test_pages_neither_compute_nor_draw():
    assert offenders(files("pages", "playground/steps"), ["numpy", "plotly"]) == []


def test_a_fresh_process_computes_without_torch_and_screen():
    script = (
        "import sys\n"
        "from attention_core import Experiment\n"
        "Experiment.from_preset().trace()\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )

    printed = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(printed.stdout.split())
    assert {"attention_core", "numpy"} <= loaded
    assert loaded & {"torch", *SCREEN} == set()
