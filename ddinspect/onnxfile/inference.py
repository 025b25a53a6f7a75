"""ONNX shape inference on a weightless graph, past the nodes it has no schema for.

Plain inference stops at a DynamicDispatch node and at CastAvx. So DD outputs are seeded with the shapes their
attributes state, CastAvx is shown to it as the Cast it is, and domains without an opset import get one. In local
functions, whose tensors it lets nobody declare, it is shown a Constant of that shape in place of a DD node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from ddinspect.onnxfile.calls import reachable
from ddinspect.onnxfile.convert import opset_imports, value_info
from ddinspect.onnxfile.dispatch import OP_PREFIX
from ddinspect.onnxfile.dtypes import UNDEFINED, is_statable
from ddinspect.onnxfile.model import Dim, Function, FunctionKey, Model, ValueInfo
from ddinspect.onnxfile.schema import message_classes

Proto = Any
_TENSOR: Final = 4  # AttributeProto.TENSOR
_GRAPH: Final = 5  # AttributeProto.GRAPH
_GRAPHS: Final = 10  # AttributeProto.GRAPHS
_OPAQUE: Final = "ddinspect.opaque"  # a domain that has no schemas
_INT64_MAX: Final = 2**63 - 1
# Nodes that calls may come to; 20 000 take about a fifth of a second.
_MOST_NODES: Final = 20_000
_LONGEST_LIST: Final = 65_536  # elements; shapes that models compute have a handful


class InferenceError(Exception):
    """Inference failed, or changed the graph; its result must not be used."""


class GraphTypes(msgspec.Struct, frozen=True):
    """Types of the tensors of one graph.

    Attributes:
        types: By tensor name.
        bodies: The same for the bodies in it, by (node index, attribute name as in `Node.bodies`).
    """

    types: Mapping[str, ValueInfo]
    bodies: Mapping[tuple[int, str], GraphTypes]


class Callee(msgspec.Struct, frozen=True):
    """A local function, as far as inference of its callers needs it.

    Attributes:
        size: Number of its nodes once all calls in it are followed.
        stated: Types in it that are known whoever calls it.
    """

    size: int
    stated: GraphTypes


Callees: TypeAlias = Mapping[FunctionKey, Callee]
NO_TYPES: Final = GraphTypes({}, {})


def infer_model(model: Model, stated: GraphTypes, callees: Callees) -> GraphTypes:
    """Types of every tensor in the main graph and its bodies.

    Args:
        model: The model.
        stated: Types that are known, with an entry for every body; those of outputs of DD nodes are what inference
            continues from.
        callees: The local functions whose calls come to an end.

    Raises:
        InferenceError: inference raised, or gave back another number of nodes.
    """
    proto = message_classes().ModelProto.FromString(model.structure)
    return _infer(proto, stated, model.opset_imports, callees)


def infer_function(
    model: Model, function: Function, inputs: Iterable[ValueInfo], stated: GraphTypes, callees: Callees
) -> GraphTypes:
    """Types inside the body of a local function that is called with inputs of these types.

    Raises:
        InferenceError: as `infer_model`.
    """
    classes = message_classes()
    whole = classes.ModelProto.FromString(model.structure)
    body = next(f for f in whole.functions if _key(f) == function.key)
    proto = classes.ModelProto(ir_version=whole.ir_version)
    called = reachable(model, function.nodes)
    proto.functions.extend(each for each in whole.functions if _key(each) in called)
    proto.graph.name = function.key[1]
    proto.graph.node.extend(body.node)
    proto.graph.value_info.extend(body.value_info)
    for info in inputs:
        _declare(proto.graph.input.add(), info)
    for name in function.outputs:
        proto.graph.output.add().name = name
    return _infer(proto, stated, {**model.opset_imports, **function.opset_imports}, callees)


def _infer(proto: Proto, stated: GraphTypes, imports: Mapping[str, int], callees: Callees) -> GraphTypes:
    import onnx

    _seed(proto.graph, stated)
    imports = {"": onnx.defs.onnx_opset_version(), **imports}
    nodes = [*_nodes(proto.graph.node, stated)]
    _make_known(proto, nodes, imports)
    for node in nodes:
        if any(attribute.ref_attr_name for attribute in node.attribute):
            # The caller's attribute is not at hand here, and inference would go by a default.
            node.domain = _OPAQUE
    _drop_functions(proto, nodes, callees)
    for function in proto.functions:
        known = callees[_key(function)].stated
        _make_known(function, _nodes(function.node, known), {**imports, **opset_imports(function)})
        _replace_dispatch(function.node, known)
    try:
        inferred = onnx.shape_inference.infer_shapes(proto, data_prop=not _has_long_list(stated))
    except Exception as error:  # the C++ side raises whatever it likes, RuntimeError and ValidationError among it
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InferenceError(reason) from error
    if _count(inferred.graph, stated) != _count(proto.graph, stated):
        raise InferenceError("it gave back another number of nodes")
    return _collect(inferred.graph, stated)


def _has_long_list(stated: GraphTypes) -> bool:
    """Whether a tensor of rank 1 is so long that following its values would cost memory by its length.

    Data propagation, which works out shapes from values, keeps an entry per element of such tensors, known or not.
    """
    lists = (info.shape[0] for info in stated.types.values() if info.shape is not None and len(info.shape) == 1)
    return any(isinstance(dim, int) and dim > _LONGEST_LIST for dim in lists) or any(
        map(_has_long_list, stated.bodies.values())
    )


def _seed(graph: Proto, stated: GraphTypes) -> None:
    """Declare the outputs of DD nodes."""
    declared = {info.name: info for info in (*graph.output, *graph.value_info)}
    for node in graph.node:
        if node.op_type.startswith(OP_PREFIX):
            for name in filter(stated.types.__contains__, node.output):
                _declare(declared.get(name) or graph.value_info.add(), stated.types[name])
    for key, body in _bodies(graph.node, stated):
        _seed(body, stated.bodies[key])


def _replace_dispatch(nodes: Proto, stated: GraphTypes) -> None:
    """Put Constants without values in the place of DD nodes, for those of their outputs whose shape is static."""
    shown = []
    for key, body in _bodies(nodes, stated):
        _replace_dispatch(body.node, stated.bodies[key])
    for node in nodes:
        if node.op_type.startswith(OP_PREFIX):
            shown += [_constant(stated.types[name]) for name in node.output if _is_static(stated.types.get(name))]
        else:
            shown.append(node)
    kept = [type(node).FromString(node.SerializeToString()) for node in shown]
    del nodes[:]
    nodes.extend(kept)


def _is_static(info: ValueInfo | None) -> bool:
    return info is not None and info.shape is not None and all(map(_is_number, info.shape))


def _is_number(dim: Dim) -> bool:
    # A side file may state any number.
    return isinstance(dim, int) and 0 <= dim <= _INT64_MAX


def _constant(info: ValueInfo) -> Proto:
    made = message_classes().NodeProto(op_type="Constant", output=[info.name])
    attribute = made.attribute.add(name="value", type=_TENSOR)
    attribute.t.data_type = info.dtype if is_statable(info.dtype) else UNDEFINED
    attribute.t.dims.extend(info.shape)
    return made


def _make_known(owner: Proto, nodes: Iterable[Proto], imports: Mapping[str, int]) -> None:
    """Show each CastAvx as a Cast, and give each domain in use an opset import.

    Args:
        owner: The ModelProto or FunctionProto the nodes belong to.
        nodes: Its nodes.
        imports: Domain -> opset version.
    """
    domains = {""}
    for node in nodes:
        if node.op_type == "CastAvx":
            node.op_type = "Cast"
            node.domain = ""
        elif node.domain == "ai.onnx":
            node.domain = ""
        domains.add(node.domain)
    del owner.opset_import[:]
    for domain in sorted(domains | imports.keys() | {_OPAQUE}):
        owner.opset_import.add(domain=domain, version=imports.get(domain, 1))


def _drop_functions(proto: Proto, nodes: Iterable[Proto], callees: Callees) -> None:
    """Keep inference from following calls that never end, or that are too many for it: it follows each one anew."""
    called = [(node.domain, node.op_type, node.overload) for node in nodes]
    total = sum(callees[key].size for key in called if key in callees)
    kept = [f for f in proto.functions if total <= _MOST_NODES and _key(f) in callees]
    del proto.functions[:]
    proto.functions.extend(kept)


def _key(function: Proto) -> FunctionKey:
    return (function.domain, function.name, function.overload)


def _nodes(nodes: Proto, stated: GraphTypes) -> Iterator[Proto]:
    """Some nodes and all nodes in their bodies."""
    yield from nodes
    for key, body in _bodies(nodes, stated):
        yield from _nodes(body.node, stated.bodies[key])


def _declare(proto: Proto, info: ValueInfo) -> None:
    """Write a type into a ValueInfoProto."""
    proto.name = info.name
    tensor = proto.type.tensor_type
    if is_statable(info.dtype):
        tensor.elem_type = info.dtype
    if info.shape is not None:
        tensor.shape.ClearField("dim")
        tensor.shape.SetInParent()
        for dim in info.shape:
            entry = tensor.shape.dim.add()
            if isinstance(dim, str):
                entry.dim_param = dim
            elif _is_number(dim):
                entry.dim_value = dim


def _bodies(nodes: Proto, stated: GraphTypes) -> Iterator[tuple[tuple[int, str], Proto]]:
    """The bodies of some nodes. What is stated says where they are: few nodes have one, and all have attributes."""
    wanted = {index for index, _ in stated.bodies}
    for index in sorted(wanted):
        for attribute in nodes[index].attribute:
            if attribute.type == _GRAPH:
                yield (index, attribute.name), attribute.g
            elif attribute.type == _GRAPHS:
                yield from (((index, f"{attribute.name}.{i}"), graph) for i, graph in enumerate(attribute.graphs))


def _count(graph: Proto, stated: GraphTypes) -> int:
    if len(graph.node) <= max((index for index, _ in stated.bodies), default=-1):
        return len(graph.node)
    return len(graph.node) + sum(_count(body, stated.bodies[key]) for key, body in _bodies(graph.node, stated))


def _collect(graph: Proto, stated: GraphTypes) -> GraphTypes:
    # onnx invents names such as `unk__0` for dims it cannot work out; they name nothing in the model.
    types = {info.name: _named(value_info(info)) for info in (*graph.value_info, *graph.output)}
    bodies = {key: _collect(body, stated.bodies[key]) for key, body in _bodies(graph.node, stated)}
    return GraphTypes(types, bodies)


def _named(info: ValueInfo) -> ValueInfo:
    if info.shape is None or not any(isinstance(dim, str) and dim.startswith("unk__") for dim in info.shape):
        return info
    shape = tuple(None if isinstance(dim, str) and dim.startswith("unk__") else dim for dim in info.shape)
    return ValueInfo(info.name, info.dtype, shape)
