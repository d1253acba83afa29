"""What a file holds as one Python program: a source file, the cells of a notebook, the fenced code of a Markdown text.

devlint analyses `Program.text`. It has the same lines and columns as `Program.original`, the text of the author, so
that a place in one is a place in the other. Lines that are not Python have been replaced.
"""

from __future__ import annotations

from pathlib import PurePath

from devlint.sources.program import Program

MARKDOWN = (".md", ".markdown")
NOTEBOOK = ".ipynb"


def program_of(text: str, display: str) -> Program:
    """Return what a decoded file holds, by the ending of its name.

    Raises:
        SourceError: it should be a notebook and is none.
    """
    suffix = PurePath(display).suffix
    if suffix == NOTEBOOK:
        from devlint.sources.notebook import read

        return read(text, display)
    if suffix in MARKDOWN:
        from devlint.sources.markdown import extract

        return Program(extract(text), text)
    return Program(text, text)
