"""The results that still hold. A cache never makes a run fail: what cannot be read or written is as good as absent.

A file has the name that its project gives it, so a kept result says the same from each working directory. A kept result
is for reading only: its fixes are shown, and `--fix` checks the file anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Any

from devlint.cache import storage
from devlint.cache.codec import CodecError, decode, encode
from devlint.diagnostics import Diagnostic, Place, Silenced
from devlint.discovery import project_of
from devlint.errors import SourceError
from devlint.importers import Importers
from devlint.inspector import Batch, FileResult
from devlint.project import Project, Trace, digest, display_path
from devlint.records import dataclass

FORMAT = 6
"""Rises with the form of the file."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The result of one file, its places in files by their names in the project."""

    diagnostics: tuple[Diagnostic, ...]
    silenced: tuple[Silenced, ...] = ()
    elsewhere: tuple[Diagnostic, ...] = ()
    used: tuple[Place, ...] = ()
    idle: tuple[Place, ...] = ()

    @property
    def places(self) -> Iterator[Place]:
        """Every place that it names."""
        for diagnostic in (*self.diagnostics, *self.elsewhere, *(one.diagnostic for one in self.silenced)):
            yield from diagnostic.places()
        yield from (*self.used, *self.idle)

    def with_files(self, rename: Callable[[str], str]) -> _Kept:
        """Return the result with other names for the files in it."""

        def change(place: Place) -> Place:
            return replace(place, file=rename(place.file))

        return _Kept(
            tuple(one.with_places(change) for one in self.diagnostics),
            tuple(replace(one, diagnostic=one.diagnostic.with_places(change)) for one in self.silenced),
            tuple(one.with_places(change) for one in self.elsewhere),
            tuple(map(change, self.used)),
            tuple(map(change, self.idle)),
        )


@dataclass(slots=True)
class _Memory:
    """The content of one cache file: traces by name, and the results that were found with exactly those traces."""

    traces: dict[str, Trace] = field(default_factory=dict)
    results: dict[str, _Kept] = field(default_factory=dict)


class NoCache:
    """Remembers nothing; what `--no-cache` asks for."""

    def recall(self, batch: Batch) -> dict[Path, FileResult]:
        """Return the results that still hold, by file."""
        return {}

    def keep(self, batches: Iterable[Batch], results: Iterable[FileResult]) -> None:
        """Remember the results of the batches' files, for which `recall` had nothing."""


class Cache(NoCache):
    """Results of earlier runs in a folder, one file for each project and way of looking at it.

    Args:
        folder: where to keep them; made when there is something to keep.
        key: a name for everything besides source files that the results of a batch follow from.
    """

    def __init__(self, folder: Path, key: Callable[[Batch], str]) -> None:
        self._folder = folder
        self._key = key
        self._memories: dict[str, _Memory] = {}

    def recall(self, batch: Batch) -> dict[Path, FileResult]:
        """Return the results that still hold, by file."""
        key, project = self._key(batch), _project(batch)
        memory = self._memories[key] = self._read(key)
        wanted = {project.name_of(path): path for path in batch.files}
        valid = memory.results.keys() - _dirty(memory.traces, wanted, project)

        @cache
        def shown(name: str) -> str:
            return display_path(Path(project.path_of(name)))

        recalled: dict[Path, FileResult] = {}
        for name, path in wanted.items():
            if name in valid and _is_consistent(memory.results[name], name, memory.traces):
                kept = memory.results[name].with_files(shown)
                recalled[path] = FileResult(
                    shown(name),
                    kept.diagnostics,
                    elsewhere=kept.elsewhere,
                    silenced=kept.silenced,
                    used=kept.used,
                    idle=kept.idle,
                )
        return recalled

    def keep(self, batches: Iterable[Batch], results: Iterable[FileResult]) -> None:
        """Remember the results of the batches' files, for which `recall` had nothing.

        Results of other files that rest on something which this run has found changed are forgotten.
        """
        by_file = {os.path.abspath(result.display): result for result in results}
        for batch in batches:
            own = [by_file[str(path)] for path in batch.files if str(path) in by_file]
            if own:
                self._keep(self._key(batch), _project(batch), own)

    def _keep(self, key: str, project: Project, results: Iterable[FileResult]) -> None:
        memory = self._memories.get(key) or _Memory()

        @cache
        def name_of(display: str) -> str:
            return project.name_of(os.path.abspath(display))

        new = _merged(trace for result in results for trace in result.traces)
        known = {**memory.traces, **new}
        traces = {name: trace for name, trace in known.items() if os.path.exists(project.path_of(name))}
        changed = [name for name, trace in new.items() if memory.traces.get(name) != trace]
        gone = memory.traces.keys() - traces.keys()
        stale = _dependents({*changed, *gone}, traces)
        kept = {name: result for name, result in memory.results.items() if name in traces and name not in stale}
        for result in results:
            name = name_of(result.display)
            if name in traces and result.is_final:
                new_one = _Kept(result.diagnostics, result.silenced, result.elsewhere, result.used, result.idle)
                kept[name] = new_one.with_files(name_of)
        self._write(key, _Memory(traces, kept))

    def _read(self, key: str) -> _Memory:
        try:
            document: Any = storage.read(self._file(key))
            if document["format"] != FORMAT:
                return _Memory()
            traces = {trace.path: trace for trace in decode(tuple[Trace, ...], document["traces"])}
            results = decode(tuple[_Kept, ...], [*document["results"].values()])
            return _Memory(traces, dict(zip(document["results"], results, strict=True)))
        except (KeyError, TypeError, AttributeError, CodecError):
            return _Memory()

    def _write(self, key: str, memory: _Memory) -> None:
        document = {
            "format": FORMAT,
            "traces": [encode(trace) for _, trace in sorted(memory.traces.items())],
            "results": {name: encode(result) for name, result in sorted(memory.results.items())},
        }
        storage.write(self._file(key), document)

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.json"


