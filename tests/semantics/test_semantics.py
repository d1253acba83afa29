"""The programs that PyTorch has judged: every device error is reported, no sound program is."""

from __future__ import annotations

import pytest

from tests.semantics.comparison import Case, false_alarms, is_found, read_cases, read_unknowable, report

_UNKNOWABLE = read_unknowable()
_MOST_UNKNOWABLE = 0.03
"""The part of the device errors that may be beyond what a text can tell."""


@pytest.mark.parametrize(
    "case", [case for case in read_cases() if case.verdict != "other-error"], ids=lambda case: case.id
)
def test_devlint_and_pytorch_agree(case: Case) -> None:
    said = report(case)
    if case.verdict == "ok":
        assert not false_alarms(said)
    else:
        assert is_found(case, said) == (case.id not in _UNKNOWABLE)


def test_few_errors_are_beyond_the_text() -> None:
    raised = [case.id for case in read_cases() if case.verdict == "device-error"]
    assert _UNKNOWABLE.keys() <= set(raised)
    assert len(_UNKNOWABLE) <= _MOST_UNKNOWABLE * len(raised)
