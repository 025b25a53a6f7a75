r"""CSV for a spreadsheet or a script: RFC 4180, lines end in CR LF (write it without newline translation).

A cell that a spreadsheet would run as a formula gets an apostrophe before it: text that starts with `=`, `+`, `-`, `@`
or with a tab or line break before one of these. Numbers are written as they are, lists with `; ` between the items,
what is not known as an empty cell.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ddinspect.printable import printable
from ddinspect.report import PackageReport, Report, Reports

if TYPE_CHECKING:
    from ddinspect.report import Document

Table: TypeAlias = Literal["nodes", "todo"]
_Cell: TypeAlias = str | int | float | None
_Rows: TypeAlias = Iterator[tuple[_Cell, ...]]

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def render_csv(document: Document, table: Table = "nodes") -> str:
    """One table of a report as CSV.

    The column `component` comes first for a package, `path` before it for a list of reports.

    Args:
        document: What to print.
        table: `nodes` left on the CPU one by one (a text report names none), or the kernel writer's `todo` list.
    """
    header, rows = _TABLES[table]
    lead, reports = _reports(document)
    out = StringIO()
    writer = csv.writer(out)
    writer.writerow((*lead, *header))
    for keys, report in reports:
        writer.writerows([_safe(cell) for cell in (*keys, *row)] for row in rows(report))
    return out.getvalue()


def _reports(document: Document) -> tuple[tuple[str, ...], list[tuple[tuple[str, ...], Report]]]:
    """Names of the leading columns, and their cells with each report."""
    match document:
        case Report():
            return (), [((), document)]
        case PackageReport():
            return ("component",), [((printable(key),), report) for key, report in document.components.items()]
        case Reports():
            return ("path", "component"), [
                ((printable(report.source.path), keys[0] if keys else ""), report)
                for each in document.reports
                for keys, report in _reports(each)[1]
            ]


def _nodes(report: Report) -> _Rows:
    for node in report.nodes:
        yield (
            printable(node.node), printable(node.op_type), printable(node.domain), node.kind, printable(node.scope),
            node.times, _list(node.inputs), _list(node.outputs), _list(node.before), _list(node.after), node.macs,
        )  # fmt: skip


def _todo(report: Report) -> _Rows:
    for todo in report.todo:
        yield (
            printable(todo.op_type), _list(todo.inputs), _list(todo.outputs), todo.count, todo.macs, _list(todo.nodes),
        )  # fmt: skip


_TABLES: Final[dict[Table, tuple[tuple[str, ...], Callable[[Report], _Rows]]]] = {
    "nodes": (
        ("node", "op_type", "domain", "kind", "scope", "times", "inputs", "outputs", "before", "after", "macs"),
        _nodes,
    ),
    "todo": (("op_type", "inputs", "outputs", "count", "macs", "nodes"), _todo),
}


def _list(texts: Iterable[str]) -> str:
    return "; ".join(printable(text) for text in texts)


def _safe(cell: _Cell) -> _Cell:
    return "'" + cell if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
