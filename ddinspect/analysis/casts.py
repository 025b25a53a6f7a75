"""BF16 casts, and casts that follow each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ddinspect.analysis.border_values import BlockFloatEdge, CastItem, CastPair, Casts
from ddinspect.analysis.split import Split
from ddinspect.onnxfile.dispatch import is_dispatch
from ddinspect.onnxfile.dtypes import BFLOAT16, UINT8, UNDEFINED, dtype_name
from ddinspect.onnxfile.model import Node
from ddinspect.onnxfile.scopes import Expansion, Scope

_NAMED: Final = 3  # readers in a reason: thousands may read one tensor
_CAST_TYPES: Final = frozenset({"Cast", "CastAvx"})

# Element types as the numbers they hold: (significant bits, lowest and highest power of two) for floats, as IEEE 754
# and bfloat16 define them; (bits, signed) for integers, BOOL (9) being one of one bit. Types not listed hold nothing
# for certain.
_FLOATS: Final[dict[int, tuple[int, int, int]]] = {
    1: (24, -149, 127),
    10: (11, -24, 15),
    11: (53, -1074, 1023),
    16: (8, -133, 127),
}
_INTEGERS: Final[dict[int, tuple[int, bool]]] = {
    2: (8, False), 3: (8, True), 4: (16, False), 5: (16, True), 6: (32, True), 7: (64, True), 9: (1, False),
    12: (32, False), 13: (64, False), 21: (4, False), 22: (4, True), 25: (2, False), 26: (2, True),
}  # fmt: skip


class CastTypes(NamedTuple):
    """Element types on both sides of a cast; 0 where the file does not say."""

    source: int
    target: int


def cast_types(expansion: Expansion, scope: Scope, node: Node) -> CastTypes | None:
    """The types a Cast or CastAvx, of any domain, converts between; None if it is neither."""
    if node.op_type not in _CAST_TYPES or not node.inputs or not node.outputs:
        return None
    stated = node.attributes.get("to")
    target = stated if isinstance(stated, int) else expansion.type_of(scope, node.outputs[0]).dtype
    return CastTypes(expansion.type_of(scope, node.inputs[0]).dtype, target)


def is_bf16_cast(expansion: Expansion, scope: Scope, node: Node) -> bool:
    """Whether exactly one side of a cast is BFLOAT16. A side of unknown type is taken not to be."""
    types = cast_types(expansion, scope, node)
    return types is not None and (types.source == BFLOAT16) != (types.target == BFLOAT16)


def holds(middle: int, outer: int) -> bool:
    """Whether every value of the element type `outer` survives a cast to `middle` and back.

    NaN payloads aside, which no arithmetic sees.
    """
    if middle == outer:
        return middle != UNDEFINED
    if outer in _FLOATS:
        if middle not in _FLOATS:
            return False
        bits, low, high = _FLOATS[outer]
        middle_bits, middle_low, middle_high = _FLOATS[middle]
        return middle_bits >= bits and middle_low <= low and middle_high >= high
    if outer in _INTEGERS:
        bits, signed = _INTEGERS[outer]
        if middle in _FLOATS:
            middle_bits, _, _ = _FLOATS[middle]
            return middle_bits >= bits - signed  # a float that is this precise reaches that far, too
        if middle in _INTEGERS:
            middle_integer_bits, middle_signed = _INTEGERS[middle]
            room = middle_integer_bits - (middle_signed and not signed)
            return room >= bits and (middle_signed or not signed)
    return False


def casts(split: Split) -> Casts:
    """Every BF16 cast of a model, pairs that undo each other, and block-float tensors at DD nodes."""
    items = tuple(item for flow in split.flows for item in _items(split, flow.scope))
    return Casts(
        to_bf16=sum(item.times for item in items if item.direction == "to_bf16"),
        from_bf16=sum(item.times for item in items if item.direction == "from_bf16"),
        items=items,
        cancelling=tuple(pair for flow in split.flows for pair in _pairs(split, flow.scope)),
        block_float=tuple(edge for flow in split.flows for edge in _block_float(split, flow.scope)),
    )


def _items(split: Split, scope: Scope) -> Iterator[CastItem]:
    for node in split.left(scope):
        types = cast_types(split.expansion, scope, node)
        if types is None or not is_bf16_cast(split.expansion, scope, node):
            continue
        to_bf16 = types.target == BFLOAT16
        tensor = node.outputs[0] if to_bf16 else node.inputs[0]
        yield CastItem(
            node=scope.qualified(node.id),
            op_type=node.op_type,
            direction="to_bf16" if to_bf16 else "from_bf16",
            tensor=split.tensor_id(scope, tensor),
            shape=split.type_of(scope, tensor).shape,
            bytes=split.bytes_of(scope, tensor),
            from_dtype=dtype_name(types.source),
            to_dtype=dtype_name(types.target),
            between=split.between(scope, node.inputs[0], node.outputs[0]),
            times=scope.times,
        )


def _pairs(split: Split, scope: Scope) -> Iterator[CastPair]:
    flow = split.flows[scope.index]
    for second in split.left(scope):
        outer = cast_types(split.expansion, scope, second)
        maker = flow.maker.get(second.inputs[0]) if outer is not None else None
        if outer is None or maker is None:
            continue
        first = scope.nodes[maker]
        inner = cast_types(split.expansion, scope, first)
        # A cast to the type it came from is no conversion, and unknown types prove nothing.
        if inner is None or inner.source != outer.target or inner.source in (inner.target, UNDEFINED):
            continue
        preserving = holds(inner.target, inner.source)
        readers = [scope.nodes[reader].id for reader in flow.readers[first.outputs[0]] if reader != second.index]
        yield CastPair(
            first=scope.qualified(first.id),
            second=scope.qualified(second.id),
            outer_dtype=dtype_name(inner.source),
            middle_dtype=dtype_name(inner.target),
            lossless=preserving and not readers and first.outputs[0] not in scope.outputs,
            value_preserving=preserving,
            reason=_why_kept(scope, first, preserving, readers, inner),
        )


def _why_kept(scope: Scope, first: Node, preserving: bool, readers: list[str], types: CastTypes) -> str | None:
    middle = first.outputs[0]
    if not preserving:
        return f"{dtype_name(types.target)} does not hold every value of {dtype_name(types.source)}"
    if readers:
        more = f" and {len(readers) - _NAMED} more" if len(readers) > _NAMED else ""
        return f"{middle} is also read by {', '.join(readers[:_NAMED])}{more}"
    return f"{middle} is a graph output" if middle in scope.outputs else None


def _block_float(split: Split, scope: Scope) -> Iterator[BlockFloatEdge]:
    names = (name for node in split.dispatched(scope) for name in (*node.inputs, *node.outputs) if name)
    for name in dict.fromkeys(names):
        certain = split.is_block_float(scope, name)
        if not certain and not (
            split.type_of(scope, name).dtype == UINT8 and _is_between_custom_ops(split, scope, name)
        ):
            continue
        info = split.type_of(scope, name)
        yield BlockFloatEdge(
            tensor=split.tensor_id(scope, name),
            shape=info.shape,
            bytes=split.bytes_of(scope, name),
            between=split.between(scope, name, name),
            certain=certain,
        )


def _is_between_custom_ops(split: Split, scope: Scope, name: str) -> bool:
    """Whether a DD node or an op of a domain of its own makes a tensor and only such ops read it.

    No standard op sees its bytes then.
    """
    flow = split.flows[scope.index]
    maker = flow.maker.get(name)
    ends = [*(() if maker is None else (maker,)), *flow.readers.get(name, ())]
    return (
        maker is not None
        and len(ends) > 1
        and name not in scope.outputs
        and all(is_dispatch(scope.nodes[at]) or scope.nodes[at].domain not in ("", "ai.onnx") for at in ends)
    )
