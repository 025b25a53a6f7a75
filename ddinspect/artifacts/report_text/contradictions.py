"""Where a report text disagrees with itself."""

from __future__ import annotations

from ddinspect.artifacts.report_text.values import (
    FUSED_SUM,
    HALF_A_DIGIT,
    NOT_OFFLOADED_SUM,
    OFFLOADED_SUM,
    OP_TYPES,
    RATIO,
    ReportText,
    TextRow,
)


def contradictions(report: ReportText) -> tuple[str, ...]:
    """Sentences that each quote two numbers of the text which cannot both be right; none if the text is consistent.

    Compared are the rows with their sums, the ratio with the sums (fused / (fused + not offloaded), two decimals), the
    number of op types and of DD nodes with the number of fused ops, and the same for the comparison model.
    """
    compared = report.comparison
    sentences = [
        _sum_sentence(NOT_OFFLOADED_SUM, report.not_offloaded, report.not_offloaded_sum),
        _sum_sentence(OFFLOADED_SUM, report.offloaded, report.offloaded_sum),
        _op_types_sentence(report),
        _ratio_sentence("", report.fused_ops, report.not_offloaded_sum, report.ratio),
    ]
    if report.offloaded_sum == 0 and report.fused_ops:
        sentences.append(f"`{OFFLOADED_SUM}` is 0 but `{FUSED_SUM}` is {report.fused_ops}")
    if compared is not None:
        sentences.append(
            _ratio_sentence(" of the comparison model", compared.fused_ops, compared.not_offloaded_sum, compared.ratio)
        )
    return tuple(sentence for sentence in sentences if sentence)


def _sum_sentence(label: str, rows: tuple[TextRow, ...], stated: int) -> str:
    total = sum(row.count for row in rows)
    return "" if total == stated else f"the rows above `{label}` add up to {total} but it says {stated}"


def _op_types_sentence(report: ReportText) -> str:
    if report.op_types is None or report.fused_ops is None:
        return ""
    types = len(report.op_types)
    if types > report.fused_ops or (types == 0 and report.fused_ops > 0):
        return f"`{OP_TYPES}` lists {types} but `{FUSED_SUM}` is {report.fused_ops}"
    return ""


def _ratio_sentence(whose: str, fused: int | None, not_offloaded: int | None, stated: float | None) -> str:
    if fused is None or not_offloaded is None or stated is None:
        return ""
    total = fused + not_offloaded
    if total == 0:
        return f"`{RATIO}`{whose} is {stated}% but its sums are both 0"
    ratio = 100 * fused / total
    if abs(ratio - stated) <= HALF_A_DIGIT:
        return ""
    return (
        f"`{RATIO}`{whose} is {stated}% but its sums make it {round(ratio, 2)}% "
        f"({fused} fused, {not_offloaded} not offloaded)"
    )
