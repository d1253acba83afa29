"""Collects facts during the last pass and hands them out file by file."""

from __future__ import annotations

from collections.abc import Callable

from devlint.diagnostics import Place
from devlint.facts import Anchored, Conflict, Fact, FileFacts, Reveal
from devlint.frontend.ir import Span


class Recorder:
    """Facts by file and place; the same fact about the same place is kept once."""

    def __init__(self, place: Callable[[str, Span], Place]) -> None:
        self._place = place
        self._facts: dict[str, dict[tuple[Span, object], Anchored]] = {}
        self._environment: dict[str, list[tuple[int, str, str]]] = {}

    def record(self, file: str, span: Span, fact: Fact) -> None:
        """Adds a fact; a place has one conflict, and one fact of each other class."""
        key: tuple[Span, object] = (span, type(fact))
        if isinstance(fact, Reveal):
            known = self._facts.get(file, {}).get(key)
            if known is not None and known.fact != fact:
                fact = Reveal("unknown")  # a line that is executed several times, each time for other values
            self._facts.setdefault(file, {})[key] = Anchored(self._place(file, span), fact)
            return
        self._facts.setdefault(file, {}).setdefault(key, Anchored(self._place(file, span), fact))

    def _is_told_elsewhere(self, fact: Fact) -> bool:
        """Whether a conflict inside a called function is reported there, where it can be mended."""
        if not isinstance(fact, Conflict) or not fact.via:
            return False
        inner = fact.via[-1].place
        return any(
            isinstance(item.fact, Conflict) and item.place == inner for item in self._facts.get(inner.file, {}).values()
        )

    def note(self, file: str, line: int, name: str, text: str) -> None:
        """Adds what is known of a name, for `devlint facts`."""
        self._environment.setdefault(file, []).append((line, name, text))

    def facts(self, file: str) -> FileFacts:
        """Everything about one file, in source order."""
        found = self._facts.get(file, {})
        own = [item for item in found.values() if not self._is_told_elsewhere(item.fact)]
        ordered = sorted(own, key=lambda item: (item.place, type(item.fact).__name__))
        return FileFacts(tuple(ordered), tuple(sorted(set(self._environment.get(file, [])))))


