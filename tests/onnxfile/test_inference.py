from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, helper

from ddinspect.onnxfile.inference import Callees, GraphTypes, InferenceError, infer_function, infer_model
from ddinspect.onnxfile.model import Model, ValueInfo
from ddinspect.onnxfile.reader import read_model
from ddinspect.onnxfile.shapes import callees_of
from fixtures.small_graphs.build import (
    BFLOAT16,
    BOOL,
    DOMAIN,
    FLOAT,
    body,
    cast_avx,
    dispatch,
    f32,
    ints,
    model,
    node,
    save,
    tensor,
)

NOTHING = GraphTypes({}, {})
UNTYPED = helper.make_empty_tensor_value_info("y")
IMPORTS = {"": 17, DOMAIN: 1, "local": 1}


def read(folder: Path, made: ModelProto) -> tuple[Model, Callees]:
    found = read_model(save(folder, made, {}))
    return found, callees_of(found, {})


def infer(folder: Path, made: ModelProto, stated: GraphTypes = NOTHING) -> GraphTypes:
    found, callees = read(folder, made)
    return infer_model(found, stated, callees)


def function(name: str, nodes: list[NodeProto], imports: dict[str, int] | None = None) -> FunctionProto:
    opsets = [helper.make_opsetid(*each) for each in (IMPORTS if imports is None else imports).items()]
    return helper.make_function("local", name, ["in"], ["out"], nodes, opsets)


def caller(*functions: FunctionProto, names: tuple[str, ...] = ("f",)) -> ModelProto:
    """A chain of calls from `x` [1, 2, 3] to `y`."""
    tensors = ["x", *(f"m{i}" for i in range(1, len(names))), "y"]
    nodes = [node(name, [tensors[i]], [tensors[i + 1]], domain="local") for i, name in enumerate(names)]
    return model(nodes, [f32("x", 1, 2, 3)], [UNTYPED], functions=functions, opsets=IMPORTS)


def test_inference_continues_from_what_is_stated(tmp_path: Path) -> None:
    nodes = [dispatch("dd", ["x"], ["d"], ["a"]), node("Relu", ["d"], ["y"])]
    found, callees = read(tmp_path, model(nodes, [f32("x", 1)], [UNTYPED]))
    assert infer_model(found, NOTHING, callees).types["y"] == ValueInfo("y")
    stated = GraphTypes({"d": ValueInfo("d", BFLOAT16, (7, "n", None))}, {})
    # Each dim stays what it was: a number, a name, unknown.
    assert infer_model(found, stated, callees).types["y"] == ValueInfo("y", BFLOAT16, (7, "n", None))


def test_failure_is_an_error_of_ours(tmp_path: Path) -> None:
    made = model([node("Relu", ["w"], ["y"])], [], [UNTYPED], [f32("w", 2)], initializers=[ints("w", 1, 2)])
    found, callees = read(tmp_path, made)
    with pytest.raises(InferenceError, match="Inferred elem type differs from existing elem type"):
        infer_model(found, NOTHING, callees)


def test_calls_are_followed_past_dd_nodes(tmp_path: Path) -> None:
    """onnx takes no declared types inside a function, so it is shown a Constant of the stated shape."""
    inner = [
        cast_avx("in", "in_b", BFLOAT16),
        dispatch("dd", ["in_b"], ["d"], ["a"], output_shape_0=[5, 6]),
        cast_avx("d", "out", FLOAT),
    ]
    assert infer(tmp_path, caller(function("f", inner))).types["y"] == ValueInfo("y", FLOAT, (5, 6))


def test_calls_are_followed_past_dd_nodes_in_bodies(tmp_path: Path) -> None:
    branches = {
        f"{name}_branch": body(
            [dispatch(name, ["in"], [name], ["a"], output_shape_0=[5, 6])],
            [],
            [helper.make_empty_tensor_value_info(name)],
        )
        for name in ("then", "else")
    }
    inner = [
        node("Constant", [], ["c"], value=helper.make_tensor("c", BOOL, [], [True])),
        node("If", ["c"], ["out"], **branches),
    ]
    assert infer(tmp_path, caller(function("f", inner))).types["y"] == ValueInfo("y", BFLOAT16, (5, 6))


def test_a_dd_node_of_open_shape_in_a_function_is_unknown(tmp_path: Path) -> None:
    inner = [dispatch("dd", ["in"], ["d"], ["a"], output_shape_0="5,h"), node("Relu", ["d"], ["out"])]
    assert infer(tmp_path, caller(function("f", inner))).types["y"] == ValueInfo("y")


@pytest.mark.parametrize("imports", [{}, {"local": 1}, {"ai.onnx": 17}])
def test_a_function_without_opset_imports(imports: dict[str, int], tmp_path: Path) -> None:
    inner = [cast_avx("in", "b", BFLOAT16), node("Relu", ["b"], ["out"])]
    found, callees = read(tmp_path, caller(function("f", inner, imports)))
    assert infer_model(found, NOTHING, callees).types["y"] == ValueInfo("y", BFLOAT16, (1, 2, 3))
    inputs = (ValueInfo("in", FLOAT, (4,)),)
    types = infer_function(found, found.functions["local", "f", ""], inputs, NOTHING, callees).types
    assert types["out"] == ValueInfo("out", BFLOAT16, (4,))


