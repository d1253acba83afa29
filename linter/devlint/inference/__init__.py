"""The analysis that reports manifest errors: devices that differ for every caller, or in an execution of a program.

Each body is executed once, with symbols for the values of its callers (`execute`, `values`, `state`). Its outcome is a
summary (`summaries`), which each call applies to the caller's values (`calls`). An operation requires that its
participants share a device (`requirements`). If two devices differ, in every world or in one that its conditions allow
(`worlds`), the requirement is manifest; if a symbol is left, it goes up to the callers. The last callers are `entries`.
`libraries` knows the functions of libraries, and `verdict` finds the broken rule. `solve` has the order of all steps.

Worked example. The body of `scaled` alone breaks nothing; its second caller breaks its requirement:

    >>> from devlint.inference import check_text
    >>> check_text('''
    ... import torch
    ... def scaled(x):
    ...     return x * torch.ones(3)
    ... scaled(torch.ones(3))
    ... scaled(torch.ones(3, device="cuda:0"))
    ... ''')
    ['4: DEV103 `*`: tensor on cuda:0, tensor on cpu']
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from devlint.diagnostics import Certainty
from devlint.errors import SourceError
from devlint.project import Project
from devlint.torchlib import catalogue

if TYPE_CHECKING:
    from devlint.diagnostics import Diagnostic
    from devlint.project import Source


class Inference:
    """Reports on the files of one project.

    Args:
        project: finds and reads the files; imports are resolved in it.
        signatures: stub files with device signatures of the project's own wrappers.

    Raises:
        CatalogueError: a signature cannot be understood.
    """

    def __init__(self, project: Project, signatures: Sequence[Path] = ()) -> None:
        from devlint.inference.solve import Solver

        self._project = project
        self._solver = Solver(project, catalogue.load(signatures))

    def diagnostics(
        self, source: Source, names: Mapping[str, str], least: Certainty = Certainty.ON_ACCELERATOR
    ) -> list[Diagnostic]:
        """Return the reports on one file, whose callers may be in any file of the project.

        Args:
            source: the file.
            names: the names of the wanted rules, by code.
            least: the least certainty of a wanted report.
        """
        from devlint.inference.verdict.reports import diagnostics

        members = [each for path in self._project.members if (each := self._readable(path)) is not None]
        found = self._solver.check([*members, source])
        if least is Certainty.POSSIBLE:
            found += self._solver.of_clients()
        return diagnostics(found, source.display, source.text, names)

    def _readable(self, path: Path) -> Source | None:
        try:
            return self._project.source(path)
        except SourceError:
            return None


def check_text(text: str) -> list[str]:
    """Return the reports on a program, each as its line, its code and its message; no file is written."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder))
        source = project.put(Path(folder) / "program.py", text.encode())
        codes = {f"DEV{number}": "" for number in range(100, 1000)}
        found = Inference(project).diagnostics(source, codes, Certainty.POSSIBLE)
    return [f"{one.place.line}: {one.code} {one.message}" for one in found]
