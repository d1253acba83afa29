"""Source lines cut into runs: stretches of one line that belong to one value and are of one kind of text."""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Iterator, Sequence

from devlint.diagnostics import Place
from devlint.facts import Occurrence
from devlint.records import dataclass

_SOFT = frozenset({"match", "case", "type", "_"})


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of a line.

    Attributes:
        text: its characters.
        value: the number of its value among the occurrences, None for text that belongs to none.
        syntax: "comment", "string", "keyword" or "".
    """

    text: str
    value: int | None
    syntax: str


def runs_of(lines: Sequence[str], occurrences: Sequence[Occurrence]) -> Iterator[list[Run]]:
    """Yield the runs of each line; where values are nested, the innermost has the text."""
    values: list[list[int | None]] = [[None] * len(line) for line in lines]
    order = sorted(range(len(occurrences)), key=lambda number: _extent(occurrences[number].anchor, lines))
    for number in reversed(order):
        for line, start, end in stretches(occurrences[number].anchor, lines):
            values[line - 1][start:end] = [number] * (end - start)
    syntax = _syntax(lines)
    for text, owners, kinds in zip(lines, values, syntax, strict=True):
        yield list(_cut(text, owners, kinds))


def stretches(place: Place, lines: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield (line, start, end) for each line of a place, columns from 0, without the white space around."""
    for line in range(place.line, min(place.end_line, len(lines)) + 1):
        text = lines[line - 1]
        start = place.column - 1 if line == place.line else len(text) - len(text.lstrip())
        end = min(place.end_column - 1 if line == place.end_line else len(text.rstrip()), len(text))
        if start < end:
            yield line, start, end


def _extent(place: Place, lines: Sequence[str]) -> int:
    return sum(end - start for _, start, end in stretches(place, lines))


def _syntax(lines: Sequence[str]) -> list[list[str]]:
    kinds = [[""] * len(line) for line in lines]
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            kind = _kind(token)
            if kind:
                place = Place("", token.start[0], token.start[1] + 1, token.end[0], token.end[1] + 1)
                for line, start, end in stretches(place, lines):
                    kinds[line - 1][start:end] = [kind] * (end - start)
    except (tokenize.TokenError, SyntaxError):
        pass  # the rest of a text that is no Python stays plain
    return kinds


def _kind(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.COMMENT:
        return "comment"
    if token.type == tokenize.STRING or tokenize.tok_name[token.type].startswith("FSTRING"):
        return "string"
    is_keyword = token.type == tokenize.NAME and keyword.iskeyword(token.string) and token.string not in _SOFT
    return "keyword" if is_keyword else ""


def _cut(text: str, values: Sequence[int | None], kinds: Sequence[str]) -> Iterator[Run]:
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or (values[end], kinds[end]) != (values[start], kinds[start]):
            yield Run(text[start:end], values[start], kinds[start])
            start = end
