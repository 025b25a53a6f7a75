"""Hand-written reports for the tests of the renderers."""

from __future__ import annotations

from typing import Any

import msgspec

from ddinspect.analysis.border_values import (
    Boundaries,
    CastItem,
    CastPair,
    Casts,
    Crossing,
    Gap,
    Layout,
    LayoutItem,
    LayoutPair,
    Region,
)
from ddinspect.analysis.values import (
    DDNode,
    DeviceMemory,
    Figure,
    Fusion,
    KindCounts,
    LeftNode,
    LeftRow,
    NameInDDNode,
    OffloadedRow,
    Source,
    Summary,
    Todo,
)
from ddinspect.report import PackageReport, Report
from ddinspect.rules.finding import Finding

NCHW, NHWC = "[1,4,64,64] - FLOAT", "[1,64,64,4] - FLOAT"
NHWC_BF16 = "[1,64,64,4] - BFLOAT16"
IMAGE_BF16, IMAGE = "[1,512,512,3] - BFLOAT16", "[1,512,512,3] - FLOAT"
IMAGE_NCHW = "[1,3,512,512] - FLOAT"
DD = "NhwcConv_0-post_quant_convConv"
META = f"vae_decoder/dd/cache/{DD}_meta.json"
TIMESTEP = "[batch,160] - FLOAT"
ATTENTION = "/down_blocks.0/attentions.0/transformer_blocks.0/attn1"


def changed(report: Report, **changes: Any) -> Report:
    """The report with other values; keys of the summary may be given as `summary={...}`."""
    if isinstance(summary := changes.get("summary"), dict):
        changes["summary"] = msgspec.structs.replace(report.summary, **summary)
    return msgspec.structs.replace(report, **changes)


def left(op_type: str, inputs: str, outputs: str, kind: Any = "boundary") -> LeftRow:
    return LeftRow(op_type=op_type, kind=kind, count=1, inputs=(inputs,), outputs=(outputs,))


def left_node(name: str, op_type: str, kind: Any, macs: int | None = 0, signature: str = NCHW, **more: Any) -> LeftNode:
    values: dict[str, Any] = {
        "node": name, "op_type": op_type, "domain": "", "kind": kind, "scope": "", "times": 1, "macs": macs,
        "inputs": (signature,), "outputs": (signature,), "before": ("npu",), "after": ("npu",),
    }  # fmt: skip
    return LeftNode(**(values | more))


