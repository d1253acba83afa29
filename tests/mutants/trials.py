"""Trying mutants: devlint reads a file with one place taken away, and says more of that function than before.

A mutant stands beside its original, under a name of its own and in memory only, so that what devlint has learned
of the files it imports serves for all. What one file teaches does not last for the next: each is tried in a fork
of a process that knows the package from one of its files.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from devlint.decoding import read_text
from devlint.diagnostics import Diagnostic
from devlint.inspector import Batch, Inspector, load_tools
from devlint.project import root_for
from devlint.registry import load_rules
from devlint.settings import Configuration, Settings

from tests.mutants.places import Place, lines_of

FAMILY = "DEV1"
"""The rules that say which values are apart."""


SELECT = (FAMILY, "DEV901", "DEV903")
"""The rules that are tried: those, asked for or not, and the ones that say that devlint has failed."""


class Trial(NamedTuple):
    """What came of one mutant.

    Attributes:
        noticed: the report of a default rule that notices it, or None.
        asked: that of any rule: the same, or one of an opt-in rule.
        failure: what is said where devlint failed on the file, else "".
    """

    place: Place
    noticed: Diagnostic | None
    asked: Diagnostic | None
    failure: str = ""


class _Worker:
    """Inspects the files of one package and their mutants; what it learns it keeps."""

    def __init__(self, path: Path) -> None:
        root = root_for(path)
        self._batch = Batch(root, Configuration(None, root), ())
        self._inspector = Inspector(Settings((), select=SELECT, isolated=True), load_tools)

    def inspect(self, path: Path) -> list[Diagnostic]:
        """What devlint says of a file."""
        (result,) = self._inspector.inspect(self._batch.of([path]))
        return list(result.diagnostics)

    def inspect_text(self, path: Path, text: str) -> list[Diagnostic]:
        """What devlint would say of a file that need not exist."""
        self._inspector.put(self._batch, path, text.encode())
        return self.inspect(path)


_worker: _Worker | None = None
"""That of the package at hand, for the processes forked from this one."""


def run(drawn: Sequence[Place], jobs: int) -> Iterator[list[Trial]]:
    """Tries mutants, which are in the order of their packages and files; yields the trials of a file together."""
    global _worker
    context = multiprocessing.get_context("fork")
    for _, of_package in groupby(drawn, key=lambda place: place.package):
        files = [list(of_file) for _, of_file in groupby(of_package, key=lambda place: place.path)]
        _worker = _Worker(files[0][0].path)
        _worker.inspect(files[0][0].path)
        with context.Pool(jobs, maxtasksperchild=1) as pool:
            yield from pool.imap(_try_file, files)


def _try_file(drawn: Sequence[Place]) -> list[Trial]:
    assert _worker is not None
    path = drawn[0].path
    text = read_text(path, str(path))
    return [_try(_worker, place, text, number) for number, place in enumerate(drawn)]


def _try(worker: _Worker, place: Place, text: str, number: int) -> Trial:
    mutant = place.without(text)
    beside = place.path.with_name(f"{place.path.stem}_mutant_{number}.py")
    found = worker.inspect_text(beside, mutant)
    failures = [one.message for one in found if one.code.startswith("DEV9")]
    if failures:
        return Trial(place, None, None, failures[0])
    reports = _of_family(found)
    # What is said of the original too is not about the mutant; mostly there is nothing at all to compare.
    said = Counter(map(_said, _of_family(worker.inspect(place.path)))) if reports else Counter()
    lines = lines_of(place.function, mutant)
    new = []
    for one in reports:
        if said[_said(one)] > 0:
            said[_said(one)] -= 1
        elif one.place.line in lines:
            new.append(one)
    noticed = next((one for one in new if one.code not in _opt_in()), None)
    return Trial(place, noticed, noticed or next(iter(new), None))


@cache
def _opt_in() -> frozenset[str]:
    """The codes of the rules that are off unless they are asked for."""
    return frozenset(rule.code for rule in load_rules() if rule.opt_in)


def _of_family(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    return [one for one in found if one.code.startswith(FAMILY)]


def _said(one: Diagnostic) -> tuple[str, str]:
    return one.code, one.message
