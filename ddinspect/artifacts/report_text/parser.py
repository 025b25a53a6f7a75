"""Read a report text.

What the printing loses, and how it is read here:

* A long cell is wrapped at blanks. Its parts are joined with one blank: a run of blanks, a no-break space or a line
  break inside a name comes back as one blank.
* A word wider than its column ends in `…`. It stays as it is, `ReportText.cut` lists it.
* AMD prints model strings as markup, which swallows a bracket that starts with a lower-case letter, `#`, `/` or `@`. A
  tensor with a symbolic first dim comes out as ` - FLOAT`. It is read as `[…] - FLOAT`: the shape is lost. A bracket
  swallowed inside a name leaves no trace.
* Without counts a row begins where the op type is not blank, with counts where the count is not blank.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from ddinspect.artifacts.report_text.decoding import decode_text, looks_like_report_text
from ddinspect.artifacts.report_text.tables import Line, TextTable, find_tables, join_words, same_words
from ddinspect.artifacts.report_text.values import (
    COMPARISON,
    CUT,
    FUSED_SUM,
    LABELS,
    NOT_OFFLOADED_SUM,
    OFFLOADED_SUM,
    OP_TYPES,
    RATIO,
    TITLES,
    UNKNOWN,
    ComparisonSums,
    ReportText,
    TextRow,
)
from ddinspect.artifacts.sidefile import read_side_file
from ddinspect.errors import UnreadableInputError
from ddinspect.onnxfile.dtypes import NAMES

_PRINT_AGAIN: Final = "print the report again (`onnx_utils report dd_offload`)"
_PRINT_WIDER: Final = "print the report again with the environment variable COLUMNS=200"
_COUNT: Final = re.compile("[0-9]{1,18}")
_PERCENT: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]+)?)%")
# As ONNX names it, as AMD or this package prints an unknown one, or what is left of either.
_DTYPE: Final = re.compile(
    "|".join([*map(re.escape, sorted(NAMES.values())), r"N/A", r"\?", r"DTYPE\([0-9]+\)", f"[A-Z0-9(/]*{CUT}"])
)


class _Footer(NamedTuple):
    """What stands beside one label: lines of the own value, and of the comparison model's if there is one."""

    own: tuple[str, ...]
    compared: tuple[str, ...] | None


def read_report_text(path: str | os.PathLike[str]) -> ReportText:
    """Read a report text from disk, in any encoding of `decode_text`; see `parse_report_text`.

    Raises:
        UnreadableInputError: as `parse_report_text`, or as `read_side_file` where the file cannot be read.
    """
    return parse_report_text(decode_text(read_side_file(path)), os.fspath(path))


def parse_report_text(text: str, path: str) -> ReportText:
    """Read what `onnx_utils report dd_offload` printed, at any width, in any of rich's boxes that have an edge.

    Lines before, between and after the tables are passed over. The module says what the printing loses.

    Args:
        text: The text, decoded.
        path: What the user named, for messages.

    Raises:
        UnreadableInputError: it is no report, holds more than one, is incomplete, or a number in it is cut.
    """
    tables = find_tables(text)
    if not tables and not looks_like_report_text(text):
        raise UnreadableInputError(
            path,
            "not an onnx_report.txt: no table with the columns Op Type, Count (or Name), Inputs, Outputs",
            "name the text that `onnx_utils report dd_offload` printed",
        )
    if len(tables) > len(TITLES):
        raise UnreadableInputError(path, f"more than one report: {len(tables)} tables", "put each report in its file")
    left, offloaded = _whole_tables(tables, path)
    if left.by_name != offloaded.by_name:
        raise UnreadableInputError(path, "one table has counts and the other has names", _PRINT_AGAIN)
    footers = {**_footers(left), **_footers(offloaded)}
    own = {label: footer.own for label, footer in footers.items()}
    return ReportText(
        by_name=left.by_name,
        not_offloaded=_rows(left, path),
        offloaded=_rows(offloaded, path),
        not_offloaded_sum=_count(own[NOT_OFFLOADED_SUM], NOT_OFFLOADED_SUM, path),
        offloaded_sum=_count(own[OFFLOADED_SUM], OFFLOADED_SUM, path),
        op_types=_op_types(own[OP_TYPES]),
        fused_ops=_known_count(own[FUSED_SUM], FUSED_SUM, path),
        ratio=_percent(own[RATIO], path),
        comparison=_comparison(footers, path),
    )


def _whole_tables(tables: Sequence[TextTable], path: str) -> tuple[TextTable, TextTable]:
    """The table of nodes left and the table of DD nodes, told apart by their sums, with nothing missing from either."""
    found = []
    missing = []
    for title, labels in zip(TITLES, (LABELS[:1], LABELS[1:]), strict=True):
        table = next((table for table in tables if labels[0] in _footers(table)), None)
        footers = _footers(table) if table else {}
        missing += [f"`{label}`" for label in labels if label not in footers]
        if table:
            found.append(table)
            if not table.closed:
                missing.append(f"the line that closes `{title}`")
    if missing:
        raise UnreadableInputError(path, f"incomplete report: missing {', '.join(missing)}", _PRINT_AGAIN)
    left, offloaded = found
    if left is offloaded:
        raise UnreadableInputError(path, "one table holds the sums of both", _PRINT_AGAIN)
    return left, offloaded


