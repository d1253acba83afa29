"""What the analysis of a file rested on, as plain data that can be kept and compared."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class TracedPart:
    """A part of a file, see `reads`.

    Attributes:
        name: the name of a definition, or another name of a part.
        digest: a name for its content; empty if it has none of its own.
        reads: the parts that it rests on, each as its name, a space and its file.
    """

    name: str
    digest: str
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """The file system as the analysis of one file found it: the file itself, and each look-up that was made for it.

    Files have the names that `Project.name_of` gives them.

    Attributes:
        path: the file.
        digest: a name for its content; empty if it could not be read.
        module: the dotted name it is imported by, if any.
        found: the files of the project that its imports led to, each with a trace of its own.
        present: files that were looked for, and were there.
        absent: files that were looked for, and were not there.
        asked: the questions about the project that were asked about it.
        said: the questions about its text.
        parts: its definitions; none if it has not been executed, so that nothing rests on a part of it alone.
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
    parts: tuple[TracedPart, ...] = ()
    imports: tuple[str, ...] | None = None
