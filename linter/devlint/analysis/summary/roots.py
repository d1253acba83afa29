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

from devlint.domain.summary import Summary
from devlint.domain.value import Globals
from devlint.frontend.ir import Function
from devlint.records import dataclass

DEEPEST_SUMMARY = 10
"""How many summaries may wait for each other; a call below that is unknown."""

ENTRIES = 40
"""How many entries of one function are summarised for a root; calls with yet other constants are unknown."""


@dataclass(slots=True, eq=False)
class Pattern:
    """A function with a pattern of arguments; there is one object for each, which is compared by identity.

    Attributes:
        made: its summary, if there is one for all roots.
    """

    function: Function
    made: Made | None = None


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
        summary: what a recursive call gets meanwhile.
        is_cut: a limit has cut something off, or a summary is not complete that it rests on.
        is_exhausted: what was cut off had too many entries.
    """

    pattern: Pattern
    depth: int
    summary: Summary
    height: int = 0
    needs: set[Pattern] = field(default_factory=set)
    is_recursive: bool = False
    is_cut: bool = False
    is_exhausted: bool = False


class Patterns:
    """The patterns of all roots."""

    def __init__(self) -> None:
        self._known: dict[Globals, dict[object, Pattern]] = {}

    def of(self, globals_: Globals, function: Function, arguments: object) -> Pattern:
        """Return the pattern of a function of a file with everything else that its summary follows from.

        Raises:
            TypeError: a constant among the arguments cannot be hashed.
        """
        known = self._known.setdefault(globals_, {})
        key = (function, arguments)
        pattern = known.get(key)
        if pattern is None:
            pattern = known[key] = Pattern(function)
        return pattern

    def forget(self, globals_: Globals) -> None:
        """Drop the patterns of a file."""
        self._known.pop(globals_, None)


class Root:
    """The summaries that one root asks for."""

    def __init__(self) -> None:
        self._asked: set[Pattern] = set()
        self._entries: dict[Function, int] = {}
        self._own: dict[Pattern, Making] = {}
        self._making: list[Making] = []

    def recall(self, pattern: Pattern, depth: int) -> Summary | None:
        """Return the summary for a call at a depth, also one that is being made; None if there is none to use."""
        for position, making in enumerate(self._making):
            if making.pattern is pattern:
                making.is_recursive = True
                for above in self._making[position + 1 :]:
                    above.is_cut = True
                    above.needs.add(pattern)
                return making.summary
        made = pattern.made
        if made is not None and depth + made.height < DEEPEST_SUMMARY and self._takes_over(pattern, made):
            self._rest_on(pattern, depth + made.height)
            return made.summary
        own = self._own.get(pattern)
        if own is not None and own.depth <= depth:
            self._cut_off(exhausted=own.is_exhausted)
            return own.summary
        return None

    def admits(self, pattern: Pattern, depth: int) -> bool:
        """Whether a summary may be made for a call at a depth; it then counts as an entry."""
        if depth >= DEEPEST_SUMMARY:
            self._cut_off(exhausted=False)
            return False
        if pattern not in self._asked:
            if self._entries.get(pattern.function, 0) >= ENTRIES:
                self._cut_off(exhausted=True)
                return False
            self._ask(pattern)
        return True

    def begin(self, pattern: Pattern, depth: int) -> Making:
        """Begin to make a summary that is admitted."""
        making = Making(pattern, depth, Summary(None))
        self._making.append(making)
        return making

    def end(self, making: Making, summary: Summary) -> Summary:
        """Keep a summary that has been made, for all roots or for this one, and return it."""
        ended = self._making.pop()
        assert ended is making
        making.summary = summary
        if making.is_cut:
            self._own[making.pattern] = making
            for parent in self._making[-1:]:
                parent.needs |= making.needs
        else:
            needs = frozenset(making.needs)
            making.pattern.made = Made(summary, making.height, needs, making.is_recursive)
        self._rest_on(making.pattern, making.depth + making.height)
        return summary

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
