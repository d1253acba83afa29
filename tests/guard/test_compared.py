"""The guard is never worse than PyTorch's own error: a sample; `python -m tests.guard.compared` runs all."""

from __future__ import annotations

from tests.guard.compared import differences
from tests.guard.explained import read_bugs
from tests.judge import Judge

STRIDE, START = 61, 7
"""One program of so many is in the sample."""


def test_torchscript_keeps_the_text_of_an_error(judge: Judge) -> None:
    scripted = [one for one in read_bugs() if one.program.startswith("jit.")]
    assert scripted
    assert [str(one) for one in differences(judge, scripted)] == []


def test_programs_end_with_the_same_error_and_one_note_that_names_a_value(judge: Judge) -> None:
    found = list(differences(judge, read_bugs()[START::STRIDE]))
    assert [str(one) for one in found] == []
