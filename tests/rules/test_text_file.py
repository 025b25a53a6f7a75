from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec
import pytest
from faulty_graphs import IMPORTS, LOCAL, TEXT, local_function, report_of, vae_with
from messages import messages_of
from mutants import Graph, make

from ddinspect import report
from ddinspect.artifacts.report_text import ReportText, TextRow
from ddinspect.render.text import render_text
from ddinspect.rules.registry import check_text
from fixtures.small_graphs import CASES
from fixtures.small_graphs.base import NCHW, small
from fixtures.small_graphs.build import f32, node, save
from fixtures.small_graphs.report_text import offload_report

START = f"`{TEXT}` and the graph disagree: "


def said(graph: Graph, folder: Path) -> list[str]:
    return [message.removeprefix(START) for message in messages_of("DD007", graph, folder)]


def test_sums_and_ratio_are_quoted_from_both(tmp_path: Path) -> None:
    # The text says 12 nodes left: 89 / 101. The graph has 4: 89 / 93.
    assert said("t3_contradicts_graph", tmp_path) == [
        "`Not offloaded sum` is 12 in the text and 4 in the graph",
        "`Offload Ratio (dd fusion)` is 88.12% in the text and 95.7% in the graph",
    ]


def test_rows_are_compared_by_op_type(tmp_path: Path) -> None:
    other_type = partial(report_of, described=vae_with(op_type="Relu"))
    assert said(other_type, tmp_path / "type") == [
        "1 `Relu` not offloaded in the text and 0 in the graph",
        "1 `Transpose` not offloaded in the text and 2 in the graph",
    ]
    other_shape = partial(report_of, described=vae_with(rows=65))
    (sentence,) = said(other_shape, tmp_path / "shape")
    assert sentence == (
        "`Transpose` is `[1,4,65,64] - FLOAT -> [1,64,64,4] - FLOAT` in the text and "
        "`[1,4,64,64] - FLOAT -> [1,64,64,4] - FLOAT` in the graph"
    )


def test_op_types_are_compared_as_sets(tmp_path: Path) -> None:
    types = ("SDGroupNorm", "SDGemm", "SDConv", "SDResize", "SDMHA_VAE", "SDMul")  # SDMul for SDAdd
    assert said(partial(report_of, described=vae_with(), op_types=types), tmp_path) == [
        "`Offloaded Op Types`: `SDMul` in the text and not in the metadata",
        "`Offloaded Op Types`: `SDAdd` in the metadata and not in the text",
    ]


def cut_report(folder: Path, *, op_type: str, in_text: str, width: int) -> Path:
    """A graph with one more node behind the DD node, and a narrow report in which its type is another one."""
    made = small(nodes=[node(op_type, ["y"], ["z"], "last")], outputs=[f32("z", *NCHW)])
    path = save(folder, made)
    made.graph.node[-1].op_type = in_text
    (folder / TEXT).write_bytes(offload_report(made, ["SDSilu"], width=width).encode())
    return path


@pytest.mark.parametrize("in_text", ["LayerNormalizationOfAll", "LayerNormalizationOfOthers"])
def test_cut_op_types_are_not_compared(in_text: str, tmp_path: Path) -> None:
    graph = partial(cut_report, op_type="LayerNormalizationOfAll", in_text=in_text, width=60)
    assert said(graph, tmp_path) == []
    assert "…" in (tmp_path / TEXT).read_text(encoding="utf-8")


def test_the_same_types_uncut_are_compared(tmp_path: Path) -> None:
    graph = partial(cut_report, op_type="LayerNormalizationOfAll", in_text="LayerNormalizationOfOthers", width=120)
    assert len(said(graph, tmp_path)) == 2


def test_a_symbolic_first_dim_is_swallowed_by_the_printer_and_not_compared(tmp_path: Path) -> None:
    made = small(nodes=[node("Relu", ["u"], ["v"], "relu")], inputs=[f32("u", "batch", 4)])
    made.graph.output.append(f32("v", "batch", 4))
    path = save(tmp_path, made)
    (tmp_path / TEXT).write_bytes(offload_report(made, ["SDSilu"]).encode())
    assert "batch" not in (tmp_path / TEXT).read_text(encoding="utf-8")
    assert report.analyze(path).findings == ()


