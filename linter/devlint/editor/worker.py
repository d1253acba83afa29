"""The process that analyses documents, one at a time, or a whole project.

An analysis is stopped by ending its process: that takes milliseconds wherever the analysis is, leaves nothing half done
and gives its memory back. The next process starts at once, and has imported the analysis before it is needed. The
process ends itself when the server does, however that ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeAlias

from devlint import cache, engine
from devlint.diagnostics import Diagnostic, Place, RuleText
from devlint.discovery import project_of
from devlint.errors import DevlintError, SourceError
from devlint.facts import Occurrence
from devlint.importers import Importers
from devlint.inspector import Batch, FileResult, killed, load_tools, texts_of
from devlint.pool import safe_path
from devlint.project import Project, digest, lines_of, read_text
from devlint.quoting import printable_lines
from devlint.records import dataclass
from devlint.report import Outcome
from devlint.report.cells import in_its_cell
from devlint.settings import Configuration, Settings
from devlint.traces import Asked, Trace

STACK = 256 * 1024 * 1024
"""Bytes of stack for the analysis, which follows the nesting of a program; memory is only taken where it is used."""


@dataclass(frozen=True, slots=True)
class Basis:
    """All that an analysis rests on; while it is the same, the findings are.

    Attributes:
        settings: the command line.
        batch: the document with its project and configuration; None if they are not known.
        reads: the digest of each file that was read, by absolute path; None where a file was looked for in vain.
        asked: the questions about the project, each with the file that it was asked about.
    """

    settings: Settings
    batch: Batch | None
    reads: Mapping[Path, str | None]
    asked: tuple[tuple[Path, Asked], ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """The outcome of one analysis.

    Attributes:
        result: the outcome as the command line has it; without traces.
        occurrences: each value at each place.
        pages: the addresses of the rules' documentation, by code, for the codes in the result.
        basis: the settings and files that it rests on.
    """

    result: FileResult
    occurrences: tuple[Occurrence, ...]
    pages: Mapping[str, str]
    basis: Basis


@dataclass(frozen=True, slots=True)
class Job:
    """One document to analyse.

    Attributes:
        path: the document.
        settings: the command line.
        contents: the text of each open document, by absolute path.
        known: the basis of the last findings, if there are any.
    """

    path: Path
    settings: Settings
    contents: Mapping[Path, bytes]
    known: Basis | None

    def own_text(self) -> dict[Path, str | None]:
        """Return the digest of the document itself, as a part of a basis."""
        return {self.path: digest(self.contents[self.path])}


@dataclass(frozen=True, slots=True)
class ProjectJob:
    """The files below some folders to check, as they are saved.

    Attributes:
        settings: the command line, with these folders.
    """

    settings: Settings


@dataclass(frozen=True, slots=True)
class ProjectFindings:
    """The outcome of a run over a project.

    Attributes:
        diagnostics: the reported ones, in order. A place in a notebook has the lines of its file, which is JSON.
        lines: the lines of the files that they speak of.
        pages: as for `Findings`.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)


Answer: TypeAlias = "Findings | ProjectFindings | DevlintError | None"
"""The findings; None: those that are known hold; an error of the user in the settings or a configuration file."""


class Died(Exception):  # noqa: N818  # an event, not an error
    """The process ended in the middle of its work."""


class Stopped(Exception):  # noqa: N818  # an event, not an error
    """An analysis was stopped because its answer is not wanted any more."""


def bug(error: Exception) -> DevlintError:
    """Return an error that tells the user of one that devlint did not foresee."""
    return DevlintError(f"devlint failed, this is a bug: {type(error).__name__}: {error}")


