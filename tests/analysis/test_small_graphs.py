"""The starred inputs, and the rest of the small graphs: figures worked out by hand from the published definitions."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysing import analysis_of_case

from ddinspect.analysis.values import FIGURES, Analysis, KindCounts
from fixtures.small_graphs import CASES

NO_MODEL = ("t5_lfs_model",)


def figures(analysis: Analysis) -> tuple[object, ...]:
    """(dd nodes, fused, left, ratio, top level)."""
    summary = analysis.summary
    return (
        summary.dd_nodes,
        summary.fused_ops,
        summary.not_offloaded,
        summary.dd_ratio,
        summary.dd_ratio_top_level,
    )


def traffic(analysis: Analysis) -> tuple[object, ...]:
    """(regions, crossings, bf16 casts, layout conversions, islands, gaps)."""
    summary, boundaries = analysis.summary, analysis.boundaries
    assert boundaries is not None
    return (
        summary.regions,
        summary.crossings,
        summary.bf16_casts,
        summary.layout_conversions,
        len(boundaries.islands),
        len(boundaries.gaps),
    )


@pytest.mark.parametrize("name", [name for name, _ in CASES if name not in NO_MODEL])
def test_every_graph_is_analysed_and_adds_up(name: str, tmp_path: Path) -> None:
    analysis = analysis_of_case(name, tmp_path)
    summary, kinds = analysis.summary, analysis.summary.not_offloaded_by_kind
    assert kinds is not None
    assert kinds.boundary + kinds.shape + kinds.compute == summary.not_offloaded
    assert sum(row.count for row in analysis.not_offloaded) == summary.not_offloaded
    assert sum(node.times for node in analysis.nodes) == summary.not_offloaded
    assert sum(row.count for row in analysis.offloaded) == summary.dd_nodes
    assert sum(entry.count for entry in analysis.todo) == summary.compute_left
    assert set(analysis.figures) == set(FIGURES)
    for figure, said in analysis.figures.items():
        if getattr(summary, figure) is None:
            assert said.source is None, figure
            assert said.reason, figure
        else:  # 0 fused ops have no source where nothing could hold any
            assert said.source or (figure, summary.dd_nodes) == ("fused_ops", 0), figure


# (dd nodes, fused, left, ratio, top level), as the definitions settle them; x.xx worked out with bc.
FIGURES_BY_CASE = [
    ("t1_vae_mini", (1, 89, 4, 95.7, 95.7)),
    ("t1_no_value_info", (1, 89, 4, 95.7, 95.7)),
    ("t2_no_metadata", (1, 89, 4, 95.7, 95.7)),
    ("t2_partial_metadata", (1, 80, 4, 95.24, 95.24)),
    ("t2_name_in_two_files", (1, 89, 4, 95.7, 95.7)),
    ("t4_no_opset_import", (1, 89, 4, 95.7, 95.7)),
    ("t5_external_data", (0, 0, 1, 0.0, 0.0)),
    ("t6_bf16_constants", (0, 0, 1, 0.0, 0.0)),
    ("t6_block_float", (2, 2, 2, 50.0, 50.0)),
    ("t7_if", (1, 2, 4, 33.33, 0.0)),
    ("t7_loop", (1, 2, 3, 40.0, 0.0)),
    ("t7_scan", (1, 2, 3, 40.0, 0.0)),
    ("t7_if_no_opset_import", (1, 2, 4, 33.33, 0.0)),
    ("t7_if_both_branches", (2, 4, 5, 44.44, 0.0)),
    ("t8_called_twice", (2, 2, 4, 33.33, 0.0)),
    ("t8_two_shapes", (2, 2, 4, 33.33, 0.0)),
    ("t8_two_levels", (4, 4, 8, 33.33, 0.0)),
    ("t8_if_in_loop_in_function", (1, 2, 5, 28.57, 0.0)),
    ("t9_names", (2, 5, 4, 55.56, 55.56)),
    ("t10_omitted", (1, 1, 3, 25.0, 25.0)),
    ("t10_dims", (1, 1, 2, 33.33, 33.33)),
    ("t10_unsorted", (1, 3, 4, 42.86, 42.86)),
    ("t11_chain", (2, 5, 12, 29.41, 29.41)),
    ("no_dd_node", (0, 0, 2, 0.0, 0.0)),
    ("no_node", (0, 0, 0, None, None)),
    ("dd_node_alone", (1, 1, 0, 100.0, 100.0)),
    ("dd_in_default_domain", (1, 3, 4, 42.86, 42.86)),
    ("dd_conv_padded", (1, 3, 4, 42.86, 42.86)),
    ("replaced_and_metadata_missing", (1, None, 4, None, None)),
    ("replaced_missing", (1, 3, 4, 42.86, 42.86)),
    ("metadata_partial", (1, 2, 4, 33.33, 33.33)),
    ("metadata_extra_op", (1, 3, 4, 42.86, 42.86)),
    ("metadata_combined", (2, 4, 2, 66.67, 66.67)),
    ("metadata_cut", (1, 3, 4, 42.86, 42.86)),
    ("repeated_in_replaced", (1, 3, 4, 42.86, 42.86)),
]

# (regions, crossings, bf16 casts, layout conversions, islands, gaps), counted on paper.
TRAFFIC_BY_CASE = [
    ("t1_vae_mini", (1, 2, 2, 2, 0, 0)),
    ("t1_no_value_info", (1, 2, 2, 2, 0, 0)),
    ("t6_block_float", (1, 2, 2, 0, 0, 0)),
    ("t6_block_float_on_cpu", (2, 4, 2, 0, 1, 0)),
    ("t7_if", (1, 2, 2, 0, 0, 0)),
    ("t7_if_both_branches", (2, 4, 4, 0, 0, 0)),
    ("t8_called_twice", (2, 4, 4, 0, 0, 0)),
    ("t8_two_levels", (4, 8, 8, 0, 0, 0)),
    ("t9_names", (1, 2, 0, 0, 0, 0)),
    ("t10_omitted", (1, 2, 2, 0, 0, 0)),  # `sizes` is an initializer, "" is nothing
    ("t10_unsorted", (1, 2, 2, 2, 0, 0)),
    ("t11_chain", (2, 4, 6, 4, 0, 1)),
    ("cycle", (1, 3, 2, 0, 1, 0)),  # x_b and back in, m out
    ("no_cycle", (1, 3, 2, 0, 0, 0)),
    ("sound_two_dd", (1, 2, 2, 0, 0, 0)),
    ("island_relu", (2, 4, 4, 0, 1, 0)),
    ("island_add", (2, 4, 4, 0, 1, 0)),
    ("island_in_one_region", (1, 4, 4, 0, 1, 0)),
    ("three_in_a_row", (1, 2, 2, 0, 0, 0)),
    ("two_outputs", (1, 3, 3, 0, 0, 0)),
    ("shared_input", (2, 3, 3, 0, 0, 0)),
    ("dd_node_alone", (1, 2, 0, 0, 0, 0)),
    ("cast_pair", (2, 4, 4, 0, 0, 1)),
    ("transpose_pair", (2, 4, 2, 2, 0, 1)),
    ("transpose_pair_blocked", (2, 4, 2, 2, 1, 0)),
]


@pytest.mark.parametrize(("name", "expected"), FIGURES_BY_CASE)
def test_figures(name: str, expected: tuple[object, ...], tmp_path: Path) -> None:
    assert figures(analysis_of_case(name, tmp_path)) == expected


@pytest.mark.parametrize(("name", "expected"), TRAFFIC_BY_CASE)
def test_traffic(name: str, expected: tuple[object, ...], tmp_path: Path) -> None:
    assert traffic(analysis_of_case(name, tmp_path)) == expected


@pytest.mark.parametrize(
    ("name", "boundary", "shape", "compute"),
    [
        ("t1_vae_mini", 4, 0, 0),
        ("t7_if", 2, 0, 2),  # the If and the Relu in its other branch
        ("t8_called_twice", 4, 0, 0),
        ("t9_names", 0, 0, 4),
        ("t11_chain", 10, 0, 2),  # Softmax, Add
        ("timestep_in_bf16", 3, 0, 1),  # a timestep is a value: the Cast to FLOAT is compute
        ("timestep_by_sinusoid", 3, 0, 5),
        ("ids_by_embedding", 3, 0, 1),
        ("reshape_at_border", 4, 0, 0),
        ("reshape_at_dd", 3, 0, 0),
        ("reshape_elsewhere", 3, 0, 2),
        ("shape_path", 4, 3, 1),  # Shape, Gather, Concat; the Reshape moves an activation
        ("reshape_to_constant", 4, 0, 1),
        ("constant_node", 4, 1, 1),
        ("no_dd_node", 0, 0, 2),
        ("t6_bf16_constants", 0, 1, 0),
        ("t6_block_float_on_cpu", 2, 0, 1),
    ],
)
def test_kinds(name: str, boundary: int, shape: int, compute: int, tmp_path: Path) -> None:
    counts = analysis_of_case(name, tmp_path).summary.not_offloaded_by_kind
    assert counts == KindCounts(boundary=boundary, shape=shape, compute=compute)


def test_t2_says_what_it_did_not_find(tmp_path: Path) -> None:
    partial = analysis_of_case("t2_partial_metadata", tmp_path / "partial")
    assert partial.fusion is not None
    assert [entry.name for entry in partial.fusion.unresolved] == [f"k{i}" for i in range(80, 89)]
    missing = analysis_of_case("t2_no_metadata", tmp_path / "missing")
    assert missing.summary.fused_ops_source == "replaced"
    assert "no metadata file for dd" in (missing.figures["fused_ops"].reason or "")
    assert missing.summary.mac_coverage is None


def test_t6_block_float_is_no_cast(tmp_path: Path) -> None:
    for name, bytes_in_graph in (("t6_block_float", 18432), ("t6_block_float_logical", 18432)):
        casts = analysis_of_case(name, tmp_path / name).casts
        assert casts is not None
        (edge,) = casts.block_float
        # 64*64*4 values, 9 bytes per 8 of them
        assert (edge.tensor, edge.bytes, edge.certain, edge.between) == ("m", bytes_in_graph, True, ("npu", "npu"))
        assert edge.shape == (1, 64, 64, 4)
    casts = analysis_of_case("t6_uint8_image", tmp_path / "image").casts
    assert casts is not None
    assert casts.block_float == ()


def test_t6_unknown_types_are_shown(tmp_path: Path) -> None:
    rows = analysis_of_case("t6_unknown_dtype", tmp_path).not_offloaded
    assert next(row.inputs for row in rows if row.op_type == "Identity") == ("[8] - DTYPE(99)",)


def test_t7_names_carry_their_scope(tmp_path: Path) -> None:
    analysis = analysis_of_case("t7_if", tmp_path)
    assert [node.node for node in analysis.nodes] == [
        "if0",
        "if0/else_branch/c",
        "if0/then_branch/c",
        "if0/then_branch/c2",
    ]
    assert analysis.casts is not None
    # The cast's own tensor stands in the body; what it reads stands outside.
    assert [item.tensor for item in analysis.casts.items] == ["if0/then_branch/dd_in", "if0/then_branch/dd_out"]


def test_t8_counts_once_per_call(tmp_path: Path) -> None:
    analysis = analysis_of_case("t8_called_twice", tmp_path)
    assert [(node.node, node.times) for node in analysis.nodes] == [("local::Block/c", 2), ("local::Block/c2", 2)]
    # 2 calls x (1*8*8*4 BFLOAT16 in + the same out)
    assert analysis.summary.crossing_bytes == 2 * 2 * 512
    assert analysis.fusion is not None
    assert analysis.fusion.by_type == {"SDSilu": 2}
    two_shapes = analysis_of_case("t8_two_shapes", tmp_path / "shapes")
    assert [node.scope for node in two_shapes.fusion.dd_nodes] == ["local::Block", "local::Block#2"]  # type: ignore[union-attr]


def test_t9_every_node_has_an_id_of_its_own(tmp_path: Path) -> None:
    analysis = analysis_of_case("t9_names", tmp_path)
    assert [node.node for node in analysis.nodes] == ["r1", "r2", "n#2", "n#3"]
    assert analysis.fusion is not None
    assert analysis.fusion.shared == ("b",)
    assert [node.repeated for node in analysis.fusion.dd_nodes] == [("a",), ()]


def test_t10_dims_keep_their_four_states(tmp_path: Path) -> None:
    rows = analysis_of_case("t10_dims", tmp_path).not_offloaded
    assert rows[0].inputs == ("[batch,?,0,4] - FLOAT",)


def test_t11_pairs(tmp_path: Path) -> None:
    analysis = analysis_of_case("t11_chain", tmp_path)
    casts, layout, boundaries = analysis.casts, analysis.layout, analysis.boundaries
    assert casts is not None
    assert layout is not None
    assert boundaries is not None
    assert (casts.to_bf16, casts.from_bf16, layout.to_nhwc, layout.to_nchw) == (3, 3, 2, 2)
    pairs = {(pair.first, pair.second): pair.lossless for pair in casts.cancelling}
    assert pairs == {("c1", "c2"): True, ("c4", "c5"): False}
    assert [(pair.first, pair.second) for pair in layout.cancelling] == [("t1", "t2")]
    (gap,) = boundaries.gaps
    assert (gap.nodes, gap.blockers, gap.merges, gap.crossings_saved) == (("c1", "c2"), (), 1, 2)
    assert gap.bytes_saved == 2 * 512  # d1 out and d1b in, 1*8*8*4 BFLOAT16 each


def test_t11_mutants(tmp_path: Path) -> None:
    other_perm = analysis_of_case("t11_other_perm", tmp_path / "perm").layout
    assert other_perm is not None
    assert (other_perm.to_nhwc, other_perm.to_nchw) == (1, 3)
    # t2 now goes the other way and is followed by the Add, which has a second input but first reads t2.
    assert other_perm.cancelling == ()
    casts = analysis_of_case("t11_middle_is_output", tmp_path / "output").casts
    assert casts is not None
    (pair,) = (pair for pair in casts.cancelling if pair.first == "c1")
    assert (pair.lossless, pair.value_preserving, pair.reason) == (False, True, "d1f is a graph output")


def test_islands(tmp_path: Path) -> None:
    """Savings worked out by hand: which tensors stop crossing, less those that start to."""
    found = {}
    for name in ("island_relu", "island_add", "island_in_one_region"):
        boundaries = analysis_of_case(name, tmp_path / name).boundaries
        assert boundaries is not None
        (island,) = boundaries.islands
        found[name] = (island.blockers, island.merges, island.crossings_saved, island.bytes_saved)
    assert found == {
        "island_relu": (("relu",), 1, 2, 1024),  # m out, p in
        "island_add": (("add",), 1, 1, 0),  # the same, but FLOAT `skip` (1024 bytes) would have to enter
        "island_in_one_region": (("softmax",), 0, 2, 1024),
    }
