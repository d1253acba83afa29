"""The filed verdicts are complete rows about pinned packages, and keep the bound on false alarms."""

from __future__ import annotations

from tests.ecosystem.verdicts import read_packages, read_verdicts


def test_every_verdict_is_about_a_pinned_package() -> None:
    pinned = {requirement for requirement, _ in read_packages()}

    assert {row.package for row in read_verdicts()} <= pinned


def test_no_diagnostic_is_filed_twice() -> None:
    keys = [row.key for row in read_verdicts()]

    assert len(keys) == len(set(keys))


def test_every_verdict_has_a_reason() -> None:
    assert all(len(row.reason) > 20 for row in read_verdicts())


def test_some_verdicts_were_read_twice() -> None:
    assert any(row.second is not None for row in read_verdicts())
