"""Requests that no editor should send: each gets one answer, and the server answers the next one."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.editor.client import LONGEST, Client, converse, environment, wait_for

pytest.importorskip("lsprotocol", reason="pygls is not installed")

from lsprotocol import types
from pygls.exceptions import JsonRpcException

PROGRAM = "import torch\n\na = torch.ones(2)\nprint(a + torch.ones(2, device='cuda:0'))\n"

METHODS = (
    types.TEXT_DOCUMENT_DIAGNOSTIC,
    types.TEXT_DOCUMENT_HOVER,
    types.TEXT_DOCUMENT_INLAY_HINT,
    types.TEXT_DOCUMENT_CODE_ACTION,
    types.WORKSPACE_DIAGNOSTIC,
    types.TEXT_DOCUMENT_COMPLETION,
    types.INITIALIZE,
    "devlint/nothing",
)
"""What the server answers, what it says it cannot, and what nobody knows."""

ODD_ADDRESSES = ("file:///dev/zero", "file:///dev/stdin", "http://x/y.py", "untitled:U-1", "", "file:///%00%ff", "::[")


def _asked(uri: object, line: object = 3, character: object = 6, **changed: object) -> dict[str, object]:
    """Parameters that have everything that one of the methods asks for."""
    position = {"line": line, "character": character}
    given: dict[str, object] = {
        "textDocument": {"uri": uri},
        "position": position,
        "range": {"start": position, "end": position},
        "context": {"diagnostics": []},
        "previousResultIds": [],
    }
    return {**given, **changed}


def _hostile(root: Path) -> list[object]:
    """Wrong types, wrong numbers, and documents that are none; some of the addresses are open, and some are not."""
    good = (root / "a.py").as_uri()
    addresses: list[object] = [*ODD_ADDRESSES, "file:///dev/full", root.as_uri(), f"{good}x", None, 5, []]
    places = [-1, 2**31 - 1, 2**31, 10**30, 1.5, "1", None, [1], True]
    return [
        *(None, [], {}, "x", 5, True, [None], {"textDocument": None}),
        *(_asked(good, line=place) for place in places),
        *(_asked(good, character=place) for place in places),
        *(_asked(uri) for uri in addresses),
        *(_asked(good, context=context) for context in (None, {}, {"diagnostics": [None]}, {"diagnostics": 1})),
        _asked(good, range={"start": {"line": 9, "character": 0}, "end": {"line": 0, "character": 0}}),
        _asked(good, previousResultIds=[None]),
        _asked(good, more={"jsonrpc": "2.0", "id": 1, "method": types.SHUTDOWN}),
    ]


@pytest.mark.parametrize("options", [{}, {"diagnosticMode": "workspace"}], ids=str)
def test_each_request_gets_one_answer(tmp_path: Path, options: dict[str, str]) -> None:
    (tmp_path / "pyproject.toml").touch()

    async def talk(client: Client) -> None:
        answers: list[object] = []
        failed: set[object] = set()
        heard = pytest.MonkeyPatch()
        heard.setattr(client.protocol, "_handle_response", _noting(answers, failed))
        client.open("a.py", PROGRAM)
        for uri in ODD_ADDRESSES:
            document = {"uri": uri, "languageId": "python", "version": 1, "text": PROGRAM}
            _send(client, method=types.TEXT_DOCUMENT_DID_OPEN, params={"textDocument": document})
        asked = {f"{method} {params}": (method, params) for method in METHODS for params in _hostile(tmp_path)}
        for name, (method, params) in asked.items():
            _send(client, id=name, method=method, params=params)
        for number, method in enumerate(METHODS):
            _send(client, id=number, method=method)
            _send(client, method=method, params=None)
        end = asyncio.get_running_loop().time() + LONGEST
        while len(answers) < len(asked) + len(METHODS) and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.05)
        assert sorted(map(str, answers)) == sorted([*asked, *map(str, range(len(METHODS)))])
        assert {f"{method} None" for method in METHODS} <= failed
        assert f"{types.TEXT_DOCUMENT_HOVER} {_asked(client.uri('a.py'), line=-1)}" in failed
        heard.undo()
        question = types.HoverParams(types.TextDocumentIdentifier(client.uri("a.py")), types.Position(3, 6))
        found = await wait_for(client.text_document_hover_async(question))
        assert "on **cpu**" in found.contents.value

    converse(tmp_path, talk, options=options)


def test_a_request_too_early_or_too_late_gets_an_answer(tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        await client.start_io(sys.executable, "-m", "devlint", "server", env=environment(), cwd=tmp_path)
        question = types.HoverParams(types.TextDocumentIdentifier(client.uri("a.py")), types.Position(3, 6))
        assert await wait_for(client.text_document_hover_async(question)) is None
        await wait_for(client.initialize_async(types.InitializeParams(types.ClientCapabilities())))
        assert await wait_for(client.text_document_hover_async(question)) is None
        await wait_for(client.shutdown_async(None))
        with pytest.raises(JsonRpcException):
            await wait_for(client.text_document_hover_async(question))
        client.exit(None)
        assert client.process is not None
        assert await wait_for(client.process.wait()) == 0
        await client.stop()  # type: ignore[no-untyped-call]

    asyncio.run(talk(Client(tmp_path)))


def _send(client: Client, **message: object) -> None:
    """Send a message as it is, which a client that keeps the protocol could not make."""
    client.protocol._send_data({"jsonrpc": "2.0", **message})


def _noting(answers: list[object], failed: set[object]) -> Any:
    def note(message: object, result: object = None, error: object = None) -> None:
        answers.append(message)
        if error is not None:
            failed.add(message)

    return note
