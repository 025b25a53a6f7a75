from __future__ import annotations

import struct
from pathlib import Path

import msgspec
import numpy as np
import pytest
from onnx import SparseTensorProto, TensorProto, helper, numpy_helper

from ddinspect.errors import UnreadableInputError
from ddinspect.onnxfile.model import Payload, Tensor
from ddinspect.onnxfile.payload import read_tensor
from ddinspect.onnxfile.reader import read_model
from ddinspect.onnxfile.wire import bytes_field
from fixtures.small_graphs import write
from fixtures.small_graphs.build import model, save


def saved(folder: Path, *initializers: TensorProto) -> tuple[Path, tuple[Tensor, ...]]:
    path = save(folder, model([], [], [], initializers=initializers))
    return path, read_model(path).graph.initializers


@pytest.mark.parametrize("place", [0, 1], ids=["raw", "int32_data"])
def test_bfloat16(place: int, tmp_path: Path) -> None:
    path = write("t6_bf16_constants", tmp_path)
    values = read_tensor(path, read_model(path).graph.initializers[place])
    # The nearest values with 8 significant bits: 3.14159 -> 201/64, 1e-40 -> 2^-133, 65504 -> 2^16.
    expected = [1, -2.5, 201 / 64, np.nan, np.inf, -np.inf, 2.0**-133, 65536]
    np.testing.assert_array_equal(values.astype(np.float64), expected)
    assert values.dtype.name == "bfloat16"


@pytest.mark.parametrize("dtype", sorted(set(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}))
@pytest.mark.parametrize("count", [6, 3000], ids=["kept", "left in the file"])
@pytest.mark.parametrize("raw", [True, False], ids=["raw", "typed"])
def test_every_type_reads_as_onnx_reads_it(dtype: int, count: int, raw: bool, tmp_path: Path) -> None:
    if dtype == TensorProto.STRING:
        if raw:
            pytest.skip("strings are never raw")
        made = TensorProto(dims=[2, count // 2], data_type=dtype, string_data=[b"word%d" % i for i in range(count)])
    else:
        values = np.arange(count).reshape(2, -1) % 2
        array = values.astype(helper.tensor_dtype_to_np_dtype(dtype))
        made = numpy_helper.from_array(array)
        if not raw:
            made = helper.make_tensor("", dtype, made.dims, [0, 1] * (count // 2))
    made.name = "w"
    path, (tensor,) = saved(tmp_path, made)
    assert (tensor.payload is not None) == (len(made.SerializeToString()) > 1100)
    assert (tensor.payload is None) != (tensor.inline is None)
    values_read = read_tensor(path, tensor)
    expected = numpy_helper.to_array(made)
    assert values_read.tolist() == expected.tolist() or values_read.tobytes() == expected.tobytes()  # NaN is not NaN
    assert (values_read.dtype, values_read.shape) == (expected.dtype, (2, count // 2))


def test_values_split_over_several_fields(tmp_path: Path) -> None:
    halves = [np.arange(300, dtype="<f4"), np.arange(300, 600, dtype="<f4")]
    packed = b"".join(bytes_field(4, half.tobytes()) for half in halves)  # field 4: float_data
    content = packed + TensorProto(name="w", dims=[600], data_type=1).SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(bytes_field(7, bytes_field(5, content)))
    (tensor,) = read_model(path).graph.initializers
    np.testing.assert_array_equal(read_tensor(path, tensor), np.arange(600))


@pytest.mark.parametrize(
    "made",
    [
        TensorProto(data_type=1, dims=[500], raw_data=bytes(1999)),
        TensorProto(data_type=1, dims=[500], raw_data=bytes(1996)),
        TensorProto(data_type=1, dims=[2], raw_data=bytes(4)),
        TensorProto(data_type=1, dims=[2], float_data=[1.0]),
        TensorProto(data_type=1, dims=[-2], raw_data=bytes(8)),
        TensorProto(data_type=1, dims=[2**62, 2**62], raw_data=bytes(8)),
        TensorProto(data_type=99, dims=[2000], raw_data=bytes(2000)),
        TensorProto(data_type=0, dims=[1], raw_data=bytes(1)),
        TensorProto(data_type=8, dims=[1], string_data=[b"\xff"]),
    ],
)
def test_values_that_do_not_fit_are_an_error_of_ours(made: TensorProto, tmp_path: Path) -> None:
    made.name = "two\nlines"
    path, (tensor,) = saved(tmp_path, made)
    with pytest.raises(UnreadableInputError, match=r"`two\\nlines` does not hold .* values of shape \["):
        read_tensor(path, tensor)


def test_packed_numbers_that_are_cut(tmp_path: Path) -> None:
    """1201 bytes of packed floats: left in the file unseen, so the parser never got to refuse them."""
    path = tmp_path / "model.onnx"
    content = bytes_field(4, bytes(1201)) + TensorProto(name="w", dims=[300], data_type=1).SerializeToString()
    path.write_bytes(bytes_field(7, bytes_field(5, content)))
    (tensor,) = read_model(path).graph.initializers
    with pytest.raises(UnreadableInputError, match="`w` does not hold FLOAT values of shape"):
        read_tensor(path, tensor)


def test_the_file_has_changed_since(tmp_path: Path) -> None:
    path, (tensor,) = saved(tmp_path, TensorProto(name="w", data_type=1, dims=[500], raw_data=bytes(2000)))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UnreadableInputError, match="`w` does not hold"):
        read_tensor(path, tensor)
    path.unlink()
    with pytest.raises(UnreadableInputError, match="no such file"):
        read_tensor(path, tensor)


def test_values_that_lie_elsewhere(tmp_path: Path) -> None:
    path = write("t5_present", tmp_path)
    with pytest.raises(UnreadableInputError, match="`W` are stored in external data"):
        read_tensor(path, read_model(path).graph.initializers[0])


def test_sparse_values(tmp_path: Path) -> None:
    values = TensorProto(name="s", data_type=1, dims=[1], raw_data=struct.pack("<f", 1))
    indices = TensorProto(data_type=7, dims=[1], int64_data=[3])
    made = model([], [], [])
    made.graph.sparse_initializer.append(SparseTensorProto(values=values, indices=indices, dims=[9]))
    path = save(tmp_path, made)
    with pytest.raises(UnreadableInputError, match="`s` are stored as a sparse tensor"):
        read_tensor(path, read_model(path).graph.initializers[0])


def test_only_the_bytes_of_the_tensor_are_read(tmp_path: Path) -> None:
    path = tmp_path / "values"
    path.write_bytes(b"....\x00\x00\x80\x3f....")  # 1.0 as a little-endian float
    tensor = Tensor("w", 1, (), Payload(4, 4, "raw_data"))
    assert read_tensor(path, tensor) == 1.0
    with pytest.raises(UnreadableInputError):
        read_tensor(path, msgspec.structs.replace(tensor, payload=Payload(4, 5, "raw_data")))
