"""The filed verdicts are complete rows about pinned packages, and keep the bound on false alarms."""

from __future__ import annotations

from tests.ecosystem.__main__ import Reported
from tests.ecosystem.known import Known, read_known, verdict
from tests.ecosystem.verdicts import read_packages, read_verdicts


def test_every_verdict_is_about_a_pinned_package() -> None:
    pinned = {package.requirement for package in read_packages()}

    assert {row.package for row in read_verdicts()} <= pinned


def test_no_diagnostic_is_filed_twice() -> None:
    keys = [row.key for row in read_verdicts()]

    assert len(keys) == len(set(keys))


def test_every_verdict_has_a_reason() -> None:
    assert all(len(row.reason) > 20 for row in read_verdicts())


def test_some_verdicts_were_read_twice() -> None:
    assert any(row.second is not None for row in read_verdicts())


def test_every_known_place_is_filed_once_and_says_what_happens() -> None:
    places = [(row.repo, row.path, row.lines) for row in read_known()]

    assert len(places) == len(set(places))
    assert all(len(row.what) > 20 and row.lines and len(row.commit) == 40 for row in read_known())


def test_a_known_bug_is_to_be_reported_and_a_look_alike_is_not() -> None:
    bug = Known("owner/name", "0" * 40, "a.py", (3, 4), True, "…")
    here, there = Reported("a.py", 4, "DEV103", "…"), Reported("a.py", 5, "DEV103", "…")

    assert verdict(bug, [there, here])[0]
    assert not verdict(bug, [there])[0]
    assert verdict(bug._replace(bug=False), [there])[0]
    assert not verdict(bug._replace(bug=False), [there, here])[0]
