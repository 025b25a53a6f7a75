"""Rules about how much is offloaded, and whether the figures can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ddinspect.artifacts.metadata import Metadata
from ddinspect.onnxfile.dispatch import replaced
from ddinspect.printable import printable
from ddinspect.rules.rule import Context, Hit, Rule
from ddinspect.rules.walk import Dispatched, dispatched
from ddinspect.rules.wording import counted, listed, quoted


def _no_dd_node(context: Context) -> Iterator[Hit]:
    if not dispatched(context):
        nodes = counted(context.analysis.summary.not_offloaded, "node")
        yield Hit(f"no DynamicDispatch node among {nodes}: nothing of this graph runs on the NPU")


def _metadata_missing(context: Context) -> Iterator[Hit]:
    for dd in dispatched(context):
        if dd.metadata is None:
            file = f"{dd.node.name}_meta.json"
            said = f"DD node {quoted(dd.node.name)} has no metadata: {_why_missing(context, file)}"
            clauses = (said, *_without_metadata(context, dd))
            yield Hit("; ".join(clauses), dd.counted.node)


def _why_missing(context: Context, file: str) -> str:
    if any(file in note for note in context.analysis.source.notes):
        return f"{quoted(file)} is there and cannot be read (see DD011)"
    if context.metadata_given:
        return f"{quoted(file)} is not among the files that were given"
    return f"no {quoted(f'cache/{file}')} or {quoted(f'.cache/{file}')} beside the model"


def _without_metadata(context: Context, dd: Dispatched) -> Iterator[str]:
    """What is counted instead, by AMD and here, and which file may be the missing one."""
    if not context.unused_metadata:
        yield "AMD's own report counts none of its ops" if context.metadata else "AMD's own report prints 0.0% here"
    if dd.counted.fused_ops is not None:
        yield f"{counted(dd.counted.fused_ops, 'fused op')} counted from `replaced` instead"
    names = set(replaced(dd.node) or ())
    for metadata in context.unused_metadata:
        same = len(names & {op.name for op in metadata.ops})
        file = f"the unused {_file(metadata)} holds {same:,} of its {counted(len(names), 'op')}"
        yield f"{file}, so the node or the file was renamed" if same else file


def _file(metadata: Metadata) -> str:
    """The file of some metadata, and which entry of it in the combined form."""
    file = quoted(Path(metadata.path).name)
    return f"entry {quoted(metadata.node)} of {file}" if metadata.combined else file


def _replaced_missing(context: Context) -> Iterator[Hit]:
    for dd in dispatched(context):
        if replaced(dd.node) is None:
            instead = "nothing says what it stands for"
            if dd.metadata is not None:
                instead = f"its metadata counts instead ({counted(len(dd.metadata.ops), 'op')})"
            yield Hit(f"DD node {quoted(dd.node.name)} has no `replaced` attribute: {instead}", dd.counted.node)


def _unknown_fused_count(context: Context) -> Iterator[Hit]:
    for dd in dispatched(context):
        if dd.counted.fused_ops is None:
            missing = "neither metadata nor a `replaced` attribute"
            figures = "fused_ops and dd_ratio are unknown"
            yield Hit(f"DD node {quoted(dd.node.name)} has {missing}: {figures}", dd.counted.node)


def _top_level_ratio_differs(context: Context) -> Iterator[Hit]:
    summary, main = context.analysis.summary, context.split.expansion.scopes[0]
    ratio, top = summary.dd_ratio, summary.dd_ratio_top_level
    if ratio is not None and top is not None and ratio != top:
        beyond = sorted({flow.scope.path for flow in context.split.flows[1:]})
        where = f"{counted(len(main.nodes), 'node')} of the top level, without {listed(map(quoted, beyond))}"
        yield Hit(f"dd_ratio is {ratio}% but AMD's own report says {top}%: it looks at the {where}")


def _metadata_unused(context: Context) -> Iterator[Hit]:
    for metadata in context.unused_metadata:
        ops = counted(len(metadata.ops), "op")
        yield Hit(f"{_file(metadata)} with {ops} belongs to no DD node: none is called {quoted(metadata.node)}")


def _files_passed_over(context: Context) -> Iterator[Hit]:
    for note in context.analysis.source.notes:
        yield Hit(f"passed over: {printable(note)}")


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id="DD001",
        name="no-dd-node",
        severity="warning",
        summary="The graph has no DynamicDispatch node.",
        why="Only DynamicDispatch nodes run on the NPU. This is a graph before partitioning, or one in which the "
        "partitioner found nothing to replace.",
        fix="Run the partitioner, or name the `dd/replaced.onnx` it made; `ddinspect plan` says what of this graph "
        "would be offloaded.",
        check=_no_dd_node,
    ),
    Rule(
        id="DD002",
        name="metadata-missing",
        severity="warning",
        summary="A DD node has no metadata file.",
        why="The runtime opens `<node name>_meta.json` and cannot run the node without it. AMD's own report counts no "
        "fused op where the file is missing, so its ratio collapses without a word.",
        fix="Copy the `cache` folder that the partitioner wrote next to the model, and do not rename nodes or files "
        "afterwards.",
        check=_metadata_missing,
    ),
    Rule(
        id="DD005",
        name="replaced-missing",
        severity="warning",
        summary="A DD node has no `replaced` attribute.",
        why="`replaced` lists the ops a DD node stands for. Without it nothing in the graph confirms the metadata, and "
        "AMD's own report stops with an error.",
        fix="Partition again with a version of the partitioner that writes `replaced`.",
        check=_replaced_missing,
    ),
    Rule(
        id="DD009",
        name="top-level-ratio-differs",
        severity="info",
        summary="dd_ratio is not the figure AMD's own report prints.",
        why="AMD's report counts the nodes of the main graph only. dd_ratio also counts the bodies of If, Loop and "
        "Scan, and local functions once per call.",
        fix="Compare dd_ratio_top_level with figures of AMD's report, and dd_ratio with those of this tool.",
        check=_top_level_ratio_differs,
    ),
    Rule(
        id="DD010",
        name="metadata-unused",
        severity="info",
        summary="A metadata file belongs to no DD node.",
        why="It is left from an earlier partitioning, or its DD node was renamed. AMD's own report reads it all the "
        "same, and counts ops by it.",
        fix="Delete it if it is left over; give it the DD node's name if it belongs to one.",
        check=_metadata_unused,
    ),
    Rule(
        id="DD011",
        name="files-passed-over",
        severity="info",
        summary="A file beside the model was found and not used.",
        why="Figures may be missing because the file could not be read. A foreign JSON file with `meta` in its name is "
        "no fault, but AMD's own report stops at it with an error.",
        fix="Replace the file if it is broken; move it away if it belongs to something else.",
        check=_files_passed_over,
    ),
    Rule(
        id="DD012",
        name="unknown-fused-count",
        severity="warning",
        summary="Nothing says how many ops a DD node stands for.",
        why="One such node leaves fused_ops and dd_ratio of the whole model unknown, and no gate can be applied.",
        fix="Put its metadata file back, or partition the model again.",
        check=_unknown_fused_count,
    ),
)
