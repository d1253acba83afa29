"""The analysis of open documents, which keeps the loaded files of a project while documents change.

The first analysis of a document executes every file that the document imports. The next one executes only the files
that have changed since, and those that import them; the summaries of all other functions stay (`Analyser.change`). The
analysis begins anew if a file has come or gone, if a configuration has changed, or if a question about the project has
another answer.

A document that is not Python at the moment has no values. The project then keeps its last text that was Python.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from devlint import cache, engine
from devlint.diagnostics import Diagnostic, RuleText
from devlint.editor.jobs import Basis, Findings, Job
from devlint.errors import SourceError
from devlint.importers import Importers
from devlint.inspector import Batch, Inspector, load_tools, texts_of
from devlint.project import Project, digest
from devlint.reading import read_file
from devlint.settings import Configuration, Settings
from devlint.traces import Trace

_Stamp: TypeAlias = "tuple[int, int, int] | None"
"""The size of a file and the times of its last changes; None if there is no such file."""


class Living:
    """Analyses documents one after the other.

    Attributes:
        kept: the project of the last document.
    """

    def __init__(self) -> None:
        self.kept: Kept | None = None

    def answer(self, job: Job) -> Findings | None:
        """Return the findings of a document; None if those that are known hold.

        Raises:
            DevlintError: a setting or a configuration file is wrong.
        """
        batch = engine.batch_of(job.path, job.settings)
        if job.known is not None and holds(job.known, job, batch):
            return None
        reads = {path: _digest(path, job.contents) for path in _given(batch.configuration)}
        try:
            kept = self._follow(job, batch, reads)
        except SyntaxError:
            kept = Kept(job, batch, reads)  # it reads no other file
        found = kept.findings(job, batch)
        if not found.result.is_final:
            self.kept = None  # an analysis that fails may leave the project half changed
        return found

    def _follow(self, job: Job, batch: Batch, reads: Mapping[Path, str | None]) -> Kept:
        """Return the project with the present documents.

        Raises:
            SyntaxError: the document to analyse is not Python.
        """
        kept = self.kept
        if kept and kept.is_for(job.settings, batch, reads) and kept.follow(job.path, job.contents):
            return kept
        self.kept = None  # before a new one takes the memory
        self.kept = Kept(job, batch, reads)
        return self.kept


class Kept:
    """A project that is analysed.

    Args:
        job: the settings, and the documents as they are at first.
        batch: the project and its configuration.
        given: the digests of the other files that the configuration names.
    """

    def __init__(self, job: Job, batch: Batch, given: Mapping[Path, str | None]) -> None:
        self._settings = job.settings
        self._batch = batch.of(())
        self._given = given
        self._contents = dict(job.contents)
        self._traces: dict[str, Trace] = {}
        self._reads: dict[str, dict[Path, str | None]] = {}
        """The files that were read or looked for, see `_sources`, by the name of the file that they were read for."""
        self._inspector = Inspector(job.settings, load_tools)
        self._inspector.prepare(batch)
        self._project = self._inspector.project(batch)
        self._members = self._stamps()  # before any of them is read
        for path, data in job.contents.items():
            self._project.put(path, data)

    def is_for(self, settings: Settings, batch: Batch, given: Mapping[Path, str | None]) -> bool:
        """Whether this is the project of a document, with the settings and signatures as they were."""
        return (settings, batch.of(()), given) == (self._settings, self._batch, self._given)

    def follow(self, wanted: Path, contents: Mapping[Path, bytes]) -> bool:
        """Take over the documents and the files on the disk as they are now; False if too much has changed.

        Raises:
            SyntaxError: the document `wanted` is not Python, and stays as it was.
        """
        on_disk = self._changed_on_disk(contents)
        if on_disk is None:
            return False
        broken: SyntaxError | None = None
        for path, data in {**on_disk, **contents}.items():
            if self._contents.get(path) == data:
                continue
            try:
                if not self._inspector.change(self._batch, path, data):
                    return False
            except SourceError:
                return False
            except SyntaxError as error:
                if path != wanted:
                    return False
                broken = error
            else:
                self._contents[path] = data
        for path in on_disk:
            self._contents.pop(path, None)
        if broken is not None:
            raise broken
        return True

    def findings(self, job: Job, batch: Batch) -> Findings:
        """Analyse a document."""
        look = self._inspector.look(self._batch, job.path)
        for trace in look.result.traces:
            self._traces[trace.path] = trace
            self._reads[trace.path] = _sources(self._project, job, trace)
        reached = _reached(self._project, job, self._traces)
        reads = dict(itertools.chain.from_iterable(self._reads[trace.path].items() for trace in reached))
        asked = tuple((Path(self._project.path_of(trace.path)), asked) for trace in reached for asked in trace.asked)
        basis = Basis(job.settings, batch, {**reads, **self._given, **job.own_text()}, asked)
        result = replace(look.result, traces=())
        return Findings(result, look.facts.occurrences, pages(result.diagnostics), basis)

    def _changed_on_disk(self, contents: Mapping[Path, bytes]) -> dict[Path, bytes] | None:
        """Return the files with another content than they had, by path; None if a file has come or gone.

        A document that has been closed is one of them.
        """
        traces = self._traces.values()
        markers = {self._project.path_of(name) for trace in traces for name in trace.present}
        absent = {self._project.path_of(name) for trace in traces for name in trace.absent}
        if not all(map(os.path.isfile, markers)) or any(map(os.path.lexists, absent - set(map(str, self._contents)))):
            return None
        changed = {path for path in self._contents if path not in contents}
        digests = {Path(self._project.path_of(trace.path)): trace.digest for trace in traces}
        changed |= {
            path for path, before in digests.items() if path not in contents and (_digest(path, {}) or "") != before
        }
        if any(trace.asked for trace in traces):
            before, self._members = self._members, self._stamps()
            if before.keys() != self._members.keys():
                return None
            changed |= {path for path, stamp in before.items() if path not in contents and self._members[path] != stamp}
        try:
            return {path: read_file(path) for path in sorted(changed)}
        except OSError:
            return None

    def _stamps(self) -> dict[Path, _Stamp]:
        """The stamp of each file of the project."""
        return {path: _stamp(path) for path in self._batch.project().members}


def holds(known: Basis, job: Job, batch: Batch) -> bool:
    """Whether an analysis would find the same again."""
    if known.settings != job.settings or known.batch != batch:
        return False
    own = job.path, known.reads.get(job.path)  # the document itself changes most often
    if any(_digest(path, job.contents) != before for path, before in (own, *known.reads.items())):
        return False
    return not known.asked or _is_answered_alike(known, job, batch)


def _is_answered_alike(known: Basis, job: Job, batch: Batch) -> bool:
    """Whether the members of the project would answer each question as they did."""
    project = batch.project()
    try:
        for path, data in job.contents.items():
            project.put(path, data)
        importers = Importers(project)
        return all(importers.still_holds(project.peek(path), one) for path, one in known.asked)
    except SourceError:
        return False


def _given(configuration: Configuration) -> Iterator[Path]:
    """Yield the files with signatures that a configuration names."""
    for path in configuration.signatures:
        yield from sorted(path.rglob("*")) if path.is_dir() else (path,)


def _reached(project: Project, job: Job, traces: Mapping[str, Trace]) -> list[Trace]:
    """Return the traces of a document and of the files that its analysis has looked for."""
    found: dict[str, Trace] = {}
    pending = [project.name_of(job.path)]
    while pending:
        name = pending.pop()
        if name in traces and name not in found:
            found[name] = traces[name]
            pending += traces[name].led_to
    return list(found.values())


def _sources(project: Project, job: Job, trace: Trace) -> dict[Path, str | None]:
    """Return the digests of the files that were read for a file; None for those that were looked for in vain."""
    present = (Path(project.path_of(name)) for name in trace.present)
    absent = (Path(project.path_of(name)) for name in trace.absent)
    return {
        **{path: _digest(path, job.contents) for path in present},
        **dict.fromkeys(absent),
        Path(project.path_of(trace.path)): trace.digest or None,
    }


def _stamp(path: Path) -> _Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _digest(path: Path, contents: Mapping[Path, bytes]) -> str | None:
    if path in contents:
        return digest(contents[path])
    try:
        return digest(read_file(path))
    except OSError:
        return None


def pages(diagnostics: Collection[Diagnostic]) -> dict[str, str]:
    """Return the addresses of the documentation of some rules: their pages, else files with the same text."""
    codes = {one.code for one in diagnostics}
    texts = texts_of(load_tools().rules, codes) if codes else {}
    found = {code: text.page or cache.page_in_cache(code, _page(text)) for code, text in texts.items()}
    return {code: page for code, page in found.items() if page is not None}


def _page(text: RuleText) -> str:
    return f"# {text.code}: {text.rule}\n\n{text.documentation}\n"
