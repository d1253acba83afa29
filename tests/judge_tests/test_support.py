"""Where the judge does not work, tests are skipped, but not in CI."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.judge import require_judge, supported


@pytest.fixture
def other_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delattr(os, "fork")
    supported.cache_clear()
    yield
    supported.cache_clear()


def test_reason_is_given(other_machine: None) -> None:
    """The reason says what a machine lacks."""
    assert "forks for each program" in str(supported())


def test_tests_are_skipped(other_machine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """On somebody's own machine the judge may be missing."""
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="forks for each program"):
        require_judge()


def test_ci_fails(other_machine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In CI a missing judge would make the tests prove nothing."""
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="forks for each program"):
        require_judge()
