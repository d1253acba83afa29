"""Finds the summary for a call by the answers of the call to the questions of the called body.

The questions form a tree. At each node the body asks its next question, and each answer leads to a node below. A node
without a question has the summary. If a limit cuts an execution off, the execution may ask other questions after the
same answers, so a node can have several questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Generic, TypeVar

from devlint.domain.given import Question, answer
from devlint.domain.place import AccessPath
from devlint.domain.value import Constant
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

    def get(self, constants: Mapping[AccessPath, Constant]) -> T | None:
        """Return the result for a call with these constants, by place; None if there is no result.

        Raises:
            TypeError: a constant that is asked for cannot be hashed.
        """
        if self.found is not None:
            return self.found
        for question, nodes in self.questions.items():
            node = nodes.get(answer(question, constants))
            found = None if node is None else node.get(constants)
            if found is not None:
                return found
        return None

    def put(self, asked: Iterable[Question], constants: Mapping[AccessPath, Constant], found: T) -> None:
        """Keep the result for a call with these constants, after the body has asked these questions.

        It replaces the result of an execution that has asked only the first of the questions.
        """
        node = self
        for question in asked:
            node.found = None
            nodes = node.questions.setdefault(question, {})
            node = nodes.setdefault(answer(question, constants), Answers())
        node.found = found
