from __future__ import annotations

import msgspec
import pytest

from ddinspect.artifacts.report_text import ComparisonSums, ReportText, TextRow, contradictions

CAST = TextRow(op_type="CastAvx", count=4, inputs=("[1] - FLOAT",), outputs=("[1] - BFLOAT16",))
DD = TextRow(op_type="DynamicDispatch", count=1, inputs=("[1] - BFLOAT16",), outputs=("[1] - BFLOAT16",))
REPORT = ReportText(
    not_offloaded=(CAST,),
    offloaded=(DD,),
    not_offloaded_sum=4,
    offloaded_sum=1,
    op_types=("SDConv",),
    fused_ops=89,
    ratio=95.7,
)


# Fused, left and ratio of AMD's published packages: VAE decoder, SD-Turbo UNet, SDXL UNet.
@pytest.mark.parametrize(("fused", "left", "ratio"), [(89, 4, 95.7), (618, 12, 98.1), (1742, 21, 98.81)])
def test_published_figures_agree(fused: int, left: int, ratio: float) -> None:
    rows = (msgspec.structs.replace(CAST, count=left),)
    report = msgspec.structs.replace(REPORT, not_offloaded=rows, not_offloaded_sum=left, fused_ops=fused, ratio=ratio)
    assert contradictions(report) == ()


def test_ratio_against_sums() -> None:
    (sentence,) = contradictions(msgspec.structs.replace(REPORT, ratio=96.7))
    assert "is 96.7% but its sums make it 95.7% (89 fused, 4 not offloaded)" in sentence


def test_ratio_one_digit_off() -> None:
    assert contradictions(msgspec.structs.replace(REPORT, ratio=95.71))


def test_rows_against_sums() -> None:
    report = msgspec.structs.replace(REPORT, not_offloaded=(CAST, CAST), offloaded=())
    assert contradictions(report) == (
        "the rows above `Not offloaded sum` add up to 8 but it says 4",
        "the rows above `Offloaded sum` add up to 0 but it says 1",
    )


@pytest.mark.parametrize(("types", "fused", "ratio"), [((), 89, 95.7), (("SDAdd", "SDConv", "SDGemm"), 2, 33.33)])
def test_op_types_against_fused_ops(types: tuple[str, ...], fused: int, ratio: float) -> None:
    (sentence,) = contradictions(msgspec.structs.replace(REPORT, op_types=types, fused_ops=fused, ratio=ratio))
    assert f"lists {len(types)} but `Offloaded sum (dd fusion)` is {fused}" in sentence


def test_fused_ops_without_a_dd_node() -> None:
    (sentence,) = contradictions(msgspec.structs.replace(REPORT, offloaded=(), offloaded_sum=0))
    assert sentence == "`Offloaded sum` is 0 but `Offloaded sum (dd fusion)` is 89"


def test_a_ratio_of_nothing() -> None:
    report = ReportText(
        not_offloaded=(), offloaded=(), not_offloaded_sum=0, offloaded_sum=0, op_types=(), fused_ops=0, ratio=100.0
    )
    assert contradictions(report) == ("`Offload Ratio (dd fusion)` is 100.0% but its sums are both 0",)


def test_unknown_figures_contradict_nothing() -> None:
    assert contradictions(msgspec.structs.replace(REPORT, fused_ops=None, ratio=None, op_types=None)) == ()


def test_the_comparison_model() -> None:
    right = ComparisonSums(not_offloaded_sum=21, fused_ops=1742, ratio=98.81)
    assert contradictions(msgspec.structs.replace(REPORT, comparison=right)) == ()
    wrong = msgspec.structs.replace(right, ratio=88.81)
    (sentence,) = contradictions(msgspec.structs.replace(REPORT, comparison=wrong))
    assert "of the comparison model is 88.81% but its sums make it 98.81%" in sentence
