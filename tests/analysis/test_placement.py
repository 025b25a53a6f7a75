from __future__ import annotations

from pathlib import Path

import pytest
from analysing import kinds, read
from onnx import FunctionProto, NodeProto, TensorProto, ValueInfoProto, helper

from ddinspect.analysis.analyze import split_model
from ddinspect.onnxfile.reader import read_model
from fixtures.small_graphs.base import NCHW, NHWC
from fixtures.small_graphs.build import (
    BFLOAT16,
    BOOL,
    FLOAT,
    FLOAT16,
    INT64,
    OPSETS,
    TO_NCHW,
    TO_NHWC,
    bf16,
    body,
    cast,
    cast_avx,
    dispatch,
    f32,
    ints,
    model,
    node,
    tensor,
    transpose,
)

GRAPHS = Path(__file__).parents[2] / "fixtures" / "graphs"
SHAPES = {"input_shape_0": NHWC, "output_shape_0": NHWC}


def kind_of(
    *nodes: NodeProto,
    inputs: tuple[ValueInfoProto, ...] = (f32("x", *NCHW),),
    value_info: tuple[ValueInfoProto, ...] = (),
    initializers: tuple[TensorProto, ...] = (),
    functions: tuple[FunctionProto, ...] = (),
) -> str:
    """Kind of the last node, which must be called "it"."""
    made = model(
        nodes,
        inputs,
        [],
        value_info,
        initializers=initializers,
        functions=functions,
        opsets={**OPSETS, "local": 1},
    )
    return kinds(made)["it"]


# What it is goes before what it reads: 1 boundary, 2 shape, 3 compute.
@pytest.mark.parametrize(
    ("it", "expected"),
    [
        (cast_avx("x", "y", BFLOAT16, "it"), "boundary"),
        (cast("x", "y", BFLOAT16, "it"), "boundary"),
        (node("Cast", ["x"], ["y"], "it", "some.domain", to=BFLOAT16), "boundary"),
        (cast("b", "y", FLOAT, "it"), "boundary"),
        (cast("i", "y", BFLOAT16, "it"), "boundary"),
        (cast("b", "y", BFLOAT16, "it"), "compute"),  # no change of type
        (cast_avx("x", "y", FLOAT16, "it"), "compute"),
        (cast("i", "y", FLOAT, "it"), "compute"),
        (transpose("x", "y", TO_NHWC, "it"), "boundary"),
        (transpose("x", "y", TO_NCHW, "it"), "boundary"),
        (transpose("x", "y", (0, 2, 1, 3), "it"), "compute"),
        (transpose("x", "y", (0, 1, 2, 3), "it"), "compute"),
        (node("Transpose", ["x"], ["y"], "it"), "compute"),  # without perm: all axes reversed
        (node("Identity", ["x"], ["y"], "it"), "compute"),
        (node("Shape", ["x"], ["y"], "it"), "shape"),
        (node("Size", ["x"], ["y"], "it"), "shape"),
        (node("Shape", ["x"], ["y"], "it", "some.domain"), "compute"),  # whatever that does
        (node("Constant", [], ["y"], "it", value_float=1.0), "shape"),
        (node("Relu", ["w"], ["y"], "it"), "shape"),
        (cast("w", "y", BFLOAT16, "it"), "boundary"),
        (transpose("w", "y", TO_NHWC, "it"), "boundary"),
        (node("RandomNormal", [], ["y"], "it", shape=[4]), "compute"),
        (node("RandomUniformLike", ["w"], ["y"], "it"), "compute"),
        (node("Bernoulli", ["w"], ["y"], "it"), "compute"),
    ],
)
def test_kind_of_one_node(it: NodeProto, expected: str) -> None:
    inputs = (f32("x", *NCHW), bf16("b", *NCHW), tensor("i", INT64, 4))
    assert kind_of(it, inputs=inputs, initializers=(helper.make_tensor("w", FLOAT, [1, 1, 1, 1], [1.0]),)) == expected


def test_a_cast_of_unknown_types_is_no_bf16_cast() -> None:
    unknown = node("Mystery", ["x"], ["m"], domain="some.domain")
    assert kind_of(unknown, cast("m", "y", FLOAT, "it")) == "compute"
    assert kind_of(unknown, cast("m", "y", BFLOAT16, "it")) == "boundary"


def shape_path(*last: NodeProto) -> str:
    """x -> Shape -> Gather -> Concat -> `target`, and what comes last."""
    return kind_of(
        node("Shape", ["x"], ["dims"]),
        node("Gather", ["dims", "zero"], ["batch"]),
        node("Concat", ["batch", "rest"], ["target"], axis=0),
        *last,
        initializers=(ints("zero", 0), ints("rest", -1)),
    )


