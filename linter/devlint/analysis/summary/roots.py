"""Summaries, and which of them one root may take over from another.

A root is a file that is executed for its own sake: to be loaded, or to be reported. The limits are those of a root, as
if it were alone, so that its reports do not depend on the other files of a run, nor on their order. A summary that no
limit has cut off is kept for all roots; a root takes it over where it would not be cut off in making it. A summary that
was cut off is for its root alone, and there for calls that are at least as deep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import field

from devlint.analysis.summary.answers import Answers
from devlint.domain.given import QuestionLog
from devlint.domain.given_object import Passed
from devlint.domain.summary import Summary
from devlint.frontend.ir import Function
from devlint.records import dataclass

DEEPEST_SUMMARY = 20
"""How many summaries may wait for each other; a call below that is unknown."""

ENTRIES = 40
"""How many entries of one function are summarised for a root; calls with yet other constants are unknown."""


@dataclass(slots=True, eq=False)
class Pattern:
    """Calls of a function that one summary serves; there is one object for them, which is compared by identity.

    Attributes:
        made: their summary, if there is one for all roots.
    """

    function: Function
    made: Made | None = None


@dataclass(slots=True, eq=False)
class Calls:
    """A function with all that its summary follows from but the constants that calls hand over.

    Attributes:
        patterns: those that have a summary for all roots.
    """

    function: Function
    patterns: Answers[Pattern] = field(default_factory=Answers)


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A summary that no limit has cut off.

    Attributes:
        height: how many calls deeper the deepest summary is that was made for it.
        needs: the patterns whose summaries it rests on; those that these rest on may be left out.
        is_recursive: it rests on itself.
    """

    summary: Summary
    height: int
    needs: frozenset[Pattern]
    is_recursive: bool


@dataclass(slots=True, eq=False)
class Making:
    """A summary that is being made; the attributes are as for `Made`.

    Attributes:
        depth: how many calls deep that is.
        passed: what the call passes that it is made for.
        questions: what the body has asked of them so far.
        summary: what a recursive call gets meanwhile.
        head: the outermost summary that is not complete and that it rests on; None without one. It holds until that
            one is made anew, with more known of itself.
        provisional: the patterns of the summaries that rest on it in this way.
        is_cut: a limit has cut something off.
        is_exhausted: what was cut off had too many entries.
    """

    calls: Calls
    pattern: Pattern
    depth: int
    passed: Passed
    summary: Summary
    questions: QuestionLog = field(default_factory=QuestionLog)
    height: int = 0
    needs: set[Pattern] = field(default_factory=set)
    is_recursive: bool = False
    head: Making | None = None
    provisional: list[Pattern] = field(default_factory=list)
    is_cut: bool = False
    is_exhausted: bool = False


