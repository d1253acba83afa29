"""Sentences that a reader has to read twice: a ceiling for each part of the project, which may only fall."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Expect
from tests.pages.english import AREAS, Sentence, hard, sentences

FOR_USERS = ("pages", "rules", "cli", "report", "guard")
"""The parts that a user reads; of their sentences, at most 2 in 100 are hard."""

LARGEST_SHARE = 0.02

CEILINGS = Path(__file__).with_name("ceilings.json")
"""How many hard sentences each other part may have; `--accept` lowers a number and never raises it."""


def _shown(found: list[Sentence]) -> str:
    return "\n".join(f"{one.file}:{one.line}: {one.text}" for one in found)


@pytest.mark.parametrize("area", FOR_USERS)
def test_users_find_the_subject_of_nearly_every_sentence(area: str) -> None:
    found, total = hard(area), len(sentences(area))
    assert total > 90
    assert len(found) <= LARGEST_SHARE * total, _shown(found)


@pytest.mark.parametrize("area", sorted(set(AREAS) - set(FOR_USERS)))
def test_hard_sentences_become_fewer(area: str) -> None:
    ceilings: dict[str, int] = json.loads(CEILINGS.read_text(encoding="utf-8"))
    found = hard(area)
    assert len(found) <= ceilings[area], _shown(found)


def test_ceilings_are_as_low_as_they_can_be_under_accept(expect: Expect, request: pytest.FixtureRequest) -> None:
    ceilings: dict[str, int] = json.loads(CEILINGS.read_text(encoding="utf-8"))
    assert set(ceilings) == set(AREAS) - set(FOR_USERS)
    if request.config.getoption("--accept"):
        lowered = {area: min(most, len(hard(area))) for area, most in ceilings.items()}
        expect(CEILINGS, json.dumps(lowered, indent=2, sort_keys=True) + "\n")


@pytest.mark.parametrize(
    ("text", "is_hard"),
    [
        ("Return the value of what is given.", True),
        ("Whoever has it may change it.", True),
        ("A list of which nothing is known.", True),
        ("It stays. So is the other one.", True),
        ("Return the arguments of the call.", False),
        ("A user who reads this page knows it.", False),
        ("Somebody told us so yesterday.", False),
    ],
)
def test_signs(text: str, is_hard: bool) -> None:
    assert Sentence("a.py", 1, text).is_hard == is_hard
