"""The cases of a body by the answers of their callers: a tree whose nodes have runs of questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, final

from devlint.inference.state.frame import Frame, Oracle
from devlint.inference.state.summary import Summary
from devlint.inference.values.code import Body
from devlint.inference.values.data import Answer, Question

Answered: TypeAlias = "Sequence[tuple[Question, Answer]]"


@final
class Active:
    """A body that is being executed.

    Attributes:
        body: the executed body.
        frame: its execution.
        answers: of its finished rounds; a recursive call stands before the questions that follow it.
        index: the number of executions around it.
        lowest: the index of the outermost execution whose provisional summary it has used.
        provisional: the summary for recursive calls.
        is_used: whether a recursive call has used that summary.
        round: the number of finished rounds.
        is_done: whether its summary is final.
        outer: the execution, with its round, whose provisional summary it rests on; None if there is none.
    """

    __slots__ = ("answers", "body", "frame", "index", "is_done", "is_used", "lowest", "outer", "provisional", "round")

    def __init__(self, body: Body, index: int) -> None:
        self.body = body
        self.index = index
        self.lowest = index
        self.frame: Frame | None = None
        self.answers: dict[Question, Answer] = {}
        self.provisional = Summary(is_endless=True)
        self.is_used = False
        self.round = 0
        self.is_done = False
        self.outer: tuple[Active, int] | None = None


@final
class Case:
    """A summary, and the execution with its round whose provisional summary it rests on; None if there is none."""

    __slots__ = ("rests_on", "summary")

    def __init__(self, summary: Summary, rests_on: tuple[Active, int] | None) -> None:
        self.summary = summary
        self.rests_on = rests_on


@final
class Node:
    """The cases whose executions go on with the same questions and answers.

    Attributes:
        run: these questions with their answers.
        case: the case that ends here; None if there is a further question.
        question: that question, whose answers differ; None if the case ends here.
        edges: the nodes by the answer to it.
    """

    __slots__ = ("case", "edges", "question", "run")

    def __init__(self, run: Answered, case: Case | None) -> None:
        self.run = run
        self.case = case
        self.question: Question | None = None
        self.edges: dict[Answer, Node] = {}

    def find(self, oracle: Oracle, is_full: bool) -> Case | None:
        """Return the case for a caller; None if there is none. In a full tree, a new answer counts as unknown."""
        node = self
        while True:
            for question, expected in node.run:
                answer = oracle.answer(question)
                if answer != expected and not (is_full and expected is None):
                    return None
            if node.question is None:
                return node.case
            answer = oracle.answer(node.question)
            below = node.edges.get(answer)
            if below is None and is_full:
                below = node.edges.get(None)
            if below is None:
                return None
            node = below

    def insert(self, answers: Answered, case: Case) -> None:
        """Insert a case at the answers of its execution."""
        shared = 0
        while shared < len(self.run) and shared < len(answers) and self.run[shared] == answers[shared]:
            shared += 1
        rest = answers[shared:]
        if shared < len(self.run) and rest and self.run[shared][0] == rest[0][0]:
            old = Node(self.run[shared + 1 :], self.case)
            old.question, old.edges = self.question, self.edges
            self.edges = {self.run[shared][1]: old}
            self.run, self.case, self.question = self.run[:shared], None, rest[0][0]
        if shared == len(self.run) and rest and self.question == rest[0][0]:
            below = self.edges.get(rest[0][1])
            if below is None:
                self.edges[rest[0][1]] = Node(rest[1:], case)
            else:
                below.insert(rest[1:], case)
            return
        self.run, self.case, self.question, self.edges = answers, case, None, {}
