"""What is told of each value is what the analysis has concluded, at the place where the value stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from devlint.analysis import Analyser
from devlint.diagnostics import Place
from devlint.facts import FileFacts, Reveal
from devlint.project import Project, Source

from tests.conftest import REPOSITORY

FIXTURES = sorted((REPOSITORY / "fixtures" / "flow").glob("*.py"))


def _look(path: Path) -> tuple[Source, FileFacts]:
    project = Project(REPOSITORY / "fixtures")
    source = project.source(path)
    return source, Analyser(project).facts(source, occurrences=True)


def _argument(call: Place) -> Place:
    """Where the argument of `reveal_device(…)` stands."""
    return replace(call, column=call.column + len("reveal_device("), end_column=call.end_column - 1)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
def test_occurrences_lie_in_their_expressions_and_agree_with_reveals(path: Path) -> None:
    source, facts = _look(path)
    lines = source.text.split("\n")
    revealed = {item.place: item.fact.text for item in facts.facts if isinstance(item.fact, Reveal)}
    by_place = {seen.place: seen for seen in facts.occurrences if seen.kind == "tensor"}

    for seen in facts.occurrences:
        outer, inner = seen.place, seen.anchor
        assert (outer.line, outer.column) <= (inner.line, inner.column) < (inner.end_line, inner.end_column)
        assert (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
        assert inner.end_column <= len(lines[inner.end_line - 1]) + 1
    for place, text in revealed.items():
        seen_there = by_place.get(_argument(place))
        if seen_there is not None:
            # What is different from turn to turn is `unknown` to `reveal_device`.
            assert seen_there.text == text or (text == "unknown" and " or " in seen_there.text), place


def test_the_reveals_of_the_fixtures_are_met() -> None:
    """The test above compares something."""
    met = 0
    for path in FIXTURES:
        _, facts = _look(path)
        places = {seen.place for seen in facts.occurrences if seen.kind == "tensor"}
        met += sum(isinstance(item.fact, Reveal) and _argument(item.place) in places for item in facts.facts)
    assert met > 50


def test_nothing_is_observed_unless_asked_for() -> None:
    project = Project(REPOSITORY / "fixtures")
    assert Analyser(project).facts(project.source(FIXTURES[0])).occurrences == ()