class Root:
    """The summaries that one root asks for."""

    def __init__(self) -> None:
        self._asked: set[Pattern] = set()
        self._entries: dict[Function, int] = {}
        self._own: dict[Pattern, Making] = {}
        self._cut: dict[Calls, Answers[Pattern]] = {}
        self._making: list[Making] = []

    def recall(self, calls: Calls, passed: Passed, depth: int) -> Summary | None:
        """Return the summary for a call at a depth, also one that is being made; None if there is none to use."""
        for making in self._making:
            if making.calls is calls and making.passed == passed:
                making.is_recursive = True
                self._rest_on_head(making)
                return making.summary
        pattern = calls.patterns.get(passed)
        made = None if pattern is None else pattern.made
        if pattern and made and depth + made.height < DEEPEST_SUMMARY and self._takes_over(pattern, made):
            self._rest_on(pattern, depth + made.height)
            return made.summary
        pattern = self._cut_pattern(calls, passed)
        own = None if pattern is None else self._own.get(pattern)
        if own is not None and own.depth <= depth:
            if own.head is not None:
                self._rest_on_head(own.head)
            if own.is_cut:
                self._cut_off(exhausted=own.is_exhausted)
            return own.summary
        return None

    def admit(self, calls: Calls, passed: Passed, depth: int) -> Making | None:
        """Return what makes a summary for a call at a depth, which then counts as an entry; None beyond a limit."""
        if depth >= DEEPEST_SUMMARY:
            self._cut_off(exhausted=False)
            return None
        pattern = calls.patterns.get(passed)
        if pattern is None:
            cut = self._cut_pattern(calls, passed)
            # A summary that has been completed since then rests on more answers than those that this call shares.
            pattern = Pattern(calls.function) if cut is None or cut.made is not None else cut
        if pattern not in self._asked:
            if self._entries.get(pattern.function, 0) >= ENTRIES:
                self._cut_off(exhausted=True)
                return None
            self._ask(pattern)
        return Making(calls, pattern, depth, passed, Summary(None))

    def begin(self, making: Making) -> None:
        """Begin to make a summary that is admitted."""
        self._making.append(making)

    def _cut_pattern(self, calls: Calls, passed: Passed) -> Pattern | None:
        """The pattern of a summary that was cut off, for a call that gave its body no other answers."""
        known = self._cut.get(calls)
        return None if known is None else known.get(passed)

    def end(self, making: Making, summary: Summary) -> Summary:
        """Keep a summary that has been made, for all roots or for this one, and return it."""
        ended = self._making.pop()
        assert ended is making
        making.summary, making.questions.are_settled = summary, True
        self.forget_provisional(making)
        if making.head is not None:
            making.head.provisional.append(making.pattern)
        if making.is_cut or making.head is not None:
            self._own[making.pattern] = making
            self._cut.setdefault(making.calls, Answers()).put(making.questions.asked, making.passed, making.pattern)
            for parent in self._making[-1:]:
                parent.needs |= making.needs
        else:
            needs = frozenset(making.needs)
            making.pattern.made = Made(summary, making.height, needs, making.is_recursive)
            making.calls.patterns.put(making.questions.asked, making.passed, making.pattern)
        self._rest_on(making.pattern, making.depth + making.height)
        return summary

    def forget_provisional(self, making: Making) -> None:
        """Forget the summaries that rest on an earlier state of one that is being made."""
        for pattern in making.provisional:
            self._own.pop(pattern, None)
        making.provisional.clear()

    def _rest_on_head(self, head: Making) -> None:
        """Note that the summaries above a head rest on its present state."""
        position = self._making.index(head)
        for above in self._making[position + 1 :]:
            if above.head is None or self._making.index(above.head) > position:
                above.head = head
            above.needs.add(head.pattern)

    def doubt(self) -> None:
        """Note that the summaries which are being made rest on something that is not known yet."""
        self._cut_off(exhausted=False)

    def _cut_off(self, *, exhausted: bool) -> None:
        for making in self._making:
            making.is_cut = True
            making.is_exhausted = making.is_exhausted or exhausted

    def _rest_on(self, pattern: Pattern, deepest: int) -> None:
        for making in self._making[-1:]:
            making.needs.add(pattern)
            making.height = max(making.height, deepest - making.depth)

    def _ask(self, pattern: Pattern) -> None:
        self._asked.add(pattern)
        self._entries[pattern.function] = self._entries.get(pattern.function, 0) + 1

    def _takes_over(self, pattern: Pattern, made: Made) -> bool:
        """Whether this root would make a summary as another root has made it; its entries then count."""
        if made.is_recursive and any(one.pattern in _needed(pattern, frozenset()) for one in self._making):
            return False
        if pattern in self._asked and pattern not in self._own:
            return True
        needed = _needed(pattern, self._asked - self._own.keys())
        if any(one in self._own and self._own[one].is_exhausted for one in needed):
            return False
        new = [one for one in needed if one not in self._asked]
        more = Counter(one.function for one in new)
        if any(self._entries.get(function, 0) + count > ENTRIES for function, count in more.items()):
            return False
        for one in new:
            self._ask(one)
        return True


def _needed(pattern: Pattern, settled: Collection[Pattern]) -> set[Pattern]:
    """The pattern and all that its summary rests on; without what the settled ones need."""
    found: set[Pattern] = set()
    pending = [pattern]
    while pending:
        one = pending.pop()
        if one not in found and one not in settled:
            found.add(one)
            pending += () if one.made is None else one.made.needs
    return found
