"""Every rule reports the fault it is for, and is silent about the same graph without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutants import MUTANTS, Graph, Mutant, make

from ddinspect import report
from ddinspect.errors import UnreadableInputError
from ddinspect.rules.registry import RULES
from fixtures.small_graphs import CASES

ROWS = [pytest.param(mutant, id=f"{index}-{mutant.label}") for index, mutant in enumerate(MUTANTS)]
SOUND = ("sound", "sound_two_dd", "t1_vae_mini", "t3_report", "t6_block_float", "t10_omitted", "metadata_combined")


def rules_at(graph: Graph, folder: Path) -> set[str]:
    return {finding.rule for finding in report.analyze(make(graph, folder)).findings}


@pytest.mark.parametrize("mutant", ROWS)
def test_the_fault_is_reported_and_its_absence_is_not(mutant: Mutant, tmp_path: Path) -> None:
    assert mutant.rule in rules_at(mutant.faulty, tmp_path / "faulty")
    assert mutant.rule not in rules_at(mutant.sound, tmp_path / "sound")


def test_every_rule_has_a_mutant() -> None:
    assert {mutant.rule for mutant in MUTANTS} == {rule.id for rule in RULES}


@pytest.mark.parametrize("name", SOUND)
def test_nothing_is_said_about_a_sound_graph(name: str, tmp_path: Path) -> None:
    assert rules_at(name, tmp_path) == set()


@pytest.mark.parametrize("name", [name for name, _ in CASES])
def test_sentences_are_whole_and_on_one_line(name: str, tmp_path: Path) -> None:
    try:
        findings = report.analyze(make(name, tmp_path)).findings
    except UnreadableInputError:
        assert name == "t5_lfs_model"
        return
    for finding in findings:
        assert finding.message
        assert not set(finding.message) & {"\n", "\r", "\x1b", "\u202e", "\u2028"}
        assert finding.fix.endswith(".")
        assert finding.severity == next(rule.severity for rule in RULES if rule.id == finding.rule)
