"""What Jupyter understands beside Python, replaced by Python of the same lines and columns.

`%time f(x)` becomes `0;    f(x)`, `files = !ls` binds a name to something unknown, any other shell line, magic or
question becomes `pass`. A prompt that was copied with the code becomes blanks. A cell that is plain Python is left as
it is, also one whose lines are all indented, which Jupyter strips.

The rules are those of `IPython.core.inputtransformer2` (IPython 9), against which a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import dedent

from devlint.sources.program import parsed

_PYTHON_CELLS = re.compile(r"%%(time|timeit|capture|prun|memit|debug|mprun|lprun|wandb|skip_if_false)\b")
"""Magics of a cell below which Python stands."""

_HELP_ON_CELL_MAGIC = re.compile(r"%%\w+\?")

_TIMED = re.compile(r"(?P<indent>\s*)(?P<magic>%(?:time|prun|memit)\s+)(?=[^-\s])")
_TIMED_VALUE = re.compile(r"%time\s+(?=[^-\s])")
"""The one magic that returns the value of the code behind it."""

_ESCAPES = ("!", "?", "%", ",", ";", "/")
"""Begin a line that is a command."""

_ASSIGNED = re.compile(r"\s*(?:!|%[^\W\d])")
"""Stands behind the `=` of an assignment from a command."""

_QUESTION = re.compile(r"(?:[\w*]|\[-?\d+\])\?{1,2}\s*$")
"""Ends a question: `torch.ones?`, `x = f??`."""

_SHELL = re.compile(
    r"(?:pip3?|conda|mamba|cd|ls|ll|pwd|cat|mkdir|rmdir|rm|cp|mv|wget|curl|git)(?:\s+[-\w./~\"'$*<>=]|\s*$)"
)
"""Commands that Jupyter runs though nothing marks them as such."""

_PROMPT = re.compile(r"\s*(?:>>>|\.\.\.)[ \t]?")
_NUMBERED_PROMPT = re.compile(r"(?:(?:\[(?:nav|ins)\])? )?In \[\d+\]: |\s*\.{3,}: ?")

UNKNOWN = "__ipython__"
"""A name that nothing defines."""


def without_magics(source: str) -> str | None:
    """Return a cell as Python, with as many lines; None for a cell that another program executes.

    Indentation that all lines have in common stays.
    """
    lines = _without(_NUMBERED_PROMPT, source.split("\n"), 2)
    if _is_python("\n".join(lines)):
        return "\n".join(lines)
    if any(line.lstrip().startswith(">>>") for line in lines):
        lines = _without(_PROMPT, lines, len(lines))
    start = next((index for index, line in enumerate(lines) if line.strip()), 0)
    first = lines[start].lstrip()
    if first.startswith("%%") and not _HELP_ON_CELL_MAGIC.match(first):
        if _PYTHON_CELLS.match(first) is None:
            return None
        lines[start] = ""
    return "\n".join(_replaced(lines))


def is_indented(code: str) -> bool:
    """Whether the first statement of a cell is indented, and so all of them."""
    lines = (line for line in code.split("\n") if line.strip() and not line.lstrip().startswith("#"))
    return next(lines, "")[:1].isspace()


def _is_python(text: str) -> bool:
    return parsed(dedent(text)) is not None


def _without(prompt: re.Pattern[str], lines: list[str], count: int) -> list[str]:
    """Replace prompts by blanks, if one of the first so many lines begins with one."""
    if not any(map(prompt.match, lines[:count])):
        return lines
    return [prompt.sub(lambda found: " " * len(found[0]), line, count=1) for line in lines]


def _replaced(lines: Sequence[str]) -> Iterator[str]:
    """Replace lines that are not Python, one logical line after the other, each by as many lines."""
    index = 0
    while index < len(lines):
        length, found = _logical(lines, index)
        yield found
        yield from lines[index + 1 : index + length] if found == lines[index] else [""] * (length - 1)
        index += length


def _logical(lines: Sequence[str], index: int) -> tuple[int, str]:
    """Return the number of lines of a logical line, and its first line; if it is replaced, by what."""
    line = lines[index]
    code = line.lstrip()
    indent = line[: len(line) - len(code)]
    length = _continued(lines, index)
    last = lines[index + length - 1]
    asks = "#" not in last and _QUESTION.search(last) is not None
    timed = _TIMED.match(line)
    if timed is not None and not asks:
        return 1, timed["indent"] + "0;".ljust(len(timed["magic"])) + line[timed.end() :]
    if code.startswith(_ESCAPES):
        return length, f"{indent}pass"
    if _SHELL.match(line) and not _is_python(line):
        return length, "pass"
    inside = _Inside()
    at = index
    while at < len(lines):
        assigned = inside.read(lines[at])
        if at == index and assigned is not None and _ASSIGNED.match(line, assigned):
            return length, f"{indent}pass" if asks else _assignment(line, assigned)
        at += 1
        if not inside:
            break
    length = at - index
    if _QUESTION.search(lines[at - 1][: inside.comment]):
        return length, f"{indent}pass"
    return length, line


def _assignment(line: str, begin: int) -> str:
    """Replace the value of `target = !command` or `target = %magic`, which begins at `begin`."""
    value = line[begin:].lstrip()
    target = line[: len(line) - len(value)]
    timed = _TIMED_VALUE.match(value)
    return target + (UNKNOWN if timed is None else " " * len(timed[0]) + value[timed.end() :])


def _continued(lines: Sequence[str], index: int) -> int:
    """Return the number of lines of a command: all but the last end in a backslash."""
    end = index
    while end + 1 < len(lines) and lines[end].endswith("\\"):
        end += 1
    return end + 1 - index


class _Inside:
    """Whether the text so far ends inside of brackets, a string of several lines, or a continued line.

    `comment`: where the comment of the last line begins, or the line ends.
    """

    def __init__(self) -> None:
        self.comment = 0
        self._depth = 0
        self._quote = ""
        self._continued = False

    def __bool__(self) -> bool:
        return bool(self._depth or self._quote or self._continued)

    def read(self, line: str) -> int | None:
        """Read one more line, and return the place behind its first `=` outside of brackets, if it assigns."""
        self._continued = False
        self.comment = len(line)
        assigned = None
        at = 0
        while at < len(line):
            if self._quote:
                at = self._in_string(line, at)
                continue
            character = line[at]
            if character == "#":
                self.comment = at
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
            elif character == "=" and assigned is None and not self._depth and _assigns(line, at):
                assigned = at + 1
                if _ASSIGNED.match(line, assigned):
                    break  # the rest is no Python
            at += 1
        if len(self._quote) == 1 and not line.endswith("\\"):
            self._quote = ""  # a string that does not end in its line is an error anyway
        return assigned

    def _in_string(self, line: str, at: int) -> int:
        """Read on in a string, and return where to go on."""
        if line[at] == "\\":
            return at + 2
        if line.startswith(self._quote, at):
            length, self._quote = len(self._quote), ""
            return at + length
        return at + 1


def _assigns(line: str, at: int) -> bool:
    """Whether the `=` at a place is a token of its own."""
    return line[at + 1 : at + 2] != "=" and line[at - 1 : at] not in tuple("=!<>:+-*/%@&|^")
