"""What an analysis says: frozen values whose JSON form is public.

Field names are keys of `ddinspect.report/1`; add to them, never rename one. A figure that cannot be computed is None
and `figures` says why. Counts and bytes are per inference: what stands in a function body counts once per call
(`times`).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from ddinspect import __version__
from ddinspect.onnxfile.model import Shape

Kind: TypeAlias = Literal["boundary", "shape", "compute"]
# What stands at the other end of a tensor: a DD node, another node, or the outside of the graph.
Place: TypeAlias = Literal["npu", "cpu", "input", "output", "constant"]
CastDirection: TypeAlias = Literal["to_bf16", "from_bf16"]
LayoutDirection: TypeAlias = Literal["to_nhwc", "to_nchw"]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """The program that made a document."""

    name: str = "ddinspect"
    version: str = __version__


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The files an analysis was made from.

    Attributes:
        kind: `replaced` has DD nodes, `original` has none, `text` is a bare onnx_report.txt.
        notes: What was found beside the model and passed over, and why.
    """

    path: str
    kind: Literal["replaced", "original", "text"]
    meta: tuple[str, ...] = ()
    original: str | None = None
    text: str | None = None
    notes: tuple[str, ...] = ()


class KindCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes left on the CPU, by kind."""

    boundary: int = 0
    shape: int = 0
    compute: int = 0


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The figures. Percentages have two decimals."""

    dd_nodes: int
    fused_ops: int | None
    fused_ops_source: Literal["meta", "replaced", "text", "predicted"] | None
    not_offloaded: int
    dd_ratio: float | None
    not_offloaded_by_kind: KindCounts | None
    dd_ratio_top_level: float | None
    source_coverage: float | None = None
    mac_coverage: float | None = None
    weight_coverage: float | None = None
    regions: int | None = None
    crossings: int | None = None
    crossing_bytes: int | None = None
    bf16_casts: int | None = None
    layout_conversions: int | None = None
    compute_left: int | None = None
    compute_left_macs: int | None = None


class OffloadedRow(msgspec.Struct, frozen=True, kw_only=True):
    """DD nodes of one type and signature. Signatures read `[1,64,64,4] - BFLOAT16`, as AMD prints them."""

    op_type: str
    count: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class LeftRow(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes left on the CPU of one kind, type and signature."""

    op_type: str
    kind: Kind | None
    count: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class LeftNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node left on the CPU.

    Attributes:
        node: Its id with the path of its scope before it.
        before: Places its inputs come from, sorted, each once.
        after: Places its outputs go to, sorted, each once.
        macs: Multiply-accumulates of one run; None if its shapes are not static; 0 for an op that does none.
    """

    node: str
    op_type: str
    domain: str
    kind: Kind
    scope: str
    times: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    before: tuple[Place, ...]
    after: tuple[Place, ...]
    macs: int | None


class DeviceMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes a DD node claims on the device: the buffers `in`, `out`, `scratch` and `const` of its metadata."""

    input: int = msgspec.field(name="in")
    output: int = msgspec.field(name="out")
    scratch: int
    const: int


class DDNode(msgspec.Struct, frozen=True, kw_only=True):
    """One DD node.

    Attributes:
        node: Its id with the path of its scope before it.
        name: Its name in the file, which is what AMD's runtime looks its metadata up by.
        fused_ops: Fused ops in it; None if neither metadata nor `replaced` says.
        source: Where `fused_ops` comes from.
        by_type: Fused ops by type; empty without metadata.
        meta: Its metadata file.
        unresolved: Entries of `replaced` that its metadata does not have.
        repeated: Entries of `replaced` that occur more than once in it.
        model_type: Name of AMD's model type, e.g. `SD15_UNET`; the number where it is none of the known ones.
    """

    node: str
    name: str
    op_type: str
    domain: str
    scope: str
    times: int
    fused_ops: int | None
    source: Literal["meta", "replaced"] | None
    by_type: dict[str, int]
    meta: str | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    xclbin: str | None
    model_type: str | None
    memory: DeviceMemory | None
    macs: int | None
    unresolved: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()


class NameInDDNode(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `replaced` and the DD node that lists it."""

    dd_node: str
    name: str


class Fusion(msgspec.Struct, frozen=True, kw_only=True):
    """Fused ops: by type over all DD nodes, per DD node, and names that do not add up.

    Attributes:
        by_type: None without metadata for every DD node.
        types: The types that occur, sorted; a bare report text names them without counts. None where nothing does.
        unresolved: Names that `replaced` lists and the metadata does not have.
        shared: Names that more than one DD node lists.
    """

    by_type: dict[str, int] | None
    types: tuple[str, ...] | None = None
    dd_nodes: tuple[DDNode, ...] = ()
    unresolved: tuple[NameInDDNode, ...] = ()
    shared: tuple[str, ...] = ()


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


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """Where a figure comes from, or why there is none."""

    source: str | None
    reason: str | None = None


class Todo(msgspec.Struct, frozen=True, kw_only=True):
    """Compute nodes left on the CPU with the same type and signature: one line of a kernel writer's list.

    Attributes:
        macs: Multiply-accumulates of all of them together; None if shapes are not static.
        nodes: Their ids, in graph order.
    """

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    count: int
    macs: int | None
    nodes: tuple[str, ...]


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known about how one model is split between CPU and NPU.

    Attributes:
        nodes: The nodes behind `not_offloaded`, in graph order.
        todo: Compute left on the CPU, most multiply-accumulates first.
        figures: By figure name: the source, or the reason why the figure is None.
    """

    tool: Tool = Tool()
    source: Source
    summary: Summary
    offloaded: tuple[OffloadedRow, ...]
    not_offloaded: tuple[LeftRow, ...]
    fusion: Fusion | None
    casts: Casts | None
    layout: Layout | None
    boundaries: Boundaries | None
    todo: tuple[Todo, ...] = ()
    figures: dict[str, Figure] = {}
    nodes: tuple[LeftNode, ...] = ()


FIGURES: Final = (
    "fused_ops", "not_offloaded", "dd_ratio", "dd_ratio_top_level", "not_offloaded_by_kind", "source_coverage",
    "mac_coverage", "weight_coverage", "regions", "crossings", "crossing_bytes", "bf16_casts", "layout_conversions",
    "compute_left", "compute_left_macs",
)  # fmt: skip
