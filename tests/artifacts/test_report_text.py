"""The variants in which a report text reaches us: every one says the same, or says what it lacks."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich import box
from rich.console import Console
from rich.table import Table

from ddinspect.artifacts.report_text import (
    ComparisonSums,
    ReportText,
    TextRow,
    looks_like_report_text,
    parse_report_text,
    read_report_text,
    write_report_text,
)
from ddinspect.errors import UnreadableInputError

# The one published report text: huggingface.co/amd/stable-diffusion-1.5-amdnpu, vae_decoder/dd/onnx_report.txt.
FIXTURE = Path(__file__).parents[2] / "fixtures/sd15-vae-decoder/dd/onnx_report.txt"

Cells = tuple[str, ...]


def row(op_type: str, inputs: str, outputs: str, count: int = 1, name: str | None = None) -> TextRow:
    return TextRow(
        op_type=op_type, count=count, name=name, inputs=tuple(inputs.split("\n")), outputs=tuple(outputs.split("\n"))
    )


# Read off the fixture by eye.
VAE = ReportText(
    not_offloaded=(
        row("CastAvx", "[1,64,64,4] - FLOAT", "[1,64,64,4] - BFLOAT16"),
        row("CastAvx", "[1,512,512,3] - BFLOAT16", "[1,512,512,3] - FLOAT"),
        row("Transpose", "[1,4,64,64] - FLOAT", "[1,64,64,4] - FLOAT"),
        row("Transpose", "[1,512,512,3] - FLOAT", "[1,3,512,512] - FLOAT"),
    ),
    offloaded=(row("DynamicDispatch", "[1,64,64,4] - BFLOAT16", "[1,512,512,3] - BFLOAT16"),),
    not_offloaded_sum=4,
    offloaded_sum=1,
    op_types=("SDAdd", "SDConv", "SDGemm", "SDGroupNorm", "SDMHA_VAE", "SDResize"),
    fused_ops=89,
    ratio=95.7,
)


def printed(
    left: list[Cells],
    offloaded: list[Cells],
    footers: list[Cells],
    *,
    second: str = "Count",
    width: int = 79,
    style: box.Box = box.ASCII_DOUBLE_HEAD,
) -> str:
    """What AMD's tool prints: rich tables whose cells are markup. The first footer is that of the first table."""
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    for title, rows, sums in (("not offloaded", left, footers[:1]), ("offloaded", offloaded, footers[1:])):
        table = Table(
            "Op Type",
            second,
            "Inputs",
            "Outputs",
            title=f"DynamicDispatch Offload - {title}",
            box=style,
            safe_box=False,
        )
        for cells in rows:
            table.add_row(*cells)
        table.add_section()
        for index, cells in enumerate(sums):
            table.add_row(*cells)
            if index < 2:
                table.add_section()
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def cells(row: TextRow) -> Cells:
    return row.op_type, str(row.count), "\n".join(row.inputs), "\n".join(row.outputs)


FOOTERS: list[Cells] = [
    ("Not offloaded sum", "4"),
    ("Offloaded sum", "1"),
    ("Offloaded Op Types", "SDConv\nSDAdd\nSDResize\nSDGemm\nSDMHA_VAE\nSDGroupNorm"),
    ("Offloaded sum (dd fusion)", "89"),
    ("Offload Ratio (dd fusion)", "95.7%"),
]


def vae(width: int = 79, style: box.Box = box.ASCII_DOUBLE_HEAD) -> str:
    return printed(
        [cells(row) for row in VAE.not_offloaded],
        [cells(row) for row in VAE.offloaded],
        FOOTERS,
        width=width,
        style=style,
    )


def test_the_published_file() -> None:
    assert read_report_text(FIXTURE) == VAE


def test_the_emulation_is_the_published_file() -> None:
    assert vae() == FIXTURE.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [79, 80, 120])
def test_widths(width: int) -> None:
    assert parse_report_text(vae(width), "r.txt") == VAE


