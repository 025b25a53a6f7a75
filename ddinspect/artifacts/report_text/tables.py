"""Find the two tables in a text, whatever box they are drawn with and whatever stands around them.

A table is drawn by rich: a rule, headings, a rule, then sections of lines with a rule after each. The rule under the
headings gives the columns. A cell may take several lines; the other cells of the row are blank there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from ddinspect.artifacts.report_text.values import COLUMNS, COLUMNS_BY_NAME, CUT

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_LINE_END: Final = re.compile(r"\r*\n|\r")
_HORIZONTALS: Final = "-=─━═"
_VERTICALS: Final = "|│┃║"
# Every other box-drawing character (U+2500 to U+257F), `+` and `|` can stand where lines meet.
_JUNCTION: Final = f"(?![{_HORIZONTALS}])[+|\u2500-\u257f]"
_RULE: Final = re.compile(rf"\s*{_JUNCTION}[{_HORIZONTALS}]+(?:{_JUNCTION}[{_HORIZONTALS}]+)*{_JUNCTION}\s*")

Line: TypeAlias = tuple[str, str, str, str]  # one printed line, cut into its four cells


class TextTable(NamedTuple):
    """One table as printed.

    Attributes:
        sections: Lines between rules, below the headings.
        closed: Its last line is a rule.
    """

    by_name: bool
    sections: tuple[tuple[Line, ...], ...]
    closed: bool


def find_tables(text: str) -> tuple[TextTable, ...]:
    """All tables with the headings of a report, in the order they stand; nothing else in the text matters."""
    lines = _LINE_END.split(_COLOUR.sub("", text))
    tables = []
    index = 0
    while index < len(lines):
        columns = _rule(lines[index])
        by_name = _kind(_headings(lines, index, columns)) if len(columns) == len(COLUMNS) + 1 else None
        index += 1
        if by_name is not None:
            sections, index = _sections(lines, index, columns)
            tables.append(TextTable(by_name, sections, closed=_rule(lines[index - 1]) != ()))
    return tuple(tables)


def _kind(headings: Line) -> bool | None:
    """Whether these are the headings of a table of nodes by name or (False) by count; None if of something else."""
    for by_name, expected in ((False, COLUMNS), (True, COLUMNS_BY_NAME)):
        if all(same_words(text, heading) for text, heading in zip(headings, expected, strict=True)):
            return by_name
    return None


def join_words(parts: Iterable[str]) -> str:
    """The parts of a wrapped text in one line. Which kind of blank stood at the break is not known."""
    return " ".join(part for part in parts if part)


def same_words(text: str, label: str) -> bool:
    """Whether a text is the label, or what is left of it after words were cut."""
    words, expected = text.split(), label.split()
    return len(words) == len(expected) and all(
        word == whole or (word.endswith(CUT) and whole.startswith(word[:-1]))
        for word, whole in zip(words, expected, strict=True)
    )


def _rule(line: str) -> tuple[int, ...]:
    """Positions where a rule crosses other lines; none if the line is no rule."""
    if _RULE.fullmatch(line) is None:
        return ()
    return tuple(i for i, character in enumerate(line) if character not in _HORIZONTALS and not character.isspace())


def _headings(lines: Sequence[str], rule: int, columns: tuple[int, ...]) -> Line:
    """What stands directly above a rule, as one line."""
    parts: list[Line] = []
    for index in range(rule - 1, -1, -1):
        cells = _cells(lines[index], columns)
        if cells is None:
            break
        parts.append(cells)
    parts.reverse()
    first, second, third, fourth = (join_words(part[i] for part in parts) for i in range(len(COLUMNS)))
    return first, second, third, fourth


def _sections(lines: Sequence[str], start: int, columns: tuple[int, ...]) -> tuple[tuple[tuple[Line, ...], ...], int]:
    """From `start`, the lines between rules up to the first line of something else, and the index of that."""
    sections: list[tuple[Line, ...]] = []
    current: list[Line] = []
    index = start
    while index < len(lines):
        cells = _cells(lines[index], columns)
        if cells is not None:
            current.append(cells)
        else:
            crossed = _rule(lines[index])
            # Two rules in a row: the second opens the next table.
            if not current or (crossed[:1], crossed[-1:]) != (columns[:1], columns[-1:]):
                break
            sections.append(tuple(current))
            current = []
        index += 1
    if current:
        sections.append(tuple(current))
    return tuple(sections), index


def _cells(line: str, columns: tuple[int, ...]) -> Line | None:
    """The four cells of a printed line, or None if it has no bars where the columns are."""
    from rich.cells import cell_len

    bars = [i for i, character in enumerate(line) if character in _VERTICALS]
    if not bars or line[: bars[0]].strip() or line[bars[-1] + 1 :].strip():
        return None
    # A rule counts screen cells. A name may hold bars, and characters two cells wide.
    index_at = {cell_len(line[:i]): i for i in bars}
    edges = [index_at[column] for column in columns if column in index_at]
    if len(edges) != len(columns):
        # Writer and reader may disagree on the width of a rare character.
        edges = bars
    if len(edges) != len(columns) or edges[-1] != bars[-1]:
        return None
    first, second, third, fourth = (line[start + 1 : end].strip(" ") for start, end in pairwise(edges))
    return first, second, third, fourth
