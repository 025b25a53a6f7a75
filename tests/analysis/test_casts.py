from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from analysing import analysis_of, metadata_of
from numpy.typing import NDArray
from onnx import NodeProto

from ddinspect.analysis.border_values import CastPair, Casts
from ddinspect.analysis.casts import holds
from fixtures.small_graphs.base import NHWC, between
from fixtures.small_graphs.build import (
    BFLOAT16,
    BOOL,
    DOMAIN,
    FLOAT,
    FLOAT16,
    INT64,
    UINT8,
    bf16,
    body,
    cast,
    cast_avx,
    dispatch,
    f32,
    model,
    node,
    tensor,
)

NUMPY = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
    10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64, 16: ml_dtypes.bfloat16, 21: ml_dtypes.uint4,
    22: ml_dtypes.int4, 25: ml_dtypes.uint2, 26: ml_dtypes.int2,
}  # fmt: skip
FLOATS = {1: np.uint32, 10: np.uint16, 11: np.uint64, 16: np.uint16}


def values(dtype: int) -> NDArray[np.generic]:
    """Every value of a type of up to 16 bits; of a wider one those near powers of two and a dense random set."""
    form = NUMPY[dtype]
    if dtype in FLOATS:
        bits = FLOATS[dtype]
        width = np.dtype(bits).itemsize * 8
        if width == 16:
            patterns = np.arange(2**16, dtype=np.uint64)
        else:
            random = np.random.default_rng(0).integers(0, 2**width - 1, 20000, dtype=np.uint64)
            # All exponents, with the fractions next to none and next to all bits set.
            fraction = 23 if width == 32 else 52
            tops = np.arange(2 ** (width - fraction), dtype=np.uint64) << np.uint64(fraction)
            patterns = np.concatenate([random, tops, tops + np.uint64(1), tops - np.uint64(1)])
        found = (patterns & np.uint64(2**width - 1)).astype(bits).view(form)
        with np.errstate(invalid="ignore"):  # signalling NaNs
            return found[~np.isnan(found.astype(np.float64))]
    if dtype == 9:
        return np.array([False, True])
    info = ml_dtypes.iinfo(form)
    low, high = int(info.min), int(info.max)
    if high - low < 2**16:
        return np.array(range(low, high + 1)).astype(form)
    near = [sign * 2**power + step for power in range(64) for step in range(-2, 3) for sign in (1, -1)]
    whole = {low, high, *(value for value in near if low <= value <= high)}
    return np.array(sorted(whole), dtype=object).astype(form)


SMALL_INTEGERS = (21, 22, 25, 26)  # ml_dtypes converts these to and from ordinary types only


def convert(array: NDArray[np.generic], dtype: int) -> NDArray[np.generic]:
    with np.errstate(all="ignore"):
        if dtype in SMALL_INTEGERS and array.dtype.kind not in "biu":
            array = array.astype(np.int64)
        return array.astype(NUMPY[dtype])


def exactly(array: NDArray[np.generic]) -> list[object]:
    """Values as Python numbers, which compare exactly over types; a float with its sign, for there are two zeros."""
    if not is_float(array):
        return array.astype(array.dtype if array.dtype.kind in "biu" else np.int64).tolist()
    wide = array.astype(np.float64)
    return list(zip(wide.tolist(), np.signbit(wide).tolist(), strict=True))


def is_float(array: NDArray[np.generic]) -> bool:
    return array.dtype in [NUMPY[dtype] for dtype in FLOATS]


def stays(middle: int, outer: int) -> bool:
    """Whether all sampled values of `outer` are values of `middle`: they are the same there, and come back the same."""
    start = values(outer)
    there = convert(start, middle)
    same_there = [float_or_int(value) for value in exactly(start)] == [float_or_int(value) for value in exactly(there)]
    return same_there and exactly(start) == exactly(convert(there, outer))


def float_or_int(value: object) -> object:
    """The number alone: an integer type has no signed zero."""
    return value[0] if isinstance(value, tuple) else value


# Out: a float through an integer type, which may be asked but needs no sampling, for -0.0 and infinities never stay.
PAIRS = [(middle, outer) for middle, outer in product(NUMPY, NUMPY) if not (outer in FLOATS and middle not in FLOATS)]


@pytest.mark.parametrize(("middle", "outer"), PAIRS)
def test_holds_as_numpy_and_ml_dtypes_convert(middle: int, outer: int) -> None:
    assert holds(middle, outer) == stays(middle, outer)


