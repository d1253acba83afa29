"""The analysis: it executes instructions over the device domain and records facts.

`Analyser` is the door. A file is executed by `interpreter`, one body at a time. `index` answers what the text alone
says; `libraries` and `transfers` know the calls of libraries, `summary` those of the program, `shape` the objects that
nobody has made. `findings` judges the operands of an operation, and `demand` knows what the calls of a function hand
over. `program` holds what outlives one execution. `linter/README.md` follows one value through all of it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from devlint.analysis.interpreter import expressions as _expressions  # noqa: F401  # fills the table of transfer functions
from devlint.analysis.program import Program
from devlint.analysis.transfers import (  # noqa: F401  # each registers its functions
    availability,
    collectives,
    companions,
    containers,
    indices,
    loading,
    optimizers,
    parallel,
    python,
    tensors,
    wrappers,
)
from devlint.errors import LimitError
from devlint.facts import FileFacts
from devlint.project import Project, Source
from devlint.torchlib import catalogue

RECURSION_LIMIT = 6_000
"""The interpreter follows the nesting of the source and the depth of calls with Python's own stack."""


@contextmanager
def _following_nests() -> Iterator[None]:
    """Let Python's stack be as deep as sources are nested and calls are deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class Analyser:
    """Facts about the files of one project.

    An analyser keeps the recorded facts. It also keeps loaded files, up to a size that does not depend on the project.

    Args:
        project: finds and reads the files; imports are resolved in it.
        devices: how many CUDA devices to assume; None: as many as the program asks for.
        signatures: stub files with device signatures of the project's own wrappers.

    Raises:
        CatalogueError: a signature cannot be understood.
    """

    def __init__(
        self,
        project: Project,
        *,
        devices: int | None = None,
        signatures: Sequence[Path] = (),
    ) -> None:
        known = catalogue.load(signatures)
        self._too_long: set[str] = set()
        self._new = functools.partial(Program, project, known, devices, too_long=self._too_long)
        self._begin()

    def _begin(self) -> None:
        self._program = self._new()

    def facts(self, source: Source, *, occurrences: bool = False) -> FileFacts:
        """Everything known of one file that a rule may ask for, and if asked for, each value at each place.

        Raises:
            SyntaxError: the file is not Python.
            LimitError: it takes too long to analyse.
        """
        with _following_nests():
            return self._facts(source, occurrences=occurrences)

    def prepare(self, after: Source) -> None:
        """Read the text that a file is about to get.

        Raises:
            SyntaxError: it is not Python.
        """
        with _following_nests():
            self._program.prepare(after)

    def change(self, before: Source, after: Source) -> bool:
        """Drop what rests on a file that has got another text, after `prepare`; False if all may rest on it."""
        self._too_long.discard(after.display)
        with _following_nests():
            return self._program.change(before, after)

    def _facts(self, source: Source, *, occurrences: bool) -> FileFacts:
        try:
            self._program.report(source, observing=occurrences)
            return self._program.recorder.facts(source.display)
        except LimitError as error:
            self._begin()  # what was stopped has left its program in the middle of something
            if error.path in (None, source.display, *self._too_long):
                raise
            self._too_long.add(str(error.path))
        return self._facts(source, occurrences=occurrences)  # without the import that takes too long
