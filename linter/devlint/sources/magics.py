"""What Jupyter understands beside Python, replaced by Python of the same lines and columns.

`%time f(x)` becomes `0;    f(x)`, `files = !ls` binds a name to something unknown, any other shell line, magic or
question becomes `pass`. A cell that is plain Python is left as it is.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence

_PYTHON_CELLS = re.compile(r"%%(time|timeit|capture|prun|memit|debug|mprun|lprun|wandb|skip_if_false)\b")
"""Magics of a cell below which Python stands."""

_TIMED = re.compile(r"(?P<indent>\s*)(?P<magic>%(?:time|prun|memit)\s+)(?=[^-\s])")
_ASSIGNED = re.compile(r"(?P<target>[\w.,\[\]'\"\s()]+=\s*)(?:!|%{1,2}[A-Za-z])")
_COMMAND = re.compile(r"\s*(?:!|%{1,2}[A-Za-z]|\?{1,2}\s*[\w%])")
_QUESTION = re.compile(r"\s*[%\w.\[\]*]+\?{1,2}\s*(?:#.*)?$")
_SHELL = re.compile(
    r"(?:pip3?|conda|mamba|cd|ls|ll|pwd|cat|mkdir|rmdir|rm|cp|mv|wget|curl|git)(?:\s+[-\w./~\"'$*<>=]|\s*$)"
)
"""Commands that Jupyter runs though nothing marks them as such."""

UNKNOWN = "__ipython__"
"""A name that nothing defines."""


def without_magics(source: str) -> str | None:
    """Return a cell as Python, with as many lines; None for a cell that another program executes."""
    if _is_python(source):
        return source
    lines = source.split("\n")
    start = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if lines[start].startswith("%%"):
        if _PYTHON_CELLS.match(lines[start]) is None:
            return None
        lines[start] = ""
    return "\n".join(_replaced(lines))


def _is_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _replaced(lines: Sequence[str]) -> list[str]:
    """Replace what is no Python where a statement begins, not inside of brackets and strings."""
    found: list[str] = []
    inside = _Inside()
    continued = False
    for line in lines:
        if continued:  # the rest of a shell line
            continued = line.rstrip().endswith("\\")
            found.append("")
            continue
        if inside:
            inside.read(line)
            found.append(line)
            continue
        plain = _statement(line)
        if plain == line:
            inside.read(line)
        else:
            timed = _TIMED.match(line) is not None
            continued = not timed and line.rstrip().endswith("\\")
            inside.read(plain if timed else "")
        found.append(plain)
    return found


def _statement(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    timed = _TIMED.match(line)
    if timed is not None:
        filler = "0;".ljust(len(timed["magic"]))
        return timed["indent"] + filler + line[timed.end() :]
    assigned = _ASSIGNED.match(line)
    if assigned is not None and "==" not in assigned["target"]:
        return assigned["target"] + UNKNOWN
    if _COMMAND.match(line) or _QUESTION.match(line):
        return f"{indent}pass"
    if _SHELL.match(line) and not _is_python(line):
        return "pass"
    return line


class _Inside:
    """Whether the end of what was read is inside of brackets, a string of several lines, or a continued line."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""
        self._continued = False

    def __bool__(self) -> bool:
        return bool(self._depth or self._quote or self._continued)

    def read(self, line: str) -> None:
        """Read one more line."""
        self._continued = False
        at = 0
        while at < len(line):
            if self._quote:
                at = self._in_string(line, at)
                continue
            character = line[at]
            if character == "#":
                break
            if character in "\"'":
                self._quote = character * 3 if line.startswith(character * 3, at) else character
                at += len(self._quote)
                continue
            if character in "([{":
                self._depth += 1
            elif character in ")]}":
                self._depth = max(self._depth - 1, 0)
            elif character == "\\" and at == len(line) - 1:
                self._continued = True
            at += 1
        if len(self._quote) == 1 and not line.endswith("\\"):
            self._quote = ""  # a string that does not end in its line is an error anyway

    def _in_string(self, line: str, at: int) -> int:
        """Read on in a string, and return where to go on."""
        if line[at] == "\\":
            return at + 2
        if line.startswith(self._quote, at):
            length, self._quote = len(self._quote), ""
            return at + length
        return at + 1
