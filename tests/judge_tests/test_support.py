"""Where the judge does not work, tests are skipped, but not in CI."""

from __future__ import annotations

import platform
from collections.abc import Iterator

import pytest

from tests.judge import require_pretended
from tests.judge.support import pretending_supported


@pytest.fixture
def other_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    pretending_supported.cache_clear()
    yield
    pretending_supported.cache_clear()


def test_reason_names_the_platform(other_machine: None) -> None:
    """An unsupported machine is given as the reason."""
    assert "riscv64" in str(pretending_supported())


def test_tests_are_skipped(other_machine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """On somebody's own machine the judge may be missing."""
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="riscv64"):
        require_pretended()


def test_ci_fails(other_machine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In CI a missing judge would make the tests prove nothing."""
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="riscv64"):
        require_pretended()
