"""The findings that are told: one for each place and rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from devlint.facts import Broken
from devlint.inference.values import data
from devlint.inference.values.data import PROGRAM, Finding
from devlint.inference.verdict.codes import causes_of, code_of, place_of
from devlint.inference.verdict.told import Texts, broken, shortened


def told(found: Iterable[Finding], display: str, codes: Collection[str], texts: Texts) -> list[Broken]:
    """Return the broken requirements that reports on one file tell, in order.

    Args:
        found: the findings of all files, those of programs first.
        display: the file.
        codes: of the wanted rules.
        texts: of all files.
    """
    kept: dict[tuple[data.Place, str], Broken] = {}
    of_programs: set[data.Place] = set()
    for finding in found:
        for code, place, attribute in [(code_of(finding), place_of(finding), ""), *causes_of(finding)]:
            if place.path != display or code not in codes or (place, code) in kept:
                continue
            if finding.entry != PROGRAM and place in of_programs:
                continue  # a client meets the same cause again
            one = broken(finding, texts)
            call = shortened(texts.text(place)) or one.call
            kept[place, code] = replace(one, code=code, call=call, place=texts.place(place), attribute=attribute)
            if finding.entry == PROGRAM:
                of_programs.add(place)
    return sorted(kept.values(), key=_position)


def _position(one: Broken) -> tuple[str, int, int, str]:
    return one.place.file, one.place.line, one.place.column, one.code


def operations(found: Iterable[Broken]) -> Iterator[str]:
    """Yield broken requirements in a line each, for tests and people who look at the analysis alone."""
    for one in found:
        sides = [each.where for each in (one.culprit, one.other) if each.where]
        yield f"{one.place.line}: {one.code} `{one.operation}`: {', '.join(sides)}"
