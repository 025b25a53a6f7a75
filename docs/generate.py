"""Write what the documentation takes from the code: JSON Schemas, and the output shown in the README.

    python docs/generate.py

A test fails when a generated part is out of date.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ddinspect.report import PackageReport, Report, Reports

ROOT = Path(__file__).parent.parent
SCHEMAS = {"report": Report, "package": PackageReport, "reports": Reports}
SHOWN = re.compile(r"<!-- output: (?P<command>.+?) -->\n.*?<!-- /output -->", re.DOTALL)


def schema_text(document: type[msgspec.Struct]) -> str:
    """The JSON Schema of one kind of document."""
    return json.dumps(msgspec.json.schema(document), indent=2) + "\n"


def with_output(text: str) -> str:
    """A page with the output of every command in it as it is now."""
    return SHOWN.sub(lambda shown: _shown(shown["command"]), text)


def _shown(command: str) -> str:
    program, *arguments = shlex.split(command)
    done = subprocess.run(  # noqa: S603 (the command stands in our own page)
        [sys.executable, "-m", program, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    return f"<!-- output: {command} -->\n```console\n$ {command}\n{done.stdout}```\n<!-- /output -->"


def generated() -> Iterator[tuple[Path, str]]:
    """Every generated file and what belongs into it."""
    for name, document in SCHEMAS.items():
        yield ROOT / "docs" / "schemas" / f"{name}.json", schema_text(document)
    readme = ROOT / "README.md"
    yield readme, with_output(readme.read_text(encoding="utf-8"))


if __name__ == "__main__":
    for path, text in generated():
        path.write_text(text, encoding="utf-8", newline="\n")
