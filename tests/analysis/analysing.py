"""From a model made in a test, or a folder of the fixtures, to its split and analysis."""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx
from onnx import ModelProto

from ddinspect.analysis.analyze import analyze_split, split_model
from ddinspect.analysis.split import Split
from ddinspect.analysis.values import Analysis, Source
from ddinspect.artifacts.join import join
from ddinspect.artifacts.locate import find_metadata
from ddinspect.artifacts.metadata import Buffer, FusedOp, Metadata, MetaTensor
from ddinspect.onnxfile.calls import all_nodes
from ddinspect.onnxfile.dispatch import is_dispatch
from ddinspect.onnxfile.model import Model
from ddinspect.onnxfile.reader import read_model
from fixtures.small_graphs import write


def read(made: ModelProto) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(made, str(path))
        return read_model(path)


def split_of(made: ModelProto, *metadata: Metadata) -> Split:
    return split_model(read(made), {entry.node: entry for entry in metadata})


def analysis_of(made: ModelProto, *metadata: Metadata) -> Analysis:
    by_name = {entry.node: entry for entry in metadata}
    return analyze_split(split_model(read(made), by_name), by_name, Source(path="model.onnx", kind="replaced"))


def analysis_at(path: Path) -> Analysis:
    """A model in a folder, with the metadata beside it."""
    model = read_model(path)
    nodes = [*model.graph.nodes, *(node for function in model.functions.values() for node in function.nodes)]
    names = [node.name for node in all_nodes(nodes) if is_dispatch(node)]
    metadata = join(names, find_metadata(path).metadata).by_name
    return analyze_split(split_model(model, metadata), metadata, Source(path=str(path), kind="replaced"))


def analysis_of_case(name: str, folder: Path) -> Analysis:
    """One of the small graphs."""
    return analysis_at(write(name, folder))


def kinds(made: ModelProto) -> dict[str, str]:
    """Role of every node by its id."""
    split = split_of(made)
    return {
        flow.scope.qualified(node.id): split.role(flow.scope, node.index)
        for flow in split.flows
        for node in flow.scope.nodes
    }


def fused_op(
    op_type: str, inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = (), name: str = "", **attrs: list[int]
) -> FusedOp:
    texts = {key: tuple(map(str, value)) for key, value in attrs.items()}
    return FusedOp(name or op_type, op_type, inputs, (), outputs, texts)


def metadata_of(
    *ops: FusedOp,
    node: str = "dd",
    shapes: dict[str, tuple[int, ...]] | None = None,
    dtypes: dict[str, str] | None = None,
    label: str = "scratch",
    buffers: dict[str, int] | None = None,
) -> Metadata:
    dtypes = dtypes or {}
    tensors = {
        name: MetaTensor(label, dtypes.get(name, "bfloat16"), shape, 0, 0) for name, shape in (shapes or {}).items()
    }
    return Metadata(
        node=node,
        path=f"{node}_meta.json",
        version=(1, 1),
        ops=ops,
        buffers={name: Buffer(size, ()) for name, size in (buffers or {}).items()},
        tensors=tensors,
    )
