from __future__ import annotations

import pytest
from analysing import metadata_of, split_of
from onnx import helper

from ddinspect.onnxfile.dtypes import BFP16
from fixtures.small_graphs.base import NHWC
from fixtures.small_graphs.build import (
    BFLOAT16,
    BOOL,
    UINT8,
    bf16,
    body,
    cast_avx,
    dispatch,
    f32,
    model,
    node,
    tensor,
)

SHAPES = {"input_shape_0": NHWC, "output_shape_0": NHWC}


def test_places() -> None:
    made = model(
        [
            node("Add", ["x", "w"], ["a"], "add"),
            dispatch("dd", ["a"], ["d"], ["k"], **SHAPES),
            node("Relu", ["d"], ["y"], "relu"),
            dispatch("dd2", ["d"], ["z"], ["k2"], **SHAPES),
        ],
        [bf16("x", *NHWC)],
        [bf16("y", *NHWC), bf16("z", *NHWC), bf16("d", *NHWC)],
        initializers=[helper.make_tensor("w", BFLOAT16, [1], [1.0])],
    )
    split = split_of(made)
    main = split.flows[0].scope
    comes = {name: split.comes_from(main, name) for name in ("x", "w", "a", "d", "y", "unheard_of")}
    assert comes == {"x": "input", "w": "constant", "a": "cpu", "d": "npu", "y": "cpu", "unheard_of": "input"}
    goes = {name: split.goes_to(main, name) for name in ("x", "a", "d", "y")}
    assert goes == {"x": {"cpu"}, "a": {"npu"}, "d": {"cpu", "npu", "output"}, "y": {"output"}}
    assert split.between(main, "a", "d") == ("cpu", "npu")
    assert [split.is_constant(main, name) for name in ("w", "x", "a")] == [True, False, False]
    with pytest.raises(ValueError, match="dd is not left on the CPU"):
        split.kind(main, 1)


def test_a_body_sees_what_stands_around_it() -> None:
    inner = body([node("Add", ["d", "w"], ["t"], "add")], [], [f32("t", *NHWC)])
    made = model(
        [
            dispatch("dd", ["x"], ["d"], ["k"], **SHAPES),
            node("If", ["c"], ["y"], "if0", then_branch=inner, else_branch=inner),
        ],
        [bf16("x", *NHWC), tensor("c", BOOL)],
        [bf16("y", *NHWC)],
        initializers=[helper.make_tensor("w", BFLOAT16, [1], [1.0])],
    )
    split = split_of(made)
    scope = split.flows[1].scope
    assert (split.comes_from(scope, "d"), split.comes_from(scope, "w"), split.is_constant(scope, "w")) == (
        "npu",
        "constant",
        True,
    )
    assert (split.tensor_id(scope, "d"), split.tensor_id(scope, "t")) == ("d", f"{scope.path}/t")


def test_block_float_by_metadata() -> None:
    """The graph says UINT8 of 9/8 the size; the metadata knows type and logical shape."""
    made = model(
        [cast_avx("x", "b", BFLOAT16), dispatch("dd", ["b"], ["m"], ["k"], input_shape_0=[1, 64])],
        [f32("x", 1, 64)],
        [tensor("m", UINT8, 1, 72)],
    )
    said = metadata_of(shapes={"m": (1, 64)}, dtypes={"m": "bfp16ebs8"}, label="out")
    split = split_of(made, said)
    main = split.flows[0].scope
    assert split.is_block_float(main, "m")
    assert split.type_of(main, "m").dtype == BFP16
    assert (split.bytes_of(main, "m"), split.bytes_of(main, "b")) == (72, 128)
    assert split_of(made).bytes_of(main, "m") == 72
