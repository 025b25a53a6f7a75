from __future__ import annotations

import pytest
from analysing import analysis_of
from onnx import NodeProto, TensorProto, ValueInfoProto

from ddinspect.analysis.border_values import Layout
from fixtures.small_graphs.base import NCHW, NHWC
from fixtures.small_graphs.build import (
    BFLOAT16,
    TO_NCHW,
    TO_NHWC,
    cast_avx,
    dispatch,
    f32,
    ints,
    model,
    node,
    transpose,
)


def layout_of(
    *nodes: NodeProto,
    inputs: tuple[ValueInfoProto, ...] = (f32("x", *NCHW), f32("u", *NHWC)),
    outputs: tuple[ValueInfoProto, ...] = (),
    value_info: tuple[ValueInfoProto, ...] = (),
    initializers: tuple[TensorProto, ...] = (),
) -> Layout:
    found = analysis_of(model(nodes, inputs, outputs, value_info, initializers=initializers)).layout
    assert found is not None
    return found


def test_directions_and_items() -> None:
    found = layout_of(
        transpose("x", "x_nhwc", TO_NHWC, "t1"),
        cast_avx("x_nhwc", "b", BFLOAT16),
        dispatch("dd", ["b"], ["d"], ["k"], output_shape_0=NHWC),
        transpose("d", "y", TO_NCHW, "t2"),
    )
    assert (found.to_nhwc, found.to_nchw) == (1, 1)
    said = [
        (item.node, item.how, item.direction, item.tensor, item.shape, item.bytes, item.between) for item in found.items
    ]
    assert said == [
        ("t1", "explicit", "to_nhwc", "x", NCHW, 1024, ("input", "cpu")),
        ("t2", "explicit", "to_nchw", "d", NHWC, 512, ("npu", "output")),
    ]


@pytest.mark.parametrize("perm", [(0, 1, 3, 2), (0, 2, 1, 3), (0, 1, 2, 3), (3, 0, 1, 2), (0, 2, 1), (0, 3, 1, 2, 4)])
def test_other_perms_are_no_conversion(perm: tuple[int, ...]) -> None:
    found = layout_of(transpose("x", "y", perm), inputs=(f32("x", *range(2, 2 + len(perm))),))
    assert (found.items, found.to_nhwc, found.to_nchw) == ((), 0, 0)


def test_reshape_like() -> None:
    found = layout_of(
        node("Reshape", ["x", "shape"], ["r"], "reshape"),
        dispatch("dd", ["r"], ["y"], ["k"]),
        inputs=(f32("x", 1, 320, 1, 1),),
        value_info=(f32("r", 1, 1, 1, 320),),
        initializers=(ints("shape", 1, 1, 1, 320),),
    )
    (item,) = found.items
    assert (item.how, item.op_type, item.direction, item.between) == (
        "reshape-like",
        "Reshape",
        "to_nhwc",
        ("input", "npu"),
    )


def pairs(layout: Layout) -> tuple[list[tuple[str, str]], list[tuple[str, str, tuple[str, ...]]]]:
    return (
        [(pair.first, pair.second) for pair in layout.cancelling],
        [(pair.first, pair.second, pair.blockers) for pair in layout.blocked],
    )


def test_cancelling() -> None:
    there, back = transpose("u", "m", TO_NCHW, "t1"), transpose("m", "y", TO_NHWC, "t2")
    assert pairs(layout_of(there, back)) == ([("t1", "t2")], [])
    assert pairs(layout_of(back, there)) == ([("t1", "t2")], [])  # whatever the order in the file
    # [0,3,1,2] twice is [0,2,3,1], not nothing
    assert pairs(layout_of(there, transpose("m", "y", TO_NCHW, "t2"))) == ([], [])


def test_a_reshape_and_a_transpose_cancel() -> None:
    found = layout_of(
        transpose("x", "m", TO_NHWC, "t"),
        node("Reshape", ["m", "shape"], ["y"], "reshape"),
        inputs=(f32("x", 1, 320, 1, 1),),
        value_info=(f32("m", 1, 1, 1, 320), f32("y", 1, 320, 1, 1)),
        initializers=(ints("shape", 1, 320, 1, 1),),
    )
    assert pairs(found) == ([("t", "reshape")], [])


def test_blockers_come_in_the_order_of_the_data() -> None:
    found = layout_of(
        transpose("u", "m", TO_NCHW, "t1"),
        node("Softmax", ["m"], ["s"], "softmax"),
        node("Add", ["s", "x"], ["a"], "add"),
        transpose("a", "y", TO_NHWC, "t2"),
    )
    assert pairs(found) == ([], [("t1", "t2", ("softmax", "add"))])


def test_what_ends_a_chain() -> None:
    there, back = transpose("u", "m", TO_NCHW, "t1"), transpose("n", "y", TO_NHWC, "t2")
    relu = node("Relu", ["m"], ["n"], "relu")
    assert pairs(layout_of(there, relu, back)) == ([], [("t1", "t2", ("relu",))])
    # Something else reads what lies between, or it is a graph output.
    assert pairs(layout_of(there, relu, back, node("Abs", ["m"], ["z"], "abs"))) == ([], [])
    assert pairs(layout_of(there, relu, back, outputs=(f32("n", *NCHW),))) == ([], [])
    # The NPU lies between.
    assert pairs(layout_of(there, dispatch("dd", ["m"], ["n"], ["k"]), back)) == ([], [])
    # Another conversion in the same direction comes first.
    again = transpose("n", "o", TO_NHWC, "t3")
    assert pairs(layout_of(there, relu, again, transpose("o", "y", TO_NHWC, "t2")))[1] == [("t1", "t3", ("relu",))]


def test_fan_out_keeps_a_pair() -> None:
    there, back = transpose("u", "m", TO_NCHW, "t1"), transpose("m", "y", TO_NHWC, "t2")
    assert pairs(layout_of(there, back, node("Relu", ["m"], ["z"], "relu"))) == ([], [])


def test_a_cycle_ends() -> None:
    found = layout_of(node("Relu", ["b"], ["a"], "relu"), transpose("a", "b", TO_NHWC, "t"))
    assert pairs(found) == ([], [])
