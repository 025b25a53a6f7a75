from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ddinspect.analysis.cost import UnknownShapeError, attention_macs, node_macs, static, total
from ddinspect.onnxfile.model import AttributeValue, Node, Shape


def macs(op_type: str, *shapes: Shape, out: Shape = None, domain: str = "", **attributes: AttributeValue) -> int | None:
    """MACs of a node with inputs and one output of these shapes; an input of shape () is left out."""
    names = tuple("" if shape == () else f"i{index}" for index, shape in enumerate(shapes))
    known: dict[str, Shape] = {"out": out, **dict(zip(names, shapes, strict=True))}
    node = Node(
        id="n", index=0, name="n", op_type=op_type, domain=domain, inputs=names, outputs=("out",),
        attributes=attributes, metadata={},
    )  # fmt: skip
    return node_macs(node, lambda name: known.get(name) if name else None)


def multiplications_of_conv(x: tuple[int, ...], w: tuple[int, ...], group: int, *, same: bool) -> tuple[int, int]:
    """A plain loop over a 2-D convolution of stride 1; counts a multiplication for padding too. Gives (MACs, side)."""
    side = x[2] if same else x[2] - w[2] + 1
    count = 0
    for _ in product(range(x[0]), range(w[0]), range(side), range(side)):
        for _ in product(range(x[1] // group), range(w[2]), range(w[3])):
            count += 1
    return count, side


@pytest.mark.parametrize(("channels", "group"), [(4, 1), (4, 2), (4, 4)])
def test_conv(channels: int, group: int) -> None:
    x, w = (2, channels, 6, 6), (8, channels // group, 3, 3)
    expected, side = multiplications_of_conv(x, w, group, same=False)
    assert macs("Conv", x, w, (8,), out=(2, 8, side, side)) == expected


def test_conv_of_the_decoder() -> None:
    """conv_out of SD 1.5's VAE decoder: 512*512 places, 3 channels out, 128 in, 3x3: 905 969 664."""
    assert macs("Conv", (1, 128, 512, 512), (3, 128, 3, 3), out=(1, 3, 512, 512)) == 905_969_664
    # NhwcConv keeps its weight as [C_out, k, k, C_in/group].
    nhwc = macs("NhwcConv", (1, 512, 512, 128), (3, 3, 3, 128), out=(1, 512, 512, 3), domain="com.microsoft")
    assert nhwc == 905_969_664


def test_conv_transpose() -> None:
    """Each of 1*4*5*5 inputs is multiplied with the 3x3 kernel of each of 6/2 output channels of its group."""
    x, w = (1, 4, 5, 5), (4, 3, 3, 3)
    count = sum(1 for _ in product(range(1 * 4 * 5 * 5), range(3), range(3), range(3)))
    assert macs("ConvTranspose", x, w, out=(1, 6, 7, 7), group=2) == count == 2700


@pytest.mark.parametrize(
    ("a", "b", "k"),
    [
        ((2, 3), (3, 4), 3),
        ((5, 2, 3), (3, 4), 3),
        ((5, 2, 3), (5, 3, 4), 3),
        ((5, 1, 2, 3), (7, 3, 4), 3),  # broadcast: 5*7 products
        ((3,), (3, 4), 3),
        ((2, 3), (3,), 3),
        ((3,), (3,), 3),
    ],
)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...], k: int) -> None:
    out = np.matmul(np.zeros(a), np.zeros(b))
    assert macs("MatMul", a, b, out=out.shape) == out.size * k


def test_gemm() -> None:
    """[2,3] x [3,4]: 24, however the operands lie."""
    assert macs("Gemm", (2, 3), (3, 4), (4,), out=(2, 4)) == 24
    assert macs("Gemm", (3, 2), (3, 4), out=(2, 4), transA=1) == 24
    assert macs("Gemm", (2, 3), (4, 3), out=(2, 4), transB=1) == 24
    assert macs("Gemm", (3, 2), (4, 3), out=(2, 4), transA=1, transB=1) == 24


def attention_by_loops(b: int, h: int, m: int, s: int, d: int, dv: int) -> int:
    scores = sum(1 for _ in product(range(b), range(h), range(m), range(s), range(d)))
    return scores + sum(1 for _ in product(range(b), range(h), range(m), range(dv), range(s)))


B, H, M, S, D, DV = 2, 3, 5, 7, 4, 6
ATTENTION = attention_by_loops(B, H, M, S, D, DV)


def test_multi_head_attention() -> None:
    attributes: dict[str, AttributeValue] = {"num_heads": H}
    apart = macs("MultiHeadAttention", (B, M, H * D), (B, S, H * D), (B, S, H * DV), out=(B, M, H * DV), **attributes)
    assert apart == ATTENTION
    # Key and value may come with the heads apart (of a cross attention's past).
    with_heads = macs("MultiHeadAttention", (B, M, H * D), (B, H, S, D), (B, H, S, DV), **attributes)
    assert with_heads == ATTENTION
    packed_kv = macs("MultiHeadAttention", (B, M, H * D), (B, S, H, 2, D), **attributes)
    assert packed_kv == attention_by_loops(B, H, M, S, D, D)
    packed_qkv = macs("MultiHeadAttention", (B, M, H, 3, D), **attributes)
    assert packed_qkv == attention_by_loops(B, H, M, M, D, D)


def test_the_past_counts() -> None:
    past = (B, H, 9, D)
    omitted: list[Shape] = [()] * 3
    found = macs("MultiHeadAttention", (B, M, H * D), (B, S, H * D), (B, S, H * D), *omitted, past, past)
    assert found == attention_by_loops(B, H, M, S + 9, D, D)
    onnx = macs("Attention", (B, H, M, D), (B, H, S, D), (B, H, S, D), (), past, past)
    assert onnx == attention_by_loops(B, H, M, S + 9, D, D)
    assert macs("Attention", (B, H, M, D), (B, H, S, D), (B, H, S, D), (), None) is None


def test_packed_attention_projects_first() -> None:
    """com.microsoft Attention: [2,5,8] x [8, 3*12], then attention of 3 heads of 4 over 5 tokens."""
    expected = 2 * 5 * 8 * 36 + attention_by_loops(2, 3, 5, 5, 4, 4)
    assert macs("Attention", (2, 5, 8), (8, 36), (36,), domain="com.microsoft", num_heads=3) == expected
    sizes = (12, 12, 18)  # value heads of 6
    expected = 2 * 5 * 8 * 42 + attention_by_loops(2, 3, 5, 5, 4, 6)
    found = macs("Attention", (2, 5, 8), (8, 42), domain="com.microsoft", num_heads=3, qkv_hidden_sizes=sizes)
    assert found == expected


def test_onnx_attention() -> None:
    assert macs("Attention", (B, H, M, D), (B, H, S, D), (B, H, S, DV)) == ATTENTION
    heads: dict[str, AttributeValue] = {"q_num_heads": H, "kv_num_heads": H}
    assert macs("Attention", (B, M, H * D), (B, S, H * D), (B, S, H * DV), **heads) == ATTENTION


def test_grouped_queries() -> None:
    """6 query heads share 2 key and value heads: every query head does a product of its own."""
    expected = attention_by_loops(B, 6, M, S, D, DV)
    assert macs("Attention", (B, 6, M, D), (B, 2, S, D), (B, 2, S, DV)) == expected
    heads: dict[str, AttributeValue] = {"q_num_heads": 6, "kv_num_heads": 2}
    assert macs("Attention", (B, M, 6 * D), (B, S, 2 * D), (B, S, 2 * DV), **heads) == expected


@pytest.mark.parametrize("op_type", ["Add", "Relu", "Softmax", "Einsum", "LSTM", "Constant", "SDGemm"])
def test_nothing_else_counts(op_type: str) -> None:
    assert macs(op_type, None, None, out=None) == 0


@pytest.mark.parametrize(
    ("op_type", "shapes", "out"),
    [
        ("Conv", [(1, 4, "h", 8), (8, 4, 3, 3)], (1, 8, "h", 8)),
        ("Conv", [(1, 4, 8, 8), None], (1, 8, 8, 8)),
        ("Conv", [(1, 4, 8, 8)], (1, 8, 8, 8)),
        ("MatMul", [(2, None), (3, 4)], (2, 4)),
        ("MatMul", [(), (3, 4)], (2, 4)),
        ("Gemm", [(3,), (3, 4)], (2, 4)),
        ("Attention", [(2, 5, 8), (2, 5, 8)], None),
        ("Attention", [], None),
        ("MultiHeadAttention", [(2, 5, 8)], None),
        ("MultiHeadAttention", [(2, 5, 8), (2, 5, 8)], None),
        ("MultiHeadAttention", [], None),
    ],
)
def test_unknown_shapes_give_none(op_type: str, shapes: list[Shape], out: Shape) -> None:
    attributes: dict[str, AttributeValue] = {"transA": 1} if op_type == "Gemm" else {}
    assert macs(op_type, *shapes, out=out, **attributes) is None


def test_packed_attention_without_a_weight() -> None:
    assert macs("Attention", (2, 5, 8), domain="com.microsoft") is None
    assert macs("Attention", (2, 5, 8), (8,), domain="com.microsoft") is None


def test_attention_shapes_must_fit() -> None:
    with pytest.raises(UnknownShapeError):
        attention_macs((2, 3, 5, 4), (2, 7, 12), (2, 7, 12))


def test_static_and_total() -> None:
    assert static((1, 0, 3)) == (1, 0, 3)
    for shape in (None, ("n", 1), (None, 1)):
        with pytest.raises(UnknownShapeError):
            static(shape)  # type: ignore[arg-type]
    assert (total([1, 2]), total([]), total([1, None])) == (3, 0, None)


def test_more_macs_than_64_bits_count_are_unknown() -> None:
    shapes = {"a": (2**31, 2**31), "b": (2**31, 2), "y": (2**31, 2)}
    made = Node("n", 0, "n", "MatMul", "", ("a", "b"), ("y",), {}, {})
    assert node_macs(made, shapes.__getitem__) is None
    shapes["a"] = (2**31, 2)
    assert node_macs(made, shapes.__getitem__) == 2**33
