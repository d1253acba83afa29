"""`devlint show`: what the analysis knows, to look at."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from devlint import retired
from devlint.cli.options import takes_settings
from devlint.cli.terminal import put, put_document, say

if TYPE_CHECKING:
    from devlint.engine import Looks
    from devlint.settings import Settings


@click.command()
@takes_settings
@click.option(
    "--html", "page", type=click.Path(path_type=Path), metavar="FILE", help="Write one HTML page; `-` prints it."
)
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    show_default=True,
    help="`auto`: colour on a terminal.",
)
def show(settings: Settings, page: Path | None, color: str) -> int:
    """Print source with the device of each value. The output goes to the terminal or into a page."""
    from devlint import engine, report
    from devlint.view import page as pages
    from devlint.view import terminal

    looks = engine.look(settings)
    if page is not None:
        _write(page, pages.render(looks.worth_seeing))
    else:
        colour = report.wants_colour(color, terminal=sys.stdout.isatty(), environ=os.environ)
        texts = [terminal.render(look, report.Palette(colour)) for look in looks.worth_seeing]
        put("\n".join(texts), colour=colour)
    return _end(looks)


@click.command(
    hidden=True, add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
def graph() -> None:
    """Say what replaces this command."""
    say("note", retired.note("devlint graph"))


def _write(target: Path, text: str) -> None:
    from devlint.writing import replace_file

    if str(target) == "-":
        put_document(text)
    else:
        replace_file(target, text.encode("utf-8", "backslashreplace"))


def _end(looks: Looks) -> int:
    """Say what could not be read; that makes the exit code 2."""
    for note in looks.notes:
        say("note", note)
    for problem in looks.problems:
        say("error", str(problem))
    return 2 if looks.problems else 0
