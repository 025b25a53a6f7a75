from __future__ import annotations

import re
from pathlib import Path

import pytest
from mutants import make

from ddinspect import report
from ddinspect.errors import UsageError
from ddinspect.rules import boundary, files, graph, integers, offload, op_names, structure, text_file
from ddinspect.rules.finding import SEVERITIES
from ddinspect.rules.registry import RULES, find_rule
from ddinspect.rules.rule import Rule

# The first digit of an id is the family.
FAMILIES = {
    "0": (offload, op_names, text_file),
    "1": (boundary, integers),
    "2": (graph, structure),
    "3": (files,),
}


def test_ids_and_names_are_unique() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("name", ["external-data-short", "lfs-pointer", "circular-functions", "cyclic-graph"])
def test_what_keeps_a_model_from_loading_is_an_error(name: str) -> None:
    assert find_rule(name).severity == "error"


def test_a_warning_that_results_are_wrong_says_why_it_is_no_error() -> None:
    rule = find_rule("integer-through-bf16")
    assert rule.severity == "warning"
    assert "the graph does not say how large the values get" in rule.why


def test_ids_match_their_family() -> None:
    by_family = {digit: {rule.id for each in modules for rule in each.RULES} for digit, modules in FAMILIES.items()}
    assert all(re.fullmatch(rf"DD{digit}\d\d", rule) for digit, rules in by_family.items() for rule in rules)
    assert set().union(*by_family.values()) == {rule.id for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_explains_itself(rule: Rule) -> None:
    assert rule.severity in SEVERITIES
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    for text in (rule.summary, rule.why, rule.fix):
        assert text.endswith(".")
        assert text == " ".join(text.split())
    assert (rule.check is None) != (rule.check_text is None)


def test_find_rule_takes_ids_and_names_in_any_case() -> None:
    assert find_rule("dd104").name == find_rule("Compute-Island").name == "compute-island"
    with pytest.raises(UsageError, match=r"no rule compute-iland; did you mean compute-island\?"):
        find_rule("compute-iland")


def test_the_worst_comes_first(tmp_path: Path) -> None:
    findings = report.analyze(make("t9_names", tmp_path)).findings
    assert [finding.rule for finding in findings] == ["DD205", "DD004", "DD004", "DD206"]
    ranks = [SEVERITIES.index(finding.severity) for finding in findings]
    assert ranks == sorted(ranks)
