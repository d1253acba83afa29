"""Which definitions the results about others rest on, noted while files are analysed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import NamedTuple

from devlint.definitions import OUTSIDE

REPORTS = "*"
"""The name for the reports of a whole file, which rest on each definition of the file."""


class Part(NamedTuple):
    """A part of a file: a definition, `OUTSIDE` or `REPORTS`.

    Attributes:
        file: the file as it is shown to the user.
        name: the name of the part.
    """

    file: str
    name: str = OUTSIDE

    @classmethod
    def of(cls, file: str, path: str) -> Part:
        """Return the definition that a function or class is in, by its dotted path in the file."""
        return cls(file, path.partition(".")[0])


class Reads:
    """A graph: from each part that was computed, edges lead to the parts that were read meanwhile.

    A part has the edges of all its computations. So a result that is kept, and given out without being computed, needs
    one edge only: to the part that it was computed for.
    """

    def __init__(self) -> None:
        self._found: dict[str, dict[str, set[Part]]] = defaultdict(lambda: defaultdict(set))
        self._counts: dict[str, int] = defaultdict(int)
        self._computed: list[Part] = []

    def note(self, part: Part) -> None:
        """Note that the current computation rests on a part."""
        if self._computed:
            file, name = self._computed[-1]
            edges = self._found[file][name]
            if part not in edges:
                edges.add(part)
                self._counts[file] += 1

    @contextmanager
    def computing(self, part: Part) -> Iterator[None]:
        """Note that the current computation rests on a part, and compute this part inside: it has its own reads."""
        self.note(part)
        self._computed.append(part)
        try:
            yield
        finally:
            self._computed.pop()

    def of(self, file: str) -> Mapping[str, Set[Part]]:
        """Return the edges from the parts of a file."""
        return self._found.get(file, {})

    def count(self, file: str) -> int:
        """Return how many edges begin in a file."""
        return self._counts[file]
