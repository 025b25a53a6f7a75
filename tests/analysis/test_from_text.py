from __future__ import annotations

from pathlib import Path

import pytest
from analysing import analysis_at

from ddinspect.analysis.from_text import analyze_text
from ddinspect.analysis.values import FIGURES, Analysis, Source
from ddinspect.artifacts.report_text import ReportText, TextRow, read_report_text
from fixtures.small_graphs import write

COMPONENT = Path(__file__).parents[2] / "fixtures" / "sd15-vae-decoder" / "dd"
SOURCE = Source(path="onnx_report.txt", kind="text", text="onnx_report.txt")


def row(op_type: str, source: str, target: str, count: int = 1) -> TextRow:
    return TextRow(op_type=op_type, count=count, inputs=(source,), outputs=(target,))


def text_of(*rows: TextRow, left: int = 4, fused: int | None = 89, ratio: float | None = 95.7) -> Analysis:
    text = ReportText(
        not_offloaded=rows,
        offloaded=(row("DynamicDispatch", "[1] - BFLOAT16", "[1] - BFLOAT16"),),
        not_offloaded_sum=left,
        offloaded_sum=1,
        op_types=("SDConv",),
        fused_ops=fused,
        ratio=ratio,
    )
    return analyze_text(text, SOURCE)


def test_the_text_says_what_the_graph_says() -> None:
    text = analyze_text(read_report_text(COMPONENT / "onnx_report.txt"), SOURCE)
    graph = analysis_at(COMPONENT / "replaced.onnx")
    for name in ("dd_nodes", "fused_ops", "not_offloaded", "dd_ratio", "dd_ratio_top_level", "bf16_casts"):
        assert getattr(text.summary, name) == getattr(graph.summary, name), name

    def rows(analysis: Analysis) -> list[tuple[object, ...]]:
        return [(each.op_type, each.count, each.inputs, each.outputs) for each in analysis.not_offloaded]

    assert rows(text) == rows(graph)
    assert text.offloaded == graph.offloaded
    assert text.fusion is not None
    assert graph.fusion is not None
    assert (text.fusion.types, text.fusion.by_type) == (graph.fusion.types, None)
    assert text.casts is not None
    assert (text.casts.to_bf16, text.casts.from_bf16, text.casts.items) == (1, 1, ())


def test_what_a_text_does_not_say() -> None:
    text = text_of()
    assert (text.layout, text.boundaries, text.todo, text.nodes) == (None, None, (), ())
    assert set(text.figures) == set(FIGURES)
    known = {"fused_ops", "not_offloaded", "dd_ratio", "dd_ratio_top_level", "bf16_casts"}
    for name in FIGURES:
        figure = text.figures[name]
        assert (figure.source == "text", getattr(text.summary, name) is not None) == (name in known, name in known)
        assert bool(figure.reason) == (name not in known)
    assert [each.kind for each in text_of(row("Relu", "[1] - FLOAT", "[1] - FLOAT")).not_offloaded] == [None]


def test_the_ratio_is_recomputed() -> None:
    summary = text_of(ratio=96.7).summary
    assert (summary.dd_ratio, summary.dd_ratio_top_level, summary.fused_ops_source) == (95.7, 95.7, "text")


def test_unknown_sums() -> None:
    unknown = text_of(fused=None, ratio=None)
    assert (unknown.summary.fused_ops, unknown.summary.dd_ratio, unknown.summary.fused_ops_source) == (None, None, None)
    assert unknown.figures["dd_ratio"].reason == "a report text does not say"
    nothing = text_of(fused=0, left=0, ratio=None)
    assert (nothing.summary.dd_ratio, nothing.figures["dd_ratio"].reason) == (None, "there is nothing to count")


BF16, F32, F16 = "[1,4] - BFLOAT16", "[1,4] - FLOAT", "[1,4] - FLOAT16"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("CastAvx", F32, BF16, 3), row("Cast", BF16, F16, 2)], (3, 2)),
        ([row("Cast", F32, F16), row("Cast", BF16, BF16), row("Relu", F32, BF16)], (0, 0)),
        ([row("Cast", "[*] - ?", BF16), row("CastAvx", "[2] - DTYPE(99)", F32)], (1, 0)),
        ([row("CastAvx", "[1,512,51… - FLOAT", BF16)], (1, 0)),  # the type is whole
        ([row("CastAvx", F32, "[1,4] - BFLOA…")], None),
        ([row("CastAvx", "[1,4] - FLO…", F32)], None),
        ([row("CastA…", F32, BF16)], None),
        ([row("…", F32, BF16)], None),
        ([row("CastLik…", F32, BF16), row("Conca…", F32, "[1,4] - FLO…")], (0, 0)),  # no cast begins like this
        ([TextRow(op_type="Cast", count=1, inputs=(), outputs=())], (0, 0)),
        ([], (0, 0)),
    ],
)
def test_casts(rows: list[TextRow], expected: tuple[int, int] | None) -> None:
    text = text_of(*rows)
    if expected is None:
        assert (text.casts, text.summary.bf16_casts) == (None, None)
        assert text.figures["bf16_casts"].reason == "a cell of a cast is cut"
    else:
        assert text.casts is not None
        assert (text.casts.to_bf16, text.casts.from_bf16) == expected
        assert text.summary.bf16_casts == sum(expected)


@pytest.mark.parametrize(
    ("name", "casts"), [("t3_report", 2), ("t3_width_120", 2), ("t3_names", 2), ("t3_width_60", 2)]
)
def test_forms_of_the_text(name: str, casts: int | None, tmp_path: Path) -> None:
    write(name, tmp_path)
    summary = analyze_text(read_report_text(tmp_path / "onnx_report.txt"), SOURCE).summary
    assert (summary.dd_nodes, summary.fused_ops, summary.not_offloaded, summary.dd_ratio) == (1, 89, 4, 95.7)
    assert summary.bf16_casts == casts
