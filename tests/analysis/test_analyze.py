"""The component of the fixtures: figures as published, or worked out by hand from the architecture."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from analysing import analysis_at, metadata_of, split_of

from ddinspect.analysis.values import Analysis, DeviceMemory, KindCounts, Summary
from fixtures.small_graphs.build import BFLOAT16, FLOAT, cast_avx, dispatch, f32, model

COMPONENT = Path(__file__).parents[2] / "fixtures" / "sd15-vae-decoder" / "dd"


@pytest.fixture(scope="module")
def decoder() -> Analysis:
    return analysis_at(COMPONENT / "replaced.onnx")


def test_summary(decoder: Analysis) -> None:
    assert decoder.summary == Summary(
        dd_nodes=1,
        fused_ops=89,
        fused_ops_source="meta",
        not_offloaded=4,
        dd_ratio=95.7,
        not_offloaded_by_kind=KindCounts(boundary=4),
        dd_ratio_top_level=95.7,
        mac_coverage=100.0,
        regions=1,
        crossings=2,
        crossing_bytes=1_605_632,  # 1*64*64*4*2 + 1*512*512*3*2
        bf16_casts=2,
        layout_conversions=2,
        compute_left=0,
        compute_left_macs=0,
    )


def test_fusion(decoder: Analysis) -> None:
    assert decoder.fusion is not None
    types = {"SDConv": 36, "SDGroupNorm": 30, "SDAdd": 15, "SDGemm": 4, "SDResize": 3, "SDMHA_VAE": 1}
    assert decoder.fusion.by_type == types
    (node,) = decoder.fusion.dd_nodes
    assert (node.by_type, node.unresolved, node.repeated) == (types, (), ())
    # The sizes the metadata states for its buffers.
    assert node.memory == DeviceMemory(input=32768, output=1_572_864, scratch=2_604_695_552, const=57600)


def decoder_macs() -> int:
    """SD 1.5's VAE decoder at 512 px from its architecture, as diffusers builds it: channels 512, 512, 256, 128."""

    def conv(side: int, c_in: int, c_out: int, kernel: int = 3) -> int:
        return side * side * c_in * c_out * kernel * kernel

    def resnet(side: int, c_in: int, c_out: int) -> int:
        shortcut = conv(side, c_in, c_out, 1) if c_in != c_out else 0
        return conv(side, c_in, c_out) + conv(side, c_out, c_out) + shortcut

    total = conv(64, 4, 4, 1) + conv(64, 4, 512)
    total += 2 * resnet(64, 512, 512)
    total += 4 * 4096 * 512 * 512 + 4096 * 4096 * (512 + 512)  # q, k, v, out; one head over 64*64 tokens
    c_in, side = 512, 64
    for level, c_out in enumerate((512, 512, 256, 128)):
        total += resnet(side, c_in, c_out) + 2 * resnet(side, c_out, c_out)
        if level < 3:
            side *= 2
            total += conv(side, c_out, c_out)
        c_in = c_out
    return total + conv(512, 128, 3)


def test_macs(decoder: Analysis) -> None:
    assert decoder.fusion is not None
    assert decoder.fusion.dd_nodes[0].macs == decoder_macs() == 1_257_259_466_752


def test_rows(decoder: Analysis) -> None:
    """As AMD's report beside the model has them."""
    small, big = "[1,64,64,4]", "[1,512,512,3]"
    assert [(row.op_type, row.count, row.inputs, row.outputs) for row in decoder.not_offloaded] == [
        ("CastAvx", 1, (f"{small} - FLOAT",), (f"{small} - BFLOAT16",)),
        ("CastAvx", 1, (f"{big} - BFLOAT16",), (f"{big} - FLOAT",)),
        ("Transpose", 1, ("[1,4,64,64] - FLOAT",), (f"{small} - FLOAT",)),
        ("Transpose", 1, (f"{big} - FLOAT",), ("[1,3,512,512] - FLOAT",)),
    ]
    (row,) = decoder.offloaded
    assert (row.inputs, row.outputs) == ((f"{small} - BFLOAT16",), (f"{big} - BFLOAT16",))


def test_casts_layout_boundaries(decoder: Analysis) -> None:
    casts, layout, boundaries = decoder.casts, decoder.layout, decoder.boundaries
    assert casts is not None
    assert layout is not None
    assert boundaries is not None
    assert (casts.to_bf16, casts.from_bf16, casts.cancelling, casts.block_float) == (1, 1, (), ())
    assert [(item.direction, item.bytes, item.between) for item in casts.items] == [
        ("to_bf16", 32768, ("cpu", "npu")),
        ("from_bf16", 1_572_864, ("npu", "cpu")),
    ]
    assert (layout.to_nhwc, layout.to_nchw, layout.cancelling, layout.blocked) == (1, 1, (), ())
    assert [(region.fused_ops, region.scope) for region in boundaries.regions] == [(89, "")]
    assert [(crossing.direction, crossing.bytes) for crossing in boundaries.crossings] == [
        ("in", 32768),
        ("out", 1_572_864),
    ]
    assert (boundaries.islands, boundaries.gaps) == ((), ())


def test_without_metadata(decoder: Analysis, tmp_path: Path) -> None:
    shutil.copy(COMPONENT / "replaced.onnx", tmp_path)
    bare = analysis_at(tmp_path / "replaced.onnx")
    assert (bare.summary.fused_ops, bare.summary.fused_ops_source, bare.summary.dd_ratio) == (89, "replaced", 95.7)
    assert (bare.fusion and bare.fusion.by_type, bare.summary.mac_coverage) == (None, None)
    assert bare.not_offloaded == decoder.not_offloaded
    assert bare.boundaries == decoder.boundaries


def test_an_analysis_survives_json(decoder: Analysis) -> None:
    assert msgspec.json.decode(msgspec.json.encode(decoder), type=Analysis) == decoder


def test_metadata_fills_in_types_of_the_border() -> None:
    """The graph says nothing of the DD node's tensors; a dim of 0 in the metadata is unknown."""
    made = model(
        [cast_avx("x", "b", BFLOAT16), dispatch("dd", ["b"], ["d"], ["k"]), cast_avx("d", "y", FLOAT)],
        [f32("x", 1, 8)],
        [],
    )
    told = metadata_of(shapes={"d": (0, 4), "inner": (7,)}, dtypes={"d": "float16"}, label="out")
    inside = metadata_of(shapes={"d": (0, 4)}, dtypes={"d": "float16"}, label="scratch")
    for metadata, expected in (((), (16, None)), ((inside,), (16, None)), ((told,), (10, (None, 4)))):
        split = split_of(made, *metadata)
        found = split.type_of(split.flows[0].scope, "d")
        assert (found.dtype, found.shape) == expected
