"""What every analysis works from: the scopes of a model, their edges, and where each node runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from ddinspect.analysis.border_values import Place
from ddinspect.analysis.dataflow import Flow, holder
from ddinspect.analysis.values import Kind
from ddinspect.onnxfile.dtypes import nbytes
from ddinspect.onnxfile.model import Model, Node, ValueInfo
from ddinspect.onnxfile.scopes import Expansion, Scope

# A DD node, a call (what counts is the function's body), or a node left on the CPU by kind.
Role: TypeAlias = Kind | Literal["npu", "call"]


class Split(msgspec.Struct, frozen=True):
    """A model split between CPU and NPU.

    Attributes:
        flows: Edges, per scope.
        roles: Per scope, per node.
        block_float: Tensors that the metadata says are block float, with their logical shape, by the index of the
            scope they stand in and their name.
    """

    model: Model
    expansion: Expansion
    flows: tuple[Flow, ...]
    roles: tuple[tuple[Role, ...], ...]
    block_float: Mapping[tuple[int, str], ValueInfo]

    def role(self, scope: Scope, index: int) -> Role:
        """Where a node runs."""
        return self.roles[scope.index][index]

    def kind(self, scope: Scope, index: int) -> Kind:
        """Kind of a node that is left on the CPU."""
        role = self.role(scope, index)
        if role == "npu" or role == "call":
            raise ValueError(f"{scope.qualified(scope.nodes[index].id)} is not left on the CPU")
        return role

    def left(self, scope: Scope) -> list[Node]:
        """Nodes of a scope left on the CPU, in graph order."""
        roles = self.roles[scope.index]
        return [node for node in scope.nodes if roles[node.index] not in ("npu", "call")]

    def dispatched(self, scope: Scope) -> list[Node]:
        """DD nodes of a scope, in graph order."""
        roles = self.roles[scope.index]
        return [node for node in scope.nodes if roles[node.index] == "npu"]

    def type_of(self, scope: Scope, name: str) -> ValueInfo:
        """Type of a tensor, block float where the metadata says so."""
        return self._block_float(scope, name) or self.expansion.type_of(scope, name)

    def bytes_of(self, scope: Scope, name: str) -> int | None:
        """Bytes of a tensor; None if its shape is not static."""
        info = self.type_of(scope, name)
        return nbytes(info.dtype, info.shape)

    def is_block_float(self, scope: Scope, name: str) -> bool:
        """Whether the metadata says a tensor is block float."""
        return self._block_float(scope, name) is not None

    def _block_float(self, scope: Scope, name: str) -> ValueInfo | None:
        if not self.block_float:
            return None
        flow = holder(self.expansion, self.flows, scope, name)
        return self.block_float.get((flow.scope.index, name)) if flow is not None else None

    def tensor_id(self, scope: Scope, name: str) -> str:
        """The name of a tensor as a scope sees it, with the path of the scope that it stands in before it."""
        flow = holder(self.expansion, self.flows, scope, name)
        return (flow.scope if flow is not None else scope).qualified(name)

    def is_constant(self, scope: Scope, name: str) -> bool:
        """Whether a tensor is an initializer, of this scope, of one around it, or handed in by every call."""
        flow = holder(self.expansion, self.flows, scope, name)
        return flow is not None and name in flow.constants

    def comes_from(self, scope: Scope, name: str) -> Place:
        """What makes a tensor."""
        flow = holder(self.expansion, self.flows, scope, name)
        if flow is not None and name in flow.maker:
            return "npu" if self.role(flow.scope, flow.maker[name]) == "npu" else "cpu"
        return "constant" if flow is not None and name in flow.constants else "input"

    def goes_to(self, scope: Scope, name: str) -> set[Place]:
        """What reads a tensor in its scope, the outside of the scope included."""
        places: set[Place] = {"output"} if name in scope.outputs else set()
        for reader in self.flows[scope.index].readers.get(name, ()):
            places.add("npu" if self.role(scope, reader) == "npu" else "cpu")
        return places

    def between(self, scope: Scope, first: str, last: str) -> tuple[Place, Place]:
        """Where the value of `first` comes from and `last` goes to; the NPU where it goes to several places."""
        targets = self.goes_to(scope, last)
        order: tuple[Place, ...] = ("npu", "cpu", "output")
        return self.comes_from(scope, first), next((place for place in order if place in targets), "output")
