"""`devlint init`: a first configuration and a baseline."""

from __future__ import annotations

from pathlib import Path

import click

from devlint.cli.terminal import put, say


@click.command()
def init() -> int:
    """Configure devlint for the current folder.

    The command also records the current reports in a baseline. With the baseline, `devlint check` reports only new
    mistakes. The configuration goes into `pyproject.toml` if there is one, otherwise into `devlint.toml`. If devlint is
    configured already, the command writes nothing.
    """
    from devlint.initial import initialise
    from devlint.project import display_path
    from devlint.settings import Settings

    file, done = initialise(Path.cwd(), Settings((".",)))
    put(f"{display_path(file)}: configures devlint\n")
    for change in done.changes:
        put(f"{display_path(change.baseline.path)}: records {len(change.baseline.entries)} current reports\n")
    for problem in done.problems:
        say("error", str(problem))
    return 2 if done.unreadable else 0
