"""Finds the changes since files were analysed, and the results that they affect.

A result rests on the whole text of its own file. Of another file that the analysis read, the result rests on three
things: the lookups and questions that were noted for the file, its outside, and the other parts of it that were read.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from devlint.definitions import OUTSIDE, Imports, imports_of, is_foreign, is_of_library, parts_of
from devlint.errors import SourceError
from devlint.importers import Importers, absolute_names
from devlint.project import Project, Source, digest
from devlint.reading import read_file
from devlint.reads import REPORTS, TEXT, Part
from devlint.records import dataclass
from devlint.sources.program import parsed
from devlint.traces import Said, Trace, TracedPart


@dataclass(frozen=True, slots=True)
class Change:
    """The difference between files and their traces.

    Attributes:
        texts: the files that have other texts or are gone.
        parts: the parts of files that are not the same any more. If the outside of a file is among them, none of the
            file is the same, but for the answers to questions about its text.
    """

    texts: frozenset[str] = frozenset()
    parts: frozenset[Part] = frozenset()


class Changes:
    """Compares files with their traces.

    Args:
        project: the files as they are now.
        members: a name for the contents of all files of the project when every question had its answer, see `members`.
    """

    def __init__(self, project: Project, members: str = "") -> None:
        self._members = members
        self._project = project
        self._importers = Importers(project)
        self._is_file: dict[str, bool] = {}

    def since(self, traces: Mapping[str, Trace], names: Iterable[str]) -> Change:
        """Return the changes in some files. A file without a trace has changed as a whole."""
        for known in traces.values():
            self._project.know_imports(known)
        texts: set[str] = set()
        parts: set[Part] = set()
        for name in names:
            trace = traces.get(name)
            data = None if trace is None else self._data(trace)
            if trace is None or data is None:
                texts.add(name)
                parts.update((Part(name), Part(name, TEXT)))
                continue
            if digest(data) != trace.digest:
                texts.add(name)
                parts.update(self._changed_parts(trace))
            if not self._leads_on_alike(trace):
                parts.add(Part(name))
        return Change(frozenset(texts), frozenset(parts))

    @cached_property
    def members(self) -> str:
        """A name for the contents of all files of the project; they decide every question about it."""
        files = (f"{self._project.name_of(path)} {digest(_read(path) or b'')}" for path in self._project.members)
        return digest("\n".join(files).encode("utf-8", "surrogateescape"))

    def _data(self, trace: Trace) -> bytes | None:
        """Return the content of a file; None if it is gone."""
        return _read(self._project.path_of(trace.path)) if self._exists(trace.path) else None

    def _changed_parts(self, trace: Trace) -> Iterator[Part]:
        """Yield the parts that are not the same in the new text of a file."""
        source = self._peek(trace)
        known = None if source is None else _parsed(source.text)
        if not trace.parts or source is None or known is None or not _are_said(trace.said, source.text):
            yield from (Part(trace.path), Part(trace.path, TEXT))
            return
        now, imports = known
        before = {part.name: part.digest for part in trace.traced}
        for name in before.keys() | now.keys():
            if before.get(name, "") != now.get(name, ""):
                yield from (Part(trace.path, name), Part(trace.path, REPORTS))
        modules = self._project.imports(source, lambda one: absolute_names(one, imports))
        if trace.imports is None or self._led_to(source, modules) != self._led_to(source, trace.imports):
            yield Part(trace.path)

    def _led_to(self, source: Source, modules: Iterable[str]) -> set[str]:
        """The files that imports in a file lead to, and the libraries that may choose the default device."""
        modules = {name for name in modules if not is_foreign(name)}
        found = {one.display for one in (self._project.find(name, source) for name in modules) if one is not None}
        packages = {name.partition(".")[0] for name in modules}
        return found | {one for one in packages if not is_of_library(one) and self._project.find(one, source) is None}

    def _peek(self, trace: Trace) -> Source | None:
        try:
            return self._project.peek(Path(self._project.path_of(trace.path)))
        except SourceError:
            return None

    def _leads_on_alike(self, trace: Trace) -> bool:
        """Whether each lookup for a file, and each question about the project, finds the same as before."""
        if not all(map(self._exists, (trace.path, *trace.present))) or any(map(self._exists, trace.absent)):
            return False
        path = self._project.path_of(trace.path)
        if self._project.module_name(path) != trace.module:
            return False
        if not trace.asked or self.members == self._members:
            return True
        try:
            return all(self._importers.still_holds(self._project.peek(Path(path)), asked) for asked in trace.asked)
        except (SourceError, ValueError):  # a question that this version does not ask
            return False

    def _exists(self, name: str) -> bool:
        if name not in self._is_file:
            self._is_file[name] = os.path.isfile(self._project.path_of(name))
        return self._is_file[name]


class Graph:
    """The results, with edges to the parts that they rest on.

    Args:
        traces: of all files.
    """

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self._traces = traces

    def reached(self, names: Iterable[str]) -> set[str]:
        """Return some files, and those that their imports and questions led to, directly or through others."""
        found: set[str] = set()
        pending = list(names)
        while pending:
            one = pending.pop()
            if one not in found:
                found.add(one)
                pending += self._traces[one].led_to if one in self._traces else ()
        return found

    def affected(self, names: Iterable[str], change: Change) -> set[str]:
        """Return those of the files whose results rest on something that has changed."""
        parts = self._with_readers(change.parts)
        return {
            name for name in names if name in change.texts or name not in self._traces or Part(name, REPORTS) in parts
        }

    def _with_readers(self, parts: Collection[Part]) -> set[Part]:
        found: set[Part] = set()
        pending = list(parts)
        while pending:
            part = pending.pop()
            if part in found:
                continue
            found.add(part)
            readers = self._readers[part.file]
            pending += readers.get(part.name, ())
            if part.name == OUTSIDE:  # each part of a file is there when its outside has been executed
                pending += (Part(part.file, name) for name in (*readers, REPORTS) if name != TEXT)
        return found

    @cached_property
    def _readers(self) -> Mapping[str, Mapping[str, list[Part]]]:
        """The parts that rest on a part, by its file and name."""
        readers: dict[str, dict[str, list[Part]]] = defaultdict(lambda: defaultdict(list))
        for trace in self._traces.values():
            for part in trace.traced:
                reader = Part(trace.path, part.name)
                for file, names in part.read(trace.path):
                    for name in names:
                        readers[file][name].append(reader)
        return readers


def _read(path: Path | str) -> bytes | None:
    try:
        return read_file(path)
    except OSError:
        return None


def contradict(before: Trace, now: Trace) -> bool:
    """Return whether two traces of a file cannot both hold, whatever its text is."""
    there, missing = {*now.present, *now.found}, set(now.absent)
    answers = {(one.question, one.word): one.found for one in now.asked}
    return (
        before.module != now.module
        or not there.isdisjoint(before.absent)
        or not missing.isdisjoint((*before.present, *before.found))
        or any(answers.get((one.question, one.word), one.found) != one.found for one in before.asked)
    )


def joined(before: Trace, now: Trace, changed: Collection[Part]) -> Trace:
    """Return a trace with what earlier runs noted for their results, which still holds.

    Args:
        before: as earlier runs noted it.
        now: as this run did, for its own results.
        changed: the parts that are not as they were.
    """
    known = {part.name: part for part in before.traced if Part(now.path, part.name) not in changed}
    if Part(now.path) in changed:
        return now
    parts = {part.name: _joined(now.path, known.get(part.name, part), part) for part in now.traced}
    return replace(
        now,
        found=_union(before.found, now.found),
        present=_union(before.present, now.present),
        absent=_union(before.absent, now.absent),
        asked=tuple(sorted({*before.asked, *now.asked}, key=lambda one: (one.question, one.word, one.found))),
        said=tuple(sorted({*before.said, *now.said}, key=lambda one: (one.pattern, one.flags))),
        parts=tuple(part.text for _, part in sorted({**known, **parts}.items())),
        imports=before.imports if now.imports is None and before.digest == now.digest else now.imports,
    )


def _joined(file: str, before: TracedPart, now: TracedPart) -> TracedPart:
    if before.reads == now.reads:
        return now
    reads = {file: set(names) for file, names in before.read(file)}
    for read, names in now.read(file):
        reads.setdefault(read, set()).update(names)
    return TracedPart.of(file, now.name, now.digest, reads.items())


def _union(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*first, *second}))


def _parsed(text: str) -> tuple[Mapping[str, str], Imports] | None:
    """Return the parts of a text, and its imports; None if it is not Python."""
    tree = parsed(text)
    try:
        return None if tree is None else (parts_of(tree, text), imports_of(tree))
    except (RecursionError, MemoryError):
        return None


def _are_said(questions: Iterable[Said], text: str) -> bool:
    """Whether questions about a text have the answers that they had."""
    try:
        return all((re.compile(one.pattern, one.flags).search(text) is not None) == one.found for one in questions)
    except re.error:
        return False
