"""A bare onnx_report.txt -> Analysis: what AMD's tables say without the graph they were made from."""

from __future__ import annotations

from typing import Final

from ddinspect.analysis.border_values import Casts
from ddinspect.analysis.figures import percent
from ddinspect.analysis.values import FIGURES, Analysis, Figure, Fusion, LeftRow, OffloadedRow, Source, Summary
from ddinspect.artifacts.report_text import ReportText, TextRow
from ddinspect.artifacts.report_text.values import CUT

_TEXT: Final = Figure(source="text")
_NOT_IN_TEXT: Final = "a report text does not say"


def analyze_text(text: ReportText, source: Source) -> Analysis:
    """What a report text says, the ratio recomputed from its sums.

    Kinds of left-over nodes, layout conversions, counts by type, regions, crossings and coverage are None: the text
    does not have them. BF16 casts follow from the types in the rows.
    """
    fused, left = text.fused_ops, text.not_offloaded_sum
    ratio = percent(fused, left) if fused is not None and fused + left > 0 else None
    casts = _casts(text.not_offloaded)
    known = {
        "fused_ops": fused,
        "not_offloaded": left,
        "dd_ratio": ratio,
        "dd_ratio_top_level": ratio,
        "bf16_casts": None if casts is None else casts.to_bf16 + casts.from_bf16,
    }
    reasons = {"bf16_casts": "a cell of a cast is cut"}
    if fused == left == 0:
        reasons |= dict.fromkeys(("dd_ratio", "dd_ratio_top_level"), "there is nothing to count")
    return Analysis(
        source=source,
        summary=Summary(
            dd_nodes=text.offloaded_sum,
            fused_ops=fused,
            fused_ops_source=None if fused is None else "text",
            not_offloaded=left,
            dd_ratio=ratio,
            not_offloaded_by_kind=None,
            dd_ratio_top_level=ratio,
            bf16_casts=None if casts is None else casts.to_bf16 + casts.from_bf16,
        ),
        offloaded=tuple(
            OffloadedRow(op_type=row.op_type, count=row.count, inputs=row.inputs, outputs=row.outputs)
            for row in text.offloaded
        ),
        not_offloaded=tuple(
            LeftRow(op_type=row.op_type, kind=None, count=row.count, inputs=row.inputs, outputs=row.outputs)
            for row in text.not_offloaded
        ),
        fusion=Fusion(by_type=None, types=text.op_types),
        casts=casts,
        layout=None,
        boundaries=None,
        figures={
            name: _TEXT if known.get(name) is not None else Figure(source=None, reason=reasons.get(name, _NOT_IN_TEXT))
            for name in FIGURES
        },
    )


def _casts(rows: tuple[TextRow, ...]) -> Casts | None:
    """BF16 casts by direction; None where what is cut off may be one."""
    to_bf16 = from_bf16 = 0
    for row in rows:
        start, cut, _ = row.op_type.partition(CUT)
        may_be_cast = row.op_type in ("Cast", "CastAvx") or (cut and "CastAvx".startswith(start))
        if not may_be_cast or not row.inputs or not row.outputs:
            continue
        source, target = (side[0].rpartition(" - ")[2] for side in (row.inputs, row.outputs))
        if cut or CUT in source + target:
            return None
        to_bf16 += row.count if source != "BFLOAT16" == target else 0
        from_bf16 += row.count if source == "BFLOAT16" != target else 0
    return Casts(to_bf16=to_bf16, from_bf16=from_bf16)
