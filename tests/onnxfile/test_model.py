from __future__ import annotations

from ddinspect.onnxfile.model import AttributeValue, Graph, Node, bodies_of


def graph(name: str) -> Graph:
    return Graph(name, (), (), (), (), ())


def node(attributes: dict[str, AttributeValue]) -> Node:
    return Node("n", 0, "n", "Op", "local", (), (), attributes, {}, overload="v2", bodies=bodies_of(attributes))


def test_bodies_are_graph_attributes_in_order() -> None:
    several = node({"else": graph("e"), "ints": (1, 2), "none": None, "empty": (), "cases": (graph("a"), graph("b"))})
    assert [(label, body.name) for label, body in several.bodies] == [("else", "e"), ("cases.0", "a"), ("cases.1", "b")]
    assert node({"axis": 1, "perm": (0, 1), "text": b"x"}).bodies == ()


def test_function_key_is_domain_name_overload() -> None:
    assert node({}).function_key == ("local", "Op", "v2")
