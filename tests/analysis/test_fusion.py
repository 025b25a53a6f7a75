from __future__ import annotations

import pytest
from analysing import analysis_of, fused_op, metadata_of

from ddinspect.analysis.fusion import Count, count
from ddinspect.analysis.values import DeviceMemory, Fusion
from ddinspect.artifacts.metadata import Metadata
from fixtures.small_graphs.base import between, small


def meta(*ops: str, node: str = "dd") -> Metadata:
    """Ops as "name:type"."""
    return metadata_of(*(fused_op(op.split(":")[1], name=op.split(":")[0]) for op in ops), node=node)


# The rule, case by case: metadata counts the listed names it has; without a list its own; without metadata the list.
@pytest.mark.parametrize(
    ("names", "metadata", "expected"),
    [
        (("a", "b"), meta("a:SDConv", "b:SDAdd"), Count(2, {"SDConv": 1, "SDAdd": 1})),
        (("a", "b"), meta("b:SDAdd", "a:SDConv"), Count(2, {"SDConv": 1, "SDAdd": 1})),
        (("a", "b", "c"), meta("a:SDConv"), Count(1, {"SDConv": 1}, ("b", "c"))),
        (("a",), meta("a:SDConv", "b:SDAdd"), Count(1, {"SDConv": 1})),  # more in the file than the node lists
        (("x", "y"), meta("a:SDConv"), Count(0, {}, ("x", "y"))),
        (("a", "a", "b"), meta("a:SDConv", "b:SDAdd"), Count(3, {"SDConv": 2, "SDAdd": 1})),
        (("x", "x"), meta("a:SDConv"), Count(0, {}, ("x", "x"))),
        ((), meta("a:SDConv"), Count(0, {})),
        (None, meta("a:SDConv", "b:SDAdd", "b:SDAdd"), Count(3, {"SDConv": 1, "SDAdd": 2})),
        (None, meta(), Count(0, {})),
        (("a", "a", "b"), None, Count(3, {})),
        ((), None, Count(0, {})),
        (None, None, Count(None, {})),
    ],
)
def test_count(names: tuple[str, ...] | None, metadata: Metadata | None, expected: Count) -> None:
    assert count(names, metadata) == expected


def test_ops_of_one_name_are_told_apart_by_order() -> None:
    twice = meta("a:SDConv", "a:SDAdd")
    assert count(("a", "a"), twice).by_type == {"SDConv": 1, "SDAdd": 1}
    assert count(("a",), twice).by_type == {"SDConv": 1}
    assert count(("a", "a", "a"), twice).by_type == {"SDConv": 1, "SDAdd": 2}
    assert count(("a", "a"), twice) == count(("a", "a"), twice)  # counting leaves the metadata as it is


def fusion_of(*metadata: Metadata) -> Fusion:
    """dd1 lists a and b, dd2 c and d."""
    found = analysis_of(between([], second=["m"]), *metadata).fusion
    assert found is not None
    return found


FIRST, SECOND = meta("a:SDConv", "b:SDAdd", node="dd1"), meta("c:SDAdd", "d:SDMul", node="dd2")


def test_all_metadata_there() -> None:
    found = fusion_of(FIRST, SECOND)
    assert found.by_type == {"SDAdd": 2, "SDConv": 1, "SDMul": 1}
    assert found.types == ("SDAdd", "SDConv", "SDMul")
    assert [(node.name, node.fused_ops, node.source, node.meta) for node in found.dd_nodes] == [
        ("dd1", 2, "meta", "dd1_meta.json"),
        ("dd2", 2, "meta", "dd2_meta.json"),
    ]


def test_one_file_missing() -> None:
    found = fusion_of(FIRST)
    assert found.by_type is None  # it would leave out what dd2 holds
    assert found.types == ("SDAdd", "SDConv")
    assert [(node.fused_ops, node.source) for node in found.dd_nodes] == [(2, "meta"), (2, "replaced")]
    summary = analysis_of(between([], second=["m"]), FIRST).summary
    assert (summary.fused_ops, summary.fused_ops_source) == (4, "replaced")


def test_no_file_at_all() -> None:
    found = fusion_of()
    assert (found.by_type, found.types) == (None, None)
    assert [node.by_type for node in found.dd_nodes] == [{}, {}]


def test_names_that_do_not_add_up() -> None:
    found = fusion_of(meta("a:SDConv", node="dd1"), SECOND)
    assert [(entry.dd_node, entry.name) for entry in found.unresolved] == [("dd1", "b")]
    both = analysis_of(between([], second=["m"], replaced=["b", "b", "d"])).fusion
    assert both is not None
    assert both.shared == ("b",)
    assert [node.repeated for node in both.dd_nodes] == [(), ("b",)]


def test_one_name_in_two_nodes_keeps_its_type_in_each() -> None:
    """AMD's map of names lets the later file win."""
    made = between([], second=["m"], replaced=["b", "d"])
    found = analysis_of(made, FIRST, meta("b:SDMul", "d:SDMul", node="dd2")).fusion
    assert found is not None
    assert [node.by_type for node in found.dd_nodes] == [{"SDAdd": 1, "SDConv": 1}, {"SDMul": 2}]


def test_device_memory() -> None:
    buffers = {"in": 1, "out": 2, "scratch": 3, "const": 4, "super_instr": 5}
    (node,) = analysis_of(small(), metadata_of(buffers=buffers)).fusion.dd_nodes  # type: ignore[union-attr]
    assert node.memory == DeviceMemory(input=1, output=2, scratch=3, const=4)
    (bare,) = analysis_of(small(), metadata_of()).fusion.dd_nodes  # type: ignore[union-attr]
    assert bare.memory is None


def test_what_the_node_says_of_itself() -> None:
    made = small()
    made.graph.node[2].attribute.add(name="model_type", type=2, i=4)
    (node,) = analysis_of(made).fusion.dd_nodes  # type: ignore[union-attr]
    assert (node.xclbin, node.model_type, node.macs, node.memory) == ("x", "SD15_UNET", None, None)
    assert (node.inputs, node.outputs) == (("[1,8,8,4] - BFLOAT16",), ("[1,8,8,4] - BFLOAT16",))
