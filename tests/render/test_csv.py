from __future__ import annotations

import csv
from io import StringIO

import pytest
from sample_reports import ATTENTION, NCHW, changed, left_node, package, unet, vae

from ddinspect.analysis.values import Todo
from ddinspect.render.csv import Table, render_csv
from ddinspect.report import Document, PackageReport, Reports


def rows(document: Document, table: Table) -> list[list[str]]:
    return list(csv.reader(StringIO(render_csv(document, table), newline="")))


def test_todo_to_the_letter() -> None:
    assert render_csv(unet(), "todo") == (
        "op_type,inputs,outputs,count,macs,nodes\r\n"
        'MatMul,"[2,4096,320] - FLOAT; [320,320] - FLOAT","[2,4096,320] - FLOAT",2,1677721600,'
        f"{ATTENTION}/to_q/MatMul; {ATTENTION}/to_k/MatMul\r\n"
        'Sin,"[batch,160] - FLOAT","[batch,160] - FLOAT",1,0,/Sin\r\n'
    )


def test_nodes() -> None:
    node = left_node("n", "Add", "compute", None, domain="ai.x", scope="body", before=("cpu", "npu"), times=3)
    assert rows(changed(vae(), nodes=(node,)), "nodes") == [
        ["node", "op_type", "domain", "kind", "scope", "times", "inputs", "outputs", "before", "after", "macs"],
        ["n", "Add", "ai.x", "compute", "body", "3", NCHW, NCHW, "cpu; npu", "npu", ""],
    ]


def test_component_comes_first_in_a_package() -> None:
    table = rows(package(), "todo")
    assert table[0][:2] == ["component", "op_type"]
    assert {row[0] for row in table[1:]} == {"unet"}


def test_path_comes_first_in_a_list_of_reports() -> None:
    table = rows(Reports(reports=(unet(), package())), "todo")
    assert table[0][:3] == ["path", "component", "op_type"]
    assert [row[:3] for row in table[1::2]] == [
        ["unet/dd/replaced.onnx", "", "MatMul"], ["unet/dd/replaced.onnx", "unet", "MatMul"],
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0"])
def test_spreadsheets_run_no_formula(name: str) -> None:
    report = changed(unet(), todo=(Todo(op_type=name, inputs=(name,), outputs=(), count=1, macs=-5, nodes=(name,)),))
    document = PackageReport(components={name: report})
    assert rows(document, "todo")[1] == [f"'{name}"] * 3 + ["", "1", "-5", f"'{name}"]


def test_quotes_commas_and_line_breaks_survive() -> None:
    name = 'a"b,c\nd\te'
    report = changed(unet(), todo=(Todo(op_type=name, inputs=(), outputs=(), count=1, macs=None, nodes=(name,)),))
    assert rows(report, "todo")[1] == [r'a"b,c\nd\te', "", "", "1", "", r'a"b,c\nd\te']
    assert render_csv(report, "todo").count("\n") == 2
