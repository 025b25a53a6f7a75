from __future__ import annotations

import pytest
from analysing import read
from onnx import ModelProto, NodeProto, helper

from ddinspect.analysis.dataflow import Flow, flows, holder
from ddinspect.onnxfile.scopes import expand
from fixtures.small_graphs.build import BOOL, OPSETS, body, f32, ints, model, node, tensor


def flows_of(made: ModelProto) -> tuple[Flow, ...]:
    return flows(expand(read(made)))


def chain(*nodes: NodeProto) -> Flow:
    """Nodes between graph input x and graph output y, all [1]."""
    return flows_of(model(nodes, [f32("x", 1)], [f32("y", 1)]))[0]


def test_edges_go_by_tensor_name() -> None:
    flow = chain(node("Relu", ["x"], ["a"]), node("Add", ["a", "a"], ["b"]), node("Add", ["a", "b"], ["y"]))
    assert flow.reads == (("x",), ("a",), ("a", "b"))
    assert dict(flow.maker) == {"a": 0, "b": 1, "y": 2}
    assert dict(flow.readers) == {"x": (0,), "a": (1, 2), "b": (2,)}
    assert (flow.before(2), flow.after(0), flow.before(0), flow.after(2)) == ({0, 1}, {1, 2}, set(), set())


def test_an_empty_name_is_no_edge() -> None:
    flow = chain(node("Split", ["x"], ["", "a"]), node("Clip", ["a", "", "x"], ["y"]))
    assert flow.reads[1] == ("a", "x")
    assert "" not in flow.maker
    assert "" not in flow.readers


def test_the_first_of_two_makers_counts() -> None:
    flow = chain(node("Relu", ["x"], ["a"]), node("Abs", ["x"], ["a"]), node("Neg", ["a"], ["y"]))
    assert (flow.maker["a"], flow.before(2), flow.after(0), flow.after(1)) == (0, {0}, {2}, set())


def test_an_unsorted_graph_has_no_cycle() -> None:
    flow = chain(node("Neg", ["b"], ["y"]), node("Abs", ["a"], ["b"]), node("Relu", ["x"], ["a"]))
    assert flow.cyclic == ()


@pytest.mark.parametrize(
    ("nodes", "cyclic"),
    [
        # 0 and 1 read each other, 2 lies behind them, 3 stands apart.
        ([("Add", "x b", "a"), ("Neg", "a", "b"), ("Abs", "b", "y"), ("Relu", "x", "c")], (0, 1, 2)),
        ([("Add", "x a", "a"), ("Abs", "a", "y")], (0, 1)),  # a node that reads itself
    ],
)
def test_nodes_on_a_cycle_and_behind_it_are_found(nodes: list[tuple[str, str, str]], cyclic: tuple[int, ...]) -> None:
    flow = chain(*(node(op_type, reads.split(), [makes]) for op_type, reads, makes in nodes))
    assert flow.cyclic == cyclic


def test_a_node_reads_what_its_bodies_read_from_outside() -> None:
    inner = node(
        "If",
        ["c"],
        ["v"],
        then_branch=body([node("Abs", ["deep"], ["t"])], [], [f32("t", 1)]),
        else_branch=body([node("Neg", ["own"], ["e"])], [], [f32("e", 1)]),
    )
    outer = node(
        "If",
        ["c"],
        ["y"],
        then_branch=body([node("Relu", ["a"], ["own"]), inner], [], [f32("v", 1)]),
        else_branch=body([], [], [f32("through", 1)]),  # hands an outer tensor on
    )
    made = model(
        [node("Relu", ["x"], ["a"]), node("Relu", ["x"], ["deep"]), node("Relu", ["x"], ["through"]), outer],
        [f32("x", 1), tensor("c", BOOL)],
        [f32("y", 1)],
    )
    main = flows_of(made)[0]
    assert set(main.reads[3]) == {"c", "a", "deep", "through"}
    assert main.before(3) == {0, 1, 2}


def test_holder_looks_outward_but_not_out_of_a_function() -> None:
    imports = [helper.make_opsetid("", 17)]
    inside = helper.make_function("local", "F", ["p"], ["r"], [node("Add", ["p", "w"], ["r"])], imports)
    branch = node(
        "If",
        ["c"],
        ["y"],
        then_branch=body([node("Add", ["a", "w"], ["t"])], [], [f32("t", 1)]),
        else_branch=body([node("F", ["a"], ["e"], domain="local")], [], [f32("e", 1)]),
    )
    made = model(
        [node("Relu", ["x"], ["a"]), branch],
        [f32("x", 1), tensor("c", BOOL)],
        [f32("y", 1)],
        initializers=[ints("w", 1)],
        functions=[inside],
        opsets={**OPSETS, "local": 1},
    )
    expansion = expand(read(made))
    found = flows(expansion)
    by_path = {flow.scope.path: flow for flow in found}
    then_branch = next(flow.scope for path, flow in by_path.items() if path.endswith("then_branch"))
    for name, where in {"t": then_branch.path, "a": "", "x": "", "w": "", "nowhere": None}.items():
        flow = holder(expansion, found, then_branch, name)
        assert (flow.scope.path if flow else None) == where, name
    function = by_path["local::F"].scope
    assert holder(expansion, found, function, "w") is None
    assert holder(expansion, found, function, "p") is by_path["local::F"]


@pytest.mark.parametrize(
    ("calls", "constants"),
    [
        ([("w", "x")], {"p"}),
        ([("w", "x"), ("w", "v")], {"p"}),
        ([("w", "x"), ("x", "v")], set()),  # p is an initializer for one call only
        ([("w", "v")], {"p", "q"}),
        ([("w",), ("w", "v")], {"p", "q"}),  # the first call leaves q out
        ([("w", ""), ("w", "v")], {"p", "q"}),
        ([("w", "computed")], {"p"}),
    ],
)
def test_constants_go_through_calls(calls: list[tuple[str, ...]], constants: set[str]) -> None:
    """Two levels: Outer hands its formals on to Inner."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    inner = helper.make_function("local", "Inner", ["p", "q"], ["r"], [node("Sum", ["p", "q"], ["r"])], imports)
    on = [node("Inner", ["p", "q"], ["r"], domain="local")]
    outer = helper.make_function("local", "Outer", ["p", "q"], ["r"], on, imports)
    nodes = [node("Outer", actuals, [f"y{i}"], domain="local") for i, actuals in enumerate(calls)]
    made = model(
        [node("Relu", ["x"], ["computed"]), *nodes],
        [f32("x", 1)],
        [f32("y0", 1)],
        initializers=[helper.make_tensor(name, 1, [1], [1.0]) for name in "wv"],
        functions=[inner, outer],
        opsets={**OPSETS, "local": 1},
    )
    by_path = {flow.scope.path: flow.constants for flow in flows_of(made)}
    assert by_path[""] == {"w", "v"}
    assert by_path["local::Outer"] == by_path["local::Inner"] == constants
