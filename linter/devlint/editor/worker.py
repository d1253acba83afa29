"""The process that analyses documents, one at a time, or a whole project.

The process keeps the loaded files of a project, see `living`. An analysis is stopped by ending its process: that
takes milliseconds wherever the analysis is, leaves nothing half done and gives its memory back. The next process starts
at once, and has imported the analysis before it is needed. The process ends itself when the server does, however that
ends.
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
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from devlint import cache, engine
from devlint.decoding import lines_of, read_text
from devlint.diagnostics import Diagnostic, Place
from devlint.editor.jobs import Answer, Basis, Findings, Job, ProjectFindings, ProjectJob
from devlint.editor.living import Living, pages
from devlint.errors import DevlintError
from devlint.inspector import killed, load_tools
from devlint.pool import safe_path
from devlint.quoting import printable_lines
from devlint.report import Outcome
from devlint.report.cells import in_its_cell

STACK = 256 * 1024 * 1024
"""Bytes of stack for the analysis, which follows the nesting of a program; memory is only taken where it is used."""

QUIET = 1.0
"""Seconds without a job after which the process looks for memory to give back."""


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
    living = Living()
    with contextlib.suppress(DevlintError):  # the first job meets it again
        load_tools()
    import devlint.frontend.concrete  # noqa: F401  # which imports LibCST

    try:
        while True:
            try:
                job = jobs.get(timeout=QUIET)
            except queue.Empty:
                gc.collect()  # takes long, because the kept project has many objects
                job = jobs.get()
            connection.send(_answered(living, job))
    finally:
        os._exit(1)  # a process that cannot answer must not be waited for


def _answered(living: Living, job: Job | ProjectJob) -> Answer:
    try:
        return _check(job) if isinstance(job, ProjectJob) else living.answer(job)
    except DevlintError as error:
        return error
    except Exception as error:
        sys.stderr.write(printable_lines(traceback.format_exc()))
        return bug(error)


def _check(job: ProjectJob) -> ProjectFindings:
    if hasattr(os, "nice"):
        os.nice(10)  # a document whose author waits goes first
    outcome = engine.run(job.settings, load=cache.load_tools, cache=cache.user_cache(job.settings)).outcome
    shown = tuple(_in_lines_of_files(one, outcome) for one in outcome.diagnostics)
    notebooks = {place.file for one in outcome.diagnostics for place in one.places() if place.cell is not None}
    lines = {**outcome.lines, **{file: lines_of(read_text(Path(file), file)) for file in sorted(notebooks)}}
    return ProjectFindings(shown, lines, pages(shown))


def _in_lines_of_files(diagnostic: Diagnostic, outcome: Outcome) -> Diagnostic:
    """Return a diagnostic with the lines of files in place of those of cells, and without the fix of a cell."""

    def change(place: Place) -> Place:
        if place.cell is None:
            return place
        first, last = outcome.file_lines(place)
        return Place(place.file, first, 1, last + 1, 1)

    message = in_its_cell(diagnostic.place, diagnostic.message)
    return replace(diagnostic, fix=None, message=message).with_places(change)
