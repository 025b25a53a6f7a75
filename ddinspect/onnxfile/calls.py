"""Which local functions of a model call which, and how much that is once every call is followed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from ddinspect.onnxfile.model import FunctionKey, Model, Node

Expanded: TypeAlias = Mapping[FunctionKey, int]


def all_nodes(nodes: Iterable[Node]) -> Iterator[Node]:
    """Some nodes and all nodes in their bodies."""
    for node in nodes:
        yield node
        for _, body in node.bodies:
            yield from all_nodes(body.nodes)


def reachable(model: Model, nodes: Iterable[Node]) -> set[FunctionKey]:
    """Local functions that some nodes call, and those that these call, and so on."""
    found: set[FunctionKey] = set()
    waiting = [nodes]
    for some in waiting:  # grows while it is walked
        called = {node.function_key for node in all_nodes(some)} & model.functions.keys() - found
        found |= called
        waiting += (model.functions[key].nodes for key in sorted(called))
    return found


def expanded_sizes(model: Model) -> Expanded:
    """Number of nodes of each local function once all calls in it are followed.

    Returns:
        The functions in an order in which each comes before those it calls. Functions that end up calling themselves,
        which ONNX forbids, are left out; a call of one is one node.
    """
    called = {key: [node.function_key for node in all_nodes(each.nodes)] for key, each in model.functions.items()}
    callees = {key: dict.fromkeys(each for each in keys if each in called) for key, keys in called.items()}
    followed = {key: callees[key] for key in called if not _calls_itself(key, callees)}
    order = _callers_first(followed)
    sizes: dict[FunctionKey, int] = {}
    for key in reversed(order):
        sizes[key] = sum(sizes.get(each, 0) + 1 for each in called[key])
    return {key: sizes[key] for key in order}


def _calls_itself(key: FunctionKey, callees: Mapping[FunctionKey, Iterable[FunctionKey]]) -> bool:
    waiting = [*callees[key]]
    seen = set(waiting)
    while waiting:
        at = waiting.pop()
        if at == key:
            return True
        waiting += (each for each in callees[at] if each not in seen)
        seen.update(callees[at])
    return False


def _callers_first(callees: Mapping[FunctionKey, Iterable[FunctionKey]]) -> list[FunctionKey]:
    callers = dict.fromkeys(callees, 0)
    for called in callees.values():
        for key in called:
            if key in callers:
                callers[key] += 1
    ready = [key for key, count in callers.items() if count == 0]
    for key in ready:  # grows while it is walked
        for called_key in callees[key]:
            if called_key in callers:
                callers[called_key] -= 1
                if callers[called_key] == 0:
                    ready.append(called_key)
    return ready
