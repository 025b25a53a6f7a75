from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, helper

from ddinspect.onnxfile.calls import all_nodes
from ddinspect.onnxfile.model import ValueInfo
from ddinspect.onnxfile.reader import read_model
from ddinspect.onnxfile.scopes import Expansion, Scope, expand
from ddinspect.onnxfile.shapes import Hints
from fixtures.small_graphs import write
from fixtures.small_graphs.base import NHWC
from fixtures.small_graphs.build import (
    BFLOAT16,
    BOOL,
    DOMAIN,
    FLOAT,
    bf16,
    body,
    cast_avx,
    dispatch,
    f32,
    ints,
    model,
    node,
    save,
    tensor,
)

IMPORTS = {"": 17, DOMAIN: 1, "local": 1}
UNTYPED = helper.make_empty_tensor_value_info("y")


def expanded(folder: Path, made: ModelProto, hints: Hints | None = None) -> Expansion:
    return expand(read_model(save(folder, made, {})), hints)


def case(folder: Path, name: str) -> Expansion:
    return expand(read_model(write(name, folder)))


def function(
    name: str, nodes: Sequence[NodeProto], inputs: Sequence[str] = ("in",), *, overload: str = "", domain: str = "local"
) -> FunctionProto:
    imports = [helper.make_opsetid(*each) for each in IMPORTS.items()]
    made = helper.make_function(domain, name, list(inputs), ["out"], list(nodes), imports)
    made.overload = overload
    return made


def call(name: str, x: str = "in", y: str = "out", **options: str) -> NodeProto:
    return node(name, [x], [y], options.pop("id", f"call-{y}"), "local")


def calls(*functions: FunctionProto, nodes: Sequence[NodeProto]) -> ModelProto:
    return model(nodes, [f32("x", *NHWC)], [UNTYPED], functions=functions, opsets=IMPORTS)


def paths(expansion: Expansion) -> list[tuple[str, int]]:
    return [(scope.path, scope.times) for scope in expansion.scopes]


def scope_of(expansion: Expansion, path: str) -> Scope:
    (found,) = [scope for scope in expansion.scopes if scope.path == path]
    return found


def test_one_scope_for_a_plain_graph(tmp_path: Path) -> None:
    expansion = case(tmp_path, "t1_vae_mini")
    (main,) = expansion.scopes
    assert (main.path, main.kind, main.index, main.parent, main.owner, main.times) == ("", "main", 0, None, None, 1)
    assert (main.inputs, main.outputs, main.calls, expansion.notes) == (("z",), ("image",), (), ())
    assert main.qualified("dd") == "dd"


def test_an_if_has_a_scope_per_branch(tmp_path: Path) -> None:
    expansion = case(tmp_path, "t7_if")
    assert paths(expansion) == [("", 1), ("if0/else_branch", 1), ("if0/then_branch", 1)]  # the order in the file
    main, other, then = expansion.scopes
    # By hand: 1 node at the top, 5 in all, of which 1 is a DD node; both branches hold a "c".
    assert [len(scope.nodes) for scope in expansion.scopes] == [1, 1, 3]
    assert [(scope.kind, scope.parent, scope.owner) for scope in (then, other)] == [("body", 0, 0), ("body", 0, 0)]
    assert then.qualified(then.nodes[0].id) == "if0/then_branch/c"
    assert other.qualified(other.nodes[0].id) == "if0/else_branch/c"
    assert expansion.type_of(then, "a") == ValueInfo("a", FLOAT, NHWC) == expansion.type_of(main, "a")
    assert "a" not in then.types
    assert expansion.type_of(main, "dd_out") == ValueInfo("dd_out")


def test_without_opset_import_the_bodies_are_the_same(tmp_path: Path) -> None:
    with_import, without = case(tmp_path / "a", "t7_if"), case(tmp_path / "b", "t7_if_no_opset_import")
    assert without.notes == ()
    assert [scope.types for scope in without.scopes] == [scope.types for scope in with_import.scopes]


