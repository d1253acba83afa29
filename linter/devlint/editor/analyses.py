"""The latest analysis of each open document, and the order in which documents are analysed again.

However often a document changes, it waits once: its analysis takes the texts that there are when it begins. If a text
that it rests on changes meanwhile, the document waits again. The analysis goes on, because the next one uses the files
that it loads; a long analysis is stopped. Questions are answered from the last finished analysis; only the first one,
and requests for diagnostics, are waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from devlint.editor.documents import Document
from devlint.editor.jobs import Findings, Job
from devlint.editor.worker import Stopped, Worker, bug
from devlint.errors import DevlintError
from devlint.records import dataclass
from devlint.settings import Settings

PAUSE = 0.3
"""Seconds without a change after which a document is analysed."""

LONGEST = 3.0
"""Seconds from its beginning after which an analysis is stopped that is out of date."""

SYNTAX_ERROR = "DEV901"


@dataclass(slots=True, eq=False)
class _Run:
    """A running analysis.

    Attributes:
        path: the analysed document.
        documents: the open documents at its beginning.
        start: the time of its beginning.
        is_wanted: no text has changed since.
    """

    path: Path
    documents: Mapping[Path, Document]
    start: float
    is_wanted: bool = True


@dataclass(frozen=True, slots=True)
class Analysis:
    """The findings in a document, and the open documents that they rest on, as they were then."""

    findings: Findings
    documents: Mapping[Path, Document]


class Listener(Protocol):
    """Hears of each analysis that ends."""

    def analysed(self, path: Path, analysis: Analysis, *, is_news: bool) -> None:
        """Take note of an analysis of the texts as they are now; `is_news`: its findings may differ from the last."""

    def failed(self, error: DevlintError) -> None:
        """Take note that a document cannot be analysed."""


class Analyses:
    """Has open documents analysed one at a time, and keeps the last analysis of each.

    Args:
        documents: the open documents, as they are at any time.
        settings: returns the command line for a document, by the client's settings as they are now.
        listener: hears of each analysis that ends.
    """

    def __init__(
        self, documents: Mapping[Path, Document], settings: Callable[[Path], Settings], listener: Listener
    ) -> None:
        self._documents = documents
        self._settings = settings
        self._listener = listener
        self._worker = Worker()
        self._last: dict[Path, Analysis] = {}
        self._parsed: dict[Path, Analysis] = {}
        # The time from which each document may be analysed; the one that was asked for last goes first.
        self._due: dict[Path, float] = {}
        self._running: _Run | None = None
        self._waiting: dict[Path, asyncio.Future[None]] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def finished(self, path: Path) -> Analysis | None:
        """Return the last finished analysis of a document, without waiting; None before the first one."""
        return self._last.get(path)

    # --- events ---------------------------------------------------------------------------------------------

    def opened(self, path: Path) -> None:
        """Analyse a new document, and those that rest on the file that it stands for."""
        self._later(path, 0.0)
        self._changed(path, 0.0)

    def changed(self, path: Path) -> None:
        """Analyse a document, and those that rest on it, once its author pauses."""
        self._later(path, PAUSE)
        self._changed(path, PAUSE)

    def closed(self, path: Path) -> None:
        """Forget a document; those that rest on it rest on the file again."""
        self._forget(path)
        self._due.pop(path, None)
        self._stop(path)
        self._settle(path)
        self._changed(path, 0.0)

    def check(self) -> None:
        """Look at all documents again, as files may have changed; an analysis that runs goes on."""
        for path in self._documents:
            self._later(path, 0.0, stop=False)

    def restart(self) -> None:
        """Look at all documents again, as the client's settings have changed."""
        for path in self._documents:
            self._later(path, 0.0)

    def _changed(self, path: Path, pause: float) -> None:
        """Let the documents wait that rest on one with a changed text."""
        document = self._documents.get(path)
        now = None if document is None else document.digest
        for other in self._documents:
            last = self._last.get(other)
            if other == path or last is None or path not in last.findings.basis.reads:
                continue
            before = last.findings.basis.reads[path]
            if self._running is not None and self._runs(other) and path in self._running.documents:
                before = self._running.documents[path].digest
            if before != now:
                self._later(other, pause)

    def _later(self, path: Path, pause: float, *, stop: bool = True) -> None:
        self._due.pop(path, None)
        self._due[path] = asyncio.get_running_loop().time() + pause
        if stop:
            self._stop(path)
        self._wake.set()
        if self._task is None:
            self._task = asyncio.ensure_future(self._work())

    def _forget(self, path: Path) -> None:
        self._last.pop(path, None)
        self._parsed.pop(path, None)

    def _runs(self, path: Path) -> bool:
        """Whether an analysis of a document runs that is up to date."""
        return self._running is not None and self._running.path == path and self._running.is_wanted

    def _stop(self, path: Path) -> None:
        """Let the analysis of a document that is out of date go on, but not for long."""
        run = self._running
        if run is not None and self._runs(path):
            run.is_wanted = False
            loop = asyncio.get_running_loop()
            loop.call_at(max(run.start + LONGEST, loop.time()), self._end, run)

    def _end(self, run: _Run) -> None:
        if self._running is run:
            self._worker.stop()
            self._worker.start()  # while the author types on

    # --- questions ------------------------------------------------------------------------------------------

    def is_newest(self, path: Path) -> bool:
        """Whether a document neither waits for an analysis nor is being analysed."""
        return path not in self._due and not self._runs(path)

    async def last(self, path: Path) -> Analysis | None:
        """Return the last finished analysis of a document; only the first one is waited for.

        None for a document that is not open, or cannot be analysed.
        """
        return self._last.get(path) or await self.newest(path)

    async def parsed(self, path: Path) -> Analysis | None:
        """Return the last finished analysis of a text that was Python; or as `last`, if there is none.

        While an author types, every other text is a syntax error, in which devlint knows no value.
        """
        return self._parsed.get(path) or await self.last(path)

    async def newest(self, path: Path) -> Analysis | None:
        """Wait for the analysis of a document as it is now; None as for `last`."""
        while path in self._documents and not self.is_newest(path):
            if path in self._due:
                self._due[path] = self._due.pop(path)
            future = self._waiting.setdefault(path, asyncio.get_running_loop().create_future())
            await asyncio.shield(future)  # those who wait may be cancelled, each for itself
        return self._last.get(path)

    def _settle(self, path: Path) -> None:
        future = self._waiting.pop(path, None)
        if future is not None:
            future.set_result(None)

    # --- work -----------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        """Analyse one document after the other, until the server ends."""
        try:
            while True:
                path = await self._next()
                try:
                    await self._analyse(path)
                except Exception as error:
                    self._listener.failed(bug(error))
        finally:
            self._worker.stop()

    async def _next(self) -> Path:
        """Wait for a document that is due."""
        loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            now = loop.time()
            ready = [path for path, when in self._due.items() if when <= now]
            if ready:
                return ready[-1]
            pause = min(self._due.values()) - now if self._due else None
            try:
                await asyncio.wait_for(self._wake.wait(), pause)
            except asyncio.TimeoutError:
                continue

    async def _analyse(self, path: Path) -> None:
        del self._due[path]
        documents, last = dict(self._documents), self._last.get(path)
        contents = {each: document.data for each, document in documents.items()}
        job = Job(path, self._settings(path), contents, None if last is None else last.findings.basis)
        self._running = run = _Run(path, documents, asyncio.get_running_loop().time())
        try:
            found = await self._run(job)
        except Stopped:
            return
        except DevlintError as error:
            if run.is_wanted:
                self._forget(path)
                self._listener.failed(error)
        else:
            if path not in self._documents:
                return
            if found is not None:
                self._finish(run, found, is_news=True)
            elif last is not None:
                self._finish(run, last.findings, is_news=False)
        if path not in self._due:
            self._settle(path)

    async def _run(self, job: Job) -> Findings | None:
        try:
            return await self._worker.analyse(job)
        finally:
            self._running = None

    def _finish(self, run: _Run, findings: Findings, *, is_news: bool) -> None:
        """Keep an analysis, and tell of it unless it is out of date.

        Before it has ended, nobody knows all of the texts that it rests on, so these may have changed unnoticed.
        """
        path, reads = run.path, findings.basis.reads
        rested_on = {each: document for each, document in run.documents.items() if each in reads}
        last = self._last.get(path)
        self._last[path] = analysis = Analysis(findings, rested_on)
        if not any(one.code == SYNTAX_ERROR for one in findings.result.diagnostics):
            self._parsed[path] = analysis
        same = all(now.digest == reads[each] for each, now in self._documents.items() if each in reads)
        if not run.is_wanted:
            return
        if not same or not rested_on.keys() <= self._documents.keys():
            self._later(path, 0.0)
        elif is_news or last is None or last.documents != rested_on:
            self._listener.analysed(path, analysis, is_news=is_news)
