"""Graphs with a fault that no case of the small graphs has, each with a parameter that takes the fault away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, helper

from fixtures.small_graphs.base import NCHW, NHWC, between, block, block_types, small
from fixtures.small_graphs.build import (
    BFLOAT16,
    BOOL,
    DOMAIN,
    FLOAT,
    INT64,
    OPSETS,
    bf16,
    body,
    cast,
    cast_avx,
    dd_nodes,
    dispatch,
    f32,
    metadata,
    model,
    node,
    ops,
    save,
    tensor,
    transpose,
)
from fixtures.small_graphs.left_over import conditioned
from fixtures.small_graphs.report_text import offload_report
from fixtures.small_graphs.t01_vae_mini import OP_TYPES, t1_vae_mini, vae_mini
from fixtures.small_graphs.t05_external import DATA, LFS_POINTER, external

LOCAL = "local"
IMPORTS = {**OPSETS, LOCAL: 1}
TEXT = "onnx_report.txt"


def metadata_in_both_caches(folder: Path, *, second: bool = True) -> Path:
    path = save(folder, small())
    return save(folder, small(), cache=".cache") if second else path


def report_of(folder: Path, *, described: ModelProto, op_types: tuple[str, ...] = tuple(OP_TYPES)) -> Path:
    """T1 with the report of another graph."""
    path = t1_vae_mini(folder)
    (folder / TEXT).write_bytes(offload_report(described, op_types, width=120).encode())
    return path


def vae_with(*, op_type: str = "Transpose", rows: int = 64) -> ModelProto:
    """T1's graph with the op type or the input type of its first Transpose changed."""
    made = vae_mini()
    made.graph.node[0].op_type = op_type
    made.graph.input[0].type.tensor_type.shape.dim[2].dim_value = rows
    return made


def island_in_function(folder: Path, *, op_type: str = "Relu") -> Path:
    """A call between two DD nodes of a function that holds compute, or nothing but the casts."""
    inner = [cast_avx("in", "q", FLOAT), node(op_type, ["q"], ["r"], "inner"), cast_avx("r", "out", BFLOAT16)]
    if op_type == "CastAvx":
        inner = [cast_avx("in", "q", FLOAT), cast_avx("q", "out", BFLOAT16)]
    made = between([node("Block", ["m"], ["p"], "call", LOCAL)])
    made.functions.append(local_function("Block", inner))
    made.opset_import.append(helper.make_opsetid(LOCAL, 1))
    return save(folder, made)


def local_function(name: str, nodes: Sequence[NodeProto], imports: Mapping[str, int] = IMPORTS) -> FunctionProto:
    imported = [helper.make_opsetid(domain, version) for domain, version in imports.items()]
    return helper.make_function(LOCAL, name, ["in"], ["out"], nodes, imported)


def timestep(folder: Path, *, dtype: int = INT64, op_type: str = "Cast", straight: bool = False) -> Path:
    """An integer input that becomes BFLOAT16: by a cast to FLOAT and on, straight, or after a Sqrt in FLOAT."""
    if straight:
        nodes = [cast("timestep", "t_b", BFLOAT16)]
    else:
        last = [] if op_type == "Cast" else [node(op_type, ["t"], ["u"], "between")]
        nodes = [cast("timestep", "t", FLOAT), *last, cast_avx("u" if last else "t", "t_b", BFLOAT16)]
    inner = [] if straight else [f32("t", 1), f32("u", 1)]
    return save(folder, conditioned(nodes, tensor("timestep", dtype, 1), [1], inner))


def moved_ids(folder: Path, *, by_shape: bool = False) -> Path:
    """Ids through Unsqueeze, Expand, Concat and Transpose; or the length of the input in their place."""
    first = [node("Shape", ["ids"], ["n"], "shape")] if by_shape else [node("Identity", ["ids"], ["n"], "identity")]
    nodes = [
        *first,
        node("Unsqueeze", ["n", "zero"], ["u"], "unsqueeze"),
        node("Concat", ["u", "u"], ["pair"], "concat", axis=0),
        node("Cast", ["pair"], ["f"], "cast", to=FLOAT),
        node("Transpose", ["f"], ["g"], "transpose", perm=[1, 0]),
        cast_avx("g", "t_b", BFLOAT16),
    ]
    length = 1 if by_shape else 7
    zero = helper.make_tensor("zero", INT64, [1], [0])
    made = conditioned(nodes, tensor("ids", INT64, 7), [length, 2], [], [zero])
    return save(folder, made)


def timestep_in_function(folder: Path, *, dtype: int = INT64) -> Path:
    """The cast to BFLOAT16 stands in a function, the integer outside."""
    nodes = [cast("timestep", "t", FLOAT), node("ToBf16", ["t"], ["t_b"], "call", LOCAL)]
    made = conditioned(nodes, tensor("timestep", dtype, 1), [1], [f32("t", 1)])
    made.functions.append(local_function("ToBf16", [cast_avx("in", "out", BFLOAT16)]))
    made.opset_import.append(helper.make_opsetid(LOCAL, 1))
    return save(folder, made)


