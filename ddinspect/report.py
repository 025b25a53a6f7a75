"""Report: an analysis and what the rules say about it. The one value that renderers print."""

from __future__ import annotations

from typing import Final

import msgspec

from ddinspect.analysis.values import Analysis
from ddinspect.rules.finding import Finding

REPORT_SCHEMA: Final = "ddinspect.report/1"
PACKAGE_SCHEMA: Final = "ddinspect.package/1"
REPORTS_SCHEMA: Final = "ddinspect.reports/1"


class Report(Analysis, frozen=True, kw_only=True, tag_field="schema", tag=REPORT_SCHEMA):
    """One model. Its JSON form is public."""

    findings: tuple[Finding, ...] = ()


class PackageReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=PACKAGE_SCHEMA):
    """Every model of a package folder, keyed by path inside it (`unet`, or `unet/512/dd` where there are several)."""

    components: dict[str, Report]


class Reports(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag=REPORTS_SCHEMA):
    """What one call with several paths printed."""

    reports: tuple[Report | PackageReport, ...]


Document = Report | PackageReport | Reports