def test_shape_arithmetic_is_shape_and_what_it_is_used_on_is_not() -> None:
    assert shape_path(node("Mul", ["target", "target"], ["y"], "it")) == "shape"
    assert shape_path(node("ConstantOfShape", ["target"], ["y"], "it")) == "shape"
    assert shape_path(node("Reshape", ["x", "target"], ["y"], "it")) == "compute"
    assert shape_path(node("Expand", ["x", "target"], ["y"], "it")) == "compute"
    # A cast to BFLOAT16 is boundary wherever it stands.
    assert shape_path(cast("target", "y", BFLOAT16, "it")) == "boundary"
    assert shape_path(cast("target", "y", FLOAT, "it")) == "shape"


def test_what_a_dd_node_makes_is_a_value() -> None:
    """Even if it reads constants only."""
    dd = dispatch("dd", ["w"], ["d"], ["k"], **SHAPES)
    constant = (helper.make_tensor("w", BFLOAT16, NHWC, [1.0] * 256),)
    assert kind_of(dd, node("Relu", ["d"], ["y"], "it"), initializers=constant) == "compute"
    assert kind_of(dd, node("Relu", ["w"], ["y"], "it"), initializers=constant) == "shape"
    assert kind_of(dd, node("Shape", ["d"], ["y"], "it"), initializers=constant) == "shape"


def test_a_timestep_is_a_value() -> None:
    path = (cast("t", "f", FLOAT), node("Mul", ["f", "freq"], ["m"]), node("Sin", ["m"], ["y"], "it"))
    constant = (helper.make_tensor("freq", FLOAT, [1], [1.0]),)
    assert kind_of(*path, inputs=(tensor("t", INT64, 1),), initializers=constant) == "compute"


def test_the_order_of_nodes_does_not_matter() -> None:
    path = [node("Relu", ["x"], ["a"], "first"), node("Neg", ["a"], ["b"], "it"), node("Shape", ["b"], ["s"], "shape")]
    made = model(path[::-1], [f32("x", 4)], [])
    assert kinds(made) == {"first": "compute", "it": "compute", "shape": "shape"}


def test_a_cycle_carries_values_all_round() -> None:
    """The node that comes first reads only what a later one makes of the input."""
    made = model([node("Neg", ["b"], ["a"], "first"), node("Add", ["a", "x"], ["b"], "second")], [f32("x", 4)], [])
    assert kinds(made) == {"first": "compute", "second": "compute"}
    of_constants = model(
        [node("Neg", ["b"], ["a"], "first"), node("Add", ["a", "w"], ["b"], "second")],
        [],
        [],
        initializers=[helper.make_tensor("w", FLOAT, [1], [1.0])],
    )
    assert kinds(of_constants) == {"first": "shape", "second": "shape"}


# --- Reshape ---------------------------------------------------------------------------------------------------------


def reshaped(before: tuple[int | str, ...], after: tuple[int | str, ...], *, near: str = "dd") -> str:
    """Kind of a Reshape from graph input `x`, and what it is next to."""
    path = {
        "dd": [dispatch("dd", ["y"], ["z"], ["k"])],
        "cast": [cast_avx("y", "y_b", BFLOAT16)],
        "relu": [node("Relu", ["y"], ["r"]), cast_avx("r", "r_b", BFLOAT16)],
    }
    return kind_of(
        node("Reshape", ["x", "shape"], ["y"], "it"),
        *path[near],
        inputs=(f32("x", *before), tensor("shape", INT64, 4)),
        value_info=(f32("y", *after), f32("r", *after)),
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((1, 320, 1, 1), (1, 1, 1, 320), "boundary"),
        ((1, 1, 1, 320), (1, 320, 1, 1), "boundary"),
        ((2, 1, 8, 8), (2, 8, 8, 1), "boundary"),  # one channel: it may stand on either side
        ((2, 8, 8, 1), (2, 1, 8, 8), "boundary"),
        (("n", 320, 1, 1), ("n", 1, 1, 320), "boundary"),
        ((1, 4, 8, 1), (1, 8, 1, 4), "compute"),  # the values would have to move
        ((1, 8, 8, 4), (1, 4, 8, 8), "compute"),
        ((1, 320, 1, 1), (1, 320, 1, 1), "compute"),  # nothing changes
        ((1, 320, 1, 1), (1, 1, 320), "compute"),
        ((1, 320), (1, 1, 1, 320), "compute"),
    ],
)
def test_reshapes_that_change_layout(before: tuple[int, ...], after: tuple[int, ...], expected: str) -> None:
    assert reshaped(before, after) == expected


