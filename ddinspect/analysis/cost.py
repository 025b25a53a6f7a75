"""Multiply-accumulates of ONNX nodes.

Formulas (one multiply-accumulate is one MAC; no bias, no factor 2, nothing for any other op):

    Conv, NhwcConv     prod(output) * (C_in / group) * prod(kernel)
    ConvTranspose      prod(input) * (C_out / group) * prod(kernel)
    MatMul, Gemm       prod(output) * K
    fused attention    B * H * M * S * (d_qk + d_v)

M and S are the numbers of query and key tokens, those of the past included, d the size of a head, H the number of
heads of the query. com.microsoft's Attention projects its input first; that MatMul counts too. Operator definitions:
ONNX and onnxruntime's ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final, TypeAlias

from ddinspect.onnxfile.dtypes import countable
from ddinspect.onnxfile.model import Node, Shape

# Looks up the shape of a tensor by name.
ShapeOf: TypeAlias = Callable[[str], Shape]
Dims: TypeAlias = tuple[int, ...]


class UnknownShapeError(Exception):
    """A formula needs a dim that is not static."""


def static(shape: Shape) -> Dims:
    """The dims of a static shape.

    Raises:
        UnknownShapeError: a dim is symbolic or unknown.
    """
    dims = [dim for dim in shape or () if isinstance(dim, int)]
    if shape is None or len(dims) != len(shape):
        raise UnknownShapeError
    return tuple(dims)


def node_macs(node: Node, shape_of: ShapeOf) -> int | None:
    """MACs of one run of a node; 0 for an op without a formula; None where a shape it needs is not static."""
    formula = _FORMULAS.get(node.op_type)
    if formula is None:
        return 0
    try:
        return countable(formula(node, shape_of))
    except (UnknownShapeError, IndexError, ZeroDivisionError):  # a rank, input or attribute that the op cannot have
        return None


def attention_macs(query: Dims, key: Dims, value: Dims, past: int = 0) -> int:
    """MACs of attention: scores (M x S per head) and their product with the values.

    Args:
        query: [B, M, H*d] or [B, H, M, d].
        key: [B, S, H*d] or [B, H, S, d].
        value: [B, S, H*d_v] or [B, H, S, d_v].
        past: Tokens that came before those of the key.

    Raises:
        UnknownShapeError: the query has its heads apart and the value has not.
    """
    if len(value) < len(query):
        raise UnknownShapeError
    tokens = key[-2] + past
    # With the heads apart, H is the query's, which may have more than key and value (grouped queries).
    heads = query[1] if len(query) == 4 else value[1] if len(value) == 4 else 1
    return prod(query) * tokens + query[0] * query[-2] * tokens * heads * value[-1]


def _conv(node: Node, shape_of: ShapeOf) -> int:
    # The weight is [C_out, C_in/group, k...] for Conv and [C_out, k..., C_in/group] for NhwcConv: the same product.
    return prod(static(shape_of(node.outputs[0]))) * prod(static(shape_of(node.inputs[1]))[1:])


def _conv_transpose(node: Node, shape_of: ShapeOf) -> int:
    # The weight is [C_in, C_out/group, k...].
    return prod(static(shape_of(node.inputs[0]))) * prod(static(shape_of(node.inputs[1]))[1:])


def _matmul(node: Node, shape_of: ShapeOf) -> int:
    inner = -2 if node.attributes.get("transA") else -1
    return prod(static(shape_of(node.outputs[0]))) * static(shape_of(node.inputs[0]))[inner]


def _input(node: Node, index: int, shape_of: ShapeOf) -> Dims:
    return static(shape_of(node.inputs[index]))


def _past(node: Node, index: int, shape_of: ShapeOf) -> int:
    """Tokens of the past, an optional input [..., tokens, size of a head]."""
    return _input(node, index, shape_of)[-2] if any(node.inputs[index : index + 1]) else 0


def _attention(node: Node, shape_of: ShapeOf) -> int:
    query, key, value = (_input(node, index, shape_of) for index in range(3))
    heads, value_heads = node.attributes.get("q_num_heads"), node.attributes.get("kv_num_heads")
    if len(query) == len(value) == 3 and isinstance(heads, int) and isinstance(value_heads, int):
        value = (*value[:2], value[2] // value_heads * heads)  # grouped queries share a value head
    return attention_macs(query, key, value, _past(node, 4, shape_of))


def _multi_head_attention(node: Node, shape_of: ShapeOf) -> int:
    query = _input(node, 0, shape_of)
    past = _past(node, 6, shape_of)
    if len(query) == 5:  # packed [B, M, H, 3, d]
        heads = (query[0], query[1], query[2] * query[4])
        return attention_macs(heads, heads, heads, past)
    key = _input(node, 1, shape_of)
    if len(key) == 5:  # packed [B, S, H, 2, d]
        packed = (key[0], key[1], key[2] * key[4])
        return attention_macs(query, packed, packed, past)
    return attention_macs(query, key, _input(node, 2, shape_of), past)


def _packed_attention(node: Node, shape_of: ShapeOf) -> int:
    data, weight = _input(node, 0, shape_of), _input(node, 1, shape_of)
    stated = node.attributes.get("qkv_hidden_sizes")
    sizes = [size for size in stated if isinstance(size, int)] if isinstance(stated, tuple) else []
    width_q, width_k, width_v = sizes if len(sizes) == 3 else [weight[1] // 3] * 3
    batch, tokens = data[0], data[1]
    query, key, value = ((batch, tokens, width) for width in (width_q, width_k, width_v))
    projection = prod(data) * (width_q + width_k + width_v)
    return projection + attention_macs(query, key, value, _past(node, 4, shape_of))


def _attention_of_either_domain(node: Node, shape_of: ShapeOf) -> int:
    return (_packed_attention if node.domain == "com.microsoft" else _attention)(node, shape_of)


_FORMULAS: Final[dict[str, Callable[[Node, ShapeOf], int]]] = {
    "Conv": _conv,
    "FusedConv": _conv,
    "NhwcConv": _conv,
    "NhwcFusedConv": _conv,
    "ConvTranspose": _conv_transpose,
    "MatMul": _matmul,
    "Gemm": _matmul,
    "FusedMatMul": _matmul,
    "FusedGemm": _matmul,
    "Attention": _attention_of_either_domain,
    "MultiHeadAttention": _multi_head_attention,
}


def total(parts: list[int | None]) -> int | None:
    """Sum of some counts of which each may be unknown; None if one is."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
