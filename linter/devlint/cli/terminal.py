"""The doors to standard output and standard error: nothing that leaves by them can steer a terminal."""

from __future__ import annotations

import sys

import click

from devlint.quoting import printable, printable_in_colour, printable_lines


def put(text: str, *, err: bool = False, colour: bool = False) -> None:
    """Print text of several lines, which brings its line ends along.

    Args:
        err: to standard error.
        colour: let the sequences pass that set a colour. Renderers quote names and lines, so that these are devlint's.
    """
    click.echo(printable_in_colour(text) if colour else printable_lines(text), nl=False, err=err, color=colour)


def say(kind: str, message: str) -> None:
    """Print a remark on the run, such as an `error`, to standard error, on one line whatever a file is called."""
    click.echo(f"{kind}: {printable(message)}", err=True)


def put_bytes(data: bytes) -> None:
    """Print the content of files, such as a diff: to a terminal like `put`, elsewhere each byte as it is."""
    if sys.stdout.isatty():
        put(data.decode("utf-8", "backslashreplace"))
    else:
        click.echo(data, nl=False)
