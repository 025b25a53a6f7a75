"""Data flows one way: a room imports only from rooms above it."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "ddinspect"
ROOMS = (
    "version",
    "printable",
    "errors",
    "onnxfile",
    "artifacts",
    "analysis",
    "rules",
    "report",
    "gate",
    "render",
    "cli",
)
LARGEST_MODULE = 320  # lines
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(parts: tuple[str, ...]) -> str:
    return parts[0].removesuffix(".py")


def upward_imports(path: Path, source: str) -> list[str]:
    """Imports in a module that go to a room below its own."""
    own = room(path.relative_to(PACKAGE).parts)
    if own not in ROOMS:
        return []
    found = []
    for node in ast.walk(ast.parse(source)):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            package, *rest = name.split(".")
            target = room(tuple(rest)) if package == "ddinspect" and rest else ""
            if target in ROOMS and ROOMS.index(target) > ROOMS.index(own):
                found.append(name)
    return found


def test_rooms_import_only_from_rooms_above() -> None:
    wrong = {
        str(path): found for path in modules() if (found := upward_imports(path, path.read_text(encoding="utf-8")))
    }
    assert wrong == {}


def test_an_import_from_below_is_noticed() -> None:
    path = PACKAGE / "analysis" / "casts.py"
    assert upward_imports(path, "from ddinspect.render.json import render_json") == ["ddinspect.render.json"]
    assert upward_imports(path, "import ddinspect.cli.main") == ["ddinspect.cli.main"]
    assert upward_imports(path, "from ddinspect.onnxfile.model import Node") == []


def test_modules_are_of_one_idea() -> None:
    long = {path.name: lines for path in modules() if (lines := len(path.read_text().splitlines())) > LARGEST_MODULE}
    assert long == {}
    assert not {path.stem for path in modules()} & FORBIDDEN_NAMES


def test_every_room_is_listed() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= set(ROOMS)