def test_holds_in_the_measured_cases() -> None:
    """BFLOAT16 to FLOAT and back is exact, to FLOAT16 it is not for 56576 of 65282 values."""
    assert holds(FLOAT, BFLOAT16)
    assert not holds(FLOAT16, BFLOAT16)
    assert not holds(BFLOAT16, FLOAT16)
    assert not holds(BFLOAT16, FLOAT)
    assert not holds(FLOAT, 11)
    assert not any(holds(middle, outer) for middle in NUMPY if middle not in FLOATS for outer in FLOATS)


@pytest.mark.parametrize("unknown", [0, 8, 14, 17, 23, 99, -1])
def test_nothing_is_certain_about_other_types(unknown: int) -> None:
    assert not any(holds(known, unknown) or holds(unknown, known) for known in NUMPY)
    assert holds(unknown, unknown) == (unknown != 0)


# --- casts of a graph ------------------------------------------------------------------------------------------------


def casts_of(*nodes: NodeProto, x: int = FLOAT, outputs: tuple[str, ...] = ()) -> Casts:
    """Nodes behind graph input `x` of shape [1,2]; types come from inference."""
    made = model(nodes, [tensor("x", x, 1, 2)], [tensor(name, FLOAT, 1, 2) for name in outputs])
    found = analysis_of(made).casts
    assert found is not None
    return found


def test_items() -> None:
    made = model(
        [
            cast("x", "x_b", BFLOAT16, "in"),
            dispatch("dd", ["x_b"], ["d"], ["k"], output_shape_0="1,n"),
            cast_avx("d", "y", FLOAT16, "out"),
            cast_avx("y", "z", FLOAT, "not one"),
        ],
        [f32("x", 1, 2)],
        [tensor("z", FLOAT, 1, "n")],
    )
    found = analysis_of(made).casts
    assert found is not None
    assert (found.to_bf16, found.from_bf16) == (1, 1)
    said = [
        (item.node, item.op_type, item.direction, item.tensor, item.shape, item.bytes, item.between)
        for item in found.items
    ]
    assert said == [
        ("in", "Cast", "to_bf16", "x_b", (1, 2), 4, ("input", "npu")),
        ("out", "CastAvx", "from_bf16", "d", (1, "n"), None, ("npu", "cpu")),
    ]
    assert [(item.from_dtype, item.to_dtype) for item in found.items] == [
        ("FLOAT", "BFLOAT16"),
        ("BFLOAT16", "FLOAT16"),
    ]


def test_a_cast_in_a_body_names_the_tensor_where_it_stands() -> None:
    inner = body([cast("d", "t", FLOAT, "c")], [], [f32("t", *NHWC)])
    dd = dispatch("dd", ["x"], ["d"], ["k"], output_shape_0=NHWC)
    branches = node("If", ["go"], ["y"], "if0", then_branch=inner, else_branch=inner)
    found = analysis_of(model([dd, branches], [bf16("x", *NHWC), tensor("go", BOOL)], [f32("y", *NHWC)])).casts
    assert found is not None
    assert [(item.node, item.tensor, item.bytes) for item in found.items] == [
        ("if0/else_branch/c", "d", 512),
        ("if0/then_branch/c", "d", 512),
    ]
    assert {item.between for item in found.items} == {("npu", "output")}


def pair_of(*nodes: NodeProto, x: int = FLOAT, outputs: tuple[str, ...] = ()) -> CastPair:
    (pair,) = casts_of(*nodes, x=x, outputs=outputs).cancelling
    return pair


def test_a_lossless_pair() -> None:
    pair = pair_of(cast("x", "m", FLOAT, "a"), cast_avx("m", "y", BFLOAT16, "b"), x=BFLOAT16)
    assert (pair.first, pair.second, pair.outer_dtype, pair.middle_dtype) == ("a", "b", "BFLOAT16", "FLOAT")
    assert (pair.lossless, pair.value_preserving, pair.reason) == (True, True, None)


@pytest.mark.parametrize(
    ("outer", "middle"), [(FLOAT, BFLOAT16), (BFLOAT16, FLOAT16), (FLOAT16, BFLOAT16), (INT64, FLOAT)]
)
def test_a_lossy_pair(outer: int, middle: int) -> None:
    pair = pair_of(cast("x", "m", middle, "a"), cast("m", "y", outer, "b"), x=outer)
    assert (pair.lossless, pair.value_preserving) == (False, False)
    assert "does not hold every value of" in (pair.reason or "")


