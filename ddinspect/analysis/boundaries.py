"""Regions, crossings, and the gaps between DD nodes.

A region is a set of DD nodes connected by tensors that one makes and another reads. A crossing is a tensor and a
direction: *in* if a DD node reads it and none makes it, *out* if a DD node makes it and a CPU node or the outside of
the scope reads it. Initializers do not cross, those handed to a function among them. A gap is a connected set of CPU
nodes on paths from a DD output to a DD input. Nothing of these reaches across scopes: a tensor that a body hands to a
DD node outside crosses twice, and one that DD nodes of two scopes read enters once in each.

What a gap would save is the difference between two ways of counting: as things are, and with its nodes on the NPU. A
call of a local function stands in a gap like any node, and blocks if there is a compute node in the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from ddinspect.analysis.border_values import Boundaries, Crossing, Gap, Region
from ddinspect.analysis.cost import total
from ddinspect.analysis.dataflow import Flow
from ddinspect.analysis.split import Split
from ddinspect.onnxfile.dtypes import dtype_name
from ddinspect.onnxfile.scopes import Scope

_Direction: TypeAlias = Literal["in", "out"]


def boundaries(split: Split, fused: Mapping[tuple[int, int], int | None]) -> Boundaries:
    """Where a model changes between CPU and NPU.

    Args:
        split: The model.
        fused: Fused ops per DD node, by (scope index, node index); None where nothing says.
    """
    regions: list[Region] = []
    crossings: list[Crossing] = []
    gaps: list[Gap] = []
    blocking = _blocking(split)
    for flow in split.flows:
        npu = _Npu.of(split, flow)
        for members in npu.regions:
            regions.append(_region(flow.scope, members, len(regions), fused))
        crossings += (_crossing(split, flow.scope, name, direction) for name, direction in _crossings(split, npu))
        gaps += (_gap(split, npu, members, blocking) for members in _gaps(npu))
    return Boundaries(
        regions=tuple(regions),
        crossings=tuple(crossings),
        islands=tuple(gap for gap in gaps if gap.blockers),
        gaps=tuple(gap for gap in gaps if not gap.blockers),
    )


class _Npu(NamedTuple):
    """The DD nodes of one scope.

    Attributes:
        nodes: Their indexes.
        regions: The same, by region, in graph order.
        region_of: DD node -> its place in `regions`.
    """

    flow: Flow
    nodes: frozenset[int]
    regions: list[tuple[int, ...]]
    region_of: Mapping[int, int]

    @classmethod
    def of(cls, split: Split, flow: Flow) -> _Npu:
        nodes = frozenset(node.index for node in split.dispatched(flow.scope))
        regions = _connected(nodes, lambda index: flow.before(index) | flow.after(index))
        region_of = {index: number for number, members in enumerate(regions) for index in members}
        return cls(flow, nodes, regions, region_of)


def _connected(members: Iterable[int], neighbours: Callable[[int], Iterable[int]]) -> list[tuple[int, ...]]:
    """Connected sets of nodes, each in graph order, in order of their first node."""
    left = dict.fromkeys(sorted(members))
    groups = []
    while left:
        first = next(iter(left))
        del left[first]
        group, frontier = [first], [first]
        while frontier:
            for node in neighbours(frontier.pop()):
                if node in left:
                    del left[node]
                    group.append(node)
                    frontier.append(node)
        groups.append(tuple(sorted(group)))
    return groups


def _region(scope: Scope, members: tuple[int, ...], index: int, fused: Mapping[tuple[int, int], int | None]) -> Region:
    return Region(
        index=index,
        scope=scope.path,
        dd_nodes=tuple(scope.qualified(scope.nodes[member].id) for member in members),
        fused_ops=total([fused[scope.index, member] for member in members]),
        times=scope.times,
    )


def _crossings(split: Split, npu: _Npu) -> Iterator[tuple[str, _Direction]]:
    """Tensors that enter or leave the NPU in one scope, in graph order."""
    nodes = [npu.flow.scope.nodes[index] for index in sorted(npu.nodes)]
    for name in dict.fromkeys(name for node in nodes for name in (*node.inputs, *node.outputs) if name):
        for direction in _directions(split, npu.flow, name, npu.nodes):
            yield name, direction


def _directions(split: Split, flow: Flow, name: str, npu: frozenset[int]) -> Iterator[_Direction]:
    """The directions in which a tensor crosses if the nodes `npu` run on the NPU."""
    readers = flow.readers.get(name, ())
    if flow.maker.get(name) in npu:
        if name in flow.scope.outputs or not npu.issuperset(readers):
            yield "out"
    elif not npu.isdisjoint(readers) and not split.is_constant(flow.scope, name):
        yield "in"


def _crossing(split: Split, scope: Scope, name: str, direction: _Direction) -> Crossing:
    info = split.type_of(scope, name)
    return Crossing(
        tensor=split.tensor_id(scope, name),
        direction=direction,
        scope=scope.path,
        dtype=dtype_name(info.dtype),
        shape=info.shape,
        bytes=split.bytes_of(scope, name),
        times=scope.times,
    )


def _gaps(npu: _Npu) -> list[tuple[int, ...]]:
    flow = npu.flow
    between = _reached(npu.nodes, flow.after) & _reached(npu.nodes, flow.before)
    return _connected(between - npu.nodes, lambda index: flow.before(index) | flow.after(index))


def _blocking(split: Split) -> set[tuple[int, int]]:
    """Compute nodes, and calls of functions that hold one, as (scope index, node index)."""
    found: set[tuple[int, int]] = set()
    for scope in reversed(split.expansion.scopes):  # a function comes behind what calls it
        sites = {(scope.index, node.index) for node in scope.nodes}
        found |= {(scope.index, index) for index, role in enumerate(split.roles[scope.index]) if role == "compute"}
        if not found.isdisjoint(sites):
            found.update(scope.calls)
    return found


def _reached(starts: frozenset[int], step: Callable[[int], set[int]]) -> set[int]:
    """Nodes that can be reached from `starts` by at least one step."""
    found: set[int] = set()
    frontier = list(starts)
    while frontier:
        fresh = step(frontier.pop()) - found
        found |= fresh
        frontier += fresh
    return found


class _Traffic(msgspec.Struct, frozen=True):
    """Crossings among some tensors, and their bytes."""

    count: int
    bytes: int | None


def _traffic(split: Split, flow: Flow, names: Iterable[str], npu: frozenset[int]) -> _Traffic:
    crossing = [name for name in names for _ in _directions(split, flow, name, npu)]
    return _Traffic(len(crossing), total([split.bytes_of(flow.scope, name) for name in crossing]))


def _gap(split: Split, npu: _Npu, members: tuple[int, ...], blocking: set[tuple[int, int]]) -> Gap:
    """A gap, and what would go if its nodes ran on the NPU."""
    flow, scope = npu.flow, npu.flow.scope
    nodes = [scope.nodes[index] for index in members]
    touched = dict.fromkeys(name for node in nodes for name in (*flow.reads[node.index], *node.outputs) if name)
    before = _traffic(split, flow, touched, npu.nodes)
    after = _traffic(split, flow, touched, npu.nodes.union(members))
    neighbours = {near for index in members for near in flow.before(index) | flow.after(index)}
    joined = {npu.region_of[near] for near in neighbours & npu.nodes}
    unknown = before.bytes is None or after.bytes is None
    return Gap(
        scope=scope.path,
        nodes=tuple(scope.qualified(node.id) for node in nodes),
        blockers=tuple(scope.qualified(n.id) for n in nodes if (scope.index, n.index) in blocking),
        merges=len(joined) - 1,
        crossings_saved=before.count - after.count,
        bytes_saved=None if unknown else (before.bytes or 0) - (after.bytes or 0),
        times=scope.times,
    )