def _label(lines: Iterable[Line]) -> str | None:
    text = join_words(line[0] for line in lines)
    return next((label for label in LABELS if same_words(text, label)), None)


def _split(section: Sequence[Line], column: int) -> list[tuple[Line, ...]]:
    """The rows of a section. A row begins with its first line and where the column is not blank."""
    starts = [i for i, line in enumerate(section) if i == 0 or line[column]]
    return [tuple(section[start:end]) for start, end in pairwise([*starts, len(section)])]


def _footer_rows(section: Sequence[Line]) -> list[tuple[Line, ...]]:
    # The list of op types takes a line each; every other value is one number.
    return [tuple(section)] if _label(section) == OP_TYPES else _split(section, 1)


def _footers(table: TextTable) -> dict[str, _Footer]:
    found = {}
    for section in table.sections:
        for row in _footer_rows(section):
            label = _label(row)
            if label is not None:
                compared = same_words(join_words(line[2] for line in row), COMPARISON)
                found[label] = _Footer(
                    own=tuple(line[1] for line in row if line[1]),
                    compared=tuple(line[3] for line in row if line[3]) if compared else None,
                )
    return found


def _rows(table: TextTable, path: str) -> tuple[TextRow, ...]:
    """Rows of nodes: the first section, unless there are none and it holds a sum."""
    section = table.sections[0]
    if _label(_footer_rows(section)[0]) is not None:
        return ()
    rows = []
    for lines in _split(section, 0 if table.by_name else 1):
        second = [line[1] for line in lines]
        rows.append(
            TextRow(
                op_type=join_words(line[0] for line in lines),
                count=1 if table.by_name else _count(second, "Count", path),
                name=join_words(second) if table.by_name else None,
                inputs=_tensors(line[2] for line in lines),
                outputs=_tensors(line[3] for line in lines),
            )
        )
    return tuple(rows)


def _tensors(lines: Iterable[str]) -> tuple[str, ...]:
    """Signatures in a cell, each joined from the lines it was wrapped to."""
    tensors: list[list[str]] = []
    for line in lines:
        if not line:
            continue
        if not tensors or line.startswith("[") or _is_whole(tensors[-1]):
            tensors.append([line])
        else:
            tensors[-1].append(line)
    return tuple(
        f"[{CUT}] {tensor}" if tensor.startswith("- ") else tensor
        for tensor in (join_words(tensor) for tensor in tensors)
    )


def _is_whole(tensor: Sequence[str]) -> bool:
    """Whether the lines of a tensor end with its type: `[1,4] - FLOAT`, or `- FLOAT` if the bracket was swallowed."""
    # The end of the shape, the dash and the type stand in the last three lines at most.
    shape, _, dtype = f" {join_words(tensor[-3:])}".rpartition(" - ")
    return _DTYPE.fullmatch(dtype) is not None and (not shape or shape.endswith(("]", CUT)))


def _count(lines: Sequence[str], label: str, path: str) -> int:
    text = join_words(lines)
    if _COUNT.fullmatch(text) is None:
        raise _no_number(text, label, path)
    return int(text)


def _known_count(lines: Sequence[str], label: str, path: str) -> int | None:
    return None if join_words(lines) == UNKNOWN else _count(lines, label, path)


def _percent(lines: Sequence[str], path: str) -> float | None:
    text = join_words(lines)
    if text == UNKNOWN:
        return None
    match = _PERCENT.fullmatch(text)
    if match is None:
        raise _no_number(text, RATIO, path)
    return float(match.group(1))


def _no_number(text: str, label: str, path: str) -> UnreadableInputError:
    return UnreadableInputError(
        path, f"`{label}` is `{text}`, not a number", _PRINT_WIDER if CUT in text else _PRINT_AGAIN
    )


def _op_types(lines: tuple[str, ...]) -> tuple[str, ...] | None:
    return None if lines == (UNKNOWN,) else tuple(sorted(lines))


def _comparison(footers: Mapping[str, _Footer], path: str) -> ComparisonSums | None:
    compared = {label: footer.compared for label, footer in footers.items() if footer.compared is not None}
    if not compared:
        return None

    def count(label: str) -> int | None:
        return _known_count(compared[label], label, path) if label in compared else None

    return ComparisonSums(
        not_offloaded_sum=count(NOT_OFFLOADED_SUM),
        offloaded_sum=count(OFFLOADED_SUM),
        op_types=_op_types(compared[OP_TYPES]) if OP_TYPES in compared else None,
        fused_ops=count(FUSED_SUM),
        ratio=_percent(compared[RATIO], path) if RATIO in compared else None,
    )