def test_a_reshape_counts_only_next_to_the_border() -> None:
    before, after = (1, 320, 1, 1), (1, 1, 1, 320)
    found = {near: reshaped(before, after, near=near) for near in ("dd", "cast", "relu")}
    assert found == {"dd": "boundary", "cast": "boundary", "relu": "compute"}


def test_a_reshape_next_to_one_that_is_next_to_the_border() -> None:
    there, back = (1, 320, 1, 1), (1, 1, 1, 320)
    nodes = [
        node("Reshape", ["x", "shape"], ["a"], "far"),
        node("Reshape", ["a", "shape"], ["b"], "near"),
        cast_avx("b", "c", BFLOAT16, "c"),
    ]
    types = [f32("a", *back), f32("b", *there)]
    for order in (nodes, nodes[::-1]):
        made = model(order, [f32("x", *there), tensor("shape", INT64, 4)], [], types)
        assert kinds(made) == {"far": "boundary", "near": "boundary", "c": "boundary"}


# --- bodies and functions --------------------------------------------------------------------------------------------


def branch(condition: str, *nodes: NodeProto) -> NodeProto:
    made = body(nodes, [], [f32("t", 1)])
    other = body([node("Constant", [], ["e"], value_float=1.0)], [], [f32("e", 1)])
    return node("If", [condition], ["y"], "if0", then_branch=made, else_branch=other)


@pytest.mark.parametrize("op_type", ["If", "Loop", "Scan"])
def test_control_flow_is_compute(op_type: str) -> None:
    """Even on constants."""
    inner = body([node("Neg", ["w"], ["t"])], [], [f32("t", 1)])
    attributes = {"then_branch": inner, "else_branch": inner} if op_type == "If" else {"body": inner}
    it = node(op_type, ["w"], ["y"], "it", **attributes)
    assert kind_of(it, initializers=(helper.make_tensor("w", FLOAT, [1], [1.0]),)) == "compute"


def test_a_branch_depends_on_what_it_reads() -> None:
    """Constants only: what comes of it can be worked out beforehand. One value: it cannot."""
    behind = node("Relu", ["y"], ["z"], "it")
    constant = (helper.make_tensor("w", BOOL, [], [1]),)
    assert kind_of(branch("w", node("Neg", ["w"], ["t"])), behind, initializers=constant) == "shape"
    assert kind_of(branch("w", node("Neg", ["x"], ["t"])), behind, initializers=constant) == "compute"
    assert kind_of(branch("w", node("RandomNormal", [], ["t"])), behind, initializers=constant) == "compute"
    dd = dispatch("dd", ["w"], ["t"], ["k"])
    assert kind_of(branch("w", dd), behind, initializers=constant) == "compute"


def test_inside_a_body() -> None:
    made = model(
        [
            node("Relu", ["x"], ["a"], "relu"),
            branch("c", node("Neg", ["a"], ["v"], "value"), node("Neg", ["w"], ["t"], "constant")),
        ],
        [f32("x", 1), tensor("c", BOOL)],
        [],
        initializers=[helper.make_tensor("w", FLOAT, [1], [1.0])],
    )
    found = kinds(made)
    assert (found["if0/then_branch/value"], found["if0/then_branch/constant"]) == ("compute", "shape")


def test_a_name_in_a_body_hides_the_same_name_outside() -> None:
    inside = (node("Abs", ["w"], ["a"], "abs"), node("Neg", ["a"], ["t"], "of_inner"))
    made = model(
        [node("Relu", ["x"], ["a"], "relu"), branch("w", *inside)],
        [f32("x", 1)],
        [],
        initializers=[helper.make_tensor("w", BOOL, [], [1])],
    )
    assert kinds(made)["if0/then_branch/of_inner"] == "shape"


@pytest.mark.parametrize(("start", "expected"), [("x", "compute"), ("w", "shape")])
def test_what_goes_round_in_a_loop(start: str, expected: str) -> None:
    inside = [tensor("i", INT64), tensor("go_on", BOOL), f32("v", 1)]
    repeated = body([node("Neg", ["v"], ["t"], "neg")], inside, [inside[1], f32("t", 1)])
    made = model(
        [node("Loop", ["n", "go", start], ["y"], "loop0", body=repeated), node("Abs", ["y"], ["z"], "abs")],
        [f32("x", 1)],
        [],
        initializers=[
            helper.make_tensor("w", FLOAT, [1], [1.0]),
            helper.make_tensor("n", INT64, [], [2]),
            helper.make_tensor("go", BOOL, [], [1]),
        ],
    )
    found = kinds(made)
    assert found == {"loop0": "compute", "loop0/body/neg": expected, "abs": expected}


