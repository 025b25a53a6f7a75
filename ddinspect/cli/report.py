"""`ddinspect report`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ddinspect.cli.output import ColorChoice, say, terminal, write_document

if TYPE_CHECKING:
    from ddinspect.errors import DDInspectError
    from ddinspect.gate.verdict import FailOn
    from ddinspect.report import Document, PackageReport, Report

_EPILOG = """\b
Examples:
  ddinspect report unet/dd/replaced.onnx
  ddinspect report package/ --format json -o report.json
  ddinspect report */dd/onnx_report.txt --fail-under 98
"""


class _Options(NamedTuple):
    """What the command line asks for, beside the paths."""

    meta: tuple[str, ...]
    text: str | None
    component: tuple[str, ...]
    resolution: tuple[str, ...]
    format: str
    output: str | None
    fail_under: float | None
    fail_on: FailOn
    by_name: bool
    todo: bool
    all: bool
    width: int | None
    redact: bool
    quiet: bool
    color: ColorChoice
    no_color: bool


def _number(_: click.Context, option: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):  # which no range excludes
        raise click.BadParameter("not a number", param=option)
    return value


@click.command(epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--meta", multiple=True, metavar="PATH", help="Metadata file or folder to use, not those found.")
@click.option("--text", metavar="FILE", help="onnx_report.txt to compare with, not the one found.")
@click.option("--component", multiple=True, metavar="NAME", help="Only this component of a package.")
@click.option("--resolution", multiple=True, metavar="NAME", help="Only this resolution folder, e.g. 512 or dynamic.")
@click.option(
    "--format",
    type=click.Choice(["console", "text", "json", "markdown", "csv"]),
    default="console",
    show_default=True,
    help="text is AMD's onnx_report.txt.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to a file, whole or not at all.")
@click.option(
    "--fail-under", type=click.FloatRange(0, 100), callback=_number, metavar="PCT", help="Exit 1 if dd_ratio is lower."
)
@click.option(
    "--fail-on",
    type=click.Choice(["never", "info", "warning", "error"]),
    default="never",
    show_default=True,
    help="Exit 1 on a finding at least this severe.",
)
@click.option("--by-name", is_flag=True, help="One row per node (console, text).")
@click.option("--todo", is_flag=True, help="Only the kernel writer's list: compute left on the CPU.")
@click.option("--all", is_flag=True, help="Do not shorten long lists (console, markdown).")
@click.option("--width", type=click.IntRange(min=40), metavar="N", help="Columns. [text: 79; console: the terminal's]")
@click.option("--redact", is_flag=True, help="Replace paths and user names by placeholders.")
@click.option("-q", "--quiet", is_flag=True, help="Only the one-line summary.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--no-color", is_flag=True, help="The same as --color never.")
def report(paths: tuple[str, ...], **options: Any) -> int:
    """Say what of a model runs where.

    PATH is a replaced.onnx, any other .onnx, an onnx_report.txt, a report saved as JSON, the folder of a component or
    a whole package. Side files are found by the rules of AMD's runtime.
    """
    return _run(paths, _Options(**options))


def _run(paths: tuple[str, ...], options: _Options) -> int:
    from ddinspect.artifacts.locate import expand
    from ddinspect.errors import DDInspectError, UsageError
    from ddinspect.gate.verdict import worst
    from ddinspect.render.redact import redact
    from ddinspect.report import Reports

    codes = []
    found: list[str] = []
    for path in paths:
        try:
            found += expand([path])
        except DDInspectError as error:
            if len(paths) == 1:
                raise
            say(f"error: {error}")
            codes.append(error.exit_code)
    if len(found) > 1 and (options.meta or options.text):
        raise UsageError("--meta and --text are about one model; name one PATH")
    single = len(paths) == len(found) == 1
    documents: list[Report | PackageReport] = []
    for path in found:
        document, errors = _read(path, options)
        if single and document is None:
            raise errors[0]
        documents += _parts(document) if document is not None else ()
        for problem in errors:
            say(f"error: {problem}")
            codes.append(problem.exit_code)
    if documents:
        whole: Document = documents[0] if single and len(documents) == 1 else Reports(reports=tuple(documents))
        if options.redact:
            whole = redact(whole)
        write_document(_render(whole, options), options.output)
        parts = _parts(whole)
        codes += [_judge(document, options, by_path=len(parts) > 1) for document in parts]
    return worst(codes)


def _parts(document: Document) -> tuple[Report | PackageReport, ...]:
    from ddinspect.report import Reports

    return document.reports if isinstance(document, Reports) else (document,)


def _read(path: str, options: _Options) -> tuple[Document | None, tuple[DDInspectError, ...]]:
    """What a path stands for, and what of it cannot be read."""
    from ddinspect.artifacts.locate import resolve
    from ddinspect.artifacts.sidefile import read_side_file
    from ddinspect.errors import DDInspectError, UsageError
    from ddinspect.render.json import parse_document
    from ddinspect.report import analyze_target, report_package, select

    try:
        resolved = select(resolve(path), options.component, options.resolution)
        first = resolved.targets[0]
        if resolved.package:
            package, errors = report_package(resolved, meta=options.meta, text=options.text)
            return package if package.components else None, errors
        if first.kind != "model" and (options.meta or options.text):
            raise UsageError(f"{first.path}: --meta and --text are about a model, which this is not")
        if first.kind == "saved":
            return parse_document(read_side_file(first.path), first.path), ()
        return analyze_target(first, meta=options.meta, text=options.text), ()
    except DDInspectError as error:
        return None, (error,)


def _render(document: Document, options: _Options) -> str:
    from ddinspect.render.formats import RenderOptions, render

    choice: ColorChoice = "never" if options.no_color else options.color
    shown_on = terminal(choice, to_file=options.output is not None)
    # AMD's layout has a width of its own, whatever the terminal's.
    width = options.width or (shown_on.width if options.format == "console" else None)
    return render(
        document,
        options.format,
        RenderOptions(
            width=width,
            color=shown_on.color,
            unicode=shown_on.unicode,
            by_name=options.by_name,
            todo=options.todo,
            limit=None if options.all else RenderOptions().limit,
            quiet=options.quiet,
        ),
    )


def _judge(document: Report | PackageReport, options: _Options, *, by_path: bool) -> int:
    from ddinspect.gate.verdict import verdict

    found = verdict(document, fail_under=options.fail_under, fail_on=options.fail_on, by_path=by_path)
    for reason in found.reasons:
        say(reason)
    return found.code
