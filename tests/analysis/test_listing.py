from __future__ import annotations

from analysing import analysis_of
from onnx import helper

from fixtures.small_graphs.base import NHWC, small
from fixtures.small_graphs.build import BFLOAT16, OPSETS, bf16, cast_avx, dispatch, f32, ints, model, node

SHAPES = {"input_shape_0": NHWC, "output_shape_0": NHWC}


def test_left_nodes() -> None:
    (first, *_, last) = analysis_of(small()).nodes
    assert (first.node, first.kind, first.scope, first.times, first.macs) == ("Transpose-x_nhwc", "boundary", "", 1, 0)
    assert (first.inputs, first.outputs) == (("[1,4,8,8] - FLOAT",), ("[1,8,8,4] - FLOAT",))
    assert (first.before, first.after, last.before, last.after) == (("input",), ("cpu",), ("cpu",), ("output",))


def test_places_are_told_once_each() -> None:
    made = model(
        [
            dispatch("dd", ["x"], ["d"], ["k"], **SHAPES),
            node("Sum", ["d", "x", "w", "d"], ["s"], "sum"),
            dispatch("dd2", ["s"], ["e"], ["k2"], **SHAPES),
            node("Relu", ["s"], ["y"], "relu"),
        ],
        [bf16("x", *NHWC)],
        [bf16("s", *NHWC)],
        initializers=[helper.make_tensor("w", BFLOAT16, [1], [1.0])],
    )
    left = analysis_of(made).nodes[0]
    assert (left.before, left.after) == (("constant", "input", "npu"), ("cpu", "npu", "output"))


def test_rows_put_compute_first() -> None:
    nodes = [
        node("Relu", ["y"], ["z"], "r1"),
        node("Relu", ["y"], ["z2"], "r2"),
        node("Abs", ["y"], ["z3"], "a"),
        node("Shape", ["y"], ["s"], "s"),
        node("Relu", ["c"], ["z4"], "r3"),
    ]
    made = small(nodes=nodes, initializers=[ints("c", 1)])
    rows = analysis_of(made).not_offloaded
    assert [(row.kind, row.op_type, row.count) for row in rows] == [
        ("compute", "Abs", 1),
        ("compute", "Relu", 2),
        ("boundary", "CastAvx", 1),
        ("boundary", "CastAvx", 1),
        ("boundary", "Transpose", 1),
        ("boundary", "Transpose", 1),
        ("shape", "Relu", 1),  # the same op, of a constant: a row of its own
        ("shape", "Shape", 1),
    ]


def test_offloaded_rows() -> None:
    made = model(
        [
            dispatch("a", ["x"], ["m"], ["k"], **SHAPES),
            dispatch("b", ["m"], ["n"], ["l"], **SHAPES),
            dispatch("c", ["n", "x"], ["y"], ["j"], **SHAPES),
        ],
        [bf16("x", *NHWC)],
        [bf16("y", *NHWC)],
    )
    made.graph.node[2].op_type = "DynamicDispatchConvPadded"
    rows = analysis_of(made).offloaded
    image = "[1,8,8,4] - BFLOAT16"
    assert [(row.op_type, row.count, row.inputs, row.outputs) for row in rows] == [
        ("DynamicDispatch", 2, (image,), (image,)),
        ("DynamicDispatchConvPadded", 1, (image, image), (image,)),
    ]


def test_todo_is_a_list_of_compute_by_cost() -> None:
    made = model(
        [
            cast_avx("x", "b", BFLOAT16, "cast"),
            node("Relu", ["x"], ["r1"], "relu1"),
            node("Relu", ["r1"], ["r2"], "relu2"),
            node("Abs", ["x"], ["a"], "abs"),
            node("MatMul", ["x", "w"], ["m"], "matmul"),
            node("MatMul", ["r2", "w"], ["m2"], "matmul2"),
            node("MatMul", ["x", "w2"], ["big"], "big"),
        ],
        [f32("x", 2, 3), f32("w", 3, 4), f32("w2", 3, 100)],
        [],
    )
    rows = analysis_of(made).todo
    assert [(row.op_type, row.count, row.macs, row.nodes) for row in rows] == [
        ("MatMul", 1, 600, ("big",)),  # 2*100*3
        ("MatMul", 2, 48, ("matmul", "matmul2")),  # twice 2*4*3
        ("Relu", 2, 0, ("relu1", "relu2")),
        ("Abs", 1, 0, ("abs",)),
    ]


def test_todo_counts_a_function_once_per_call() -> None:
    inside = [node("MatMul", ["p", "w"], ["r"], "matmul")]
    imports = [helper.make_opsetid("", 17)]
    calls = [node("F", ["x", "w"], [f"y{i}"], f"call{i}", "local") for i in range(3)]
    made = model(
        calls,
        [f32("x", 2, 3), f32("w", 3, 4)],
        [],
        functions=[helper.make_function("local", "F", ["p", "w"], ["r"], inside, imports)],
        opsets={**OPSETS, "local": 1},
    )
    (row,) = analysis_of(made).todo
    assert (row.count, row.macs, row.nodes) == (3, 72, ("local::F/matmul",))


def test_todo_of_unknown_cost() -> None:
    made = model([node("MatMul", ["x", "w"], ["m"], "matmul")], [f32("x", "n", 3), f32("w", 3, 4)], [])
    (row,) = analysis_of(made).todo
    assert (row.macs, row.inputs) == (None, ("[n,3] - FLOAT", "[3,4] - FLOAT"))
