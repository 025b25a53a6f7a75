"""Sections on what stays on the CPU: nodes by kind, and the gaps they tear between DD nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ddinspect.printable import printable
from ddinspect.render.quantities import counted, macs, size, whole
from ddinspect.render.section import Column, Section, View, lines, names, times

if TYPE_CHECKING:
    from ddinspect.analysis.border_values import Gap
    from ddinspect.analysis.values import LeftNode, Todo
    from ddinspect.report import Report

_SIGNATURE: Final = (
    Column("Count", number=True),
    Column("Op type"),
    Column("MACs", number=True),
    Column("Inputs", moves=2),
    Column("Outputs", moves=2),
    Column("Between"),
    Column("Nodes", moves=1),
)


def compute_section(report: Report, view: View) -> Section:
    """Compute left on the CPU, most multiply-accumulates first: what costs the user."""
    by_id = {node.node: node for node in report.nodes}
    rows: list[tuple[str, ...]] = []
    for todo in report.todo:
        nodes = [by_id[name] for name in todo.nodes if name in by_id]
        rows += map(_node_row, nodes) if view.by_name and nodes else [_todo_row(todo, nodes, view)]
    count = report.summary.compute_left
    work = f"{counted(count, 'node')}, {macs(report.summary.compute_left_macs)} MACs"
    return Section(
        key="compute",
        title=f"Compute left on CPU: {work}",
        meaning="These cost time on the CPU. The biggest come first; a kernel for them would move them to the NPU.",
        columns=_SIGNATURE,
        rows=tuple(rows),
        important=True,
    ).used()


def kind_sections(report: Report, view: View) -> list[Section]:
    """Boundary nodes, shape nodes, and nodes of no known kind (a text report has no kinds)."""
    kinds: tuple[tuple[str | None, str, str], ...] = (
        ("boundary", "Boundary nodes left on CPU", "BF16 casts and layout changes."),
        ("shape", "Shape nodes left on CPU", "They depend on no value of an input."),
        (None, "Left on CPU", "What kind they are takes the graph to say; this is a text report."),
    )
    return [_kind_section(report, view, *kind) for kind in kinds]


def _kind_section(report: Report, view: View, kind: str | None, title: str, meaning: str) -> Section:
    groups = [row for row in report.not_offloaded if row.kind == kind]
    count = sum(row.count for row in groups)
    if view.by_name and kind is not None:
        rows = [_node_row(node) for node in report.nodes if node.kind == kind]
    else:
        rows = [
            (whole(row.count), printable(row.op_type), "", lines(row.inputs), lines(row.outputs), "", "")
            for row in groups
        ]
    return Section(
        key=kind or "unknown",
        title=f"{title}: {counted(count, 'node')}",
        meaning=meaning,
        columns=_SIGNATURE,
        rows=tuple(rows),
    ).used()


def op_types_section(report: Report) -> Section:
    """Every op type of a graph that has no DD node, most frequent first."""
    counts: dict[str, int] = {}
    for row in report.not_offloaded:
        counts[row.op_type] = counts.get(row.op_type, 0) + row.count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return Section(
        key="op_types",
        title=f"Op types: {len(counts)}",
        columns=(Column("Count", number=True), Column("Op type")),
        rows=tuple((whole(count), printable(op_type)) for op_type, count in ordered),
        important=True,
    )


def todo_section(report: Report, view: View) -> Section:
    """The kernel writer's list on its own."""
    return Section(
        key="todo",
        title=f"To do: {counted(len(report.todo), 'kernel')} for {counted(report.summary.compute_left, 'node')}",
        meaning="Compute left on the CPU, one row per op type and signature.",
        columns=_SIGNATURE,
        rows=tuple(_todo_row(todo, [], view) for todo in report.todo),
        important=True,
    ).used()


def gap_sections(report: Report, view: View) -> list[Section]:
    """Islands with their blockers, then gaps that hold boundary and shape nodes only."""
    boundaries = report.boundaries
    islands = () if boundaries is None else boundaries.islands
    gaps = () if boundaries is None else boundaries.gaps
    return [
        Section(
            key="islands",
            title=f"Islands: {whole(len(islands))}",
            meaning="CPU compute between DD nodes, and what moving it to the NPU (or dropping it) would save.",
            columns=_gap_columns("Blockers"),
            rows=tuple(_gap_row(gap, gap.blockers, view) for gap in islands),
            important=True,
        ).used(),
        Section(
            key="gaps",
            title=f"Gaps without compute: {whole(len(gaps))}",
            meaning="Casts, layout changes and shape nodes between DD nodes, and what dropping them would save.",
            columns=_gap_columns("Members"),
            rows=tuple(_gap_row(gap, gap.nodes, view) for gap in gaps),
        ).used(),
    ]


def _todo_row(todo: Todo, nodes: Sequence[LeftNode], view: View) -> tuple[str, ...]:
    between = ""
    if nodes:
        before = sorted({place for node in nodes for place in node.before})
        after = sorted({place for node in nodes for place in node.after})
        between = _between(before, after)
    return (
        whole(todo.count),
        printable(todo.op_type),
        macs(todo.macs),
        lines(todo.inputs),
        lines(todo.outputs),
        between,
        names(todo.nodes, view),
    )


def _node_row(node: LeftNode) -> tuple[str, ...]:
    return (
        whole(node.times),
        printable(node.op_type),
        macs(node.macs) if node.kind == "compute" else "",
        lines(node.inputs),
        lines(node.outputs),
        _between(node.before, node.after),
        printable(node.node),
    )


def _between(before: Iterable[str], after: Iterable[str]) -> str:
    return f"{','.join(before) or '-'} -> {','.join(after) or '-'}"


def _gap_columns(last: str) -> tuple[Column, ...]:
    titles = ("Nodes", "Regions merged", "Crossings saved", "Bytes saved", "Times")
    return (*(Column(title, number=True) for title in titles), Column("Scope", moves=1), Column(last, moves=1))


def _gap_row(gap: Gap, members: Sequence[str], view: View) -> tuple[str, ...]:
    return (
        whole(len(gap.nodes)),
        whole(gap.merges),
        whole(gap.crossings_saved),
        size(gap.bytes_saved),
        times(gap.times),
        printable(gap.scope),
        names(members, view),
    )
