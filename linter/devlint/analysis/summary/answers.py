"""Finds the summary for a call by the answers of the call to the questions of the called body.

The questions form a tree. At each node the body asks its next question, and each answer leads to a node below. A node
without a question has the summary. If a limit cuts an execution off, the execution may ask other questions after the
same answers, so a node can have several questions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Generic, TypeVar

from devlint.domain.given import Question
from devlint.domain.given_object import Passed, answer
from devlint.records import dataclass

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Answers(Generic[T]):
    """A node of the tree, with all nodes below it.

    Attributes:
        found: the result for all calls that come to this node, if the body asks them nothing more.
        questions: the next question, mostly one, with the node for each answer.
    """

    found: T | None = None
    questions: dict[Question, dict[object, Answers[T]]] = field(default_factory=dict)

    def get(self, passed: Passed) -> T | None:
        """Return the result for a call that hands this over; None if there is no result.

        Raises:
            TypeError: a constant that is asked for cannot be hashed.
        """
        if self.found is not None:
            return self.found
        for question, nodes in self.questions.items():
            node = nodes.get(answer(question, passed))
            found = None if node is None else node.get(passed)
            if found is not None:
                return found
        return None

    def put(self, asked: Iterable[Question], passed: Passed, found: T) -> None:
        """Keep the result for a call that hands this over, after the body has asked these questions.

        It replaces the result of an execution that has asked only the first of the questions.
        """
        node = self
        for question in asked:
            node.found = None
            nodes = node.questions.setdefault(question, {})
            node = nodes.setdefault(answer(question, passed), Answers())
        node.found = found
