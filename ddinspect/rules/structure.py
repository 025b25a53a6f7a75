"""Rules about names, order and edges of the nodes of a graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from ddinspect.artifacts.join import sanitise
from ddinspect.onnxfile.dispatch import is_dispatch
from ddinspect.onnxfile.scopes import Scope
from ddinspect.rules.rule import Context, Hit, Rule
from ddinspect.rules.walk import Dispatched, dispatched, distinct
from ddinspect.rules.wording import counted, listed, quoted


def _duplicate_names(context: Context) -> Iterator[Hit]:
    for flow in distinct(context.split.flows):
        scope = flow.scope
        nodes = _repeated(node.name for node in scope.nodes)
        made = [name for node in scope.nodes for name in node.outputs]
        tensors = _repeated((*scope.inputs, *scope.initializers, *made))
        where = f" in {quoted(scope.path)}" if scope.path else ""
        for label, found in (("node name", nodes), ("tensor", tensors)):
            if found:
                names = listed(f"{quoted(name)} {count:,} times" for name, count in found.items())
                verb = "used for more than one node" if label == "node name" else "made more than once"
                yield Hit(f"{counted(len(found), label)} {verb}{where}: {names}")


def _repeated(names: Iterable[str]) -> dict[str, int]:
    """Names that occur more than once, and how often. An empty name is none."""
    return {name: count for name, count in Counter(filter(None, names)).items() if count > 1}


def _unnamed_nodes(context: Context) -> Iterator[Hit]:
    ids = [
        flow.scope.qualified(node.id)
        for flow in distinct(context.split.flows)
        for node in flow.scope.nodes
        if not node.name and not is_dispatch(node)
    ]
    if ids:
        called = f"called here by their first output: {listed(map(quoted, ids))}"
        yield Hit(f"{counted(len(ids), 'node')} without a name, {called}", ids[0])


def _unnamed_dd_node(context: Context) -> Iterator[Hit]:
    for dd in dispatched(context):
        if not dd.node.name:
            yield Hit(f"the DD node that makes {listed(map(quoted, _outputs(dd)))} has no name", dd.counted.node)


def _outputs(dd: Dispatched) -> list[str]:
    return [name for name in dd.node.outputs if name] or [dd.counted.node]


def _unsorted_graph(context: Context) -> Iterator[Hit]:
    for flow in distinct(context.split.flows):
        cyclic = set(flow.cyclic)
        nodes = (node for node in flow.scope.nodes if node.index not in cyclic)
        early = [node for node in nodes if any(maker >= node.index for maker in flow.before(node.index))]
        if early:
            ids = [flow.scope.qualified(node.id) for node in early]
            yield Hit(f"{counted(len(ids), 'node')} before the node that makes an input: {_quoted(ids)}", ids[0])


def _cyclic_graph(context: Context) -> Iterator[Hit]:
    for flow in distinct(context.split.flows):
        if flow.cyclic:
            ids = [flow.scope.qualified(flow.scope.nodes[index].id) for index in flow.cyclic]
            yield Hit(f"{counted(len(ids), 'node')} on a cycle or behind one: {_quoted(ids)}", ids[0])


def _quoted(ids: Iterable[str]) -> str:
    return listed(map(quoted, ids))


def _dd_name_not_file_safe(context: Context) -> Iterator[Hit]:
    claims: defaultdict[str, list[Dispatched]] = defaultdict(list)
    for dd in dispatched(context):
        name = dd.node.name
        if not name:
            continue
        safe = sanitise(name)
        claims[safe.casefold()].append(dd)
        if safe != name:
            yield Hit(
                f"DD node {quoted(name)} cannot be part of a file name; a safe name is {quoted(safe)}", dd.counted.node
            )
    for owners in claims.values():
        if len(owners) > 1:
            names = listed(f"{quoted(dd.node.name)} in {_place(dd.scope)}" for dd in owners)
            file = quoted(f"{sanitise(owners[0].node.name)}_meta.json")
            yield Hit(f"{len(owners)} DD nodes share the metadata file {file}: {names}", owners[1].counted.node)


def _place(scope: Scope) -> str:
    return quoted(scope.path) if scope.path else "the main graph"


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id="DD205",
        name="duplicate-names",
        severity="error",
        summary="Two nodes of a graph have the same name, or two make the same tensor.",
        why="ONNX Runtime refuses the model, though onnx's checker lets shared node names pass. Which of two values a "
        "reader gets is undefined.",
        fix="Rename one of them; a tool that merged or copied sub-graphs without prefixing names is the usual cause.",
        check=_duplicate_names,
    ),
    Rule(
        id="DD206",
        name="unnamed-nodes",
        severity="info",
        summary="Nodes have no name.",
        why="Fused ops take the name of the node they replace, so an unnamed one cannot be followed from the original "
        "graph through partitioning to a report.",
        fix="Name the nodes of the original graph before it is partitioned.",
        check=_unnamed_nodes,
    ),
    Rule(
        id="DD207",
        name="unsorted-graph",
        severity="warning",
        summary="Nodes do not stand in the order in which they can run.",
        why="ONNX demands that order. ONNX Runtime sorts by itself, but onnx's checker and many tools refuse the model "
        "or work out no shapes.",
        fix="Sort the nodes topologically and save the model again.",
        check=_unsorted_graph,
    ),
    Rule(
        id="DD208",
        name="cyclic-graph",
        severity="error",
        summary="Nodes wait for each other in a circle.",
        why="No order exists in which the nodes could run; ONNX Runtime refuses the model. Fusing two ops with a CPU "
        "op between them into one DD node makes such a circle.",
        fix="Partition again so that no DD node both feeds a CPU node and depends on it.",
        check=_cyclic_graph,
    ),
    Rule(
        id="DD210",
        name="dd-name-not-file-safe",
        severity="warning",
        summary="The name of a DD node cannot be the name of a file of its own.",
        why="The runtime opens `<node name>_meta.json` and a state file of that name. Characters that a file name "
        "cannot hold, and names that differ in nothing but case on Windows, make it find nothing or the wrong file.",
        fix="Rename the DD node to letters, digits, `_`, `-` and `.`, each name once per model, and its files with it.",
        check=_dd_name_not_file_safe,
    ),
    Rule(
        id="DD211",
        name="unnamed-dd-node",
        severity="error",
        summary="A DD node has no name.",
        why="The runtime finds the metadata and the state of a DD node by its name alone. Without one there is no file "
        "it could open.",
        fix="Give the DD node the name its metadata file has, without `_meta.json`.",
        check=_unnamed_dd_node,
    ),
)
