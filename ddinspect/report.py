"""Report: an analysis and what the rules say about it. The one value that renderers print."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from ddinspect.analysis.analyze import analyze_split, split_model
from ddinspect.analysis.from_text import analyze_text
from ddinspect.analysis.values import Analysis, Source
from ddinspect.artifacts.join import join
from ddinspect.artifacts.locate import Resolved, Target, find_metadata, find_report_text, resolve
from ddinspect.artifacts.report_text import ReportText, read_report_text
from ddinspect.errors import DDInspectError, UnreadableInputError, UsageError
from ddinspect.onnxfile.calls import all_nodes
from ddinspect.onnxfile.dispatch import is_dispatch
from ddinspect.onnxfile.model import Model
from ddinspect.onnxfile.reader import read_model
from ddinspect.rules.finding import Finding
from ddinspect.rules.registry import check, check_text
from ddinspect.rules.rule import Context

REPORT_SCHEMA: Final = "ddinspect.report/1"
PACKAGE_SCHEMA: Final = "ddinspect.package/1"
REPORTS_SCHEMA: Final = "ddinspect.reports/1"

PathLike: TypeAlias = str | os.PathLike[str]


class Report(Analysis, frozen=True, kw_only=True, tag_field="schema", tag=REPORT_SCHEMA):
    """One model. Its JSON form is public."""

    findings: tuple[Finding, ...] = ()


class PackageReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=PACKAGE_SCHEMA):
    """Every model of a package folder, keyed by path inside it (`unet`, or `unet/512/dd` where there are several)."""

    components: dict[str, Report]


class Reports(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=REPORTS_SCHEMA):
    """What one call with several paths printed."""

    reports: tuple[Report | PackageReport, ...]


Document: TypeAlias = Report | PackageReport | Reports


def analyze(path: PathLike, *, meta: PathLike | Sequence[PathLike] = (), text: PathLike | None = None) -> Report:
    """Read a model, or a report text, and say what runs where.

    Args:
        path: A replaced or original .onnx file, an onnx_report.txt, or the folder of a component (`unet/`,
            `unet/dd/`).
        meta: Metadata file or folder, or several, to use instead of those found beside the model.
        text: The report text to compare with instead of the one found beside the model.

    Raises:
        UnreadableInputError: nothing readable is there. The message says what, where, and what to do.
        UsageError: the path stands for several models.
    """
    given = (meta,) if isinstance(meta, str | os.PathLike) else meta
    resolved = resolve(path)
    if resolved.package and len(resolved.targets) > 1:
        keys = ", ".join(target.component or target.path for target in resolved.targets)
        raise UsageError(f"{os.fspath(path)}: holds several models ({keys}); name one, or use analyze_package")
    return analyze_target(resolved.targets[0], meta=given, text=text)


def analyze_package(path: PathLike) -> PackageReport:
    """Read every model of a package folder, or of a component with several resolutions.

    Raises:
        UnreadableInputError: as `analyze`, for any of the models.
    """
    report, errors = report_package(resolve(path))
    if errors:
        raise errors[0]
    return report


def report_package(
    resolved: Resolved, *, meta: Sequence[PathLike] = (), text: PathLike | None = None
) -> tuple[PackageReport, tuple[DDInspectError, ...]]:
    """Read every target of a folder. Returns those that can be read, and what is wrong with the others.

    Raises:
        UsageError: `meta` or `text`, which are about one model, are given for several.
    """
    if len(resolved.targets) > 1 and (meta or text is not None):
        raise UsageError(f"metadata and text are about one model, not {len(resolved.targets)}; pick a component")
    reports: dict[str, Report] = {}
    errors: list[DDInspectError] = []
    for target in resolved.targets:
        try:
            reports[target.component or target.path] = analyze_target(target, meta=meta, text=text)
        except DDInspectError as error:
            errors.append(error)
    return PackageReport(components=reports), tuple(errors)


def select(resolved: Resolved, components: Sequence[str] = (), resolutions: Sequence[str] = ()) -> Resolved:
    """The targets of some components and resolutions of a package; no names mean all.

    A component is named by its key or by whole parts of it: `unet` picks `unet/512/dd`, and `normal/unet` too.

    Raises:
        UsageError: nothing is left; the message lists what there is.
    """
    if not components and not resolutions:
        return resolved
    picked = tuple(
        target
        for target in resolved.targets
        if (not components or any(f"/{name.strip('/')}/" in f"/{target.component or ''}/" for name in components))
        and (not resolutions or target.resolution in resolutions)
    )
    if not picked:
        keys = ", ".join(sorted({target.component or target.path for target in resolved.targets}))
        raise UsageError(f"nothing here is called {', '.join((*components, *resolutions))}; there is: {keys}")
    return msgspec.structs.replace(resolved, targets=picked)


def analyze_target(target: Target, *, meta: Sequence[PathLike] = (), text: PathLike | None = None) -> Report:
    """Read one model or report text.

    Raises:
        UnreadableInputError: it cannot be read, or is a saved report, which is no input for an analysis.
    """
    if target.kind == "saved":
        raise UnreadableInputError(target.path, "a saved report, not a model", "name the model it was made from")
    if target.kind == "text":
        return _report_text(target.path)
    return _report_model(target.path, meta=meta, text=text)


def _report_text(path: str) -> Report:
    text = read_report_text(path)
    source = Source(path=path, kind="text", text=path)
    return _report(analyze_text(text, source), check_text(text))


def _report_model(path: str, *, meta: Sequence[PathLike], text: PathLike | None) -> Report:
    model = read_model(path)
    names = _dispatch_names(model)
    found = find_metadata(path, meta)
    joined = join(names, found.metadata) if names else None
    metadata = joined.by_name if joined is not None else {}
    text_path = find_report_text(path) if text is None else os.fspath(text)
    parsed, notes = _read_text_beside(text_path, required=text is not None)
    split = split_model(model, metadata)
    source = Source(
        path=path,
        kind="replaced" if names else "original",
        meta=tuple(sorted({entry.path for entry in metadata.values()})),
        text=text_path if parsed is not None else None,
        notes=(*found.notes, *notes),
    )
    analysis = analyze_split(split, metadata, source)
    context = Context(
        split=split,
        analysis=analysis,
        metadata=metadata,
        metadata_given=bool(meta),
        unused_metadata=joined.unused if joined is not None else (),
        shadowed_metadata=joined.shadowed if joined is not None else (),
        text=parsed,
        folder=Path(path).parent,
    )
    return _report(analysis, check(context))


def _dispatch_names(model: Model) -> tuple[str, ...]:
    """Names of the DD nodes of a model, those in bodies and functions included, each once."""
    nodes = [*model.graph.nodes, *(node for function in model.functions.values() for node in function.nodes)]
    return tuple(dict.fromkeys(node.name for node in all_nodes(nodes) if is_dispatch(node)))


def _read_text_beside(path: str | None, *, required: bool) -> tuple[ReportText | None, tuple[str, ...]]:
    """The report text beside a model; one that was found rather than asked for may be unreadable."""
    if path is None:
        return None, ()
    try:
        return read_report_text(path), ()
    except UnreadableInputError as error:
        if required:
            raise
        return None, (str(error),)


def _report(analysis: Analysis, findings: tuple[Finding, ...]) -> Report:
    fields = {name: getattr(analysis, name) for name in Analysis.__struct_fields__}
    return Report(**fields, findings=findings)
