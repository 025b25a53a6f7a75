"""Section: one heading and one table of a report, before it has a format.

Model strings in cells have gone through `printable`; what else a format must escape (`|` in Markdown) is its own
task. A line break in a cell is therefore always ours: it starts the next item of a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ddinspect.printable import printable
from ddinspect.rules.wording import more


class View(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a report to show.

    Attributes:
        limit: Rows of a table at most; None for all.
        names: Node names in one cell at most; None for all.
        by_name: One row per node in place of one per type and signature.
    """

    limit: int | None = 20
    names: int | None = 3
    by_name: bool = False


class Column(msgspec.Struct, frozen=True):
    """A column of a table.

    Attributes:
        number: Aligned to the right.
        moves: Where a table is too wide for its place, columns go to lines of their own below the row: first those
            with 1, then those with 2, all of one number together; 0 stays.
        prose: Sentences, which may be broken between words in a narrow column.
    """

    title: str
    number: bool = False
    moves: int = 0
    prose: bool = False


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A heading, a sentence on what it means, and a table.

    Attributes:
        key: Stable name, for a format to place or style it by.
        important: Shown first where a format hides the rest.
    """

    key: str
    title: str
    meaning: str = ""
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    important: bool = False

    def used(self) -> Section:
        """The section without the columns that are empty in every row."""
        keep = [i for i in range(len(self.columns)) if any(row[i] for row in self.rows)]
        return msgspec.structs.replace(
            self,
            columns=tuple(self.columns[i] for i in keep),
            rows=tuple(tuple(row[i] for i in keep) for row in self.rows),
        )

    def shown(self, limit: int | None) -> tuple[Sequence[tuple[str, ...]], int]:
        """The rows to show and how many more there are."""
        return (self.rows, 0) if limit is None else (self.rows[:limit], max(0, len(self.rows) - limit))


def lines(texts: Iterable[str]) -> str:
    """Model strings, one below the other."""
    return "\n".join(printable(text) for text in texts)


def names(nodes: Sequence[str], view: View) -> str:
    """Node names, one below the other, cut to what the view allows."""
    shown = nodes if view.names is None else nodes[: view.names]
    hidden = len(nodes) - len(shown)
    return lines(shown) + (f"\n... {more(hidden)}" if hidden else "")


def times(count: int) -> str:
    """How often per inference; empty for the usual once."""
    return "" if count == 1 else str(count)
