from __future__ import annotations

from itertools import islice

import pytest
from rich.cells import cell_len

from ddinspect.render.columns import _folded, table_lines, wrapped
from ddinspect.render.section import Column

NAME = "/down_blocks.0/attentions.0/to_q/MatMul"
COLUMNS = (Column("Count", number=True), Column("Type"), Column("Inputs", moves=2), Column("Nodes", moves=1))
ROWS = [("12", "MatMul", "[2,4096,320] - FLOAT\n[320,320] - FLOAT", NAME), ("3", "Sin", "[1] - FLOAT", "/Sin")]


def table(width: int | None, columns: tuple[Column, ...] = COLUMNS, rows: list[tuple[str, ...]] = ROWS) -> list[str]:
    return [line.plain for line in table_lines(columns, rows, width, unicode=False)]


def test_everything_on_one_line_where_it_fits() -> None:
    assert table(None) == table(80) == [
        "  Count  Type    Inputs                Nodes",
        "  -----  ------  --------------------  ---------------------------------------",
        "     12  MatMul  [2,4096,320] - FLOAT  /down_blocks.0/attentions.0/to_q/MatMul",
        "                 [320,320] - FLOAT",
        "      3  Sin     [1] - FLOAT           /Sin",
    ]  # fmt: skip


def test_names_go_below_first() -> None:
    assert table(70) == [
        "  Count  Type    Inputs",
        "  -----  ------  --------------------",
        "     12  MatMul  [2,4096,320] - FLOAT",
        "                 [320,320] - FLOAT",
        "    nodes  /down_blocks.0/attentions.0/to_q/MatMul",
        "      3  Sin     [1] - FLOAT",
        "    nodes  /Sin",
    ]


def test_then_signatures_and_then_names_are_folded() -> None:
    assert table(36) == [
        "  Count  Type",
        "  -----  ------",
        "     12  MatMul",
        "    inputs  [2,4096,320] - FLOAT",
        "            [320,320] - FLOAT",
        "    nodes   /down_blocks.0/",
        "            attentions.0/to_q/MatMul",
        "      3  Sin",
        "    inputs  [1] - FLOAT",
        "    nodes   /Sin",
    ]


def test_sentences_give_way_before_other_columns() -> None:
    columns = (Column("Figure"), Column("Meaning", prose=True))
    assert table(40, columns, [("layout_conversions", "tensors that enter or leave the NPU")])[2:] == [
        "  layout_conversions  tensors that enter",
        "                      or leave the NPU",
    ]


@pytest.mark.parametrize(
    ("cell", "lines"),
    [
        ("short", ["short"]),
        ("two words", ["two words"]),
        ("three short words", ["three", "short", "words"]),
        ("/a/bcdefgh/ijk", ["/a/bcdefgh", "/ijk"]),
        ("/abcdefg/hijklmn", ["/abcdefg/", "hijklmn"]),
        ("abcdefghijklmno", ["abcdefghij", "klmno"]),
        ("漢字漢字漢字", ["漢字漢字漢", "字"]),
        ("first\nsecond", ["first", "second"]),
        ("", [""]),
    ],
)
def test_wrapped_at_ten(cell: str, lines: list[str]) -> None:
    assert wrapped(cell, 10) == lines


def test_a_character_wider_than_its_column_has_a_line_of_its_own() -> None:
    # Taken one by one: a folding that does not come to an end would fill the memory.
    assert list(islice(_folded("漢字", 1), 4)) == ["漢", "字"]


def test_no_character_of_a_name_is_lost() -> None:
    name = "/" + "/".join(f"block.{i}" for i in range(50)) + "x" * 300
    for width in (1, 7, 40, 79):
        lines = wrapped(name, width)
        assert "".join(lines) == name
        assert all(cell_len(line) <= width for line in lines)


def test_markup_and_brackets_are_text() -> None:
    assert table(None, (Column("A"),), [("[bold]x[/bold]",)])[2] == "  [bold]x[/bold]"
