"""A language client over the standard streams of a server in a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="pygls is not installed")

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.conftest import REPOSITORY

LONGEST = 60.0
"""Seconds to wait for anything; a test that waits so long has failed."""

ROOTS = ("linter", "rules", "runtime_guard")


def environment() -> dict[str, str]:
    """The environment in which `python -m devlint` is this checkout's."""
    path = os.pathsep.join([*(str(REPOSITORY / root) for root in ROOTS), *filter(None, sys.path)])
    return {**os.environ, "PYTHONPATH": path}


class Client(LanguageClient):
    """Speaks for an editor; keeps what the server says unasked."""

    def __init__(self, root: Path) -> None:
        super().__init__("tests", "1")
        self.root = root
        self.published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.messages: list[str] = []
        self.logs: list[str] = []
        self.refreshed: list[str] = []
        self.registered: list[str] = []
        self.server_capabilities = types.ServerCapabilities()
        self._versions: dict[str, int] = {}

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

        @self.feature(types.WINDOW_SHOW_MESSAGE)  # type: ignore[untyped-decorator]
        def message(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @self.feature(types.WINDOW_LOG_MESSAGE)  # type: ignore[untyped-decorator]
        def log(params: types.LogMessageParams) -> None:
            self.logs.append(params.message)

        @self.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)  # type: ignore[untyped-decorator]
        def refresh_diagnostics(params: None) -> None:
            self.refreshed.append("diagnostics")

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)  # type: ignore[untyped-decorator]
        def register(params: types.RegistrationParams) -> None:
            self.registered += [one.method for one in params.registrations]

        @self.feature(types.WORKSPACE_INLAY_HINT_REFRESH)  # type: ignore[untyped-decorator]
        def refresh_hints(params: None) -> None:
            self.refreshed.append("hints")

    async def begin(self, capabilities: types.ClientCapabilities, options: object) -> types.InitializeResult:
        """Start the server and shake hands."""
        await self.start_io(sys.executable, "-m", "devlint", "server", env=environment(), cwd=self.root)
        result = await self.initialize_async(
            types.InitializeParams(
                capabilities, root_uri=self.root.as_uri(), initialization_options=options, process_id=os.getpid()
            )
        )
        self.server_capabilities = result.capabilities
        self.initialized(types.InitializedParams())
        return result

    async def end(self) -> int | None:
        """Say good-bye; the exit code of the server."""
        await asyncio.wait_for(self.shutdown_async(None), LONGEST)
        self.exit(None)
        code = None if self.process is None else await asyncio.wait_for(self.process.wait(), LONGEST)
        await self.stop()  # type: ignore[no-untyped-call]
        return code

    @property
    def process(self) -> asyncio.subprocess.Process | None:
        """The process of the server."""
        return self._server

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def open(self, name: str, text: str) -> types.TextDocumentIdentifier:
        """Open a document, which need not be on the disk."""
        uri = self.uri(name)
        self._versions[uri] = 1
        self.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text)))
        return types.TextDocumentIdentifier(uri)

    def change(self, name: str, text: str) -> int:
        """Replace the text of a document; return its new version."""
        return self.edit(name, types.TextDocumentContentChangeWholeDocument(text))

    def edit(self, name: str, *changes: types.TextDocumentContentChangeEvent) -> int:
        """Make changes in a document; return its new version."""
        uri = self.uri(name)
        self._versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, changes))
        return self._versions[uri]

    def close(self, name: str) -> None:
        """Close a document."""
        document = types.TextDocumentIdentifier(self.uri(name))
        self.text_document_did_close(types.DidCloseTextDocumentParams(document))

    async def report(self, name: str, version: int) -> list[types.Diagnostic]:
        """Wait for the diagnostics of one version of a document, whatever else is published before."""
        while True:
            published = await asyncio.wait_for(self.published.get(), LONGEST)
            if (published.uri, published.version) == (self.uri(name), version):
                return list(published.diagnostics)

    async def diagnostics(self) -> list[types.Diagnostic]:
        """Wait for the next diagnostics that the server publishes."""
        return list((await asyncio.wait_for(self.published.get(), LONGEST)).diagnostics)


def converse(
    root: Path,
    talk: Callable[[Client], Awaitable[None]],
    *,
    capabilities: types.ClientCapabilities | None = None,
    options: object = None,
    longest: float = 3 * LONGEST,
    ends: bool = True,
) -> None:
    """Start a server in a folder, talk to it, end it; it must end well, unless `ends` says that the talk ends it."""

    async def whole() -> None:
        client = Client(root)
        try:
            await client.begin(capabilities or types.ClientCapabilities(), options)
            await talk(client)
            if ends:
                assert await client.end() == 0
        finally:
            if client.process is not None and client.process.returncode is None:
                client.process.kill()

    asyncio.run(asyncio.wait_for(whole(), longest))


def wait_for(awaitable: Awaitable[Any]) -> Awaitable[Any]:
    """The answer to a question, or an error after a while."""
    return asyncio.wait_for(awaitable, LONGEST)
