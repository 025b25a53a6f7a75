"""Where each node runs, and what kind of node is left on the CPU.

The kinds, tested in this order, go by what a node is, wherever it stands:

1. *boundary*: a cast to or from BFLOAT16; a layout Transpose; a Reshape that does the same because the other dims are
   1, next to a DD node or another boundary node.
2. *shape*: nothing it reads depends on the value of a graph input or of a DD output. Shape and Size cut the
   dependence. Random ops make values of their own.
3. *compute*: all else. If, Loop and Scan are compute, and so is what reads their outputs.
"""

from __future__ import annotations

from typing import Final

from ddinspect.analysis.casts import is_bf16_cast
from ddinspect.analysis.dataflow import Flow
from ddinspect.analysis.layout import reshape_direction, transpose_direction
from ddinspect.analysis.split import Role
from ddinspect.onnxfile.dispatch import is_dispatch
from ddinspect.onnxfile.model import Node
from ddinspect.onnxfile.scopes import Expansion, Scope

_CUTS_DEPENDENCE: Final = frozenset({"Shape", "Size"})
_RANDOM: Final = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
)


def roles(expansion: Expansion, flows: tuple[Flow, ...]) -> tuple[tuple[Role, ...], ...]:
    """Where every node of every scope runs."""
    values = _value_tensors(expansion, flows)
    return tuple(_scope_roles(expansion, flow, values) for flow in flows)


class _ValueTensors:
    """Tensors that depend on the value of a graph input or of a DD output, per scope."""

    def __init__(self, expansion: Expansion) -> None:
        self.expansion = expansion
        self.names: list[set[str]] = []

    def __contains__(self, at: tuple[Scope, str]) -> bool:
        scope, name = at
        while name not in self.names[scope.index]:
            # A name of this scope's own hides the one outside.
            if scope.parent is None or name in scope.types or name in scope.initializers:
                return False
            scope = self.expansion.scopes[scope.parent]
        return True


def _value_tensors(expansion: Expansion, flows: tuple[Flow, ...]) -> _ValueTensors:
    values = _ValueTensors(expansion)
    for flow in flows:  # a scope comes behind those around it and those that call it
        scope = flow.scope
        values.names.append(_value_inputs(scope, expansion, values))
        for index in flow.order:
            node = scope.nodes[index]
            if _makes_values(node) or (
                node.op_type not in _CUTS_DEPENDENCE and any((scope, name) in values for name in flow.reads[index])
            ):
                values.names[-1].update(filter(None, node.outputs))
    return values


def _value_inputs(scope: Scope, expansion: Expansion, values: _ValueTensors) -> set[str]:
    """Formal inputs that carry values: all of a graph's or body's, those of a function that any call gives one."""
    if scope.kind != "function":
        return set(scope.inputs)
    found: set[str] = set()
    for scope_index, node_index in scope.calls:
        caller = expansion.scopes[scope_index]
        actuals = caller.nodes[node_index].inputs
        found.update(
            formal for formal, actual in zip(scope.inputs, actuals, strict=False) if (caller, actual) in values
        )
    return found


def _makes_values(node: Node) -> bool:
    return is_dispatch(node) or bool(node.bodies) or node.op_type in _RANDOM


def _scope_roles(expansion: Expansion, flow: Flow, values: _ValueTensors) -> tuple[Role, ...]:
    found = [_role(expansion, flow, node, values) for node in flow.scope.nodes]
    # A Reshape becomes boundary by its neighbour, which may itself be such a Reshape: go on from each that did.
    near = [node.index for node in flow.scope.nodes if found[node.index] in ("npu", "boundary")]
    while near:
        index = near.pop()
        for neighbour in flow.before(index) | flow.after(index):
            node = flow.scope.nodes[neighbour]
            if found[neighbour] in ("shape", "compute") and reshape_direction(expansion, flow.scope, node) is not None:
                found[neighbour] = "boundary"
                near.append(neighbour)
    return tuple(found)


def _role(expansion: Expansion, flow: Flow, node: Node, values: _ValueTensors) -> Role:
    scope = flow.scope
    if is_dispatch(node):
        return "npu"
    if expansion.is_call(node):
        return "call"
    if is_bf16_cast(expansion, scope, node) or transpose_direction(node) is not None:
        return "boundary"
    if _makes_values(node) or any((scope, name) in values for name in flow.reads[node.index]):
        # Shape and Size read a value but depend on its shape only.
        return "shape" if node.op_type in _CUTS_DEPENDENCE else "compute"
    return "shape"
