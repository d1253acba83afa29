"""The comparison on the page of the tests is the table of this package, and what it says of devlint is tested."""

from __future__ import annotations

import ast

import pytest

from tests.conftest import REPOSITORY, Expect
from tests.peers.table import FEATURES, PEERS, REQUIREMENTS, Feature, as_markdown

PAGE = REPOSITORY / "tests" / "README.md"
HEAD = "|  | devlint |"


def _name(feature: object) -> str | None:
    return feature.name if isinstance(feature, Feature) else None


def test_the_page_has_this_table(expect: Expect) -> None:
    before, head, after = PAGE.read_text(encoding="utf-8").partition(HEAD)
    assert head, "the comparison is missing"
    rest = after[after.index("\n\n") + 1 :]
    expect(PAGE, f"{before}{as_markdown()}{rest}")


@pytest.mark.parametrize("feature", FEATURES, ids=_name)
def test_every_peer_has_an_answer(feature: Feature) -> None:
    assert len(feature.theirs) == len(PEERS) == len(REQUIREMENTS)
    assert all(answer.text and answer.runs for answer in feature.theirs)


@pytest.mark.parametrize("feature", FEATURES, ids=_name)
def test_what_is_said_of_devlint_is_tested(feature: Feature) -> None:
    assert feature.tests
    for test in feature.tests:
        file, _, name = test.partition("::")
        tree = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, test
