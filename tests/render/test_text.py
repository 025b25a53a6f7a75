from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ddinspect import analyze
from ddinspect.analysis.from_text import analyze_text
from ddinspect.analysis.values import DDNode, Fusion, LeftNode, LeftRow, OffloadedRow, Source, Summary
from ddinspect.artifacts.report_text import TextRow, parse_report_text, read_report_text, write_report_text
from ddinspect.errors import UsageError
from ddinspect.render.text import render_text
from ddinspect.report import Report

FIXTURE = Path(__file__).parents[2] / "fixtures/sd15-vae-decoder/dd"
X, Y, Z = "[1,4] - FLOAT", "[1,4] - BFLOAT16", "[2] - INT64"


def left(op_type: str, inputs: str, outputs: str, count: int = 1, kind: Any = "compute") -> LeftRow:
    return LeftRow(op_type=op_type, kind=kind, count=count, inputs=(inputs,), outputs=(outputs,))


def left_node(node: str, op_type: str, inputs: str, times: int = 1) -> LeftNode:
    return LeftNode(
        node=node, op_type=op_type, domain="", kind="compute", scope="", times=times, inputs=(inputs,), outputs=(Y,),
        before=(), after=(), macs=0,
    )  # fmt: skip


def dd_node(node: str) -> DDNode:
    return DDNode(
        node=node, name=node, op_type="DynamicDispatch", domain="com.ryzenai", scope="", times=1, fused_ops=2,
        source="meta", by_type={"SDConv": 2}, meta=None, inputs=(Y,), outputs=(Y,), xclbin=None, model_type=None,
        memory=None, macs=None,
    )  # fmt: skip


REPORT = Report(
    source=Source(path="unet/dd/replaced.onnx", kind="replaced"),
    summary=Summary(
        dd_nodes=1, fused_ops=2, fused_ops_source="meta", not_offloaded=4, dd_ratio=33.33,
        not_offloaded_by_kind=None, dd_ratio_top_level=33.33,
    ),
    offloaded=(OffloadedRow(op_type="DynamicDispatch", count=1, inputs=(Y,), outputs=(Y,)),),
    not_offloaded=(left("Relu", X, Y, 2), left("Add", X, Y), left("Relu", X, Y, kind="shape")),
    fusion=Fusion(by_type={"SDConv": 2}, types=("SDConv",), dd_nodes=(dd_node("dd"),)),
    casts=None,
    layout=None,
    boundaries=None,
    nodes=(left_node("b", "Relu", X), left_node("c", "Add", X), left_node("a", "Relu", X, times=2)),
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
    listed = (left("Add", Z, Z), left("Relu", Y, Z), left("Relu", Z, X), left("Relu", Y, X), left("Add", X, X))
    found = rows(msgspec.structs.replace(REPORT, not_offloaded=listed))
    assert [(row.op_type, *row.inputs, *row.outputs) for row in found] == [
        ("Add", Z, Z), ("Add", X, X), ("Relu", Y, Z), ("Relu", Y, X), ("Relu", Z, X),
    ]  # fmt: skip


def test_names_are_sorted_in_their_group_and_stand_once_per_call() -> None:
    assert [(row.op_type, row.name) for row in rows(REPORT, by_name=True)] == [
        ("Add", "c"), ("Relu", "a"), ("Relu", "a"), ("Relu", "b"),
    ]  # fmt: skip
    offloaded = parse_report_text(render_text(REPORT, 120, by_name=True), "r.txt").offloaded
    assert [row.name for row in offloaded] == ["dd"]


def test_the_width_is_kept() -> None:
    assert {len(line) for line in render_text(REPORT, 60).splitlines()[:4]} == {60}


def test_figures_nobody_knows() -> None:
    summary = msgspec.structs.replace(REPORT.summary, fused_ops=None, dd_ratio=None)
    report = msgspec.structs.replace(REPORT, summary=summary, fusion=Fusion(by_type=None))
    read = parse_report_text(render_text(report), "r.txt")
    assert (read.op_types, read.fused_ops, read.ratio) == (None, None, None)
    assert render_text(report).count("n/a") == 3


def test_a_model_without_dd_nodes() -> None:
    summary = msgspec.structs.replace(REPORT.summary, dd_nodes=0, fused_ops=0, dd_ratio=0.0)
    report = msgspec.structs.replace(REPORT, summary=summary, offloaded=(), fusion=None)
    read = parse_report_text(render_text(report), "r.txt")
    assert (read.offloaded, read.offloaded_sum, read.op_types, read.fused_ops, read.ratio) == ((), 0, (), 0, 0.0)


def test_a_bare_text_comes_back() -> None:
    text = read_report_text(FIXTURE / "onnx_report.txt")
    analysis = analyze_text(text, Source(path="onnx_report.txt", kind="text"))
    report = Report(**{name: getattr(analysis, name) for name in analysis.__struct_fields__})
    assert parse_report_text(render_text(report), "r.txt") == text
    with pytest.raises(UsageError, match="names of its nodes are not known"):
        render_text(report, by_name=True)


def test_more_rows_than_memory_holds_are_refused() -> None:
    summary = msgspec.structs.replace(REPORT.summary, not_offloaded=2**40)
    report = msgspec.structs.replace(REPORT, summary=summary, nodes=(left_node("n", "Add", X, times=2**40),))
    with pytest.raises(UsageError, match="too many nodes to list by name"):
        render_text(report, by_name=True)
