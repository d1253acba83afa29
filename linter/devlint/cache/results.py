"""The results that still hold. A cache never makes a run fail: what cannot be read or written is as good as absent.

A file has the name that its project gives it, so a kept result says the same from each working directory. A kept result
is for reading only: its fixes are shown, and `--fix` checks the file anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from devlint.cache import storage
from devlint.cache.changes import Change, Changes, Graph, contradict, joined
from devlint.cache.codec import CodecError, decode, encode
from devlint.diagnostics import Diagnostic, Place, Silenced
from devlint.inspector import Batch, FileResult
from devlint.project import Project, display_path
from devlint.reads import Part
from devlint.records import dataclass
from devlint.traces import Trace

FORMAT = 10
"""Rises with the form of the file."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The fields of `FileResult` that are kept of one file, its places in files by their names in the project."""

    diagnostics: tuple[Diagnostic, ...]
    silenced: tuple[Silenced, ...] = ()
    elsewhere: tuple[Diagnostic, ...] = ()
    used: tuple[Place, ...] = ()
    idle: tuple[Place, ...] = ()
    texts: tuple[str, ...] = ()
    """The other files whose texts it rests on."""
    retired: tuple[str, ...] = ()

    @property
    def files(self) -> frozenset[str]:
        """The files that it names a place in, and those whose texts it rests on."""
        return frozenset((*(place.file for place in self.places), *self.texts))

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
            tuple(map(rename, self.texts)),
            self.retired,
        )


_NAMES = [one.name for one in fields(_Kept)]


@dataclass(slots=True)
class _Memory:
    """The content of one cache file.

    Attributes:
        traces: of files by name.
        results: of files by name, as they were found with exactly these traces.
        members: a name for the contents of all files of the project at that time; empty if it is not known.
    """

    traces: dict[str, Trace] = field(default_factory=dict)
    results: dict[str, _Kept] = field(default_factory=dict)
    members: str = ""


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
        self._graphs: dict[str, Graph] = {}
        self._members: dict[str, str] = {}

    def recall(self, batch: Batch) -> dict[Path, FileResult]:
        """Return the results that still hold, by file."""
        key, project = self._key(batch), batch.project()
        memory = self._memories[key] = self._read(key)
        wanted = {project.name_of(path): path for path in batch.files}
        graph = self._graphs[key] = Graph(memory.traces)
        changes = Changes(project, memory.members)
        reached = graph.reached(wanted)
        change = changes.since(memory.traces, reached)
        asked = any(trace.asked for trace in memory.traces.values())
        # A question about a file that was not reached is not asked again, and may have another answer.
        members = self._members[key] = changes.members if asked and reached >= memory.traces.keys() else ""
        if members and members != memory.members and change == Change():
            self._write(key, replace(memory, members=members))
        valid = memory.results.keys() - graph.affected(wanted, change)

        @cache
        def shown(name: str) -> str:
            return display_path(Path(project.path_of(name)))

        recalled: dict[Path, FileResult] = {}
        for name, path in wanted.items():
            if name in valid and _holds(memory.results[name], name, graph, change):
                kept = memory.results[name].with_files(shown)
                recalled[path] = FileResult(shown(name), **{one: getattr(kept, one) for one in _NAMES})
        return recalled

    def keep(self, batches: Iterable[Batch], results: Iterable[FileResult]) -> None:
        """Remember the results of the batches' files, for which `recall` had nothing.

        Results of other files that rest on something which this run has found changed are forgotten.
        """
        by_file = {os.path.abspath(result.display): result for result in results}
        for batch in batches:
            own = [by_file[str(path)] for path in batch.files if str(path) in by_file]
            if own:
                self._keep(self._key(batch), batch.project(), own)

    def _keep(self, key: str, project: Project, results: Iterable[FileResult]) -> None:
        memory = self._memories.get(key) or _Memory()

        @cache
        def name_of(display: str) -> str:
            return project.name_of(os.path.abspath(display))

        new = _merged(trace for result in results for trace in result.traces)
        before = memory.traces
        torn = [name for name, trace in new.items() if name in before and contradict(before[name], trace)]
        edited = [name for name, trace in new.items() if name in before and before[name].digest != trace.digest]
        gone = [name for name in before if not os.path.exists(project.path_of(name))]
        change = Changes(project).since(before, {*edited, *torn, *gone})
        change = replace(change, parts=change.parts.union(map(Part, torn)))
        known = {
            **before,
            **{name: joined(before.get(name, trace), trace, change.parts) for name, trace in new.items()},
        }
        traces = {name: trace for name, trace in known.items() if os.path.exists(project.path_of(name))}
        graph = self._graphs.get(key) or Graph(before)
        stale = graph.affected(memory.results, change)
        kept = {
            name: result
            for name, result in memory.results.items()
            if name in traces and name not in stale and _holds(result, name, graph, change)
        }
        for result in results:
            name = name_of(result.display)
            if name in traces and result.is_final:
                kept[name] = _Kept(*(getattr(result, one) for one in _NAMES)).with_files(name_of)
        self._write(key, _Memory(traces, kept, self._members.get(key, "")))

    def _read(self, key: str) -> _Memory:
        try:
            document: Any = storage.read(self._file(key))
            if document["format"] != FORMAT:
                return _Memory()
            traces = {trace.path: trace for trace in decode(tuple[Trace, ...], document["traces"])}
            results = decode(tuple[_Kept, ...], [*document["results"].values()])
            kept = dict(zip(document["results"], results, strict=True))
            return _Memory(traces, kept, decode(str, document["members"]))
        except (KeyError, TypeError, AttributeError, CodecError):
            return _Memory()

    def _write(self, key: str, memory: _Memory) -> None:
        document = {
            "format": FORMAT,
            "members": memory.members,
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
        merged[trace.path] = joined(known, trace, ())
    return {name: trace for name, trace in merged.items() if name not in torn}


def _holds(kept: _Kept, name: str, graph: Graph, change: Change) -> bool:
    """Whether the texts are the same that a result names, and it has its own reports in its own file.

    It names only files that it rests on.
    """
    if any(place.file != name for place in (*(one.place for one in kept.diagnostics), *kept.idle)):
        return False
    return kept.files.isdisjoint(change.texts) and (kept.files <= {name} or kept.files <= graph.reached((name,)))
