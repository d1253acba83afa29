"""`devlint explain` and `devlint rules`: what the rules say of themselves."""

from __future__ import annotations

import click

from devlint.cli.options import complete_rules
from devlint.cli.terminal import put


@click.command()
@click.argument("rule", shell_complete=complete_rules)
def explain(rule: str) -> None:
    """Print the documentation of a rule, given its code or name."""
    from devlint.explain import explain as text_of
    from devlint.registry import load_rules

    put(text_of(rule, load_rules()))


@click.command()
@click.option("--output-format", type=click.Choice(("full", "json")), default="full", show_default=True)
def rules(output_format: str) -> None:
    """List all rules."""
    from devlint.explain import list_rules
    from devlint.registry import load_rules

    put(list_rules(load_rules(), output_format))
