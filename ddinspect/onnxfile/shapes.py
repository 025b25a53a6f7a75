"""Types of tensors, from the sources that state them, in order of trust.

First what the graph declares (value_info, inputs, outputs, initializers, Constants), then the shapes in the attributes
of DD nodes, then what side files record for tensors at DD nodes, and last ONNX shape inference. A later source only
fills what earlier ones leave open. Inference is not run where nothing is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

import msgspec

from ddinspect.onnxfile.calls import expanded_sizes
from ddinspect.onnxfile.dispatch import is_dispatch, stated_shape
from ddinspect.onnxfile.dtypes import BFLOAT16, UNDEFINED
from ddinspect.onnxfile.inference import (
    NO_TYPES,
    Callee,
    Callees,
    GraphTypes,
    InferenceError,
    infer_function,
    infer_model,
)
from ddinspect.onnxfile.model import Function, Graph, Model, Node, Shape, Tensor, ValueInfo

Hints: TypeAlias = Mapping[str, Mapping[str, ValueInfo]]  # name of the DD node -> tensor -> its type


class ScopeTypes(GraphTypes, frozen=True):
    """Types of the tensors of one scope and of the bodies in it.

    Attributes:
        assumed: Outputs of DD nodes whose element type nothing states. The fused Stable Diffusion ops take and give
            BFLOAT16, so they are taken for that.
        dropped: Why the result of shape inference is not used, if it was run and is not.
    """

    bodies: Mapping[tuple[int, str], ScopeTypes]
    assumed: frozenset[str] = frozenset()
    dropped: str | None = None


def callees_of(model: Model, hints: Hints) -> Callees:
    """The local functions whose calls come to an end, each before those it calls."""
    return {
        key: Callee(size, _stated(model.functions[key].nodes, model.functions[key].value_info, hints))
        for key, size in expanded_sizes(model).items()
    }


def graph_types(model: Model, hints: Hints, callees: Callees) -> ScopeTypes:
    """Types in the main graph and the bodies in it.

    Args:
        model: The model.
        hints: Types that side files record for tensors at DD nodes.
        callees: The local functions, as `callees_of` gives them.
    """
    stated = _stated_graph(model.graph, hints)
    if _is_complete(model.graph.nodes, stated):
        return stated
    try:
        inferred = infer_model(model, stated, callees)
    except InferenceError as error:
        return msgspec.structs.replace(stated, dropped=str(error))
    return _fill(stated, inferred)


def function_types(
    model: Model, function: Function, inputs: tuple[ValueInfo, ...], hints: Hints, callees: Callees
) -> ScopeTypes:
    """Types in the body of a local function called with inputs of these types, and in the bodies in it."""
    stated = _stated(function.nodes, (*inputs, *function.value_info), hints)
    if _is_complete(function.nodes, stated):
        return stated
    try:
        inferred = infer_function(model, function, inputs, stated, callees)
    except InferenceError as error:
        return msgspec.structs.replace(stated, dropped=str(error))
    return _fill(stated, inferred)


def merge(first: ValueInfo | None, second: ValueInfo) -> ValueInfo:
    """What the first source says, completed with what the second one does."""
    if first is None:
        return second
    return ValueInfo(first.name, first.dtype or second.dtype, _merge_shapes(first.shape, second.shape))


def _merge_shapes(first: Shape, second: Shape) -> Shape:
    if first is None or second is None or len(first) != len(second):
        return second if first is None else first
    return tuple(b if a is None else a for a, b in zip(first, second, strict=True))


def _tensor_type(tensor: Tensor, name: str) -> ValueInfo:
    return ValueInfo(name, tensor.dtype, tuple(dim if dim >= 0 else None for dim in tensor.dims))


def _stated_graph(graph: Graph, hints: Hints) -> ScopeTypes:
    declared = (
        *graph.inputs,
        *graph.outputs,
        *(_tensor_type(tensor, tensor.name) for tensor in graph.initializers),
        *graph.value_info,
    )
    return _stated(graph.nodes, declared, hints)


def _stated(nodes: tuple[Node, ...], declared: Iterable[ValueInfo], hints: Hints) -> ScopeTypes:
    types: dict[str, ValueInfo] = {}
    for info in declared:
        types[info.name] = merge(types.get(info.name), info)
    own = types.keys() | {name for node in nodes for name in node.outputs}
    assumed: set[str] = set()
    for node in nodes:
        if node.op_type == "Constant" and isinstance(value := node.attributes.get("value"), Tensor):
            for name in node.outputs[:1]:
                types[name] = merge(types.get(name), _tensor_type(value, name))
        elif is_dispatch(node):
            for name, info in _dispatch_types(node, hints):
                # An input from an outer scope has its type there; a half-known one here would hide it.
                if name in own:
                    types[name] = merge(types.get(name), info)
            untyped = {name for name in node.outputs if name and types[name].dtype == UNDEFINED}
            assumed |= untyped
            types |= {name: ValueInfo(name, BFLOAT16, types[name].shape) for name in untyped}
    types.pop("", None)
    bodies = {(node.index, label): _stated_graph(body, hints) for node in nodes for label, body in node.bodies}
    return ScopeTypes(types, bodies, frozenset(assumed))


def _dispatch_types(node: Node, hints: Hints) -> Iterator[tuple[str, ValueInfo]]:
    """What the attributes of a DD node, then the side files, say about its tensors."""
    recorded = hints.get(node.name, {})
    sides: tuple[tuple[Literal["input", "output"], tuple[str, ...]], ...]
    sides = (("input", node.inputs), ("output", node.outputs))
    for side, names in sides:
        for index, name in enumerate(names):
            info = ValueInfo(name, shape=stated_shape(node, side, index))
            yield name, merge(info, recorded[name]) if name in recorded else info


def _is_complete(nodes: tuple[Node, ...], stated: ScopeTypes) -> bool:
    """Whether every output of every node has an element type and static or symbolic dims."""
    for node in nodes:
        for name in filter(None, node.outputs):
            info = stated.types.get(name)
            if info is None or info.dtype == UNDEFINED or info.shape is None or None in info.shape:
                return False
        for label, body in node.bodies:
            if not _is_complete(body.nodes, stated.bodies[node.index, label]):
                return False
    return True


def _fill(stated: ScopeTypes, inferred: GraphTypes) -> ScopeTypes:
    """Complete what is stated with what was inferred."""
    types = dict(stated.types)
    for name, info in inferred.types.items():
        types[name] = merge(types.get(name), info)
    bodies = {key: _fill(body, inferred.bodies.get(key, NO_TYPES)) for key, body in stated.bodies.items()}
    return ScopeTypes(types, bodies, stated.assumed)
