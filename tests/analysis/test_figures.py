from __future__ import annotations

import numpy as np
import pytest
from analysing import analysis_of, fused_op, metadata_of
from onnx import helper

from ddinspect.analysis.figures import percent
from ddinspect.analysis.values import FIGURES, Analysis, Summary
from fixtures.small_graphs.base import NHWC, between, small
from fixtures.small_graphs.build import OPSETS, bf16, body, dispatch, f32, model, node, tensor


def test_percent_rounds_as_numpy_does() -> None:
    wrong = [
        (part, rest)
        for part in range(301)
        for rest in range(301)
        if part + rest and percent(part, rest) != np.round(part / (part + rest) * 100, 2)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("part", "rest", "printed"),
    [(1742, 21, 98.81), (618, 12, 98.1), (89, 4, 95.7), (80, 4, 95.24), (5, 12, 29.41), (2, 4, 33.33), (1, 0, 100.0)],
)
def test_percent_gives_the_published_figures(part: int, rest: int, printed: float) -> None:
    assert percent(part, rest) == printed


def test_percent_of_large_numbers() -> None:
    assert percent(1_257_259_466_752, 1) == 100.0
    assert percent(0, 10**15) == 0.0


def reason(analysis: Analysis, name: str) -> str:
    assert getattr(analysis.summary, name) is None
    assert analysis.figures[name].source is None
    return analysis.figures[name].reason or ""


def test_every_figure_has_an_entry() -> None:
    assert set(analysis_of(small()).figures) == set(FIGURES)
    # `dd_nodes` and `fused_ops_source` are no figures of their own.
    assert set(Summary.__struct_fields__) == {*FIGURES, "dd_nodes", "fused_ops_source"}


def test_sources() -> None:
    counted = analysis_of(small(), metadata_of(*(fused_op("SDSilu", name=name) for name in "abc")))
    assert {counted.figures[name].source for name in ("fused_ops", "dd_ratio", "dd_ratio_top_level")} == {"meta"}
    assert counted.summary.fused_ops_source == "meta"
    listed = analysis_of(small())
    assert {listed.figures[name].source for name in ("fused_ops", "dd_ratio", "dd_ratio_top_level")} == {"replaced"}
    assert listed.summary.fused_ops_source == "replaced"
    assert {listed.figures[name].source for name in ("not_offloaded", "regions", "bf16_casts")} == {"graph"}


def test_fused_ops_unknown() -> None:
    analysis = analysis_of(small(replaced=None))
    assert reason(analysis, "fused_ops") == "dd has neither metadata nor a `replaced` attribute"
    assert (
        reason(analysis, "dd_ratio") == reason(analysis, "dd_ratio_top_level") == "the number of fused ops is unknown"
    )
    assert (analysis.summary.fused_ops_source, analysis.summary.regions) == (None, 1)


def test_without_dd_node() -> None:
    summary = analysis_of(model([node("Relu", ["x"], ["y"])], [f32("x", 1)], [f32("y", 1)])).summary
    assert (summary.fused_ops, summary.fused_ops_source, summary.dd_ratio) == (0, None, 0.0)
    assert (summary.dd_ratio_top_level, summary.regions, summary.crossings, summary.crossing_bytes) == (0.0, 0, 0, 0)


def test_without_anything() -> None:
    analysis = analysis_of(model([], [], []))
    assert (analysis.summary.fused_ops, analysis.summary.not_offloaded) == (0, 0)
    for name in ("dd_ratio", "dd_ratio_top_level"):
        assert reason(analysis, name) == "there is nothing to count"
    assert reason(analysis, "mac_coverage") == "no op multiplies"


def test_top_level_counts_what_stands_there() -> None:
    """A DD node of 3 ops at the top and one of 1 in both branches of an If: 3/(3+1) there, (3+2)/(5+1) in all."""
    inner = body([dispatch("inner", ["m"], ["t"], ["k"])], [], [bf16("t", *NHWC)])
    made = model(
        [
            dispatch("dd", ["x"], ["m"], ["a", "b", "c"], output_shape_0=NHWC),
            node("If", ["go"], ["y"], "if0", then_branch=inner, else_branch=inner),
        ],
        [bf16("x", *NHWC), tensor("go", 9)],
        [bf16("y", *NHWC)],
    )
    summary = analysis_of(made).summary
    assert (summary.dd_nodes, summary.fused_ops, summary.not_offloaded) == (3, 5, 1)
    assert (summary.dd_ratio, summary.dd_ratio_top_level) == (83.33, 75.0)


