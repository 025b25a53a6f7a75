"""The one line per report that scripts look for.

`ddinspect: dd_ratio=95.7% fused=89 left=4 (boundary 4, shape 0, compute 0) regions=1 crossings=2 bf16_casts=2 layout=2`

The line is a contract: new `key=value` pairs go to its end. What is not known is `n/a`; where the kinds are not
known, `left=4 (n/a)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ddinspect.printable import printable
from ddinspect.render.quantities import NOT_AVAILABLE, percent, plain
from ddinspect.report import PackageReport, Report, Reports

if TYPE_CHECKING:
    from ddinspect.report import Document


def summary_line(report: Report, component: str | None = None) -> str:
    """The figures of one report on one line.

    Args:
        report: What to sum up.
        component: Key of the report in its package. A key that would read as more than one word is put in double
            quotes, so that it cannot pass for another `key=value` pair.
    """
    summary = report.summary
    kinds = summary.not_offloaded_by_kind
    by_kind = (
        NOT_AVAILABLE if kinds is None else f"boundary {kinds.boundary}, shape {kinds.shape}, compute {kinds.compute}"
    )
    start = "ddinspect:" if component is None else f"ddinspect: component={_one_word(component)}"
    return (
        f"{start} dd_ratio={percent(summary.dd_ratio)} fused={plain(summary.fused_ops)}"
        f" left={summary.not_offloaded} ({by_kind}) regions={plain(summary.regions)}"
        f" crossings={plain(summary.crossings)} bf16_casts={plain(summary.bf16_casts)}"
        f" layout={plain(summary.layout_conversions)}"
    )


def summary_lines(document: Document) -> Iterator[str]:
    """One line per report of a document, in its order."""
    match document:
        case Report():
            yield summary_line(document)
        case PackageReport():
            for component, report in document.components.items():
                yield summary_line(report, component)
        case Reports():
            for each in document.reports:
                yield from summary_lines(each)


def _one_word(component: str) -> str:
    word = printable(component)
    if word and not any(letter.isspace() or letter in '"=' for letter in word):
        return word
    return '"' + word.replace('"', '\\"') + '"'
