from __future__ import annotations

from analysing import analysis_of, metadata_of
from onnx import ModelProto, NodeProto, ValueInfoProto, helper

from ddinspect.analysis.border_values import Boundaries, Gap
from fixtures.small_graphs.base import NHWC, between
from fixtures.small_graphs.build import (
    BFLOAT16,
    BOOL,
    FLOAT,
    OPSETS,
    UINT8,
    bf16,
    body,
    cast_avx,
    dispatch,
    f32,
    ints,
    model,
    node,
    tensor,
)

SIZE = 512  # bytes of 1*8*8*4 BFLOAT16


def dd(name: str, inputs: str, outputs: str) -> NodeProto:
    return dispatch(name, inputs.split(), outputs.split(), [f"k_{name}"])


def graph(
    *nodes: NodeProto,
    inputs: tuple[ValueInfoProto, ...] = (),
    outputs: str = "",
    other: tuple[ValueInfoProto, ...] = (),
) -> ModelProto:
    """BFLOAT16 [1,8,8,4] throughout, but for the tensors in `other`; reads graph input `x` and initializer `w`."""
    stated = {info.name: info for info in other}
    made = {name for each in nodes for name in each.output if name} - stated.keys()
    weight = helper.make_tensor("w", BFLOAT16, [2], [1.0, 2.0])
    return model(
        nodes,
        [bf16("x", *NHWC), *inputs],
        [stated.get(name, bf16(name, *NHWC)) for name in outputs.split()],
        [*(bf16(name, *NHWC) for name in sorted(made)), *other],
        initializers=[weight],
    )


def boundaries_of(made: ModelProto) -> Boundaries:
    found = analysis_of(made).boundaries
    assert found is not None
    return found


def regions(made: ModelProto) -> list[tuple[str, ...]]:
    return [region.dd_nodes for region in boundaries_of(made).regions]


def crossings(made: ModelProto) -> list[tuple[str, str]]:
    return [(crossing.tensor, crossing.direction) for crossing in boundaries_of(made).crossings]


# --- regions ---------------------------------------------------------------------------------------------------------


def test_a_tensor_between_dd_nodes_connects_them() -> None:
    assert regions(graph(dd("a", "x", "m"), dd("b", "m", "n"), dd("c", "n", "y"))) == [("a", "b", "c")]
    assert regions(graph(dd("b", "m", "y"), dd("a", "x", "m"))) == [("b", "a")]  # in graph order
    # Two makers of one reader: weakly connected.
    assert regions(graph(dd("a", "x", "m"), dd("b", "x", "n"), dd("c", "m n", "y"))) == [("a", "b", "c")]


def test_what_does_not_connect() -> None:
    shared = graph(node("Relu", ["x"], ["r"]), dd("a", "r w", "m"), dd("b", "r w", "n"))
    assert regions(shared) == [("a",), ("b",)]
    through_cpu = graph(dd("a", "x", "m"), node("Relu", ["m"], ["r"]), dd("b", "r", "n"))
    assert regions(through_cpu) == [("a",), ("b",)]
    both_ways = graph(dd("a", "x", "m"), node("Relu", ["m"], ["r"]), dd("b", "r m", "n"))
    assert regions(both_ways) == [("a", "b")]


def test_regions_count_fused_ops() -> None:
    made = between([cast_avx("m", "q", FLOAT), cast_avx("q", "p", BFLOAT16)])
    assert [region.fused_ops for region in boundaries_of(made).regions] == [2, 2]
    for each in made.graph.node:
        if each.name == "dd2":
            del each.attribute[:]
    assert [region.fused_ops for region in boundaries_of(made).regions] == [2, None]


def in_branches(*nodes: NodeProto, before: tuple[NodeProto, ...] = ()) -> ModelProto:
    """The same nodes, which make `t`, in both branches of an If."""
    made = body(nodes, [], [bf16("t", *NHWC)], [bf16(n, *NHWC) for each in nodes for n in each.output if n != "t"])
    branches = node("If", ["go"], ["y"], "if0", then_branch=made, else_branch=made)
    return graph(*before, branches, inputs=(tensor("go", BOOL),), outputs="y")


