"""Who makes and who reads each tensor of a scope."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from ddinspect.onnxfile.model import Graph, Node
from ddinspect.onnxfile.scopes import Expansion, Scope


class Flow(msgspec.Struct, frozen=True):
    """The edges of one scope. Nodes are named by their index; empty tensor names are no edges.

    Attributes:
        constants: Initializers, and formal inputs that every call of a function gives one or nothing.
        reads: Per node: its inputs, then the outer tensors that its bodies read, each once.
        maker: Tensor -> the node that makes it; the first one where the graph breaks single assignment.
        readers: Tensor -> the nodes that read it, in graph order.
        cyclic: Nodes on a cycle or behind one.
    """

    scope: Scope
    constants: frozenset[str]
    reads: tuple[tuple[str, ...], ...]
    maker: Mapping[str, int]
    readers: Mapping[str, tuple[int, ...]]
    cyclic: tuple[int, ...]

    def before(self, index: int) -> set[int]:
        """Nodes that make what a node reads."""
        return {self.maker[name] for name in self.reads[index] if name in self.maker}

    def after(self, index: int) -> set[int]:
        """Nodes that read what a node makes."""
        outputs = self.scope.nodes[index].outputs
        return {reader for name in outputs if self.maker.get(name) == index for reader in self.readers.get(name, ())}


def flows(expansion: Expansion) -> tuple[Flow, ...]:
    """The edges of every scope of a model, in the order of the scopes."""
    found: list[Flow] = []
    for scope in expansion.scopes:  # callers come before the functions they call
        found.append(_flow(scope, frozenset(scope.initializers) | _constant_formals(expansion, found, scope)))
    return tuple(found)


def holder(expansion: Expansion, found: Sequence[Flow], scope: Scope, name: str) -> Flow | None:
    """The scope that a tensor stands in, from the one given outward; None if no scope makes or receives it."""
    at: Scope | None = scope
    while at is not None:
        flow = found[at.index]
        if name in flow.maker or name in flow.constants or name in at.inputs:
            return flow
        at = expansion.scopes[at.parent] if at.parent is not None else None
    return None


def _constant_formals(expansion: Expansion, found: Sequence[Flow], scope: Scope) -> set[str]:
    formals = set(scope.inputs) if scope.kind == "function" else set()
    for scope_index, node_index in scope.calls:
        caller = expansion.scopes[scope_index]
        for formal, actual in zip(scope.inputs, caller.nodes[node_index].inputs, strict=False):
            flow = holder(expansion, found, caller, actual) if actual else None
            if actual and (flow is None or actual not in flow.constants):
                formals.discard(formal)
    return formals


def _flow(scope: Scope, constants: frozenset[str]) -> Flow:
    reads = tuple(_reads(node) for node in scope.nodes)
    maker: dict[str, int] = {}
    readers: defaultdict[str, list[int]] = defaultdict(list)
    for node in scope.nodes:
        for name in filter(None, node.outputs):
            maker.setdefault(name, node.index)
        for name in reads[node.index]:
            readers[name].append(node.index)
    return Flow(
        scope=scope,
        constants=constants,
        reads=reads,
        maker=maker,
        readers={name: tuple(found) for name, found in readers.items()},
        cyclic=_cyclic(reads, maker),
    )


def _reads(node: Node) -> tuple[str, ...]:
    captured = (name for _, body in node.bodies for name in _free_names(body))
    return tuple(dict.fromkeys(name for name in (*node.inputs, *captured) if name))


def _free_names(graph: Graph) -> list[str]:
    """Tensors that a body reads from outside, in order of first use."""
    own = {info.name for info in graph.inputs} | {tensor.name for tensor in graph.initializers}
    own |= {name for node in graph.nodes for name in node.outputs}
    # A body may hand an outer tensor straight through as its output.
    used = [name for node in graph.nodes for name in _reads(node)] + [info.name for info in graph.outputs]
    return [name for name in dict.fromkeys(used) if name not in own]


def _cyclic(reads: tuple[tuple[str, ...], ...], maker: Mapping[str, int]) -> tuple[int, ...]:
    """Nodes that never have all they read: those on a cycle, and those behind one."""
    before = [{maker[name] for name in names if name in maker} for names in reads]
    if all(not made or max(made) < index for index, made in enumerate(before)):
        return ()  # sorted, as almost every graph is
    after: defaultdict[int, list[int]] = defaultdict(list)
    for index, made in enumerate(before):
        for earlier in made:
            after[earlier].append(index)
    waiting = [len(made) for made in before]
    ready = [index for index, count in enumerate(waiting) if count == 0]
    for index in ready:  # grows while it is walked
        for later in after[index]:
            waiting[later] -= 1
            if waiting[later] == 0:
                ready.append(later)
    done = set(ready)
    return tuple(index for index in range(len(reads)) if index not in done)