class Worker:
    """Starts the process, gives it work and stops it; used from one event loop."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    async def analyse(self, job: Job) -> Findings | None:
        """Return the findings of a document; None if those that are known hold.

        Raises:
            Stopped: `stop` was called meanwhile.
            DevlintError: a setting or a configuration file is wrong.
        """
        try:
            answer = await self._answer(job)
        except Died:
            return Findings(killed(job.path), (), {}, Basis(job.settings, None, job.own_text()))
        assert not isinstance(answer, ProjectFindings)
        return answer

    async def check(self, job: ProjectJob) -> ProjectFindings:
        """Return the findings in a project.

        Raises:
            Died: the process ended.
            Stopped, DevlintError: as for `analyse`.
        """
        answer = await self._answer(job)
        assert isinstance(answer, ProjectFindings)
        return answer

    async def _answer(self, job: Job | ProjectJob) -> Findings | ProjectFindings | None:
        try:
            process, connection = self._started()
        except OSError as error:
            raise DevlintError(f"cannot start a process: {error}") from error
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(None, partial(_ask, connection, job))
        except (EOFError, OSError):
            if self._process is not process:
                raise Stopped from None
            self.stop()
            raise Died from None
        if self._process is not process:  # stopped while the answer was on its way
            raise Stopped
        if isinstance(answer, DevlintError):
            raise answer
        return answer

    def start(self) -> None:
        """Start the process unless it runs, so that it is ready when there is work."""
        with contextlib.suppress(OSError):  # `analyse` says so
            self._started()

    def stop(self) -> None:
        """End the process, and with it the analysis that it is at."""
        if self._process is not None:
            self._process.kill()
        self._process = self._connection = None

    def _started(self) -> tuple[BaseProcess, Connection]:
        if self._process is None or self._connection is None or not self._process.is_alive():
            context = get_context("spawn")
            self._connection, theirs = context.Pipe()
            with safe_path():
                self._process = context.Process(target=serve, args=(theirs, os.getcwd()), daemon=True)
                self._process.start()
            theirs.close()
        return self._process, self._connection


def _ask(connection: Connection, job: Job | ProjectJob) -> Answer:
    """Return the answer to a job.

    Raises:
        EOFError, OSError: the process has ended; then the connection is closed.
    """
    try:
        connection.send(job)
        answer: Answer = connection.recv()
    except (EOFError, OSError):
        connection.close()
        raise
    return answer


# --- in the process -----------------------------------------------------------------------------------------


def serve(connection: Connection, folder: str) -> None:
    """Analyse what comes through a connection until its other end is closed.

    Args:
        connection: jobs come and answers go through it.
        folder: the working directory of the server.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    with contextlib.suppress(OSError):
        os.dup2(2, 1)  # the server's standard output is for the protocol
    os.chdir(folder)
    jobs: queue.SimpleQueue[Job | ProjectJob] = queue.SimpleQueue()
    before = threading.stack_size(STACK)
    threading.Thread(target=_work, args=(jobs, connection), daemon=True).start()
    threading.stack_size(before)
    # The main thread does nothing but wait, so that it sees the end of the server in the middle of an analysis.
    with contextlib.suppress(EOFError, OSError):
        while True:
            jobs.put(connection.recv())
    os._exit(0)


def _work(jobs: queue.SimpleQueue[Job | ProjectJob], connection: Connection) -> None:
    with contextlib.suppress(DevlintError):  # the first job meets it again
        load_tools()
    import devlint.frontend.concrete  # noqa: F401  # which imports LibCST

    try:
        while True:
            connection.send(_answered(jobs.get()))
            gc.collect()  # an analysis collects seldom, and the next may be long in coming
    finally:
        os._exit(1)  # a process that cannot answer must not be waited for


def _answered(job: Job | ProjectJob) -> Answer:
    try:
        return _check(job) if isinstance(job, ProjectJob) else _answer(job)
    except DevlintError as error:
        return error
    except Exception as error:
        sys.stderr.write(printable_lines(traceback.format_exc()))
        return bug(error)


def _answer(job: Job) -> Findings | None:
    batch = engine.batch_of(job.path, job.settings)
    if job.known is not None and holds(job.known, job, batch):
        return None
    reads = {path: _digest(path, job.contents) for path in _given(batch.configuration)}
    look = engine.look_at(job.path, job.settings, job.contents)
    project = project_of(batch.root, batch.configuration)
    traces = _reached(project, job, look.result.traces)
    return Findings(
        result=replace(look.result, traces=()),
        occurrences=look.facts.occurrences,
        pages=_pages(look.result.diagnostics),
        basis=Basis(
            job.settings,
            batch,
            {**reads, **_sources(project, job, traces), **job.own_text()},
            tuple((Path(project.path_of(trace.path)), asked) for trace in traces for asked in trace.asked),
        ),
    )


