"""Which parts of files the results rest on, noted while files are analysed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import NamedTuple

from devlint.definitions import OUTSIDE, code_of

REPORTS = "!"
"""The name for the reports of a whole file, which rest on each part of the file."""


TEXT = "?"
"""The name for the answers to the questions about a text, see `Project.says`."""


class Part(NamedTuple):
    """A part of a file, see `definitions`; or `REPORTS`, `TEXT`, or an import in the file.

    Attributes:
        file: the file as it is shown to the user.
        name: the name of the part.
    """

    file: str
    name: str = OUTSIDE

    @classmethod
    def code(cls, file: str, path: str) -> Part:
        """Return the code of the definition that a function or class is in, by its dotted path in the file."""
        return cls(file, code_of(path.partition(".")[0]))

    @classmethod
    def import_of(cls, file: str, level: int, module: str, member: str) -> Part:
        """Return an import of a member as a part of a file, which has no content of its own."""
        return cls(file, f"{'.' * level}{module}:{member}")


class Reads:
    """A graph: from each part that was computed, edges lead to the parts that were read meanwhile.

    A part has the edges of all its computations. So a result that is kept, and given out without being computed, needs
    one edge only: to the part that it was computed for.
    """

    def __init__(self) -> None:
        self._found: dict[str, dict[str, set[Part]]] = defaultdict(lambda: defaultdict(set))
        self._counts: dict[str, int] = defaultdict(int)
        self._computed: list[Part] = []
        self._edges: set[Part] = set()
        """Those from the part that is computed."""

    def note(self, part: Part) -> None:
        """Note that the current computation rests on a part."""
        if part not in self._edges and self._computed:
            self._edges.add(part)
            self._counts[self._computed[-1].file] += 1

    def note_name(self, file: str, name: str) -> None:
        """Note that the current computation rests on the value of a name of a file, or on the absence of the name."""
        if (file, name) not in self._edges:  # the analysis looks up very many names
            self.note(Part(file, name))

    @contextmanager
    def computing(self, part: Part) -> Iterator[None]:
        """Note that the current computation rests on a part, and compute this part inside: it has its own reads."""
        self.note(part)
        around = self._edges
        self._computed.append(part)
        self._edges = self._found[part.file][part.name]
        try:
            yield
        finally:
            self._computed.pop()
            self._edges = around

    def drop(self, file: str) -> None:
        """Drop the edges from the parts of a file."""
        self._found.pop(file, None)
        self._counts.pop(file, None)

    def of(self, file: str) -> Mapping[str, Set[Part]]:
        """Return the edges from the parts of a file."""
        return self._found.get(file, {})

    def count(self, file: str) -> int:
        """Return how many edges begin in a file."""
        return self._counts[file]
