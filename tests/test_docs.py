"""The documentation says what the code does."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import click
import pytest

from ddinspect.analysis.values import FIGURES
from ddinspect.cli.main import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def generate() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "generate.py"))


def test_generated_parts_are_up_to_date(generate: dict[str, Any]) -> None:
    for path, text in generate["generated"]():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run `python docs/generate.py`"


def test_output_that_changed_is_noticed(generate: dict[str, Any]) -> None:
    page = (
        "<!-- output: ddinspect --version -->\n```console\n$ ddinspect --version\nddinspect 0.0\n```\n<!-- /output -->"
    )
    assert generate["with_output"](page) != page


def test_readme_opens_with_the_two_commands() -> None:
    commands = re.findall(r"```console\n(.+?)\n```", README, re.DOTALL)
    assert commands[:2] == [
        "python -m pip install . && ddinspect report fixtures/sd15-vae-decoder",
        "python -m pip install '.[test]' && python -m pytest",
    ]


def test_readme_python_runs_and_gives_what_it_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = re.findall(r"```python\n(.+?)```", README, re.DOTALL)
    monkeypatch.chdir(ROOT)
    exec(compile(block, "README.md", "exec"), {})
    said = re.findall(r"print\(.+?\)  # (.+)", block)
    assert len(said) == 2
    assert capsys.readouterr().out.splitlines()[: len(said)] == said


def test_readme_lists_every_option_of_report() -> None:
    listed = set(re.findall(r"^\| `(.+)` +\|", README, re.MULTILINE))
    in_table = {option for row in listed for option in re.findall(r"--[a-z-]+", row)}
    report = cli.commands["report"]
    options = {name for option in report.params if isinstance(option, click.Option) for name in option.opts}
    assert in_table - {"--debug"} == {name for name in options if name.startswith("--")}


def test_every_figure_is_defined() -> None:
    page = (ROOT / "docs" / "definitions.md").read_text(encoding="utf-8")
    assert [name for name in FIGURES if name not in page and name != "not_offloaded_by_kind"] == []


def test_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "fixtures" / "README.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
