"""ONNX element types: their names and how many bytes a tensor of one takes.

Source: `TensorProto.DataType` in onnx.proto (ONNX 1.23). The table is spelled out so that naming a type does not
cost an `import onnx`; a test holds it against the installed package.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ddinspect.onnxfile.model import Shape

UNDEFINED: Final = 0
FLOAT: Final = 1
UINT8: Final = 2
INT32: Final = 6
INT64: Final = 7
FLOAT16: Final = 10
DOUBLE: Final = 11
BFLOAT16: Final = 16

# Not an ONNX type: AMD's metadata calls tensors of 8 values sharing one exponent `bfp16ebs8`; in the graph they are
# UINT8. The element type of a file is an int32, so no file can state this number.
BFP16: Final = 1 << 32

NAMES: Final[dict[int, str]] = {
    0: "UNDEFINED",
    1: "FLOAT",
    2: "UINT8",
    3: "INT8",
    4: "UINT16",
    5: "INT16",
    6: "INT32",
    7: "INT64",
    8: "STRING",
    9: "BOOL",
    10: "FLOAT16",
    11: "DOUBLE",
    12: "UINT32",
    13: "UINT64",
    14: "COMPLEX64",
    15: "COMPLEX128",
    16: "BFLOAT16",
    17: "FLOAT8E4M3FN",
    18: "FLOAT8E4M3FNUZ",
    19: "FLOAT8E5M2",
    20: "FLOAT8E5M2FNUZ",
    21: "UINT4",
    22: "INT4",
    23: "FLOAT4E2M1",
    24: "FLOAT8E8M0",
    25: "UINT2",
    26: "INT2",
    27: "FLOAT6E2M3",
    28: "FLOAT6E3M2",
}

BITS: Final[dict[int, int]] = {
    1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 14: 64, 15: 128, 16: 16,
    17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2, 27: 6, 28: 6,
}  # fmt: skip

INTEGERS: Final = frozenset({2, 3, 4, 5, 6, 7, 12, 13, 21, 22, 25, 26})


def is_statable(dtype: int) -> bool:
    """Whether the element type is one that an ONNX file can hold: known or not, but no block float."""
    return dtype != UNDEFINED and -(1 << 31) <= dtype < 1 << 31


def dtype_name(dtype: int) -> str:
    """The ONNX name of an element type; `?` if the file does not say, `DTYPE(99)` if ONNX has no such type."""
    if dtype == UNDEFINED:
        return "?"
    if dtype == BFP16:
        return "BFP16EBS8"
    return NAMES.get(dtype, f"DTYPE({dtype})")


def nbytes(dtype: int, shape: Shape) -> int | None:
    """Bytes of a dense tensor: elements x type size, rounded up to whole bytes.

    Block float (`BFP16`) takes 9 bytes per 8 values: one shared exponent and eight 8-bit mantissas.

    Returns:
        None if a dim is symbolic or unknown, the size of the type is not fixed (strings, unknown types), or there are
        more bytes than a 64-bit number can count.
    """
    if shape is None:
        return None
    dims = [dim for dim in shape if isinstance(dim, int)]
    if len(dims) != len(shape):
        return None
    if dtype == BFP16:
        return countable(-(-prod(dims) // 8) * 9)
    bits = BITS.get(dtype)
    return None if bits is None else countable(-(-prod(dims) * bits // 8))


def countable(number: int) -> int | None:
    """A number of bytes or operations; None if it is beyond 64 bits, which only invented dims come to."""
    return number if number < 1 << 63 else None
