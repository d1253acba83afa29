"""Trying mutants: devlint reads a file with one place taken away, and says more of that function than before.

A mutant stands beside its original, under a name of its own and in memory only, so that what devlint has learned
of the files it imports serves for all. What one file teaches does not last for the next: each is tried in a fork
of a process that knows the package from one of its files.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from devlint.diagnostics import Diagnostic
from devlint.inspector import Batch, Inspector, load_tools
from devlint.project import read_text, root_for
from devlint.settings import Configuration, Settings

from tests.mutants.places import Place, lines_of

FAMILY = "DEV1"
"""The rules that say which values are apart."""


class Trial(NamedTuple):
    """What came of one mutant: the report that notices it, or None; `failure` where devlint failed on the file."""

    place: Place
    noticed: Diagnostic | None
    failure: str = ""


class FileTrials(NamedTuple):
    """The mutants of one file, and what devlint says of it as it is."""

    trials: list[Trial]
    original: list[Diagnostic]


class _Worker:
    """Inspects the files of one package and their mutants; what it learns it keeps."""

    def __init__(self, path: Path) -> None:
        root = root_for(path)
        self._batch = Batch(root, Configuration(None, root), ())
        self._inspector = Inspector(Settings((), isolated=True), load_tools())

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


def run(drawn: Sequence[Place], jobs: int) -> Iterator[FileTrials]:
    """Tries mutants, which are in the order of their packages and files."""
    global _worker
    context = multiprocessing.get_context("fork")
    for _, of_package in groupby(drawn, key=lambda place: place.package):
        files = [list(of_file) for _, of_file in groupby(of_package, key=lambda place: place.path)]
        _worker = _Worker(files[0][0].path)
        _worker.inspect(files[0][0].path)
        with context.Pool(jobs, maxtasksperchild=1) as pool:
            yield from pool.imap(_try_file, files)


def _try_file(drawn: Sequence[Place]) -> FileTrials:
    assert _worker is not None
    path = drawn[0].path
    text = read_text(path, str(path))
    before = [one for one in _worker.inspect(path) if one.code.startswith(FAMILY)]
    return FileTrials([_try(_worker, place, text, number, before) for number, place in enumerate(drawn)], before)


def _try(worker: _Worker, place: Place, text: str, number: int, before: Sequence[Diagnostic]) -> Trial:
    mutant = place.without(text)
    beside = place.path.with_name(f"{place.path.stem}_mutant_{number}.py")
    found = worker.inspect_text(beside, mutant)
    failures = [one.message for one in found if one.code.startswith("DEV9")]
    if failures:
        return Trial(place, None, failures[0])
    said = [(one.code, one.message) for one in before]
    lines = lines_of(place.function, mutant)
    for one in found:
        if not one.code.startswith(FAMILY) or one.place.line not in lines:
            continue
        if (one.code, one.message) in said:
            said.remove((one.code, one.message))
        else:
            return Trial(place, one)
    return Trial(place, None)