def test_a_narrow_report_has_the_same_figures_and_its_cut_cells_marked() -> None:
    report = parse_report_text(vae(60), "r.txt")
    assert (report.not_offloaded_sum, report.offloaded_sum, report.fused_ops, report.ratio) == (4, 1, 89, 95.7)
    assert report.not_offloaded == VAE.not_offloaded
    # The texts stand in a column of 12 characters.
    assert [(cell.table, cell.row, cell.column, cell.text) for cell in report.cut] == [
        ("offloaded", 0, "Op Type", "DynamicDisp…"),
        ("offloaded", 0, "Outputs", "[1,512,512,… - BFLOAT16"),
    ]


UNICODE = [
    box.SQUARE, box.SQUARE_DOUBLE_HEAD, box.ROUNDED, box.HEAVY, box.HEAVY_EDGE, box.HEAVY_HEAD, box.DOUBLE,
    box.DOUBLE_EDGE,
]  # fmt: skip


@pytest.mark.parametrize("style", [box.ASCII, box.ASCII2, *UNICODE])
def test_boxes(style: box.Box) -> None:
    assert parse_report_text(vae(style=style), "r.txt") == VAE


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r\r\n"])
@pytest.mark.parametrize("width", [79, 60])
def test_encodings_and_line_ends(tmp_path: Path, encoding: str, newline: str, width: int) -> None:
    path = tmp_path / "onnx_report.txt"
    data = vae(width).replace("\n", newline).encode(encoding)
    path.write_bytes(data)
    assert read_report_text(path) == parse_report_text(vae(width), "r.txt")
    assert looks_like_report_text(data)


def test_utf_16_with_a_big_endian_mark_and_a_unicode_box(tmp_path: Path) -> None:
    path = tmp_path / "onnx_report.txt"
    path.write_bytes(b"\xfe\xff" + vae(style=box.DOUBLE).encode("utf-16-be"))
    assert read_report_text(path) == VAE


def test_lines_around_the_tables() -> None:
    first, title, second = vae().partition("                      DynamicDispatch Offload - offloaded")
    banner = "+------+\n| Hi ! |\n+------+\n" + "━" * 500 + " 8 MB\n==== REPORTING ====\n"
    log = f"{banner}{first}[W] | odd | line |\n{title}{second}==== DONE ====\n+++"
    assert parse_report_text(log, "r.txt") == VAE


def test_colours_and_indentation() -> None:
    text = "".join(f"    \x1b[3m{line}\x1b[0m\n" for line in vae().splitlines())
    assert parse_report_text(text, "r.txt") == VAE


def test_tables_without_titles_between_them() -> None:
    text = "\n".join(line for line in vae().splitlines() if "DynamicDispatch Offload" not in line)
    assert parse_report_text(text, "r.txt") == VAE
    assert looks_like_report_text(text)


def test_rows_by_name() -> None:
    text = printed(
        [
            ("Relu", "sum of the residual branch and the skip branch of block 0", "[1,4] - FLOAT", "[1,4] - FLOAT"),
            ("Relu", "", "[1,4] - FLOAT", "[1,4] - FLOAT"),
        ],
        [("DynamicDispatch", "dd", "[1,4] - FLOAT\n[] - N/A", "[1,4] - FLOAT")],
        [("Not offloaded sum", "2"), *FOOTERS[1:]],
        second="Name",
    )
    report = parse_report_text(text, "r.txt")
    assert report.by_name
    assert report.not_offloaded == (
        row(
            "Relu",
            "[1,4] - FLOAT",
            "[1,4] - FLOAT",
            name="sum of the residual branch and the skip branch of block 0",
        ),
        row("Relu", "[1,4] - FLOAT", "[1,4] - FLOAT", name=""),
    )
    assert report.offloaded == (row("DynamicDispatch", "[1,4] - FLOAT\n[] - N/A", "[1,4] - FLOAT", name="dd"),)
    assert report.cut == ()


def test_a_name_too_long_for_its_column_is_marked_as_cut() -> None:
    name = "/down_blocks.0/attentions.0/transformer_blocks.0/attn1/to_q/MatMul"
    tensor = "[2,4096,320] - BFLOAT16"
    text = printed([("MatMul", name, tensor, tensor)], [], FOOTERS, second="Name", width=79)
    (cell,) = parse_report_text(text, "r.txt").cut
    assert cell.column == "Name"
    assert name.startswith(cell.text[:-1])
    assert cell.text.endswith("…")
    assert cell.text != name