def timestep_in_branch(folder: Path, *, dtype: int = INT64) -> Path:
    """The cast to BFLOAT16 stands in both branches of an If, the integer outside."""
    branches = {
        f"{name}_branch": body([cast("t", f"{name}_t", BFLOAT16, "c")], [], [bf16(f"{name}_t", 1)])
        for name in ("then", "else")
    }
    yes = helper.make_tensor("yes", BOOL, [], [True])
    nodes = [cast("timestep", "t", FLOAT), node("If", ["yes"], ["t_b"], "if0", **branches)]
    return save(folder, conditioned(nodes, tensor("timestep", dtype, 1), [1], [f32("t", 1)], [yes]))


def untyped_output(folder: Path, *, with_metadata: bool = False) -> Path:
    """Only the metadata, if there is any, says what type the DD node's output has."""
    made = model(
        [
            cast_avx("x", "x_b", BFLOAT16),
            dispatch("dd", ["x_b"], ["y_b"], ["a"], input_shape_0=NHWC, output_shape_0=NHWC),
            cast_avx("y_b", "y", FLOAT),
        ],
        [f32("x", *NHWC)],
        [f32("y", *NHWC)],
    )
    return save(folder, made, None if with_metadata else {})


def placeholder_in_function(folder: Path, *, op_type: str, domain: str = DOMAIN) -> Path:
    made = model(
        [node("Block", ["x"], ["y"], "call", LOCAL)],
        [f32("x", *NHWC)],
        [f32("y", *NHWC)],
        functions=[local_function("Block", [node(op_type, ["in"], ["out"], "inner", domain)])],
        opsets=IMPORTS,
    )
    return save(folder, made)


def op_of_domain(folder: Path, *, domain: str, function: bool = False) -> Path:
    """An op of some domain behind the DD node; with a local function of that name it is a call."""
    made = small(nodes=[node("Thing", ["y"], ["z"], "thing", domain)], outputs=[f32("z", *NCHW)])
    if domain not in OPSETS:
        made.opset_import.append(helper.make_opsetid(domain, 1))
    if function:
        made.functions.append(local_function("Thing", [node("Relu", ["in"], ["out"], "relu")]))
    return save(folder, made)


def function_imports(folder: Path, *, imports: Mapping[str, int]) -> Path:
    """A function with a DD node, which states its own opset imports."""
    made = model(
        [node("Block", ["x"], ["y"], "call", LOCAL)],
        [f32("x", *NHWC)],
        [f32("y", *NHWC)],
        functions=[local_function("Block", block("in", "out"), imports)],
        opsets=IMPORTS,
    )
    return save(folder, made)


def constant_of_type(folder: Path, *, dtype: int) -> Path:
    """An initializer of some element type that nothing reads."""
    constant = TensorProto(name="odd", data_type=dtype, dims=[1], raw_data=bytes(4))
    return save(folder, small(initializers=[constant]))


def misdeclared(folder: Path, *, dtype: int = FLOAT, functions: Sequence[FunctionProto] = ()) -> Path:
    """An initializer of INT64 that is declared as another type, and an output whose shape only inference can tell."""
    made = model(
        [dispatch("dd", ["x"], ["d"], ["a"], output_shape_0=NHWC), node("Relu", ["d"], ["y"])],
        [f32("x", 1)],
        [f32("y", None)],
        [tensor("w", dtype, 2)],
        initializers=[helper.make_tensor("w", INT64, [2], [1, 2])],
        functions=functions,
        opsets=IMPORTS,
    )
    return save(folder, made)


def circle_of_functions(folder: Path, *, back: str = "A") -> Path:
    """Function A calls B, and B calls A."""
    last = node(back, ["in"], ["out"], "back", LOCAL if back == "A" else "")
    functions = [local_function("A", [node("B", ["in"], ["out"], "to_b", LOCAL)]), local_function("B", [last])]
    call = node("A", ["y"], ["z"], "call", LOCAL)
    made = small(nodes=[call], outputs=[f32("z", *NCHW)], opsets=IMPORTS)
    made.functions.extend(functions)
    return save(folder, made)


def node_names_in_branch(folder: Path, *, second: str) -> Path:
    """Two nodes of one branch; the other branch and the main graph use their names too."""
    then_nodes = [node("Relu", ["a"], ["r"], "n"), node("Abs", ["r"], ["then_y"], second)]
    else_nodes = [node("Relu", ["a"], ["else_y"], "n")]
    bodies = {
        "then_branch": body(then_nodes, [], [f32("then_y", *NHWC)]),
        "else_branch": body(else_nodes, [], [f32("else_y", *NHWC)]),
    }
    made = model(
        [node("If", ["cond"], ["y"], "n", **bodies)], [tensor("cond", BOOL), f32("a", *NHWC)], [f32("y", *NHWC)]
    )
    return save(folder, made)


