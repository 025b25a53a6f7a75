from __future__ import annotations

import pytest
from analysing import fused_op, metadata_of

from ddinspect.analysis.fused_cost import fused_macs

EMPTY = metadata_of()


def test_conv() -> None:
    """post_quant_conv of SD 1.5: 64*64 places, 4 channels to 4, 1x1: 65 536."""
    op = fused_op("SDConv", output_shape=[1, 64, 64, 4], weight_shape=[4, 1, 1, 4])
    assert fused_macs(op, EMPTY) == 65_536
    grouped = fused_op("Conv_noqdq", output_shape=[1, 8, 8, 16], weight_shape=[16, 3, 3, 2])
    assert fused_macs(grouped, EMPTY) == 64 * 16 * 9 * 2


@pytest.mark.parametrize("op_type", ["SDGemm", "SDGemm_bfp", "SDGemmConcat"])
def test_gemm(op_type: str) -> None:
    op = fused_op(op_type, input_shape=[1, 4096, 512], output_shape=[1, 4096, 512], weight_shape=[512, 512])
    assert fused_macs(op, EMPTY) == 4096 * 512 * 512


def test_gemm_that_parts_the_heads() -> None:
    """trans_head: the output is [B, heads, M, N/heads]; the product is the same."""
    op = fused_op(
        "SDGemm",
        input_shape=[2, 4096, 320],
        output_shape=[2, 8, 4096, 40],
        weight_shape=[320, 320],
        trans_head=[1],
        head_num=[8],
    )
    assert fused_macs(op, EMPTY) == 2 * 4096 * 320 * 320


def test_matmul() -> None:
    data = metadata_of(shapes={"a": (2, 3, 5), "b": (2, 5, 7), "y": (2, 3, 7)})
    assert fused_macs(fused_op("SDMatMul", ("a", "b"), ("y",)), data) == 2 * 3 * 7 * 5
    with_weight = fused_op("SDMatMul", ("a",), ("y",), input_shape=[2, 3, 5], weight_shape=[5, 7])
    assert fused_macs(with_weight, data) == 2 * 3 * 7 * 5


def test_attention() -> None:
    """B*H*M*S*(d_qk + d_v), the heads apart or side by side."""
    expected = 2 * 8 * 64 * 77 * (40 + 40)
    apart = metadata_of(shapes={"q": (2, 8, 64, 40), "k": (2, 8, 77, 40), "v": (2, 8, 77, 40)})
    together = metadata_of(shapes={"q": (2, 64, 320), "k": (2, 77, 320), "v": (2, 77, 320)})
    for op_type in ("SDMHA", "SDFlatMHA", "SDMHA_bfp", "SDMHA_VAE"):
        op = fused_op(op_type, ("q", "k", "v"), ("y",))
        assert fused_macs(op, apart) == fused_macs(op, together) == expected
    mixed = metadata_of(shapes={"q": (2, 8, 64, 40), "k": (2, 77, 320), "v": (2, 77, 320)})
    assert fused_macs(fused_op("SDMHA", ("q", "k", "v")), mixed) is None


@pytest.mark.parametrize("op_type", ["SDAdd", "SDConcat", "SDSilu", "SDGroupNorm", "SDCastBf2Bfp", "SDResize", "New"])
def test_what_does_not_multiply(op_type: str) -> None:
    assert fused_macs(fused_op(op_type), EMPTY) == 0


@pytest.mark.parametrize(
    "op",
    [
        fused_op("NewMHA"),
        fused_op("my_gemm_v7"),
        fused_op("SDConv"),
        fused_op("SDMatMul"),
        fused_op("SDMHA", ("q", "k"), ("y",)),
        fused_op("SDMHA", ("q", "k", "v"), ("y",)),  # not in the tensor map
        fused_op("SDGemm", input_shape=[1, 4, 8], weight_shape=[16, 8]),  # K differs
        fused_op("SDGemm", input_shape=[1, 4, 8], weight_shape=[8]),
        fused_op("SDConv", output_shape=[1, 8, 8, 4], weight_shape=[4, 9, 4]),
        # A symbolic dim is recorded as 0: the op multiplies, how often is open.
        fused_op("SDGemm", input_shape=[0, 4, 8], weight_shape=[8, 8]),
        fused_op("SDConv", output_shape=[1, 0, 0, 4], weight_shape=[4, 3, 3, 4]),
        fused_op("SDMLP"),
        fused_op("SDDit160Fusion", input_shape=[1, 4, 8], weight_shape=[8, 8]),
        fused_op("SDGemmGemmMulAdd_bfp", input_shape=[1, 4, 8], weight_shape=[8, 8]),
    ],
)
def test_what_multiplies_without_saying_how_often(op: object) -> None:
    assert fused_macs(op, EMPTY) is None  # type: ignore[arg-type]


def test_a_symbol_among_the_attributes() -> None:
    op = fused_op("SDGemm", input_shape=["n", 4, 8], weight_shape=[8, 8])  # type: ignore[list-item]
    assert fused_macs(op, EMPTY) is None


def test_a_symbolic_dim_in_the_tensor_map() -> None:
    data = metadata_of(shapes={"q": (0, 64, 320), "k": (1, 77, 320), "v": (1, 77, 320)})
    assert fused_macs(fused_op("SDMHA", ("q", "k", "v")), data) is None
