"""The reports on a random program do not depend on the order of its definitions."""

from __future__ import annotations

import random

from tests.conftest import REPOSITORY
from tests.differential import order_of_files
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


def test_the_order_of_the_files_of_a_package_makes_no_difference() -> None:
    package = REPOSITORY / "fixtures" / "questions" / "62_kd_teacher_labels"
    assert list(order_of_files.differences(package, 2, 1)) == ["", ""]


def test_functions_of_a_file_change_places_with_their_comments() -> None:
    first, second = "# of first\ndef first(x):\n    return x\n", "\n\n@cache\ndef second(x=1):\n    return x\n"
    head, tail = "import torch\nfrom functools import cache\n", "\nsecond(first(1))\n"
    texts = {order_of_files.shuffled(head + first + second + tail, random.Random(seed)) for seed in range(20)}
    assert texts == {head + first + second + tail, head + second + first + tail}


def test_a_function_that_another_definition_reads_stays() -> None:
    text = "def first(x):\n    return x\n\n\ndef second(x=first):\n    return x\n"
    assert {order_of_files.shuffled(text, random.Random(seed)) for seed in range(20)} == {text}