def _project(batch: Batch) -> Project:
    return project_of(batch.root, batch.configuration)


def _merged(traces: Iterable[Trace]) -> dict[str, Trace]:
    """One trace for each path; a file that was seen with two contents has none."""
    merged: dict[str, Trace] = {}
    torn: set[str] = set()
    for trace in traces:
        known = merged.get(trace.path, trace)
        if known.digest != trace.digest:
            torn.add(trace.path)
        merged[trace.path] = replace(
            trace,
            found=_union(known.found, trace.found),
            present=_union(known.present, trace.present),
            absent=_union(known.absent, trace.absent),
            asked=tuple(sorted({*known.asked, *trace.asked}, key=lambda one: (one.question, one.word, one.found))),
        )
    return {name: trace for name, trace in merged.items() if name not in torn}


def _union(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*first, *second}))


def _reached(traces: Mapping[str, Trace], names: Iterable[str]) -> set[str]:
    """The files, and those that their imports led to, directly or through others."""
    reached: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += traces[name].found if name in traces else ()
    return reached


def _dirty(traces: Mapping[str, Trace], wanted: Iterable[str], project: Project) -> set[str]:
    """The changed files among the wanted ones and their dependencies."""
    reached = _reached(traces, wanted)

    @cache
    def is_file(name: str) -> bool:
        return os.path.isfile(project.path_of(name))

    importers = Importers(project)
    changed = [name for name in reached if name not in traces or not _holds(traces[name], project, importers, is_file)]
    return _dependents(changed, {name: traces[name] for name in reached if name in traces})


def _holds(trace: Trace, project: Project, importers: Importers, is_file: Callable[[str], bool]) -> bool:
    """Whether each look-up for a file, and each question about it, finds the same as before."""
    path = project.path_of(trace.path)
    if not all(map(is_file, (trace.path, *trace.present))) or any(map(is_file, trace.absent)):
        return False
    try:
        with open(path, "rb", buffering=0) as file:
            same = digest(file.read()) == trace.digest
    except OSError:
        return False
    if not same or project.module_name(path) != trace.module:
        return False
    try:
        return all(importers.still_holds(project.peek(Path(path)), asked) for asked in trace.asked)
    except (SourceError, ValueError):  # a question that this version does not ask
        return False


def _is_consistent(kept: _Kept, name: str, traces: Mapping[str, Trace]) -> bool:
    """Whether a result has its own reports in its own file, and names only files that it rests on."""
    if any(place.file != name for place in (*(one.place for one in kept.diagnostics), *kept.idle)):
        return False
    named = {place.file for place in kept.places}
    return named <= {name} or named <= _reached(traces, [name])


def _dependents(changed: Collection[str], traces: Mapping[str, Trace]) -> set[str]:
    """The changed files and all that rest on them, directly or through others."""
    importers: dict[str, list[str]] = {}
    for name, trace in traces.items():
        for other in trace.found:
            importers.setdefault(other, []).append(name)
    result: set[str] = set()
    pending = list(changed)
    while pending:
        name = pending.pop()
        if name not in result:
            result.add(name)
            pending += importers.get(name, ())
    return result
