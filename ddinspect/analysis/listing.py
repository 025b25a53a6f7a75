"""Lists of nodes: left on the CPU, offloaded, and what a kernel writer would take up first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from ddinspect.analysis.border_values import Place
from ddinspect.analysis.cost import node_macs, total
from ddinspect.analysis.signature import signatures
from ddinspect.analysis.split import Split
from ddinspect.analysis.values import Fusion, Kind, LeftNode, LeftRow, OffloadedRow, Todo
from ddinspect.onnxfile.model import Node
from ddinspect.onnxfile.scopes import Scope

# What costs the user comes first.
_KIND_ORDER: Final[tuple[Kind, ...]] = ("compute", "boundary", "shape")


def left_nodes(split: Split) -> tuple[LeftNode, ...]:
    """Every node left on the CPU, in graph order."""
    return tuple(_left_node(split, flow.scope, node) for flow in split.flows for node in split.left(flow.scope))


def _left_node(split: Split, scope: Scope, node: Node) -> LeftNode:
    reads = split.flows[scope.index].reads[node.index]
    before: set[Place] = {split.comes_from(scope, name) for name in reads}
    after: set[Place] = set().union(*(split.goes_to(scope, name) for name in node.outputs if name))
    return LeftNode(
        node=scope.qualified(node.id),
        op_type=node.op_type,
        domain=node.domain,
        kind=split.kind(scope, node.index),
        scope=scope.path,
        times=scope.times,
        inputs=signatures(split, scope, node.inputs),
        outputs=signatures(split, scope, node.outputs),
        before=tuple(sorted(before)),
        after=tuple(sorted(after)),
        macs=node_macs(node, lambda name: split.expansion.type_of(scope, name).shape),
    )


def left_rows(nodes: Iterable[LeftNode]) -> tuple[LeftRow, ...]:
    """Nodes left on the CPU, grouped by kind, type and signature: compute first, then by type."""
    groups: Counter[tuple[Kind, str, tuple[str, ...], tuple[str, ...]]] = Counter()
    for node in nodes:
        groups[node.kind, node.op_type, node.inputs, node.outputs] += node.times
    rows = [
        LeftRow(op_type=op_type, kind=kind, count=count, inputs=inputs, outputs=outputs)
        for (kind, op_type, inputs, outputs), count in groups.items()
    ]
    # The sort is stable: within a type, rows stay in order of first appearance.
    return tuple(sorted(rows, key=lambda row: (_KIND_ORDER.index(row.kind or "compute"), row.op_type)))


def offloaded_rows(fusion: Fusion) -> tuple[OffloadedRow, ...]:
    """DD nodes, grouped by type and signature."""
    groups: Counter[tuple[str, tuple[str, ...], tuple[str, ...]]] = Counter()
    for node in fusion.dd_nodes:
        groups[node.op_type, node.inputs, node.outputs] += node.times
    rows = [
        OffloadedRow(op_type=op_type, count=count, inputs=inputs, outputs=outputs)
        for (op_type, inputs, outputs), count in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: row.op_type))


def todo(nodes: Iterable[LeftNode]) -> tuple[Todo, ...]:
    """Compute left on the CPU, grouped by type and signature.

    Most MACs first, then those whose MACs are not known, then what multiplies nothing; most nodes first among equals.
    """
    groups: defaultdict[tuple[str, tuple[str, ...], tuple[str, ...]], list[LeftNode]] = defaultdict(list)
    for node in nodes:
        if node.kind == "compute":
            groups[node.op_type, node.inputs, node.outputs].append(node)
    rows = [
        Todo(
            op_type=op_type,
            inputs=inputs,
            outputs=outputs,
            count=sum(node.times for node in members),
            macs=total([None if node.macs is None else node.macs * node.times for node in members]),
            nodes=tuple(node.node for node in members),
        )
        for (op_type, inputs, outputs), members in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: (_rank(row.macs), -(row.macs or 0), -row.count, row.op_type)))


def _rank(macs: int | None) -> int:
    return 1 if macs is None else 0 if macs else 2
