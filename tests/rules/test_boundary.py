from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from faulty_graphs import island_in_function, untyped_output
from messages import findings_of, message_of, messages_of

from ddinspect.analysis.border_values import Gap
from ddinspect.rules.boundary import _saving
from fixtures.small_graphs.base import NHWC, between
from fixtures.small_graphs.build import BFLOAT16, BOOL, FLOAT, body, cast_avx, f32, model, node, save, tensor


def test_a_pair_of_casts_says_what_it_keeps_apart(tmp_path: Path) -> None:
    (finding,) = findings_of("DD101", "t11_chain", tmp_path)
    # Each of the two tensors that cross has 1*8*8*4 values of 2 bytes: 512 B.
    assert finding.message == (
        "casts `c1` and `c2` (BFLOAT16 -> FLOAT -> BFLOAT16) undo each other: without them `dd1` leads straight to "
        "`dd2`, which joins 2 regions, saves 2 crossings and 1.0 kB of traffic"
    )
    assert finding.node == "c1"


def test_a_lossy_pair_is_not_called_removable(tmp_path: Path) -> None:
    (finding,) = findings_of("DD102", "t11_chain", tmp_path)
    assert finding.message == (
        "casts `c4` and `c5` (FLOAT -> BFLOAT16 -> FLOAT) lose accuracy: BFLOAT16 does not hold every value of FLOAT"
    )
    assert "leave the pair alone" in finding.fix
    assert messages_of("DD101", "cast_pair_on_cpu", tmp_path / "cpu") == []


def test_a_pair_of_transposes_says_what_it_joins(tmp_path: Path) -> None:
    assert message_of("DD103", "t11_chain", tmp_path / "chain") == (
        "layout changes `t1` and `t2` undo each other: without them `c3` leads straight to `add`"
    )
    assert message_of("DD103", "transpose_pair", tmp_path / "pair").endswith(
        "`dd1` leads straight to `dd2`, which joins 2 regions, saves 2 crossings and 1.0 kB of traffic"
    )


def test_an_island_names_its_blockers_and_what_it_costs(tmp_path: Path) -> None:
    (finding,) = findings_of("DD104", "island_relu", tmp_path / "relu")
    assert finding.message == (
        "compute on the CPU stands between 2 regions: `relu` (`Relu`); running the gap (3 nodes) on the NPU joins 2 "
        "regions, saves 2 crossings and 1.0 kB of traffic"
    )
    assert finding.node == "relu"
    inside = message_of("DD104", "island_in_one_region", tmp_path / "inside")
    assert inside.startswith("compute on the CPU stands inside one region: `softmax` (`Softmax`)")
    assert inside.endswith("on the NPU saves 2 crossings and 1.0 kB of traffic")


def test_an_island_may_be_a_call(tmp_path: Path) -> None:
    (finding,) = findings_of("DD104", island_in_function, tmp_path)
    assert "`call` (`Block`)" in finding.message
    assert finding.node == "call"


def saving(**figures: int | None) -> str:
    whole = {"merges": 0, "crossings_saved": 0, "bytes_saved": 0, "times": 1} | figures
    return _saving(Gap(scope="", nodes=("a",), blockers=("a",), **whole))  # type: ignore[arg-type]


def test_a_gap_can_also_cost() -> None:
    assert saving(merges=2, crossings_saved=1, bytes_saved=1000) == (
        "joins 3 regions, saves 1 crossing and 1.0 kB of traffic"
    )
    assert saving(crossings_saved=1, bytes_saved=-5) == "saves 1 crossing and adds 5 B of traffic"
    assert saving(crossings_saved=-2, bytes_saved=-5) == "adds 2 crossings and 5 B of traffic"
    assert saving(crossings_saved=-2, bytes_saved=5) == "adds 2 crossings and saves 5 B of traffic"
    assert saving(bytes_saved=None) == "saves 0 crossings and an unknown number of bytes"


def test_many_blockers_are_counted(tmp_path: Path) -> None:
    def five(folder: Path) -> Path:
        names = ["q", "r0", "r1", "r2", "r3", "r4"]
        relus = [node("Relu", [a], [b], b) for a, b in pairwise(names)]
        nodes = [cast_avx("m", "q", FLOAT), *relus, cast_avx("r4", "p", BFLOAT16)]
        return save(folder, between(nodes, value_info=[f32(name, *NHWC) for name in names]))

    assert "`r0` (`Relu`), `r1` (`Relu`), `r2` (`Relu`) and 2 more;" in message_of("DD104", five, tmp_path)


def test_what_keeps_two_layout_changes_apart_is_named(tmp_path: Path) -> None:
    assert message_of("DD106", "transpose_pair_blocked", tmp_path) == (
        "layout changes `t1` and `t2` would undo each other but for `softmax` (`Softmax`)"
    )


def test_the_largest_region_is_named(tmp_path: Path) -> None:
    (finding,) = findings_of("DD107", "t11_chain", tmp_path / "chain")
    assert finding.message == "the NPU's part is in 2 regions: the largest holds 3 of 5 fused ops"
    assert finding.node == "dd2"
    four = message_of("DD107", "t8_two_levels", tmp_path / "calls")
    assert four == "the NPU's part is in 4 regions: the largest holds 1 of 4 fused ops"


def test_regions_of_unknown_size_are_counted_by_dd_nodes(tmp_path: Path) -> None:
    def unknown(folder: Path) -> Path:
        nodes = [cast_avx("m", "q", FLOAT), node("Relu", ["q"], ["r"], "relu"), cast_avx("r", "p", BFLOAT16)]
        made = between(nodes)
        del made.graph.node[1].attribute[:]
        return save(folder, made, {})

    assert message_of("DD107", unknown, tmp_path).endswith("in 2 regions: the largest holds 1 of 2 DD nodes")


def test_an_assumed_type_is_told(tmp_path: Path) -> None:
    assert message_of("DD108", untyped_output, tmp_path) == (
        "nothing states the element type of `y_b`, made by DD node `dd`: it is taken for BFLOAT16"
    )


def test_a_name_that_looks_like_a_path_confuses_no_one(tmp_path: Path) -> None:
    """A node of the main graph is called like a cast in a branch, and reads nothing."""

    def confusing(folder: Path) -> Path:
        pair = [cast_avx("m", "q", FLOAT, "c1"), cast_avx("q", "p", BFLOAT16, "c2")]
        then_branch = body(between(pair).graph.node, [], [f32("y", *NHWC)])
        else_branch = body([node("Identity", ["x"], ["y"], "same")], [], [f32("y", *NHWC)])
        branches = {"then_branch": then_branch, "else_branch": else_branch}
        nodes = [
            node("If", ["cond"], ["z"], "if0", **branches),
            node("RandomNormal", [], ["n"], "if0/then_branch/c1", shape=[1]),
        ]
        made = model(nodes, [tensor("cond", BOOL), f32("x", *NHWC)], [f32("z", *NHWC), f32("n", 1)])
        return save(folder, made, {})

    (finding,) = findings_of("DD101", confusing, tmp_path)
    assert finding.message.endswith("undo each other")
    assert finding.node == "if0/then_branch/c1"
