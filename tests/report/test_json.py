"""The `json` format and the fingerprints in it."""

from __future__ import annotations

import json

from devlint.diagnostics import Certainty, Diagnostic, Place, Severity
from devlint.report import FORMATS, Outcome, Palette
from devlint.report.fingerprint import fingerprints
from hypothesis import given
from hypothesis import strategies as st


def _diagnostic(line: int, column: int = 1, *, file: str = "a.py", code: str = "DEV101") -> Diagnostic:
    place = Place(file, line, column, line, column + 1)
    return Diagnostic(code, "some-rule", Severity.ERROR, Certainty.ON_ACCELERATOR, "é 形", place)


def _fingerprints(text: str, *diagnostics: Diagnostic) -> tuple[str, ...]:
    return _of(Outcome(diagnostics, 1, 0.0, {"a.py": tuple(text.split("\n"))}))


def _of(outcome: Outcome) -> tuple[str, ...]:
    named = fingerprints(outcome)
    return tuple(named[diagnostic] for diagnostic in outcome.diagnostics)


def test_lines_above_and_white_space_do_not_change_a_fingerprint() -> None:
    before = _fingerprints("x + y\n", _diagnostic(1))
    after = _fingerprints("\n\nif a:\n    x+y\n", _diagnostic(4, 5))
    assert before == after


def test_the_same_line_twice_has_two_fingerprints() -> None:
    first, second = _fingerprints("x + y\nz\nx + y\n", _diagnostic(1), _diagnostic(3))
    assert first != second
    assert _fingerprints("x + y\n", _diagnostic(1)) == (first,)


def test_line_file_and_rule_make_the_difference() -> None:
    found = {
        _fingerprints("x + y\n", _diagnostic(1)),
        _fingerprints("x + z\n", _diagnostic(1)),
        _fingerprints("x + y\n", _diagnostic(1, code="DEV102")),
        _of(Outcome((_diagnostic(1, file="b.py"),), 1, 0.0, {"b.py": ("x + y",)})),
    }
    assert len(found) == 4


def test_the_fingerprint_is_the_same_on_every_machine() -> None:
    assert _fingerprints("x + y\n", _diagnostic(1)) == ("25a96a94756d7de1be58b8eea726185e",)


def test_it_is_ascii_and_counts_by_severity() -> None:
    text = FORMATS["json"](Outcome((_diagnostic(1),), 7, 1.23456, {}), Palette(True))
    document = json.loads(text)
    assert text.isascii()
    assert document["summary"] == {"files": 7, "errors": 1, "warnings": 0, "seconds": 1.235}
    assert document["diagnostics"][0]["message"] == "é 形"
    assert document["diagnostics"][0]["certainty"] == "on-accelerator"


@given(st.lists(st.text(max_size=20), max_size=3), st.integers(1, 5))
def test_any_source_text_has_a_fingerprint(lines: list[str], line: int) -> None:
    (found,) = _of(Outcome((_diagnostic(line),), 1, 0.0, {"a.py": tuple(lines)}))
    assert len(found) == 32
