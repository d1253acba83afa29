"""Patterns in the notation of `.gitignore`, matched without backtracking over stars.

A star is an atomic group: it takes the first place at which the text behind it fits, which is enough since the next
star can take up any rest. Time so grows with the product of the lengths of pattern and name, whatever either is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice

from devlint.records import dataclass

MOST_PATTERNS = 10_000
LONGEST_PATTERN = 4096
"""Of one file; more is refused, since each name is held against each pattern."""

_ANY = "[^/]"
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t\\n\\r\\x0b\\x0c",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One pattern.

    Attributes:
        mentions: False if it takes back what earlier patterns mention.
        only_folders: whether it means folders alone.
        anywhere: whether it is about the last part of a path, wherever that is.
        regex: the expression for the whole path, or for its last part.
    """

    mentions: bool
    only_folders: bool
    anywhere: bool
    regex: re.Pattern[str]


class Patterns:
    """Patterns in order; the last one that fits a path decides, as in git.

    Args:
        lines: the patterns; blank lines and comments are none.

    Raises:
        ValueError: a line is no pattern, or there are too many.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        every = (pattern for pattern in map(_parsed, lines) if pattern is not None)
        parsed = [*islice(every, MOST_PATTERNS + 1)]
        if len(parsed) > MOST_PATTERNS:
            raise ValueError(f"more than {MOST_PATTERNS} patterns")
        self._patterns = parsed[::-1]

    def verdict(self, name: str) -> bool | None:
        """Return whether a path itself is mentioned; False if that is taken back, None if no pattern fits.

        Args:
            name: relative, with `/`; that of a folder ends in `/`.
        """
        is_folder = name.endswith("/")
        path = name[:-1] if is_folder else name
        last = path.rpartition("/")[2]
        for pattern in self._patterns:
            if (is_folder or not pattern.only_folders) and pattern.regex.match(last if pattern.anywhere else path):
                return pattern.mentions
        return None

    def covers(self, name: str) -> bool:
        """Whether a path, or a folder that it is in, is mentioned."""
        end = name.find("/")
        while 0 <= end < len(name) - 1:
            if self.verdict(name[: end + 1]):
                return True
            end = name.find("/", end + 1)
        return bool(self.verdict(name))


def _parsed(line: str) -> _Pattern | None:
    """Return the pattern of a line; None for a comment, and for a pattern that fits no path.

    Raises:
        ValueError: the line is no pattern.
    """
    if len(line) > LONGEST_PATTERN:
        raise ValueError(f"a pattern is longer than {LONGEST_PATTERN} characters")
    text = _without_blanks(line)
    if not text or text.startswith("#"):
        return None
    mentions = not text.startswith("!")
    text = text if mentions else text[1:]
    only_folders = text.endswith("/")
    text = text[:-1] if only_folders else text
    if not text and not only_folders:
        raise ValueError(f"not a pattern: {line!r}")
    anywhere = "/" not in text
    parts = text.removeprefix("/").split("/")
    if not all(parts):
        return None
    groups = (f"g{number}" for number in count())
    try:
        regex = _part(parts[0], groups) if anywhere else _path(parts, groups)
    except _FitsNothingError:
        return None
    return _Pattern(mentions, only_folders, anywhere, re.compile(regex + r"\Z"))


def _without_blanks(line: str) -> str:
    """Return a line without the spaces at its end that no backslash protects."""
    kept = line.rstrip(" ")
    slashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if slashes % 2 and len(kept) < len(line) else kept


class _FitsNothingError(Exception):
    """A pattern is valid, and no name fits it, as for git."""


def _path(parts: Sequence[str], groups: Iterator[str]) -> str:
    """Return the expression for a path; `**` stands for folders between, none or many, or for everything at the end."""
    chunks: list[list[str]] = [[]]
    for part in parts:
        if len(part) > 1 and not part.strip("*"):
            if chunks[-1] or len(chunks) == 1:
                chunks.append([])
        else:
            chunks[-1].append(_part(part, groups))
    first, *others = chunks
    if not others:
        return "/".join(first)
    found = "".join(f"{part}/" for part in first)
    *middle, last = others
    for chunk in middle:
        found += _atomic("(?:[^/]+/)*?" + "".join(f"{part}/" for part in chunk), groups)
    return found + ("(?:[^/]+/)*?" + "/".join(last) if last else "(?s:.+)")


def _part(part: str, groups: Iterator[str]) -> str:
    """Return the expression for a part of a path between slashes.

    Raises:
        _FitsNothingError: a bracket does not end.
        ValueError: a backslash protects nothing.
    """
    fixed = [""]
    at = 0
    while at < len(part):
        character = part[at]
        at += 1
        if character == "*":
            if fixed[-1] or len(fixed) == 1:
                fixed.append("")
        elif character == "?":
            fixed[-1] += _ANY
        elif character == "[":
            expression, at = _bracket(part, at)
            fixed[-1] += expression
        elif character == "\\":
            if at == len(part):
                raise ValueError(f"not a pattern: {part!r}")
            fixed[-1] += re.escape(part[at])
            at += 1
        else:
            fixed[-1] += re.escape(character)
    first, *others = fixed
    if not others:
        return first
    *middle, last = others
    return first + "".join(_atomic(f"{_ANY}*?{text}", groups) for text in middle) + f"{_ANY}*{last}"


def _atomic(expression: str, groups: Iterator[str]) -> str:
    """Return an expression that is not tried in another way once it fits; Python 3.10 has no atomic groups."""
    group = next(groups)
    return f"(?=(?P<{group}>{expression}))(?P={group})"


def _bracket(part: str, at: int) -> tuple[str, int]:
    """Return the expression for one of some characters, and where the part goes on.

    Args:
        part: the part of the pattern.
        at: behind the opening bracket.
    """
    negated = part[at : at + 1] in ("!", "^")
    at += negated
    inside = ""
    before = ""
    first = True
    while first or part[at : at + 1] != "]":
        first = False
        character, at = _next(part, at)
        if character == "-" and before and part[at : at + 1] not in ("", "]"):
            character, at = _protected(*_next(part, at), part)
            if before <= character:
                inside += f"{re.escape(before)}-{re.escape(character)}"
            before = ""
        elif character == "[" and part[at : at + 1] == ":" and (end := part.find("]", at + 1)) > 0:
            if end > at + 1 and part[end - 1] == ":":
                name = part[at + 1 : end - 1]
                if name not in _CLASSES:
                    raise _FitsNothingError
                inside, before, at = inside + _CLASSES[name], "", end + 1
            else:
                inside, before = inside + r"\[", "["
        else:
            before, at = _protected(character, at, part)
            inside += re.escape(before)
    if not inside:
        return (_ANY if negated else "(?!)"), at + 1
    return f"(?!/)[{'^' if negated else ''}{inside}]", at + 1


def _next(part: str, at: int) -> tuple[str, int]:
    if at >= len(part):
        raise _FitsNothingError
    return part[at], at + 1


def _protected(character: str, at: int, part: str) -> tuple[str, int]:
    """Return the character that a backslash protects, or one that is none."""
    return _next(part, at) if character == "\\" else (character, at)
