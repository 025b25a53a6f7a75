"""Read the values of one tensor, on demand."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ddinspect.errors import UnreadableInputError
from ddinspect.onnxfile.dtypes import dtype_name
from ddinspect.onnxfile.model import Tensor
from ddinspect.onnxfile.schema import message_classes
from ddinspect.onnxfile.view import opened
from ddinspect.onnxfile.wire import bytes_field

if TYPE_CHECKING:
    import numpy.typing as npt


def read_tensor(model_path: str | os.PathLike[str], tensor: Tensor) -> npt.NDArray[Any]:
    """The values of a tensor that is stored in the model file itself.

    Returns:
        Array of shape `tensor.dims`; bfloat16 and the 8-bit and smaller floats come as the ml_dtypes type.

    Raises:
        UnreadableInputError: the values are kept outside the file, are sparse, or do not fill the dims.
    """
    name = os.fspath(model_path)
    if tensor.external is not None or tensor.sparse:
        kind = "in external data" if tensor.external is not None else "as a sparse tensor"
        raise UnreadableInputError(name, f"the values of `{tensor.name}` are stored {kind}", "read them from there")
    from onnx import numpy_helper

    values = b""
    if tensor.payload is not None:
        with opened(model_path) as buffer:
            values = buffer[tensor.payload.offset : tensor.payload.offset + tensor.payload.size]
    try:
        array: npt.NDArray[Any] = numpy_helper.to_array(_tensor_proto(tensor, values))
        if array.shape != tensor.dims:  # numpy works out a dim of -1
            raise ValueError(array.shape)
    except Exception as error:  # protobuf and numpy raise classes of their own for values that do not fit
        problem = f"`{tensor.name}` does not hold {dtype_name(tensor.dtype)} values of shape {list(tensor.dims)}"
        raise UnreadableInputError(name, problem, "export or download the model again") from error
    return array


def _tensor_proto(tensor: Tensor, values: bytes) -> Any:
    """The TensorProto as it stands in the file."""
    cls = message_classes().TensorProto
    if tensor.payload is None:
        return cls.FromString(tensor.inline or b"")
    if tensor.payload.field:
        values = bytes_field(cls.DESCRIPTOR.fields_by_name[tensor.payload.field].number, values)
    proto = cls.FromString(values)
    proto.data_type = tensor.dtype
    proto.dims[:] = tensor.dims
    return proto