def test_scopes_are_apart() -> None:
    made = in_branches(dd("b", "d", "t"), before=(dd("a", "x", "d"),))
    assert regions(made) == [("a",), ("if0/else_branch/b",), ("if0/then_branch/b",)]
    assert [region.scope for region in boundaries_of(made).regions] == ["", "if0/else_branch", "if0/then_branch"]
    # `d` leaves for the If and enters in each branch under the name it has where it stands; `t` leaves the branch.
    assert [(c.tensor, c.direction, c.scope) for c in boundaries_of(made).crossings] == [
        ("x", "in", ""),
        ("d", "out", ""),
        ("d", "in", "if0/else_branch"),
        ("if0/else_branch/t", "out", "if0/else_branch"),
        ("d", "in", "if0/then_branch"),
        ("if0/then_branch/t", "out", "if0/then_branch"),
    ]


# --- crossings -------------------------------------------------------------------------------------------------------


def test_each_tensor_and_direction_once() -> None:
    relu, absolute = node("Relu", ["m"], ["r"]), node("Abs", ["m"], ["s"])
    made = graph(dd("a", "x x", "m n"), dd("b", "x m", "z"), relu, absolute, outputs="n z m")
    # m: read by b, by two CPU nodes, and a graph output: once out. It never enters, for a DD node makes it.
    assert crossings(made) == [("x", "in"), ("m", "out"), ("n", "out"), ("z", "out")]


def test_what_does_not_cross() -> None:
    assert crossings(graph(dd("a", "x w", "m dead"), dd("b", "m", "y"))) == [("x", "in")]  # nobody reads y and dead
    omitted = graph(dispatch("a", ["x", "", "w"], ["", "y"], ["k"]), outputs="y")
    assert crossings(omitted) == [("x", "in"), ("y", "out")]


def test_a_constant_node_is_a_node() -> None:
    """Its output is made on the CPU; only initializers lie on the device already."""
    made = graph(node("Constant", [], ["c"], value=ints("", 1)), dd("a", "x c", "y"), outputs="y")
    assert ("c", "in") in crossings(made)


def test_outer_initializers_do_not_cross() -> None:
    made = in_branches(dd("b", "w x", "t"))
    assert [found for found in crossings(made) if found[1] == "in"] == [("x", "in"), ("x", "in")]


def called(*actuals: str) -> ModelProto:
    """A function with a DD node that reads both formals, called once per entry."""
    inside = helper.make_function(
        "local", "F", ["p", "q"], ["r"], [dd("a", "p q", "r")], [helper.make_opsetid("com.ryzenai", 1)]
    )
    calls = [node("F", each.split(), [f"y{i}"], f"call{i}", "local") for i, each in enumerate(actuals)]
    made = graph(*calls)
    made.functions.append(inside)
    made.opset_import.append(helper.make_opsetid("local", 1))
    return made


def test_an_initializer_that_a_call_hands_in_does_not_cross() -> None:
    assert crossings(called("x w")) == [("local::F/p", "in"), ("local::F/r", "out")]
    mixed = called("x w", "x x")
    # The types of q differ, so each call has a scope of its own.
    assert crossings(mixed) == [
        ("local::F/p", "in"),
        ("local::F/r", "out"),
        ("local::F#2/p", "in"),
        ("local::F#2/q", "in"),
        ("local::F#2/r", "out"),
    ]


def test_bytes() -> None:
    made = graph(
        dd("a", "x half n byte", "y z"),
        inputs=(tensor("half", 10, 3), f32("n", "batch", 4), tensor("byte", UINT8, 0, 4)),
        outputs="y z",
        other=(f32("z", 5),),
    )
    analysis = analysis_of(made)
    assert analysis.boundaries is not None
    sizes = {crossing.tensor: crossing.bytes for crossing in analysis.boundaries.crossings}
    assert sizes == {"x": SIZE, "half": 6, "n": None, "byte": 0, "y": SIZE, "z": 20}
    assert analysis.summary.crossings == 6
    assert analysis.summary.crossing_bytes is None
    assert analysis.figures["crossing_bytes"].reason == "the size of n is not static"


