"""Rules about ops, opsets and types that a graph uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from ddinspect.onnxfile.dispatch import DOMAIN, is_dispatch
from ddinspect.onnxfile.dtypes import NAMES, UNDEFINED, dtype_name
from ddinspect.onnxfile.model import Function, FunctionKey, Model, Node
from ddinspect.printable import printable
from ddinspect.rules.rule import Context, Hit, Rule
from ddinspect.rules.walk import distinct, graphs, nodes_of, parts, tensors
from ddinspect.rules.wording import counted, listed, quoted

# Domains whose ops ONNX Runtime brings itself (onnxruntime/core/graph/constants.h).
_KNOWN_DOMAINS: Final = frozenset(
    {
        "", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training", "com.microsoft",
        "com.microsoft.dml", "com.microsoft.experimental", "com.microsoft.nchwc", "com.ms.internal.nhwc",
        "org.pytorch.aten",
    }
)  # fmt: skip
_AMD_DOMAINS: Final = frozenset({DOMAIN, "com.amd"})
_CAST: Final = "CastAvx"


def _is_placeholder(node: Node) -> bool:
    """Whether a node's type is one that AMD's partitioner gives ops before it fuses them into a DD node."""
    named = node.op_type.startswith("SD") or node.op_type.endswith("_noqdq")
    return named and node.domain in _AMD_DOMAINS


def _custom_ops(context: Context) -> Iterator[tuple[str, Node]]:
    """Nodes, with their ids, that neither ONNX Runtime nor a local function nor the DD node's kernel runs."""
    functions = context.split.model.functions
    for flow in distinct(context.split.flows):
        for node in flow.scope.nodes:
            if not is_dispatch(node) and node.op_type != _CAST and node.function_key not in functions:
                yield flow.scope.qualified(node.id), node


def _leftover_placeholder(context: Context) -> Iterator[Hit]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name, node in _custom_ops(context):
        if _is_placeholder(node):
            groups[node.op_type].append(name)
    for op_type, names in groups.items():
        stand = f"{counted(len(names), 'node')} of type {quoted(op_type)} outside any DD node"
        yield Hit(f"{stand}: {listed(map(quoted, names))}", names[0])


def _needs_amd_library(context: Context) -> Iterator[Hit]:
    groups: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for name, node in _custom_ops(context):
        if node.domain not in _KNOWN_DOMAINS and not _is_placeholder(node):
            groups[node.domain, node.op_type].append(name)
    for (domain, op_type), names in groups.items():
        ops = f"{counted(len(names), 'node')} of type {quoted(op_type)} in domain {quoted(domain)}"
        yield Hit(f"{ops}, which ONNX Runtime does not have: {listed(map(quoted, names))}", names[0])


def _opset_import_missing(context: Context) -> Iterator[Hit]:
    for part in parts(context.split.model):
        users: defaultdict[str, list[str]] = defaultdict(list)
        for node in nodes_of(part):
            domain = "" if node.domain == "ai.onnx" else node.domain
            if domain not in part.opset_imports:
                users[domain].append(quoted(node.id))
        where = f"function {quoted(part.key[1])}" if isinstance(part, Function) else "the model"
        for domain, names in users.items():
            used = f"used by {counted(len(names), 'node')}: {listed(names)}"
            yield Hit(f"{where} has no opset import for domain {quoted(domain)}, {used}")


def _unknown_dtype(context: Context) -> Iterator[Hit]:
    groups: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for name, dtype in _stated_dtypes(context.split.model):
        if dtype == UNDEFINED or dtype not in NAMES:
            groups[dtype][name] = None
    for dtype, names in sorted(groups.items()):
        what = "UNDEFINED (0)" if dtype == UNDEFINED else dtype_name(dtype)
        tensors_with = counted(len(names), "tensor")
        yield Hit(f"{tensors_with} of element type {what}, which ONNX does not have: {listed(map(quoted, names))}")


