"""Where the modules of a program go: each name with the devices it is on, in the order of the source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from devlint.facts import Occurrence
from devlint.inspector import Look
from devlint.records import dataclass
from devlint.view.numbering import Numbering
from devlint.view.tints import Tint, tint_of

_MOVED = re.compile(r"([A-Za-z_][\w.]*)\.\w+\(")
"""A call of a method of something that has a name."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A module is on a device from this line on; `why` is the last step of its story, "" where there is none.

    `line` is that of the program, `where` is its name for people: `line 7`.
    """

    line: int
    where: str
    text: str
    tint: Tint
    why: str


@dataclass(frozen=True, slots=True)
class Journey:
    """One module under one name: its class, the function around it ("" for none), and its stops."""

    name: str
    of: str
    scope: str
    stops: tuple[Stop, ...]


def journeys(look: Look) -> list[Journey]:
    """Return the journeys of one file, by the line of their first stop.

    A module that is moved in the line that binds it was somewhere before: that is a stop too.
    """
    assert look.source is not None
    numbering = Numbering(look.source)
    lines = numbering.lines
    found: dict[tuple[str, str, str], list[Stop]] = {}
    modules = [each for each in look.facts.occurrences if each.kind == "module"]
    for each in modules:
        for name, seen in _events(each, modules, lines):
            key = (each.scope, name, each.of)
            stops = found.setdefault(key, [])
            line = seen.anchor.line
            why = seen.trace[-1].what if seen.trace else ""
            stop = Stop(line, numbering.words(line), seen.text, tint_of(seen), why)
            if not stops or (stops[-1].text, stops[-1].tint) != (stop.text, stop.tint):
                stops.append(stop)
    made = [Journey(name, of, scope, tuple(stops)) for (scope, name, of), stops in found.items()]
    return sorted(made, key=lambda journey: (journey.stops[0].line, journey.name))


def _events(seen: Occurrence, modules: Sequence[Occurrence], lines: Sequence[str]) -> Iterator[tuple[str, Occurrence]]:
    """Yield what one occurrence says of a named module: it is bound, or it is moved in place."""
    if seen.binds and seen.anchor == seen.place:
        name = _text(seen, lines)
        line = [each for each in modules if each.anchor.line == seen.anchor.line and each.of == seen.of]
        made = [each for each in line if not each.binds and each.scope == seen.scope and each.anchor > seen.anchor]
        for each in [*made, seen]:
            yield name, each
    elif not seen.binds and seen.trace and seen.trace[-1].place == seen.place:
        moved = _MOVED.match(_text(seen, lines))
        if moved is not None and any(_text(each, lines) == moved[1] for each in modules):
            yield moved[1], seen


def _text(seen: Occurrence, lines: Sequence[str]) -> str:
    """Return the expression, as far as it stands in its first line."""
    place = seen.place
    end = place.end_column - 1 if place.end_line == place.line else None
    return lines[place.line - 1][place.column - 1 : end]
