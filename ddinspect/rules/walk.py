"""What a model file holds, each thing once.

A function that is called with inputs of several types has a scope for each, all with the same nodes. What a rule says
about a node it says about the file, so the first of such scopes stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ddinspect.analysis.dataflow import Flow
from ddinspect.analysis.values import DDNode
from ddinspect.artifacts.metadata import Metadata
from ddinspect.onnxfile.calls import all_nodes
from ddinspect.onnxfile.model import Function, Graph, Model, Node, Tensor
from ddinspect.onnxfile.scopes import Scope
from ddinspect.rules.rule import Context


class Dispatched(NamedTuple):
    """A DD node, what the analysis counted in it, and its metadata if there is any."""

    scope: Scope
    node: Node
    counted: DDNode
    metadata: Metadata | None


def distinct(flows: Iterable[Flow]) -> tuple[Flow, ...]:
    """Scopes without those that hold the nodes of an earlier one."""
    first: dict[int, Flow] = {}
    for flow in flows:
        first.setdefault(id(flow.scope.nodes), flow)
    return tuple(first.values())


def dispatched(context: Context) -> tuple[Dispatched, ...]:
    """The DD nodes of the file."""
    split, fusion = context.split, context.analysis.fusion
    sites = [(flow.scope, node) for flow in split.flows for node in split.dispatched(flow.scope)]
    first: dict[int, Dispatched] = {}
    for (scope, node), counted in zip(sites, fusion.dd_nodes if fusion else (), strict=True):
        first.setdefault(id(node), Dispatched(scope, node, counted, context.metadata.get(node.name)))
    return tuple(first.values())


def parts(model: Model) -> tuple[Model | Function, ...]:
    """What has opset imports of its own: the model and its local functions, called or not."""
    return (model, *model.functions.values())


def nodes_of(part: Model | Function) -> Iterator[Node]:
    """Nodes of the main graph or of a function, those in bodies included."""
    return all_nodes(part.nodes if isinstance(part, Function) else part.graph.nodes)


def graphs(model: Model) -> Iterator[Graph]:
    """The main graph and every body, those in functions included."""
    yield model.graph
    for part in parts(model):
        for node in nodes_of(part):
            yield from (body for _, body in node.bodies)


def tensors(model: Model) -> Iterator[Tensor]:
    """Every constant: initializers of all graphs, and the values of attributes."""
    for graph in graphs(model):
        yield from graph.initializers
    for part in parts(model):
        for node in nodes_of(part):
            for value in node.attributes.values():
                values = value if isinstance(value, tuple) else (value,)
                yield from (each for each in values if isinstance(each, Tensor))
