"""`devlint baseline`: record the current reports, or remove entries that match nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from devlint.cli.options import takes_settings
from devlint.cli.terminal import put, say

if TYPE_CHECKING:
    from devlint.settings import Settings


@click.command()
@takes_settings
@click.option(
    "--baseline", type=click.Path(path_type=Path), help="The baseline file.  [default: the one in the configuration]"
)
@click.option("--prune", is_flag=True, help="Only remove entries that match nothing any more.")
def baseline(settings: Settings, baseline: Path | None, prune: bool) -> int:
    """Record the current reports as known.

    After that, `devlint check` reports only new ones.

    The reports go into a file, the baseline. The command keeps the entries for files and rules that it did not check.
    """
    from devlint.acceptance import accept
    from devlint.project import display_path

    done = accept(replace(settings, baseline=baseline), prune=prune)
    for problem in done.problems:
        say("error", str(problem))
    for change in done.changes:
        entries = len(change.baseline.entries)
        counted = "1 entry" if entries == 1 else f"{entries} entries"
        where = display_path(change.baseline.path)
        put(f"{where}: {counted}, {change.added} added, {change.removed} removed\n")
        if change.switch is not None and not settings.isolated:
            say("note", f"`devlint check` does not use this baseline yet; write {change.switch}")
    return 2 if done.unreadable else 0
