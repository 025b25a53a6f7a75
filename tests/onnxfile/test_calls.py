from __future__ import annotations

from collections.abc import Mapping, Sequence

from ddinspect.onnxfile.calls import all_nodes, expanded_sizes, reachable
from ddinspect.onnxfile.model import Function, Graph, Model, Node, bodies_of


def node(op_type: str, *, domain: str = "", body: Sequence[Node] | None = None, overload: str = "") -> Node:
    attributes = {} if body is None else {"body": graph(body)}
    return Node(op_type, 0, "", op_type, domain, (), (), attributes, {}, overload, bodies_of(attributes))


def graph(nodes: Sequence[Node]) -> Graph:
    return Graph("g", (), (), tuple(nodes), (), ())


def model(functions: Mapping[str, Sequence[Node]], nodes: Sequence[Node] = ()) -> Model:
    keys = {name: ("local", name, "") for name in functions}
    made = {keys[name]: Function(keys[name], (), (), tuple(body), (), {}) for name, body in functions.items()}
    return Model("", 0, 10, "", {}, graph(nodes), made, {}, (), b"")


def call(name: str) -> Node:
    return node(name, domain="local")


def sizes(functions: Mapping[str, Sequence[Node]]) -> dict[str, int]:
    return {name: size for (_, name, _), size in expanded_sizes(model(functions)).items()}


def test_sizes_count_every_call() -> None:
    made = sizes({"leaf": [node("Relu")] * 3, "pair": [call("leaf"), call("leaf")], "top": [call("pair"), node("Abs")]})
    # leaf 3; pair 2 calls and 2 x 3; top a call, 8 and an Abs.
    assert made == {"leaf": 3, "pair": 8, "top": 10}
    assert list(made) == ["top", "pair", "leaf"]


def test_calls_in_bodies_count() -> None:
    assert sizes({"f": [node("If", body=[call("leaf"), call("leaf")])], "leaf": [node("Relu")]}) == {"f": 5, "leaf": 1}


def test_callers_come_first_whatever_the_order_in_the_file() -> None:
    functions = {"c": [node("Relu")], "b": [call("c")], "a": [call("c"), call("b")]}
    assert list(sizes(functions)) == ["a", "b", "c"]
    assert list(sizes(dict(reversed(functions.items())))) == ["a", "b", "c"]


def test_functions_that_call_themselves_are_left_out() -> None:
    made = sizes({
        "a": [call("b")], "b": [call("c"), call("leaf")], "c": [call("a")],  # a circle
        "self": [call("self")],
        "in": [call("a"), node("Relu")],  # calls into the circle: that call is one node
        "far": [call("in")],
        "leaf": [node("Relu")],  # called out of the circle, and all right
    })  # fmt: skip
    assert made == {"far": 3, "in": 2, "leaf": 1}


def test_overloads_are_functions_of_their_own() -> None:
    first, second = ("local", "f", ""), ("local", "f", "v2")
    functions = {
        first: Function(first, (), (), (node("f", domain="local", overload="v2"),), (), {}),
        second: Function(second, (), (), (node("Relu"),), (), {}),
    }
    made = Model("", 0, 10, "", {}, graph([]), functions, {}, (), b"")
    assert expanded_sizes(made) == {first: 2, second: 1}


def test_forty_levels_of_two_calls() -> None:
    functions = {f"f{i}": [call(f"f{i + 1}"), call(f"f{i + 1}")] for i in range(40)} | {"f40": [node("Relu")]}
    # One call at the top level comes to 2 + 4 + ... + 2^40 calls and 2^40 Relu.
    assert sizes(functions)["f0"] == 2**41 - 2 + 2**40


def test_all_nodes() -> None:
    inner = node("If", body=[node("Abs")])
    assert [each.op_type for each in all_nodes([node("Loop", body=[inner]), node("Add")])] == [
        "Loop", "If", "Abs", "Add"
    ]  # fmt: skip


def test_reachable_follows_calls_in_functions_and_bodies() -> None:
    functions = {"a": [node("If", body=[call("b")])], "b": [call("c")], "c": [call("b")], "other": [call("c")]}
    made = model(functions)
    assert {name for _, name, _ in reachable(made, [call("a")])} == {"a", "b", "c"}
    assert {name for _, name, _ in reachable(made, [call("other")])} == {"b", "c", "other"}
    assert reachable(made, [node("Relu"), call("missing")]) == set()
