from __future__ import annotations

import json

from ddinspect.render.rules import render_rule, render_rules, render_rules_json
from ddinspect.rules.rule import Rule

SHORT = Rule(id="DD901", name="a-b", severity="error", summary="One.", why="Because.", fix="Mend it.")
LONG = Rule(id="DD902", name="longer-name", severity="info", summary="Two.", why="word " * 40 + "end.", fix="Stop.")


def test_one_line_per_rule_in_columns() -> None:
    assert render_rules([SHORT, LONG]) == (
        "DD901  error    a-b          One.\n"
        "DD902  info     longer-name  Two.\n"
    )  # fmt: skip


def test_json_has_all_texts_and_no_more() -> None:
    document = json.loads(render_rules_json([SHORT, LONG]))
    assert document["schema"] == "ddinspect.rules/1"
    assert document["rules"][0] == {
        "id": "DD901", "name": "a-b", "severity": "error", "summary": "One.", "why": "Because.", "fix": "Mend it.",
    }  # fmt: skip
    assert len(document["rules"]) == 2


def test_one_rule_in_full_at_79_columns() -> None:
    assert render_rule(SHORT) == "DD901 a-b (error)\n\nOne.\n\nWhy it matters: Because.\n\nWhat to do: Mend it.\n"
    lines = render_rule(LONG).splitlines()
    assert max(map(len, lines)) <= 79
    assert " ".join(lines).count("word") == 40
