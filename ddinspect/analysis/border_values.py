"""What an analysis says about the border between CPU and NPU: casts, layout changes, regions, crossings, gaps.

Part of the public values, see `values`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ddinspect.onnxfile.model import Shape

# What stands at the other end of a tensor: a DD node, another node, or the outside of the graph.
Place: TypeAlias = Literal["npu", "cpu", "input", "output", "constant"]
CastDirection: TypeAlias = Literal["to_bf16", "from_bf16"]
LayoutDirection: TypeAlias = Literal["to_nhwc", "to_nchw"]


class CastItem(msgspec.Struct, frozen=True, kw_only=True):
    """One BF16 cast.

    Attributes:
        tensor: The tensor on the BFLOAT16 side; `shape` and `bytes` are those of it.
        between: Places the value comes from and goes to.
    """

    node: str
    op_type: str
    direction: CastDirection
    tensor: str
    shape: Shape
    bytes: int | None
    from_dtype: str
    to_dtype: str
    between: tuple[Place, Place]
    times: int


class CastPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two casts that follow each other and end in the type they began with.

    Attributes:
        lossless: Both may go: the middle type holds every value of the outer one and nothing else reads the middle.
        value_preserving: The middle type holds every value of the outer one.
        reason: Why the pair is not lossless.
    """

    first: str
    second: str
    outer_dtype: str
    middle_dtype: str
    lossless: bool
    value_preserving: bool
    reason: str | None = None


class BlockFloatEdge(msgspec.Struct, frozen=True, kw_only=True):
    """A UINT8 tensor at a DD node: block float (8 values sharing an exponent), kept out of the BF16 casts.

    Attributes:
        certain: The metadata says so; otherwise it is what the form suggests.
    """

    tensor: str
    shape: Shape
    bytes: int | None
    between: tuple[Place, Place]
    certain: bool


class Casts(msgspec.Struct, frozen=True, kw_only=True):
    """BF16 casts, by direction and one by one."""

    to_bf16: int
    from_bf16: int
    items: tuple[CastItem, ...] = ()
    cancelling: tuple[CastPair, ...] = ()
    block_float: tuple[BlockFloatEdge, ...] = ()


class LayoutItem(msgspec.Struct, frozen=True, kw_only=True):
    """One NCHW<->NHWC change; `tensor`, `shape` and `bytes` are those of its input."""

    node: str
    op_type: str
    how: Literal["explicit", "reshape-like"]
    direction: LayoutDirection
    tensor: str
    shape: Shape
    bytes: int | None
    between: tuple[Place, Place]
    times: int


class LayoutPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two opposite conversions that follow each other, or would but for the nodes between them.

    Attributes:
        blockers: Nodes between them; empty if the second undoes the first.
    """

    first: str
    second: str
    blockers: tuple[str, ...] = ()


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Layout conversions, by direction and one by one.

    Attributes:
        cancelling: Pairs that undo each other.
        blocked: Pairs that would, but for nodes between them.
    """

    to_nhwc: int
    to_nchw: int
    items: tuple[LayoutItem, ...] = ()
    cancelling: tuple[LayoutPair, ...] = ()
    blocked: tuple[LayoutPair, ...] = ()


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """DD nodes that hand tensors to each other directly, in one scope."""

    index: int
    scope: str
    dd_nodes: tuple[str, ...]
    fused_ops: int | None
    times: int


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """A tensor that enters or leaves the NPU."""

    tensor: str
    direction: Literal["in", "out"]
    scope: str
    dtype: str
    shape: Shape
    bytes: int | None
    times: int


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """CPU nodes between DD nodes, connected to each other.

    Attributes:
        nodes: All of them, in graph order.
        blockers: The compute nodes among them; a gap that has any is an island.
        merges: How many regions fewer there would be if the gap ran on the NPU, or were not there.
        crossings_saved: Crossings that would go, less those that its other inputs and outputs would add.
        bytes_saved: The same in bytes; None if a shape is not static.
    """

    scope: str
    nodes: tuple[str, ...]
    blockers: tuple[str, ...]
    merges: int
    crossings_saved: int
    bytes_saved: int | None
    times: int


class Boundaries(msgspec.Struct, frozen=True, kw_only=True):
    """Where the graph changes between CPU and NPU.

    Attributes:
        islands: Gaps with a compute node in them.
        gaps: Gaps without one.
    """

    regions: tuple[Region, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    islands: tuple[Gap, ...] = ()
    gaps: tuple[Gap, ...] = ()
