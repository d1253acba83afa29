"""The reports on a random program are the same whether calls share summaries or not."""

from __future__ import annotations

from unittest import mock

from devlint.domain.given import QuestionLog

from tests.differential.answers import differences
from tests.differential.order import reports

PROGRAM = """
import torch

def placed(x, where):
    return x.to("cuda:0") if where > 5 else x

x = torch.ones(3)
placed(x, 1) + x
placed(x, 9) + x
"""


def test_calls_that_share_a_summary_have_the_same_reports() -> None:
    assert list(differences(20, 1)) == []


def test_a_question_that_is_not_noted_makes_a_difference() -> None:
    def forget(questions: QuestionLog, place: object, aspect: object) -> None: ...

    right = reports(PROGRAM)
    with mock.patch.object(QuestionLog, "ask", forget):
        wrong = reports(PROGRAM)
    assert (right.total(), wrong.total()) == (1, 0)