def vae() -> Report:
    """The published VAE decoder: 89 fused, four boundary nodes left, 95.7 (facts of AMD's own report text)."""
    return Report(
        source=Source(path="vae_decoder/dd/replaced.onnx", kind="replaced", meta=(META,)),
        summary=Summary(
            dd_nodes=1, fused_ops=89, fused_ops_source="meta", not_offloaded=4, dd_ratio=95.7,
            not_offloaded_by_kind=KindCounts(boundary=4), dd_ratio_top_level=95.7, mac_coverage=100.0, regions=1,
            crossings=2, crossing_bytes=1605632, bf16_casts=2, layout_conversions=2, compute_left=0,
            compute_left_macs=0,
        ),
        offloaded=(OffloadedRow(op_type="DynamicDispatch", count=1, inputs=(NHWC_BF16,), outputs=(IMAGE_BF16,)),),
        not_offloaded=(
            left("CastAvx", NHWC, NHWC_BF16), left("CastAvx", IMAGE_BF16, IMAGE),
            left("Transpose", NCHW, NHWC), left("Transpose", IMAGE, IMAGE_NCHW),
        ),
        fusion=Fusion(
            by_type={"SDConv": 36, "SDAdd": 15, "SDGroupNorm": 30, "SDGemm": 4, "SDResize": 3, "SDMHA_VAE": 1},
            dd_nodes=(
                DDNode(
                    node=DD, name=DD, op_type="DynamicDispatch", domain="com.ryzenai", scope="", times=1, fused_ops=89,
                    source="meta", by_type={"SDConv": 36, "SDGroupNorm": 30}, meta=META,
                    inputs=("latent_nhwc",), outputs=("image_nhwc",), xclbin=None, model_type="SD15_VAE_DECODER",
                    memory=DeviceMemory(input=32768, output=1572864, scratch=536870912, const=1000), macs=1257259466752,
                ),
            ),
        ),
        casts=Casts(
            to_bf16=1, from_bf16=1,
            items=(
                CastItem(
                    node="CastAvx_0", op_type="CastAvx", direction="to_bf16", tensor="latent_bf16",
                    shape=(1, 64, 64, 4), bytes=32768, from_dtype="FLOAT", to_dtype="BFLOAT16", between=("cpu", "npu"),
                    times=1,
                ),
            ),
        ),
        layout=Layout(
            to_nhwc=1, to_nchw=1,
            items=(
                LayoutItem(
                    node="Transpose_0", op_type="Transpose", how="explicit", direction="to_nhwc", tensor="latent",
                    shape=("batch", 4, 64, None), bytes=None, between=("input", "cpu"), times=1,
                ),
            ),
        ),
        boundaries=Boundaries(
            regions=(Region(index=0, scope="", dd_nodes=(DD,), fused_ops=89, times=1),),
            crossings=(
                Crossing(
                    tensor="latent_bf16", direction="in", scope="", dtype="BFLOAT16", shape=(1, 64, 64, 4),
                    bytes=32768, times=1,
                ),
            ),
        ),
        figures={
            "dd_ratio": Figure(source="meta"), "fused_ops": Figure(source="meta"),
            "source_coverage": Figure(source=None, reason="no original graph"),
            "weight_coverage": Figure(source=None, reason="no original graph"),
        },
        nodes=tuple(left_node(f"{op}_{i}", op, "boundary") for op in ("CastAvx", "Transpose") for i in range(2)),
    )  # fmt: skip


