from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ddinspect import analyze
from ddinspect.analysis.from_text import analyze_text
from ddinspect.analysis.values import DDNode, Fusion, LeftNode, Source, Summary
from ddinspect.artifacts.report_text import TextRow, parse_report_text, read_report_text, write_report_text
from ddinspect.errors import UsageError
from ddinspect.render.text import render_text
from ddinspect.report import Report

FIXTURE = Path(__file__).parents[2] / "fixtures/sd15-vae-decoder/dd"
X, Y, Z = "[1,4] - FLOAT", "[1,4] - BFLOAT16", "[2] - INT64"


def left_node(node: str, op_type: str, inputs: str, outputs: str = Y, scope: str = "") -> LeftNode:
    return LeftNode(
        node=node, op_type=op_type, domain="", kind="compute", scope=scope, times=1, inputs=(inputs,),
        outputs=(outputs,), before=(), after=(), macs=0,
    )  # fmt: skip


def dd_node(node: str, fused: int | None = 2, op_type: str = "SDConv", scope: str = "") -> DDNode:
    return DDNode(
        node=node, name=node, op_type="DynamicDispatch", domain="com.ryzenai", scope=scope, times=1, fused_ops=fused,
        source="meta", by_type={op_type: fused} if fused else {}, meta=None, inputs=(Y,), outputs=(Y,), xclbin=None,
        model_type=None, memory=None, macs=None,
    )  # fmt: skip


REPORT = Report(
    source=Source(path="unet/dd/replaced.onnx", kind="replaced"),
    summary=Summary(
        dd_nodes=1, fused_ops=2, fused_ops_source="meta", not_offloaded=4, dd_ratio=33.33,
        not_offloaded_by_kind=None, dd_ratio_top_level=33.33,
    ),
    offloaded=(),
    not_offloaded=(),
    fusion=Fusion(by_type={"SDConv": 2}, types=("SDConv",), dd_nodes=(dd_node("dd"),)),
    casts=None,
    layout=None,
    boundaries=None,
    nodes=(
        left_node("b", "Relu", X), left_node("c", "Add", X), left_node("a", "Relu", X),
        msgspec.structs.replace(left_node("d", "Relu", X), kind="shape"),
    ),
)  # fmt: skip


def rows(report: Report, by_name: bool = False) -> tuple[TextRow, ...]:
    return parse_report_text(render_text(report, 120, by_name), "r.txt").not_offloaded


def test_the_replaced_model_gives_the_text_beside_it() -> None:
    # The published text, its op types sorted.
    expected = write_report_text(read_report_text(FIXTURE / "onnx_report.txt"))
    assert render_text(analyze(FIXTURE / "replaced.onnx")) == expected


def test_kinds_are_merged_and_types_sorted() -> None:
    assert [(row.op_type, row.count) for row in rows(REPORT)] == [("Add", 1), ("Relu", 3)]


def test_groups_of_a_type_go_by_first_appearance_of_inputs_then_outputs() -> None:
    types = (("Add", Z, Z), ("Relu", Y, Z), ("Relu", Z, X), ("Relu", Y, X), ("Add", X, X))
    nodes = tuple(left_node(str(i), *each) for i, each in enumerate(types))
    found = rows(msgspec.structs.replace(REPORT, nodes=nodes))
    assert [(row.op_type, *row.inputs, *row.outputs) for row in found] == [
        ("Add", Z, Z), ("Add", X, X), ("Relu", Y, Z), ("Relu", Y, X), ("Relu", Z, X),
    ]  # fmt: skip


def test_names_are_sorted_in_their_group() -> None:
    assert [(row.op_type, row.name) for row in rows(REPORT, by_name=True)] == [
        ("Add", "c"), ("Relu", "a"), ("Relu", "b"), ("Relu", "d"),
    ]  # fmt: skip
    offloaded = parse_report_text(render_text(REPORT, 120, by_name=True), "r.txt").offloaded
    assert [row.name for row in offloaded] == ["dd"]


def test_the_width_is_kept() -> None:
    assert {len(line) for line in render_text(REPORT, 60).splitlines()[:4]} == {60}


def with_dd_nodes(*nodes: DDNode) -> Report:
    return msgspec.structs.replace(REPORT, fusion=Fusion(by_type=None, dd_nodes=nodes))


def test_figures_nobody_knows() -> None:
    report = with_dd_nodes(dd_node("dd", fused=None))
    read = parse_report_text(render_text(report), "r.txt")
    assert (read.op_types, read.fused_ops, read.ratio) == (None, None, None)
    assert render_text(report).count("n/a") == 3


def test_a_model_without_dd_nodes() -> None:
    report = msgspec.structs.replace(REPORT, fusion=None)
    read = parse_report_text(render_text(report), "r.txt")
    assert (read.offloaded, read.offloaded_sum, read.op_types, read.fused_ops, read.ratio) == ((), 0, (), 0, 0.0)


def test_a_model_without_nodes() -> None:
    read = parse_report_text(render_text(msgspec.structs.replace(REPORT, fusion=None, nodes=())), "r.txt")
    assert (read.not_offloaded_sum, read.fused_ops, read.ratio) == (0, 0, None)


@pytest.mark.parametrize("by_name", [False, True])
def test_sub_graphs_and_functions_do_not_count(by_name: bool) -> None:
    report = with_dd_nodes(dd_node("dd"), dd_node("if/dd", 7, "SDGemm", scope="if"))
    report = msgspec.structs.replace(report, nodes=(*REPORT.nodes, left_node("if/x", "Sin", X, scope="if")))
    text = render_text(report, 120, by_name)
    assert text == render_text(REPORT, 120, by_name)
    # 2 fused and 4 left in the main graph: 2 / 6.
    read = parse_report_text(text, "r.txt")
    assert (read.not_offloaded_sum, read.offloaded_sum, read.fused_ops, read.ratio) == (4, 1, 2, 33.33)
    assert read.op_types == ("SDConv",)


def test_a_bare_text_comes_back() -> None:
    text = read_report_text(FIXTURE / "onnx_report.txt")
    analysis = analyze_text(text, Source(path="onnx_report.txt", kind="text"))
    report = Report(**{name: getattr(analysis, name) for name in analysis.__struct_fields__})
    assert parse_report_text(render_text(report), "r.txt") == text
    with pytest.raises(UsageError, match="names of its nodes are not known"):
        render_text(report, by_name=True)
