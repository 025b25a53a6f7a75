"""Random models: what was frozen is what onnx's own parser sees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    TrainingInfoProto,
    TypeProto,
    ValueInfoProto,
    helper,
)

from ddinspect.onnxfile.convert import external_data, model_from_proto, opset_imports, value_info
from ddinspect.onnxfile.model import ExternalData, Graph, Model, Node, Tensor, ValueInfo
from ddinspect.onnxfile.wire import KEPT_STRING, KEPT_TENSOR, bytes_field, strip
from fixtures.small_graphs.build import f32, node, tensor

MARK = "\0mark\0"
VALUES = ("float_data", "int32_data", "string_data", "int64_data", "raw_data", "double_data", "uint64_data")


def frozen(file: bytes) -> Model:
    structure, payloads = strip(file, MARK)
    proto = ModelProto.FromString(structure)
    return model_from_proto(
        proto, path="m.onnx", file_size=len(file), structure=structure, mark=MARK, payloads=payloads
    )


def frozen_graph(made: GraphProto) -> Graph:
    return frozen(ModelProto(graph=made).SerializeToString()).graph


# --- random models -----------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["", "a", "b", "a#1", "x/y", "\n[b]\x1b", "\u6a21"])
SIZES = st.sampled_from([0, 1, 3, KEPT_TENSOR // 4, KEPT_TENSOR + 1])
FLOATS = st.sampled_from([0.0, -0.5, 3.0e38, math.inf, math.nan])
INT64 = st.integers(-(2**63), 2**63 - 1)


@st.composite
def tensors(draw: st.DrawFn) -> TensorProto:
    size = draw(SIZES)
    made = TensorProto(name=draw(NAMES), doc_string=draw(NAMES), dims=[size])
    field = draw(st.sampled_from(VALUES))
    value: Any = {"raw_data": b"r", "string_data": b"s", "float_data": 0.5, "double_data": 0.25}.get(field, 300)
    if field == "raw_data":
        made.raw_data = value * size
    else:
        getattr(made, field).extend([value] * size)
    made.data_type = draw(st.integers(0, 30))
    return made


SPARSE = st.builds(SparseTensorProto, values=tensors(), indices=tensors(), dims=st.lists(INT64, max_size=3))
VALUE_INFO = st.builds(
    tensor, NAMES, st.integers(1, 28), st.none() | st.integers(0, 2**63 - 1) | st.sampled_from(["batch", "None"])
)


def attributes(graphs: st.SearchStrategy[GraphProto]) -> st.SearchStrategy[AttributeProto]:
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "f": FLOATS,
        "i": INT64,
        "s": st.binary(max_size=8) | st.just(KEPT_STRING + 1).map(bytes),
        "t": tensors(),
        "g": graphs,
        "sparse_tensor": SPARSE,
        "tp": st.just(TypeProto(denotation="x")),
        "floats": st.lists(FLOATS, max_size=3),
        "ints": st.lists(INT64, max_size=3),
        "strings": st.lists(st.binary(max_size=8), max_size=3),
        "tensors": st.lists(tensors(), max_size=2),
        "graphs": st.lists(graphs, max_size=2),
        "sparse_tensors": st.lists(SPARSE, max_size=1),
        "type_protos": st.just([TypeProto()]),
    }
    types = {
        "f": 1, "i": 2, "s": 3, "t": 4, "g": 5, "sparse_tensor": 11, "tp": 13, "floats": 6, "ints": 7, "strings": 8,
        "tensors": 9, "graphs": 10, "sparse_tensors": 12, "type_protos": 14,
    }  # fmt: skip
    return st.one_of(
        st.builds(
            lambda name, value, doc, kind=kind: AttributeProto(
                name=name, doc_string=doc, type=types[kind], **{kind: value}
            ),
            NAMES,
            values,
            NAMES,
        )
        for kind, values in kinds.items()
    )


def nodes(graphs: st.SearchStrategy[GraphProto]) -> st.SearchStrategy[NodeProto]:
    return st.builds(
        lambda attribute, **fields: NodeProto(attribute={each.name: each for each in attribute}.values(), **fields),
        st.lists(attributes(graphs), max_size=3),
        op_type=NAMES,
        domain=NAMES,
        name=NAMES,
        overload=NAMES,
        input=st.lists(NAMES, max_size=2),
        output=st.lists(NAMES, max_size=2),
    )


def graph_of(inner: st.SearchStrategy[GraphProto]) -> st.SearchStrategy[GraphProto]:
    infos = st.lists(VALUE_INFO, max_size=2)
    return st.builds(
        GraphProto,
        name=NAMES,
        node=st.lists(nodes(inner), max_size=2),
        initializer=st.lists(tensors(), max_size=2),
        sparse_initializer=st.lists(SPARSE, max_size=1),
        input=infos,
        output=infos,
        value_info=infos,
    )


GRAPHS = st.recursive(graph_of(st.just(GraphProto())), graph_of, max_leaves=3)
FUNCTIONS = st.builds(
    FunctionProto,
    name=NAMES,
    domain=NAMES,
    overload=NAMES,
    input=st.lists(NAMES, max_size=2),
    node=st.lists(nodes(GRAPHS), max_size=2),
    value_info=st.lists(VALUE_INFO, max_size=2),
)
MODELS = st.builds(
    ModelProto,
    ir_version=INT64,
    producer_name=NAMES,
    graph=GRAPHS,
    functions=st.lists(FUNCTIONS, max_size=2),
    training_info=st.lists(st.builds(TrainingInfoProto, initialization=GRAPHS, algorithm=GRAPHS), max_size=1),
)


@st.composite
def models(draw: st.DrawFn) -> ModelProto:
    """What `MODELS` makes, without its long name, which hypothesis would print."""
    return draw(MODELS)


class Compare:
    """Asserts that frozen values say what onnx's parser reads in the same file."""

    def __init__(self, file: bytes) -> None:
        self.file = file

    def tensor(self, ours: Tensor, theirs: TensorProto) -> None:
        assert (ours.name, ours.dtype, ours.dims) == (theirs.name, theirs.data_type, tuple(theirs.dims))
        self.values(ours, theirs)

    def values(self, ours: Tensor, theirs: TensorProto) -> None:
        if ours.payload is None:
            stored = TensorProto.FromString(ours.inline or b"")
        else:
            values = self.file[ours.payload.offset : ours.payload.offset + ours.payload.size]
            if ours.payload.field == "raw_data":
                assert values == theirs.raw_data
            if ours.payload.field:
                values = bytes_field(theirs.DESCRIPTOR.fields_by_name[ours.payload.field].number, values)
            stored = TensorProto.FromString(values)
        for field in VALUES:
            assert getattr(stored, field) == getattr(theirs, field)

    def sparse(self, ours: Tensor, theirs: SparseTensorProto) -> None:
        assert (ours.name, ours.dtype) == (theirs.values.name, theirs.values.data_type)
        assert (ours.dims, ours.sparse) == (tuple(theirs.dims), True)
        self.values(ours, theirs.values)

    def graph(self, ours: Graph, theirs: GraphProto) -> None:
        dense = len(theirs.initializer)
        names = {each.name for each in ours.initializers}
        assert ours.name == theirs.name
        for mine, other in zip(ours.initializers[:dense], theirs.initializer, strict=True):
            self.tensor(mine, other)
        for mine, other in zip(ours.initializers[dense:], theirs.sparse_initializer, strict=True):
            self.sparse(mine, other)
        self.infos(ours.inputs, [info for info in theirs.input if info.name not in names])
        self.infos(ours.outputs, theirs.output)
        self.infos(ours.value_info, theirs.value_info)
        self.nodes(ours.nodes, theirs.node)

    def infos(self, ours: Sequence[ValueInfo], theirs: Sequence[ValueInfoProto]) -> None:
        for mine, other in zip(ours, theirs, strict=True):
            (dim,) = other.type.tensor_type.shape.dim
            expected = getattr(dim, dim.WhichOneof("value")) if dim.WhichOneof("value") else None
            assert mine == ValueInfo(other.name, other.type.tensor_type.elem_type, (expected,))

    def nodes(self, ours: Sequence[Node], theirs: Sequence[NodeProto]) -> None:
        assert len({mine.id for mine in ours}) == len(theirs)
        for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            assert mine.index == index
            assert mine.function_key == (other.domain, other.op_type, other.overload)
            assert (mine.name, mine.inputs, mine.outputs) == (other.name, tuple(other.input), tuple(other.output))
            assert list(mine.attributes) == [each.name for each in other.attribute]
            for each in other.attribute:
                self.attribute(mine.attributes[each.name], each)

    def attribute(self, ours: Any, theirs: AttributeProto) -> None:
        kind = AttributeProto.AttributeType.Name(theirs.type)
        value = None if kind in ("TYPE_PROTO", "TYPE_PROTOS") else helper.get_attribute_value(theirs)
        if kind == "TENSOR":
            self.tensor(ours, value)
        elif kind == "SPARSE_TENSOR":
            self.sparse(ours, value)
        elif kind == "GRAPH":
            self.graph(ours, value)
        elif kind in ("TENSORS", "GRAPHS", "SPARSE_TENSORS"):
            compare = {"TENSORS": self.tensor, "GRAPHS": self.graph, "SPARSE_TENSORS": self.sparse}[kind]
            for mine, other in zip(ours, value, strict=True):
                compare(mine, other)
        elif kind == "STRING" and len(value) > KEPT_STRING:
            assert ours is None
        elif kind in ("FLOATS", "INTS", "STRINGS"):
            assert all(map(same, ours, value))
            assert len(ours) == len(value)
        else:
            assert same(ours, value)