def test_block_float_takes_nine_bytes_per_eight_values() -> None:
    made = graph(dd("a", "x", "m"), dd("b", "m", "y"), outputs="y m", other=(tensor("m", UINT8, 1, 288),))
    said = [metadata_of(node=n, shapes={"m": NHWC}, dtypes={"m": "bfp16ebs8"}, label="out") for n in "ab"]
    found = analysis_of(made, *said).boundaries
    assert found is not None
    (crossing,) = (each for each in found.crossings if each.tensor == "m")
    assert (crossing.bytes, crossing.dtype, crossing.shape) == (256 * 9 // 8, "BFP16EBS8", NHWC)


# --- gaps ------------------------------------------------------------------------------------------------------------


def gaps(made: ModelProto) -> list[tuple[tuple[str, ...], tuple[str, ...], int, int, int | None]]:
    found = boundaries_of(made)
    return [_said(gap) for gap in (*found.islands, *found.gaps)]


def _said(gap: Gap) -> tuple[tuple[str, ...], tuple[str, ...], int, int, int | None]:
    return gap.nodes, gap.blockers, gap.merges, gap.crossings_saved, gap.bytes_saved


def test_only_nodes_on_a_path_from_npu_to_npu() -> None:
    made = graph(
        node("Relu", ["x"], ["before"], "before"),
        dd("a", "before", "m"),
        node("Relu", ["m"], ["r"], "on_the_way"),
        node("Abs", ["m"], ["side"], "to_nowhere"),
        node("Neg", ["x"], ["i"], "from_outside"),
        dd("b", "r i", "n"),
        node("Relu", ["n"], ["after"], "after"),
    )
    # m stays out for `to_nowhere`; only r no longer enters.
    assert gaps(made) == [(("on_the_way",), ("on_the_way",), 1, 1, SIZE)]


def test_an_other_input_has_to_enter() -> None:
    made = graph(
        dd("a", "x", "m"), node("Add", ["m", "u"], ["r"], "add"), dd("b", "r", "y"), inputs=(bf16("u", *NHWC),)
    )
    # m out, r in; u would enter
    assert gaps(made) == [(("add",), ("add",), 1, 1, SIZE)]
    of_constant = graph(dd("a", "x", "m"), node("Add", ["m", "w"], ["r"], "add"), dd("b", "r", "y"))
    assert gaps(of_constant) == [(("add",), ("add",), 1, 2, 2 * SIZE)]


def test_an_other_output_has_to_leave() -> None:
    made = graph(dd("a", "x", "m"), node("Relu", ["m"], ["r"], "relu"), dd("b", "r", "y"), outputs="r")
    # m out and r in go; r out comes
    assert gaps(made) == [(("relu",), ("relu",), 1, 1, SIZE)]
    bigger = graph(
        dd("a", "x", "m"),
        node("Split", ["m"], ["r", "s"], "split"),
        dd("b", "r", "y"),
        outputs="s",
        other=(f32("s", 1000),),
    )
    assert gaps(bigger) == [(("split",), ("split",), 1, 1, 2 * SIZE - 4000)]  # fewer tensors, more bytes


def test_connected_nodes_make_one_gap() -> None:
    apart = graph(
        dd("a", "x", "m n"),
        node("Relu", ["m"], ["r"], "relu"),
        node("Abs", ["n"], ["s"], "abs"),
        dd("b", "r s", "y"),
    )
    assert [gap[0] for gap in gaps(apart)] == [("relu",), ("abs",)]
    together = graph(
        dd("a", "x", "m n"),
        node("Relu", ["m"], ["r"], "relu"),
        node("Add", ["n", "r"], ["s"], "add"),
        dd("b", "r s", "y"),
    )
    assert gaps(together) == [(("relu", "add"), ("relu", "add"), 1, 4, 4 * SIZE)]


def test_a_gap_may_join_three_regions_or_none() -> None:
    three = graph(dd("a", "x", "m"), dd("b", "x", "n"), node("Add", ["m", "n"], ["r"], "add"), dd("c", "r", "y"))
    assert gaps(three) == [(("add",), ("add",), 2, 3, 3 * SIZE)]
    one = graph(dd("a", "x", "m"), node("Relu", ["m"], ["r"], "relu"), dd("b", "m r", "y"))
    assert gaps(one) == [(("relu",), ("relu",), 0, 2, 2 * SIZE)]


def test_a_gap_of_conversions_is_no_island() -> None:
    casts = (cast_avx("m", "q", FLOAT, "c1"), cast_avx("q", "p", BFLOAT16, "c2"))
    found = boundaries_of(graph(dd("a", "x", "m"), *casts, dd("b", "p", "y"), other=(f32("q", *NHWC),)))
    assert (len(found.islands), len(found.gaps)) == (0, 1)
    assert found.gaps[0].blockers == ()


def test_shape_arithmetic_in_a_gap_does_not_block() -> None:
    made = graph(
        dd("a", "x", "m"),
        node("Shape", ["m"], ["dims"], "shape"),
        dd("b", "dims", "y"),
        other=(tensor("dims", 7, 4),),
    )
    assert gaps(made) == [(("shape",), (), 1, 2, SIZE + 32)]


def test_an_unknown_size_makes_saved_bytes_unknown() -> None:
    made = graph(dd("a", "x", "m"), node("Relu", ["m"], ["r"], "relu"), dd("b", "r", "y"), other=(bf16("r", "n"),))
    assert gaps(made) == [(("relu",), ("relu",), 1, 2, None)]


def test_a_gap_through_an_if() -> None:
    """The branches read the DD node's output from outside; what they hand back goes into the next DD node."""
    inner = body([node("Relu", ["m"], ["t"], "relu")], [], [bf16("t", *NHWC)])
    made = graph(
        dd("a", "x", "m"),
        node("If", ["go"], ["r"], "if0", then_branch=inner, else_branch=inner),
        dd("b", "r", "y"),
        inputs=(tensor("go", BOOL),),
    )
    # m out and r in go, the condition (1 byte) enters
    assert gaps(made) == [(("if0",), ("if0",), 1, 1, 2 * SIZE - 1)]


def through_calls(*inside: NodeProto) -> ModelProto:
    """Two DD nodes with a call between two casts between them."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    inner = helper.make_function("local", "Inner", ["p"], ["r"], list(inside), imports)
    outer = helper.make_function("local", "F", ["p"], ["r"], [node("Inner", ["p"], ["r"], domain="local")], imports)
    made = graph(
        dd("a", "x", "m"),
        cast_avx("m", "q", FLOAT, "c1"),
        node("F", ["q"], ["r"], "call", "local"),
        cast_avx("r", "p", BFLOAT16, "c2"),
        dd("b", "p", "y"),
        other=(f32("q", *NHWC), f32("r", *NHWC)),
    )
    made.functions.extend([inner, outer])
    made.opset_import.append(helper.make_opsetid("local", OPSETS[""]))
    return made


def test_a_call_blocks_if_there_is_compute_in_the_function() -> None:
    nodes = ("c1", "call", "c2")
    assert gaps(through_calls(node("Relu", ["p"], ["r"]))) == [(nodes, ("call",), 1, 2, 2 * SIZE)]
    casts = [node("Cast", ["p"], ["h"], to=BFLOAT16), node("Cast", ["h"], ["r"], to=FLOAT)]
    assert gaps(through_calls(*casts)) == [(nodes, (), 1, 2, 2 * SIZE)]


def test_gaps_inside_a_function_are_told_once_with_their_number() -> None:
    inside = [dd("a", "p", "m"), node("Relu", ["m"], ["r"], "relu"), dd("b", "r", "s")]
    made = graph(node("F", ["x"], ["u"], "c1", "local"), node("F", ["u"], ["v"], "c2", "local"))
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.ryzenai", 1)]
    made.functions.append(helper.make_function("local", "F", ["p"], ["s"], inside, imports))
    made.opset_import.append(helper.make_opsetid("local", 1))
    (island,) = boundaries_of(made).islands
    assert (island.nodes, island.times, island.scope) == (("local::F/relu",), 2, "local::F")
    summary = analysis_of(made).summary
    assert (summary.regions, summary.crossings) == (4, 8)
