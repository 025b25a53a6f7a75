"""A table as lines of text, in columns that fit a given width.

Names of nodes are long, and a name cut short or broken in a ten-character column helps nobody. So a table that is too
wide gives its long columns lines of their own below the row before it breaks any cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.text import Text

    from ddinspect.render.section import Column

Row = tuple[str, ...]

INDENT: Final = 2
_GAP: Final = 2
_NARROWEST: Final = 6
_BELOW: Final = 4  # indent of what stands below its row
# Stands for the width of a prose column while columns are chosen: enough to read by.
_PROSE: Final = 30
_STYLES: Final = {"error": "bold red", "warning": "yellow", "info": "cyan", "n/a": "dim"}


def table_lines(columns: Sequence[Column], rows: Sequence[Row], width: int | None, unicode: bool) -> Iterator[Text]:
    """The table line by line, each at most `width` cells wide, as wide as its content where that is None."""
    from rich.text import Text

    natural = _natural_widths(columns, rows)
    inside, below = _placed(columns, natural, width)
    widths = [natural[i] for i in inside]
    if width is not None:
        widths = _shrunk(widths, [columns[i].prose for i in inside], width - INDENT)
    numbers = [columns[i].number for i in inside]
    titles = [columns[i].title for i in inside]
    if any(titles):
        yield from _row(titles, widths, numbers, "bold")
        yield Text(" " * INDENT + (" " * _GAP).join(("─" if unicode else "-") * each for each in widths), style="dim")
    for row in rows:
        yield from _row([row[i] for i in inside], widths, numbers)
        yield from _lines_below([(columns[i].title, row[i]) for i in below if row[i]], width)


def wrapped(cell: str, width: int | None) -> list[str]:
    """The lines of a cell, each broken where it is wider than `width`."""
    return [part for line in cell.split("\n") for part in _folded(line, width)]


def _folded(line: str, width: int | None) -> Iterator[str]:
    """Break between words; a word that is too long, such as the path of a node, behind one of its slashes."""
    from rich.cells import cell_len

    while width is not None and len(line) > 1 and cell_len(line) > width:
        fits = _fitting(line, width)
        space, slash = line.rfind(" ", 1, fits + 1), line.rfind("/", fits // 2, fits)
        if space > 0 and line[:space].strip():
            yield line[:space].rstrip()
            line = line[space + 1 :]
        else:
            end = slash + 1 if slash > 0 else fits
            yield line[:end]
            line = line[end:]
    yield line


def _fitting(line: str, width: int) -> int:
    """How many characters fit; one at least, so that folding comes to an end."""
    from rich.cells import cell_len

    used = 0
    for i, character in enumerate(line):
        used += cell_len(character)
        if used > width:
            return max(1, i)
    return len(line)


def _natural_widths(columns: Sequence[Column], rows: Sequence[Row]) -> list[int]:
    from rich.cells import cell_len

    return [
        max([cell_len(column.title), *(cell_len(line) for row in rows for line in row[i].split("\n"))])
        for i, column in enumerate(columns)
    ]


def _placed(columns: Sequence[Column], natural: Sequence[int], width: int | None) -> tuple[list[int], list[int]]:
    """Indices of the columns that stay in the table and of those that go below the rows."""
    inside = list(range(len(columns)))
    if width is None:
        return inside, []
    squeezable = [column.prose and not column.moves for column in columns]
    needed = [min(each, _PROSE) if squeezed else each for each, squeezed in zip(natural, squeezable, strict=True)]
    for number in sorted({column.moves for column in columns} - {0}):
        if _total([needed[i] for i in inside]) <= width - INDENT:
            break
        inside = [i for i in inside if columns[i].moves != number]
    return inside, [i for i in range(len(columns)) if i not in inside]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _shrunk(widths: Sequence[int], prose: Sequence[bool], available: int) -> list[int]:
    """Take what is too much from prose columns first, then from whichever column is widest."""
    result = [min(width, available) for width in widths]
    while _total(result) > available:
        sentences = [i for i, width in enumerate(result) if prose[i] and width > _PROSE // 2]
        others = [i for i, width in enumerate(result) if width > _NARROWEST]
        if not (candidates := sentences or others):
            break
        result[max(candidates, key=result.__getitem__)] -= 1
    return result


def _row(cells: Sequence[str], widths: Sequence[int], numbers: Sequence[bool], style: str = "") -> Iterator[Text]:
    from rich.cells import cell_len
    from rich.text import Text

    folded = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for parts in zip_longest(*folded, fillvalue=""):
        line = Text(" " * INDENT, style=style)
        for i, (part, width, number) in enumerate(zip(parts, widths, numbers, strict=True)):
            space = " " * (width - cell_len(part))
            line.append(" " * _GAP * bool(i) + (space if number else ""))
            line.append(part, style=_STYLES.get(part, ""))
            line.append("" if number else space)
        line.rstrip()
        yield line


def _lines_below(cells: Sequence[tuple[str, str]], width: int | None) -> Iterator[Text]:
    from rich.text import Text

    label_width = max((len(title) for title, _ in cells), default=0) + _GAP
    start = _BELOW + label_width
    for title, cell in cells:
        for i, line in enumerate(wrapped(cell, None if width is None else max(_NARROWEST, width - start))):
            text = Text(" " * _BELOW + (title.lower() if i == 0 else "").ljust(label_width), style="dim")
            text.append(line, style="not dim")
            text.rstrip()
            yield text