def test_a_function_without_opset_imports_has_those_of_the_model(tmp_path: Path) -> None:
    """Up to opset 12 the axes of Squeeze are an attribute; later ones do not see it, and drop every 1."""
    made = caller(function("f", [node("Squeeze", ["in"], ["out"], axes=[0])], {}))
    made.opset_import[0].version = 11
    found, callees = read(tmp_path, made)
    assert infer_model(found, NOTHING, callees).types["y"].shape == (2, 3)
    inputs = (ValueInfo("in", FLOAT, (1, 1, 4)),)
    types = infer_function(found, found.functions["local", "f", ""], inputs, NOTHING, callees).types
    assert types["out"].shape == (1, 4)


def test_a_call_that_never_ends_does_not_spoil_the_rest(tmp_path: Path) -> None:
    circle = [function("f", [node("g", ["in"], ["out"], domain="local")])]
    circle.append(function("g", [node("f", ["in"], ["out"], domain="local")]))
    made = caller(*circle, function("h", [node("Relu", ["in"], ["out"])]), names=("h", "f"))
    types = infer(tmp_path, made).types
    assert types["m1"] == ValueInfo("m1", FLOAT, (1, 2, 3))
    assert types["y"] == ValueInfo("y")


@pytest.mark.parametrize(("levels", "is_followed"), [(3, True), (40, False)])
def test_calls_that_are_too_many_are_not_followed(levels: int, is_followed: bool, tmp_path: Path) -> None:
    functions = [function(f"f{levels}", [node("Relu", ["in"], ["out"])])]
    for i in range(levels):
        inner = [node(f"f{i + 1}", ["in"], ["half"], domain="local")]
        inner.append(node(f"f{i + 1}", ["half"], ["out"], domain="local"))
        functions.append(function(f"f{i}", inner))
    types = infer(tmp_path, caller(*functions, names=("f0",))).types
    assert types["y"] == (ValueInfo("y", FLOAT, (1, 2, 3)) if is_followed else ValueInfo("y"))


def test_overloads_are_told_apart(tmp_path: Path) -> None:
    plain = function("f", [node("Relu", ["in"], ["out"])])
    other = function("f", [cast_avx("in", "out", BFLOAT16)])
    other.overload = "v2"
    made = caller(plain, other)
    made.graph.node[0].overload = "v2"
    found, callees = read(tmp_path, made)
    assert infer_model(found, NOTHING, callees).types["y"].dtype == BFLOAT16
    for overload, dtype in (("", FLOAT), ("v2", BFLOAT16)):
        key = ("local", "f", overload)
        types = infer_function(found, found.functions[key], (ValueInfo("in", FLOAT, (1,)),), NOTHING, callees).types
        assert types["out"].dtype == dtype


def test_attributes_of_the_caller_are_not_guessed(tmp_path: Path) -> None:
    """The call says axis=1; in the body, Flatten must not be taken for one with the default axis."""
    flatten = node("Flatten", ["in"], ["out"])
    flatten.attribute.add(name="axis", type=AttributeProto.INT, ref_attr_name="axis")
    made = caller(function("f", [flatten]))
    made.functions[0].attribute.append("axis")
    made.graph.node[0].attribute.append(helper.make_attribute("axis", 2))
    found, callees = read(tmp_path, made)
    # The call itself is followed by onnx, which knows: [1, 2, 3] flattened at axis 2.
    assert infer_model(found, NOTHING, callees).types["y"].shape == (2, 3)
    inputs = (ValueInfo("in", FLOAT, (1, 2, 3)),)
    types = infer_function(found, found.functions["local", "f", ""], inputs, NOTHING, callees).types
    assert types["out"] == ValueInfo("out")


def test_inputs_of_unknown_type_are_allowed(tmp_path: Path) -> None:
    found, callees = read(tmp_path, caller(function("f", [node("Relu", ["in"], ["out"])])))
    for info in (ValueInfo("in"), ValueInfo("in", FLOAT), ValueInfo("in", -1, (2,)), ValueInfo("in", 99, (2,))):
        inferred = infer_function(found, found.functions["local", "f", ""], (info,), NOTHING, callees)
        assert inferred.types["out"].dtype in (0, info.dtype)


def test_bodies_are_told_apart_by_node_and_label(tmp_path: Path) -> None:
    branches = {
        f"{name}_branch": body([node("Concat", ["x"] * count, [name], axis=0)], [], [f32(name, None)])
        for count, name in enumerate(("then", "else"), 1)
    }
    made = model([node("If", ["c"], ["y"], **branches)], [tensor("c", BOOL), f32("x", 4)], [UNTYPED])
    found, callees = read(tmp_path, made)
    nothing = GraphTypes({}, {(0, "then_branch"): NOTHING, (0, "else_branch"): NOTHING})
    bodies = infer_model(found, nothing, callees).bodies
    assert bodies[0, "then_branch"].types["then"].shape == (4,)
    assert bodies[0, "else_branch"].types["else"].shape == (8,)


def test_a_function_is_inferred_with_those_it_calls_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Handing every function to each made hundreds of them take minutes."""
    leaf = function("leaf", [node("Relu", ["in"], ["out"])])
    calls_leaf = function("calls", [node("leaf", ["in"], ["out"], domain="local")])
    others = [function(f"other{i}", [node("Relu", ["in"], ["out"])]) for i in range(5)]
    found, callees = read(tmp_path, caller(calls_leaf, leaf, *others))
    handed = []
    infer = onnx.shape_inference.infer_shapes
    monkeypatch.setattr(
        onnx.shape_inference,
        "infer_shapes",
        lambda proto, **options: handed.append(len(proto.functions)) or infer(proto, **options),
    )
    inputs = (ValueInfo("in", FLOAT, (2,)),)
    types = infer_function(found, found.functions["local", "calls", ""], inputs, NOTHING, callees).types
    assert (handed, types["out"].shape) == ([1], (2,))
