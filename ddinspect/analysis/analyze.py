"""Graph and metadata -> Analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ddinspect.analysis.boundaries import boundaries
from ddinspect.analysis.casts import casts
from ddinspect.analysis.dataflow import Flow, flows, holder
from ddinspect.analysis.figures import Parts, summarise
from ddinspect.analysis.fusion import fusion
from ddinspect.analysis.layout import layout
from ddinspect.analysis.listing import left_nodes, left_rows, offloaded_rows, todo
from ddinspect.analysis.placement import roles
from ddinspect.analysis.split import Split
from ddinspect.analysis.values import Analysis, Source
from ddinspect.artifacts.metadata import Metadata
from ddinspect.onnxfile.dispatch import is_dispatch
from ddinspect.onnxfile.dtypes import BFP16, NAMES, UINT8, UNDEFINED
from ddinspect.onnxfile.model import Model, ValueInfo
from ddinspect.onnxfile.scopes import Expansion, expand

_BLOCK_FLOAT = "bfp16ebs8"  # AMD's name for 8 values that share an exponent


def split_model(model: Model, metadata: Mapping[str, Metadata]) -> Split:
    """Say of every node of a model where it runs.

    Args:
        model: The model.
        metadata: By name of the DD node.
    """
    borders = {name: _border_types(entry) for name, entry in metadata.items()}
    hints = {node: {name: _as_in_graph(info) for name, info in types.items()} for node, types in borders.items()}
    expansion = expand(model, hints)
    found = flows(expansion)
    return Split(
        model=model,
        expansion=expansion,
        flows=found,
        roles=roles(expansion, found),
        block_float=dict(_block_float(expansion, found, borders)),
    )


def _border_types(metadata: Metadata) -> dict[str, ValueInfo]:
    """What the metadata records of the tensors that enter and leave its DD node."""
    by_name = {name.lower(): dtype for dtype, name in NAMES.items()} | {_BLOCK_FLOAT: BFP16}
    return {
        # A symbolic dim is recorded as 0.
        name: ValueInfo(name, by_name.get(tensor.dtype, UNDEFINED), tuple(dim or None for dim in tensor.shape))
        for name, tensor in metadata.tensors.items()
        if tensor.label in ("in", "out")
    }


def _block_float(
    expansion: Expansion, found: tuple[Flow, ...], borders: Mapping[str, Mapping[str, ValueInfo]]
) -> Iterator[tuple[tuple[int, str], ValueInfo]]:
    """Tensors of DD nodes that the metadata says are block float, by the scope they stand in."""
    for flow in found:
        for node in filter(is_dispatch, flow.scope.nodes):
            types = borders.get(node.name, {})
            for name in (*node.inputs, *node.outputs):
                info = types.get(name)
                at = holder(expansion, found, flow.scope, name) if info and info.dtype == BFP16 else None
                if info is not None and at is not None:
                    yield (at.scope.index, name), info


def _as_in_graph(info: ValueInfo) -> ValueInfo:
    """ONNX has no block float: the graph carries such tensors as UINT8."""
    return ValueInfo(info.name, UINT8, info.shape) if info.dtype == BFP16 else info


def analyze_split(split: Split, metadata: Mapping[str, Metadata], source: Source) -> Analysis:
    """Everything that is known about a model, from its graph and the metadata of its DD nodes."""
    fused = fusion(split, metadata)
    nodes = left_nodes(split)
    dispatched = ((flow.scope.index, node.index) for flow in split.flows for node in split.dispatched(flow.scope))
    counts = dict(zip(dispatched, (node.fused_ops for node in fused.dd_nodes), strict=True))
    parts = Parts(fused, casts(split), layout(split), boundaries(split, counts), nodes)
    summary, figures = summarise(split, parts)
    return Analysis(
        source=source,
        summary=summary,
        offloaded=offloaded_rows(fused),
        not_offloaded=left_rows(nodes),
        fusion=fused,
        casts=parts.casts,
        layout=parts.layout,
        boundaries=parts.boundaries,
        todo=todo(nodes),
        figures=figures,
        nodes=nodes,
    )
