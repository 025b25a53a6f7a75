"""The vocabulary: an ONNX file as frozen values, without its weights.

A dim is an `int` (0 is 0), a `str` (a symbol such as `batch`), or `None` (the file says nothing). A shape is a tuple
of dims, or `None` where even the rank is unknown. An empty tensor name stands for an omitted optional input or
output and is never an edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

Dim: TypeAlias = int | str | None
Shape: TypeAlias = tuple[Dim, ...] | None
FunctionKey: TypeAlias = tuple[str, str, str]  # domain, name, overload


class ValueInfo(msgspec.Struct, frozen=True, gc=False):
    """The type of one tensor: ONNX element type (0 where unknown) and shape."""

    name: str
    dtype: int = 0
    shape: Shape = None


class Payload(msgspec.Struct, frozen=True, gc=False):
    """Where in the file a tensor's values lie.

    Attributes:
        offset: First byte of the values, counted from the start of the file.
        size: Number of bytes.
        field: TensorProto field the values are stored in (`raw_data`, `int32_data`, ...). Empty where they are stored
            in several fields, as strings are: then the bytes are those fields, their tags included.
    """

    offset: int
    size: int
    field: str


class ExternalData(msgspec.Struct, frozen=True, gc=False):
    """Where beside the file a tensor's values lie, as the file states it (unchecked, untrusted).

    Attributes:
        location: Path relative to the folder of the model.
        offset: First byte in that file.
        length: Number of bytes, or None if the file does not say.
    """

    location: str
    offset: int = 0
    length: int | None = None


class Tensor(msgspec.Struct, frozen=True):
    """A constant tensor without its values: an initializer or the value of an attribute.

    Attributes:
        payload: Where the values lie in the file, if they were left there.
        inline: The serialized TensorProto, if it is small enough to be kept (shape logic needs those).
        external: Where the values lie beside the file.
        sparse: The dims are those of the dense tensor; `payload` and `inline` cover the stored values only.
    """

    name: str
    dtype: int
    dims: tuple[int, ...]
    payload: Payload | None = None
    inline: bytes | None = None
    external: ExternalData | None = None
    sparse: bool = False


class Graph(msgspec.Struct, frozen=True):
    """A graph or the body of an If, Loop or Scan.

    Attributes:
        inputs: Real inputs: initializers that are listed as inputs too (IR version 3) are left out.
        value_info: Declared types of inner tensors.
    """

    name: str
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    nodes: tuple[Node, ...]
    initializers: tuple[Tensor, ...]
    value_info: tuple[ValueInfo, ...]


AttributeValue: TypeAlias = (
    int | float | bytes | Tensor | Graph | tuple[int, ...] | tuple[float, ...] | tuple[bytes, ...]
    | tuple[Tensor, ...] | tuple[Graph, ...] | None
)  # fmt: skip


class Node(msgspec.Struct, frozen=True):
    """One node as written in the file.

    Attributes:
        id: Name that is unique among the nodes of its graph: the node's name, or its first output's name where it has
            none, with `#<index>` behind it where another node claims the same.
        index: Position in the file.
        attributes: Name -> value. A value of a kind this package has no use for, or a reference to an attribute of the
            enclosing function, is None.
        metadata: The node's `metadata_props`.
        bodies: Sub-graphs in the attributes, as `bodies_of` finds them.
    """

    id: str
    index: int
    name: str
    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, AttributeValue]
    metadata: Mapping[str, str]
    overload: str = ""
    bodies: tuple[tuple[str, Graph], ...] = ()

    @property
    def function_key(self) -> FunctionKey:
        """The model-local function this node calls, if the model has one of that name."""
        return (self.domain, self.op_type, self.overload)


def bodies_of(attributes: Mapping[str, AttributeValue]) -> tuple[tuple[str, Graph], ...]:
    """Sub-graphs in the attributes of a node, as (attribute name, graph) in attribute order."""
    found: list[tuple[str, Graph]] = []
    for name, value in attributes.items():
        if isinstance(value, Graph):
            found.append((name, value))
        elif isinstance(value, tuple) and value and isinstance(value[0], Graph):
            found += [(f"{name}.{i}", graph) for i, graph in enumerate(value)]
    return tuple(found)


class Function(msgspec.Struct, frozen=True):
    """A model-local function."""

    key: FunctionKey
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    value_info: tuple[ValueInfo, ...]
    opset_imports: Mapping[str, int]


class Model(msgspec.Struct, frozen=True):
    """An ONNX file without its weights.

    Attributes:
        path: As the caller gave it.
        file_size: Bytes on disk.
        opset_imports: Domain -> version; the default domain is `""`.
        metadata: The model's `metadata_props`. May hold paths of the machine that made it.
        external: Every tensor whose values lie beside the file, wherever it stands in it.
        structure: The serialized ModelProto with every big payload dropped, for onnx's own tools.
    """

    path: str
    file_size: int
    ir_version: int
    producer: str
    opset_imports: Mapping[str, int]
    graph: Graph
    functions: Mapping[FunctionKey, Function]
    metadata: Mapping[str, str]
    external: tuple[Tensor, ...]
    structure: bytes
