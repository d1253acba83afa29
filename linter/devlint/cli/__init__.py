"""The command line: options to `Settings`, the engine's run to a report and an exit code; one command a file."""

from __future__ import annotations

from typing import NoReturn

import click

from devlint import __version__
from devlint.cli.baseline import baseline
from devlint.cli.check import check
from devlint.cli.facts import facts
from devlint.cli.group import Commands
from devlint.cli.init import init
from devlint.cli.rehearse import rehearse
from devlint.cli.rules import explain, rules
from devlint.cli.run import merge_reports, run
from devlint.cli.server import server
from devlint.cli.show import graph, show


@click.group(cls=Commands, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="devlint", message="%(prog)s %(version)s")
def devlint() -> None:
    """Find device mismatches in PyTorch programs before they run.

    `devlint PATH…` is `devlint check PATH…`. Exit code: 0 nothing to report, 1 there are reports, 2 wrong usage or
    configuration, or a file that could not be analysed.
    """


_COMMANDS = (
    check,
    run,
    rehearse,
    merge_reports,
    baseline,
    init,
    explain,
    rules,
    facts,
    show,
    graph,
    server,
)
for _command in _COMMANDS:
    devlint.add_command(_command)


def main() -> NoReturn:
    """Run the command line; the console script calls this."""
    devlint.main(prog_name="devlint")
