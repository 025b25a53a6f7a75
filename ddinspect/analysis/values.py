"""What an analysis says: frozen values whose JSON form is public.

Field names are keys of `ddinspect.report/1`; add to them, never rename one. A figure that cannot be computed is None
and `figures` says why. Counts and bytes are per inference: what stands in a function body counts once per call
(`times`).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from ddinspect.analysis.border_values import Boundaries, Casts, Layout, Place
from ddinspect.version import __version__

Kind: TypeAlias = Literal["boundary", "shape", "compute"]


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