def test_names_with_bars_and_wide_characters() -> None:
    name = "畳み込み|a|b"
    text = printed([("Relu", name, "[1] - FLOAT", "[1] - FLOAT")], [], FOOTERS, second="Name")
    assert parse_report_text(text, "r.txt").not_offloaded[0].name == name


def test_a_line_whose_writer_counted_a_character_as_wider() -> None:
    text = printed([("Relu", "x畳y", "[1] - FLOAT", "[1] - FLOAT")], [], FOOTERS, second="Name")
    assert parse_report_text(text.replace("畳", "a"), "r.txt").not_offloaded[0].name == "xay"


def test_a_line_with_more_behind_the_last_column_is_none_of_the_table() -> None:
    lines = vae().splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("| Transpose"))
    lines[row] += " more |"
    with pytest.raises(UnreadableInputError, match="incomplete report: missing `Not offloaded sum`"):
        parse_report_text("\n".join(lines), "r.txt")


def test_a_type_that_is_not_known_yet() -> None:
    future = row("Add", "[1] - FLOAT9\n[2] - FLOAT", "[1] - FLOAT9")
    assert parse_report_text(printed([cells(future)], [], FOOTERS), "r.txt").not_offloaded == (future,)


COMPARED = "In comparison model:"


def test_comparison_columns_in_the_last_two_rows() -> None:
    footers = [*FOOTERS[:3], (*FOOTERS[3], COMPARED, "1742"), (*FOOTERS[4], COMPARED, "98.81%")]
    report = parse_report_text(printed([cells(r) for r in VAE.not_offloaded], [], footers), "r.txt")
    assert report.comparison == ComparisonSums(fused_ops=1742, ratio=98.81)
    assert (report.fused_ops, report.ratio) == (89, 95.7)


@pytest.mark.parametrize("width", [60, 79, 120])
def test_comparison_columns_in_every_footer(width: int) -> None:
    theirs = ["21", "3", "SDMHA\n" * 8 + "SDSilu", "1742", "98.81%"]
    footers = [(*own, COMPARED, value) for own, value in zip(FOOTERS, theirs, strict=True)]
    report = parse_report_text(printed([], [cells(VAE.offloaded[0])], footers, width=width), "r.txt")
    assert report.comparison == ComparisonSums(
        not_offloaded_sum=21,
        offloaded_sum=3,
        op_types=("SDMHA",) * 8 + ("SDSilu",),
        fused_ops=1742,
        ratio=98.81,
    )
    assert (report.op_types, report.fused_ops, report.ratio) == (VAE.op_types, 89, 95.7)


def test_several_tensors_beside_wrapped_types() -> None:
    conv = row(
        "NhwcConv", "[1,512,512,128] - BFLOAT16\n[512,3,3,128] - FLOAT\n[] - N/A", "[1,512,512,512] - BFLOAT16", count=2
    )
    add = row("Add", "[1] - BFLOAT16\n[1,512,512,1024] - BFLOAT16", "[1] - BFLOAT16\n[1] - ?\n[1] - DTYPE(99)")
    text = printed([cells(conv), cells(add)], [], FOOTERS)
    assert "| [1,512,512,128] -" in text  # it does wrap here
    assert parse_report_text(text, "r.txt").not_offloaded == (conv, add)


@pytest.mark.parametrize("width", [60, 79])
def test_a_symbolic_dim_with_blanks_is_one_tensor(width: int) -> None:
    dims = row("Resize", "[2,floor(h - BATCH + 1) - 8,4] - FLOAT\n[2,4] - INT64", "[2,h - W] - FLOAT")
    assert parse_report_text(printed([cells(dims)], [], FOOTERS, width=width), "r.txt").not_offloaded == (dims,)


@pytest.mark.parametrize("width", [60, 79])
def test_a_symbolic_first_dim_loses_its_bracket_in_print(width: int) -> None:
    both = "[batch,77,768] - BFLOAT16\n[2,77,1024,1024] - BFLOAT16\n[seq] - FLOAT\n[Batch,4] - FLOAT"
    text = printed([("Add", "1", both, "[batch] - BFLOAT16")], [], FOOTERS, width=width)
    assert "batch" not in text
    (only,) = parse_report_text(text, "r.txt").not_offloaded
    assert [tensor.split(" - ")[1] for tensor in only.inputs] == ["BFLOAT16", "BFLOAT16", "FLOAT", "FLOAT"]
    assert (only.inputs[0], only.inputs[2:]) == ("[…] - BFLOAT16", ("[…] - FLOAT", "[Batch,4] - FLOAT"))
    assert only.outputs == ("[…] - BFLOAT16",)


