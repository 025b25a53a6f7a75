"""The walk over the wire format, held against protobuf's own parser: it keeps what that reads, and refuses no more."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto

from ddinspect.onnxfile.model import Payload
from ddinspect.onnxfile.wire import KEPT_STRING, KEPT_TENSOR, WireError, bytes_field, fields, strip

MARK = "\0mark\0"
BIG = bytes(range(256)) * 5  # 1280 bytes

# Field numbers of onnx.proto.
GRAPH, FUNCTIONS, TRAINING = 7, 25, 20
NODE, INITIALIZER, SPARSE_INITIALIZER = 1, 5, 15


def tensor(size: int, name: str = "w") -> TensorProto:
    return TensorProto(name=name, data_type=TensorProto.UINT8, dims=[size], raw_data=BIG[:1] * size)


def of_graph(graph: GraphProto) -> bytes:
    return ModelProto(graph=graph).SerializeToString()


def of_tensor(content: bytes) -> bytes:
    """A model with one initializer, written by hand."""
    return bytes_field(GRAPH, bytes_field(INITIALIZER, content))


def stripped(file: bytes) -> tuple[ModelProto, list[Payload]]:
    structure, payloads = strip(file, MARK)
    return ModelProto.FromString(structure), payloads


def the_tensor(made: ModelProto) -> TensorProto:
    return made.graph.initializer[0]


@pytest.mark.parametrize(("size", "is_kept"), [(0, True), (1, True), (KEPT_TENSOR, True), (KEPT_TENSOR + 1, False)])
def test_a_tensor_of_up_to_1024_bytes_is_kept(size: int, is_kept: bool) -> None:
    file = of_graph(GraphProto(initializer=[tensor(size)]))
    made, payloads = stripped(file)
    if is_kept:
        assert made == ModelProto.FromString(file)
        assert payloads == []
    else:
        assert the_tensor(made) == TensorProto(name="w", data_type=2, dims=[size], doc_string=f"{MARK}0")
        assert payloads == [Payload(file.index(BIG[:1] * size), size, "raw_data")]


@pytest.mark.parametrize(
    ("field", "values", "encoded"),
    [
        ("float_data", [0.5] * 400, struct.pack("<400f", *[0.5] * 400)),
        ("double_data", [0.5] * 200, struct.pack("<200d", *[0.5] * 200)),
        ("int32_data", [3] * 1100, b"\x03" * 1100),
        ("int64_data", [300] * 600, b"\xac\x02" * 600),  # 300 as a varint: the example in protobuf's encoding guide
        ("uint64_data", [150] * 600, b"\x96\x01" * 600),  # 150: the same
    ],
)
def test_typed_fields_are_left_out_too(field: str, values: list[float], encoded: bytes) -> None:
    content = TensorProto(dims=[len(values)])
    getattr(content, field).extend(values)
    file = of_graph(GraphProto(initializer=[content]))
    made, payloads = stripped(file)
    assert payloads == [Payload(file.index(encoded), len(encoded), field)]
    assert not getattr(the_tensor(made), field)


def places() -> Iterator[tuple[str, ModelProto]]:
    """Every place in a model where a tensor can stand."""
    w, sparse = tensor(2000), SparseTensorProto(values=tensor(2000), indices=tensor(10), dims=[9])
    attributes = {
        "tensor": AttributeProto(name="value", t=w),
        "tensors": AttributeProto(name="values", tensors=[tensor(1), w]),
        "sparse": AttributeProto(name="sparse_value", sparse_tensor=sparse),
        "sparse tensors": AttributeProto(name="sparse_values", sparse_tensors=[sparse]),
        "body": AttributeProto(name="body", g=GraphProto(initializer=[w])),
        "bodies": AttributeProto(name="bodies", graphs=[GraphProto(), GraphProto(initializer=[w])]),
    }
    for name, attribute in attributes.items():
        made = ModelProto()
        made.graph.node.add(attribute=[attribute])
        yield name, made
        deeper = ModelProto()
        deeper.graph.node.add().attribute.add().g.CopyFrom(made.graph)
        yield f"{name} in a body", deeper
    yield "sparse initializer", ModelProto(graph=GraphProto(sparse_initializer=[sparse]))
    in_function = ModelProto()
    in_function.functions.add().node.add(attribute=[attributes["tensor"]])
    yield "function", in_function
    default = ModelProto()
    default.functions.add().attribute_proto.add().t.CopyFrom(w)
    yield "default of a function", default
    training = ModelProto()
    training.training_info.add().initialization.initializer.append(w)
    yield "training, initialization", training
    training = ModelProto()
    training.training_info.add().algorithm.initializer.append(w)
    yield "training, algorithm", training


@pytest.mark.parametrize("made", [pytest.param(made, id=name) for name, made in places()])
def test_wherever_a_tensor_stands(made: ModelProto) -> None:
    values = BIG[:1] * 2000
    file = made.SerializeToString()
    structure, payloads = strip(file, MARK)
    assert payloads == [Payload(file.index(values), 2000, "raw_data")]
    assert len(structure) < 200
    # Put back, the model is what it was.
    assert put_back(ModelProto.FromString(structure), file, payloads) == made


def put_back(message: ModelProto, file: bytes, payloads: list[Payload]) -> ModelProto:
    """Undo `strip`, by what it promises about marks, offsets and sizes."""
    for each in below(message):
        if isinstance(each, TensorProto) and each.doc_string.startswith(MARK):
            payload = payloads[int(each.doc_string.removeprefix(MARK))]
            values = file[payload.offset : payload.offset + payload.size]
            each.ClearField("doc_string")
            if payload.field:
                values = bytes_field(each.DESCRIPTOR.fields_by_name[payload.field].number, values)
            stored = TensorProto.FromString(values)
            for field in stored.DESCRIPTOR.fields:
                if not field.name.endswith("_data") or field.name == "external_data":  # the bytes may span other fields
                    stored.ClearField(field.name)
            each.MergeFrom(stored)
    return message


def below(message: object) -> Iterator[object]:
    yield message
    for field, value in message.ListFields():  # type: ignore[attr-defined]
        if field.message_type is not None:
            for each in value if hasattr(value, "append") else [value]:
                yield from below(each)


def test_blobs_in_strings_are_left_out_but_not_what_is_read() -> None:
    short, long = b"a" * KEPT_STRING, b"b" * (KEPT_STRING + 1)
    node = NodeProto(attribute=[AttributeProto(name="s", s=short), AttributeProto(name="t", s=long)])
    file = of_graph(GraphProto(node=[node]))
    made, payloads = stripped(file)
    assert [attribute.s for attribute in made.graph.node[0].attribute] == [short, b""]
    assert payloads == [Payload(file.index(long), len(long), "s")]


def test_a_mark_in_the_doc_string_is_ours() -> None:
    left_out, foreign = tensor(2000), tensor(1000)
    left_out.doc_string = "what somebody wrote"
    foreign.doc_string = "x" * 2000
    made, _ = stripped(of_graph(GraphProto(initializer=[left_out, foreign])))
    assert [each.doc_string for each in made.graph.initializer] == [f"{MARK}0", ""]


# In all of these the values are spread over several fields, and the parser is the one who knows what they make.
RAW, FLOATS, STRINGS = 9, 4, 6
FLOAT_BITS = struct.pack("<f", 0.5)
SPREAD = {
    "unpacked floats": b"\x25" + FLOAT_BITS,  # field 4, wire type 5
    "packed floats in runs": bytes_field(FLOATS, FLOAT_BITS * 100),
    "strings": bytes_field(STRINGS, b"word"),
    "long strings": bytes_field(STRINGS, b"w" * 1100),
    "raw data, the last counts": bytes_field(RAW, b"w" * 1100),
}


@pytest.mark.parametrize("once", SPREAD.values(), ids=SPREAD)
def test_values_in_several_fields_are_one_payload(once: bytes) -> None:
    name, dims = bytes_field(8, b"w"), b"\x08\x05"
    values = once * 300
    file = of_tensor(name + values + dims)
    structure, payloads = strip(file, MARK)
    assert payloads == [Payload(file.index(values), len(values), "")]
    assert len(structure) < 40
    made = ModelProto.FromString(structure)
    assert (the_tensor(made).name, list(the_tensor(made).dims)) == ("w", [5])
    assert put_back(made, file, payloads) == ModelProto.FromString(file)


def test_raw_data_as_a_number_is_no_raw_data() -> None:
    """Wire type 0 on field 9: the parser puts it with the unknown fields."""
    file = of_tensor(bytes_field(8, b"w" * 2000) + b"\x48\x05")
    made, payloads = stripped(file)
    assert payloads == []
    assert made == ModelProto.FromString(file)


@pytest.mark.parametrize("number", [GRAPH, 5])
def test_a_field_written_twice_is_merged_by_the_parser(number: int) -> None:
    """`graph` of a model: nodes of both. `t` of an attribute: dims of both, values of the last."""
    first, second = tensor(2000, "a"), tensor(100, "b")
    if number == GRAPH:
        parts = [GraphProto(name=each.name, initializer=[each]).SerializeToString() for each in (first, second)]
        file = b"".join(bytes_field(GRAPH, part) for part in parts)
    else:
        attribute = b"".join(bytes_field(5, each.SerializeToString()) for each in (first, second))
        file = bytes_field(GRAPH, bytes_field(NODE, bytes_field(5, attribute)))
    made, payloads = stripped(file)
    assert put_back(made, file, payloads) == ModelProto.FromString(file)


def test_unknown_fields_and_groups_are_carried_along() -> None:
    unknown = bytes_field(999, b"u" * 2000) + b"\xc3\x3e\x08\x01\xc4\x3e"  # field 999; group 1000 with a number in it
    file = bytes_field(GRAPH, bytes_field(INITIALIZER, tensor(2000).SerializeToString() + unknown)) + unknown
    made, payloads = stripped(file)
    assert put_back(made, file, payloads) == ModelProto.FromString(file)


def nested(levels: int) -> bytes:
    """A model with a body in a body in a body, built from the inside out."""
    graph = bytes_field(10, b"d" * 2000)  # doc_string: long, so that every level is entered
    for _ in range(levels):
        graph = bytes_field(NODE, bytes_field(5, bytes_field(6, graph)))
    return bytes_field(GRAPH, graph)


def test_nesting_is_followed_as_deep_as_the_parser_goes() -> None:
    # protobuf refuses more than 100 messages in one another: the graph, and three per level.
    assert stripped(nested(33))[0] == ModelProto.FromString(nested(33))
    with pytest.raises(DecodeError):
        ModelProto.FromString(nested(34))
    with pytest.raises(WireError, match="nested more than 100 deep"):
        strip(nested(34), MARK)


@pytest.mark.parametrize("file", [nested(10_000), b"\x0b" * 10_000], ids=["messages", "groups"])
def test_deep_nesting_is_refused(file: bytes) -> None:
    with pytest.raises(WireError, match="nested more than 100 deep"):
        strip(file, MARK)


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (b"\x08", "the file ends inside a number at byte 1"),
        (b"\x08\x80", "the file ends inside a number at byte 1"),
        (b"\x08" + b"\x80" * 10, "a number of more than ten bytes at byte 1"),
        (b"\x08\x01\x3a\x05ab", "a field of 5 bytes where 2 are left at byte 4"),
        (b"\x3a" + b"\xff" * 9 + b"\x01", "a field of 18446744073709551615 bytes where 0 are left at byte 11"),
        (b"\x0d\x00\x00", "a field of 4 bytes where 2 are left at byte 1"),
        (b"\x09\x00\x00", "a field of 8 bytes where 2 are left at byte 1"),
        (b"\x00\x01", "field number 0"),
        (b"\x80\x80\x80\x80\x10\x01", "field number 536870912"),
        (b"\x0e", "wire type 6"),
        (b"\x0c", "wire type 4"),
        (b"\x0b\x08\x01", "a group that does not end at byte 3"),
        (b"\x0b\x14", "a group that ends as another one"),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(file: bytes, problem: str) -> None:
    with pytest.raises(WireError, match=problem):
        strip(file, MARK)
    with pytest.raises(DecodeError):
        ModelProto.FromString(file)


def test_fields() -> None:
    # 08 01: field 1, a number. 3a 02 ..: field 7, two bytes. 25 ....: field 4, four bytes. 11 ........: field 2, eight.
    file = b"\x08\x01\x3a\x02ab\x25\0\0\0\0\x11\0\0\0\0\0\0\0\0"
    assert list(fields(file, 0, len(file))) == [
        (1, 0, 0, 1, 2), (7, 2, 2, 4, 6), (4, 5, 6, 7, 11), (2, 1, 11, 12, 20)
    ]  # fmt: skip


# Random bytes are rarely a message; pieces of one often are.
PIECES = st.lists(
    st.one_of(
        st.binary(max_size=4),
        st.builds(lambda number, wire: bytes([number << 3 | wire]), st.integers(0, 15), st.integers(0, 7)),
        st.builds(bytes_field, st.sampled_from([1, 4, 5, 6, 7, 9, 15, 20, 25, 999]), st.binary(max_size=6)),
        st.builds(lambda n: bytes_field(9, b"w" * n), st.integers(1020, 1030)),
    ),
    max_size=6,
).map(b"".join)
WRAPPED = st.recursive(
    PIECES,
    lambda inner: st.builds(
        lambda parts: b"".join(bytes_field(number, content) for number, content in parts),
        st.lists(st.tuples(st.sampled_from([1, 2, 5, 6, 7, 10, 11, 15, 20, 22, 25]), inner), min_size=1, max_size=3),
    ),
    max_leaves=6,
)


@given(WRAPPED)
def test_refuses_nothing_that_protobuf_reads(file: bytes) -> None:
    try:
        parsed = ModelProto.FromString(file)
    except DecodeError:
        return
    made, payloads = stripped(file)
    assert without_comments(put_back(made, file, payloads)) == without_comments(parsed)


def without_comments(made: ModelProto) -> bytes:
    """What counts in a model, in a form that takes NaN for equal to itself."""
    for message in below(made):
        if isinstance(message, (TensorProto, AttributeProto)):
            message.ClearField("doc_string")
    made.DiscardUnknownFields()
    return made.SerializeToString(deterministic=True)


def test_a_number_has_ten_bytes_at_most() -> None:
    ten, eleven = b"\x80" * 9 + b"\x01", b"\x80" * 10 + b"\x01"
    assert strip(b"\x08" + ten, "mark") == (b"\x08" + ten, [])
    with pytest.raises(WireError, match="a number of more than ten bytes at byte 1"):
        strip(b"\x08" + eleven, "mark")
