"""The summary: every figure, where it comes from, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from ddinspect.analysis.border_values import Boundaries, Casts, Layout
from ddinspect.analysis.cost import total
from ddinspect.analysis.split import Split
from ddinspect.analysis.values import DDNode, Figure, Fusion, KindCounts, LeftNode, Summary

_FusedSource: TypeAlias = Literal["meta", "replaced"]
_NO_ORIGINAL = Figure(source=None, reason="no original graph")


class Parts(NamedTuple):
    """What the summary sums up."""

    fusion: Fusion
    casts: Casts
    layout: Layout
    boundaries: Boundaries
    nodes: tuple[LeftNode, ...]


class _Measured(NamedTuple):
    """A figure and what is to be said about it."""

    value: float | None
    figure: Figure


def percent(part: int, rest: int) -> float:
    """`part / (part + rest)` in percent, rounded to two decimals the way AMD's report does it (numpy.round)."""
    return round(part / (part + rest) * 100 * 100) / 100


def summarise(split: Split, parts: Parts) -> tuple[Summary, dict[str, Figure]]:
    """The figures of one model."""
    dd_nodes = parts.fusion.dd_nodes
    fused = total([_times(node.fused_ops, node.times) for node in dd_nodes])
    source = _fused_source(dd_nodes, fused)
    left = sum(node.times for node in parts.nodes)
    kinds = _kinds(parts.nodes)
    sizes = [_times(crossing.bytes, crossing.times) for crossing in parts.boundaries.crossings]
    compute_macs = total([_times(node.macs, node.times) for node in parts.nodes if node.kind == "compute"])
    ratio = _ratio(fused, left, dd_nodes)
    top = _top_level_ratio(split, dd_nodes)
    macs = _mac_coverage(dd_nodes, parts.nodes)
    summary = Summary(
        dd_nodes=sum(node.times for node in dd_nodes),
        fused_ops=fused,
        fused_ops_source=source,
        not_offloaded=left,
        dd_ratio=ratio.value,
        not_offloaded_by_kind=kinds,
        dd_ratio_top_level=top.value,
        mac_coverage=macs.value,
        regions=sum(region.times for region in parts.boundaries.regions),
        crossings=sum(crossing.times for crossing in parts.boundaries.crossings),
        crossing_bytes=total(sizes),
        bf16_casts=parts.casts.to_bf16 + parts.casts.from_bf16,
        layout_conversions=parts.layout.to_nhwc + parts.layout.to_nchw,
        compute_left=kinds.compute,
        compute_left_macs=compute_macs,
    )
    graph = Figure(source="graph")
    figures = {
        "fused_ops": _fused_figure(dd_nodes, fused, source),
        "not_offloaded": graph,
        "not_offloaded_by_kind": graph,
        "dd_ratio": ratio.figure,
        "dd_ratio_top_level": top.figure,
        "source_coverage": _NO_ORIGINAL,
        "mac_coverage": macs.figure,
        "weight_coverage": _NO_ORIGINAL,
        "regions": graph,
        "crossings": graph,
        "crossing_bytes": _sum_figure(
            summary.crossing_bytes,
            (crossing.tensor for crossing in parts.boundaries.crossings if crossing.bytes is None),
            "the size of {} is not static",
        ),
        "bf16_casts": graph,
        "layout_conversions": graph,
        "compute_left": graph,
        "compute_left_macs": _sum_figure(
            compute_macs,
            _shapeless(node for node in parts.nodes if node.kind == "compute"),
            "the shapes at {} are not static",
        ),
    }
    return summary, figures


def _times(value: int | None, times: int) -> int | None:
    return None if value is None else value * times


def _kinds(nodes: Iterable[LeftNode]) -> KindCounts:
    counts = {"boundary": 0, "shape": 0, "compute": 0}
    for node in nodes:
        counts[node.kind] += node.times
    return KindCounts(**counts)


def _fused_source(dd_nodes: tuple[DDNode, ...], fused: int | None) -> _FusedSource | None:
    """`replaced` as soon as one node lacks its file."""
    if not dd_nodes or fused is None:
        return None
    return "meta" if all(node.source == "meta" for node in dd_nodes) else "replaced"


def _fused_figure(dd_nodes: tuple[DDNode, ...], fused: int | None, source: _FusedSource | None) -> Figure:
    if not dd_nodes:
        return Figure(source=None, reason="no DynamicDispatch node")
    if fused is None:
        unknown = next(node.node for node in dd_nodes if node.fused_ops is None)
        return Figure(source=None, reason=f"{unknown} has neither metadata nor a `replaced` attribute")
    if source == "replaced":
        missing = next(node.node for node in dd_nodes if node.source != "meta")
        return Figure(source=source, reason=f"no metadata file for {missing}: counted from `replaced`")
    return Figure(source=source)


def _ratio(fused: int | None, left: int, dd_nodes: tuple[DDNode, ...]) -> _Measured:
    if fused is None:
        return _Measured(None, Figure(source=None, reason="the number of fused ops is unknown"))
    if fused + left == 0:
        return _Measured(None, Figure(source=None, reason="there is nothing to count"))
    source = "graph" if not dd_nodes else _fused_source(dd_nodes, fused)
    return _Measured(percent(fused, left), Figure(source=source))


def _top_level_ratio(split: Split, dd_nodes: tuple[DDNode, ...]) -> _Measured:
    """AMD's figure: the main graph only, calls of local functions counted as nodes."""
    main = split.expansion.scopes[0]
    top = tuple(node for node in dd_nodes if node.scope == main.path)
    left = len(main.nodes) - len(top)
    return _ratio(total([node.fused_ops for node in top]), left, top)


def _mac_coverage(dd_nodes: tuple[DDNode, ...], nodes: tuple[LeftNode, ...]) -> _Measured:
    """MACs of the fused ops against those of the nodes left on the CPU, without an original graph."""
    for node in dd_nodes:
        if node.macs is None:
            reason = f"no metadata for {node.node}" if node.meta is None else (
                f"the metadata of {node.node} lacks static shapes for an op that multiplies"
            )  # fmt: skip
            return _Measured(None, Figure(source=None, reason=reason))
    shapeless = next(_shapeless(nodes), None)
    if shapeless is not None:
        return _Measured(None, Figure(source=None, reason=f"the shapes at {shapeless} are not static"))
    offloaded = sum(node.macs * node.times for node in dd_nodes if node.macs is not None)
    left = sum(node.macs * node.times for node in nodes if node.macs is not None)
    if offloaded + left == 0:
        return _Measured(None, Figure(source=None, reason="no op multiplies"))
    return _Measured(percent(offloaded, left), Figure(source="meta" if dd_nodes else "graph"))


def _shapeless(nodes: Iterable[LeftNode]) -> Iterator[str]:
    return (node.node for node in nodes if node.macs is None)


def _sum_figure(value: int | None, unknown: Iterable[str], reason: str) -> Figure:
    """A sum is known, or the first part that is not is named."""
    if value is not None:
        return Figure(source="graph")
    return Figure(source=None, reason=reason.format(next(iter(unknown))))
