"""Findings as diagnostics: one report for each place and rule, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from devlint.diagnostics import Diagnostic, Place, Severity
from devlint.inference.values import data
from devlint.inference.values.data import DISCARDED, ON_MACHINE, PROGRAM, Finding, Participant
from devlint.inference.verdict.codes import causes_of, code_of, place_of
from devlint.inference.verdict.levels import certainty_of
from devlint.inference.verdict.words import names as device_names


def diagnostics(found: Iterable[Finding], display: str, text: str, names: Mapping[str, str]) -> list[Diagnostic]:
    """Return the reports on one file.

    Args:
        found: the findings of all files, those of programs first.
        display: the file.
        text: its source text.
        names: the names of the rules that are wanted, by code.
    """
    lines = text.split("\n")
    reports: dict[tuple[data.Place, str], Diagnostic] = {}
    of_programs: set[data.Place] = set()
    for finding in found:
        told = [(code_of(finding), place_of(finding), _message(finding)), *_causes(finding)]
        for code, place, message in told:
            if place.path != display or code not in names or (place, code) in reports:
                continue
            if finding.entry != PROGRAM and place in of_programs:
                continue  # a client meets the same cause again
            chain = finding.requirement.chain
            calls = tuple([_place(lines if each.path == display else [], each) for each in chain])
            level, where = certainty_of(finding), _place(lines, place)
            report = Diagnostic(code, names[code], Severity.ERROR, level, message, where, calls=calls)
            reports[place, code] = report
            if finding.entry == PROGRAM:
                of_programs.add(place)
    return sorted(reports.values(), key=lambda one: one.sort_key)


def _causes(finding: Finding) -> Iterator[tuple[str, data.Place, str]]:
    for code, place in causes_of(finding):
        yield code, place, "this stays on the CPU, because its module does not register it"


def _place(lines: list[str], place: data.Place) -> Place:
    line = lines[place.line - 1] if place.line <= len(lines) else " " * place.column
    before = line.encode("utf-8", "surrogatepass")[: place.column].decode("utf-8", "surrogatepass")
    column = len(before) + 1
    return Place(place.path, place.line, column, place.line, len(line) + 1)


def _message(finding: Finding) -> str:
    operation = finding.requirement.operation
    if finding.requirement.kind == DISCARDED:
        return f"the result of `{operation}` is thrown away"
    if finding.requirement.kind in ON_MACHINE:
        named = device_names(finding.one.device)
        return f"`{operation}` needs {named[0] if named else 'something'}, which this program may not find"
    return f"`{operation}`: {_told(finding.one)}, {_told(finding.two)}"


def _told(one: Participant) -> str:
    return f"{one.role} on {' or '.join(device_names(one.device)) or 'another device'}"
