"""Markdown for a pull request comment or a step summary on GitHub.

Figures, compute left, islands and findings are in plain sight, the rest is folded away.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from ddinspect.printable import printable
from ddinspect.render.left_sections import todo_section
from ddinspect.render.section import Section, View
from ddinspect.render.sections import overview_section, report_sections
from ddinspect.render.summary_line import summary_line, summary_lines
from ddinspect.report import PackageReport, Report, Reports
from ddinspect.rules.wording import more

if TYPE_CHECKING:
    from ddinspect.report import Document

# What has a meaning in GitHub's Markdown. `&` and `<` have no form with a back-slash that HTML would respect.
_PUNCTUATION: Final = re.compile(r"[\\`*_\[\]|~!$]")
# GitHub links @people, #issues and addresses and replaces :emoji: wherever they stand; an empty comment keeps it from
# it and is not seen.
_LINKED: Final = re.compile(r"(?<=[@#])(?=\w)|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=:)(?=[\w+-]+:)", re.IGNORECASE)
_NOTHING: Final = "<!-- -->"


def render_markdown(document: Document, limit: int | None = 20) -> str:
    """A report, package or list of reports as GitHub-flavoured Markdown.

    Args:
        document: What to print.
        limit: Rows per table at most, as comments hold 65,536 characters; None for all rows and all node names.
    """
    view = View(limit=limit, names=None if limit is None else View().names)
    return "\n\n".join(_document(document, view)) + "\n"


def render_todo_markdown(document: Document, limit: int | None = 20) -> str:
    """The kernel writer's list alone: compute left on the CPU by type and signature. Arguments as above."""
    view = View(limit=limit, names=None if limit is None else View().names)
    return "\n\n".join(_todo(document, view)) + "\n"


def escaped(text: str) -> str:
    """Printable text so that GitHub shows it letter by letter, in a table cell too."""
    text = _LINKED.sub("\0", text).replace("&", "&amp;").replace("<", "&lt;")
    return _PUNCTUATION.sub(r"\\\g<0>", text).replace("\0", _NOTHING)


def _document(document: Document, view: View) -> Iterator[str]:
    match document:
        case Report():
            yield f"## ddinspect: {escaped(printable(document.source.path))}"
            yield from _sections(report_sections(document, view), view)
            yield _code([summary_line(document)])
        case PackageReport():
            yield "## ddinspect: package"
            yield from _sections([overview_section(document)], view)
            for component, report in document.components.items():
                yield f"## {escaped(printable(component))}"
                yield from _sections(report_sections(report, view), view)
            yield _code(summary_lines(document))
        case Reports():
            for each in document.reports:
                yield from _document(each, view)


def _todo(document: Document, view: View) -> Iterator[str]:
    match document:
        case Report():
            yield _open(todo_section(document, view), view)
        case PackageReport():
            for component, report in document.components.items():
                yield f"## {escaped(printable(component))}"
                yield _open(todo_section(report, view), view)
        case Reports():
            for each in document.reports:
                yield from _todo(each, view)


def _sections(sections: Iterable[Section], view: View) -> Iterator[str]:
    """Important sections in their order, then the others, each to unfold."""
    sections = list(sections)
    for section in sections:
        if section.important:
            yield _table(section, view) if section.key == "source" else _open(section, view)
    for section in sections:
        if not section.important:
            title = html.escape(section.title, quote=False)  # inside <summary> Markdown is not read
            yield f"<details><summary>{title}</summary>\n\n{_content(section, view)}\n\n</details>"


def _open(section: Section, view: View) -> str:
    return f"### {escaped(section.title)}\n\n{_content(section, view)}"


def _content(section: Section, view: View) -> str:
    parts = [escaped(section.meaning)] if section.meaning else []
    if section.rows:
        parts.append(_table(section, view))
    return "\n\n".join(parts)


def _table(section: Section, view: View) -> str:
    from tabulate import tabulate

    rows, hidden = section.shown(view.limit)
    table = tabulate(
        [[_cell(cell) for cell in row] for row in rows],
        headers=[column.title for column in section.columns],
        tablefmt="github",
        colalign=["right" if column.number else "left" for column in section.columns],
        disable_numparse=True,
    )
    return table + (f"\n\n... {more(hidden)}" if hidden else "")


def _cell(cell: str) -> str:
    return "<br>".join(escaped(line) for line in cell.split("\n"))


def _code(lines: Iterable[str]) -> str:
    """A code block, fenced with more back-ticks than its content has in a row."""
    text = "\n".join(lines)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
