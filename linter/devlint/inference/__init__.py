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
    ['4: DEV103 `*`: the CPU, the GPU']
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from devlint.diagnostics import Certainty
from devlint.errors import SourceError
from devlint.project import Project
from devlint.torchlib import catalogue

if TYPE_CHECKING:
    from devlint.facts import Broken
    from devlint.inference.values.data import Finding
    from devlint.inference.verdict.told import Texts
    from devlint.project import Source


class Seen(NamedTuple):
    """A value of an expression.

    Attributes:
        start, end: of the expression, as `ast` counts lines and columns; no end for an argument of `reveal_device`.
        kind: "tensor", "parameter", "module", "device" (of something that names one) or "revealed".
        of: the class of a module, or "".
        text: the device, in words.
    """

    start: tuple[int, int]
    end: tuple[int, int] | None
    kind: str
    of: str
    text: str


class Inference:
    """Reports on the files of one project.

    Args:
        project: finds and reads the files; imports are resolved in it.
        signatures: stub files with device signatures of the project's own wrappers.
        devices: how many CUDA devices the machine has; None: any number.
        watches: keep the values of all expressions, for `seen`.

    Raises:
        CatalogueError: a signature cannot be understood.
    """

    def __init__(
        self, project: Project, signatures: Sequence[Path] = (), devices: int | None = None, *, watches: bool = False
    ) -> None:
        from devlint.inference.execute.claims import Claims
        from devlint.inference.solve import Solver

        self._project = project
        self._claims = Claims() if watches else None
        self._solver = Solver(project, catalogue.load(signatures), self._claims)
        self._solver.devices = devices
        self._asked: tuple[list[Source], Certainty] | None = None
        self._found: tuple[list[Finding], Texts]

    def broken(
        self, source: Source, codes: Collection[str], least: Certainty = Certainty.ON_ACCELERATOR
    ) -> list[Broken]:
        """Return the broken requirements of one file, whose callers may be in any file of the project.

        Args:
            source: the file.
            codes: of the wanted rules.
            least: the least certainty of a wanted report.
        """
        from devlint.inference.verdict.reports import told
        from devlint.inference.verdict.told import Texts

        members = [each for path in self._project.members if (each := self._readable(path)) is not None]
        asked = (members if source in members else [*members, source]), least
        if self._asked != asked:
            found = self._solver.check(asked[0])
            clients = self._solver.of_clients() if least is Certainty.POSSIBLE else []
            self._asked = asked
            self._found = [*found, *clients], Texts({each.display: each.text for each in asked[0]})
        return told(self._found[0], source.display, codes, self._found[1])

    def seen(self, source: Source) -> Iterator[Seen]:
        """Yield the values in a file that was checked: what `reveal_device` shows, and all that were watched."""
        from devlint.inference.verdict.words import device_text, kind_of

        for place, where, current in self._solver.revealed():
            if place.path == source.display:
                yield Seen((place.line, place.column), None, "revealed", "", device_text(where, current))
        for body, claims in self._claims.of_bodies().items() if self._claims is not None else ():
            for (_, span), claim in claims.items() if body.file.path == source.display else ():
                kind, of = kind_of(claim.value)
                where = {"device": claim.value, "module": claim.module_device}.get(kind, claim.device)
                if kind:
                    text = device_text(self._solver.in_new_process(body, where), self._solver.current)
                    yield Seen(span[:2], span[2:], kind, of, text)

    def _readable(self, path: Path) -> Source | None:
        try:
            return self._project.source(path)
        except SourceError:
            return None


def check_text(text: str, families: str = "124") -> list[str]:
    """Return the reports on a program, each as its line, its code and its message.

    Args:
        text: of the program.
        families: the first digits of the codes that are wanted.
    """
    from devlint.inference.verdict.reports import operations

    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder))
        source = project.put(Path(folder) / "program.py", text.encode())
        codes = [f"DEV{family}{number:02}" for family in families for number in range(100)]
        return list(operations(Inference(project).broken(source, codes, Certainty.POSSIBLE)))
