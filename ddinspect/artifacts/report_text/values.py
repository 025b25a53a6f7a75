"""What a report text says, as frozen values."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

CUT: Final = "…"
"""Stands where text was lost. AMD's printer (rich) ends a word with it that is wider than its column."""

TITLES: Final = ("DynamicDispatch Offload - not offloaded", "DynamicDispatch Offload - offloaded")
COLUMNS: Final = ("Op Type", "Count", "Inputs", "Outputs")
COLUMNS_BY_NAME: Final = ("Op Type", "Name", "Inputs", "Outputs")
NOT_OFFLOADED_SUM: Final = "Not offloaded sum"
OFFLOADED_SUM: Final = "Offloaded sum"
OP_TYPES: Final = "Offloaded Op Types"
FUSED_SUM: Final = "Offloaded sum (dd fusion)"
RATIO: Final = "Offload Ratio (dd fusion)"
LABELS: Final = (NOT_OFFLOADED_SUM, OFFLOADED_SUM, OP_TYPES, FUSED_SUM, RATIO)
COMPARISON: Final = "In comparison model:"
UNKNOWN: Final = "n/a"
HALF_A_DIGIT: Final = 0.005 + 1e-9
"""Half of the last digit of a printed ratio, and a little for the binary form of decimal fractions."""

TableName: TypeAlias = Literal["not offloaded", "offloaded"]


class TextRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a table.

    Attributes:
        count: Nodes it stands for; 1 in the form that lists nodes by name.
        name: Name of the node, possibly empty; None in the summarised form.
        inputs: Signatures such as `[1,64,64,4] - FLOAT`, one per tensor.
        outputs: The same.
    """

    op_type: str
    count: int
    name: str | None = None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class ComparisonSums(msgspec.Struct, frozen=True, kw_only=True):
    """What the text says about the model it compares with; None where it says nothing."""

    not_offloaded_sum: int | None = None
    offloaded_sum: int | None = None
    op_types: tuple[str, ...] | None = None
    fused_ops: int | None = None
    ratio: float | None = None


class CutCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell with text missing from it.

    Attributes:
        row: Index of the row in its table; None for the list of op types below the second table.
        column: Heading of the column, or `Offloaded Op Types`.
        text: What is left, with `…` where text is missing.
    """

    table: TableName
    row: int | None
    column: str
    text: str


class ReportText(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a report text says. Figures are those printed; nothing is recomputed.

    Attributes:
        by_name: One row per node, with its name; otherwise one row per type and signature, with a count.
        not_offloaded: Rows of the first table.
        offloaded: Rows of the second table: the DD nodes.
        op_types: Types of the fused ops, sorted: AMD prints them in arbitrary order. None if printed as `n/a`.
        fused_ops: `Offloaded sum (dd fusion)`; None if printed as `n/a`.
        ratio: `Offload Ratio (dd fusion)` in percent; None if printed as `n/a`.
        comparison: Figures of the model it was compared with, if there was one.
    """

    by_name: bool = False
    not_offloaded: tuple[TextRow, ...]
    offloaded: tuple[TextRow, ...]
    not_offloaded_sum: int
    offloaded_sum: int
    op_types: tuple[str, ...] | None
    fused_ops: int | None
    ratio: float | None
    comparison: ComparisonSums | None = None

    @property
    def cut(self) -> tuple[CutCell, ...]:
        """Cells that have lost text.

        A cell has if there is a `…` in it. A model name that holds one of its own cannot be told from a cut one and is
        listed too.
        """
        return (
            *_cut_in_table("not offloaded", self.not_offloaded),
            *_cut_in_table("offloaded", self.offloaded),
            *(
                CutCell(table="offloaded", row=None, column=OP_TYPES, text=op_type)
                for op_type in self.op_types or ()
                if CUT in op_type
            ),
        )


def _cut_in_table(table: TableName, rows: tuple[TextRow, ...]) -> list[CutCell]:
    found = []
    for index, row in enumerate(rows):
        cells = {
            "Op Type": row.op_type,
            "Name": row.name or "",
            "Inputs": "\n".join(row.inputs),
            "Outputs": "\n".join(row.outputs),
        }
        found += [
            CutCell(table=table, row=index, column=column, text=text) for column, text in cells.items() if CUT in text
        ]
    return found