def test_no_rows_and_no_op_types() -> None:
    footers: list[Cells] = [
        ("Not offloaded sum", "0"),
        ("Offloaded sum", "0"),
        ("Offloaded Op Types", ""),
        ("Offloaded sum (dd fusion)", "0"),
        ("Offload Ratio (dd fusion)", "0.0%"),
    ]
    report = parse_report_text(printed([], [], footers), "r.txt")
    assert (report.not_offloaded, report.offloaded, report.op_types, report.ratio) == ((), (), (), 0.0)


def test_labels_cut_at_very_small_widths() -> None:
    report = parse_report_text(printed([], [("DynamicDispatch", "1", "", "")], FOOTERS, width=34), "r.txt")
    assert (report.not_offloaded_sum, report.offloaded_sum, report.fused_ops, report.ratio) == (4, 1, 89, 95.7)


def incomplete(text: str) -> str:
    with pytest.raises(UnreadableInputError, match="incomplete report") as caught:
        parse_report_text(text, "r.txt")
    return str(caught.value)


def test_cut_after_the_op_types() -> None:
    head, _, _ = vae().partition("| Offloaded sum (dd")
    message = incomplete(head)
    assert message.startswith(
        "r.txt: incomplete report: missing `Offloaded sum (dd fusion)`, `Offload Ratio (dd fusion)`;"
    )
    assert "Offloaded Op Types" not in message


def test_cut_before_the_last_line() -> None:
    lines = vae().splitlines()
    assert "the line that closes `DynamicDispatch Offload - offloaded`" in incomplete("\n".join(lines[:-1]))
    assert "`Offload Ratio (dd fusion)`" in incomplete("\n".join(lines[:-2]))


def test_a_report_cut_anywhere_is_incomplete() -> None:
    text = vae()
    assert text.endswith("+\n")
    for end in range(text.index("Offload -") + len("Offload -"), len(text) - 2, 7):
        incomplete(text[:end])


def test_the_second_table_alone() -> None:
    _, _, second = vae().partition("Not offloaded sum")
    message = incomplete(second)
    assert "missing `Not offloaded sum`;" in message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not an onnx_report.txt"),
        ("| Op | Count |\n+----+----+\n", "not an onnx_report.txt"),
        (vae() + vae(), "more than one report"),
        (vae().replace("| 89  ", "| 8x  "), r"`Offloaded sum \(dd fusion\)` is `8x`"),
        (vae().replace("95.7%", "95.7 "), "`95.7`, not a number"),
        (vae(28), "COLUMNS=200"),
    ],
)
def test_what_is_no_report_is_refused(text: str, problem: str) -> None:
    with pytest.raises(UnreadableInputError, match=problem):
        parse_report_text(text, "r.txt")


def test_tables_that_do_not_belong_together_are_refused() -> None:
    first, title, second = vae().partition("                      DynamicDispatch Offload - offloaded")
    with pytest.raises(UnreadableInputError, match="one table has counts and the other has names"):
        parse_report_text(first + title + second.replace("Count", "Name "), "r.txt")
    both = printed([], [], [*FOOTERS, FOOTERS[0]])
    with pytest.raises(UnreadableInputError, match="one table holds the sums of both"):
        parse_report_text(both[both.index("DynamicDispatch Offload - offloaded") :], "r.txt")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="no such file"):
        read_report_text(tmp_path / "none.txt")


@pytest.mark.parametrize("head", ["", "Op Type, Count", b"\x08\x07\x12\x07pytorch", b"\0" * 64, "DynamicDispatch"])
def test_what_does_not_look_like_a_report(head: bytes | str) -> None:
    assert not looks_like_report_text(head)


def test_a_wrapped_title_looks_like_a_report() -> None:
    assert looks_like_report_text(vae(28))
    assert looks_like_report_text(write_report_text(VAE).encode())
