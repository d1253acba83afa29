"""The protocol: documents come and change, diagnostics go out, questions are answered; nothing ends the server."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.workspace import PositionCodec

from devlint import __version__
from devlint.editor import answers
from devlint.editor.analyses import Analyses, Analysis
from devlint.editor.documents import Document, Documents, path_of
from devlint.editor.options import Options, read_options
from devlint.editor.project import ProjectCheck, Report, news, reports, shown_by_callers, uri_of
from devlint.editor.texts import Texts
from devlint.errors import DevlintError
from devlint.project import display_path
from devlint.quoting import printable, printable_lines
from devlint.settings import Settings

_WATCHED = "**/{*.py,*.pyi,*.ipynb,pyproject.toml,devlint.toml}"
"""The files that a report may rest on."""

_PULL = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier="devlint")


class _Protocol(LanguageServerProtocol):
    """Answers each request, and leaves the texts of documents to the server.

    pygls drops a request whose parameters are none of its method, and each one after `shutdown`. It takes form feeds
    for ends of lines, and edits other lines then; and it keeps a future for each change.
    """

    def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
        """Leave an object as it is: only the outermost one of a message is a message."""
        return data

    def handle_message(self, message: Any) -> None:
        """Act on a message as it was read; a request that makes no sense gets an error."""
        is_request = "id" in message and "method" in message
        try:
            if is_request and self._shutdown:
                raise JsonRpcInvalidRequest("the server was told to shut down")
            structured = super().structure_message({**message, "jsonrpc": self.VERSION})
        except JsonRpcException as error:
            if not is_request:
                raise
            self._send_response(message["id"], error=error.to_response_error())
        else:
            super().handle_message(structured)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Hand a change on without making it in the workspace of pygls."""
        self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE](params)


class Server(LanguageServer):
    """One client's documents and their analyses."""

    def __init__(self) -> None:
        super().__init__("devlint", __version__, protocol_cls=_Protocol)
        self.options = Options()
        self.documents = Documents()
        self.analyses = Analyses(self.documents, lambda path: self.options.settings(path, self.root), self)
        self.root: Path | None = None
        self.project = ProjectCheck(self._run_of_project, self)
        self._published: Mapping[str, list[types.Diagnostic]] = {}
        self._complaint = ""
        self._notes = {""}

    # --- what the client can do -----------------------------------------------------------------------------

    @property
    def pulls(self) -> bool:
        """Whether the client asks for diagnostics; then they are not sent unasked, which would show them twice."""
        documents = self.client_capabilities.text_document
        return documents is not None and documents.diagnostic is not None

    @property
    def edits_versions(self) -> bool:
        """Whether the client makes edits that are meant for one version of a document."""
        workspace = self.client_capabilities.workspace
        edit = None if workspace is None else workspace.workspace_edit
        return edit is not None and bool(edit.document_changes)

    @property
    def codec(self) -> PositionCodec:
        """Counts columns as the client does."""
        return PositionCodec(self.workspace.position_encoding)

    # --- analyses -------------------------------------------------------------------------------------------

    def texts(self, analysis: Analysis) -> Texts:
        """Return the texts of an analysis beside those that there are now."""
        return Texts(analysis.findings.basis.reads, analysis.documents, self.documents, self.codec)

    def analysed(self, path: Path, analysis: Analysis, *, is_news: bool) -> None:
        """Send the diagnostics of a document, or have the client ask for the new ones."""
        self._complaint = ""
        workspace, failure = self.client_capabilities.workspace, analysis.findings.result.traceback
        batch = analysis.findings.basis.batch
        if batch is not None and batch.alone not in self._notes:
            self._notes.add(batch.alone)
            self._say(types.MessageType.Info, batch.alone)
        if is_news and failure:
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, printable_lines(failure)))
        if not self.pulls:
            self._publish(path, analysis)
        elif is_news:
            self._refresh()
        if is_news and workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    def shown(self, path: Path, analysis: Analysis) -> list[types.Diagnostic]:
        """Return the diagnostics of a document, with those that the saved callers of its functions show."""
        own = answers.diagnostics(analysis.findings, self.texts(analysis))
        document = self.documents.get(path)
        if document is None:
            return own
        return own + shown_by_callers(self.project.findings, document, display_path(path), self.codec)

    def _publish(self, path: Path, analysis: Analysis) -> None:
        document = self.documents[path]
        found = self.shown(path, analysis)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, found, document.version))

    def _refresh(self) -> None:
        """Have the client ask for the diagnostics of its documents, if it can."""
        workspace = self.client_capabilities.workspace
        if workspace and workspace.diagnostics and workspace.diagnostics.refresh_support:
            self.workspace_diagnostic_refresh(None)

    def failed(self, error: DevlintError) -> None:
        """Show an error to the user, the same one once only until something has worked."""
        if str(error) != self._complaint:
            self._complaint = str(error)
            self._say(types.MessageType.Error, str(error))

    def _say(self, kind: types.MessageType, text: str) -> None:
        self.window_show_message(types.ShowMessageParams(kind, printable(f"devlint: {text}")))

    def warn_of_options(self) -> None:
        """Show the user which settings of the editor are ignored."""
        for problem in self.options.problems:
            self._say(types.MessageType.Warning, f"{problem}; devlint ignores it")
        if self.options.remark:
            self._say(types.MessageType.Info, self.options.remark)

    def withdraw(self, uri: str) -> None:
        """Take the diagnostics of a document away; those of the saved file take their place."""
        if not self.pulls:
            saved = self._published.get(uri_of(str(path_of(uri))), [])
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, saved))

    # --- the project ----------------------------------------------------------------------------------------

    def check_project(self) -> None:
        """Look at all files of the project again, if the client wants their diagnostics."""
        if self.options.mode == "workspace" and self.root is not None:
            self.project.check()

    def _run_of_project(self) -> Settings:
        return replace(self.options.settings(self.root or Path.cwd(), self.root), jobs=1)

    def checked(self) -> None:
        """Send the diagnostics of files, unless the client asks for them; of open ones, those that callers show."""
        found = reports(self.project.findings, self.codec)
        before, self._published = self._published, found
        for uri in sorted(() if self.pulls else {*before, *found} - self._open()):
            if before.get(uri) != found.get(uri):
                params = types.PublishDiagnosticsParams(uri, found.get(uri, []))
                self.text_document_publish_diagnostics(params)
        changed = [path for path in self.documents for uri in [uri_of(str(path))] if before.get(uri) != found.get(uri)]
        if changed and self.pulls:
            self._refresh()
        for path in () if self.pulls else changed:
            analysis = self.analyses.finished(path)
            if analysis is not None:
                self._publish(path, analysis)

    async def project_news(self, known: Mapping[str, str]) -> list[Report]:
        """Return the reports of the project; wait for other ones, if the client has these."""
        await self.project.first()
        while True:
            rows = news(self._published, known, self._open())
            is_news = any(isinstance(row, types.WorkspaceFullDocumentDiagnosticReport) for row in rows)
            if is_news or not known:
                return rows
            await self.project.changed()

    def _open(self) -> set[str]:
        return {uri_of(str(path)) for path in self.documents}