@pytest.mark.parametrize("case", ["t3_width_60", "t3_names", "t3_unicode_box", "t3_two_tensors_per_cell"])
def test_a_report_of_the_graph_itself_agrees_with_it(case: str, tmp_path: Path) -> None:
    assert said(case, tmp_path) == []


def test_a_ratio_without_metadata_does_not_pass_quietly(tmp_path: Path) -> None:
    """AMD's tool, run where the metadata was missing, printed 0 fused ops."""

    def no_fused_ops(folder: Path) -> Path:
        text = offload_report(small(), ["SDSilu"])
        text = text.replace("| 3     ", "| 0     ").replace("42.86%", "0.0%  ")
        path = save(folder, small())
        (folder / TEXT).write_bytes(text.encode())
        return path

    assert said(no_fused_ops, tmp_path) == [
        "`Offloaded sum (dd fusion)` is 0 in the text and 3 in the graph",
        "`Offload Ratio (dd fusion)` is 0.0% in the text and 42.86% in the graph",
    ]


def test_a_bare_text_is_checked_against_itself() -> None:
    row = TextRow(op_type="Relu", count=1, inputs=("[1] - FLOAT",), outputs=("[1] - FLOAT",))
    text = ReportText(
        not_offloaded=(row,), offloaded=(), not_offloaded_sum=2, offloaded_sum=0, op_types=(), fused_ops=0, ratio=0.0
    )
    assert [finding.rule for finding in check_text(text)] == ["DD008"]
    assert check_text(msgspec.structs.replace(text, not_offloaded_sum=1)) == ()


def test_a_bare_text_in_a_file(tmp_path: Path) -> None:
    make("t3_contradicts_itself", tmp_path)
    (finding,) = report.analyze(tmp_path / TEXT).findings
    assert finding.message.startswith("the report text disagrees with itself: `Offload Ratio (dd fusion)` is 96.7%")


@pytest.mark.parametrize("name", [name for name, _ in CASES if name != "t5_lfs_model"])
def test_the_fix_of_a_contradiction_is_none_itself(name: str, tmp_path: Path) -> None:
    path = make(name, tmp_path)
    (path.parent / TEXT).write_text(render_text(report.analyze(path)), encoding="utf-8")
    again = report.analyze(path)
    assert again.source.text is not None, again.source.notes
    assert not {"DD007", "DD008"} & {finding.rule for finding in again.findings}, again.findings


def test_calls_of_local_functions_are_nodes_for_amd(tmp_path: Path) -> None:
    """A Relu and a call: AMD prints both, this package the Relu alone; a text that has the call twice is neither."""

    def printed(folder: Path, *, calls: int) -> Path:
        made = small(nodes=[node("Block", ["y"], ["z"], "call", LOCAL)], outputs=[f32("z", *NCHW)], opsets=IMPORTS)
        made.functions.append(local_function("Block", [node("Relu", ["in"], ["out"], "relu")]))
        path = save(folder, made)
        made.graph.node.extend([made.graph.node[-1]] * (calls - 1))
        (folder / TEXT).write_bytes(offload_report(made, ["SDSilu"], width=120).encode())
        return path

    assert said(partial(printed, calls=1), tmp_path / "amd") == []
    assert said(partial(printed, calls=2), tmp_path / "other") == [
        "`Not offloaded sum` is 6 in the text and 5 in the graph",
        "`Offload Ratio (dd fusion)` is 33.33% in the text and 37.5% in the graph",
        "2 `Block` not offloaded in the text and 1 in the graph",
    ]


def test_a_ratio_may_be_half_a_digit_off_and_no_more(tmp_path: Path) -> None:
    def with_ratio(folder: Path, *, ratio: str) -> Path:
        path = save(folder, small())  # 3 fused, 4 left: 42.857142...%
        text = offload_report(small(), ["SDSilu"])
        (folder / TEXT).write_bytes(text.replace("42.86%", ratio).encode())
        return path

    assert said(partial(with_ratio, ratio="42.86%"), tmp_path / "same") == []
    assert said(partial(with_ratio, ratio="42.87%"), tmp_path / "other") == [
        "`Offload Ratio (dd fusion)` is 42.87% in the text and 42.86% in the graph"
    ]
