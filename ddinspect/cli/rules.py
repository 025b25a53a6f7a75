"""`ddinspect rules` and `ddinspect explain`."""

from __future__ import annotations

import click

from ddinspect.cli.output import write_document


@click.command(epilog="Example: ddinspect rules")
@click.option("--format", type=click.Choice(["console", "json"]), default="console", show_default=True)
def rules(format: str) -> int:  # noqa: A002 (named after the option)
    """List the rules."""
    from ddinspect.render.rules import render_rules, render_rules_json
    from ddinspect.rules.registry import RULES

    write_document(render_rules(RULES) if format == "console" else render_rules_json(RULES), None)
    return 0


@click.command(epilog="Example: ddinspect explain DD104")
@click.argument("rule")
def explain(rule: str) -> int:
    """Explain one rule: what it reports, why it matters, what to do.

    RULE is an id such as DD104, or a name such as compute-island.
    """
    from ddinspect.render.rules import render_rule
    from ddinspect.rules.registry import find_rule

    write_document(render_rule(find_rule(rule)), None)
    return 0