def make_server() -> Server:
    """Return a server with everything it can do."""
    server = Server()
    _hear(server)
    _answer(server)
    return server


def _hear(server: Server) -> None:
    """Let a server heed what the client tells it. Functions that do not wait are called in the order of the events."""

    @server.feature(types.INITIALIZE)
    def initialize(ls: Server, params: types.InitializeParams) -> None:
        ls.options = read_options(params.initialization_options, is_own=True)
        root = None if params.root_uri is None else uris.to_fs_path(params.root_uri)
        if root is not None:
            ls.root = Path(root)
            with contextlib.suppress(OSError):
                os.chdir(root)  # paths in messages are relative to it
            if ls.options.mode == "workspace":
                _answer_for_the_project(ls)

    @server.feature(types.INITIALIZED)
    def initialized(ls: Server, params: types.InitializedParams) -> None:
        ls.warn_of_options()
        ls.check_project()
        workspace = ls.client_capabilities.workspace
        watching = None if workspace is None else workspace.did_change_watched_files
        if watching is not None and watching.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_WATCHED)])
            registration = types.Registration("devlint", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            ls.client_register_capability(types.RegistrationParams([registration]))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_files(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
        ls.analyses.check()
        ls.check_project()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configure(ls: Server, params: types.DidChangeConfigurationParams) -> None:
        ls.options = read_options(params.settings)
        ls.warn_of_options()
        ls.analyses.restart()
        ls.check_project()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
        given = params.text_document
        ls.analyses.opened(ls.documents.put(Document(given.uri, given.version, given.text)))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
        given = params.text_document
        before = ls.documents[path_of(given.uri)]
        ls.analyses.changed(ls.documents.put(before.edited(given.version, params.content_changes, ls.codec)))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
        ls.analyses.check()
        ls.check_project()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        ls.analyses.closed(ls.documents.close(uri))
        ls.withdraw(uri)


def _answer_for_the_project(server: Server) -> None:
    """Let a server answer for files that are not open; without this answer it says that it cannot."""

    @server.feature(types.WORKSPACE_DIAGNOSTIC)
    async def diagnostic(ls: Server, params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        known = {one.uri: one.value for one in params.previous_result_ids}
        return types.WorkspaceDiagnosticReport(await ls.project_news(known))


def _answer(server: Server) -> None:
    """Let a server answer what the client asks."""

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, _PULL)
    async def diagnostic(ls: Server, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        analysis = await ls.analyses.newest(path_of(params.text_document.uri))
        found = [] if analysis is None else ls.shown(path_of(params.text_document.uri), analysis)
        return types.RelatedFullDocumentDiagnosticReport(found)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
        path = path_of(params.text_document.uri)
        asked = ls.documents.get(path)
        analysis = await ls.analyses.parsed(path)
        if analysis is None or ls.documents.get(path) is not asked:
            return None  # the position is one of an older text
        return answers.hover(analysis.findings, ls.texts(analysis), params.position)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay_hints(ls: Server, params: types.InlayHintParams) -> list[types.InlayHint]:
        if ls.options.inlay_hints == "off":
            return []
        analysis = await ls.analyses.parsed(path_of(params.text_document.uri))
        return [] if analysis is None else list(answers.hints(analysis.findings, ls.texts(analysis), params.range))

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, answers.FIX_ALL]),
    )
    async def code_actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
        only = params.context.only
        wants_quick = only is None or any(kind in ("", types.CodeActionKind.QuickFix) for kind in only)
        wants_all = any(kind and f"{answers.FIX_ALL}.".startswith(f"{kind}.") for kind in only or ())
        if not (wants_quick or wants_all):
            return []
        path = path_of(params.text_document.uri)
        analysis = await ls.analyses.last(path)
        if analysis is None:
            return []
        file, texts, versioned = display_path(path), ls.texts(analysis), ls.edits_versions
        found: list[types.CodeAction] = []
        if wants_quick:
            found += answers.actions(analysis.findings, texts, file, params.range, versioned=versioned)
        every = answers.fix_all(analysis.findings, texts, file, versioned=versioned) if wants_all else None
        return found if every is None else [*found, every]


def serve() -> None:
    """Serve one client over standard input and output until it says `exit`, or ends."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # a client that reads no errors would block the server
    make_server().start_io()
