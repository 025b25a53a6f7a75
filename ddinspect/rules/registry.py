"""All rules, and running them. A new family of rules is added to `RULES` here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ddinspect.artifacts.report_text import ReportText
from ddinspect.errors import UsageError
from ddinspect.rules import boundary, files, graph, integers, offload, op_names, structure, text_file
from ddinspect.rules.finding import SEVERITIES, Finding
from ddinspect.rules.rule import Context, Hit, Rule

_MODULES: Final = (offload, op_names, text_file, boundary, integers, graph, structure, files)
RULES: Final[tuple[Rule, ...]] = tuple(
    sorted((rule for each in _MODULES for rule in each.RULES), key=lambda rule: rule.id)
)


def check(context: Context) -> tuple[Finding, ...]:
    """What the rules find in a model, worst first, then by rule."""
    found = list(_findings(context))
    if context.text is not None:
        found += _text_findings(context.text)
    return _sorted(found)


def check_text(text: ReportText) -> tuple[Finding, ...]:
    """What the rules find in a bare report text."""
    return _sorted(list(_text_findings(text)))


def _findings(context: Context) -> Iterator[Finding]:
    for rule in RULES:
        if rule.check is not None:
            yield from (_finding(rule, hit) for hit in rule.check(context))


def _text_findings(text: ReportText) -> Iterator[Finding]:
    for rule in RULES:
        if rule.check_text is not None:
            yield from (_finding(rule, hit) for hit in rule.check_text(text))


def _finding(rule: Rule, hit: Hit) -> Finding:
    return Finding(rule=rule.id, severity=rule.severity, message=hit.message, node=hit.node, fix=rule.fix)


def _sorted(found: list[Finding]) -> tuple[Finding, ...]:
    # The sort is stable: findings of one rule stay in graph order.
    return tuple(sorted(found, key=lambda finding: (SEVERITIES.index(finding.severity), finding.rule)))


def find_rule(name: str) -> Rule:
    """The rule of an id (`DD104`, in any case) or name.

    Raises:
        UsageError: there is none; the message names the nearest one.
    """
    for rule in RULES:
        if name.upper() == rule.id or name.lower() == rule.name:
            return rule
    from difflib import get_close_matches

    names = [rule.id for rule in RULES] + [rule.name for rule in RULES]
    near = get_close_matches(name.upper(), names, n=1) or get_close_matches(name.lower(), names, n=1)
    advice = f"did you mean {near[0]}?" if near else "`ddinspect rules` lists them"
    raise UsageError(f"no rule {name}; {advice}")
