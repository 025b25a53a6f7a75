from __future__ import annotations

import pytest
from onnx import NodeProto, helper

from ddinspect.onnxfile.convert import model_from_proto
from ddinspect.onnxfile.dispatch import is_dispatch, model_type, repeated, replaced, stated_shape, text, xclbin
from ddinspect.onnxfile.model import Node, Shape
from fixtures.small_graphs.build import dispatch, model, node


def frozen(made: NodeProto) -> Node:
    proto = model([made], [], [])
    return model_from_proto(proto, path="", file_size=0, structure=b"", mark="\0", payloads=()).graph.nodes[0]


def dd(*names: str, **attributes: object) -> Node:
    return frozen(dispatch("dd", ["x"], ["y"], names, **attributes))


@pytest.mark.parametrize(
    ("stated", "shape"),
    [
        ([1, 64, 64, 4], (1, 64, 64, 4)),
        ([1, -1, 0], (1, None, 0)),
        ("2,16,h,w", (2, 16, "h", "w")),
        (" 2 , 16 ,h, w ", (2, 16, "h", "w")),
        ("1,-1,?,,0", (1, None, None, None, 0)),
        (["1", "8", "w/8", "4"], (1, 8, "w/8", 4)),
        (["1,8", "h"], (1, 8, "h")),
        # Digits that Python's int() takes and AMD's runtime does not, and more than an int64 holds.
        ("\u0663,1", (None, 1)),
        ("99999999999999999999,1", (None, 1)),
        ("9" * 5000, (None,)),
        ("2\n[bold],1", ("2\n[bold]", 1)),
        (b"\xff,1", ("\\xff", 1)),
        # Nothing stated, in each form.
        ("", None),
        ("  ", None),
        ([""], None),
        # Not a shape.
        (5, None),
        (1.5, None),
        ([1.0, 2.0], None),
    ],
)
def test_stated_shape(stated: object, shape: Shape) -> None:
    assert stated_shape(dd(output_shape_0=stated), "output", 0) == shape


def test_stated_shape_of_another_tensor_is_none() -> None:
    made = dd(output_shape_0=[1], input_shape_1=[2])
    assert stated_shape(made, "output", 1) is None
    assert stated_shape(made, "input", 0) is None
    assert stated_shape(made, "input", 1) == (2,)


def test_empty_ints_state_nothing() -> None:
    made = dispatch("dd", [], ["y"], [])
    made.attribute.append(helper.make_attribute("output_shape_0", [], attr_type=7))  # AttributeProto.INTS
    assert stated_shape(frozen(made), "output", 0) is None


def test_replaced_keeps_order_and_duplicates() -> None:
    assert replaced(dd("b", "a", "b")) == ("b", "a", "b")
    assert replaced(dd()) == ()


def test_replaced_as_one_string() -> None:
    assert replaced(frozen(node("DynamicDispatch", [], ["y"], replaced="a"))) == ("a",)


def test_replaced_that_is_no_utf8_is_shown_escaped() -> None:
    made = frozen(node("DynamicDispatch", [], ["y"], replaced=[b"a\xff", b"\xc3\xa9"]))
    assert replaced(made) == ("a\\xff", "\u00e9")


@pytest.mark.parametrize("attributes", [{}, {"replaced": [1, 2]}, {"replaced": 1}])
def test_replaced_is_none_where_there_are_no_names(attributes: dict[str, object]) -> None:
    assert replaced(frozen(node("DynamicDispatch", [], ["y"], **attributes))) is None


def test_repeated() -> None:
    assert repeated(("a", "b", "a", "c", "b", "a")) == ("a", "b")
    assert repeated(("a", "b")) == ()


# Numbers of AMD's enum: 0 UNET ... 5 SD15_DECODER ... 10 UNKNOWN.
@pytest.mark.parametrize(
    ("number", "name"), [(0, "UNET"), (4, "SD15_UNET"), (5, "SD15_DECODER"), (10, "UNKNOWN"), (11, "11"), (-1, "-1")]
)
def test_model_type(number: int, name: str) -> None:
    assert model_type(dd(model_type=number)) == name


@pytest.mark.parametrize("attributes", [{}, {"model_type": "UNET"}, {"model_type": [4]}])
def test_model_type_that_is_no_number(attributes: dict[str, object]) -> None:
    assert model_type(dd(**attributes)) is None


@pytest.mark.parametrize(
    ("op_type", "domain", "expected"),
    [
        ("DynamicDispatch", "com.ryzenai", True),
        ("DynamicDispatch", "", True),
        ("DynamicDispatch_SD", "elsewhere", True),
        ("dynamicdispatch", "com.ryzenai", False),
        ("Relu", "com.ryzenai", False),
    ],
)
def test_is_dispatch_in_any_domain(op_type: str, domain: str, expected: bool) -> None:
    assert is_dispatch(frozen(node(op_type, ["x"], ["y"], domain=domain))) is expected


def test_xclbin() -> None:
    assert xclbin(dd()) == "x"
    assert xclbin(frozen(node("DynamicDispatch", [], ["y"]))) is None
    assert xclbin(frozen(node("DynamicDispatch", [], ["y"], xclbin=1))) is None


def test_text_shows_what_is_no_utf8() -> None:
    assert text(b"\xe6\xa8\xa1\xfe") == "\u6a21\\xfe"