@pytest.mark.parametrize(
    ("name", "path", "shape"), [("t7_loop", "loop0/body", NHWC), ("t7_scan", "scan0/body", NHWC[1:])]
)
def test_a_loop_and_a_scan_count_once(name: str, path: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    expansion = case(tmp_path, name)
    assert paths(expansion) == [("", 1), (path, 1)]
    assert expansion.type_of(expansion.scopes[1], "dd_out") == ValueInfo("dd_out", BFLOAT16, shape)


def test_two_calls_alike_share_a_scope(tmp_path: Path) -> None:
    expansion = case(tmp_path, "t8_called_twice")
    assert paths(expansion) == [("", 1), ("local::Block", 2)]
    block = expansion.scopes[1]
    assert (block.kind, block.parent, block.owner) == ("function", None, None)
    assert block.calls == ((0, 0), (0, 1))
    assert expansion.type_of(block, "in") == ValueInfo("in", FLOAT, NHWC)
    # A function sees nothing outside.
    assert expansion.type_of(block, "x") == ValueInfo("x")
    assert [expansion.is_call(node) for node in (*expansion.scopes[0].nodes, *block.nodes)] == [True] * 2 + [False] * 3


def test_calls_alike_without_declared_types_share_a_scope(tmp_path: Path) -> None:
    """The second call reads what the first one gives back, past a DD node in the function."""
    block = function("Block", [cast_avx("in", "b", BFLOAT16), dispatch("dd", ["b"], ["d"], ["a"], output_shape_0=NHWC),
                               cast_avx("d", "out", FLOAT)])  # fmt: skip
    expansion = expanded(tmp_path, calls(block, nodes=[call("Block", "x", "m"), call("Block", "m", "y")]))
    assert paths(expansion) == [("", 1), ("local::Block", 2)]
    assert expansion.type_of(expansion.scopes[0], "y") == ValueInfo("y", FLOAT, NHWC)


def test_calls_with_other_types_have_scopes_of_their_own(tmp_path: Path) -> None:
    expansion = case(tmp_path, "t8_two_shapes")
    assert paths(expansion) == [("", 1), ("local::Block", 1), ("local::Block#2", 1)]
    first, second = expansion.scopes[1:]
    assert first.types["in"].shape == (1, 8, 8, 4)
    assert second.types["in"].shape == (1, 16, 16, 4)
    assert second.qualified("dd") == "local::Block#2/dd"


def test_functions_in_functions(tmp_path: Path) -> None:
    expansion = case(tmp_path, "t8_two_levels")
    assert paths(expansion) == [("", 1), ("local::Stage", 2), ("local::Block", 4)]
    assert expansion.scopes[2].calls == ((1, 0), (1, 1))


def test_forty_levels_of_two_calls(tmp_path: Path) -> None:
    functions = [
        function(f"F{i}", [call(f"F{i + 1}", "in", "half"), call(f"F{i + 1}", "half", "out")]) for i in range(40)
    ]
    for each in functions:
        each.value_info.append(f32("half", *NHWC))
    functions.append(function("F40", [node("Relu", ["in"], ["out"])]))
    made = model([call("F0", "x", "y")], [f32("x", *NHWC)], [f32("y", *NHWC)], functions=functions, opsets=IMPORTS)
    expansion = expanded(tmp_path, made)
    assert expansion.notes == ()
    # Level i stands 2^i times in all; the types of calls below the limit of inference are open, so scopes may differ.
    times: dict[str, int] = {}
    for scope in expansion.scopes[1:]:
        name = scope.path.split("#")[0]
        times[name] = times.get(name, 0) + scope.times
    assert times == {f"local::F{i}": 2**i for i in range(41)}
    assert len(expansion.scopes) < 200


def test_a_circle_of_calls_is_noted_and_not_entered(tmp_path: Path) -> None:
    made = calls(
        function("A", [call("B", "in", "b"), call("Leaf", "b", "out")]),
        function("B", [call("A")]),
        function("Own", [call("Own")]),
        function("Leaf", [node("Relu", ["in"], ["out"])]),
        nodes=[call("A", "x", "a"), call("Own", "a", "b"), call("Leaf", "x", "c"), node("Add", ["b", "c"], ["y"])],
    )
    expansion = expanded(tmp_path, made)
    # Leaf is called out of the circle, and from outside: only the call from outside is ever reached.
    assert paths(expansion) == [("", 1), ("local::Leaf", 1)]
    assert expansion.notes == (
        "local functions call each other in a circle and are not entered: local::A, local::B, local::Own",
    )
    assert [expansion.is_call(node) for node in expansion.scopes[0].nodes] == [False, False, True, False]


def test_overloads_and_domains_are_functions_of_their_own(tmp_path: Path) -> None:
    made = calls(
        function("F", [node("Relu", ["in"], ["out"])]),
        function("F", [node("Abs", ["in"], ["out"])], overload="v2"),
        function("F", [node("Tanh", ["in"], ["out"])], domain=DOMAIN),
        nodes=[
            call("F", "x", "a"),
            call("F", "a", "b"),
            node("F", ["b"], ["c"], domain=DOMAIN),
            node("F", ["c"], ["y"]),
        ],
    )
    made.graph.node[1].overload = "v2"
    expansion = expanded(tmp_path, made)
    assert [(scope.path, scope.nodes[0].op_type) for scope in expansion.scopes[1:]] == [
        ("local::F", "Relu"), ("local::F:v2", "Abs"), (f"{DOMAIN}::F", "Tanh")
    ]  # fmt: skip
    assert not expansion.is_call(expansion.scopes[0].nodes[3])


def test_a_dd_node_is_no_call_even_if_a_function_has_its_name(tmp_path: Path) -> None:
    made = calls(
        function("DynamicDispatch", [node("Relu", ["in"], ["out"])], domain=DOMAIN),
        nodes=[dispatch("dd", ["x"], ["y"], ["a"])],
    )
    expansion = expanded(tmp_path, made)
    assert paths(expansion) == [("", 1)]
    assert not expansion.is_call(expansion.scopes[0].nodes[0])


def if_node(then_nodes: Sequence[NodeProto], then_out: str, else_out: str, y: str) -> NodeProto:
    def branch(nodes: Sequence[NodeProto], out: str) -> GraphProto:
        return body(nodes, [], [helper.make_empty_tensor_value_info(out)])

    other = [node("Relu", ["a"], [else_out])]
    return node("If", ["c"], [y], "if0", then_branch=branch(then_nodes, then_out), else_branch=branch(other, else_out))


def test_an_if_in_a_function(tmp_path: Path) -> None:
    inner = if_node([node("Abs", ["a"], ["t"])], "t", "e", "out")
    made = model(
        [node("F", ["c", "x"], ["m"], domain="local"), node("F", ["c", "m"], ["y"], domain="local")],
        [tensor("c", BOOL), f32("x", *NHWC)],
        [UNTYPED],
        functions=[function("F", [inner], ["c", "a"])],
        opsets=IMPORTS,
    )
    expansion = expanded(tmp_path, made)
    assert paths(expansion) == [
        ("", 1), ("local::F", 2), ("local::F/if0/else_branch", 2), ("local::F/if0/then_branch", 2)
    ]  # fmt: skip
    then = scope_of(expansion, "local::F/if0/then_branch")
    assert (then.parent, then.owner) == (1, 0)
    assert expansion.type_of(then, "a") == ValueInfo("a", FLOAT, NHWC)
    assert expansion.type_of(then, "t") == ValueInfo("t", FLOAT, NHWC)


def test_a_call_in_a_branch_reads_from_outside(tmp_path: Path) -> None:
    made = model(
        [if_node([call("F", "a", "t")], "t", "e", "y")],
        [tensor("c", BOOL), f32("a", *NHWC)],
        [UNTYPED],
        functions=[function("F", [node("Abs", ["in"], ["out"])])],
        opsets=IMPORTS,
    )
    expansion = expanded(tmp_path, made)
    assert paths(expansion) == [("", 1), ("if0/else_branch", 1), ("if0/then_branch", 1), ("local::F", 1)]
    leaf = scope_of(expansion, "local::F")
    assert leaf.calls == ((2, 0),)
    assert leaf.types["in"] == ValueInfo("in", FLOAT, NHWC)


def test_nesting_through_function_loop_and_if(tmp_path: Path) -> None:
    expansion = case(tmp_path, "t8_if_in_loop_in_function")
    then = scope_of(expansion, "local::Nest/loop0/body/if0/then_branch")
    assert expansion.type_of(then, "a") == ValueInfo("a", FLOAT, NHWC)  # two scopes up
    assert [scope.path.count("/") for scope in expansion.scopes] == [0, 0, 2, 4, 4]


def test_a_body_input_hides_an_outer_tensor(tmp_path: Path) -> None:
    """Scan over `x`: inside, `x` is one slice."""
    repeated = body([node("Relu", ["x"], ["each"])], [f32("x", 8)], [helper.make_empty_tensor_value_info("each")])
    scan = node("Scan", ["x"], ["y"], "scan0", body=repeated, num_scan_inputs=1)
    expansion = expanded(tmp_path, model([scan], [f32("x", 3, 8)], [UNTYPED]))
    main, inside = expansion.scopes
    assert expansion.type_of(main, "x").shape == (3, 8)
    assert expansion.type_of(inside, "x").shape == (8,)
    assert expansion.type_of(inside, "each").shape == (8,)
    assert expansion.type_of(main, "y").shape == (3, 8)


def test_inputs_that_a_call_leaves_out(tmp_path: Path) -> None:
    inner = [node("Clip", ["in", "low", "high"], ["out"])]
    clip = function("F", inner, ["in", "low", "high"])
    nodes = [
        node("F", ["x", "", "limit"], ["a"], domain="local"),
        node("F", ["a"], ["b"], domain="local"),
        node("F", ["b", "limit", "limit", "limit"], ["y"], domain="local"),
    ]
    made = model(nodes, [f32("x", 2)], [UNTYPED], [f32("limit")], initializers=[], functions=[clip], opsets=IMPORTS)
    expansion = expanded(tmp_path, made)
    unknown = ValueInfo("low"), ValueInfo("high")
    assert [scope.types.get("low") for scope in expansion.scopes[1:3]] == [unknown[0]] * 2
    assert expansion.scopes[1].types["high"] == ValueInfo("high", FLOAT, ())
    assert expansion.scopes[2].types["high"] == unknown[1]


def test_ids_are_unique_in_every_scope(tmp_path: Path) -> None:
    (main,) = case(tmp_path, "t9_names").scopes
    # Two without a name go by their output, two called "n" get their index.
    assert [node.id for node in main.nodes] == ["r1", "r2", "n#2", "n#3", "dd1", "dd2"]


def test_a_failure_of_inference_is_noted_with_its_scope(tmp_path: Path) -> None:
    wrong = model([node("Relu", ["w"], ["y"])], [], [UNTYPED], [f32("w", 2)], initializers=[ints("w", 1, 2)])
    (note,) = expanded(tmp_path, wrong).notes
    assert note.startswith("shape inference failed and its result is not used: [TypeInferenceError] Inferred elem type")


def test_hints_reach_every_scope(tmp_path: Path) -> None:
    inner = [dispatch("dd", ["in"], ["d"], ["a"]), cast_avx("d", "out", FLOAT)]
    made = calls(function("F", inner), nodes=[call("F", "x", "m"), dispatch("dd2", ["m"], ["y"], ["b"])])
    d, y = ValueInfo("d", BFLOAT16, (3,)), ValueInfo("y", FLOAT, (4,))
    main, leaf = expanded(tmp_path, made, {"dd": {"d": d}, "dd2": {"y": y}}).scopes
    assert (main.types["y"], leaf.types["d"]) == (y, d)
    assert main.types["m"] == ValueInfo("m", FLOAT, (3,))
    assert (main.assumed, leaf.assumed) == (frozenset(), frozenset())


def test_outputs_of_dd_nodes_that_nothing_types_are_listed_per_scope(tmp_path: Path) -> None:
    inner = [dispatch("dd", ["in"], ["d"], ["a"], output_shape_0=NHWC), cast_avx("d", "out", FLOAT)]
    made = calls(function("F", inner), nodes=[call("F", "x", "m"), dispatch("dd2", ["m"], ["y"], ["b"])])
    main, leaf = expanded(tmp_path, made).scopes
    assert (main.assumed, leaf.assumed) == ({"y"}, {"d"})
    assert main.types["y"] == ValueInfo("y", BFLOAT16)


def test_initializers_by_name(tmp_path: Path) -> None:
    made = model([node("Reshape", ["x", "s"], ["y"])], [bf16("x", 4)], [UNTYPED], initializers=[ints("s", 2, 2)])
    (main,) = expanded(tmp_path, made).scopes
    assert main.initializers["s"].dims == (2,)
    assert main.types["y"] == ValueInfo("y", BFLOAT16, (2, 2))


def test_all_nodes_is_found_here_too(tmp_path: Path) -> None:
    expansion = case(tmp_path, "t7_if")
    assert len(list(all_nodes(expansion.scopes[0].nodes))) == 5


def test_hints_are_those_of_the_dd_node(tmp_path: Path) -> None:
    """Two DD nodes in two branches make a `d` each, of different shapes."""
    branches = {
        f"{name}_branch": body([dispatch(name, ["x"], ["d"], ["a"])], [], [f32("d", None)]) for name in ("then", "else")
    }
    made = model([node("If", ["c"], ["y"], "if0", **branches)], [tensor("c", BOOL), f32("x", 4)], [UNTYPED])
    hints = {"then": {"d": ValueInfo("d", shape=(3,))}, "else": {"d": ValueInfo("d", shape=(5,))}}
    found = {scope.path: scope.types for scope in expanded(tmp_path, made, hints).scopes}
    assert found["if0/then_branch"]["d"].shape == (3,)
    assert found["if0/else_branch"]["d"].shape == (5,)