def output_named_like_input(folder: Path, *, name: str = "x") -> Path:
    return save(folder, small(nodes=[node("Relu", ["y"], [name], "relu")]))


def body_before_maker(folder: Path, *, ordered: bool = False) -> Path:
    """The body of an If reads a tensor that is made behind the If."""
    branches = {
        "then_branch": body([node("Relu", ["late"], ["t"], "t")], [], [f32("t", *NHWC)]),
        "else_branch": body([node("Abs", ["late"], ["e"], "e")], [], [f32("e", *NHWC)]),
    }
    nodes = [node("If", ["cond"], ["y"], "if0", **branches), node("Neg", ["a"], ["late"], "neg")]
    made = model(
        nodes[::-1] if ordered else nodes,
        [tensor("cond", BOOL), f32("a", *NHWC)],
        [f32("y", *NHWC)],
        [f32("late", *NHWC)],
    )
    return save(folder, made)


def two_dd_names(folder: Path, *, second: str) -> Path:
    """A DD node `dd` in the main graph and one in the branch of an If."""
    bodies = {
        "then_branch": body(block("y", "then_y", dd=second), [], [f32("then_y", *NCHW)], block_types(second, NCHW)),
        "else_branch": body([node("Relu", ["y"], ["else_y"], "relu")], [], [f32("else_y", *NCHW)]),
    }
    branch = node("If", ["cond"], ["z"], "if0", **bodies)
    return save(folder, small(nodes=[branch], inputs=[tensor("cond", BOOL)], outputs=[f32("z", *NCHW)]))


def external_at(folder: Path, *, where: str, location: str = DATA, content: bytes | None = bytes(64)) -> Path:
    """64 bytes of external data in a tensor of some kind."""
    weight = external("W", (4, 4), location, 64)
    product = node("MatMul", ["x", "W"], ["y"], "matmul")
    ends = [f32("x", 4, 4)], [f32("y", 4, 4)]
    constant = node("Constant", [], ["W"], "constant", value=weight)
    if where == "initializer":
        made = model([product], *ends, initializers=[weight])
    elif where == "constant":
        made = model([constant, product], *ends)
    elif where == "function":
        inner = [constant, node("MatMul", ["in", "W"], ["out"], "matmul")]
        function = local_function("Block", inner)
        made = model([node("Block", ["x"], ["y"], "call", LOCAL)], *ends, functions=[function], opsets=IMPORTS)
    elif where == "body":
        bodies = {
            f"{name}_branch": body([node("MatMul", ["x", "W"], [name], "m")], [], [f32(name, 4, 4)], initializers=use)
            for name, use in (("then", [weight]), ("else", [helper.make_tensor("W", FLOAT, [4, 4], [0.0] * 16)]))
        }
        made = model([node("If", ["cond"], ["y"], "if0", **bodies)], [tensor("cond", BOOL), *ends[0]], ends[1])
    else:
        made = model([product], *ends)
        sparse = made.graph.sparse_initializer.add(dims=[4, 4])
        sparse.values.CopyFrom(external("W", (16,), location, 64))
        sparse.indices.CopyFrom(helper.make_tensor("i", INT64, [16], range(16)))
    path = save(folder, made)
    if content is not None:
        (folder / DATA).write_bytes(content)
    return path


def side_file(folder: Path, *, name: str, pointer: bool = True) -> Path:
    """A sound graph and one more file beside it."""
    path = save(folder, small())
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(LFS_POINTER.format(size=4096).encode() if pointer else bytes(127))
    return path


def node_property(folder: Path, *, value: str) -> Path:
    made = small()
    made.graph.node[0].metadata_props.add(key="pkg.torch.onnx.stack_trace", value=value)
    return save(folder, made)


def metadata_with(folder: Path, *names: str, replaced: tuple[str, ...] = ("a", "b", "c")) -> Path:
    """A DD node that replaces some ops, and an op list of others."""
    made = small(replaced=replaced)
    return save(folder, made, {"dd_meta.json": metadata(next(dd_nodes(made)), ops("SDSilu", *names))})


def blocked_transposes(folder: Path, *, first: tuple[int, ...] = (0, 3, 1, 2)) -> Path:
    """Two layout changes behind the DD node with a Softmax between them."""
    nodes = [
        transpose("y", "p", first, "t1"),
        node("Softmax", ["p"], ["q"], "softmax"),
        transpose("q", "z", (0, 2, 3, 1), "t2"),
    ]
    dims = [NCHW[axis] for axis in first]
    last = [dims[axis] for axis in (0, 2, 3, 1)]
    inner = [f32("p", *dims), f32("q", *dims)]
    return save(folder, small(nodes=nodes, outputs=[f32("z", *last)], value_info=inner))
