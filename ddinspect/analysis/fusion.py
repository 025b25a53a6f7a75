"""Fused ops: how many, of which type, in which DD node.

The rule per DD node: with metadata, the entries of `replaced` that are found in it, duplicates counted; with metadata
but no `replaced`, its op list; without metadata, the length of `replaced`; with neither, unknown. AMD's own report
reads 0 where the metadata is missing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import msgspec

from ddinspect.analysis.cost import total
from ddinspect.analysis.fused_cost import fused_macs
from ddinspect.analysis.signature import signatures
from ddinspect.analysis.split import Split
from ddinspect.analysis.values import DDNode, DeviceMemory, Fusion, NameInDDNode
from ddinspect.artifacts.metadata import Metadata
from ddinspect.onnxfile.dispatch import model_type, repeated, replaced, xclbin
from ddinspect.onnxfile.model import Node
from ddinspect.onnxfile.scopes import Scope


class Count(msgspec.Struct, frozen=True):
    """Fused ops in one DD node.

    Attributes:
        total: None if nothing says.
        by_type: Of those whose type is known.
        unresolved: Entries of `replaced` that the metadata does not have.
    """

    total: int | None
    by_type: Mapping[str, int]
    unresolved: tuple[str, ...] = ()


def count(names: tuple[str, ...] | None, metadata: Metadata | None) -> Count:
    """Count the fused ops of one DD node from its `replaced` attribute and its metadata."""
    if metadata is None:
        return Count(None if names is None else len(names), {})
    if names is None:
        return Count(len(metadata.ops), Counter(op.type for op in metadata.ops))
    types: defaultdict[str, list[str]] = defaultdict(list)
    for op in metadata.ops:
        types[op.name].append(op.type)
    by_type: Counter[str] = Counter()
    for name in names:
        if found := types.get(name):
            # Ops of one name are told apart by their order; the last one stands for any further mention.
            by_type[found.pop(0) if len(found) > 1 else found[0]] += 1
    unresolved = tuple(name for name in names if name not in types)
    return Count(by_type.total(), by_type, unresolved)


def fusion(split: Split, metadata: Mapping[str, Metadata]) -> Fusion:
    """Fused ops of every DD node.

    Args:
        split: The model.
        metadata: By name of the DD node.
    """
    nodes = tuple(
        _dd_node(split, flow.scope, node, metadata.get(node.name))
        for flow in split.flows
        for node in split.dispatched(flow.scope)
    )
    by_type: Counter[str] = Counter()
    for dd_node in nodes:
        for op_type, number in dd_node.by_type.items():
            by_type[op_type] += number * dd_node.times
    listed = Counter(
        name for flow in split.flows for node in split.dispatched(flow.scope) for name in set(replaced(node) or ())
    )
    return Fusion(
        by_type=dict(sorted(by_type.items())) if all(dd_node.meta for dd_node in nodes) else None,
        types=tuple(sorted(by_type)) or None,
        dd_nodes=nodes,
        unresolved=tuple(
            NameInDDNode(dd_node=dd_node.node, name=name) for dd_node in nodes for name in dd_node.unresolved
        ),
        shared=tuple(sorted(name for name, number in listed.items() if number > 1)),
    )


def _dd_node(split: Split, scope: Scope, node: Node, metadata: Metadata | None) -> DDNode:
    names = replaced(node)
    counted = count(names, metadata)
    return DDNode(
        node=scope.qualified(node.id),
        name=node.name,
        op_type=node.op_type,
        domain=node.domain,
        scope=scope.path,
        times=scope.times,
        fused_ops=counted.total,
        source="meta" if metadata is not None else ("replaced" if names is not None else None),
        by_type=dict(sorted(counted.by_type.items())),
        meta=metadata.path if metadata is not None else None,
        inputs=signatures(split, scope, node.inputs),
        outputs=signatures(split, scope, node.outputs),
        xclbin=xclbin(node),
        model_type=model_type(node),
        memory=_memory(metadata),
        macs=total([fused_macs(op, metadata) for op in metadata.ops]) if metadata is not None else None,
        unresolved=counted.unresolved,
        repeated=repeated(names or ()),
    )


def _memory(metadata: Metadata | None) -> DeviceMemory | None:
    if metadata is None or not metadata.buffers:
        return None
    sizes = {label: buffer.size for label, buffer in metadata.buffers.items()}
    return DeviceMemory(
        input=sizes.get("in", 0),
        output=sizes.get("out", 0),
        scratch=sizes.get("scratch", 0),
        const=sizes.get("const", 0),
    )