def function(*nodes: NodeProto) -> FunctionProto:
    return helper.make_function("local", "F", ["p", "q"], ["r"], list(nodes), [helper.make_opsetid("", 17)])


def call(*actuals: str, y: str = "y") -> NodeProto:
    return node("F", actuals, [y], f"call-{y}", "local")


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([("w", "x")], {"of_p": "shape", "of_q": "compute"}),
        ([("w", "w")], {"of_p": "shape", "of_q": "shape"}),
        ([("w", "x"), ("x", "w")], {"of_p": "compute", "of_q": "compute"}),  # one call gives a value: it is one
        ([("w",)], {"of_p": "shape", "of_q": "shape"}),
    ],
)
def test_a_function_sees_what_its_calls_give_it(calls: list[tuple[str, ...]], expected: dict[str, str]) -> None:
    inside = function(node("Neg", ["p"], ["a"], "of_p"), node("Abs", ["q"], ["r"], "of_q"))
    made = model(
        [call(*actuals, y=f"y{i}") for i, actuals in enumerate(calls)],
        [f32("x", 1)],
        [],
        initializers=[helper.make_tensor("w", FLOAT, [1], [1.0])],
        functions=[inside],
        opsets={**OPSETS, "local": 1},
    )
    found = kinds(made)
    assert {name: found[f"local::F/{name}"] for name in expected} == expected
    assert found["call-y0"] == "call"


def test_what_a_call_makes() -> None:
    behind = node("Relu", ["y"], ["z"], "it")
    constant = (helper.make_tensor("w", FLOAT, [1], [1.0]),)
    plain, random = function(node("Add", ["p", "q"], ["r"])), function(node("RandomNormal", [], ["r"]))
    dd = function(dispatch("dd", ["p"], ["r"], ["k"]))
    kind = {
        "constants": kind_of(call("w", "w"), behind, initializers=constant, functions=(plain,)),
        "a value": kind_of(call("w", "x"), behind, initializers=constant, functions=(plain,)),
        "random": kind_of(call("w", "w"), behind, initializers=constant, functions=(random,)),
        "dd": kind_of(call("w", "w"), behind, initializers=constant, functions=(dd,)),
    }
    assert kind == {"constants": "shape", "a value": "compute", "random": "compute", "dd": "compute"}


def test_a_dd_node_is_no_call() -> None:
    """A function that is called like a DD node does not hide it."""
    made = model(
        [dispatch("dd", ["x"], ["y"], ["k"])],
        [bf16("x", 1)],
        [],
        functions=[helper.make_function("com.ryzenai", "DynamicDispatch", ["p"], ["p"], [], [])],
    )
    assert kinds(made)["dd"] == "npu"


# Nodes that depend on no value, measured with another program: it folded them (constants in, constants out).
@pytest.mark.parametrize(("name", "foldable"), [("sdturbo_unet", 3897), ("vae_decoder", 334)])
def test_full_size_graphs(name: str, foldable: int) -> None:
    split = split_model(read_model(GRAPHS / f"{name}.onnx"), {})
    roles = [role for scope_roles in split.roles for role in scope_roles]
    assert roles.count("shape") == foldable


def test_forty_levels_of_calls_are_quick() -> None:
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    levels = []
    for level in range(40):
        nodes = (
            [node(f"L{level - 1}", ["p"], ["a"], "one", "local"), node(f"L{level - 1}", ["a"], ["r"], "two", "local")]
            if level
            else [node("Neg", ["p"], ["r"], "neg")]
        )
        levels.append(helper.make_function("local", f"L{level}", ["p"], ["r"], nodes, imports))
    made = model(
        [node("L39", ["w"], ["y"], "call", "local")],
        [],
        [],
        initializers=[helper.make_tensor("w", FLOAT, [1], [1.0])],
        functions=levels,
        opsets={**OPSETS, "local": 1},
    )
    split = split_model(read(made), {})
    innermost = [flow.scope for flow in split.flows if flow.scope.path.startswith("local::L0")]
    assert sum(scope.times for scope in innermost) == 2**39
    assert {split.roles[scope.index] for scope in innermost} == {("shape",)}
