"""The reports on a random program are the same whether calls share summaries or not."""

from __future__ import annotations

from unittest import mock

import pytest
from devlint.domain.given import QuestionLog

from tests.conftest import REPOSITORY
from tests.differential.answers import asking_for_everything, differences, reports_on
from tests.differential.order import changes, reports

PROGRAM = """
import torch

def placed(x, where):
    return x.to("cuda:0") if where > 5 else x

x = torch.ones(3)
placed(x, 1) + x
placed(x, 9) + x
"""

PROGRAM_WITH_OBJECTS = """
import torch

class Holder:
    def __init__(self, where):
        self.where = where

    def put(self, x):
        return x.to(self.where)

x = torch.ones(3)
Holder("cpu").put(x) + x
Holder("cuda:0").put(x) + x
"""


def test_calls_that_share_a_summary_have_the_same_reports() -> None:
    assert list(differences(20, 1)) == []


@pytest.mark.parametrize("folder", ["questions", "rules/input_not_on_module_device"])
def test_methods_of_objects_that_answer_alike_have_the_same_reports(folder: str) -> None:
    shared = reports_on(REPOSITORY / "fixtures" / folder)
    with asking_for_everything():
        alone = reports_on(REPOSITORY / "fixtures" / folder)
    assert shared == alone, changes(shared, alone)
    assert shared.total() > 50


@pytest.mark.parametrize("program", [PROGRAM, PROGRAM_WITH_OBJECTS])
def test_a_question_that_is_not_noted_makes_a_difference(program: str) -> None:
    def forget(questions: QuestionLog, place: object, aspect: object) -> None: ...

    right = reports(program)
    with mock.patch.object(QuestionLog, "ask", forget):
        wrong = reports(program)
    assert (right.total(), wrong.total()) == (1, 0)