def _check(job: ProjectJob) -> ProjectFindings:
    if hasattr(os, "nice"):
        os.nice(10)  # a document whose author waits goes first
    outcome = engine.run(job.settings, load=cache.load_tools, cache=cache.user_cache(job.settings)).outcome
    shown = tuple(_in_lines_of_files(one, outcome) for one in outcome.diagnostics)
    notebooks = {place.file for one in outcome.diagnostics for place in one.places() if place.cell is not None}
    lines = {**outcome.lines, **{file: lines_of(read_text(Path(file), file)) for file in sorted(notebooks)}}
    return ProjectFindings(shown, lines, _pages(shown))


def _in_lines_of_files(diagnostic: Diagnostic, outcome: Outcome) -> Diagnostic:
    """Return a diagnostic with the lines of files in place of those of cells, and without the fix of a cell."""

    def change(place: Place) -> Place:
        if place.cell is None:
            return place
        first, last = outcome.file_lines(place)
        return Place(place.file, first, 1, last + 1, 1)

    message = in_its_cell(diagnostic.place, diagnostic.message)
    return replace(diagnostic, fix=None, message=message).with_places(change)


def holds(known: Basis, job: Job, batch: Batch) -> bool:
    """Whether an analysis would find the same again."""
    if known.settings != job.settings or known.batch != batch:
        return False
    if any(_digest(path, job.contents) != before for path, before in known.reads.items()):
        return False
    return not known.asked or _is_answered_alike(known.asked, job, batch)


def _is_answered_alike(asked: Collection[tuple[Path, Asked]], job: Job, batch: Batch) -> bool:
    """Whether the members of the project would answer each question as they did."""
    project = project_of(batch.root, batch.configuration)
    try:
        for path, data in job.contents.items():
            project.put(path, data)
        importers = Importers(project)
        return all(importers.still_holds(project.peek(path), one) for path, one in asked)
    except SourceError:
        return False


def _given(configuration: Configuration) -> Iterator[Path]:
    """Yield the files with signatures and recorded runs that a configuration names."""
    for path in (*configuration.signatures, *configuration.observed):
        yield from sorted(path.rglob("*")) if path.is_dir() else (path,)


def _reached(project: Project, job: Job, traces: Collection[Trace]) -> list[Trace]:
    """Return the traces of a document and of the files that its analysis has looked for."""
    by_name = {trace.path: trace for trace in traces}
    found: list[Trace] = []
    pending = [project.name_of(job.path)]
    while pending:
        trace = by_name.pop(pending.pop(), None)
        if trace is not None:
            found.append(trace)
            pending += trace.led_to
    return found


def _sources(project: Project, job: Job, traces: Iterable[Trace]) -> dict[Path, str | None]:
    """Return the digests of the source files with these traces; None for those that were looked for in vain."""
    found: dict[Path, str | None] = {}
    for trace in traces:
        found.update((path, _digest(path, job.contents)) for path in map(Path, map(project.path_of, trace.present)))
        found.update((Path(project.path_of(name)), None) for name in trace.absent)
        found[Path(project.path_of(trace.path))] = trace.digest or None
    return found


def _digest(path: Path, contents: Mapping[Path, bytes]) -> str | None:
    if path in contents:
        return digest(contents[path])
    try:
        return digest(path.read_bytes())
    except OSError:
        return None


def _pages(diagnostics: Collection[Diagnostic]) -> dict[str, str]:
    """Return the addresses of the documentation of some rules: their pages, else files with the same text."""
    codes = {one.code for one in diagnostics}
    texts = texts_of(load_tools().rules, codes) if codes else {}
    pages = {code: text.page or cache.page_in_cache(code, _page(text)) for code, text in texts.items()}
    return {code: page for code, page in pages.items() if page is not None}


def _page(text: RuleText) -> str:
    return f"# {text.code}: {text.rule}\n\n{text.documentation}\n"
