"""Which fixes are made at once."""

from __future__ import annotations

from devlint.diagnostics import Certainty, Diagnostic, Edit, Fix, Place, Safety, Severity
from devlint.fixes import choose

SAFE, UNSAFE = Safety.SAFE, Safety.UNSAFE


def _edit(column: int, end: int, text: str = "x") -> Edit:
    return Edit(Place("a.py", 1, column, 1, end), text)


def _found(line: int, *edits: Edit, safety: Safety = SAFE, subject: str = "") -> Diagnostic:
    place = Place("a.py", line, 1, line, 2)
    fix = Fix(safety, "change it", edits, subject) if edits else None
    return Diagnostic("DEV101", "some-rule", Severity.ERROR, Certainty.CERTAIN, "m", place, fix=fix)


def _lines(*found: Diagnostic, unsafe: bool = False) -> list[int]:
    return [one.place.line for one in choose(found, unsafe=unsafe).settled]


def test_all_that_do_not_touch() -> None:
    assert _lines(_found(2, _edit(5, 6)), _found(1, _edit(1, 2)), _found(3)) == [1, 2]


def test_the_first_of_those_that_overlap_or_meet() -> None:
    assert _lines(_found(1, _edit(3, 6)), _found(2, _edit(5, 9))) == [1]
    assert _lines(_found(1, _edit(3, 6)), _found(2, _edit(6, 9))) == [1]
    assert _lines(_found(1, _edit(3, 3)), _found(2, _edit(3, 3, "y"))) == [1]


def test_unsafe_ones_if_asked_for() -> None:
    found = [_found(1, _edit(1, 2), safety=UNSAFE), _found(2, _edit(5, 6))]
    assert _lines(*found) == [2]
    assert _lines(*found, unsafe=True) == [1, 2]


def test_a_shared_edit_is_made_once_and_serves_both() -> None:
    shared = _edit(1, 1, "import torch\n")
    choice = choose([_found(1, shared, _edit(5, 6)), _found(2, shared, _edit(8, 9))], unsafe=False)

    assert len(choice.settled) == 2
    assert choice.edits == (shared, _edit(5, 6), _edit(8, 9))


def test_one_change_of_a_subject_at_a_time() -> None:
    first, second = _found(1, _edit(1, 2), subject="x"), _found(2, _edit(5, 6), subject="x")
    assert _lines(first, second) == [1]
    assert _lines(first, _found(2, _edit(5, 6), subject="y")) == [1, 2]
    assert _lines(first, _found(2, _edit(1, 2), subject="x")) == [1, 2]


def test_a_later_change_of_a_subject_waits_for_an_unsafe_one() -> None:
    found = [_found(1, _edit(1, 2), safety=UNSAFE, subject="x"), _found(2, _edit(5, 6), subject="x")]
    assert _lines(*found) == []
    assert _lines(*found, unsafe=True) == [1]
