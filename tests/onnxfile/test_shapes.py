"""Types from the graph, from DD attributes, from side files and from inference, in this order of trust."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from ddinspect.onnxfile.dtypes import BFP16
from ddinspect.onnxfile.model import Model, Shape, ValueInfo
from ddinspect.onnxfile.reader import read_model
from ddinspect.onnxfile.shapes import Hints, ScopeTypes, callees_of, graph_types, merge
from fixtures.small_graphs import write
from fixtures.small_graphs.base import NCHW, NHWC, between
from fixtures.small_graphs.build import (
    BFLOAT16,
    BOOL,
    DOMAIN,
    FLOAT,
    INT64,
    TO_NHWC,
    bf16,
    body,
    cast_avx,
    dispatch,
    f32,
    ints,
    model,
    node,
    save,
    tensor,
    transpose,
)

UNTYPED = helper.make_empty_tensor_value_info("y")


def types_of(read: Model, hints: Hints | None = None) -> ScopeTypes:
    return graph_types(read, hints or {}, callees_of(read, hints or {}))


def types(folder: Path, made: ModelProto, hints: Hints | None = None) -> ScopeTypes:
    return types_of(read_model(save(folder, made, {})), hints)


def shape_of(
    folder: Path,
    nodes: Sequence[NodeProto],
    name: str = "y",
    *,
    value_info: Sequence[ValueInfoProto] = (),
    initializers: Sequence[TensorProto] = (),
    inputs: Sequence[ValueInfoProto] = (f32("x", *NHWC),),
) -> Shape:
    found = types(folder, model(nodes, inputs, [UNTYPED], value_info, initializers=initializers))
    assert found.dropped is None
    return found.types[name].shape


def test_without_value_info_shapes_come_past_the_dd_node(tmp_path: Path) -> None:
    found = types_of(read_model(write("t1_no_value_info", tmp_path)))
    assert found.types == {
        "z": ValueInfo("z", FLOAT, (1, 4, 64, 64)),
        "z_nhwc": ValueInfo("z_nhwc", FLOAT, (1, 64, 64, 4)),
        "z_b": ValueInfo("z_b", BFLOAT16, (1, 64, 64, 4)),
        "image_b": ValueInfo("image_b", BFLOAT16, (1, 512, 512, 3)),
        "image_nhwc": ValueInfo("image_nhwc", FLOAT, (1, 512, 512, 3)),
        "image": ValueInfo("image", FLOAT, (1, 3, 512, 512)),
    }
    assert found.assumed == {"image_b"}
    assert found.dropped is None


def test_what_is_declared_is_not_assumed(tmp_path: Path) -> None:
    assert types_of(read_model(write("t1_vae_mini", tmp_path))).assumed == frozenset()


@pytest.mark.parametrize("opsets", [{"": 17}, {DOMAIN: 1}, {}, {"ai.onnx": 17}, {"ai.onnx": 17, DOMAIN: 1}])
def test_without_opset_import_types_are_complete(opsets: dict[str, int], tmp_path: Path) -> None:
    """onnx itself raises for a domain without import, and does not know the alias of the default domain."""
    chain = [
        transpose("x", "x_nhwc", TO_NHWC),
        cast_avx("x_nhwc", "x_b", BFLOAT16),
        dispatch("dd", ["x_b"], ["y_b"], ["a"], output_shape_0=NHWC),
        node("CastAvx", ["y_b"], ["y_f"], to=FLOAT, domain="vendor"),
        node("Relu", ["y_f"], ["y"], domain="ai.onnx"),
    ]
    found = types(tmp_path, model(chain, [f32("x", *NCHW)], [UNTYPED], opsets=opsets))
    assert found.dropped is None
    assert {name: (info.dtype, info.shape) for name, info in found.types.items()} == {
        "x": (FLOAT, NCHW),
        "x_nhwc": (FLOAT, NHWC),
        "x_b": (BFLOAT16, NHWC),
        "y_b": (BFLOAT16, NHWC),
        "y_f": (FLOAT, NHWC),
        "y": (FLOAT, NHWC),
    }


def test_declared_beats_attribute_beats_side_file_beats_inference(tmp_path: Path) -> None:
    made = between(
        [node("Identity", ["m"], ["p"])],
        second=["p"],
    )
    del made.graph.value_info[:]
    made.graph.value_info.append(tensor("m", FLOAT, 1, None, None, 4))
    m, y_b = ValueInfo("m", BFLOAT16, (9, 9, 9, 9)), ValueInfo("y_b", BFLOAT16, (2, 2))
    found = types(tmp_path, made, {"dd1": {"m": m}, "dd2": {"y_b": y_b}})
    # `m` is declared FLOAT [1,?,?,4], the attribute fills the open dims.
    assert found.types["m"] == ValueInfo("m", FLOAT, NHWC)
    # `p` is stated as an input of dd2 and gets its element type by inference.
    assert found.types["p"] == ValueInfo("p", FLOAT, NHWC)
    # The attribute gives the shape of `y_b`, the side file the element type only.
    assert found.types["y_b"] == ValueInfo("y_b", BFLOAT16, NHWC)
    assert found.assumed == frozenset()


@pytest.mark.parametrize("dtype", [FLOAT, BFP16])
def test_a_side_file_is_asked_where_the_node_is_silent(dtype: int, tmp_path: Path) -> None:
    made = model([dispatch("dd", ["x"], ["d"], ["a"]), node("Relu", ["d"], ["y"])], [bf16("x", 2)], [UNTYPED])
    found = types(tmp_path, made, {"dd": {"d": ValueInfo("d", dtype, (2, 8))}})
    assert found.types["d"] == ValueInfo("d", dtype, (2, 8))
    assert found.assumed == frozenset()
    # Inference has no block float, and goes no further.
    assert found.types["y"] == (ValueInfo("y", FLOAT, (2, 8)) if dtype == FLOAT else ValueInfo("y"))


def test_numbers_of_a_side_file_that_are_no_dims(tmp_path: Path) -> None:
    made = model([dispatch("dd", ["x"], ["d"], ["a"]), node("Relu", ["d"], ["y"])], [bf16("x", 2)], [UNTYPED])
    found = types(tmp_path, made, {"dd": {"d": ValueInfo("d", BFLOAT16, (2**70, 8))}})
    assert found.dropped is None
    assert found.types["y"].shape == (None, 8)


def test_symbols_and_zero_stay_apart(tmp_path: Path) -> None:
    found = types_of(read_model(write("t10_dims", tmp_path)))
    assert found.types["x"].shape == ("batch", None, 0, 4)
    assert found.types["x_b"].shape == ("batch", "n", 0, 4)
    assert found.types["y_b"].shape == ("batch", "n", 0, 4)


def branch(name: str, shape: Sequence[int]) -> onnx.GraphProto:
    """Both branches call what they make `d`; nothing but the DD node says what it is."""
    nodes = [
        dispatch(f"dd_{name}", ["x"], ["d"], ["a"], input_shape_0=[1], output_shape_0=shape),
        cast_avx("d", f"{name}_y", FLOAT),
    ]
    return body(nodes, [], [helper.make_empty_tensor_value_info(f"{name}_y")], name=name)


def test_an_input_from_outside_is_not_half_known(tmp_path: Path) -> None:
    """The DD node in a branch states a shape for `x` and no element type, which would hide the type outside."""
    branches = {"then_branch": branch("then", (1, 2)), "else_branch": branch("else", (1, 3))}
    made = model([node("If", ["c"], ["y"], **branches)], [tensor("c", BOOL), f32("x", 1)], [UNTYPED])
    found = types(tmp_path, made)
    assert "x" not in found.bodies[0, "then_branch"].types
    assert found.types["x"] == ValueInfo("x", FLOAT, (1,))


@pytest.mark.parametrize("declared", [f32("q", 1, None, 8, 4), tensor("q", 0, *NHWC), f32("q", *NHWC)])
def test_what_a_declaration_leaves_open_is_inferred(declared: ValueInfoProto, tmp_path: Path) -> None:
    nodes = [node("Relu", ["x"], ["q"]), node("Relu", ["q"], ["y"])]
    found = types(tmp_path, model(nodes, [f32("x", *NHWC)], [f32("y", *NHWC)], [declared]))
    assert found.types["q"] == ValueInfo("q", FLOAT, NHWC)


def test_what_is_declared_stays_where_inference_knows_better(tmp_path: Path) -> None:
    """onnx puts the 1 it works out over the symbol; the file says `n`, and that is shown."""
    nodes = [node("Relu", ["x"], ["q"]), node("Relu", ["q"], ["y"])]
    assert shape_of(tmp_path, nodes, "q", value_info=[f32("q", "n", 8, 8, 4)]) == ("n", 8, 8, 4)


def test_bodies_may_share_names(tmp_path: Path) -> None:
    branches = {"then_branch": branch("then", (1, 2)), "else_branch": branch("else", (1, 3))}
    made = model([node("If", ["c"], ["y"], **branches)], [tensor("c", BOOL), bf16("x", 1)], [UNTYPED])
    found = types(tmp_path, made)
    assert found.dropped is None
    for label, name, shape in (("then_branch", "then", (1, 2)), ("else_branch", "else", (1, 3))):
        inner = found.bodies[0, label]
        assert inner.types["d"] == ValueInfo("d", BFLOAT16, shape)
        assert inner.types[f"{name}_y"] == ValueInfo(f"{name}_y", FLOAT, shape)
        assert inner.assumed == {"d"}
    # ONNX merges the branches: the second dim differs.
    assert found.types["y"] == ValueInfo("y", FLOAT, (1, None))


def test_a_shape_from_constants_goes_a_long_way(tmp_path: Path) -> None:
    """Reshape takes its shape from a Constant; the weights on the way were left in the file."""
    weight = numpy_helper.from_array(np.zeros((4, 400), np.float32), "w")
    target = numpy_helper.from_array(np.array([2, 200]), "target")
    nodes = [
        node("MatMul", ["x", "w"], ["h"]),
        node("Constant", [], ["target"], value=target),
        *(node("Relu", [f"h{i}" if i else "h"], [f"h{i + 1}"]) for i in range(300)),
        node("Reshape", ["h300", "target"], ["y"]),
    ]
    assert shape_of(tmp_path, nodes, initializers=[weight], inputs=[f32("x", 1, 4)]) == (2, 200)


def test_shape_arithmetic_is_followed(tmp_path: Path) -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Slice", ["s", "zero", "two"], ["head"]),
        node("Concat", ["head", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = [ints("zero", 0), ints("two", 2), ints("rest", 32)]
    assert shape_of(tmp_path, nodes, initializers=constants) == (1, 8, 32)


def test_names_that_inference_invents_are_unknown(tmp_path: Path) -> None:
    # NonZero: [rank, how many], the second unknown before it runs; onnx calls it unk__0.
    nodes = [node("NonZero", ["x"], ["n"]), node("Cast", ["n"], ["y"], to=FLOAT)]
    assert shape_of(tmp_path, nodes) == (4, None)
    assert shape_of(tmp_path, nodes, "n") == (4, None)


def test_a_big_constant_where_a_shape_is_expected_is_no_failure(tmp_path: Path) -> None:
    big = numpy_helper.from_array(np.ones(200, np.int64), "big")
    nodes = [node("Reshape", ["x", "big"], ["r"]), node("Relu", ["x"], ["y"])]
    assert shape_of(tmp_path, nodes, initializers=[big]) == NHWC


@pytest.mark.parametrize(
    ("nodes", "value_info"),
    [
        ([node("Relu", ["x"], ["q"])], [f32("q", 1, 2)]),  # the ranks differ
        ([node("Relu", ["x"], ["q"])], [tensor("q", INT64, *NHWC)]),  # the element types differ
        ([node("NoSuchOp", ["x"], ["q"])], []),
        ([node("Transpose", ["x"], ["q"], perm=[0, 0, 9, 9])], []),
        ([node("Concat", ["x"], ["q"], axis=99)], []),
        ([node("Conv", ["x"], ["q"])], []),
        ([node("Cast", ["x"], ["q"], to="FLOAT")], []),
        ([node("CastAvx", ["x"], ["q"], domain=DOMAIN)], []),
        ([node("Split", ["x"], ["q", "q", "q"], axis=-1)], []),
        ([node("If", ["x"], ["q"])], []),
        ([node("Relu", ["y"], ["x"])], []),  # a circle
        ([node("Relu", ["x"], [""])], []),
        ([node("", [], [])], []),
    ],
)
def test_a_graph_that_is_wrong_keeps_what_it_states(
    nodes: Sequence[NodeProto], value_info: Sequence[ValueInfoProto], tmp_path: Path
) -> None:
    dd = dispatch("dd", ["q"], ["d"], ["a"], output_shape_0=NHWC)
    found = types(tmp_path, model([*nodes, dd, cast_avx("d", "y", FLOAT)], [f32("x", *NHWC)], [UNTYPED], value_info))
    assert found.types["d"] == ValueInfo("d", BFLOAT16, NHWC)
    assert found.types["x"] == ValueInfo("x", FLOAT, NHWC)
    for info in value_info:
        assert found.types["q"].dtype == info.type.tensor_type.elem_type


@pytest.mark.parametrize(
    ("declared", "reason"),
    [(f32("w", 2), "elem type differs"), (tensor("w", INT64, 2, 2), "differ in rank: (1) vs (2)")],
)
def test_inference_that_fails_says_why(declared: ValueInfoProto, reason: str, tmp_path: Path) -> None:
    """An initializer that is declared as something else; of wrong nodes, onnx makes nothing."""
    nodes = [dispatch("dd", ["x"], ["d"], ["a"], output_shape_0=NHWC), node("Relu", ["d"], ["y"])]
    found = types(tmp_path, model(nodes, [f32("x", 1)], [UNTYPED], [declared], initializers=[ints("w", 1, 2)]))
    assert found.dropped is not None
    assert reason in found.dropped
    assert found.types["d"] == ValueInfo("d", BFLOAT16, NHWC)
    assert found.assumed == {"d"}
    assert found.types["y"] == ValueInfo("y")


def test_inference_that_loses_nodes_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    infer = onnx.shape_inference.infer_shapes

    def lose(proto: ModelProto, **options: bool) -> ModelProto:
        made = infer(proto, **options)
        del made.graph.node[-1]
        return made

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", lose)
    found = types(tmp_path, model([node("Relu", ["x"], ["y"])], [f32("x", 2)], [UNTYPED]))
    assert found.dropped == "it gave back another number of nodes"
    assert found.types["y"] == ValueInfo("y")


def test_inference_is_not_run_where_nothing_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> None:
        raise AssertionError("not needed")

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", run)
    assert types_of(read_model(write("t1_vae_mini", tmp_path / "whole"))).dropped is None
    assert types_of(read_model(write("t1_no_value_info", tmp_path / "open"))).dropped == "not needed"


@pytest.mark.parametrize("other", [helper.make_attribute("body", 1), helper.make_attribute("body", "text")])
def test_two_attributes_of_one_name(other: onnx.AttributeProto, tmp_path: Path) -> None:
    """Forbidden, and seen by us as the last one and by onnx as both."""
    loop = node("Loop", ["n", "c"], ["y"])
    loop.attribute.append(helper.make_attribute("body", branch("inner", (1,))))
    loop.attribute.append(other)
    found = types(tmp_path, model([loop], [tensor("n", INT64), tensor("c", BOOL), bf16("x", 1)], [UNTYPED]))
    assert found.bodies == {}


def test_omitted_tensors_have_no_type(tmp_path: Path) -> None:
    assert "" not in types_of(read_model(write("t10_omitted", tmp_path))).types


def test_constants_and_initializers_have_their_own_types(tmp_path: Path) -> None:
    half = numpy_helper.from_array(np.zeros((2, 3), np.float16))
    broken = TensorProto(name="w", data_type=FLOAT, dims=[-2, 3])
    made = model([node("Constant", [], ["c"], value=half)], [], [UNTYPED], initializers=[broken])
    found = types(tmp_path, made)
    assert found.types["c"] == ValueInfo("c", TensorProto.FLOAT16, (2, 3))
    assert found.types["w"] == ValueInfo("w", FLOAT, (None, 3))


def test_merge() -> None:
    assert merge(None, ValueInfo("x", 1, (2,))) == ValueInfo("x", 1, (2,))
    assert merge(ValueInfo("x"), ValueInfo("x", 1, (2, None))) == ValueInfo("x", 1, (2, None))
    assert merge(ValueInfo("x", 1, (None, "b", 3)), ValueInfo("x", 2, (4, 5, 6))) == ValueInfo("x", 1, (4, "b", 3))
    assert merge(ValueInfo("x", 1, (2,)), ValueInfo("x", 0, (2, 2))) == ValueInfo("x", 1, (2,))
    assert merge(ValueInfo("x", 0, ()), ValueInfo("x", 1, (7,))) == ValueInfo("x", 1, ())
