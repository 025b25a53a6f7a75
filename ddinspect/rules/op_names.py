"""Rules about the names that join DD nodes and their metadata."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from ddinspect.onnxfile.dispatch import replaced
from ddinspect.rules.rule import Context, Hit, Rule
from ddinspect.rules.walk import Dispatched, dispatched
from ddinspect.rules.wording import counted, listed, quoted


def _names_unresolved(context: Context) -> Iterator[Hit]:
    for dd in dispatched(context):
        missing = dd.counted.unresolved
        if missing:
            share = f"{len(missing):,} of {counted(len(replaced(dd.node) or ()), 'op')} in `replaced`"
            lost = f"not in the metadata and not counted: {listed(map(quoted, missing))}"
            yield Hit(f"DD node {quoted(dd.node.name)} has {share} that are {lost}", dd.counted.node)


def _names_clashing(context: Context) -> Iterator[Hit]:
    nodes = dispatched(context)
    for dd in nodes:
        if dd.counted.repeated:
            names = listed(map(quoted, dd.counted.repeated))
            yield Hit(f"DD node {quoted(dd.node.name)} lists {names} more than once in `replaced`", dd.counted.node)
    shared = _shared(nodes)
    for name, owners in shared.items():
        ids = listed(quoted(dd.counted.node) for dd in owners)
        yield Hit(f"op {quoted(name)} is in `replaced` of {len(owners)} DD nodes: {ids}", owners[0].counted.node)
    yield from _in_two_files(context, set(shared))
    for metadata in context.shadowed_metadata:
        used = next((found for found in context.metadata.values() if found.node == metadata.node), None)
        if used is not None:
            same = "the same" if used.ops == metadata.ops else "another"
            files = f"{quoted(used.path)} is used, {quoted(metadata.path)} with {same} op list is not"
            yield Hit(f"DD node {quoted(metadata.node)} has metadata in two places: {files}")


def _shared(nodes: tuple[Dispatched, ...]) -> dict[str, list[Dispatched]]:
    """Names that several DD nodes list, with these nodes."""
    owners: defaultdict[str, list[Dispatched]] = defaultdict(list)
    for dd in nodes:
        for name in dict.fromkeys(replaced(dd.node) or ()):
            owners[name].append(dd)
    return {name: listing for name, listing in owners.items() if len(listing) > 1}


def _in_two_files(context: Context, known: set[str]) -> Iterator[Hit]:
    """Op names that the metadata of several nodes holds, whether a DD node of that name is there or not."""
    every = {metadata.node: metadata for metadata in (*context.metadata.values(), *context.unused_metadata)}
    owners: defaultdict[str, list[str]] = defaultdict(list)
    for metadata in every.values():
        for name in dict.fromkeys(op.name for op in metadata.ops):
            owners[name].append(metadata.node)
    groups: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, nodes in owners.items():
        if len(nodes) > 1 and name not in known:
            groups[tuple(nodes)].append(name)
    for group, names in groups.items():
        shared = (
            f"{counted(len(names), 'op name')} in the metadata of {len(group)} nodes ({listed(map(quoted, group))})"
        )
        yield Hit(f"{shared}: {listed(map(quoted, names))}")


def _replaced_differs(context: Context) -> Iterator[Hit]:
    for dd in dispatched(context):
        names = replaced(dd.node)
        if names is None or dd.metadata is None or dd.counted.unresolved:
            continue
        in_file = [op.name for op in dd.metadata.ops]
        extra = list((Counter(in_file) - Counter(names)).elements())
        node = f"DD node {quoted(dd.node.name)}"
        if extra:
            ops = f"{counted(len(extra), 'op')} that `replaced` does not list: {listed(map(quoted, extra))}"
            yield Hit(f"the metadata of {node} holds {ops}", dd.counted.node)
        elif list(dict.fromkeys(in_file)) != list(dict.fromkeys(names)):
            pairs = zip(dict.fromkeys(in_file), dict.fromkeys(names), strict=True)
            first, wanted = next((a, b) for a, b in pairs if a != b)
            order = f"{quoted(first)} stands where `replaced` has {quoted(wanted)}"
            yield Hit(f"the metadata of {node} lists the ops in another order: {order}", dd.counted.node)


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id="DD003",
        name="names-unresolved",
        severity="warning",
        summary="A DD node replaces ops that its metadata does not have.",
        why="Graph and metadata come from different runs of the partitioner. The node runs what the metadata says, not "
        "what the graph says it replaced; AMD's own report leaves such ops out without a word.",
        fix="Take graph and metadata from the same partitioner run.",
        check=_names_unresolved,
    ),
    Rule(
        id="DD004",
        name="names-clashing",
        severity="warning",
        summary="An op name stands for more than one fused op, or a DD node has metadata in two places.",
        why="AMD's own report keeps one table of op names for all files: the file it reads last decides the type, and "
        "an op that is listed twice counts twice.",
        fix="Give the nodes of the original graph unique names and partition again; delete metadata that is left over.",
        check=_names_clashing,
    ),
    Rule(
        id="DD006",
        name="replaced-differs",
        severity="warning",
        summary="`replaced` and the op list of the metadata are not the same list.",
        why="The partitioner writes both from one list, so they agree entry by entry. Where they do not, one of the "
        "two files was edited or comes from another run.",
        fix="Take graph and metadata from the same partitioner run.",
        check=_replaced_differs,
    ),
)
