"""The cases of a body: `summary` finds the case of a caller, and brings recursion to an end."""

from __future__ import annotations

from typing import Final, final

from devlint.inference.state.frame import NOBODY, Engine, Frame, Oracle
from devlint.inference.state.summary import Summary
from devlint.inference.summaries.make import begin, outcome, run
from devlint.inference.summaries.tree import Active, Case, Node
from devlint.inference.values.code import Body
from devlint.inference.values.data import Finding
from devlint.inference.values.terms import UNKNOWN

MOST_CASES: Final = 64
"""The largest number of cases of a body; a caller with yet another case gets the generic summary."""
MOST_EXECUTIONS: Final = 160
MOST_ROUNDS: Final = 6
"""The largest number of rounds of a recursion; after them, its result is unknown."""
DEEPEST_CALLS: Final = 60
"""The largest depth of nested executions; the result of a deeper one is unknown."""
MOST_OF_ONE_BODY: Final = 4
"""The largest number of nested executions of one body."""


@final
class Cases:
    """The cases of one body, as a tree of questions.

    Attributes:
        generic: the summary that holds for every caller.
        findings: requirements that are broken for every caller.
        count: the number of cases.
        executions: how often the body was executed.
    """

    __slots__ = ("count", "executions", "findings", "generic", "tree")

    def __init__(self) -> None:
        self.tree: Node | None = None
        self.generic: Summary | None = None
        self.findings: dict[Finding, None] = {}
        self.count = 0
        self.executions = 0


@final
class Summaries:
    """The summaries of all bodies."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cases: dict[Body, Cases] = {}
        self._active: list[Active] = []
        self._asking = 0

    def of(self, body: Body) -> Cases:
        """Return the cases of a body."""
        found = self._cases.get(body)
        if found is None:
            found = self._cases[body] = Cases()
        return found

    def is_active(self, body: Body) -> bool:
        """Whether a body is being executed."""
        return any(each.body is body for each in self._active)

    def apart(self) -> list[Active]:
        """Set the current executions aside, as for a new file, and return them for `back`."""
        before, self._active = self._active, []
        return before

    def back(self, before: list[Active]) -> None:
        """Go on with the executions that `apart` has set aside."""
        self._active = before

    def summary(self, body: Body, oracle: Oracle) -> Summary:
        """Return the summary of a body that fits the answers of an oracle."""
        cases = self.of(body)
        if cases.generic is None and oracle is not NOBODY and not any(each.body is body for each in self._active):
            self.summary(body, NOBODY)
        inside = 0
        for active in reversed(self._active):
            if active.body is body:
                inside += 1
                if self._is_same(active, oracle):
                    active.is_used = True
                    self._rest_on(active)
                    return active.provisional
        if inside >= MOST_OF_ONE_BODY and oracle is not NOBODY:
            return self.summary(body, NOBODY)
        if self._asking >= DEEPEST_CALLS:  # a caller that answers by a call of a property asks as well
            return Summary(UNKNOWN)
        is_full = cases.count >= MOST_CASES
        self._asking += 1
        case = cases.tree.find(oracle, is_full) if cases.tree is not None else None
        self._asking -= 1
        if case is not None and self._is_valid(case):
            return case.summary
        if case is None and is_full and cases.generic is not None:
            return cases.generic
        return self._execute(body, cases, oracle)

    def _is_same(self, active: Active, oracle: Oracle) -> bool:
        """Whether a recursive call belongs to the active case: its caller gives the same answers."""
        assert active.frame is not None
        answers = {**active.answers, **active.frame.answers}
        return all(oracle.own_answer(question) == answer for question, answer in answers.items())

    def _rest_on(self, active: Active) -> None:
        top = self._active[-1]
        top.lowest = min(top.lowest, active.index)

    def _is_valid(self, case: Case) -> bool:
        """Whether the provisional summaries that a case rests on are still current, or have become final."""
        rests_on = case.rests_on
        while rests_on is not None:
            active, round_ = rests_on
            if active.round != round_:
                return False
            if not active.is_done:
                self._rest_on(active)
                return True
            rests_on = active.outer
        return True

    def _execute(self, body: Body, cases: Cases, oracle: Oracle) -> Summary:
        if len(self._active) >= DEEPEST_CALLS:
            return Summary(UNKNOWN)
        if cases.executions >= MOST_EXECUTIONS:
            return cases.generic if cases.generic is not None else Summary(UNKNOWN)
        active = Active(body, len(self._active))
        self._active.append(active)
        while True:
            active.is_used = False
            frame = begin(self._engine, body, oracle)
            active.frame = frame
            run(frame)
            cases.executions += 1
            active.answers.update(frame.answers)
            found = outcome(frame)
            if not active.is_used or found.same_as(active.provisional):
                break
            active.round += 1
            if active.round > MOST_ROUNDS:
                found = Summary(UNKNOWN, requirements=found.requirements, kinds=found.kinds)
                active.provisional = found
                break
            active.provisional = found
        self._active.pop()
        active.is_done = True
        rests_on = None
        if active.lowest < active.index:
            outer = self._active[active.lowest]
            rests_on = active.outer = (outer, outer.round)
            above = self._active[-1]
            above.lowest = min(above.lowest, active.lowest)
        self._insert(cases, frame, Case(found, rests_on))
        if oracle is NOBODY:
            cases.generic, cases.findings = found, frame.findings
        return found

    def _insert(self, cases: Cases, frame: Frame, case: Case) -> None:
        """Insert a case into the tree, at the answers of its execution."""
        cases.count += 1
        answers = tuple(frame.answers.items())
        if cases.tree is None:
            cases.tree = Node(answers, case)
        else:
            cases.tree.insert(answers, case)
