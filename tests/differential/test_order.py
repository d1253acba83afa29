"""The reports on a random program do not depend on the order of its definitions."""

from __future__ import annotations

import random

from tests.differential.order import differences, reports, shuffled
from tests.differential.program import Definition, Program, Statement

FIRST = Definition(Statement("def first(x):", (Statement("return x.cuda()"),)), "pass")
SECOND = Definition(Statement("def second(x):", (Statement("return first(x) + x.cpu()"),)), "pass")
PLANTED = Program("planted", 2, (FIRST, SECOND), (Statement("second(torch.ones(3))"),))


def test_the_order_of_definitions_makes_no_difference() -> None:
    assert list(differences(20, 1)) == []


def test_a_report_that_stands_elsewhere_is_noticed() -> None:
    bad = SECOND.statement.body[0]
    moved = Program(
        "planted", 2, (FIRST,), (Statement("x = torch.ones(3)"), Statement(bad.text.removeprefix("return ")))
    )
    before, after = reports(PLANTED.text), reports(moved.text)
    assert before.total() == after.total() == 1
    assert before != after


def test_definitions_change_places() -> None:
    orders = {shuffled(PLANTED, random.Random(seed)).definitions for seed in range(20)}
    assert orders == {(FIRST, SECOND), (SECOND, FIRST)}
