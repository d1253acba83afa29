"""`devlint facts`: what the analysis knows of a file."""

from __future__ import annotations

from pathlib import Path

import click

from devlint.cli.terminal import put
from devlint.errors import SourceError


@click.command()
@click.argument("place", metavar="FILE[:LINE]")
@click.option("--config", type=click.Path(path_type=Path), help="Use this TOML file.")
@click.option("--isolated", is_flag=True, help="Read no configuration file.")
@click.option("--engine", type=click.Choice(["analysis", "inference"]), default="analysis", hidden=True)
def facts(place: str, config: Path | None, isolated: bool, engine: str) -> int:
    """Print what devlint knows about a file.

    It prints the devices of names, and the facts that rules see. With `:LINE`, it prints those of one line."""
    from devlint.engine import facts_of
    from devlint.explain import describe_facts
    from devlint.settings import Settings

    file, colon, line = place.rpartition(":")
    if not (colon and line.isdecimal()) or Path(place).exists():
        file, line = place, ""
    try:
        source, found = facts_of(Path(file), Settings((file,), config=config, isolated=isolated, engine=engine))
    except SyntaxError as error:
        raise SourceError(error.msg, path=file, line=error.lineno) from error
    last = source.text.rstrip("\n").count("\n") + 1
    if line and not 1 <= int(line) <= last:
        raise SourceError(f"has no line {line}: it ends on line {last}", path=file)
    put(describe_facts(found, source, int(line) if line else None))
    return 0
