"""NCHW<->NHWC conversions, and conversions that undo each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ddinspect.analysis.border_values import Layout, LayoutDirection, LayoutItem, LayoutPair
from ddinspect.analysis.split import Split
from ddinspect.onnxfile.model import Dim, Node
from ddinspect.onnxfile.scopes import Expansion, Scope

_PERMS: Final[dict[tuple[int, ...], LayoutDirection]] = {(0, 2, 3, 1): "to_nhwc", (0, 3, 1, 2): "to_nchw"}


def transpose_direction(node: Node) -> LayoutDirection | None:
    """The conversion a Transpose is: rank 4, perm (0,2,3,1) or (0,3,1,2); None for any other node."""
    perm = node.attributes.get("perm")
    if node.op_type != "Transpose" or not isinstance(perm, tuple):
        return None
    return _PERMS.get(tuple(axis for axis in perm if isinstance(axis, int)))


def reshape_direction(expansion: Expansion, scope: Scope, node: Node) -> LayoutDirection | None:
    """The conversion a Reshape amounts to because the dims it moves are 1; None if it is none."""
    if node.op_type != "Reshape" or not node.inputs or not node.outputs:
        return None
    before = expansion.type_of(scope, node.inputs[0]).shape
    after = expansion.type_of(scope, node.outputs[0]).shape
    if before is None or after is None or len(before) != 4 or len(after) != 4 or before == after:
        return None
    return next((direction for perm, direction in _PERMS.items() if _moves_ones(before, after, perm)), None)


def _moves_ones(before: tuple[Dim, ...], after: tuple[Dim, ...], perm: tuple[int, ...]) -> bool:
    """Whether transposing by `perm` gives the shape `after` and leaves the order of the values as it is."""
    if None in before or tuple(before[axis] for axis in perm) != after:
        return False
    moved = [axis for axis in perm if before[axis] != 1]
    return moved == sorted(moved)


def layout(split: Split) -> Layout:
    """Every layout conversion of a model and the pairs that undo each other."""
    items = tuple(item for flow in split.flows for item in _items(split, flow.scope))
    pairs = [pair for flow in split.flows for pair in _pairs(split, flow.scope)]
    return Layout(
        to_nhwc=sum(item.times for item in items if item.direction == "to_nhwc"),
        to_nchw=sum(item.times for item in items if item.direction == "to_nchw"),
        items=items,
        cancelling=tuple(pair for pair in pairs if not pair.blockers),
        blocked=tuple(pair for pair in pairs if pair.blockers),
    )


def _direction(split: Split, scope: Scope, node: Node) -> LayoutDirection | None:
    """The conversion of a boundary node; a Reshape counts only where it is one."""
    if split.role(scope, node.index) != "boundary":
        return None
    return transpose_direction(node) or reshape_direction(split.expansion, scope, node)


def _items(split: Split, scope: Scope) -> Iterator[LayoutItem]:
    for node in split.left(scope):
        direction = _direction(split, scope, node)
        if direction is None:
            continue
        tensor = node.inputs[0] if node.inputs else ""
        yield LayoutItem(
            node=scope.qualified(node.id),
            op_type=node.op_type,
            how="explicit" if node.op_type == "Transpose" else "reshape-like",
            direction=direction,
            tensor=split.tensor_id(scope, tensor),
            shape=split.type_of(scope, tensor).shape,
            bytes=split.bytes_of(scope, tensor),
            between=split.between(scope, tensor, node.outputs[0] if node.outputs else ""),
            times=scope.times,
        )


def _pairs(split: Split, scope: Scope) -> Iterator[LayoutPair]:
    """Pairs of opposite conversions with nothing, or only a chain of nodes, between them.

    The chain is followed from the second conversion upward through the first input of each node, as long as nothing
    else reads what lies between and no DD node or other conversion stands in the way.
    """
    flow = split.flows[scope.index]
    for second in split.left(scope):
        wanted = _direction(split, scope, second)
        if wanted is None:
            continue
        chain: list[str] = []
        tensor = second.inputs[0] if second.inputs else ""
        reader = second.index
        seen = {second.index}
        while (maker := flow.maker.get(tensor)) is not None and maker not in seen:
            if set(flow.readers[tensor]) != {reader} or tensor in scope.outputs:
                break
            seen.add(maker)
            node = scope.nodes[maker]
            found = _direction(split, scope, node)
            if found is not None:
                if found != wanted:
                    yield LayoutPair(
                        first=scope.qualified(node.id), second=scope.qualified(second.id), blockers=tuple(chain[::-1])
                    )
                break
            if split.role(scope, maker) in ("npu", "call") or node.bodies or not node.inputs:
                break
            chain.append(scope.qualified(node.id))
            tensor, reader = node.inputs[0], maker