def same(ours: object, theirs: object) -> bool:
    both_nan = isinstance(ours, float) and isinstance(theirs, float) and math.isnan(ours) and math.isnan(theirs)
    return type(ours) is type(theirs) and (ours == theirs or both_nan)


@settings(deadline=None, max_examples=150)
@given(models())
def test_random_models_are_read_as_onnx_reads_them(made: ModelProto) -> None:
    file = made.SerializeToString()
    theirs = ModelProto.FromString(file)
    ours = frozen(file)
    compare = Compare(file)
    compare.graph(ours.graph, theirs.graph)
    assert ours.ir_version == theirs.ir_version
    assert ours.producer == theirs.producer_name
    firsts: dict[tuple[str, str, str], FunctionProto] = {}
    for function in theirs.functions:
        firsts.setdefault((function.domain, function.name, function.overload), function)
    assert list(ours.functions) == list(firsts)
    for mine, other in zip(ours.functions.values(), firsts.values(), strict=True):
        assert mine.inputs == tuple(other.input)
        compare.infos(mine.value_info, other.value_info)
        compare.nodes(mine.nodes, other.node)
    for left_over in all_tensors(ModelProto.FromString(ours.structure)):
        assert left_over.ByteSize() <= KEPT_TENSOR + 100  # name, dims, doc_string


