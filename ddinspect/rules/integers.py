"""The rule about integers that become BFLOAT16."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from ddinspect.analysis.casts import cast_types, holds
from ddinspect.analysis.dataflow import Flow, holder
from ddinspect.analysis.split import Split
from ddinspect.onnxfile.dispatch import is_dispatch
from ddinspect.onnxfile.dtypes import BFLOAT16, INTEGERS, dtype_name
from ddinspect.onnxfile.model import Node
from ddinspect.onnxfile.scopes import Scope
from ddinspect.rules.rule import Context, Hit, Rule
from ddinspect.rules.walk import distinct
from ddinspect.rules.wording import listed, quoted

# Ops that hand the values of their first input on as they are, or choose among them.
_MOVES_FIRST: Final = frozenset(
    {
        "Cast", "CastAvx", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "Reshape", "Slice",
        "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze",
    }
)  # fmt: skip
_CUTS_DEPENDENCE: Final = frozenset({"Shape", "Size"})
_Followed: TypeAlias = Callable[[Flow, Node], Iterable[str]]


class _Tensor(NamedTuple):
    """A tensor as a scope sees it."""

    scope: Scope
    name: str


class _Integer(NamedTuple):
    """An integer tensor and the graph input its value depends on."""

    name: str
    dtype: int
    graph_input: str


def _integer_through_bf16(context: Context) -> Iterator[Hit]:
    split = context.split
    for flow in distinct(split.flows):
        for node in split.left(flow.scope):
            types = cast_types(split.expansion, flow.scope, node)
            if types is None or types.target != BFLOAT16:
                continue
            found = _integer_behind(split, _Tensor(flow.scope, node.inputs[0]))
            if found is not None:
                readers = (flow.scope.nodes[index] for index in flow.readers.get(node.outputs[0], ()))
                dd_nodes = [quoted(reader.id) for reader in readers if is_dispatch(reader)]
                target = f" on their way to DD node {listed(dd_nodes)}" if dd_nodes else ""
                what = f"{quoted(found.name)} ({dtype_name(found.dtype)})"
                if found.name != found.graph_input:
                    what += f", which depend on input {quoted(found.graph_input)},"
                node_id = flow.scope.qualified(node.id)
                yield Hit(
                    f"the integers of {what} become BFLOAT16 at {quoted(node_id)}{target}: those above 256 are "
                    f"rounded, 999 to 1000",
                    node_id,
                )


def _integer_behind(split: Split, start: _Tensor) -> _Integer | None:
    """The integers of a graph input that a tensor holds, in whatever type; None if it holds none.

    The trail goes through ops that only move values and out of bodies and functions, not into them.
    """
    for at in _upward(split, start, _moved):
        dtype = split.type_of(at.scope, at.name).dtype
        if dtype in INTEGERS and not holds(BFLOAT16, dtype):
            graph_input = next((each.name for each in _upward(split, at, _read) if _is_graph_input(each)), None)
            if graph_input is not None:
                return _Integer(at.name, dtype, graph_input)
    return None


def _moved(_: Flow, node: Node) -> Iterable[str]:
    """Inputs whose values a node hands on."""
    if node.op_type == "Concat":
        return node.inputs
    if node.op_type == "Where":
        return node.inputs[1:]
    return node.inputs[:1] if node.op_type in _MOVES_FIRST else ()


def _read(flow: Flow, node: Node) -> Iterable[str]:
    """Tensors on whose values the results depend, those that bodies read included."""
    return () if node.op_type in _CUTS_DEPENDENCE else flow.reads[node.index]


def _upward(split: Split, start: _Tensor, followed: _Followed) -> Iterator[_Tensor]:
    """A tensor and all that are met on the way from it to the inputs, nearest first."""
    waiting = [start]
    seen: set[tuple[int, str]] = set()
    for tensor in waiting:  # grows while it is walked
        flow = holder(split.expansion, split.flows, tensor.scope, tensor.name)
        if flow is None or (flow.scope.index, tensor.name) in seen:
            continue
        at = flow.scope
        seen.add((at.index, tensor.name))
        yield _Tensor(at, tensor.name)
        maker = flow.maker.get(tensor.name)
        if maker is not None:
            waiting += (_Tensor(at, name) for name in followed(flow, at.nodes[maker]) if name)
        else:
            waiting += _handed_in(split, at, tensor.name)


def _handed_in(split: Split, scope: Scope, name: str) -> Iterator[_Tensor]:
    """What a body's owner or the callers of a function hand in for a formal input; bodies match by position too."""
    sites = scope.calls if scope.parent is None or scope.owner is None else ((scope.parent, scope.owner),)
    if name in scope.inputs:
        position = scope.inputs.index(name)
        for outer_index, node_index in sites:
            outer = split.expansion.scopes[outer_index]
            yield from (_Tensor(outer, actual) for actual in outer.nodes[node_index].inputs[position:][:1] if actual)


def _is_graph_input(tensor: _Tensor) -> bool:
    return tensor.scope.kind == "main" and tensor.name in tensor.scope.inputs


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id="DD105",
        name="integer-through-bf16",
        severity="warning",
        summary="An integer input becomes BFLOAT16.",
        why="BFLOAT16 has 8 significant bits, so it holds integers exactly up to 256 only. A timestep of 999 arrives "
        "as 1000, a token id above 256 mostly as another token's, and the results are wrong without any error. This is "
        "a warning and no error because the graph does not say how large the values get.",
        fix="Do the embedding (the table look-up, or Sin and Cos of the timestep) in FLOAT or in integers on the CPU "
        "and cast its result; nothing is lost if the values never exceed 256.",
        check=_integer_through_bf16,
    ),
)
