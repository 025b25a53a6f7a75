"""Multiply-accumulates of fused ops, from the shapes that the metadata records.

Same formulas as for the ONNX ops they stand for (see `cost`). Activations have their shapes in the tensor map; weights
are stored packed, so theirs come from the attributes. Which types of fused op multiply at all goes by name: the public
lists are long, grow, and name every variant after its main op (`SDConv_bfp`, `SDGemmConcat`, `Conv1x1_noqdq`).
"""

from __future__ import annotations

from math import prod
from typing import Final

from ddinspect.analysis.cost import Dims, UnknownShapeError, attention_macs
from ddinspect.artifacts.metadata import FusedOp, Metadata
from ddinspect.onnxfile.dtypes import countable
from ddinspect.onnxfile.model import Dim

# Whole blocks in one op, and ops whose second product the metadata does not describe: there is no formula for these.
_OPAQUE: Final = ("MLP", "Fusion", "GemmGemm", "MatMulNBits", "ConvTranspose", "Deconv")


def fused_macs(op: FusedOp, metadata: Metadata) -> int | None:
    """MACs of one run of a fused op; 0 for one that multiplies nothing; None where a shape is not recorded."""
    macs = _macs(op, metadata)
    return None if macs is None else countable(macs)


def _macs(op: FusedOp, metadata: Metadata) -> int | None:
    name = op.type.lower()
    if any(word.lower() in name for word in _OPAQUE):
        return None
    try:
        if "mha" in name:
            return _attention(op, metadata)
        if "conv" in name:
            return _conv(op)
        if "gemm" in name:
            return _gemm(op)
        if "matmul" in name:
            return _matmul(op, metadata)
    except (KeyError, ValueError, IndexError, UnknownShapeError):  # a shape is missing, not static, or of another rank
        return None
    return 0


def _attribute_shape(op: FusedOp, name: str) -> Dims:
    """A shape among the attributes. Raises KeyError if there is none, ValueError if it is not static."""
    return _static(tuple(int(dim) for dim in op.attrs[name]))


def _tensor_shape(metadata: Metadata, name: str) -> Dims:
    """The shape of an activation. Raises KeyError, ValueError as above."""
    return _static(metadata.tensors[name].shape)


def _static(shape: tuple[Dim, ...]) -> Dims:
    """A shape without symbolic dims, which are recorded as 0. Raises ValueError if there is one."""
    dims = tuple(dim for dim in shape if isinstance(dim, int) and dim > 0)
    if len(dims) != len(shape):
        raise ValueError(shape)
    return dims


def _conv(op: FusedOp) -> int:
    output, weight = _attribute_shape(op, "output_shape"), _attribute_shape(op, "weight_shape")
    if len(weight) != 4:
        raise ValueError(op.name)
    return prod(output) * prod(weight[1:])  # weight [C_out, k_y, k_x, C_in/group]


def _gemm(op: FusedOp) -> int:
    data, weight = _attribute_shape(op, "input_shape"), _attribute_shape(op, "weight_shape")
    if len(weight) != 2 or data[-1] != weight[0]:
        raise ValueError(op.name)
    return prod(data) * weight[1]  # weight [K, N]


def _matmul(op: FusedOp, metadata: Metadata) -> int:
    if len(op.in_args) < 2:
        return _gemm(op)
    first, output = (_tensor_shape(metadata, name) for name in (op.in_args[0], op.out_args[0]))
    return prod(output) * first[-1]


def _attention(op: FusedOp, metadata: Metadata) -> int:
    query, key, value = (_tensor_shape(metadata, name) for name in op.in_args[:3])
    return attention_macs(query, key, value)
