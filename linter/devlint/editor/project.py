"""The reports on all files of a project, open or not, for a client that wants them.

One run over the saved files finds them, in a process of its own that ends with the run. A file that is saved, or that
changes on the disk, causes a run; a change during a run causes another one behind it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Protocol

from lsprotocol import types
from pygls import uris
from pygls.workspace import PositionCodec

from devlint.diagnostics import Place
from devlint.editor import answers
from devlint.editor.documents import Document
from devlint.editor.jobs import ProjectFindings, ProjectJob
from devlint.editor.texts import position
from devlint.editor.worker import Died, Stopped, Worker
from devlint.errors import DevlintError
from devlint.project import digest
from devlint.settings import Settings

PAUSE = 0.3
"""Seconds after a change until the run, in which more changes may come."""


class Listener(Protocol):
    """Hears of runs over a project."""

    def checked(self) -> None:
        """Take note of new findings."""

    def failed(self, error: DevlintError) -> None:
        """Take note that the project cannot be checked."""


class ProjectCheck:
    """Runs over the files of a project, and the findings of the last run.

    Args:
        settings: returns the command line of a run.
        listener: hears of each run with other findings than the one before.
    """

    def __init__(self, settings: Callable[[], Settings], listener: Listener) -> None:
        self.findings = ProjectFindings()
        self._settings = settings
        self._listener = listener
        self._worker = Worker()
        self._wake = asyncio.Event()
        self._ran = asyncio.Event()
        self._news: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    def check(self) -> None:
        """Run soon."""
        self._wake.set()
        if self._task is None:
            self._task = asyncio.ensure_future(self._work())

    async def first(self) -> None:
        """Wait for the end of the first run."""
        await self._ran.wait()

    async def changed(self) -> None:
        """Wait for the next run that finds something else."""
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._news)  # those who wait may be cancelled, each for itself

    async def _work(self) -> None:
        try:
            while True:
                await self._wake.wait()
                await asyncio.sleep(PAUSE)
                self._wake.clear()
                await self._run()
                self._ran.set()
        finally:
            self._worker.stop()

    async def _run(self) -> None:
        try:
            found = await self._worker.check(ProjectJob(self._settings()))
        except DevlintError as error:
            self._listener.failed(error)
        except (Died, Stopped):
            pass  # the findings of the run before stay
        else:
            if found != self.findings:
                self.findings = found
                self._listener.checked()
                if self._news is not None:
                    self._news.set_result(None)
                    self._news = None
        finally:
            self._worker.stop()  # the next run may be far off, and this process has the memory of a whole project


class SavedTexts:
    """The texts of a run over saved files, as `Texts` are those of one analysis; they do not change.

    Args:
        lines: the lines of each file that a diagnostic speaks of.
        codec: counts columns as the client does.
    """

    def __init__(self, lines: Mapping[str, tuple[str, ...]], codec: PositionCodec) -> None:
        self._lines = lines
        self._codec = codec

    def range(self, place: Place) -> types.Range | None:
        """Return the range of a place; None if its file is not at hand."""
        lines = self._lines.get(place.file)
        if lines is None or place.cell is not None:
            return None
        return types.Range(
            position(lines, place.line, place.column, self._codec),
            position(lines, place.end_line, place.end_column, self._codec),
        )

    def location(self, place: Place) -> types.Location | None:
        """Return the range of a place with the address of its file; None as for `range`."""
        where = self.range(place)
        return None if where is None else types.Location(uri_of(place.file), where)


def uri_of(file: str) -> str:
    """Return the address of a file."""
    path = os.path.abspath(file)
    return uris.from_fs_path(path) or Path(path).as_uri()


def shown_by_callers(
    found: ProjectFindings, document: Document, file: str, codec: PositionCodec
) -> list[types.Diagnostic]:
    """Return the diagnostics of a document that calls in other files show, while its text is the saved one."""
    if found.lines.get(file) != document.lines:
        return []
    texts = SavedTexts(found.lines, codec)
    own = (one for one in found.diagnostics if one.place.file == file and any(call.file != file for call in one.calls))
    shown = (answers.diagnostic(one, found.pages, texts) for one in own)
    return [one for one in shown if one is not None]


def reports(found: ProjectFindings, codec: PositionCodec) -> dict[str, list[types.Diagnostic]]:
    """Return the diagnostics of a project by the address of their file."""
    texts = SavedTexts(found.lines, codec)
    by_file: dict[str, list[types.Diagnostic]] = {}
    for one in found.diagnostics:
        shown = answers.diagnostic(one, found.pages, texts)
        if shown is not None:
            by_file.setdefault(uri_of(one.place.file), []).append(shown)
    return by_file


Report = types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport


def news(
    found: Mapping[str, list[types.Diagnostic]], known: Mapping[str, str], opened: Collection[str]
) -> list[Report]:
    """Return the reports for a client that pulls those of its workspace.

    Args:
        found: the diagnostics by file.
        known: the names of the reports that the client has, by file.
        opened: the documents that are open; the client asks for their diagnostics one by one.
    """
    rows: list[Report] = []
    for uri, diagnostics in sorted(found.items()):
        name = digest(repr(diagnostics).encode())
        if uri in opened:
            continue
        if known.get(uri) == name:
            rows.append(types.WorkspaceUnchangedDocumentDiagnosticReport(uri, name))
        else:
            rows.append(types.WorkspaceFullDocumentDiagnosticReport(uri, diagnostics, result_id=name))
    gone = sorted(known.keys() - found.keys() - set(opened))
    return [*rows, *(types.WorkspaceFullDocumentDiagnosticReport(uri, []) for uri in gone)]