def unet() -> Report:
    """A made-up UNet with compute left on the CPU, an island, pairs and findings."""
    to_q, to_k = f"{ATTENTION}/to_q/MatMul", f"{ATTENTION}/to_k/MatMul"
    sig, weight = "[2,4096,320] - FLOAT", "[320,320] - FLOAT"
    return changed(
        vae(),
        source=Source(
            path="unet/dd/replaced.onnx", kind="replaced", original="unet/model.onnx",
            notes=("unet/old.onnx does not fit",),
        ),
        summary={
            "dd_nodes": 2, "fused_ops": 618, "not_offloaded": 15, "dd_ratio": 97.63, "dd_ratio_top_level": 98.1,
            "not_offloaded_by_kind": KindCounts(boundary=4, shape=8, compute=3), "regions": 2, "crossings": 6,
            "mac_coverage": None, "compute_left": 3, "compute_left_macs": 1677721600,
        },
        not_offloaded=(
            *vae().not_offloaded,
            LeftRow(op_type="MatMul", kind="compute", count=2, inputs=(sig, weight), outputs=(sig,)),
            LeftRow(op_type="Sin", kind="compute", count=1, inputs=(TIMESTEP,), outputs=(TIMESTEP,)),
            LeftRow(
                op_type="Concat", kind="shape", count=8, inputs=("[1] - INT64", "[1] - INT64"), outputs=("[2] - INT64",)
            ),
        ),
        todo=(
            Todo(op_type="MatMul", inputs=(sig, weight), outputs=(sig,), count=2, macs=1677721600, nodes=(to_q, to_k)),
            Todo(op_type="Sin", inputs=(TIMESTEP,), outputs=(TIMESTEP,), count=1, macs=0, nodes=("/Sin",)),
        ),
        nodes=(
            *vae().nodes,
            left_node("/Sin", "Sin", "compute", signature=TIMESTEP, before=("cpu",), after=("cpu",)),
            left_node(to_q, "MatMul", "compute", 838860800, sig, before=("constant", "npu")),
            left_node(to_k, "MatMul", "compute", 838860800, sig, before=("constant", "npu")),
            *(left_node(f"/Concat_{i}", "Concat", "shape", signature="[2] - INT64") for i in range(8)),
        ),
        casts=msgspec.structs.replace(
            vae().casts,
            cancelling=(
                CastPair(
                    first="/a/Cast", second="/b/Cast", outer_dtype="FLOAT", middle_dtype="BFLOAT16", lossless=False,
                    value_preserving=False, reason="BFLOAT16 does not hold every FLOAT",
                ),
            ),
        ),
        layout=msgspec.structs.replace(
            vae().layout, blocked=(LayoutPair(first="/t/Transpose", second="/u/Transpose", blockers=("/Reshape",)),)
        ),
        boundaries=Boundaries(
            regions=(
                Region(index=0, scope="", dd_nodes=("dd_a",), fused_ops=600, times=1),
                Region(index=1, scope="", dd_nodes=("dd_b",), fused_ops=18, times=1),
            ),
            crossings=vae().boundaries.crossings,  # type: ignore[union-attr]
            islands=(
                Gap(
                    scope="", nodes=(to_q, "/x/CastAvx"), blockers=(to_q,), merges=2, crossings_saved=2,
                    bytes_saved=5242880, times=1,
                ),
            ),
        ),
        fusion=msgspec.structs.replace(vae().fusion, unresolved=(NameInDDNode(dd_node="dd_a", name="/gone/Conv"),)),
        figures=vae().figures | {"mac_coverage": Figure(source=None, reason="MatMul /x has no static shape")},
        findings=(
            Finding(rule="DD201", severity="info", message="Two regions.", fix="Remove the island."),
            Finding(
                rule="DD104", severity="warning", node=to_q,
                message="A MatMul between two DD nodes runs on the CPU and splits the graph in two regions.",
                fix="Offload it: a kernel of this shape merges both regions.",
            ),
        ),
    )  # fmt: skip


def untouched() -> Report:
    """An original graph: no DD node."""
    return Report(
        source=Source(path="model.onnx", kind="original"),
        summary=Summary(
            dd_nodes=0, fused_ops=0, fused_ops_source=None, not_offloaded=5, dd_ratio=0.0, dd_ratio_top_level=0.0,
            not_offloaded_by_kind=KindCounts(compute=5), regions=0, crossings=0, crossing_bytes=0, bf16_casts=0,
            layout_conversions=0, compute_left=5, compute_left_macs=7,
        ),
        offloaded=(),
        not_offloaded=(
            left("Add", NCHW, NCHW, "compute"),
            left("Conv", NCHW, NCHW, "compute"), left("Conv", NHWC, NHWC, "compute"),
            left("Relu", NCHW, NCHW, "compute"), left("Relu", NHWC, NHWC, "compute"),
        ),
        fusion=None, casts=None, layout=None, boundaries=None,
    )  # fmt: skip


def bare_text() -> Report:
    """A bare onnx_report.txt: no kinds, no regions, no crossings."""
    report = vae()
    return changed(
        report,
        source=Source(path="onnx_report.txt", kind="text"),
        summary=Summary(
            dd_nodes=1, fused_ops=89, fused_ops_source="text", not_offloaded=4, dd_ratio=95.7,
            not_offloaded_by_kind=None, dd_ratio_top_level=95.7, bf16_casts=2,
        ),
        not_offloaded=tuple(msgspec.structs.replace(row, kind=None) for row in report.not_offloaded),
        fusion=None, casts=None, layout=None, boundaries=None, nodes=(),
        figures={"regions": Figure(source=None, reason="a text report has no graph")},
    )  # fmt: skip


def package() -> PackageReport:
    return PackageReport(components={"unet": unet(), "vae_decoder": vae(), "text encoder": untouched()})
