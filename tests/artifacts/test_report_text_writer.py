from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddinspect.artifacts.report_text import (
    ComparisonSums,
    ReportText,
    TextRow,
    parse_report_text,
    read_report_text,
    write_report_text,
)
from ddinspect.printable import printable

FIXTURE = Path(__file__).parents[2] / "fixtures/sd15-vae-decoder/dd/onnx_report.txt"
OP_TYPES = ("SDAdd", "SDConv", "SDGemm", "SDGroupNorm", "SDMHA_VAE", "SDResize")


def test_the_published_file_byte_for_byte_but_for_the_order_of_op_types() -> None:
    lines = FIXTURE.read_bytes().decode().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if "Offloaded Op Types" in line)
    for index, op_type in enumerate(OP_TYPES):
        label = "" if index else "Offloaded Op Types"
        lines[first + index] = f"| {label:18} | {op_type:11} |                    |                     |\n"
    assert write_report_text(read_report_text(FIXTURE)) == "".join(lines)


RELU = TextRow(op_type="Relu", count=1, name="r", inputs=("[1] - FLOAT",), outputs=("[1] - FLOAT",))
REPORT = ReportText(
    by_name=True,
    not_offloaded=(RELU,),
    offloaded=(),
    not_offloaded_sum=1,
    offloaded_sum=0,
    op_types=None,
    fused_ops=None,
    ratio=None,
)


def test_unknown_figures_print_as_such() -> None:
    text = write_report_text(REPORT, 100)
    assert "| Offloaded Op Types        | n/a  |" in text
    assert "| Offload Ratio (dd fusion) | n/a  |" in text
    assert parse_report_text(text, "r.txt") == REPORT


@pytest.mark.parametrize(
    "name",
    ["[batch]/Relu", "[bold]x[/bold]", "[/x]", ":smile:", "a\\[b]", "\x1b[31mred\nnext\tline", "\u202eabc", "x\ud800"],
)
def test_model_strings_are_shown_not_interpreted(name: str) -> None:
    relu = msgspec.structs.replace(RELU, name=name, inputs=("[batch,77] - FLOAT",))
    text = write_report_text(msgspec.structs.replace(REPORT, not_offloaded=(relu,)), 200)
    assert "\x1b" not in text
    (row,) = parse_report_text(text, "r.txt").not_offloaded
    assert (row.name, row.inputs) == (printable(name), ("[batch,77] - FLOAT",))


def test_the_terminal_of_the_writer_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = write_report_text(REPORT, 60)
    for name, value in {"COLUMNS": "20", "FORCE_COLOR": "1", "TERM": "dumb", "TTY_INTERACTIVE": "1"}.items():
        monkeypatch.setenv(name, value)
    assert write_report_text(REPORT, 60) == expected


def test_a_name_that_holds_the_cut_mark_itself_counts_as_cut() -> None:
    relu = msgspec.structs.replace(RELU, name="a…b")
    report = parse_report_text(write_report_text(msgspec.structs.replace(REPORT, not_offloaded=(relu,))), "r.txt")
    assert [cell.text for cell in report.cut] == ["a…b"]


# Blanks single and inside, as a wrapped text gives back no others.
WORD = st.text("abcXYZ019_/.|-+=[]#畳é🙂\\\x1b\n\u202e", min_size=1, max_size=30)
NAME = st.lists(WORD, max_size=4).map(" ".join)
OP_TYPE = st.from_regex("[A-Z][A-Za-z0-9_]{0,24}", fullmatch=True)
DIM = st.one_of(
    st.integers(0, 10**6).map(str), st.sampled_from(["", "?", "batch", "floor(h/8 - 1/8) + 1", "s0 - BATCH", "2*w"])
)
DTYPE = st.sampled_from(["FLOAT", "BFLOAT16", "INT64", "FLOAT8E4M3FNUZ", "?", "DTYPE(99)"])
TENSOR = st.one_of(st.just("[] - N/A"), st.builds("[{}] - {}".format, st.lists(DIM, max_size=6).map(",".join), DTYPE))
TENSORS = st.lists(TENSOR, max_size=3).map(tuple)
SUM = st.integers(0, 10**6)
PERCENT = st.integers(0, 10**4).map(lambda hundredths: hundredths / 100)
TYPES = st.lists(OP_TYPE, max_size=4).map(lambda types: tuple(sorted(types)))
COMPARISON = st.builds(
    ComparisonSums, not_offloaded_sum=SUM, offloaded_sum=SUM, op_types=TYPES, fused_ops=SUM, ratio=PERCENT
)


