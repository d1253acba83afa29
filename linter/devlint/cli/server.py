"""`devlint server`: the language server for editors."""

from __future__ import annotations

import click


@click.command()
def server() -> int:
    """Serve an editor by the language server protocol. It uses standard input and output."""
    try:
        import pygls  # noqa: F401  # the server imports it everywhere
    except ImportError as error:
        raise click.ClickException("the language server needs pygls: pip install 'pygls>=2,<3'") from error
    from devlint.editor.server import serve

    serve()
    return 0
