"""Regions, crossings and gaps of random graphs, recounted from the definitions with networkx.

Savings are recounted by putting the nodes of a gap on the NPU and analysing the graph again.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple

import networkx as nx
from analysing import analysis_of
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, helper

from ddinspect.analysis.border_values import Boundaries, Gap
from ddinspect.analysis.values import Analysis
from fixtures.small_graphs.build import FLOAT, dispatch, f32, model, node


class Graph(NamedTuple):
    """Nodes as (on the NPU, inputs, outputs); tensors are named after their node."""

    nodes: tuple[tuple[bool, tuple[str, ...], tuple[str, ...]], ...]
    outputs: frozenset[str]
    shapes: dict[str, tuple[int, ...]]
    order: tuple[int, ...]

    @property
    def npu(self) -> set[int]:
        return {index for index, (on_npu, _, _) in enumerate(self.nodes) if on_npu}

    def proto(self, npu: Iterable[int]) -> ModelProto:
        made = []
        for index in self.order:
            _, reads, makes = self.nodes[index]
            if index in set(npu):
                made.append(dispatch(f"n{index}", reads, makes, [f"k{index}"]))
            else:
                made.append(node("Op", reads, makes, f"n{index}", "some.domain"))
        tensors = [name for _, _, makes in self.nodes for name in makes if name]
        return model(
            made,
            [f32(name, *self.shapes[name]) for name in ("x", "u")],
            [f32(name, *self.shapes[name]) for name in tensors if name in self.outputs],
            [f32(name, *self.shapes[name]) for name in tensors if name not in self.outputs],
            initializers=[helper.make_tensor("w", FLOAT, [1], [1.0])],
        )


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(1, 9))
    nodes: list[tuple[bool, tuple[str, ...], tuple[str, ...]]] = []
    tensors = ["x", "u"]
    for index in range(count):
        reads = draw(st.lists(st.sampled_from([*tensors, *tensors[-3:], "w", ""]), min_size=1, max_size=3))
        makes = [f"t{index}.{i}" for i in range(draw(st.integers(1, 2)))]
        nodes.append((draw(st.booleans()), tuple(reads), tuple(makes)))
        tensors += makes
    outputs = draw(st.frozensets(st.sampled_from(tensors[2:]), max_size=3))
    shapes = {name: (draw(st.integers(1, 9)), index + 1) for index, name in enumerate(tensors)}
    return Graph(tuple(nodes), outputs, shapes, tuple(draw(st.permutations(range(count)))))


def edges(graph: Graph) -> nx.DiGraph:
    made = {name: index for index, (_, _, makes) in enumerate(graph.nodes) for name in makes}
    digraph = nx.DiGraph()
    digraph.add_nodes_from(range(len(graph.nodes)))
    for index, (_, reads, _) in enumerate(graph.nodes):
        digraph.add_edges_from((made[name], index) for name in reads if name in made)
    return digraph


def regions(graph: Graph) -> set[frozenset[str]]:
    parts = nx.weakly_connected_components(edges(graph).subgraph(graph.npu))
    return {frozenset(f"n{index}" for index in part) for part in parts}


def crossings(graph: Graph) -> set[tuple[str, str]]:
    read_by_npu = {name for on_npu, reads, _ in graph.nodes if on_npu for name in reads}
    made_by_npu = {name for on_npu, _, makes in graph.nodes if on_npu for name in makes}
    read_elsewhere = {name for on_npu, reads, _ in graph.nodes if not on_npu for name in reads} | graph.outputs
    entering = read_by_npu - made_by_npu - {"", "w"}
    return {(name, "in") for name in entering} | {(name, "out") for name in made_by_npu & read_elsewhere}


def gaps(graph: Graph) -> set[frozenset[str]]:
    digraph, npu = edges(graph), graph.npu
    behind: set[int] = set().union(*(nx.descendants(digraph, start) for start in npu))
    ahead: set[int] = set().union(*(nx.ancestors(digraph, end) for end in npu))
    parts = nx.weakly_connected_components(digraph.subgraph((behind & ahead) - npu))
    return {frozenset(f"n{index}" for index in part) for part in parts}


def analyse(graph: Graph, npu: Iterable[int]) -> tuple[Analysis, Boundaries]:
    analysis = analysis_of(graph.proto(npu))
    assert analysis.boundaries is not None
    return analysis, analysis.boundaries


def total_bytes(graph: Graph) -> int:
    return sum(prod(graph.shapes[name]) * 4 for name, _ in crossings(graph))


@settings(max_examples=50, deadline=None)
@given(graphs())
def test_counts_follow_from_the_definitions(graph: Graph) -> None:
    analysis, found = analyse(graph, graph.npu)
    assert {frozenset(region.dd_nodes) for region in found.regions} == regions(graph)
    assert analysis.summary.regions == len(regions(graph))
    assert sorted((crossing.tensor, crossing.direction) for crossing in found.crossings) == sorted(crossings(graph))
    assert analysis.summary.crossing_bytes == total_bytes(graph)
    every_gap: tuple[Gap, ...] = (*found.islands, *found.gaps)
    assert sorted(sorted(gap.nodes) for gap in every_gap) == sorted(sorted(gap) for gap in gaps(graph))


@settings(max_examples=50, deadline=None)
@given(graphs())
def test_savings_are_what_is_left_without_the_gap(graph: Graph) -> None:
    before, found = analyse(graph, graph.npu)
    for gap in (*found.islands, *found.gaps):
        moved = graph.npu | {int(name[1:]) for name in gap.nodes}
        after, _ = analyse(graph, moved)
        assert gap.merges == (before.summary.regions or 0) - (after.summary.regions or 0)
        assert gap.crossings_saved == (before.summary.crossings or 0) - (after.summary.crossings or 0)
        assert gap.bytes_saved == (before.summary.crossing_bytes or 0) - (after.summary.crossing_bytes or 0)
