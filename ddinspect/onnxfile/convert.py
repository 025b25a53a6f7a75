"""ModelProto -> Model: the stripped protobuf message as frozen values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ddinspect.onnxfile.model import (
    AttributeValue,
    Dim,
    ExternalData,
    Function,
    FunctionKey,
    Graph,
    Model,
    Node,
    Payload,
    Shape,
    Tensor,
    ValueInfo,
    bodies_of,
)

# onnx generates its message classes at import time, so a type checker sees none of their fields.
Proto = Any

_FLOAT, _INT, _STRING, _TENSOR, _GRAPH = 1, 2, 3, 4, 5
_FLOATS, _INTS, _STRINGS, _TENSORS, _GRAPHS = 6, 7, 8, 9, 10
_SPARSE_TENSOR, _SPARSE_TENSORS = 11, 12
_EXTERNAL = 1


class _Converter:
    """Holds what links a stripped message to the files its values lie in.

    Attributes:
        external: Tensors met so far whose values lie beside the file.
    """

    def __init__(self, mark: str, payloads: Sequence[Payload]) -> None:
        self.mark = mark
        self.payloads = payloads
        self.external: list[Tensor] = []

    def _payload(self, proto: Proto) -> Payload | None:
        """The value that was left in the file, if one was."""
        text = _text(proto.doc_string)
        return self.payloads[int(text[len(self.mark) :])] if text.startswith(self.mark) else None

    def tensor(self, proto: Proto) -> Tensor:
        external = external_data(proto) if proto.data_location == _EXTERNAL else None
        payload = self._payload(proto)
        tensor = Tensor(
            name=_name(proto.name),
            dtype=proto.data_type,
            dims=tuple(proto.dims),
            payload=payload,
            inline=proto.SerializeToString() if payload is None and external is None else None,
            external=external,
        )
        if external is not None:
            self.external.append(tensor)
        return tensor

    def sparse_tensor(self, proto: Proto) -> Tensor:
        values = self.tensor(proto.values)
        self.tensor(proto.indices)
        return Tensor(
            name=values.name,
            dtype=values.dtype,
            dims=tuple(proto.dims),
            payload=values.payload,
            inline=values.inline,
            external=values.external,
            sparse=True,
        )

    def attribute(self, proto: Proto) -> AttributeValue:
        kind: int = proto.type
        if proto.ref_attr_name:
            return None
        if kind == _INT:
            return int(proto.i)
        if kind == _INTS:
            return tuple(proto.ints)
        if kind == _STRING:
            return None if self._payload(proto) else bytes(proto.s)
        if kind == _STRINGS:
            return tuple(proto.strings)
        if kind == _FLOAT:
            return float(proto.f)
        if kind == _FLOATS:
            return tuple(proto.floats)
        return self._nested_attribute(kind, proto)

    def _nested_attribute(self, kind: int, proto: Proto) -> AttributeValue:
        if kind == _TENSOR:
            return self.tensor(proto.t)
        if kind == _GRAPH:
            return self.graph(proto.g)
        if kind == _TENSORS:
            return tuple(self.tensor(tensor) for tensor in proto.tensors)
        if kind == _GRAPHS:
            return tuple(self.graph(graph) for graph in proto.graphs)
        if kind == _SPARSE_TENSOR:
            return self.sparse_tensor(proto.sparse_tensor)
        if kind == _SPARSE_TENSORS:
            return tuple(self.sparse_tensor(tensor) for tensor in proto.sparse_tensors)
        return None

    def nodes(self, protos: Iterable[Proto]) -> tuple[Node, ...]:
        found = [(proto, _name(proto.name), _names(proto.output)) for proto in protos]
        ids = _unique_ids([name or next(filter(None, outputs), "") for _, name, outputs in found])
        return tuple(
            self.node(proto, index, ids[index], name, outputs) for index, (proto, name, outputs) in enumerate(found)
        )

    def node(self, proto: Proto, index: int, unique_id: str, name: str, outputs: tuple[str, ...]) -> Node:
        attributes = {_name(attribute.name): self.attribute(attribute) for attribute in proto.attribute}
        return Node(
            id=unique_id,
            index=index,
            name=name,
            op_type=_name(proto.op_type),
            domain=_name(proto.domain),
            inputs=_names(proto.input),
            outputs=outputs,
            attributes=attributes,
            metadata=_properties(proto),
            overload=_name(proto.overload),
            bodies=bodies_of(attributes),
        )

    def graph(self, proto: Proto) -> Graph:
        initializers = (
            *(self.tensor(tensor) for tensor in proto.initializer),
            *(self.sparse_tensor(tensor) for tensor in proto.sparse_initializer),
        )
        constant = {tensor.name for tensor in initializers}
        return Graph(
            name=_name(proto.name),
            inputs=tuple(value_info(info) for info in proto.input if info.name not in constant),
            outputs=tuple(value_info(info) for info in proto.output),
            nodes=self.nodes(proto.node),
            initializers=initializers,
            value_info=tuple(value_info(info) for info in proto.value_info),
        )

    def function(self, proto: Proto) -> Function:
        for default in proto.attribute_proto:
            self.attribute(default)  # for tensors that lie beside the file
        return Function(
            key=(_name(proto.domain), _name(proto.name), _name(proto.overload)),
            inputs=_names(proto.input),
            outputs=_names(proto.output),
            nodes=self.nodes(proto.node),
            value_info=tuple(value_info(info) for info in proto.value_info),
            opset_imports=opset_imports(proto),
        )


def _name(value: str | bytes) -> str:
    """A name. Protobuf hands out bytes where a string is not UTF-8; a tensor cannot be followed under such a name.

    Raises:
        UnicodeDecodeError: the name is not UTF-8.
    """
    return value if isinstance(value, str) else value.decode()


def _names(values: Iterable[str | bytes]) -> tuple[str, ...]:
    return tuple(map(_name, values))


def _text(value: str | bytes) -> str:
    """A text that is only shown. Bytes that are not UTF-8 become visible escapes."""
    return value if isinstance(value, str) else value.decode("utf-8", "backslashreplace")


def _unique_ids(labels: Sequence[str]) -> list[str]:
    """One id per node: its label where no other node claims it, with `#<index>` behind it elsewhere."""
    claims = Counter(labels)
    ids: list[str] = []
    for index, label in enumerate(labels):
        node_id = label
        if not label or claims[label] > 1:
            node_id = f"{label}#{index}"
            while node_id in claims:  # a name may look like that by itself
                node_id += f"#{index}"
        ids.append(node_id)
    return ids


def _properties(proto: Proto) -> dict[str, str]:
    return {_text(entry.key): _text(entry.value) for entry in proto.metadata_props}


def opset_imports(proto: Proto) -> dict[str, int]:
    """Opset version by domain, of a ModelProto or FunctionProto. `ai.onnx` is an alias of the default domain."""
    stated = {_name(entry.domain): entry.version for entry in proto.opset_import}
    return {"" if domain == "ai.onnx" else domain: version for domain, version in stated.items()}


def external_data(proto: Proto) -> ExternalData:
    """The external location of a TensorProto, as stated. A number that is none counts as not stated."""
    stated = {_text(entry.key): _text(entry.value) for entry in proto.external_data}
    offset, length = (_number(stated.get(key)) for key in ("offset", "length"))
    return ExternalData(stated.get("location", ""), offset or 0, length)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 20 else None


def _dim(proto: Proto) -> Dim:
    kind = proto.WhichOneof("value")
    if kind == "dim_value":
        value: int = proto.dim_value
        return value if value >= 0 else None
    return (_name(proto.dim_param) or None) if kind == "dim_param" else None


def value_info(proto: Proto) -> ValueInfo:
    """The type of a ValueInfoProto. Sequences, maps and optionals have neither element type nor shape here."""
    name = _name(proto.name)
    kind = proto.type.WhichOneof("value")
    if kind not in ("tensor_type", "sparse_tensor_type"):
        return ValueInfo(name)
    tensor = getattr(proto.type, kind)
    shape: Shape = tuple(map(_dim, tensor.shape.dim)) if tensor.HasField("shape") else None
    return ValueInfo(name, tensor.elem_type, shape)


def model_from_proto(
    proto: Proto, *, path: str, file_size: int, structure: bytes, mark: str, payloads: Sequence[Payload]
) -> Model:
    """Freeze a parsed, stripped ModelProto.

    Args:
        proto: The parsed message; it has a graph.
        path: Where it came from.
        file_size: Bytes of the file it was stripped from.
        structure: The bytes `proto` was parsed from.
        mark: What `strip` was given.
        payloads: What `strip` left in the file.
    """
    converter = _Converter(mark, payloads)
    graph = converter.graph(proto.graph)
    functions: dict[FunctionKey, Function] = {}
    for entry in proto.functions:
        function = converter.function(entry)
        functions.setdefault(function.key, function)
    return Model(
        path=path,
        file_size=file_size,
        ir_version=proto.ir_version,
        producer=" ".join(filter(None, map(_text, (proto.producer_name, proto.producer_version)))),
        opset_imports=opset_imports(proto),
        graph=graph,
        functions=functions,
        metadata=_properties(proto),
        external=tuple(converter.external),
        structure=structure,
    )
