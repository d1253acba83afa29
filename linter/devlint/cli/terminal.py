"""The doors to standard output and standard error: nothing that leaves by them can steer a terminal."""

from __future__ import annotations

import sys

import click

from devlint.quoting import printable, printable_log


def put(text: str, *, err: bool = False, colour: bool = False) -> None:
    """Print lines for people, which bring their line ends along.

    Args:
        err: to standard error.
        colour: let the sequences pass that set a colour. Renderers quote names and lines, so that these are devlint's.
    """
    click.echo(printable_log(text, colour=colour), nl=False, err=err, color=colour)


def put_document(text: str, *, err: bool = False) -> None:
    """Print a document for a program, in which its renderer has quoted everything."""
    click.echo(text, nl=False, err=err)


def say(kind: str, message: str) -> None:
    """Print a remark on the run, such as an `error`, to standard error, on one line whatever a file is called."""
    click.echo(f"{kind}: {printable(message)}", err=True)


def put_bytes(data: bytes) -> None:
    """Print the content of files, such as a diff: to a terminal like `put`, elsewhere each byte as it is."""
    if sys.stdout.isatty():
        put(data.decode("utf-8", "backslashreplace"))
    else:
        click.echo(data, nl=False)
