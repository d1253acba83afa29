"""What the analysis of a file rested on, as plain data that can be kept and compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about the members of a project that was asked about one file; see `importers`.

    Attributes:
        question, word: the question.
        found: the files that are the answer, sorted.
    """

    question: str
    word: str
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """A question about the text of one file.

    Attributes:
        pattern, flags: a regular expression.
        found: whether it occurs in the text.
    """

    pattern: str
    flags: int
    found: bool


class TracedPart(NamedTuple):
    """A part of a file, see `reads`. As a text, its fields are lines: few runs look at a part, but all read the text.

    Attributes:
        name: its name.
        digest: a name for its content; empty if it has none of its own.
        reads: for each file with parts that it rests on: their names with spaces between, "|", and the file; nothing
            for its own file.
    """

    name: str
    digest: str
    reads: tuple[str, ...] = ()

    @classmethod
    def of(cls, own: str, name: str, digest: str, reads: Iterable[tuple[str, Iterable[str]]]) -> TracedPart:
        """Return a part of the file `own` with the names of the parts that it rests on, by file."""
        written = (f"{' '.join(sorted(set(names)))}|{'' if file == own else _escaped(file)}" for file, names in reads)
        return cls(name, digest, tuple(sorted(written)))

    @classmethod
    def from_text(cls, text: str) -> TracedPart:
        """Return the part with a text."""
        name, digest, *reads = (text if "\n" in text else f"{text}\n").split("\n")
        return cls(name, digest, tuple(reads))

    @property
    def text(self) -> str:
        """Its text, in one string."""
        return "\n".join((self.name, self.digest, *self.reads))

    def read(self, own: str) -> Iterator[tuple[str, list[str]]]:
        """Yield the names of the parts that it rests on as a part of the file `own`, by file."""
        for one in self.reads:
            names, _, file = one.partition("|")
            yield _unescaped(file) or own, names.split(" ")


def _escaped(file: str) -> str:
    return file.replace("%", "%25").replace("\n", "%0A")


def _unescaped(file: str) -> str:
    return file.replace("%0A", "\n").replace("%25", "%")


@dataclass(frozen=True, slots=True)
class Trace:
    """The file system as the analysis of one file found it: the file itself, and each look-up that was made for it.

    Files have the names that `Project.name_of` gives them.

    Attributes:
        path: the file.
        digest: a name for its content; empty if it could not be read.
        module: the dotted name it is imported by, if any.
        found: the files of the project that its imports led to. Each has a trace of its own, as the answers have.
        present: files that were looked for, and were there.
        absent: files that were looked for, and were not there.
        asked: the questions about the project that were asked about it.
        said: the questions about its text.
        parts: its parts, as texts; none if it has not been executed, so that nothing rests on a part of it alone.
        imports: the modules that its text may import, so that it need not be parsed again; None if nobody has asked.
    """

    path: str
    digest: str
    module: str | None
    found: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()
    said: tuple[Said, ...] = ()
    parts: tuple[str, ...] = ()
    imports: tuple[str, ...] | None = None

    @property
    def traced(self) -> Iterator[TracedPart]:
        """Its parts."""
        return map(TracedPart.from_text, self.parts)

    @property
    def led_to(self) -> Iterator[str]:
        """The files that its imports and the questions about it led to."""
        yield from self.found
        for one in self.asked:
            yield from one.found