def all_tensors(message: Any) -> list[TensorProto]:
    if isinstance(message, TensorProto):
        return [message]
    found = []
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if hasattr(value, "append") else [value]:
                found += all_tensors(each)
    return found


# --- single facts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a"], ["a#0", "a#1"]),
        (["a", "a", "a#1"], ["a#0", "a#1#1", "a#1"]),
        (["", "b"], ["out0", "b"]),
        (["", "out0"], ["out0#0", "out0#1"]),
        (["a#2", "a", "a", "a#1"], ["a#2", "a#1#1", "a#2#2", "a#1"]),
    ],
)
def test_ids_are_unique(names: list[str], ids: list[str]) -> None:
    made = GraphProto(node=[node("Relu", [], [f"out{i}"], name) for i, name in enumerate(names)])
    assert [each.id for each in frozen_graph(made).nodes] == ids


def test_a_node_without_name_and_outputs_has_an_id() -> None:
    made = GraphProto(node=[node("Relu", [], []), node("Relu", [], ["", "b"]), node("Relu", [], [], "#0")])
    assert [each.id for each in frozen_graph(made).nodes] == ["#0#0", "b", "#0"]


def test_initializers_are_no_inputs() -> None:
    """IR version 3 lists them among the inputs."""
    made = GraphProto(
        input=[f32("x"), f32("w"), f32("s")],
        initializer=[TensorProto(name="w")],
        sparse_initializer=[SparseTensorProto(values=TensorProto(name="s"))],
    )
    assert [info.name for info in frozen_graph(made).inputs] == ["x"]


def test_a_reference_to_an_attribute_of_the_function_has_no_value() -> None:
    made = node("Cast", ["x"], ["y"])
    made.attribute.add(name="to", type=AttributeProto.INT, ref_attr_name="dtype")
    made.attribute.add(name="perm", type=AttributeProto.INTS, ref_attr_name="axes")
    assert frozen_graph(GraphProto(node=[made])).nodes[0].attributes == {"to": None, "perm": None}


def test_dims() -> None:
    """A number, 0, a symbol, nothing, a symbol that says None, an empty symbol, a negative number."""
    info = tensor("x", 1, 4, 0, "batch", None, "None", "", -1)
    assert value_info(info).shape == (4, 0, "batch", None, "None", None, None)


def test_a_type_without_shape_and_a_scalar() -> None:
    assert value_info(helper.make_tensor_value_info("x", 1, None)) == ValueInfo("x", 1, None)
    assert value_info(helper.make_tensor_value_info("x", 1, [])) == ValueInfo("x", 1, ())
    assert value_info(helper.make_sparse_tensor_value_info("x", 1, [2])) == ValueInfo("x", 1, (2,))
    assert value_info(helper.make_tensor_sequence_value_info("x", 1, [2])) == ValueInfo("x")
    assert value_info(ValueInfoProto(name="x")) == ValueInfo("x")


def external(place: int = TensorProto.EXTERNAL, **stated: str) -> TensorProto:
    made = TensorProto(name="w", data_type=1, dims=[2], data_location=place)
    for key, value in stated.items():
        made.external_data.add(key=key, value=value)
    return made


