from __future__ import annotations

from functools import partial
from pathlib import Path

import onnxruntime as ort
import pytest
from faulty_graphs import body_before_maker, node_names_in_branch, output_named_like_input, two_dd_names
from messages import findings_of, message_of, messages_of
from onnx import ModelProto

from fixtures.small_graphs.base import NHWC, small
from fixtures.small_graphs.build import f32, model, node, save


def test_shared_names_are_given_with_their_number(tmp_path: Path) -> None:
    nodes = message_of("DD205", "duplicate_node_names", tmp_path / "nodes")
    assert nodes == "1 node name used for more than one node: `n` 2 times"
    tensors = message_of("DD205", "two_producers", tmp_path / "tensors")
    assert tensors == "1 tensor made more than once: `z` 2 times"
    assert message_of("DD205", output_named_like_input, tmp_path / "input").endswith("`x` 2 times")
    branch = message_of("DD205", partial(node_names_in_branch, second="n"), tmp_path / "branch")
    assert branch == "1 node name used for more than one node in `n/then_branch`: `n` 2 times"


def two_nodes(first: str, second: str, made: str) -> ModelProto:
    nodes = [node("Relu", ["x"], ["m"], first), node("Abs", ["m"], [made], second)]
    return model(nodes, [f32("x", *NHWC)], [f32(made, *NHWC)], opsets={"": 17})


@pytest.mark.parametrize(("first", "second", "made"), [("n", "n", "y"), ("a", "b", "m"), ("a", "b", "x")])
def test_onnx_runtime_refuses_them(first: str, second: str, made: str, tmp_path: Path) -> None:
    """Why the rule is an error: each of its three forms keeps the model from being loaded."""
    with pytest.raises(Exception, match=r"two nodes with same node name|Duplicate definition"):
        ort.InferenceSession(two_nodes(first, second, made).SerializeToString())
    assert ort.InferenceSession(two_nodes("", "", "y").SerializeToString()).get_outputs()[0].name == "y"
    assert len(messages_of("DD205", lambda folder: save(folder, two_nodes(first, second, made)), tmp_path)) == 1


def test_an_omitted_output_is_no_name(tmp_path: Path) -> None:
    assert messages_of("DD205", "t10_omitted", tmp_path / "omitted") == []
    assert messages_of("DD205", "unnamed_nodes", tmp_path / "unnamed") == []


def test_unnamed_nodes_are_named_by_their_output(tmp_path: Path) -> None:
    (finding,) = findings_of("DD206", "unnamed_nodes", tmp_path)
    assert finding.message == "2 nodes without a name, called here by their first output: `q`, `r`"
    assert finding.node == "q"


def test_an_unnamed_dd_node_is_a_fault_of_its_own(tmp_path: Path) -> None:
    def unnamed(folder: Path) -> Path:
        return save(folder, small(dd=""), {})

    (finding,) = findings_of("DD211", unnamed, tmp_path / "a")
    assert finding.message == "the DD node that makes `dd_out` has no name"
    assert (finding.severity, finding.node) == ("error", "dd_out")
    assert messages_of("DD206", unnamed, tmp_path / "b") == []
    assert messages_of("DD210", unnamed, tmp_path / "c") == []


def test_nodes_before_their_inputs_are_counted(tmp_path: Path) -> None:
    # Five nodes, last one first: all but the one that reads the graph input stand too early.
    assert message_of("DD207", "t10_unsorted", tmp_path / "a").startswith("4 nodes before the node that makes an input")
    assert message_of("DD207", body_before_maker, tmp_path / "b").endswith(": `if0`")


def test_a_cycle_is_named(tmp_path: Path) -> None:
    (finding,) = findings_of("DD208", "cycle", tmp_path)
    assert finding.message == "3 nodes on a cycle or behind one: `dd`, `relu`, `back_y`"
    assert finding.node == "dd"


def test_a_name_that_no_file_can_have_gets_a_safe_one(tmp_path: Path) -> None:
    message = message_of("DD210", lambda folder: save(folder, small(dd="a/b c"), {}), tmp_path)
    assert message == "DD node `a/b c` cannot be part of a file name; a safe name is `ab_c`"


@pytest.mark.parametrize("second", ["dd", "DD"])
def test_dd_nodes_that_share_a_file_are_named(second: str, tmp_path: Path) -> None:
    (finding,) = findings_of("DD210", partial(two_dd_names, second=second), tmp_path)
    assert finding.message == (
        f"2 DD nodes share the metadata file `dd_meta.json`: `dd` in the main graph, `{second}` in `if0/then_branch`"
    )
    assert finding.node == f"if0/then_branch/{second}"
