"""The cause of an error is found and mended, wherever in the program it is; see `tests.guard.causes`."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tests.guard.causes import end_when_right, read_programs
from tests.guard.pretended import Way
from tests.guard.questions import WAYS, Question, answer
from tests.judge import Judge

PROGRAMS = {str(one.row["id"]): one for one in read_programs()}

NOT_NAMED = {"ids_without_the_module", "ids_of_an_output"}
"""Each of two values may be the wrong one here, and the guard names the other, or not the line that wraps a module."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_marked_line_is_the_cause(judge: Judge, name: str) -> None:
    assert end_when_right(judge, PROGRAMS[name]) == "ok"


@pytest.mark.parametrize("name", PROGRAMS)
def test_cause_and_mending_are_told_alike_with_and_without_a_guard(judge: Judge, name: str) -> None:
    said = {way: _said(judge, PROGRAMS[name], way) for way in WAYS}
    assert said["explain"] == said["run"]
    operand, cause, mended = said["explain"]
    assert mended == "ok"
    assert (operand and cause) or name in NOT_NAMED


def _said(judge: Judge, program: Question, way: Way) -> tuple[bool, bool, str]:
    found = answer(judge, program, way)
    return found.operand, found.cause, found.mended
