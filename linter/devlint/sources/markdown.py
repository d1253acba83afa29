"""Markdown: the fenced Python of a text as one program, each line where it stands in the text.

A fence that is indented, in a list for instance, begins with `if 1:` in the place of its opening line, so that its
lines may keep their columns. A fence that Python cannot parse, such as an excerpt with `...` instead of an argument
list, is an illustration and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from devlint.sources.magics import without_magics
from devlint.sources.program import parsed

_OPENING = re.compile(r" *(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_PYTHON = re.compile(r"\{?\.?(?:python3?|py3?|ipython3?|code-block|code-cell)\b", re.IGNORECASE)
_OTHER = re.compile(r"\{?\.?code-(?:block|cell)\}?\s+(?!i?python)", re.IGNORECASE)


def extract(text: str) -> str:
    """Return the program of a Markdown text: as many lines, blank where the text has no Python."""
    lines = text.split("\n")
    found = [""] * len(lines)
    for start, end in fences(lines):
        code = _code(lines[start:end], len(lines[start - 1]) - len(lines[start - 1].lstrip()))
        if code is not None:
            found[start - 1 : end] = code
    return "\n".join(found)


def fences(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the stretches of lines inside fences that are marked as Python: first line, from 0, and the end."""
    opening: re.Match[str] | None = None
    start = 0
    for number, line in enumerate(lines):
        if opening is None:
            opening, start = _OPENING.match(line), number + 1
        elif _closes(line, opening["fence"]):
            info = opening["info"].lstrip()
            if _PYTHON.match(info) and not _OTHER.match(info):
                yield start, number
            opening = None


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and stripped == fence[0] * len(stripped)


def _code(lines: Sequence[str], indent: int) -> list[str] | None:
    """Return a fence as Python, its opening line first; None if it is not Python."""
    plain = without_magics("\n".join(lines))
    if plain is None:
        return None
    opening = "if 1:" if indent and any(line.strip() for line in lines) else ""
    code = [opening, *plain.split("\n")]
    return None if parsed("\n".join(code)) is None else code
