from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from ddinspect.onnxfile.convert import value_info
from ddinspect.onnxfile.dtypes import BFP16, BITS, INTEGERS, NAMES, dtype_name, is_statable, nbytes

# onnx itself says which types there are; a release behind the one the table was taken from knows fewer.
ONNX_TYPES = dict(onnx.TensorProto.DataType.items())
WHOLE_BYTES = sorted(number for number in ONNX_TYPES.values() if BITS.get(number, 0) % 8 == 0 and number in BITS)


def test_names_are_those_of_onnx() -> None:
    assert {name: NAMES[number] for name, number in ONNX_TYPES.items()} == {name: name for name in ONNX_TYPES}


@pytest.mark.parametrize("dtype", WHOLE_BYTES)
def test_size_is_that_of_numpy(dtype: int) -> None:
    assert nbytes(dtype, (3, 5)) == 15 * np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype)).itemsize


def test_every_type_but_strings_has_a_size() -> None:
    assert NAMES.keys() - BITS.keys() == {onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING}


@pytest.mark.parametrize("name", ["UINT4", "INT4", "FLOAT4E2M1", "UINT2", "INT2", "FLOAT6E2M3", "FLOAT6E3M2"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 7, 8, 9])
def test_size_of_packed_types_is_what_onnx_writes(name: str, count: int) -> None:
    if name not in ONNX_TYPES:
        pytest.skip("this onnx does not have the type yet")
    numpy_type = onnx.helper.tensor_dtype_to_np_dtype(ONNX_TYPES[name])
    packed = onnx.numpy_helper.from_array(np.zeros(count, numpy_type))
    assert packed.data_type == ONNX_TYPES[name]
    assert nbytes(ONNX_TYPES[name], (count,)) == len(packed.raw_data)


# 8 values: eight mantissas and one exponent, 9 bytes; a part of a block is a whole block.
@pytest.mark.parametrize(("shape", "size"), [((1, 64, 64, 4), 18432), ((8,), 9), ((1,), 9), ((9,), 18), ((0, 8), 0)])
def test_block_float_takes_nine_bytes_per_eight(shape: tuple[int, ...], size: int) -> None:
    assert nbytes(BFP16, shape) == size


def test_scalar_and_empty() -> None:
    assert nbytes(onnx.TensorProto.FLOAT, ()) == 4
    assert nbytes(onnx.TensorProto.FLOAT, (3, 0)) == 0


@pytest.mark.parametrize("shape", [None, (1, "batch"), (None,)])
def test_size_is_unknown_where_a_dim_is(shape: tuple[int | str | None, ...] | None) -> None:
    assert nbytes(onnx.TensorProto.FLOAT, shape) is None


@pytest.mark.parametrize("dtype", [0, onnx.TensorProto.STRING, 99])
def test_size_is_unknown_where_the_type_has_none(dtype: int) -> None:
    assert nbytes(dtype, (2,)) is None


def test_dtype_name() -> None:
    assert dtype_name(onnx.TensorProto.BFLOAT16) == "BFLOAT16"
    assert dtype_name(0) == "?"
    assert dtype_name(99) == "DTYPE(99)"
    assert dtype_name(BFP16) == "BFP16EBS8"


def test_integers_are_the_types_called_int() -> None:
    assert {NAMES[dtype] for dtype in INTEGERS} == {name for name in NAMES.values() if "INT" in name}


@pytest.mark.parametrize("dtype", [-1, -(2**31), 2**31 - 1, 99])
def test_no_number_of_a_file_is_block_float(dtype: int) -> None:
    made = helper.make_tensor_value_info("x", dtype, [8])
    info = value_info(made)
    assert (dtype_name(info.dtype), nbytes(info.dtype, info.shape)) == (f"DTYPE({dtype})", None)
    assert is_statable(dtype)
    assert not is_statable(BFP16)


def test_more_bytes_than_64_bits_count_are_unknown() -> None:
    assert nbytes(2, (2**62, 1)) == 2**62
    assert nbytes(2, (2**62, 2)) is None
    assert nbytes(BFP16, (2**62,)) == 2**62 // 8 * 9
    assert nbytes(BFP16, (2**63,)) is None
