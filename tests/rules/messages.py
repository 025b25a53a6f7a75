"""From a graph to what one rule says about it."""

from __future__ import annotations

from pathlib import Path

from mutants import Graph, make

from ddinspect import report
from ddinspect.rules.finding import Finding


def findings_of(rule: str, graph: Graph, folder: Path) -> list[Finding]:
    return [finding for finding in report.analyze(make(graph, folder)).findings if finding.rule == rule]


def messages_of(rule: str, graph: Graph, folder: Path) -> list[str]:
    return [finding.message for finding in findings_of(rule, graph, folder)]


def message_of(rule: str, graph: Graph, folder: Path) -> str:
    (message,) = messages_of(rule, graph, folder)
    return message
