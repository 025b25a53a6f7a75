"""Rules about the border between CPU and NPU: casts, layout changes, and what stands between DD nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from ddinspect.analysis.border_values import CastPair, Gap
from ddinspect.analysis.dataflow import Flow
from ddinspect.onnxfile.model import Node
from ddinspect.rules.rule import Context, Hit, Rule
from ddinspect.rules.walk import dispatched, distinct
from ddinspect.rules.wording import counted, listed, quoted, size


class _Site(NamedTuple):
    """A node and the scope it stands in."""

    flow: Flow
    node: Node


_Sites: TypeAlias = Mapping[str, _Site | None]


def _sites(context: Context, looked_up: Sequence[object]) -> _Sites:
    """Every node by the id that the analysis gives it; None where a name looks like the path to another node.

    Nothing where there is nothing to look up: most models have none of what these rules are about.
    """
    found: dict[str, _Site | None] = {}
    for flow in distinct(context.split.flows) if looked_up else ():
        for node in flow.scope.nodes:
            name = flow.scope.qualified(node.id)
            found[name] = None if name in found else _Site(flow, node)
    return found


def _pair(pair: CastPair) -> str:
    types = f"{pair.outer_dtype} -> {pair.middle_dtype} -> {pair.outer_dtype}"
    return f"casts {quoted(pair.first)} and {quoted(pair.second)} ({types})"


def _cancelling_casts(context: Context) -> Iterator[Hit]:
    found = context.analysis.casts.cancelling if context.analysis.casts else ()
    sites = _sites(context, found)
    for pair in found:
        if pair.lossless and pair.first in sites:
            joined = _joined(context, sites, pair.first, pair.second)
            yield Hit(f"{_pair(pair)} undo each other{joined}", pair.first)


def _lossy_cast_pair(context: Context) -> Iterator[Hit]:
    found = context.analysis.casts.cancelling if context.analysis.casts else ()
    sites = _sites(context, found)
    for pair in found:
        if not pair.value_preserving and pair.first in sites:
            loss = f"{pair.middle_dtype} does not hold every value of {pair.outer_dtype}"
            yield Hit(f"{_pair(pair)} lose accuracy: {loss}", pair.first)


def _cancelling_transposes(context: Context) -> Iterator[Hit]:
    found = context.analysis.layout.cancelling if context.analysis.layout else ()
    sites = _sites(context, found)
    for pair in found:
        if pair.first in sites:
            joined = _joined(context, sites, pair.first, pair.second)
            yield Hit(
                f"layout changes {quoted(pair.first)} and {quoted(pair.second)} undo each other{joined}", pair.first
            )


def _blocked_transposes(context: Context) -> Iterator[Hit]:
    found = context.analysis.layout.blocked if context.analysis.layout else ()
    sites = _sites(context, found)
    for pair in found:
        if pair.first in sites:
            ends = f"layout changes {quoted(pair.first)} and {quoted(pair.second)}"
            yield Hit(f"{ends} would undo each other but for {_with_types(sites, pair.blockers)}", pair.first)


def _joined(context: Context, sites: _Sites, first: str, second: str) -> str:
    """What a pair stands between, and what its removal would save if it is all that stands there."""
    start, end = sites[first], sites[second]
    if start is None or end is None:
        return ""
    flow = start.flow
    source, result = start.node.inputs[0], end.node.outputs[0]
    maker = flow.maker.get(source)
    before = quoted(source) if maker is None else quoted(flow.scope.nodes[maker].id)
    after = [quoted(flow.scope.nodes[reader].id) for reader in flow.readers.get(result, ())]
    if result in flow.scope.outputs:
        after.append(f"output {quoted(result)}")
    text = f": without them {before} leads straight to {listed(after)}" if after else ""
    boundaries = context.analysis.boundaries
    for gap in boundaries.gaps if boundaries else ():
        if set(gap.nodes) == {first, second}:
            text += f", which {_saving(gap)}"
    return text


def _saving(gap: Gap) -> str:
    """What it would do if the nodes of a gap were not there or ran on the NPU."""
    merged = f"joins {gap.merges + 1} regions, " if gap.merges else ""
    crossings = _change(gap.crossings_saved, counted(abs(gap.crossings_saved), "crossing"))
    if gap.bytes_saved is None:
        return f"{merged}{crossings} and an unknown number of bytes"
    traffic = f"{size(abs(gap.bytes_saved))} of traffic"
    if (gap.crossings_saved < 0) == (gap.bytes_saved < 0):
        return f"{merged}{crossings} and {traffic}"
    return f"{merged}{crossings} and {_change(gap.bytes_saved, traffic)}"


def _change(saved: int, amount: str) -> str:
    return f"saves {amount}" if saved >= 0 else f"adds {amount}"


def _compute_island(context: Context) -> Iterator[Hit]:
    found = context.analysis.boundaries.islands if context.analysis.boundaries else ()
    sites = _sites(context, found)
    for gap in found:
        if gap.nodes[0] not in sites:
            continue
        keeps = f"stands between {gap.merges + 1} regions" if gap.merges else "stands inside one region"
        times = f", {gap.times:,} times per inference" if gap.times > 1 else ""
        gain = f"running the gap ({counted(len(gap.nodes), 'node')}) on the NPU {_saving(gap)}{times}"
        yield Hit(f"compute on the CPU {keeps}: {_with_types(sites, gap.blockers)}; {gain}", gap.blockers[0])


def _with_types(sites: _Sites, ids: tuple[str, ...]) -> str:
    found = ((name, sites[name]) for name in ids)
    return listed(quoted(name) + (f" ({quoted(site.node.op_type)})" if site else "") for name, site in found)


def _many_regions(context: Context) -> Iterator[Hit]:
    boundaries = context.analysis.boundaries
    regions = boundaries.regions if boundaries else ()
    number = sum(region.times for region in regions)
    if number < 2:
        return
    every = context.analysis.summary.fused_ops
    if every is None:
        largest = max(regions, key=lambda region: len(region.dd_nodes))
        share = f"{len(largest.dd_nodes):,} of {counted(context.analysis.summary.dd_nodes, 'DD node')}"
    else:
        largest = max(regions, key=lambda region: region.fused_ops or 0)
        share = f"{largest.fused_ops or 0:,} of {counted(every, 'fused op')}"
    yield Hit(f"the NPU's part is in {number:,} regions: the largest holds {share}", largest.dd_nodes[0])


def _assumed_bf16(context: Context) -> Iterator[Hit]:
    for dd in dispatched(context):
        names = [name for name in dd.node.outputs if name in dd.scope.assumed]
        if names:
            yield Hit(
                f"nothing states the element type of {listed(map(quoted, names))}, made by DD node "
                f"{quoted(dd.counted.node)}: it is taken for BFLOAT16",
                dd.counted.node,
            )


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id="DD101",
        name="cancelling-casts",
        severity="warning",
        summary="Two casts undo each other without changing a value.",
        why="Both run on the CPU and copy the whole tensor. Between DD nodes they also force the tensor out of the NPU "
        "and back in.",
        fix="Remove both casts and connect their ends, then partition again: DD nodes that come together this way can "
        "become one.",
        check=_cancelling_casts,
    ),
    Rule(
        id="DD102",
        name="lossy-cast-pair",
        severity="warning",
        summary="A value is cast to a type that does not hold it, and back.",
        why="The second cast does not bring back what the first one rounded or cut off. The pair costs accuracy, and "
        "taking it out changes results, so no tool may do that by itself.",
        fix="Keep the tensor in the outer type at export if the rounding is not wanted, and compare results before "
        "and after; otherwise leave the pair alone.",
        check=_lossy_cast_pair,
    ),
    Rule(
        id="DD103",
        name="cancelling-transposes",
        severity="warning",
        summary="Two layout changes undo each other.",
        why="Both run on the CPU and copy the whole tensor, only to put it back as it was.",
        fix="Remove both and connect their ends, then partition again.",
        check=_cancelling_transposes,
    ),
    Rule(
        id="DD104",
        name="compute-island",
        severity="warning",
        summary="Compute left on the CPU stands between DD nodes.",
        why="The tensor leaves the NPU, is worked on by the CPU and goes back, at every inference. The NPU waits.",
        fix="Replace the named ops by ones that the partitioner takes, or move them in front of or behind the DD "
        "nodes; the numbers say what that is worth.",
        check=_compute_island,
    ),
    Rule(
        id="DD106",
        name="blocked-transposes",
        severity="info",
        summary="Two layout changes would undo each other but for the nodes between them.",
        why="Where the nodes between them can work in the other layout, both changes can go.",
        fix="Let the named nodes work in the layout of the DD nodes (for most that means another axis), and remove "
        "both layout changes.",
        check=_blocked_transposes,
    ),
    Rule(
        id="DD107",
        name="many-regions",
        severity="info",
        summary="The NPU's part of the graph is in more than one region.",
        why="At every region's border tensors are handed between CPU and NPU. A ratio near 100% says nothing of that.",
        fix="Look at what stands between the regions (DD101 to DD104); compare `regions` of the summary line from "
        "release to release, so that it does not grow unnoticed.",
        check=_many_regions,
    ),
    Rule(
        id="DD108",
        name="assumed-bf16",
        severity="info",
        summary="The element type of a DD node's output is stated nowhere.",
        why="Neither the graph nor the metadata gives it. Sizes and casts behind it rest on the assumption that it is "
        "BFLOAT16, as the outputs of all published DD nodes are.",
        fix="Keep the value_info entries when the graph is saved, or put the metadata file back.",
        check=_assumed_bf16,
    ),
)
