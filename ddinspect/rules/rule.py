"""A rule, and what it may look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from ddinspect.analysis.split import Split
from ddinspect.analysis.values import Analysis
from ddinspect.artifacts.metadata import Metadata
from ddinspect.artifacts.report_text import ReportText
from ddinspect.rules.finding import Severity


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """A model and what lies beside it.

    Attributes:
        metadata: Of each DD node, by its name.
        metadata_given: The metadata was named by the user, not looked for beside the model.
        unused_metadata: Metadata files that no DD node asks for.
        shadowed_metadata: Metadata of a DD node that the runtime takes from another file.
        text: The report text beside the model.
        folder: The model's folder, for side files.
    """

    split: Split
    analysis: Analysis
    metadata: Mapping[str, Metadata] = {}
    metadata_given: bool = False
    unused_metadata: tuple[Metadata, ...] = ()
    shadowed_metadata: tuple[Metadata, ...] = ()
    text: ReportText | None = None
    folder: Path


class Hit(NamedTuple):
    """One place where a rule applies: what is the case, and at which node."""

    message: str
    node: str | None = None


Check: TypeAlias = Callable[[Context], Iterator[Hit]]
CheckText: TypeAlias = Callable[[ReportText], Iterator[Hit]]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule.

    Attributes:
        id: Stable, e.g. `DD104`. The first digit is the family.
        name: Stable, in words, e.g. `compute-island`.
        summary: What it reports, one line.
        why: Why that matters to the person who runs the model.
        fix: What to do about it.
        check: Looks at a graph and what lies beside it.
        check_text: Looks at a report text, with or without a graph beside it.
    """

    id: str
    name: str
    severity: Severity
    summary: str
    why: str
    fix: str
    check: Check | None = None
    check_text: CheckText | None = None