def test_a_pair_whose_middle_is_read() -> None:
    there, back = cast("x", "m", FLOAT, "a"), cast("m", "y", BFLOAT16, "b")
    read = pair_of(there, back, node("Relu", ["m"], ["r"], "relu"), x=BFLOAT16)
    assert (read.lossless, read.value_preserving, read.reason) == (False, True, "m is also read by relu")
    output = pair_of(there, back, x=BFLOAT16, outputs=("m",))
    assert (output.lossless, output.value_preserving, output.reason) == (False, True, "m is a graph output")
    inner = body([node("Neg", ["m"], ["t"])], [], [f32("t", 1, 2)])
    branches = node("If", ["go"], ["z"], "if0", then_branch=inner, else_branch=inner)
    go = node("Constant", [], ["go"], value_int=1)
    captured = pair_of(there, back, go, branches, x=BFLOAT16)
    assert (captured.lossless, captured.reason) == (False, "m is also read by if0")


def test_no_pairs() -> None:
    to_other_type = casts_of(cast("x", "m", BFLOAT16, "a"), cast("m", "y", FLOAT16, "b"))
    not_adjacent = casts_of(cast("x", "m", BFLOAT16), node("Relu", ["m"], ["r"]), cast("r", "y", FLOAT))
    to_itself = casts_of(cast("x", "m", FLOAT, "a"), cast("m", "y", FLOAT, "b"))
    mystery = node("Mystery", ["x"], ["u"], domain="some.domain")
    unknown = casts_of(mystery, cast("u", "m", FLOAT, "a"), cast("m", "y", BFLOAT16, "b"))
    assert (to_other_type.cancelling, not_adjacent.cancelling) == ((), ())
    assert (to_itself.cancelling, unknown.cancelling) == ((), ())


def test_three_casts_make_two_pairs() -> None:
    found = casts_of(
        cast("x", "a", FLOAT, "c1"), cast("a", "b", BFLOAT16, "c2"), cast("b", "y", FLOAT, "c3"), x=BFLOAT16
    )
    assert [(pair.first, pair.second, pair.lossless) for pair in found.cancelling] == [
        ("c1", "c2", True),
        ("c2", "c3", False),
    ]


# --- block float -----------------------------------------------------------------------------------------------------


def uint8_between(reader: NodeProto, maker: NodeProto) -> Casts:
    """UINT8 `m`, that `maker` makes and `reader` reads."""
    packed = tensor("m", UINT8, 1, 72)
    found = analysis_of(
        model([maker, reader], [tensor("x", BFLOAT16, 1, 64)], [tensor("y", BFLOAT16, 1, 64)], [packed])
    ).casts
    assert found is not None
    return found


@pytest.mark.parametrize("domain", [DOMAIN, "", "com.amd"])
def test_uint8_between_dd_nodes_looks_like_block_float(domain: str) -> None:
    first, second = dispatch("a", ["x"], ["m"], ["k"]), dispatch("b", ["m"], ["y"], ["l"])
    first.domain = second.domain = domain
    found = uint8_between(second, first)
    assert [(edge.tensor, edge.bytes, edge.certain) for edge in found.block_float] == [("m", 72, False)]
    assert (found.to_bf16, found.from_bf16) == (0, 0)


def test_uint8_that_a_standard_op_reads_is_uint8() -> None:
    first = dispatch("a", ["x"], ["m"], ["k"])
    assert uint8_between(cast("m", "y", BFLOAT16), first).block_float == ()
    assert len(uint8_between(node("BFP16_to_BF16", ["m"], ["y"], domain=DOMAIN), first).block_float) == 1


def test_uint8_that_nobody_reads_is_uint8() -> None:
    assert uint8_between(cast_avx("x", "y", BFLOAT16), dispatch("a", ["x"], ["m"], ["k"])).block_float == ()


def test_block_float_by_metadata_is_certain() -> None:
    said = [
        metadata_of(node=name, shapes={"m": NHWC}, dtypes={"m": "bfp16ebs8"}, label=label)
        for name, label in (("dd1", "out"), ("dd2", "in"))
    ]
    found = analysis_of(between([], second=["m"]), *said).casts
    assert found is not None
    # 256 values, 9 bytes per 8
    assert [(edge.tensor, edge.bytes, edge.certain) for edge in found.block_float] == [("m", 288, True)]
