"""Rules as text."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill

import msgspec

from ddinspect.rules.rule import Rule

_WIDTH = 79


def render_rules(rules: Iterable[Rule]) -> str:
    """One line per rule: id, severity, name, summary."""
    listed = list(rules)
    widest = max(len(rule.name) for rule in listed)
    lines = (f"{rule.id}  {rule.severity:<7}  {rule.name:<{widest}}  {rule.summary}\n" for rule in listed)
    return "".join(lines)


def render_rules_json(rules: Iterable[Rule]) -> str:
    """The same as one JSON document, with why and fix."""
    keys = ("id", "name", "severity", "summary", "why", "fix")
    document = {"schema": "ddinspect.rules/1", "rules": [{key: getattr(rule, key) for key in keys} for rule in rules]}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def render_rule(rule: Rule) -> str:
    """All that is to be said about one rule."""
    parts = (
        f"{rule.id} {rule.name} ({rule.severity})",
        fill(rule.summary, _WIDTH),
        fill(f"Why it matters: {rule.why}", _WIDTH),
        fill(f"What to do: {rule.fix}", _WIDTH),
    )
    return "\n\n".join(parts) + "\n"
