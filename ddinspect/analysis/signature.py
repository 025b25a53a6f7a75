"""Tensors as AMD's report writes them: `[1,64,64,4] - FLOAT`."""

from __future__ import annotations

from ddinspect.analysis.split import Split
from ddinspect.onnxfile.dtypes import dtype_name
from ddinspect.onnxfile.model import Shape, ValueInfo
from ddinspect.onnxfile.scopes import Scope


def shape_text(shape: Shape) -> str:
    """A shape in brackets: dims by number or symbol, `?` for an unknown one, `[*]` where the rank is unknown.

    A scalar reads `[1]`, as in AMD's report.
    """
    if shape is None:
        return "[*]"
    return "[" + (",".join("?" if dim is None else str(dim) for dim in shape) or "1") + "]"


def signature(info: ValueInfo) -> str:
    """Shape and element type of a tensor."""
    return f"{shape_text(info.shape)} - {dtype_name(info.dtype)}"


def signatures(split: Split, scope: Scope, names: tuple[str, ...]) -> tuple[str, ...]:
    """The signature of each tensor; `[] - N/A` for an omitted optional one."""
    return tuple(signature(split.expansion.type_of(scope, name)) if name else "[] - N/A" for name in names)