def with_matmul(*shape: int | str) -> tuple[object, ...]:
    """A DD node of 300 MACs before a MatMul [shape] x [4,5] and a Relu."""
    made = model(
        [
            dispatch("dd", ["x"], ["m"], ["g"]),
            node("MatMul", ["m", "w"], ["n"], "matmul"),
            node("Relu", ["n"], ["y"], "relu"),
        ],
        [bf16("x", *shape), bf16("w", 4, 5)],
        [bf16("y", *shape[:-1], 5)],
        [bf16("m", *shape), bf16("n", *shape[:-1], 5)],
    )
    data = metadata_of(fused_op("SDGemm", name="g", input_shape=[1, 10, 6], weight_shape=[6, 5]))
    analysis = analysis_of(made, data)
    summary = analysis.summary
    said = analysis.figures["mac_coverage"]
    return summary.mac_coverage, summary.compute_left_macs, said.source, said.reason


def test_mac_coverage() -> None:
    # 5 rows x 5 columns x K of 4 = 100 left, 10*6*5 = 300 offloaded
    assert with_matmul(5, 4) == (75.0, 100, "meta", None)
    assert with_matmul("n", 4) == (None, None, None, "the shapes at matmul are not static")


def test_mac_coverage_counts_a_function_once_per_call() -> None:
    """2 x 300 on the NPU, 5*4*5 left: 600 of 700."""
    inside = [dispatch("dd", ["p"], ["r"], ["g"])]
    imports = [helper.make_opsetid("com.ryzenai", 1)]
    calls = [node("F", ["x"], [f"y{i}"], f"call{i}", "local") for i in range(2)]
    made = model(
        [*calls, node("MatMul", ["x", "w"], ["m"], "matmul")],
        [bf16("x", 5, 4), bf16("w", 4, 5)],
        [bf16("m", 5, 5)],
        functions=[helper.make_function("local", "F", ["p"], ["r"], inside, imports)],
        opsets={**OPSETS, "local": 1},
    )
    data = metadata_of(fused_op("SDGemm", name="g", input_shape=[1, 10, 6], weight_shape=[6, 5]))
    assert analysis_of(made, data).summary.mac_coverage == 85.71


def test_mac_coverage_needs_metadata_with_shapes() -> None:
    assert reason(analysis_of(small()), "mac_coverage") == "no metadata for dd"
    bare = analysis_of(small(), metadata_of(fused_op("SDConv", name="a")))
    assert reason(bare, "mac_coverage") == "the metadata of dd lacks static shapes for an op that multiplies"


def test_left_macs_are_those_of_compute_nodes() -> None:
    """A product of constants is shape: it makes mac_coverage unknown, not the MACs of what is left to compute."""
    made = model(
        [
            node("Mystery", ["w"], ["v"], "unknown", "some.domain"),
            node("MatMul", ["v", "w"], ["c"], "of_constants"),
            node("MatMul", ["x", "x"], ["y"], "of_values"),
        ],
        [f32("x", 3, 3)],
        [f32("y", 3, 3)],
    )
    made.graph.initializer.add(name="w", data_type=1, dims=[1, 1], float_data=[1.0])
    analysis = analysis_of(made)
    assert (analysis.summary.compute_left, analysis.summary.compute_left_macs) == (1, 27)
    assert reason(analysis, "mac_coverage") == "the shapes at of_constants are not static"


def test_left_macs_name_a_compute_node() -> None:
    made = model(
        [
            node("Mystery", ["w"], ["v"], "unknown", "some.domain"),
            node("MatMul", ["v", "w"], ["c"], "of_constants"),
            node("MatMul", ["x", "x"], ["y"], "of_values"),
        ],
        [f32("x", "n", "n")],
        [f32("y", "n", "n")],
    )
    made.graph.initializer.add(name="w", data_type=1, dims=[1, 1], float_data=[1.0])
    assert reason(analysis_of(made), "compute_left_macs") == "the shapes at of_values are not static"


def test_two_nodes_one_without_anything() -> None:
    made = between([], second=["m"])
    for each in made.graph.node:
        if each.name == "dd2":
            del each.attribute[:]
    summary = analysis_of(made).summary
    assert (summary.dd_nodes, summary.fused_ops, summary.fused_ops_source, summary.dd_ratio) == (2, None, None, None)
