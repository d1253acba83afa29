"""The summary of a function says what the execution of its body says."""

from __future__ import annotations

from tests.differential.in_place import differences, handing_over_objects, places
from tests.differential.order import reports

PROGRAM = """\
import torch

def first(x):
    return x.cuda()

def second(x, *others, depth=2):
    return first(x) + x if depth == 0 else second(x, depth=depth - 1)

print(first(torch.ones(3)) + torch.ones(3))
"""


def test_summaries_and_executions_say_the_same() -> None:
    assert list(differences(20, 1)) == []


def test_each_call_hands_over_an_object_unless_the_function_calls_itself() -> None:
    changed = handing_over_objects(PROGRAM)
    assert changed is not None
    assert changed.count("an_object=[]") == 2
    assert "def first(x, *, an_object=None)" in changed
    assert "depth=2)" in changed


def test_the_lines_are_those_of_the_program() -> None:
    changed = handing_over_objects(PROGRAM)
    assert changed is not None
    assert places(reports(changed)) == places(reports(PROGRAM))
    assert reports(changed).total() == 1
    assert "an_object" in str(reports(changed))


def test_a_report_on_another_line_is_noticed() -> None:
    moved = PROGRAM.replace("print(first(torch.ones(3)) + torch.ones(3))", "x = torch.ones(3)\nprint(first(x) + x)")
    assert places(reports(moved)) != places(reports(PROGRAM))
