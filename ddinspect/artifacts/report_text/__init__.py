"""AMD's `onnx_report.txt`: the two tables that `onnx_utils report dd_offload` prints, read and written."""

from __future__ import annotations

from ddinspect.artifacts.report_text.contradictions import contradictions
from ddinspect.artifacts.report_text.decoding import decode_text, looks_like_report_text
from ddinspect.artifacts.report_text.parser import parse_report_text, read_report_text
from ddinspect.artifacts.report_text.values import ComparisonSums, CutCell, ReportText, TextRow
from ddinspect.artifacts.report_text.writer import write_report_text

__all__ = [
    "ComparisonSums",
    "CutCell",
    "ReportText",
    "TextRow",
    "contradictions",
    "decode_text",
    "looks_like_report_text",
    "parse_report_text",
    "read_report_text",
    "write_report_text",
]
