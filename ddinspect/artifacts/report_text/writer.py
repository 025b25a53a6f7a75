"""Write a report text in AMD's layout."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from ddinspect.artifacts.report_text.values import (
    COLUMNS,
    COLUMNS_BY_NAME,
    COMPARISON,
    FUSED_SUM,
    NOT_OFFLOADED_SUM,
    OFFLOADED_SUM,
    OP_TYPES,
    RATIO,
    TITLES,
    UNKNOWN,
    ComparisonSums,
    ReportText,
    TextRow,
)
from ddinspect.printable import printable

if TYPE_CHECKING:
    from rich.table import Table


def write_report_text(report: ReportText, width: int = 79) -> str:
    """The two tables as `onnx_utils report dd_offload` prints them.

    The layout is AMD's to the byte: at 79 columns, the width of the published files, it is the file AMD ships, but for
    the op types of the fused ops, which stand sorted here. Model strings are shown as they are, not read as markup,
    with control characters escaped. An unknown figure prints `n/a`.

    Args:
        report: What to print.
        width: Columns of text. As in AMD's files, long cells are wrapped at blanks and longer words cut with `…`.
    """
    from rich.console import Console

    compared = report.comparison or ComparisonSums()
    left = _table(TITLES[0], report.not_offloaded, report.by_name)
    _add_footer(left, NOT_OFFLOADED_SUM, report.not_offloaded_sum, compared.not_offloaded_sum)
    offloaded = _table(TITLES[1], report.offloaded, report.by_name)
    _add_footer(offloaded, OFFLOADED_SUM, report.offloaded_sum, compared.offloaded_sum)
    offloaded.add_section()
    _add_footer(offloaded, OP_TYPES, report.op_types, compared.op_types)
    offloaded.add_section()
    _add_footer(offloaded, FUSED_SUM, report.fused_ops, compared.fused_ops)
    _add_footer(offloaded, RATIO, report.ratio, compared.ratio)
    out = io.StringIO()
    # Everything rich would otherwise ask the environment for is said here.
    console = Console(
        file=out,
        width=width,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        legacy_windows=False,
    )
    console.print(left)
    console.print(offloaded)
    return out.getvalue()


def _table(title: str, rows: tuple[TextRow, ...], by_name: bool) -> Table:
    from rich.box import ASCII_DOUBLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(*(COLUMNS_BY_NAME if by_name else COLUMNS), title=title, box=ASCII_DOUBLE_HEAD)
    for row in rows:
        cells = (
            printable(row.op_type),
            printable(row.name or "") if by_name else str(row.count),
            "\n".join(map(printable, row.inputs)),
            "\n".join(map(printable, row.outputs)),
        )
        table.add_row(*map(Text, cells))
    table.add_section()
    return table


def _add_footer(
    table: Table,
    label: str,
    value: int | float | tuple[str, ...] | None,
    compared: int | float | tuple[str, ...] | None,
) -> None:
    from rich.text import Text

    cells = [label, _figure(value)]
    if compared is not None:
        cells += [COMPARISON, _figure(compared)]
    table.add_row(*map(Text, cells))


def _figure(value: int | float | tuple[str, ...] | None) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, tuple):
        return "\n".join(map(printable, sorted(value)))
    return f"{value}%" if isinstance(value, float) else str(value)
