"""Whether a report passes: `--fail-under` and `--fail-on`."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from ddinspect.report import PackageReport, Report
from ddinspect.rules.finding import SEVERITIES

# Worst first: unreadable, failed, nothing to gate, fine.
_WORST_FIRST: Final = (2, 1, 3, 0)
FailOn: TypeAlias = Literal["never", "info", "warning", "error"]

FINE: Final = 0
FAILED: Final = 1
NOTHING_TO_GATE: Final = 3
_BLAMED: Final = 5  # nodes named in a message


class Verdict(msgspec.Struct, frozen=True):
    """An exit code, and what to say about it: one line per gate that failed or could not be applied."""

    code: int
    reasons: tuple[str, ...] = ()


def worst(codes: list[int]) -> int:
    """The exit code of several reports together."""
    return min(codes, key=_WORST_FIRST.index, default=FINE)


def verdict(
    document: Report | PackageReport, *, fail_under: float | None, fail_on: FailOn, by_path: bool = False
) -> Verdict:
    """Judge a report.

    The gate compares the printed two-decimal figure; one that is n/a fails. Components of a package without a DD node
    are not gated; a model or a package that has none at all cannot be (3).

    Args:
        document: What to judge.
        fail_under: Bound of `dd_ratio` in percent; None for no gate.
        fail_on: Least severity that fails.
        by_path: Whether the reasons name a model by its path, as they must where there are several documents.
    """
    if isinstance(document, Report):
        return _judge(document, f"{document.source.path}: " if by_path else "", fail_under, fail_on)
    names = {key: report.source.path if by_path else key for key, report in document.components.items()}
    untouched = [key for key, report in document.components.items() if report.summary.dd_nodes == 0]
    parts = [
        _judge(report, f"{names[key]}: ", None if key in untouched else fail_under, fail_on)
        for key, report in document.components.items()
    ]
    reasons = tuple(reason for part in parts for reason in part.reasons)
    if any(part.code == FAILED for part in parts):
        return Verdict(FAILED, reasons)
    if fail_under is None or not untouched:
        return Verdict(FINE)
    if len(untouched) == len(parts):
        return Verdict(NOTHING_TO_GATE, ("no component has a DynamicDispatch node: there is nothing to gate",))
    return Verdict(FINE, tuple(f"{names[key]}: no DynamicDispatch node, not gated" for key in untouched))


def _judge(report: Report, prefix: str, fail_under: float | None, fail_on: FailOn) -> Verdict:
    reasons = _findings_at(report, prefix, fail_on)
    if fail_under is not None and report.summary.dd_nodes:
        reasons += _below(report, prefix, fail_under)
    if reasons:
        return Verdict(FAILED, tuple(reasons))
    if fail_under is not None and not report.summary.dd_nodes:
        return Verdict(NOTHING_TO_GATE, (f"{prefix}no DynamicDispatch node: there is nothing to gate",))
    return Verdict(FINE)


def _below(report: Report, prefix: str, fail_under: float) -> list[str]:
    ratio = report.summary.dd_ratio
    if ratio is None:
        figure = report.figures.get("dd_ratio")
        reason = figure.reason if figure is not None and figure.reason else "unknown"
        return [f"{prefix}dd_ratio is n/a ({reason}), --fail-under asks for {fail_under:g}%"]
    if ratio >= fail_under:
        return []
    blamed = [node.node for node in report.nodes if node.kind == "compute"] or [node.node for node in report.nodes]
    more = f" and {len(blamed) - _BLAMED} more" if len(blamed) > _BLAMED else ""
    nodes = f"; left on the CPU: {', '.join(blamed[:_BLAMED])}{more}" if blamed else ""
    return [f"{prefix}dd_ratio {ratio}% is below --fail-under {fail_under:g}%{nodes}"]


def _findings_at(report: Report, prefix: str, fail_on: FailOn) -> list[str]:
    if fail_on == "never":
        return []
    severe = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return [
        f"{prefix}{finding.rule} ({finding.severity}): {finding.message}"
        for finding in report.findings
        if finding.severity in severe
    ]
