"""The report for an engineer at a terminal, or for whatever reads its pipe.

What stays on the CPU and costs time comes first. The last line of a report is its summary line. Model strings are
never taken for markup, nothing is said by colour alone, and no line is cut: what does not fit is folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO
from typing import TYPE_CHECKING, Final

from ddinspect.printable import printable
from ddinspect.render.columns import INDENT, table_lines, wrapped
from ddinspect.render.left_sections import todo_section
from ddinspect.render.section import Section, View
from ddinspect.render.sections import overview_section, report_sections
from ddinspect.render.summary_line import summary_lines
from ddinspect.report import PackageReport, Report, Reports
from ddinspect.rules.wording import more

if TYPE_CHECKING:
    from rich.text import Text

    from ddinspect.report import Document

_LOUD: Final = frozenset({"compute", "islands", "nothing_offloaded"})
_NARROWEST: Final = 40


class _Page:
    """What every line of one document is laid out for."""

    def __init__(self, width: int | None, unicode: bool, view: View) -> None:
        self.width = None if width is None else max(width, _NARROWEST)
        self.unicode = unicode
        self.view = view

    def document(self, document: Document) -> Iterator[Text]:
        from rich.text import Text

        match document:
            case Report():
                yield from self.sections(report_sections(document, self.view))
            case PackageReport():
                yield from self.sections([overview_section(document)])
                for component, report in document.components.items():
                    yield from self.component_heading(component)
                    yield from self.sections(report_sections(report, self.view))
            case Reports():
                for index, each in enumerate(document.reports):
                    if index:
                        yield Text()
                    yield from self.document(each)
                return
        yield from map(Text, summary_lines(document))

    def todo(self, document: Document) -> Iterator[Text]:
        match document:
            case Report():
                yield from self.sections([todo_section(document, self.view)])
            case PackageReport():
                for component, report in document.components.items():
                    yield from self.component_heading(component)
                    yield from self.sections([todo_section(report, self.view)])
            case Reports():
                for each in document.reports:
                    yield from self.todo(each)

    def component_heading(self, component: str) -> Iterator[Text]:
        from rich.text import Text

        rule = ("━" if self.unicode else "=") * 4
        yield Text(f"{rule} {printable(component)} {rule}", style="bold")
        yield Text()

    def sections(self, sections: Iterable[Section]) -> Iterator[Text]:
        from rich.text import Text

        for section in sections:
            style = "bold yellow" if section.key in _LOUD else "bold"
            yield from (Text(line, style=style) for line in wrapped(section.title, self.width))
            within = None if self.width is None else self.width - INDENT
            if section.meaning:
                yield from (Text(" " * INDENT + line) for line in wrapped(section.meaning, within))
            rows, hidden = section.shown(self.view.limit)
            if rows:
                yield from table_lines(section.columns, rows, self.width, self.unicode)
            if hidden:
                yield Text(f"{' ' * INDENT}... {more(hidden)} (use --all / --format json)")
            yield Text()


def render_console(
    document: Document,
    *,
    width: int | None,
    color: bool,
    unicode: bool,
    limit: int | None = 20,
    by_name: bool = False,
) -> str:
    """A report, package or list of reports as text.

    Args:
        document: What to print.
        width: Columns of the terminal; None for a pipe: lines are then as wide as their content. Below 40 it is
            laid out for 40.
        color: Whether to write colour escapes.
        unicode: Whether the output can show line-drawing characters. Names are printed as they are either way: the
            sink escapes what its encoding does not have.
        limit: Rows per table at most; None for all rows and all node names.
        by_name: One row per node left on the CPU in place of one per type and signature.
    """
    page = _Page(width, unicode, _view(limit, by_name))
    return _printed(page.document(document), color)


def render_todo_console(
    document: Document, *, width: int | None, color: bool, unicode: bool, limit: int | None = 20
) -> str:
    """The kernel writer's list alone: compute left on the CPU by type and signature. Arguments as above."""
    page = _Page(width, unicode, _view(limit, by_name=False))
    return _printed(page.todo(document), color)


def _view(limit: int | None, by_name: bool) -> View:
    return View(limit=limit, names=None if limit is None else View().names, by_name=by_name)


def _printed(lines: Iterable[Text], color: bool) -> str:
    from rich.console import Console

    # Every setting is given and the environment is empty: what is printed follows from the arguments alone.
    console = Console(
        file=StringIO(),
        width=80,
        height=25,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        highlight=False,
        _environ={},
    )
    with console.capture() as capture:
        for line in lines:
            console.print(line, soft_wrap=True)
    return capture.get()
