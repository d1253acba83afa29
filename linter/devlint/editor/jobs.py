"""What the server and the process that analyses say to each other, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from devlint.diagnostics import Diagnostic
from devlint.errors import DevlintError
from devlint.facts import Occurrence
from devlint.inspector import Batch, FileResult
from devlint.project import digest
from devlint.records import dataclass
from devlint.settings import Settings
from devlint.traces import Asked


@dataclass(frozen=True, slots=True)
class Basis:
    """All that an analysis rests on; while it is the same, the findings are.

    Attributes:
        settings: the command line.
        batch: the document with its project and configuration; None if they are not known.
        reads: the digest of each file that was read, by absolute path; None where a file was looked for in vain.
        asked: the questions about the project, each with the file that it was asked about.
    """

    settings: Settings
    batch: Batch | None
    reads: Mapping[Path, str | None]
    asked: tuple[tuple[Path, Asked], ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """The outcome of one analysis.

    Attributes:
        result: the outcome as the command line has it; without traces.
        occurrences: each value at each place.
        pages: the addresses of the rules' documentation, by code, for the codes in the result.
        basis: the settings and files that it rests on.
    """

    result: FileResult
    occurrences: tuple[Occurrence, ...]
    pages: Mapping[str, str]
    basis: Basis


@dataclass(frozen=True, slots=True)
class Job:
    """One document to analyse.

    Attributes:
        path: the document.
        settings: the command line.
        contents: the text of each open document, by absolute path.
        known: the basis of the last findings, if there are any.
    """

    path: Path
    settings: Settings
    contents: Mapping[Path, bytes]
    known: Basis | None

    def own_text(self) -> dict[Path, str | None]:
        """Return the digest of the document itself, as a part of a basis."""
        return {self.path: digest(self.contents[self.path])}


@dataclass(frozen=True, slots=True)
class ProjectJob:
    """The files below some folders to check, as they are saved.

    Attributes:
        settings: the command line, with these folders.
    """

    settings: Settings


@dataclass(frozen=True, slots=True)
class ProjectFindings:
    """The outcome of a run over a project.

    Attributes:
        diagnostics: the reported ones, in order. A place in a notebook has the lines of its file, which is JSON.
        lines: the lines of the files that they speak of.
        pages: as for `Findings`.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)


Answer: TypeAlias = "Findings | ProjectFindings | DevlintError | None"
"""The findings; None: those that are known hold; an error of the user in the settings or a configuration file."""
