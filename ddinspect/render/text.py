"""A report as AMD's `onnx_report.txt`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ddinspect.analysis.values import LeftRow, OffloadedRow
from ddinspect.artifacts.report_text import ReportText, TextRow, write_report_text
from ddinspect.errors import UsageError
from ddinspect.report import Report

# A function in a function in a function ...: a few nodes may stand for more rows than fit in memory.
_MOST_ROWS: Final = 1_000_000


def render_text(report: Report, width: int = 79, by_name: bool = False) -> str:
    """The report in the layout of `onnx_utils report dd_offload`.

    Kinds of left-over nodes, which AMD's tables do not know, are merged. Sums and ratio are those of the report, which
    counts every scope, so they can differ from AMD's for a model with sub-graphs or functions.

    Args:
        report: What to print.
        width: Columns of text.
        by_name: One row per node with its name, where AMD's `--summarize` is not given; otherwise one row per type and
            signature.

    Raises:
        UsageError: `by_name` of a report that knows no names, such as one made from a bare text file.
    """
    summary = report.summary
    left, offloaded = _rows_by_name(report) if by_name else (_rows(report.not_offloaded), _rows(report.offloaded))
    return write_report_text(
        ReportText(
            by_name=by_name,
            not_offloaded=left,
            offloaded=offloaded,
            not_offloaded_sum=summary.not_offloaded,
            offloaded_sum=summary.dd_nodes,
            op_types=_op_types(report),
            fused_ops=summary.fused_ops,
            ratio=summary.dd_ratio,
        ),
        width,
    )


def _rows(rows: Iterable[LeftRow | OffloadedRow]) -> tuple[TextRow, ...]:
    counts: dict[tuple[str, tuple[str, ...], tuple[str, ...]], int] = {}
    for row in rows:
        key = (row.op_type, row.inputs, row.outputs)
        counts[key] = counts.get(key, 0) + row.count
    return _in_order(
        TextRow(op_type=op_type, count=count, inputs=inputs, outputs=outputs)
        for (op_type, inputs, outputs), count in counts.items()
    )


def _rows_by_name(report: Report) -> tuple[tuple[TextRow, ...], tuple[TextRow, ...]]:
    dd_nodes = report.fusion.dd_nodes if report.fusion else ()
    if report.summary.not_offloaded + report.summary.dd_nodes > _MOST_ROWS:
        raise UsageError(f"{report.source.path}: has too many nodes to list by name; leave out the listing by name")
    # A node in a function body stands once per call, so that the rows add up to the sum.
    left, offloaded = (
        _in_order(
            TextRow(op_type=node.op_type, count=1, name=node.node, inputs=node.inputs, outputs=node.outputs)
            for node in nodes
            for _ in range(node.times)
        )
        for nodes in (report.nodes, dd_nodes)
    )
    if len(left) != report.summary.not_offloaded or len(offloaded) != report.summary.dd_nodes:
        raise UsageError(f"{report.source.path}: the names of its nodes are not known; leave out the listing by name")
    return left, offloaded


def _in_order(rows: Iterable[TextRow]) -> tuple[TextRow, ...]:
    """AMD's order: op types by code point, then inputs and outputs by first appearance, then names."""
    rows = list(rows)
    first: dict[object, int] = {}
    for index, row in enumerate(rows):
        first.setdefault((row.op_type, row.inputs), index)
        first.setdefault((row.op_type, row.inputs, row.outputs), index)

    def place(row: TextRow) -> tuple[str, int, int, str]:
        group = (row.op_type, row.inputs)
        return row.op_type, first[group], first[(*group, row.outputs)], row.name or ""

    return tuple(sorted(rows, key=place))


def _op_types(report: Report) -> tuple[str, ...] | None:
    """Types of the fused ops; None if there are some and nothing says of which type."""
    if report.summary.fused_ops == 0:
        return ()
    return report.fusion.types if report.fusion else None
