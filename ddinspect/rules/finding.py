"""A finding: one thing in one place that a rule has to say."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

Severity: TypeAlias = Literal["error", "warning", "info"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")  # worst first


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule found.

    Attributes:
        rule: Stable id, e.g. `DD104`.
        message: What is the case here; one sentence, no line breaks of its own (names may hold any character).
        node: The node it is about, with the path of its scope; None if it is about the model or a file.
        fix: What to do about it.
    """

    rule: str
    severity: Severity
    message: str
    node: str | None = None
    fix: str