def test_external_data_is_taken_as_stated() -> None:
    made = external(location="..\\w.bin", offset="4096", length="8", checksum="x")
    (ours,) = frozen_graph(GraphProto(initializer=[made])).initializers
    assert ours.external == ExternalData("..\\w.bin", 4096, 8)
    assert (ours.payload, ours.inline) == (None, None)


@pytest.mark.parametrize("number", ["", "-1", "1.5", " 1", "0x10", "\u0663", "9" * 30, "nan"])
def test_external_numbers_that_are_none(number: str) -> None:
    assert external_data(external(location="w", offset=number, length=number)) == ExternalData("w", 0, None)


def test_external_data_counts_where_the_location_says_so() -> None:
    """As onnx's own loader decides: entries that were left behind mean nothing."""
    made = external(TensorProto.DEFAULT, location="gone.bin")
    made.float_data.extend([1, 2])
    (ours,) = frozen_graph(GraphProto(initializer=[made])).initializers
    assert ours.external is None
    assert list(TensorProto.FromString(ours.inline or b"").float_data) == [1, 2]


def test_the_default_domain_has_an_alias() -> None:
    assert opset_imports(ModelProto(opset_import=[helper.make_opsetid("ai.onnx", 17)])) == {"": 17}


def test_model_fields() -> None:
    made = ModelProto(ir_version=10, producer_name="p", producer_version="1.0", graph=GraphProto(name="g"))
    helper.set_model_props(made, {"key": "va\nlue"})
    made.opset_import.append(helper.make_opsetid("com.ryzenai", 1))
    ours = frozen(made.SerializeToString())
    assert (ours.path, ours.ir_version, ours.producer) == ("m.onnx", 10, "p 1.0")
    assert (ours.metadata, ours.opset_imports) == ({"key": "va\nlue"}, {"com.ryzenai": 1})
    assert ours.file_size == made.ByteSize()


# onnx.proto says string, protobuf's fast parser does not check it: field numbers of what is a name, and what is a text.
BAD = b"\xff\xfe"
NODE, ATTRIBUTE = 1, 5


@pytest.mark.parametrize(
    "graph",
    [
        bytes_field(2, BAD),  # name of the graph
        *(bytes_field(NODE, bytes_field(number, BAD)) for number in (1, 2, 3, 4, 7, 8)),
        bytes_field(NODE, bytes_field(ATTRIBUTE, bytes_field(1, BAD))),
        bytes_field(5, bytes_field(8, BAD)),  # name of an initializer
        bytes_field(11, bytes_field(1, BAD)),  # name of an input
        # A dim_param: type, tensor_type, shape, dim, dim_param.
        bytes_field(13, bytes_field(2, bytes_field(1, bytes_field(2, bytes_field(1, bytes_field(2, BAD)))))),
    ],
)
def test_a_name_that_is_not_utf8_is_refused(graph: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        frozen(bytes_field(7, graph))


def test_a_text_that_is_not_utf8_is_shown_escaped() -> None:
    property_ = bytes_field(14, bytes_field(1, b"author") + bytes_field(2, b"M\xfcller"))
    graph = bytes_field(7, bytes_field(5, bytes_field(12, BAD)))  # doc_string of an initializer
    ours = frozen(property_ + bytes_field(2, b"\xe9") + graph)
    assert ours.metadata == {"author": "M\\xfcller"}
    assert ours.producer == "\\xe9"


def test_external_tensors_are_collected_wherever_they_stand() -> None:
    def outside(name: str) -> TensorProto:
        made = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
        made.external_data.add(key="location", value=f"{name}.bin")
        return made

    sparse = SparseTensorProto(values=outside("values"), indices=outside("indices"), dims=[4])
    branch = GraphProto(name="then", initializer=[outside("in_body")])
    constant = helper.make_node("Constant", [], ["c"], value=outside("constant"))
    function = FunctionProto(name="f", attribute_proto=[helper.make_attribute("default", outside("default"))])
    made = ModelProto(
        graph=GraphProto(
            initializer=[outside("weight")],
            sparse_initializer=[sparse],
            node=[constant, helper.make_node("If", ["x"], [], then_branch=branch)],
        ),
        functions=[function],
    )
    found = {tensor.name for tensor in frozen(made.SerializeToString()).external}
    assert found == {"weight", "values", "indices", "constant", "in_body", "default"}


def test_ids_stay_unique_where_names_look_like_ids() -> None:
    names = ["a", "a", "a#1", "a#1#1"]
    made = ModelProto(graph=GraphProto(node=[node("Relu", ["x"], [f"y{i}"], name) for i, name in enumerate(names)]))
    assert [each.id for each in frozen(made.SerializeToString()).graph.nodes] == ["a#0", "a#1#1#1", "a#1", "a#1#1"]
