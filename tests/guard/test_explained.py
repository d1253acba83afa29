"""Of the known bugs, nearly all are explained: a sample here, the whole list by `python -m tests.guard.explained`."""

from __future__ import annotations

from tests.guard.explained import misses, read_bugs
from tests.judge import Judge

STRIDE = 17
"""One bug of so many is in the sample, all along the list, which goes through the kinds of bug one by one."""

WANTED = 0.95


def test_most_bugs_are_explained(judge: Judge) -> None:
    sample = read_bugs()[::STRIDE]
    missed = [str(miss) for miss in misses(judge, sample)]
    assert len(missed) <= (1 - WANTED) * len(sample), "\n".join(missed)


def test_every_bug_is_listed_once_with_what_is_to_blame() -> None:
    bugs = read_bugs()
    assert len({(bug.program, bug.devices) for bug in bugs}) == len(bugs)
    assert [bug.program for bug in bugs if not bug.operands or not bug.line] == []
    assert [bug.program for bug in bugs if bug.file is not None and not bug.file.exists()] == []
