"""The reports on a random program do not depend on the order of its definitions."""

from __future__ import annotations

import random
from pathlib import Path

from tests.differential import order_of_files
from tests.differential.order import changes, differences, reports, shuffled
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


ADDING = (
    "import torch\n\n\ndef add(x, y):\n    return x + y\n\n\n"
    "def make(device):\n    return torch.ones(3, device=device)\n\n\n"
    "def total(device):\n    return add(make(device), make('cpu'))\n"
)


def test_the_order_of_a_package_makes_no_difference(tmp_path: Path) -> None:
    (tmp_path / "adding.py").write_text(ADDING)
    (tmp_path / "run.py").write_text("from adding import total\n\ntotal('cuda:0')\n")
    found = order_of_files.reports(tmp_path, None)
    assert ("adding.py", "DEV101") in {report[:2] for report in found}
    assert order_of_files.shuffled(ADDING, random.Random("1 0")) != ADDING
    assert list(order_of_files.differences(tmp_path, 3, 1)) == ["", "", ""]


def test_a_package_that_reports_something_else_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "adding.py").write_text(ADDING)
    before = order_of_files.reports(tmp_path, None)
    (tmp_path / "run.py").write_text("from adding import total\n\ntotal('cuda:0')\n")
    assert "DEV101" in changes(before, order_of_files.reports(tmp_path, random.Random(1)))


def test_functions_of_a_file_change_places_with_their_comments() -> None:
    first, second = "# of first\ndef first(x):\n    return x\n", "\n\n@cache\ndef second(x=1):\n    return x\n"
    head, tail = "import torch\nfrom functools import cache\n", "\nsecond(first(1))\n"
    texts = {order_of_files.shuffled(head + first + second + tail, random.Random(seed)) for seed in range(20)}
    assert texts == {head + first + second + tail, head + second + first + tail}


def test_a_function_that_another_definition_reads_stays() -> None:
    text = "def first(x):\n    return x\n\n\ndef second(x=first):\n    return x\n"
    assert {order_of_files.shuffled(text, random.Random(seed)) for seed in range(20)} == {text}
