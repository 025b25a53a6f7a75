from __future__ import annotations

from pathlib import Path

from faulty_graphs import local_function
from onnx import helper

from ddinspect.analysis.analyze import analyze_split, split_model
from ddinspect.analysis.values import Source
from ddinspect.artifacts.locate import find_metadata
from ddinspect.onnxfile.model import Model
from ddinspect.onnxfile.reader import read_model
from ddinspect.rules.rule import Context
from ddinspect.rules.walk import dispatched, distinct, graphs, nodes_of, parts, tensors
from fixtures.small_graphs import write
from fixtures.small_graphs.build import BOOL, FLOAT, body, f32, model, node, save, tensor
from fixtures.small_graphs.t08_functions import IMPORTS


def context(path: Path) -> Context:
    read = read_model(path)
    metadata = {each.node: each for each in find_metadata(path).metadata}
    split = split_model(read, metadata)
    analysis = analyze_split(split, metadata, Source(path=str(path), kind="replaced"))
    return Context(split=split, analysis=analysis, metadata=metadata, folder=path.parent)


def nested(folder: Path) -> Model:
    """An If in the main graph and one in a function that nothing calls, each with a constant in a branch."""

    def branches(prefix: str) -> dict[str, object]:
        value = helper.make_tensor(f"{prefix}_value", FLOAT, [1], [1.0])
        constant = node("Constant", [], [f"{prefix}_then"], f"{prefix}_constant", value=value)
        weight = helper.make_tensor(f"{prefix}_else", FLOAT, [1], [2.0])
        return {
            "then_branch": body([constant], [], [f32(f"{prefix}_then", 1)]),
            "else_branch": body([], [], [f32(f"{prefix}_else", 1)], initializers=[weight]),
        }

    function = local_function("Unused", [node("If", ["in"], ["out"], "inner_if", **branches("f"))])
    made = model(
        [node("If", ["cond"], ["y"], "if0", **branches("m"))],
        [tensor("cond", BOOL)],
        [f32("y", 1)],
        functions=[function],
        opsets=IMPORTS,
    )
    return read_model(save(folder, made))


def test_functions_that_nothing_calls_are_parts_too(tmp_path: Path) -> None:
    read = nested(tmp_path)
    first, second = parts(read)
    assert first is read
    assert [each.name for each in nodes_of(first)] == ["if0", "m_constant"]
    assert [each.name for each in nodes_of(second)] == ["inner_if", "f_constant"]


def test_bodies_are_graphs_and_their_constants_are_found(tmp_path: Path) -> None:
    read = nested(tmp_path)
    # onnx writes attributes by name: the else branch, which has no node, comes first.
    assert [len(graph.nodes) for graph in graphs(read)] == [1, 0, 1, 0, 1]
    assert sorted(each.name for each in tensors(read)) == ["f_else", "f_value", "m_else", "m_value"]


def test_a_function_with_two_scopes_is_one_thing(tmp_path: Path) -> None:
    """Two calls with inputs of two shapes: three scopes, of which two hold the same nodes."""
    at = context(write("t8_two_shapes", tmp_path))
    assert [flow.scope.path for flow in at.split.flows] == ["", "local::Block", "local::Block#2"]
    assert [flow.scope.path for flow in distinct(at.split.flows)] == ["", "local::Block"]
    (dd,) = dispatched(at)
    assert dd.counted.node == f"local::Block/{dd.node.name}"
    assert dd.scope.path == "local::Block"


def test_dd_nodes_come_with_their_metadata(tmp_path: Path) -> None:
    (dd,) = dispatched(context(write("sound", tmp_path / "with")))
    assert dd.metadata is not None
    assert (dd.node.name, dd.metadata.node, dd.counted.fused_ops) == ("dd", "dd", 3)
    (bare,) = dispatched(context(write("metadata_missing", tmp_path / "without")))
    assert bare.metadata is None
