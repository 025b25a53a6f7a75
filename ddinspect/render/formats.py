"""Every output format by name. A new format is one entry in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from ddinspect.errors import UsageError
from ddinspect.printable import printable
from ddinspect.render.console import render_console, render_todo_console
from ddinspect.render.csv import render_csv
from ddinspect.render.json import render_json
from ddinspect.render.markdown import render_markdown, render_todo_markdown
from ddinspect.render.summary_line import summary_lines
from ddinspect.render.text import render_text
from ddinspect.report import Document, PackageReport, Report

AMD_WIDTH: Final = 79  # what published files have


class RenderOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to print a document.

    Attributes:
        width: Columns; None where nothing limits them.
        color: Whether to use colour.
        unicode: Whether the output can show line-drawing characters.
        by_name: One row per node.
        todo: Only the kernel writer's list.
        limit: Rows per table at most; None for all.
        quiet: Only the one-line summary.
    """

    width: int | None = None
    color: bool = False
    unicode: bool = True
    by_name: bool = False
    todo: bool = False
    limit: int | None = 20
    quiet: bool = False


def render(document: Document, format_name: str, options: RenderOptions) -> str:
    """Print a document in one of the `FORMATS`.

    Raises:
        UsageError: the format cannot do what the options ask for.
    """
    for option in ("by_name", "quiet", "todo", "width"):
        if getattr(options, option) and format_name not in _HONOURED_BY[option]:
            formats = " or ".join(_HONOURED_BY[option])
            raise UsageError(f"--{option.replace('_', '-')} is for --format {formats}, not for {format_name}")
    return FORMATS[format_name](document, options)


def _console(document: Document, options: RenderOptions) -> str:
    if options.quiet:
        return "".join(f"{line}\n" for line in summary_lines(document))
    if options.todo:
        return render_todo_console(
            document, width=options.width, color=options.color, unicode=options.unicode, limit=options.limit
        )
    return render_console(
        document,
        width=options.width,
        color=options.color,
        unicode=options.unicode,
        limit=options.limit,
        by_name=options.by_name,
    )


def _json(document: Document, options: RenderOptions) -> str:
    del options  # a JSON report is always whole
    return render_json(document)


def _markdown(document: Document, options: RenderOptions) -> str:
    return (render_todo_markdown if options.todo else render_markdown)(document, options.limit)


def _csv(document: Document, options: RenderOptions) -> str:
    return render_csv(document, "todo" if options.todo else "nodes")


def _text(document: Document, options: RenderOptions) -> str:
    width = AMD_WIDTH if options.width is None else options.width
    if isinstance(document, Report):
        return render_text(document, width, options.by_name)
    if isinstance(document, PackageReport):
        parts = (
            f"{printable(name)}\n{render_text(report, width, options.by_name)}"
            for name, report in document.components.items()
        )
        return "\n".join(parts)
    return "\n".join(_text(report, options) for report in document.reports)


FORMATS: Final[dict[str, Callable[[Document, RenderOptions], str]]] = {
    "console": _console,
    "text": _text,
    "json": _json,
    "markdown": _markdown,
    "csv": _csv,
}

# Options that change what is printed, and the formats that can do so.
_HONOURED_BY: Final = {
    "by_name": ("console", "text"),
    "quiet": ("console",),
    "todo": ("console", "markdown", "csv"),
    "width": ("console", "text"),
}
