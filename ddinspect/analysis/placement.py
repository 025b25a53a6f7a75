"""Where each node runs, and what kind of node is left on the CPU.

The kinds, tested in this order, go by what a node is, wherever it stands:

1. *boundary*: a cast with BFLOAT16 on exactly one side; a layout Transpose; a Reshape that does the same because the
   other dims are 1, next to a DD node or another boundary node of its scope.
2. *shape*: nothing it reads depends on the value of a graph input or of a DD output. Shape and Size cut the
   dependence. A Constant reads nothing.
3. *compute*: all else.

Finer points. If, Loop and Scan are compute; what they make depends on all they read and on every DD node in their
bodies, and so do the inputs of a Loop or Scan body. A function sees what its calls give it: an input is a value as
soon as one of them gives a value. What a call makes depends on all it reads, even if the function only looks at
shapes. Random ops make values of their own: what they make cannot be computed beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ddinspect.analysis.casts import is_bf16_cast
from ddinspect.analysis.dataflow import Flow, holder
from ddinspect.analysis.layout import reshape_direction, transpose_direction
from ddinspect.analysis.split import Role
from ddinspect.onnxfile.dispatch import is_dispatch
from ddinspect.onnxfile.model import Node
from ddinspect.onnxfile.scopes import Expansion, Scope

_Site: TypeAlias = tuple[int, int]  # scope index, node index

_RANDOM: Final = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
)


def roles(expansion: Expansion, flows: tuple[Flow, ...]) -> tuple[tuple[Role, ...], ...]:
    """Where every node of every scope runs."""
    sources = _sources(expansion)
    values: list[set[str]] = []
    for flow in flows:  # a scope comes behind those around it and those that call it
        values.append(_value_tensors(expansion, flows, values, flow, sources))
    return tuple(_scope_roles(expansion, flow, values[flow.scope.index], sources) for flow in flows)


def _sources(expansion: Expansion) -> set[_Site]:
    """Nodes that make values whatever they read: DD nodes, random ops, and what holds or calls one of these."""
    found: set[_Site] = set()
    for scope in reversed(expansion.scopes):  # what is held or called comes before what holds or calls it
        sites = {(scope.index, node.index) for node in scope.nodes if is_dispatch(node) or node.op_type in _RANDOM}
        found |= sites
        if any((scope.index, node.index) in found for node in scope.nodes):
            found.update(scope.calls)
            if scope.parent is not None and scope.owner is not None:
                found.add((scope.parent, scope.owner))
    return found


def _value_tensors(
    expansion: Expansion, flows: tuple[Flow, ...], outer: Sequence[set[str]], flow: Flow, sources: set[_Site]
) -> set[str]:
    """Tensors that depend on a value, among those that a scope makes, receives or reads from outside.

    Followed from tensor to reader, so that the order of the nodes does not matter.
    """
    scope = flow.scope

    def is_value(at: Scope, name: str) -> bool:
        stands = holder(expansion, flows, at, name)
        return stands is not None and name in outer[stands.scope.index]

    found = _value_inputs(expansion, flows, scope, sources, is_value)
    found |= {name for node in scope.nodes if (scope.index, node.index) in sources for name in node.outputs}
    if scope.parent is not None:
        around = expansion.scopes[scope.parent]
        own = {*scope.inputs, *flow.constants, *flow.maker}
        found |= {name for name in flow.readers if name not in own and is_value(around, name)}
    frontier = list(found)
    while frontier:
        for reader in flow.readers.get(frontier.pop(), ()):
            node = scope.nodes[reader]
            if not _cuts_dependence(node):
                fresh = set(node.outputs) - found
                found |= fresh
                frontier += fresh
    return found


def _value_inputs(
    expansion: Expansion,
    flows: tuple[Flow, ...],
    scope: Scope,
    sources: set[_Site],
    is_value: Callable[[Scope, str], bool],
) -> set[str]:
    """Formal inputs that carry values: all of the main graph's, and those that a body or a function is given."""
    if scope.parent is not None and scope.owner is not None:
        # What a Loop or Scan hands to its body goes round: one value among what it reads makes all of them values.
        around = expansion.scopes[scope.parent]
        reads = flows[around.index].reads[scope.owner]
        given = (around.index, scope.owner) in sources or any(is_value(around, name) for name in reads)
        return set(scope.inputs) if given else set()
    if scope.kind == "main":
        return set(scope.inputs)
    found: set[str] = set()
    for scope_index, node_index in scope.calls:
        caller = expansion.scopes[scope_index]
        actuals = caller.nodes[node_index].inputs
        found |= {
            formal for formal, actual in zip(scope.inputs, actuals, strict=False) if actual and is_value(caller, actual)
        }
    return found


def _cuts_dependence(node: Node) -> bool:
    return node.op_type in ("Shape", "Size") and node.domain in ("", "ai.onnx")


def _scope_roles(expansion: Expansion, flow: Flow, values: set[str], sources: set[_Site]) -> tuple[Role, ...]:
    found = [_role(expansion, flow, node, values, sources) for node in flow.scope.nodes]
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


def _role(expansion: Expansion, flow: Flow, node: Node, values: set[str], sources: set[_Site]) -> Role:
    scope = flow.scope
    if is_dispatch(node):
        return "npu"
    if expansion.is_call(node):
        return "call"
    if is_bf16_cast(expansion, scope, node) or transpose_direction(node) is not None:
        return "boundary"
    if node.bodies or (scope.index, node.index) in sources:
        return "compute"
    return "shape" if _cuts_dependence(node) or values.isdisjoint(flow.reads[node.index]) else "compute"
