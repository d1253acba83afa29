"""Sources of cells written back into the text of a notebook; every byte that need not change stays."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

from devlint.sources.stretches import Stretch, stretches_of


def replaced(text: str, sources: Mapping[int, str]) -> str:
    """Return the text of a notebook with other sources for some cells, by their positions from 1.

    Only lines that have changed are written anew, in the form that the cell's other strings have; every other byte of
    the notebook stays, line ends and escapes in its strings among them.
    """
    parts: list[str] = []
    done = 0
    for number, stretch in enumerate(stretches_of(text), start=1):
        if number in sources and stretch is not None:
            parts += [text[done : stretch.start], _rewritten(text, stretch, sources[number])]
            done = stretch.end
    return "".join([*parts, text[done:]])


def _rewritten(text: str, stretch: Stretch, source: str) -> str:
    """Return the string or the strings of one cell with another source."""
    escaped = text.isascii() and "\\u" in text
    if text[stretch.start] == '"':
        return _respelled(text[stretch.start : stretch.end], source, escaped=escaped)
    if not stretch.lines:
        return json.dumps(_lines(source), ensure_ascii=escaped)
    literals = [text[start:end] for start, end in stretch.lines]
    gaps = [text[one[1] : other[0]] for one, other in pairwise(stretch.lines)]
    head, tail = text[stretch.start : stretch.lines[0][0]], text[stretch.lines[-1][1] : stretch.end]
    usual = gaps[0] if gaps else f",{head[1:]}" if "\n" in head else ", "
    parts: list[str] = []

    def add(literals: Iterable[str], first: int, last: int) -> None:
        """Add strings in the place of others, with what stands between those, or usually."""
        for index, literal in enumerate(literals, start=first):
            if parts:
                parts.append(gaps[index - 1] if 0 < index < last else usual)
            parts.append(literal)

    done = 0
    for first, last, written in _changes([_decoded(literal) for literal in literals], source):
        add(literals[done:first], done, first)
        has_lines = last - first == 1 and len(_lines(_decoded(literals[first]))) > 1
        one_each = [_spelled(line, escaped=escaped) for line in _lines(written)]
        add([_respelled(literals[first], written, escaped=escaped)] if has_lines else one_each, first, last)
        done = last
    add(literals[done:], done, len(literals))
    return head + "".join(parts) + tail


def _changes(old: Sequence[str], new: str) -> list[tuple[int, int, str]]:
    """Return the strings of a source that change, as the first one and the one behind the last, and their new text."""
    text = "".join(old)
    ends = list(accumulate(map(len, old)))
    begins = [0, *ends]
    lines, wanted = _lines(text), _lines(new)
    offsets = [0, *accumulate(map(len, lines))]
    found: list[tuple[int, int, str]] = []
    end = 0
    for first_line, last_line, first_wanted, last_wanted in _differences(lines, wanted):
        start, stop = offsets[first_line], offsets[last_line]
        first = bisect_right(ends, start)
        last = first if start == stop == begins[first] else bisect_left(ends, stop) + 1
        written = "".join(wanted[first_wanted:last_wanted])
        if found and first < found[-1][1]:  # in the string in which the difference before ends
            first, shared, before = found.pop()
            written = before.removesuffix(text[end : begins[shared]]) + text[end:start] + written
        else:
            written = text[begins[first] : start] + written
        end = stop
        found.append((first, last, written + text[end : begins[last]]))
    return found


def _differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield where two lists differ: from and to in the first, from and to in the second."""
    most = min(len(old), len(new))
    same = next((index for index in range(most) if old[index] != new[index]), most)
    left = most - same
    behind = next((index for index in range(left) if old[-1 - index] != new[-1 - index]), left)
    matcher = SequenceMatcher(None, old[same : len(old) - behind], new[same : len(new) - behind], autojunk=False)
    for tag, *bounds in matcher.get_opcodes():
        if tag != "equal":
            start, end, new_start, new_end = (same + bound for bound in bounds)
            yield start, end, new_start, new_end


def _respelled(literal: str, new: str, *, escaped: bool) -> str:
    """Return a string of JSON with another content, in which the lines that stay are spelled as they were."""
    lines, wanted = _lines(_decoded(literal)), _lines(new)
    places = [found.start() for found in _CHARACTER.finditer(literal, 1, len(literal) - 1)] + [len(literal) - 1]
    offsets = [0, *accumulate(map(len, lines))]
    parts, done = ['"'], 0
    for start, end, new_start, new_end in _differences(lines, wanted):
        parts.append(literal[places[offsets[done]] : places[offsets[start]]])
        parts.append(_spelled("".join(wanted[new_start:new_end]), escaped=escaped)[1:-1])
        done = end
    return "".join([*parts, literal[places[offsets[done]] :]])


def _spelled(text: str, *, escaped: bool) -> str:
    """Return a string of JSON; half of a surrogate pair cannot be written but as an escape."""
    return json.dumps(text, ensure_ascii=escaped or any("\ud800" <= character <= "\udfff" for character in text))


def _decoded(literal: str) -> str:
    text = json.loads(literal)
    assert isinstance(text, str)
    return text


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)
"""One character in a string of JSON; two escapes may be one."""


def _lines(source: str) -> list[str]:
    """Split as notebooks do: each line keeps its end."""
    return _LINE.findall(source)
