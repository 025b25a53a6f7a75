"""Sections on what moves between CPU and NPU: casts, layout conversions, regions and crossings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddinspect.printable import printable
from ddinspect.render.quantities import counted, shape_text, size, whole
from ddinspect.render.section import Column, Section, View, lines, names, times

if TYPE_CHECKING:
    from ddinspect.analysis.border_values import BlockFloatEdge, CastItem, CastPair, Crossing, LayoutPair, Region
    from ddinspect.report import Report

_TENSOR_COLUMNS = (
    Column("Shape"),
    Column("Bytes", number=True),
    Column("Between"),
    Column("Times", number=True),
    Column("Node", moves=1),
    Column("Tensor", moves=1),
)


def cast_sections(report: Report) -> list[Section]:
    """BF16 casts one by one, pairs of them that cancel, block-float tensors."""
    casts = report.casts
    if casts is None:
        return []
    return [
        Section(
            key="casts",
            title=f"BF16 casts: {whole(casts.to_bf16)} to, {whole(casts.from_bf16)} from BFLOAT16",
            meaning="Shape, bytes and tensor are those of the BFLOAT16 side.",
            columns=(Column("Types"), *_TENSOR_COLUMNS),
            rows=tuple(map(_cast_row, casts.items)),
        ).used(),
        Section(
            key="cancelling_casts",
            title=f"Casts that undo each other: {counted(len(casts.cancelling), 'pair')}",
            meaning="A lossless pair can be dropped: every value survives it and nothing else reads the middle.",
            columns=(Column("Lossless"), Column("Types"), Column("Why not", prose=True), Column("Nodes", moves=1)),
            rows=tuple(map(_cast_pair_row, casts.cancelling)),
        ).used(),
        Section(
            key="block_float",
            title=f"Block-float tensors: {whole(len(casts.block_float))}",
            meaning="UINT8 tensors in which 8 values share an exponent; no BF16 casts.",
            columns=(Column("Certain"), *_TENSOR_COLUMNS),
            rows=tuple(map(_block_float_row, casts.block_float)),
        ).used(),
    ]


def layout_sections(report: Report, view: View) -> list[Section]:
    """NCHW<->NHWC conversions one by one, pairs that cancel, and pairs that would but for nodes between them."""
    layout = report.layout
    if layout is None:
        return []
    items = tuple(
        (
            "NCHW -> NHWC" if item.direction == "to_nhwc" else "NHWC -> NCHW",
            f"{printable(item.op_type)} ({item.how})",
            shape_text(item.shape),
            size(item.bytes),
            " -> ".join(item.between),
            times(item.times),
            printable(item.node),
            printable(item.tensor),
        )
        for item in layout.items
    )
    pair_columns = (Column("First", moves=1), Column("Second", moves=1), Column("Blockers", moves=1))
    return [
        Section(
            key="layout",
            title=f"Layout conversions: {whole(layout.to_nhwc)} to NHWC, {whole(layout.to_nchw)} to NCHW",
            meaning="Shape, bytes and tensor are those of the input.",
            columns=(Column("Change"), Column("How"), *_TENSOR_COLUMNS),
            rows=items,
        ).used(),
        Section(
            key="cancelling_layout",
            title=f"Layout conversions that undo each other: {counted(len(layout.cancelling), 'pair')}",
            meaning="Both can be dropped.",
            columns=pair_columns,
            rows=tuple(_layout_pair_row(pair, view) for pair in layout.cancelling),
        ).used(),
        Section(
            key="blocked_layout",
            title=f"Blocked layout pairs: {counted(len(layout.blocked), 'pair')}",
            meaning="They would undo each other but for the nodes between them.",
            columns=pair_columns,
            rows=tuple(_layout_pair_row(pair, view) for pair in layout.blocked),
        ).used(),
    ]


def border_sections(report: Report, view: View) -> list[Section]:
    """Regions, if there is more than one, and crossings."""
    boundaries = report.boundaries
    if boundaries is None:
        return []
    regions = boundaries.regions
    numbers = ("Region", "DD nodes", "Fused", "Times")
    return [
        Section(
            key="regions",
            title=f"Regions: {whole(len(regions))}",
            meaning="DD nodes that hand tensors to each other without the CPU.",
            columns=(
                *(Column(title, number=True) for title in numbers),
                Column("Scope", moves=1),
                Column("Members", moves=1),
            ),
            rows=tuple(_region_row(region, view) for region in regions) if len(regions) > 1 else (),
        ).used(),
        Section(
            key="crossings",
            title=f"Crossings: {whole(report.summary.crossings)}, {size(report.summary.crossing_bytes)}",
            meaning="Tensors that enter or leave the NPU.",
            columns=(
                Column("Direction"),
                Column("Type"),
                Column("Shape"),
                Column("Bytes", number=True),
                Column("Times", number=True),
                Column("Scope", moves=1),
                Column("Tensor", moves=1),
            ),
            rows=tuple(map(_crossing_row, boundaries.crossings)),
        ).used(),
    ]


def _cast_row(item: CastItem) -> tuple[str, ...]:
    return (
        f"{printable(item.from_dtype)} -> {printable(item.to_dtype)}",
        shape_text(item.shape),
        size(item.bytes),
        " -> ".join(item.between),
        times(item.times),
        printable(item.node),
        printable(item.tensor),
    )


def _cast_pair_row(pair: CastPair) -> tuple[str, ...]:
    outer, middle = printable(pair.outer_dtype), printable(pair.middle_dtype)
    return (
        "yes" if pair.lossless else "no",
        f"{outer} -> {middle} -> {outer}",
        printable(pair.reason or ""),
        lines((pair.first, pair.second)),
    )


def _block_float_row(edge: BlockFloatEdge) -> tuple[str, ...]:
    return (
        "yes" if edge.certain else "looks like it",
        shape_text(edge.shape),
        size(edge.bytes),
        " -> ".join(edge.between),
        "",
        "",
        printable(edge.tensor),
    )


def _layout_pair_row(pair: LayoutPair, view: View) -> tuple[str, ...]:
    return (printable(pair.first), printable(pair.second), names(pair.blockers, view))


def _region_row(region: Region, view: View) -> tuple[str, ...]:
    return (
        str(region.index),
        whole(len(region.dd_nodes)),
        whole(region.fused_ops),
        times(region.times),
        printable(region.scope),
        names(region.dd_nodes, view),
    )


def _crossing_row(item: Crossing) -> tuple[str, ...]:
    return (
        "CPU -> NPU" if item.direction == "in" else "NPU -> CPU",
        printable(item.dtype),
        shape_text(item.shape),
        size(item.bytes),
        times(item.times),
        printable(item.scope),
        printable(item.tensor),
    )
