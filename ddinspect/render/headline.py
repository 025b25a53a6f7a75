"""The top of a report: where it comes from, and its figures with one line each on what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ddinspect.printable import printable
from ddinspect.render.quantities import NOT_AVAILABLE, counted, macs, percent, size, whole
from ddinspect.render.section import Column, Section, View, lines, names

if TYPE_CHECKING:
    from ddinspect.report import Report

_KINDS: Final = {
    "replaced": "replaced graph (has DD nodes)",
    "original": "original graph (no DD node)",
    "text": "text report (no graph)",
}


def source_section(report: Report, view: View) -> Section:
    """Which files the report was made from."""
    source = report.source
    rows = [
        ("kind", _KINDS[source.kind]),
        ("original", lines([source.original]) if source.original else ""),
        ("metadata", names(source.meta, view)),
        ("text report", lines([source.text]) if source.text else ""),
        *(("note", printable(note)) for note in source.notes),
    ]
    return Section(
        key="source",
        title=printable(source.path),
        columns=(Column(""), Column("")),
        rows=tuple(row for row in rows if row[1]),
        important=True,
    )


def figures_section(report: Report) -> Section:
    """The figures of the summary, each with its source and meaning, or the reason why there is none."""
    rows = [
        (label, value, *_source_and_meaning(report, figure, value, meaning))
        for label, figure, value, meaning in [*_offload(report), *_coverage(report), *_traffic(report)]
    ]
    return Section(
        key="figures",
        title="Figures",
        columns=(Column("Figure"), Column("Value", number=True), Column("Source"), Column("Meaning", prose=True)),
        rows=tuple(rows),
        important=True,
    ).used()


_Row = tuple[str, str, str, str]  # label, name of the figure, value, meaning


def _offload(report: Report) -> list[_Row]:
    summary, kinds = report.summary, report.summary.not_offloaded_by_kind
    rows: list[_Row] = [
        ("dd_ratio", "dd_ratio", percent(summary.dd_ratio), "fused / (fused + left): AMD's formula"),
        ("fused", "fused_ops", whole(summary.fused_ops), f"fused ops inside {counted(summary.dd_nodes, 'DD node')}"),
        ("left", "not_offloaded", whole(summary.not_offloaded), "nodes left on the CPU"),
    ]
    if summary.dd_ratio_top_level != summary.dd_ratio:
        ratio = percent(summary.dd_ratio_top_level)
        rows.insert(1, ("dd_ratio_top_level", "dd_ratio_top_level", ratio, "dd_ratio without bodies and functions"))
    if kinds is None:
        return [*rows, ("  by kind", "not_offloaded_by_kind", NOT_AVAILABLE, "boundary, shape or compute")]
    return [
        *rows,
        ("  boundary", "", whole(kinds.boundary), "casts and layout changes at the NPU's border"),
        ("  shape", "", whole(kinds.shape), "depend on no input value, so cost little"),
        ("  compute", "", whole(kinds.compute), "real work on the CPU: fix these first"),
        ("  compute MACs", "compute_left_macs", macs(summary.compute_left_macs), "multiply-accumulates of these"),
    ]


def _coverage(report: Report) -> list[_Row]:
    summary = report.summary
    return [
        ("mac_coverage", "mac_coverage", percent(summary.mac_coverage), "multiply-accumulates done on the NPU"),
        ("source_coverage", "source_coverage", percent(summary.source_coverage), "nodes of the original offloaded"),
        ("weight_coverage", "weight_coverage", percent(summary.weight_coverage), "parameter bytes offloaded"),
    ]


def _traffic(report: Report) -> list[_Row]:
    summary, casts, layout = report.summary, report.casts, report.layout
    cast_ways = f"{whole(casts.to_bf16)} to, {whole(casts.from_bf16)} from BFLOAT16" if casts else "to or from BFLOAT16"
    layout_ways = f": {whole(layout.to_nhwc)} to NHWC, {whole(layout.to_nchw)} to NCHW" if layout else ""
    return [
        ("regions", "regions", whole(summary.regions), "groups of DD nodes; fewer is better"),
        ("crossings", "crossings", whole(summary.crossings), "tensors that enter or leave the NPU"),
        ("crossing_bytes", "crossing_bytes", size(summary.crossing_bytes), "bytes they move per inference"),
        ("bf16_casts", "bf16_casts", whole(summary.bf16_casts), f"casts: {cast_ways}"),
        ("layout", "layout_conversions", whole(summary.layout_conversions), f"NCHW/NHWC changes{layout_ways}"),
    ]


def _source_and_meaning(report: Report, name: str, value: str, meaning: str) -> tuple[str, str]:
    figure = report.figures.get(name)
    if value != NOT_AVAILABLE:
        return (printable(figure.source or "") if figure else "", meaning)
    reason = figure.reason if figure else None
    return ("", f"{meaning}; not known: {printable(reason)}" if reason else meaning)
