"""DynamicDispatch metadata: the JSON that says which fused ops a DD node runs and where its tensors lie.

Two forms exist. `<node name>_meta.json` holds one DD node and has `op_list` at the top. The combined `meta.json` maps
DD node names to such objects. The form is the one that AMD's public writer (amd/DynamicDispatch) produces.

Values are kept as the file states them, unchecked: sizes may be wrong and file names may point anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec

from ddinspect.artifacts.sidefile import read_side_file
from ddinspect.errors import UnreadableInputError
from ddinspect.onnxfile.model import Dim

COMBINED_NAME: Final = "meta.json"
_SUFFIX: Final = "_meta"
_BOM: Final = b"\xef\xbb\xbf"
_SHOWN: Final = 80  # characters of a key that an error message quotes


class ForeignMetadataError(UnreadableInputError):
    """A JSON file that is no DynamicDispatch metadata, whatever its name says."""


class FusedOp(msgspec.Struct, frozen=True):
    """One entry of an op list.

    Attributes:
        in_args: Inputs that are not constants.
        const_args: Constant inputs.
        attrs: Attribute name -> values, as the text in the file (`"64"`); empty where the writer left null.
    """

    name: str
    type: str
    in_args: tuple[str, ...]
    const_args: tuple[str, ...]
    out_args: tuple[str, ...]
    attrs: Mapping[str, tuple[str, ...]]


class MetaTensor(msgspec.Struct, frozen=True):
    """Where a tensor lies in the buffers of its DD node.

    Attributes:
        label: The buffer: `in`, `out`, `scratch`, `const`.
        dtype: `bfloat16`, `float`, `bfp16ebs8`, ... as the file writes it.
        shape: A symbolic dim is written as 0.
        size_in_bytes: Of the tensor, in the buffer.
        offset: First byte in the buffer.
        file_name: Constants only: the file with the values, relative to the folder above `cache`. Its separator is
            that of the machine that wrote it, so a back-slash is likely.
        file_size: Bytes of the values.
        file_offset: First byte in that file; combined form only.
    """

    label: str
    dtype: str
    shape: tuple[Dim, ...]
    size_in_bytes: int
    offset: int
    file_name: str | None = None
    file_size: int | None = None
    file_offset: int | None = None


class Buffer(msgspec.Struct, frozen=True):
    """One buffer of a DD node: its size in bytes and the tensors packed into it, in packing order."""

    size: int
    tensors: tuple[str, ...]


class Metadata(msgspec.Struct, frozen=True):
    """The metadata of one DD node.

    Attributes:
        node: Name of the DD node it is for: the file's stem without `_meta`, or the key in the combined form.
        path: The file, as the caller gave it.
        version: (major, minor); None if the file does not state both. AMD's loader wants both.
        ops: In file order, entries of the same name kept.
        buffers: By label: `in`, `out`, `scratch`, `const`, `super_instr`.
        tensors: By name.
        combined: It comes from the combined form, which newer runtimes do not read.
    """

    node: str
    path: str
    version: tuple[int, int] | None
    ops: tuple[FusedOp, ...]
    buffers: Mapping[str, Buffer]
    tensors: Mapping[str, MetaTensor]
    combined: bool = False


# A number of bytes, as far as any machine can count them.
_Size = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class _JsonAttr(msgspec.Struct, gc=False):
    value: tuple[str | int | float | bool, ...] | None = None


class _JsonOp(msgspec.Struct):
    name: str
    type: str
    in_args: tuple[str, ...] = ()
    const_args: tuple[str, ...] = ()
    out_args: tuple[str, ...] = ()
    attrs: dict[str, _JsonAttr | None] | None = None


class _JsonTensor(msgspec.Struct, gc=False):
    packed_buffer_label: str
    dtype: str
    shape: tuple[Dim, ...]
    size_in_bytes: _Size
    offset: _Size
    file_name: str | None = None
    file_size: _Size | None = None
    file_offset: _Size | None = None


class _JsonBuffer(msgspec.Struct):
    buffer_size: _Size
    packed_tensors: tuple[str, ...] = ()


class _JsonGraph(msgspec.Struct):
    op_list: tuple[_JsonOp, ...]
    dd_meta_major_version: int | None = None
    dd_meta_minor_version: int | None = None
    fused_tensors: dict[str, _JsonBuffer] = {}
    tensor_map: dict[str, _JsonTensor] = {}


_Json: TypeAlias = bytes | msgspec.Raw
_T = TypeVar("_T")


def read_metadata(path: str | os.PathLike[str]) -> tuple[Metadata, ...]:
    """Read one metadata file; the combined form gives one value per DD node, in file order.

    Keys that this package has no use for (`aux_info`, `state_table_updates`, ...) are skipped, and so is what later
    writers may add.

    Raises:
        ForeignMetadataError: the file is JSON without an op list.
        UnreadableInputError: the file cannot be read, is no JSON, or holds a value of the wrong type. The message says
            which and where.
    """
    name = os.fspath(path)
    data = read_side_file(path).removeprefix(_BOM)
    if not data.strip():
        raise UnreadableInputError(name, "an empty file", "copy or download it again")
    if data.lstrip()[:1] == b"[":
        raise ForeignMetadataError(name, "no DynamicDispatch metadata: a JSON list")
    top = _decode(name, data, dict[str, msgspec.Raw])
    if "op_list" in top:
        graph = _decode(name, data, _JsonGraph)
        return (_metadata(graph, Path(name).stem.removesuffix(_SUFFIX), name, combined=False),)
    if not top:
        raise ForeignMetadataError(name, "no DynamicDispatch metadata: an empty JSON object")
    return tuple(_from_combined(name, key, value) for key, value in top.items())


def _from_combined(path: str, node: str, value: msgspec.Raw) -> Metadata:
    where = f" in {_quote(node)}"
    # AMD's own report tells the two forms apart by this test.
    if bytes(memoryview(value)[:1]) != b"{" or "op_list" not in _decode(path, value, dict[str, msgspec.Raw], where):
        raise ForeignMetadataError(path, f"no DynamicDispatch metadata: no `op_list` at the top or in {_quote(node)}")
    return _metadata(_decode(path, value, _JsonGraph, where), node, path, combined=True)


def _quote(key: str) -> str:
    return repr(key if len(key) <= _SHOWN else key[:_SHOWN] + "...")


def _decode(path: str, data: _Json, form: type[_T], where: str = "") -> _T:
    try:
        return msgspec.json.decode(data, type=form)
    except RecursionError:
        raise UnreadableInputError(path, f"broken metadata: JSON nested too deeply{where}") from None
    except msgspec.ValidationError as error:
        raise UnreadableInputError(path, f"broken metadata: {error}{where}") from None
    except msgspec.DecodeError as error:
        problem = _not_utf8(data) or f"not JSON: {error}"
        if "byte" not in problem:
            problem += f" ({memoryview(data).nbytes} bytes)"
        raise UnreadableInputError(path, problem + where, "copy or download it again") from None


def _not_utf8(data: _Json) -> str | None:
    """Where the text stops being UTF-8, which the JSON decoder does not say."""
    try:
        str(data, "utf-8")
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte {error.start})"
    return None


def _metadata(graph: _JsonGraph, node: str, path: str, *, combined: bool) -> Metadata:
    major, minor = graph.dd_meta_major_version, graph.dd_meta_minor_version
    return Metadata(
        node=node,
        path=path,
        version=None if major is None or minor is None else (major, minor),
        ops=tuple(_op(op) for op in graph.op_list),
        buffers={label: Buffer(b.buffer_size, b.packed_tensors) for label, b in graph.fused_tensors.items()},
        tensors={name: _tensor(tensor) for name, tensor in graph.tensor_map.items()},
        combined=combined,
    )


def _op(op: _JsonOp) -> FusedOp:
    attrs = {name: _texts(attr) for name, attr in (op.attrs or {}).items()}
    return FusedOp(op.name, op.type, op.in_args, op.const_args, op.out_args, attrs)


def _texts(attr: _JsonAttr | None) -> tuple[str, ...]:
    # AMD's writer makes text of every value, and null of those it cannot write.
    return tuple(str(value) for value in attr.value or ()) if attr else ()


def _tensor(tensor: _JsonTensor) -> MetaTensor:
    return MetaTensor(
        label=tensor.packed_buffer_label,
        dtype=tensor.dtype,
        shape=tensor.shape,
        size_in_bytes=tensor.size_in_bytes,
        offset=tensor.offset,
        file_name=tensor.file_name,
        file_size=tensor.file_size,
        file_offset=tensor.file_offset,
    )
