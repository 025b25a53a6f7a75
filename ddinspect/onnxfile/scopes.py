"""The one traversal: every graph of a model that has nodes of its own, with the types of its tensors.

A model's nodes stand in scopes: the main graph, the bodies of If, Loop and Scan, and the bodies of local functions. A
body counts once. A function body counts once per call; calls with inputs of the same types share one scope, whose
`times` is the number of calls. That number is worked out by multiplication, so functions that call each other forty
levels deep cost forty scopes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal

import msgspec

from ddinspect.onnxfile.dispatch import is_dispatch
from ddinspect.onnxfile.model import Function, FunctionKey, Graph, Model, Node, Tensor, ValueInfo
from ddinspect.onnxfile.shapes import Hints, ScopeTypes, callees_of, function_types, graph_types

_Signature = tuple[ValueInfo, ...]


class Scope(msgspec.Struct, frozen=True):
    """Nodes that see the same tensors.

    Attributes:
        index: Position in the expansion.
        path: Empty for the main graph; `if0/then_branch` for a body; `local::Block` for a function.
        inputs: Names of its formal inputs.
        outputs: Names of its outputs.
        initializers: By name.
        types: Types of the tensors of this scope. Outer ones are found with `Expansion.type_of`.
        assumed: Outputs of DD nodes whose element type nothing states: taken for BFLOAT16.
        parent: Index of the scope around a body. None for the main graph and for functions, which see nothing outside.
        owner: Index of the node in the parent that holds the body.
        times: How often it runs per inference, loops and branches counted once.
        calls: (scope index, node index) of the nodes that call a function.
    """

    index: int
    path: str
    kind: Literal["main", "body", "function"]
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    initializers: Mapping[str, Tensor]
    types: Mapping[str, ValueInfo]
    assumed: frozenset[str]
    parent: int | None
    owner: int | None
    times: int
    calls: tuple[tuple[int, int], ...] = ()

    def qualified(self, name: str) -> str:
        """The id of a node or the name of a tensor with the path of this scope before it."""
        return f"{self.path}/{name}" if self.path else name


class Expansion(msgspec.Struct, frozen=True):
    """All scopes of a model, the main graph first, every scope before those it holds or calls.

    Attributes:
        callable: Local functions that have scopes; a call of another one is an ordinary node.
        notes: What could not be worked out, in plain words.
    """

    scopes: tuple[Scope, ...]
    callable: frozenset[FunctionKey]
    notes: tuple[str, ...]

    def type_of(self, scope: Scope, name: str) -> ValueInfo:
        """The type of a tensor as a scope sees it, outer scopes included."""
        at: Scope | None = scope
        while at is not None:
            found = at.types.get(name)
            if found is not None:
                return found
            at = self.scopes[at.parent] if at.parent is not None else None
        return ValueInfo(name)

    def is_call(self, node: Node) -> bool:
        """Whether a node calls a local function, so that what counts is the body."""
        return node.function_key in self.callable and not is_dispatch(node)


def expand(model: Model, hints: Hints | None = None) -> Expansion:
    """Every scope of a model.

    Args:
        model: The model.
        hints: Types that side files record for the tensors of DD nodes, used where the graph is silent.
    """
    return _Expander(model, hints or {}).run()


class _Calls(msgspec.Struct):
    """Calls of one function with inputs of the same types."""

    times: int = 0
    sites: list[tuple[int, int]] = []


class _Expander:
    def __init__(self, model: Model, hints: Hints) -> None:
        self.model = model
        self.hints = hints
        self.callees = callees_of(model, hints)
        self.callable = frozenset(self.callees)
        self.scopes: list[Scope] = []
        self.calls: defaultdict[FunctionKey, dict[_Signature, _Calls]] = defaultdict(dict)
        self.notes: list[str] = []

    def run(self) -> Expansion:
        main = graph_types(self.model, self.hints, self.callees)
        self.note("", main)
        self.graph(self.model.graph, main, "", kind="main", parent=None, owner=None, times=1)
        for key in self.callees:  # callers first
            for number, (signature, calls) in enumerate(self.calls[key].items(), 1):
                self.function(self.model.functions[key], signature, calls, number)
        left_out = sorted(set(self.model.functions) - self.callable)
        if left_out:
            names = ", ".join(_function_name(key) for key in left_out)
            self.notes.append(f"local functions call each other in a circle and are not entered: {names}")
        return Expansion(tuple(self.scopes), self.callable, tuple(self.notes))

    def note(self, path: str, types: ScopeTypes) -> None:
        if types.dropped is not None:
            where = f" in {path}" if path else ""
            self.notes.append(f"shape inference{where} failed and its result is not used: {types.dropped}")

    def graph(
        self,
        graph: Graph,
        types: ScopeTypes,
        path: str,
        *,
        kind: Literal["main", "body"],
        parent: int | None,
        owner: int | None,
        times: int,
    ) -> None:
        scope = Scope(
            index=len(self.scopes),
            path=path,
            kind=kind,
            nodes=graph.nodes,
            inputs=tuple(info.name for info in graph.inputs),
            outputs=tuple(info.name for info in graph.outputs),
            initializers={tensor.name: tensor for tensor in graph.initializers},
            types=types.types,
            assumed=types.assumed,
            parent=parent,
            owner=owner,
            times=times,
        )
        self.enter(scope, types)

    def function(self, function: Function, signature: _Signature, calls: _Calls, number: int) -> None:
        path = _function_name(function.key) + (f"#{number}" if number > 1 else "")
        types = function_types(self.model, function, signature, self.hints, self.callees)
        self.note(path, types)
        scope = Scope(
            index=len(self.scopes),
            path=path,
            kind="function",
            nodes=function.nodes,
            inputs=function.inputs,
            outputs=function.outputs,
            initializers={},
            types=types.types,
            assumed=types.assumed,
            parent=None,
            owner=None,
            times=calls.times,
            calls=tuple(calls.sites),
        )
        self.enter(scope, types)

    def enter(self, scope: Scope, types: ScopeTypes) -> None:
        """Add a scope, then the bodies in it, and note the calls it makes."""
        self.scopes.append(scope)
        for node in scope.nodes:
            if node.function_key in self.callable and not is_dispatch(node):
                self.call(scope, node)
            for label, body in node.bodies:
                self.graph(
                    body,
                    types.bodies[node.index, label],
                    scope.qualified(f"{node.id}/{label}"),
                    kind="body",
                    parent=scope.index,
                    owner=node.index,
                    times=scope.times,
                )

    def call(self, scope: Scope, node: Node) -> None:
        seen = Expansion(tuple(self.scopes), self.callable, ())
        formals = self.model.functions[node.function_key].inputs
        actuals = [*node.inputs, *[""] * len(formals)]
        signature = tuple(
            msgspec.structs.replace(seen.type_of(scope, actual), name=formal)
            for formal, actual in zip(formals, actuals, strict=False)
        )
        calls = self.calls[node.function_key].setdefault(signature, _Calls())
        calls.times += scope.times
        calls.sites.append((scope.index, node.index))


def _function_name(key: FunctionKey) -> str:
    domain, name, overload = key
    return (f"{domain}::" if domain else "") + name + (f":{overload}" if overload else "")
