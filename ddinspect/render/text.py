"""A report as AMD's `onnx_report.txt`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ddinspect.analysis.cost import total
from ddinspect.analysis.figures import percent
from ddinspect.analysis.values import DDNode, LeftNode, LeftRow, OffloadedRow
from ddinspect.artifacts.report_text import ReportText, TextRow, write_report_text
from ddinspect.errors import UsageError
from ddinspect.report import Report

_Node: TypeAlias = LeftNode | DDNode


def render_text(report: Report, width: int = 79, by_name: bool = False) -> str:
    """The report in the layout of `onnx_utils report dd_offload`.

    As in AMD's report, nodes of the main graph count and those in sub-graphs and local functions do not. Calls of local
    functions have no row, for a report has none of them; AMD counts each as a node. The sums are those of the rows.
    Kinds of left-over nodes, which AMD's tables do not know, are merged. A report of a bare text is given back as it
    is.

    Args:
        report: What to print.
        width: Columns of text.
        by_name: One row per node with its name, where AMD's `--summarize` is not given; otherwise one row per type and
            signature.

    Raises:
        UsageError: `by_name` of a report that was made from a bare text file and knows no names.
    """
    if report.source.kind != "text":
        text = _of_graph(report, by_name)
    elif by_name:
        raise UsageError(f"{report.source.path}: the names of its nodes are not known; leave out the listing by name")
    else:
        text = _of_text(report)
    return write_report_text(text, width)


def _of_graph(report: Report, by_name: bool) -> ReportText:
    left = [node for node in report.nodes if not node.scope]
    dd_nodes = [node for node in (report.fusion.dd_nodes if report.fusion else ()) if not node.scope]
    fused = total([node.fused_ops for node in dd_nodes])
    rows = _rows_by_name if by_name else _rows
    return ReportText(
        by_name=by_name,
        not_offloaded=rows(left),
        offloaded=rows(dd_nodes),
        not_offloaded_sum=len(left),
        offloaded_sum=len(dd_nodes),
        op_types=_op_types({op_type for node in dd_nodes for op_type in node.by_type}, fused),
        fused_ops=fused,
        ratio=None if fused is None or fused + len(left) == 0 else percent(fused, len(left)),
    )


def _of_text(report: Report) -> ReportText:
    summary = report.summary
    types = report.fusion.types if report.fusion else None
    return ReportText(
        not_offloaded=_merged((row, row.count) for row in report.not_offloaded),
        offloaded=_merged((row, row.count) for row in report.offloaded),
        not_offloaded_sum=summary.not_offloaded,
        offloaded_sum=summary.dd_nodes,
        op_types=_op_types(types or (), summary.fused_ops),
        fused_ops=summary.fused_ops,
        ratio=summary.dd_ratio,
    )


def _rows(nodes: Iterable[_Node]) -> tuple[TextRow, ...]:
    return _merged((node, 1) for node in nodes)


def _merged(counted: Iterable[tuple[_Node | LeftRow | OffloadedRow, int]]) -> tuple[TextRow, ...]:
    counts: dict[tuple[str, tuple[str, ...], tuple[str, ...]], int] = {}
    for row, count in counted:
        key = (row.op_type, row.inputs, row.outputs)
        counts[key] = counts.get(key, 0) + count
    return _in_order(
        TextRow(op_type=op_type, count=count, inputs=inputs, outputs=outputs)
        for (op_type, inputs, outputs), count in counts.items()
    )


def _rows_by_name(nodes: Iterable[_Node]) -> tuple[TextRow, ...]:
    return _in_order(
        TextRow(op_type=node.op_type, count=1, name=node.node, inputs=node.inputs, outputs=node.outputs)
        for node in nodes
    )


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


def _op_types(types: Iterable[str], fused: int | None) -> tuple[str, ...] | None:
    """Types of the fused ops; None if there are some and nothing says of which type."""
    found = tuple(sorted(types))
    return found if found or fused == 0 else None
