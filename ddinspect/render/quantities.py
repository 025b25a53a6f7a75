"""Numbers and shapes as people read them. What is not known is `n/a`, never 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ddinspect.analysis import signature
from ddinspect.printable import printable
from ddinspect.rules import wording

if TYPE_CHECKING:
    from ddinspect.onnxfile.model import Shape

NOT_AVAILABLE: Final = "n/a"


def percent(value: float | None) -> str:
    """A percentage as AMD prints it: up to two decimals, at least one (`95.7%`, `100.0%`, `98.81%`)."""
    return NOT_AVAILABLE if value is None else f"{round(float(value), 2)}%"


def whole(value: int | None) -> str:
    """A count with thousands separators: `1,257`."""
    return NOT_AVAILABLE if value is None else f"{value:,}"


def plain(value: int | None) -> str:
    """A count for a program to read: `1257`."""
    return NOT_AVAILABLE if value is None else str(value)


def macs(value: int | None) -> str:
    """Multiply-accumulates with three digits and a decimal prefix: `1.26 T`."""
    if value is None:
        return NOT_AVAILABLE
    if abs(value) < 1000:
        return str(value)
    scaled, prefix = _scaled(value, 1000, 999.5, ("K", "M", "G", "T", "P", "E"))
    decimals = 2 if abs(scaled) < 9.995 else 1 if abs(scaled) < 99.95 else 0
    return f"{scaled:,.{decimals}f} {prefix}"


def size(value: int | None) -> str:
    """Bytes as findings count them, with a decimal prefix: `1.6 MB`."""
    return NOT_AVAILABLE if value is None else wording.size(value)


def _scaled(value: int, base: int, limit: float, units: tuple[str, ...]) -> tuple[float, str]:
    """The value in the smallest unit in which it is below `limit`, where it would be rounded up to `base`."""
    scaled = float(value)
    for unit in units[:-1]:
        scaled /= base
        if abs(scaled) < limit:
            return scaled, unit
    return scaled / base, units[-1]


def counted(number: int | None, noun: str) -> str:
    """A number and its noun: `1 node`, `3 nodes`, `n/a nodes`."""
    return f"{NOT_AVAILABLE} {noun}s" if number is None else wording.counted(number, noun)


def shape_text(shape: Shape) -> str:
    """A shape as in the signatures of a report: `[1,64,64,4]`, with control characters in symbols made visible."""
    return printable(signature.shape_text(shape))
