"""The abstract interpreter: executes IR over the device domain and records facts.

`Analyser` is the door. Inside, `program` holds what outlives one execution; `statements` and `expressions` are
the transfer functions; `operations` applies device signatures and `conflicts` judges who meets; `summaries`
and `instances` carry what is known across calls and classes; `recorder` collects facts in the last pass.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from devlint.analysis import expressions as _expressions  # noqa: F401  # fills the table of transfer functions
from devlint.analysis.program import Program
from devlint.analysis.seen import with_observed
from devlint.facts import FileFacts
from devlint.observed import View
from devlint.project import Project, Source
from devlint.torchlib import catalogue

RECURSION_LIMIT = 6_000
"""The interpreter follows the nesting of the source and the depth of calls with Python's own stack."""


class Analyser:
    """Facts about the files of one project.

    Args:
        project: finds and reads the files; imports are resolved in it.
        devices: how many CUDA devices to assume; None: as many as the program asks for.
        signatures: stub files with device signatures of the project's own wrappers.
        views: what runs of the program have seen.

    Raises:
        CatalogueError: a signature cannot be understood.
    """

    def __init__(
        self,
        project: Project,
        *,
        devices: int | None = None,
        signatures: Sequence[Path] = (),
        views: Sequence[View] = (),
    ) -> None:
        known = catalogue.load(signatures)
        self._program = Program(project, known, devices)
        # Each view has a program of its own, so that nothing observed gets into what is known without.
        self._seen = [(view, Program(project, known, devices, view)) for view in views]

    def facts(self, source: Source, *, occurrences: bool = False) -> FileFacts:
        """Everything known of one file that a rule may ask for, and if asked for, each value at each place.

        Raises:
            SyntaxError: the file is not Python.
        """
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, RECURSION_LIMIT))
        try:
            self._program.report(source, observing=occurrences)
            facts = self._program.recorder.facts(source.display)
            for view, program in self._seen:
                if view.has(source.display):
                    program.report(source)
                    facts = with_observed(facts, program.recorder.facts(source.display))
            return facts
        finally:
            sys.setrecursionlimit(before)
