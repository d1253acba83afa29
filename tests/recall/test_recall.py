"""The list of bugs and the reasons filed for those that are not found fit together."""

from __future__ import annotations

import pytest

from tests.recall.bugs import FAMILIES, SCOPES, read_bugs, read_misses


@pytest.mark.parametrize("others", [False, True])
def test_every_bug_has_a_known_category_and_scope(*, others: bool) -> None:
    bugs = read_bugs(others=others)
    assert len({bug.id for bug in bugs}) == len(bugs)
    assert {bug.category for bug in bugs} <= set(FAMILIES)
    assert {bug.decidable for bug in bugs} == set(SCOPES)


def test_reasons_are_filed_for_bugs_of_the_list_only() -> None:
    misses = read_misses()
    assert set(misses) <= {bug.id for bug in read_bugs()}
    assert all(misses.values())
