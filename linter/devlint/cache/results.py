"""The results that still hold. A cache never makes a run fail: what cannot be read or written is as good as absent."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Any

from devlint.cache import storage
from devlint.cache.codec import CodecError, decode, encode
from devlint.inspector import Batch, FileResult
from devlint.project import Project, Trace, digest
from devlint.records import dataclass

FORMAT = 3
"""Rises with the form of the file."""


@dataclass(slots=True)
class _Memory:
    """What one file of the cache holds: traces by path, and the results that were found with exactly those traces."""

    traces: dict[str, Trace] = field(default_factory=dict)
    results: dict[str, FileResult] = field(default_factory=dict)


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
        key: names what else than source files the results of a batch follow from.
    """

    def __init__(self, folder: Path, key: Callable[[Batch], str]) -> None:
        self._folder = folder
        self._key = key
        self._memories: dict[str, _Memory] = {}

    def recall(self, batch: Batch) -> dict[Path, FileResult]:
        """Return the results that still hold, by file."""
        key = self._key(batch)
        memory = self._memories[key] = self._read(key)
        wanted = {str(path): path for path in batch.files}
        valid = memory.results.keys() - _dirty(memory.traces, wanted, Project(batch.root, batch.configuration.src))
        return {path: memory.results[name] for name, path in wanted.items() if name in valid}

    def keep(self, batches: Iterable[Batch], results: Iterable[FileResult]) -> None:
        """Remember the results of the batches' files, for which `recall` had nothing.

        Results of other files that rest on something which this run has found changed are forgotten.
        """
        by_file = {os.path.abspath(result.display): result for result in results}
        for batch in batches:
            own = {str(path): by_file[str(path)] for path in batch.files if str(path) in by_file}
            if own:
                self._keep(self._key(batch), own)

    def _keep(self, key: str, results: Mapping[str, FileResult]) -> None:
        memory = self._memories.get(key) or _Memory()
        new = _merged(trace for result in results.values() for trace in result.traces)
        traces = {name: trace for name, trace in {**memory.traces, **new}.items() if os.path.exists(name)}
        changed = [name for name, trace in new.items() if memory.traces.get(name) != trace]
        gone = memory.traces.keys() - traces.keys()
        stale = _dependents({*changed, *gone}, traces)
        kept = {name: result for name, result in memory.results.items() if name in traces and name not in stale}
        fresh = {name: result for name, result in results.items() if name in traces and result.is_final}
        kept.update((name, replace(result, traces=())) for name, result in fresh.items())
        self._write(key, _Memory(traces, kept))

    def _read(self, key: str) -> _Memory:
        try:
            document: Any = storage.read(self._file(key))
            if document["format"] != FORMAT:
                return _Memory()
            traces = {trace.path: trace for trace in decode(tuple[Trace, ...], document["traces"])}
            results = decode(tuple[FileResult, ...], [*document["results"].values()])
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


def _merged(traces: Iterable[Trace]) -> dict[str, Trace]:
    """One trace for each path; a file that was seen with two contents has none."""
    merged: dict[str, Trace] = {}
    torn: set[str] = set()
    for trace in traces:
        known = merged.get(trace.path, trace)
        if known.digest != trace.digest:
            torn.add(trace.path)
        found, absent = {*known.found, *trace.found}, {*known.absent, *trace.absent}
        merged[trace.path] = replace(trace, found=tuple(sorted(found)), absent=tuple(sorted(absent)))
    return {name: trace for name, trace in merged.items() if name not in torn}


def _dirty(traces: Mapping[str, Trace], wanted: Iterable[str], project: Project) -> set[str]:
    """The files, of those that are wanted and what they rest on, of which something is no longer as it was."""
    reached: set[str] = set()
    pending = list(wanted)
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += traces[name].found if name in traces else ()
    exists = cache(os.path.exists)
    changed = [name for name in reached if name not in traces or not _holds(traces[name], project, exists)]
    return _dependents(changed, {name: traces[name] for name in reached if name in traces})


def _holds(trace: Trace, project: Project, exists: Callable[[str], bool]) -> bool:
    try:
        with open(trace.path, "rb", buffering=0) as file:
            same = digest(file.read()) == trace.digest
    except OSError:
        return False
    return same and project.module_name(trace.path) == trace.module and not any(map(exists, trace.absent))


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
