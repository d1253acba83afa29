"""The protocol: documents come and change, diagnostics go out, questions are answered; nothing ends the server."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec

from devlint import __version__
from devlint.editor import answers
from devlint.editor.analyses import Analyses, Analysis, Snapshot
from devlint.editor.options import Options, read_options
from devlint.editor.texts import Texts
from devlint.errors import DevlintError
from devlint.project import display_path
from devlint.quoting import printable, printable_lines

PAUSE = 0.3
"""Seconds without a change after which a document is looked at."""

_PULL = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier="devlint")


class Server(LanguageServer):
    """One client's documents and what is known of them."""

    def __init__(self) -> None:
        super().__init__("devlint", __version__)
        self.options = Options()
        self._moment = 0
        self._open: dict[Path, str] = {}
        self._pending: dict[Path, asyncio.Task[None]] = {}
        self._complaint = ""
        self.analyses = Analyses(self._snapshot, self._texts, lambda: self.options)

    # --- documents ------------------------------------------------------------------------------------------

    def opened(self, uri: str) -> None:
        """Begin to watch a document."""
        self._open[path_of(uri)] = uri
        self.changed(uri, pause=0.0)

    def changed(self, uri: str, *, pause: float = PAUSE) -> None:
        """Look at a document again once its author pauses; clients that ask for diagnostics themselves will ask."""
        self._moment += 1
        if not self._pulls:
            self._look_later(path_of(uri), pause)

    def saved(self) -> None:
        """Look at all documents again: what one of them imports may be another."""
        self._moment += 1
        if self._pulls:
            workspace = self.client_capabilities.workspace
            if workspace and workspace.diagnostics and workspace.diagnostics.refresh_support:
                self.workspace_diagnostic_refresh(None)
            return
        for path in self._open:
            self._look_later(path, 0.0)

    def closed(self, uri: str) -> None:
        """Forget a document, and take its diagnostics away."""
        path = path_of(uri)
        self._moment += 1
        self._open.pop(path, None)
        self.analyses.forget(path)
        pending = self._pending.pop(path, None)
        if pending is not None:
            pending.cancel()
        if not self._pulls:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    @property
    def _pulls(self) -> bool:
        """Whether the client asks for diagnostics; then they are not sent unasked, which would show them twice."""
        documents = self.client_capabilities.text_document
        return documents is not None and documents.diagnostic is not None

    def _snapshot(self) -> Snapshot:
        contents = {
            path: self.workspace.get_text_document(uri).source.encode("utf-8", "surrogatepass")
            for path, uri in self._open.items()
        }
        return Snapshot(self._moment, contents)

    def _texts(self, snapshot: Snapshot) -> Texts:
        return Texts(snapshot.contents, dict(self._open), PositionCodec(self.workspace.position_encoding))

    # --- looking --------------------------------------------------------------------------------------------

    def _look_later(self, path: Path, pause: float) -> None:
        before = self._pending.pop(path, None)
        if before is not None:
            before.cancel()
        self._pending[path] = asyncio.ensure_future(self._publish(path, pause))

    async def _publish(self, path: Path, pause: float) -> None:
        await asyncio.sleep(pause)
        moment, uri = self._moment, self._open[path]
        version = self.workspace.get_text_document(uri).version
        analysis = await self.of(uri)
        if analysis is not None and moment == self._moment:
            found = answers.diagnostics(analysis)
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    async def of(self, uri: str) -> Analysis | None:
        """Return the analysis of a document as it is now; None, and a word to the user, where there can be none."""
        try:
            analysis = await self.analyses.of(path_of(uri))
        except DevlintError as error:
            self._complain(types.MessageType.Error, str(error))
            return None
        except Exception as error:
            self._complain(types.MessageType.Error, f"devlint failed, this is a bug: {type(error).__name__}: {error}")
            return None
        self._complaint = ""
        if analysis.look.result.traceback:
            self.window_log_message(
                types.LogMessageParams(types.MessageType.Error, printable_lines(analysis.look.result.traceback))
            )
        return analysis

    def _complain(self, kind: types.MessageType, text: str) -> None:
        """Show a message, the same one once only until something has worked."""
        if text != self._complaint:
            self._complaint = text
            self.window_show_message(types.ShowMessageParams(kind, printable(f"devlint: {text}")))


def path_of(uri: str) -> Path:
    """Return the file that a document is; one without a file is taken for one of the working directory."""
    path = uris.to_fs_path(uri)
    return Path(os.path.abspath(path or "untitled.py"))


def make_server() -> Server:
    """Return a server with everything it can do."""
    server = Server()

    @server.feature(types.INITIALIZE)
    def initialize(ls: Server, params: types.InitializeParams) -> None:
        ls.options = read_options(params.initialization_options)
        root = None if params.root_uri is None else uris.to_fs_path(params.root_uri)
        if root is not None:
            with contextlib.suppress(OSError):
                os.chdir(root)  # paths in messages are relative to it

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configure(ls: Server, params: types.DidChangeConfigurationParams) -> None:
        ls.options = read_options(params.settings)
        ls.saved()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def did_open(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
        ls.opened(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def did_change(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
        ls.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
        ls.saved()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def did_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
        ls.closed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, _PULL)
    async def diagnostic(ls: Server, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        analysis = await ls.of(params.text_document.uri)
        return types.RelatedFullDocumentDiagnosticReport([] if analysis is None else answers.diagnostics(analysis))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
        analysis = await ls.of(params.text_document.uri)
        return None if analysis is None else answers.hover(analysis, params.position)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay_hints(ls: Server, params: types.InlayHintParams) -> list[types.InlayHint]:
        if ls.options.inlay_hints == "off":
            return []
        analysis = await ls.of(params.text_document.uri)
        return [] if analysis is None else list(answers.hints(analysis, params.range))

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    async def code_actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
        only = params.context.only
        if only is not None and not any(kind in ("", types.CodeActionKind.QuickFix) for kind in only):
            return []
        analysis = await ls.of(params.text_document.uri)
        file = display_path(path_of(params.text_document.uri))
        return [] if analysis is None else list(answers.actions(analysis, file, params.range))

    return server


def serve() -> None:
    """Serve one client over standard input and output until it says `exit`."""
    make_server().start_io()
