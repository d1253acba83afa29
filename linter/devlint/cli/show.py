"""`devlint show` and `devlint graph`: what the analysis knows, to look at."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from devlint.cli.options import takes_settings
from devlint.cli.terminal import put, put_document, say

if TYPE_CHECKING:
    from devlint.engine import Looks
    from devlint.settings import Settings

_COLOURS = click.Choice(("auto", "always", "never"))


@click.command()
@takes_settings
@click.option(
    "--html", "page", type=click.Path(path_type=Path), metavar="FILE", help="Write one HTML page; `-` prints it."
)
@click.option("--color", type=_COLOURS, default="auto", show_default=True, help="`auto`: colour on a terminal.")
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


@click.command()
@takes_settings
@click.option(
    "--output-format",
    type=click.Choice(("tree", "dot", "html")),
    default="tree",
    show_default=True,
    help="Print text, a graph for Graphviz, or an HTML page.",
)
@click.option("--output-file", type=click.Path(path_type=Path), metavar="FILE", help="Write to this file.")
@click.option("--color", type=_COLOURS, default="auto", show_default=True, help="`auto`: colour on a terminal.")
def graph(settings: Settings, output_format: str, output_file: Path | None, color: str) -> int:
    """Draw modules, their parts and their devices."""
    from devlint import engine, report
    from devlint.view import dot, graph_page, tree

    looks = engine.look(settings)
    colour = report.wants_colour(color, terminal=sys.stdout.isatty() and output_file is None, environ=os.environ)
    if output_format != "tree":
        _write(output_file or Path("-"), (dot if output_format == "dot" else graph_page).render(looks.worth_seeing))
        return _end(looks)
    text = tree.render(looks.worth_seeing, report.Palette(colour)) or "no modules\n"
    if output_file is None or str(output_file) == "-":
        put(text, colour=colour)
    else:
        _write(output_file, text)
    return _end(looks)


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
