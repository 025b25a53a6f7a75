"""Names, counts and sizes in the sentences of findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ddinspect.printable import printable

_SHOWN: Final = 3
_UNITS: Final = ("kB", "MB", "GB", "TB", "PB")


def quoted(name: str) -> str:
    """A name from a file, between back-ticks and on one line."""
    return f"`{printable(name)}`"


def listed(names: Iterable[str]) -> str:
    """The first few of some quoted names or phrases, and how many more there are."""
    phrases = list(names)
    shown = ", ".join(phrases[:_SHOWN])
    return shown if len(phrases) <= _SHOWN else f"{shown} {more(len(phrases) - _SHOWN)}"


def more(number: int) -> str:
    """How many there are that are not shown: `and 1,200 more`."""
    return f"and {number:,} more"


def counted(number: int, noun: str) -> str:
    """A number and its noun: `1 node`, `1,200 nodes`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def size(number: int) -> str:
    """Bytes with a decimal prefix, as file managers and download pages count: `512 B`, `32.8 kB`, `3.2 GB`."""
    scaled, unit = float(number), "B"
    for larger in _UNITS:
        if abs(scaled) < 999.95:
            break
        scaled, unit = scaled / 1000, larger
    return f"{number} B" if unit == "B" else f"{scaled:.1f} {unit}"
