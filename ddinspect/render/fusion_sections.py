"""Sections on what the NPU does: DD nodes, the fused ops in them, and names that do not add up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ddinspect.printable import printable
from ddinspect.render.quantities import NOT_AVAILABLE, counted, macs, percent, size, whole
from ddinspect.render.section import Column, Section, lines, times

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ddinspect.analysis.values import DDNode, Fusion
    from ddinspect.report import Report


def fusion_sections(report: Report) -> list[Section]:
    """DD nodes by signature, fused ops by type, DD nodes one by one, names that do not add up."""
    sections = [_offloaded_section(report)]
    if report.fusion is not None:
        sections += [_by_type_section(report.fusion), _dd_nodes_section(report.fusion), _names_section(report.fusion)]
    return sections


def _offloaded_section(report: Report) -> Section:
    return Section(
        key="offloaded",
        title=f"Offloaded: {counted(report.summary.dd_nodes, 'DD node')}",
        meaning="By type and signature.",
        columns=(
            Column("Count", number=True),
            Column("Op type"),
            Column("Inputs", moves=2),
            Column("Outputs", moves=2),
        ),
        rows=tuple(
            (whole(row.count), printable(row.op_type), lines(row.inputs), lines(row.outputs))
            for row in report.offloaded
        ),
    )


def _by_type_section(fusion: Fusion) -> Section:
    counts = _most_first(fusion.by_type or {})
    total = sum(count for _, count in counts)
    return Section(
        key="fused_by_type",
        title=f"Fused ops by type: {whole(total)}",
        columns=(Column("Fused op"), Column("Count", number=True), Column("Share", number=True)),
        rows=tuple((printable(name), whole(count), percent(100 * count / total)) for name, count in counts if total),
    )


def _dd_nodes_section(fusion: Fusion) -> Section:
    return Section(
        key="dd_nodes",
        title=f"DD nodes: {whole(len(fusion.dd_nodes))}",
        meaning="In, out, scratch and const are bytes of device memory that the metadata claims.",
        columns=(
            Column("Fused", number=True),
            Column("MACs", number=True),
            *(Column(title, number=True, moves=2) for title in ("In", "Out", "Scratch", "Const")),
            Column("Times", number=True),
            Column("Model type"),
            Column("DD node", moves=1),
            Column("Fused ops", moves=1),
        ),
        rows=tuple(map(_dd_node_row, fusion.dd_nodes)),
    ).used()


def _dd_node_row(node: DDNode) -> tuple[str, ...]:
    memory = node.memory
    sizes = (memory.input, memory.output, memory.scratch, memory.const) if memory else (None,) * 4
    return (
        whole(node.fused_ops) + (f" ({node.source})" if node.source == "replaced" else ""),
        macs(node.macs),
        *(size(claimed) for claimed in sizes),
        times(node.times),
        printable(node.model_type or ""),
        printable(node.node),
        ", ".join(f"{printable(name)} {count}" for name, count in _most_first(node.by_type)) or NOT_AVAILABLE,
    )


def _names_section(fusion: Fusion) -> Section:
    rows = tuple(_odd_names(fusion))
    return Section(
        key="odd_names",
        title=f"Names in `replaced` that do not add up: {whole(len(rows))}",
        columns=(Column("Problem"), Column("Name", moves=1), Column("DD node", moves=1)),
        rows=rows,
    ).used()


def _odd_names(fusion: Fusion) -> Iterator[tuple[str, str, str]]:
    for entry in fusion.unresolved:
        yield ("not in the metadata", printable(entry.name), printable(entry.dd_node))
    for node in fusion.dd_nodes:
        for name in node.repeated:
            yield ("listed more than once", printable(name), printable(node.node))
    for name in fusion.shared:
        yield ("listed by several DD nodes", printable(name), "")


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
