"""Exit codes and what is said with them, on reports written by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ddinspect.analysis.values import Figure, LeftNode, Source, Summary
from ddinspect.gate.verdict import verdict
from ddinspect.report import PackageReport, Report
from ddinspect.rules.finding import Finding


def node(name: str, kind: Any) -> LeftNode:
    return LeftNode(
        node=name, op_type="Add", domain="", kind=kind, scope="", times=1, inputs=(), outputs=(), before=(), after=(),
        macs=0,
    )  # fmt: skip


def report(dd_nodes: int = 1, ratio: float | None = 95.7, nodes: tuple[LeftNode, ...] = ()) -> Report:
    return Report(
        source=Source(path="m.onnx", kind="replaced"),
        summary=Summary(
            dd_nodes=dd_nodes, fused_ops=89, fused_ops_source="meta", not_offloaded=4, dd_ratio=ratio,
            not_offloaded_by_kind=None, dd_ratio_top_level=ratio,
        ),
        offloaded=(), not_offloaded=(), fusion=None, casts=None, layout=None, boundaries=None, nodes=nodes,
    )  # fmt: skip


@pytest.mark.parametrize(("bound", "code"), [(95.69, 0), (95.7, 0), (95.71, 1), (100, 1), (0, 0)])
def test_the_printed_figure_is_compared(bound: float, code: int) -> None:
    assert verdict(report(), fail_under=bound, fail_on="never").code == code


def test_compute_nodes_are_blamed_first() -> None:
    nodes = (node("cast", "boundary"), *(node(f"add{i}", "compute") for i in range(7)))
    (reason,) = verdict(report(nodes=nodes), fail_under=98, fail_on="never").reasons
    assert reason == (
        "dd_ratio 95.7% is below --fail-under 98%; left on the CPU: add0, add1, add2, add3, add4 and 2 more"
    )


def test_without_compute_all_are_blamed() -> None:
    (reason,) = verdict(report(nodes=(node("cast", "boundary"),)), fail_under=98, fail_on="never").reasons
    assert reason.endswith("; left on the CPU: cast")


def test_a_figure_that_is_not_known_fails_and_says_why() -> None:
    unknown = msgspec.structs.replace(report(ratio=None), figures={"dd_ratio": Figure(source=None, reason="no names")})
    assert verdict(unknown, fail_under=0, fail_on="never").reasons == (
        "dd_ratio is n/a (no names), --fail-under asks for 0%",
    )


def test_no_dd_node_is_nothing_to_gate_but_findings_still_fail() -> None:
    untouched = report(dd_nodes=0, ratio=0.0)
    assert verdict(untouched, fail_under=None, fail_on="never").code == 0
    assert verdict(untouched, fail_under=0, fail_on="never").code == 3
    found = msgspec.structs.replace(untouched, findings=(finding("warning"),))
    assert verdict(found, fail_under=0, fail_on="warning").code == 1


def finding(severity: Any) -> Finding:
    return Finding(rule="DD001", severity=severity, message="said", fix="Do it.")


@pytest.mark.parametrize(
    ("fail_on", "failing"), [("never", ""), ("error", "e"), ("warning", "ew"), ("info", "ewi")]
)  # fmt: skip
def test_findings_at_or_above_a_level_fail(fail_on: Any, failing: str) -> None:
    for severity in ("error", "warning", "info"):
        judged = verdict(
            msgspec.structs.replace(report(), findings=(finding(severity),)), fail_under=None, fail_on=fail_on
        )
        assert judged.code == int(severity[0] in failing)
        assert judged.reasons == ((f"DD001 ({severity}): said",) if judged.code else ())


def test_a_package_is_gated_where_it_has_dd_nodes() -> None:
    package = PackageReport(components={"text": report(dd_nodes=0, ratio=0.0), "unet": report()})
    passed = verdict(package, fail_under=95, fail_on="never")
    assert (passed.code, passed.reasons) == (0, ("text: no DynamicDispatch node, not gated",))
    failed = verdict(package, fail_under=96, fail_on="never")
    assert failed.code == 1
    assert failed.reasons[0].startswith("unet: dd_ratio 95.7% is below")
    none = PackageReport(components={"text": report(dd_nodes=0, ratio=0.0)})
    assert verdict(none, fail_under=95, fail_on="never").code == 3
    assert verdict(none, fail_under=None, fail_on="never").code == 0


def test_several_documents_are_told_apart_by_path() -> None:
    assert verdict(report(), fail_under=98, fail_on="never", by_path=True).reasons[0].startswith("m.onnx: dd_ratio")
    package = PackageReport(components={"unet": report()})
    assert verdict(package, fail_under=98, fail_on="never", by_path=True).reasons[0].startswith("m.onnx: dd_ratio")
