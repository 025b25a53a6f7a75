"""All sections of a report, in the order a reader needs them: what costs them first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ddinspect.printable import printable
from ddinspect.render.fusion_sections import fusion_sections
from ddinspect.render.headline import figures_section, source_section
from ddinspect.render.left_sections import compute_section, gap_sections, kind_sections, op_types_section
from ddinspect.render.quantities import counted, percent, plain, whole
from ddinspect.render.section import Column, Section, View
from ddinspect.render.traffic_sections import border_sections, cast_sections, layout_sections
from ddinspect.rules.finding import SEVERITIES

if TYPE_CHECKING:
    from ddinspect.report import PackageReport, Report
    from ddinspect.rules.finding import Finding

# What a section without a table is printed for: its sentence.
_STATEMENTS: Final = frozenset({"nothing_offloaded"})


def report_sections(report: Report, view: View) -> tuple[Section, ...]:
    """What there is to show of one report. Sections without a row are left out."""
    top = [source_section(report, view), figures_section(report)]
    if report.summary.dd_nodes == 0:
        body = [_nothing_offloaded(report), op_types_section(report)]
    else:
        body = [
            compute_section(report, view),
            *kind_sections(report, view),
            *gap_sections(report, view),
            *cast_sections(report),
            *layout_sections(report, view),
            *border_sections(report, view),
            *fusion_sections(report),
        ]
    sections = [*top, *body, findings_section(report.findings)]
    return tuple(section for section in sections if section.rows or section.key in _STATEMENTS)


def findings_section(findings: tuple[Finding, ...]) -> Section:
    """Findings, worst first."""
    ordered = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    counts = [(severity, sum(each.severity == severity for each in findings)) for severity in SEVERITIES]
    found = ", ".join(f"{count} info" if name == "info" else counted(count, name) for name, count in counts if count)
    return Section(
        key="findings",
        title=f"Findings: {found}",
        columns=(
            Column("Severity"),
            Column("Rule"),
            Column("Message", moves=1, prose=True),
            Column("Node", moves=1),
            Column("Fix", moves=1, prose=True),
        ),
        rows=tuple(
            (
                each.severity,
                printable(each.rule),
                printable(each.message),
                printable(each.node or ""),
                printable(each.fix),
            )
            for each in ordered
        ),
        important=True,
    ).used()


def overview_section(package: PackageReport) -> Section:
    """The components of a package, one row each."""
    return Section(
        key="overview",
        title=f"Package: {counted(len(package.components), 'component')}",
        columns=(
            Column("Component"),
            *(Column(title, number=True) for title in ("dd_ratio", "Fused", "Left", "Compute")),
            *(Column(title, number=True, moves=1) for title in ("Regions", "Crossings")),
        ),
        rows=tuple(_overview_row(component, report) for component, report in package.components.items()),
        important=True,
    )


def _overview_row(component: str, report: Report) -> tuple[str, ...]:
    summary = report.summary
    return (
        printable(component),
        percent(summary.dd_ratio) if summary.dd_nodes else "no DD node",
        whole(summary.fused_ops),
        whole(summary.not_offloaded),
        whole(summary.compute_left),
        plain(summary.regions),
        plain(summary.crossings),
    )


def _nothing_offloaded(report: Report) -> Section:
    if report.source.kind == "text":
        advice = "Run `ddinspect plan MODEL.onnx` on the original graph to see what could be offloaded."
    else:
        advice = f"Run `ddinspect plan {printable(report.source.path)}` to see what could be offloaded."
    return Section(
        key="nothing_offloaded",
        title="Nothing is offloaded",
        meaning=f"This graph has no DD node (op type DynamicDispatch...): all of it runs on the CPU. {advice}",
        important=True,
    )