@st.composite
def reports(draw: st.DrawFn) -> ReportText:
    by_name = draw(st.booleans())
    rows = st.lists(
        st.builds(
            TextRow,
            op_type=OP_TYPE,
            count=st.just(1) if by_name else st.integers(1, 10**6),
            name=NAME if by_name else st.none(),
            inputs=TENSORS,
            outputs=TENSORS,
        ),
        max_size=3,
    ).map(tuple)
    return ReportText(
        by_name=by_name,
        not_offloaded=draw(rows),
        offloaded=draw(rows),
        not_offloaded_sum=draw(SUM),
        offloaded_sum=draw(SUM),
        op_types=draw(TYPES),
        fused_ops=draw(st.none() | SUM),
        ratio=draw(st.none() | PERCENT),
        comparison=draw(st.none() | COMPARISON),
    )


def as_shown(report: ReportText) -> ReportText:
    """The report with every name as `printable` shows it."""
    left, offloaded = (
        tuple(msgspec.structs.replace(row, name=None if row.name is None else printable(row.name)) for row in rows)
        for rows in (report.not_offloaded, report.offloaded)
    )
    return msgspec.structs.replace(report, not_offloaded=left, offloaded=offloaded)


def is_cut_form(text: str, whole: str) -> bool:
    """Whether `text` is `whole` with the ends of some words replaced by `…`."""
    # A character two cells wide that is cut in half is a blank.
    pattern = re.escape(text).replace("\\ …", "…").replace("…", r" ?\S*")
    return re.fullmatch(pattern, whole) is not None


def shown_cells(report: ReportText) -> dict[tuple[str, int | None, str], str]:
    cells: dict[tuple[str, int | None, str], str] = {}
    for table, rows in (("not offloaded", report.not_offloaded), ("offloaded", report.offloaded)):
        for index, row in enumerate(rows):
            cells[table, index, "Op Type"] = row.op_type
            cells[table, index, "Name"] = row.name or ""
            cells[table, index, "Inputs"] = "\n".join(row.inputs)
            cells[table, index, "Outputs"] = "\n".join(row.outputs)
    return cells


@settings(max_examples=80, deadline=None)
@given(reports(), st.integers(60, 200))
def test_every_width_says_the_same(report: ReportText, width: int) -> None:
    expected = as_shown(report)
    found = parse_report_text(write_report_text(report, width), "r.txt")
    for figure in ("not_offloaded_sum", "offloaded_sum", "fused_ops", "ratio"):
        assert getattr(found, figure) == getattr(expected, figure)
    assert [row.count for row in found.not_offloaded] == [row.count for row in expected.not_offloaded]
    lost = {(cell.table, cell.row, cell.column) for cell in found.cut}
    whole, read = shown_cells(expected), shown_cells(found)
    assert read.keys() == whole.keys()
    for place, text in read.items():
        if place in lost:
            assert is_cut_form(text, whole[place])
        else:
            assert text == whole[place]
    if not any(cell.row is None for cell in found.cut):
        assert found.op_types == expected.op_types


@settings(max_examples=30, deadline=None)
@given(reports())
def test_a_wide_report_reads_back_whole(report: ReportText) -> None:
    assert parse_report_text(write_report_text(report, 2000), "r.txt") == as_shown(report)