def _stated_dtypes(model: Model) -> Iterator[tuple[str, int]]:
    """Tensor names and element types as the file states them.

    A declaration without type and shape may be that of a sequence or of nothing at all: it states no element type.
    """
    declared: Iterable[tuple[str, int, bool]] = (
        (info.name, info.dtype, info.dtype == UNDEFINED and info.shape is None)
        for infos in (
            *(infos for graph in graphs(model) for infos in (graph.inputs, graph.outputs, graph.value_info)),
            *(function.value_info for function in model.functions.values()),
        )
        for info in infos
    )
    yield from ((name, dtype) for name, dtype, silent in declared if not silent)
    yield from ((tensor.name, tensor.dtype) for tensor in tensors(model))


def _inference_dropped(context: Context) -> Iterator[Hit]:
    notes = context.split.expansion.notes
    # The last note is on the functions that are not entered, where there are any: see `_circular_functions`.
    for note in notes[:-1] if _not_entered(context) else notes:
        yield Hit(printable(note))


def _circular_functions(context: Context) -> Iterator[Hit]:
    functions = _not_entered(context)
    if functions:
        names = listed(quoted(_function_name(key)) for key in functions)
        yield Hit(f"{counted(len(functions), 'local function')} not entered, for each ends up calling itself: {names}")


def _not_entered(context: Context) -> list[FunctionKey]:
    """Local functions that end up calling themselves."""
    return sorted(context.split.model.functions.keys() - context.split.expansion.callable)


def _function_name(key: FunctionKey) -> str:
    domain, name, overload = key
    return (f"{domain}::" if domain else "") + name + (f":{overload}" if overload else "")


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id="DD201",
        name="leftover-placeholder",
        severity="error",
        summary="An op that only exists inside DD nodes stands outside one.",
        why="SDConv, SDGemm, `*_noqdq` and the like are names the partitioner gives ops before it fuses them. Nothing "
        "but a DynamicDispatch node runs them, so the model cannot be loaded.",
        fix="Look in the partitioner's log for why these nodes were not fused, and leave them out of the pass that "
        "renames them.",
        check=_leftover_placeholder,
    ),
    Rule(
        id="DD202",
        name="needs-amd-library",
        severity="info",
        summary="An op left on the CPU needs a custom-op library.",
        why="Ops of such a domain run only where the library that registers them is loaded, in that version or a newer "
        "one; ONNX Runtime by itself refuses the model.",
        fix="Ship the model with the AMD Ryzen AI version it was made with, and test on a machine without a newer one.",
        check=_needs_amd_library,
    ),
    Rule(
        id="DD203",
        name="opset-import-missing",
        severity="warning",
        summary="A domain is used without an opset import.",
        why="ONNX's checker, shape inference and most tools refuse the file. ONNX Runtime accepts it only while a "
        "library that knows the domain is loaded.",
        fix="Add the opset import (version 1 for com.ryzenai) with onnx.helper.make_opsetid.",
        check=_opset_import_missing,
    ),
    Rule(
        id="DD204",
        name="unknown-dtype",
        severity="warning",
        summary="A tensor has an element type that ONNX does not have.",
        why="ONNX Runtime refuses such a type where it uses it, and AMD's own report stops with an error. Sizes in "
        "bytes cannot be worked out.",
        fix="Upgrade onnx and this tool if the type is a new one; otherwise correct the declaration and save the model "
        "again.",
        check=_unknown_dtype,
    ),
    Rule(
        id="DD209",
        name="inference-dropped",
        severity="info",
        summary="Shape inference failed for a part of the graph.",
        why="Shapes that only inference could have told are missing, so bytes and multiply-accumulates may be unknown.",
        fix="Run onnx.checker on the model: it names the node that is at fault.",
        check=_inference_dropped,
    ),
    Rule(
        id="DD212",
        name="circular-functions",
        severity="error",
        summary="A local function ends up calling itself.",
        why="ONNX forbids it and ONNX Runtime refuses the model. A call of such a function counts as one node here; "
        "what stands in it is not counted.",
        fix="Save the model again with these calls inlined or the functions renamed apart; a tool that copied a "
        "function under the name of another is the usual cause.",
        check=_circular_functions,
    ),
)
