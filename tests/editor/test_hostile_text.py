"""Text of a document and of a configuration that somebody else wrote, in what an editor shows."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from tests.editor.client import Client, converse, wait_for

pytest.importorskip("lsprotocol", reason="pygls is not installed")

from lsprotocol import types

PROGRAM = """\
import torch

parts = {"\x1b[2J\u202e\x9b": torch.ones(2)}
b = torch.ones(2, device="cuda:0")
print(parts["\x1b[2J\u202e\x9b"] + b)
"""


def acts(text: str) -> set[str]:
    return {one for one in text if unicodedata.category(one) in ("Cc", "Cf")} - {"\n"}


def test_what_an_editor_shows_can_only_be_read(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.devlint]\nselect = ["DEV101"]\n')

    async def talk(client: Client) -> None:
        document = client.open("a.py", PROGRAM)
        (found,) = await client.diagnostics()
        assert r"\x1b[2J\u202e\x9b" in found.message
        related = found.related_information or ()
        assert acts(found.message + "".join(each.message for each in related)) == set()
        position = types.Position(4, 6)
        hover = await wait_for(client.text_document_hover_async(types.HoverParams(document, position)))
        assert acts(hover.contents.value) == set()

    converse(tmp_path, talk)


def test_a_message_of_the_server_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.devlint]\n"\\u001b[2J\\n\\u202e" = 1\n')

    async def talk(client: Client) -> None:
        client.open("a.py", PROGRAM)
        while not client.messages:
            await wait_for(
                client.text_document_hover_async(
                    types.HoverParams(types.TextDocumentIdentifier(client.uri("a.py")), types.Position(0, 0))
                )
            )
        assert r"\x1b[2J\n\u202e" in client.messages[0]
        assert acts(client.messages[0]) == set()

    converse(tmp_path, talk)
