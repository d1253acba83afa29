"""Which reports of a run are shown: `--diff-base` and `--whole-project` leave some out, and so do doubts."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from devlint.base_revision import BaseRevision
from devlint.decoding import lines_of
from devlint.diagnostics import Diagnostic
from devlint.importers import Importers
from devlint.inspector import Batch, FileResult, Inspector
from devlint.project import display_path
from devlint.report import Outcome, fingerprints
from devlint.selection import ALWAYS
from devlint.shown_by_calls import once
from devlint.suppressions import UNUSED


def new_since(
    base: BaseRevision,
    reports: Mapping[Diagnostic, str],
    batches: Iterable[Batch],
    given: Mapping[Path, bytes],
    worker: Inspector,
) -> tuple[Diagnostic, ...]:
    """Leave out the reports that devlint makes at a commit too, as a baseline of this commit would.

    Both runs have the configuration of now. A report on a file that cannot be analysed stays.

    Args:
        base: the commit.
        reports: each with its fingerprint, and with places in whole programs.
        batches: all files of the run.
        given: what stands for the content of files now, by absolute path.
        worker: an inspector that has seen none of the files.

    Raises:
        ConfigError: a file with a report is in another repository, or in none.
    """
    own = {one: name for one, name in reports.items() if one.code not in ALWAYS}
    known: set[str] = set()
    for batch in batches:
        shown = {display_path(path): path for path in batch.files}
        told = {one: name for one, name in own.items() if not shown.keys().isdisjoint(_told_by(one))}
        if not told:
            continue
        files = [path for file, path in shown.items() if any(file in _told_by(one) for one in told)]
        past = base.past(batch.root, [*batch.project().members, *files], given)
        if not past:  # no file differs, so no report does
            known.update(told.values())
            continue
        worker.project(batch).go_back(past)
        known.update(_fingerprints_at(worker, batch.of([path for path in files if past.get(path, b"") is not None])))
    return tuple(one for one in reports if own.get(one) not in known)


def _told_by(report: Diagnostic) -> set[str]:
    """Return the files whose analysis makes a report."""
    return {report.place.file, *(call.file for call in report.calls)}


def _fingerprints_at(worker: Inspector, batch: Batch) -> Iterator[str]:
    """Yield the fingerprints of the reports on the files of a batch, as the inspector sees them."""
    results = worker.inspect(batch)
    found = tuple(once(one for result in results for one in (*result.diagnostics, *result.elsewhere)))
    named = {one.place.file for one in (*found, *(each.diagnostic for result in results for each in result.silenced))}
    source = worker.project(batch).source
    lines = {file: lines_of(source(Path(file)).original) for file in sorted(named)}
    silenced = tuple(one for result in results for one in result.silenced)
    outcome = Outcome(found, len(results), seconds=0, lines=lines, silenced=silenced)
    names = fingerprints(outcome)
    return (names[one] for one in found)


def about(reports: Iterable[Diagnostic], named: Collection[Path], batches: Iterable[Batch]) -> tuple[Diagnostic, ...]:
    """Leave out the reports that have nothing to do with some files.

    A report stays if its file is one of them or imports one of them, directly or through other files, or if a line of
    its notes is in one of them. Of the reports that a file cannot be analysed, those on the files themselves stay.

    Args:
        reports: with places in whole programs.
        named: the files.
        batches: all files of the run.
    """
    own = {display_path(path) for path in named}
    reports = [one for one in reports if one.place.file in own or one.code not in ALWAYS]
    distant = {one.place.file for one in reports if not _touches(one, own)}
    importing: set[str] = set()
    for batch in batches:
        importers = Importers(batch.project())
        files = [path for path in batch.files if distant and display_path(path) in distant]
        importing.update(display_path(path) for path in files if importers.reaches(path, own))
    return tuple(one for one in reports if one.place.file in importing or _touches(one, own))


def _touches(report: Diagnostic, files: Collection[str]) -> bool:
    return any(place.file in files for place in report.story())


def without_doubtful(results: Sequence[FileResult], batches: Sequence[Batch]) -> list[FileResult]:
    """Return the results without reports that a comment silences nothing, where calls in another file need it.

    A comment that may serve such calls is not reported if the run has not checked all files that import its own.
    """
    used = {place for result in results for place in result.used}
    doubtful = {result.display: {*result.idle} for result in results if not used.issuperset(result.idle)}
    imported = doubtful and {file for file in doubtful if _is_imported_by_others(file, results, batches)}
    kept = []
    for result in results:
        needed = used | doubtful[result.display] if result.display in imported else used
        left = (one for one in result.diagnostics if not (one.code == UNUSED and one.place in needed))
        kept.append(replace(result, diagnostics=tuple(left)) if result.idle else result)
    return kept


def _is_imported_by_others(file: str, results: Iterable[FileResult], batches: Iterable[Batch]) -> bool:
    """Whether a file of the project that the run has not checked imports a file."""
    checked = {result.display for result in results}
    path = Path(os.path.abspath(file))
    for batch in batches:
        if path in batch.files:
            project = batch.project()
            others = [member for member in project.members if display_path(member) not in checked]
            importers = Importers(project)
            return any(importers.reaches(other, {file}) for other in others)
    return False
