"""`devlint server` answers a real language client over standard input and output."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.editor.client import Client, converse, wait_for

pytest.importorskip("lsprotocol", reason="pygls is not installed")

from lsprotocol import types

PROGRAM = """\
import torch

a = torch.ones(2)
b = torch.ones(2, device="cuda:0")
print(a + b)
"""
MENDED = PROGRAM.replace('"cuda:0"', '"cpu"')


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.devlint]\nselect = ["DEV1", "DEV203"]\n')
    return tmp_path


def _position(text: str, needle: str, inside: int = 0) -> types.Position:
    """Where a stretch of a text begins, in UTF-16 units."""
    before = text[: text.index(needle) + inside]
    line = before.rpartition("\n")[2]
    return types.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)


def test_what_is_typed_is_reported_though_nothing_is_saved(project: Path) -> None:
    async def talk(client: Client) -> None:
        client.open("a.py", PROGRAM)
        (found,) = await client.diagnostics()
        client.change("a.py", MENDED)
        assert await client.diagnostics() == []
        client.change("a.py", PROGRAM)
        assert [again.code for again in await client.diagnostics()] == ["DEV101"]

        assert (found.code, found.severity, found.source) == ("DEV101", types.DiagnosticSeverity.Error, "devlint")
        assert found.range == types.Range(types.Position(4, 6), types.Position(4, 11))
        assert found.message.splitlines()[0] == "`a` is on cpu and `b` on cuda:0: `+` needs both on the same device"
        assert "\nPyTorch says: Expected all tensors" in found.message
        assert found.code_description is not None
        page = Path(unquote(urlsplit(found.code_description.href).path))
        assert page.read_text().startswith("# DEV101: mixed-device-operands\n\n## What it does\n")
        assert [(each.location.uri, each.location.range.start.line) for each in found.related_information or ()] == [
            (client.uri("a.py"), 2),
            (client.uri("a.py"), 3),
            (client.uri("a.py"), 3),
        ]
        assert [each.message.partition(":")[0] for each in found.related_information or ()] == ["`a`", "`b`", "`b`"]
        client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(client.uri("a.py")))
        )
        assert await client.diagnostics() == []

    converse(project, talk)


def test_fast_typing_is_waited_for(project: Path) -> None:
    async def talk(client: Client) -> None:
        client.open("a.py", MENDED)
        assert await client.diagnostics() == []
        for length in range(20):
            client.change("a.py", MENDED + "#" * length)
        client.change("a.py", PROGRAM)
        assert [found.code for found in await client.diagnostics()] == ["DEV101"]
        await asyncio.sleep(0.5)
        assert client.published.empty()

    converse(project, talk)


def test_an_import_is_what_its_own_document_says_now(project: Path) -> None:
    (project / "made.py").write_text("import torch\ntable = torch.ones(2)\n")
    used = 'import torch\nfrom made import table\nprint(table + torch.ones(2, device="cuda:0"))\n'

    async def talk(client: Client) -> None:
        client.open("used.py", used)
        (found,) = await client.diagnostics()
        first = (found.related_information or [])[0].location
        assert (first.uri, first.range.start.line) == (client.uri("made.py"), 1)

        client.open("made.py", 'import torch\ntable = torch.ones(2, device="cuda:0")\n')
        both = [await wait_for(client.published.get()) for _ in range(2)]
        assert {report.uri: list(report.diagnostics) for report in both} == {
            client.uri("made.py"): [],
            client.uri("used.py"): [],
        }

    converse(project, talk)


def test_a_client_may_ask_for_diagnostics_itself(project: Path) -> None:
    asking = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
    )

    async def talk(client: Client) -> None:
        document = client.open("a.py", PROGRAM)
        report = await wait_for(client.text_document_diagnostic_async(types.DocumentDiagnosticParams(document)))
        assert [found.code for found in report.items] == ["DEV101"]
        assert client.published.empty()

    converse(project, talk, capabilities=asking)


async def _hover_tells_the_device_and_why(client: Client) -> None:
    text = 'import torch\n\nx = torch.ones(2)\nname = "😀"; y = x.to("cuda:0")\nprint(name, y)\n'
    document = client.open("hovered.py", text)

    async def hover(needle: str, inside: int = 0) -> types.Hover | None:
        where = _position(text, needle, inside)
        found: types.Hover | None = await wait_for(client.text_document_hover_async(types.HoverParams(document, where)))
        return found

    told = await hover("y = x")
    assert told is not None
    assert isinstance(told.contents, types.MarkupContent)
    assert told.contents.value == (
        "`y`: tensor on **cuda:0**\n\n"
        f"* the device `cuda:0` comes from here, [line 4]({client.uri('hovered.py')}#L4)\n"
        f"* moved to cuda:0 by `.to()`, [line 4]({client.uri('hovered.py')}#L4)"
    )
    assert told.range == types.Range(_position(text, "y = x"), _position(text, "y = x", 1))
    before = await hover("x.to")
    assert before is not None
    assert isinstance(before.contents, types.MarkupContent)
    assert before.contents.value.startswith("`x`: tensor on **cpu**")
    assert await hover("import") is None
    await client.report("hovered.py", 1)


async def _hints(client: Client) -> list[tuple[int, int, object]]:
    """Open a document, and return its hints."""
    document = client.open("hinted.py", PROGRAM)
    whole = types.Range(types.Position(0, 0), types.Position(9, 0))
    hints = await wait_for(client.text_document_inlay_hint_async(types.InlayHintParams(document, whole)))
    await client.report("hinted.py", 1)
    return [(hint.position.line, hint.position.character, hint.label) for hint in hints or ()]


async def _hints_stand_behind_what_is_bound(client: Client) -> None:
    assert await _hints(client) == [(2, 1, ": cpu"), (3, 1, ": cuda:0")]


def test_a_client_may_turn_hints_off(project: Path) -> None:
    async def talk(client: Client) -> None:
        assert await _hints(client) == []

    converse(project, talk, options={"inlayHints": "off"})


async def _actions(
    client: Client, document: types.TextDocumentIdentifier, where: types.Range, *only: str
) -> list[types.CodeAction]:
    context = types.CodeActionContext([], only=list(only) or None)
    found = await wait_for(client.text_document_code_action_async(types.CodeActionParams(document, where, context)))
    return [action for action in found or () if isinstance(action, types.CodeAction)]


def _edited(client: Client, text: str, action: types.CodeAction, name: str) -> str:
    """The text after the edits of an action; positions are in UTF-16 units."""
    assert action.edit is not None
    assert action.edit.changes is not None
    lines = [line.encode("utf-16-le") for line in text.split("\n")]
    for edit in reversed(action.edit.changes[client.uri(name)]):
        start, end = edit.range.start, edit.range.end
        head, tail = lines[start.line][: 2 * start.character], lines[end.line][2 * end.character :]
        lines[start.line : end.line + 1] = [head + edit.new_text.encode("utf-16-le") + tail]
    return "\n".join(line.decode("utf-16-le") for line in lines)


async def _a_quick_fix_mends_and_a_comment_silences(client: Client) -> None:
    text = 'import torch\n\nx = torch.ones(2)\n"😀"; x.to("cuda:0")\nprint(x)\n'
    document = client.open("mended.py", text)
    (found,) = await client.report("mended.py", 1)
    assert found.code == "DEV203"
    fix, silence = await _actions(client, document, found.range)

    mended = _edited(client, text, fix, "mended.py")
    assert (fix.kind, fix.is_preferred) == (types.CodeActionKind.QuickFix, False)
    assert mended == text.replace('x.to("', 'x = x.to("')
    silenced = _edited(client, text, silence, "mended.py")
    assert silence.title == "DEV203: suppress on this line"
    assert silenced == text.replace('0")\n', '0")  # devlint: ignore[DEV203]\n')
    for better in (mended, silenced):
        assert await client.report("mended.py", client.change("mended.py", better)) == []
    assert await _actions(client, document, types.Range(types.Position(0, 0), types.Position(1, 0))) == []


async def _one_action_makes_all_safe_fixes(client: Client) -> None:
    """An unsafe fix is left out; a client that asks for other source actions gets none."""
    text = (
        "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:\n"
        "    return x * torch.ones(3) + y * torch.ones(2)\n\n\nz = torch.ones(2)\nz.to('cuda:0')\nprint(z)\n"
    )
    document = client.open("all.py", text)
    found = await client.report("all.py", 1)
    start = types.Range(types.Position(0, 0), types.Position(0, 0))

    assert [one.code for one in found] == ["DEV103", "DEV103", "DEV203"]
    for kind in ("source.fixAll.devlint", "source.fixAll", "source"):
        (action,) = await _actions(client, document, start, kind)
        assert action.kind == "source.fixAll.devlint"
        fixed = _edited(client, text, action, "all.py")
        assert fixed == text.replace("ones(3)", "ones(3, device=x.device)").replace(
            "y * torch.ones(2)", "y * torch.ones(2, device=y.device)"
        )
    for kind in ("source.organizeImports", "source.fixAll.other", "quickfix"):
        assert await _actions(client, document, start, kind) == []
    left = await client.report("all.py", client.change("all.py", fixed))
    assert [one.code for one in left] == ["DEV203"]
    assert await _actions(client, document, start, "source.fixAll") == []


COMMENTED = {
    "print(a + b)  # why": "print(a + b)  # why  # devlint: ignore[DEV101]",
    "print(a + b)  # devlint: ignore[DEV301]": "print(a + b)  # devlint: ignore[DEV301, DEV101]",
    "print(\n    a + b,\n)": "print(\n    a + b,\n)  # devlint: ignore[DEV101]",
    "print(a + b, '''\n''')": "print(a + b, '''\n''')  # devlint: ignore[DEV101]",
    "c = a + \\\n    b": "c = a + \\\n    b  # devlint: ignore[DEV101]",
    "for c in a + b: pass": "for c in a + b: pass  # devlint: ignore[DEV101]",
}
"""Statements with a finding, and how the comment that silences it is added."""


async def _the_comment_goes_where_it_holds(client: Client) -> None:
    for number, (statement, silenced) in enumerate(COMMENTED.items()):
        name = f"commented{number}.py"
        text = PROGRAM.replace("print(a + b)", statement)
        document = client.open(name, text)
        (found,) = await client.report(name, 1)
        (*_, silence) = await _actions(client, document, found.range)
        after = _edited(client, text, silence, name)
        assert after == text.replace(statement, silenced)
        assert await client.report(name, client.change(name, after)) == []


def test_a_server_answers_what_an_editor_asks_of_its_documents(project: Path) -> None:
    async def talk(client: Client) -> None:
        await _hover_tells_the_device_and_why(client)
        await _one_action_makes_all_safe_fixes(client)
        await _hints_stand_behind_what_is_bound(client)
        await _a_quick_fix_mends_and_a_comment_silences(client)
        await _the_comment_goes_where_it_holds(client)

    converse(project, talk)


def test_a_retired_rule_is_one_message_and_no_error(project: Path) -> None:
    async def talk(client: Client) -> None:
        client.open("a.py", MENDED)
        assert await client.diagnostics() == []
        note = 'in a later version, DEV114 becomes a part of DEV103, at the level "possible"'
        assert client.messages == [f"devlint: A retired rule reports nothing; {note}"]

    converse(project, talk, options={"select": ["DEV114", "DEV101"], "ignore": ["cpu-tensor-beside-unplaced-value"]})


def test_a_misspelled_setting_is_shown(project: Path) -> None:
    async def talk(client: Client) -> None:
        client.open("a.py", MENDED)
        assert await client.diagnostics() == []
        assert client.messages == [
            'devlint: unknown setting "selct"; did you mean "select"?; devlint ignores it',
            'devlint: setting "diagnosticMode": "openFilesOnly" or "workspace", not "workspce"; devlint ignores it',
            'devlint: setting "ignore": a list of rules, not "DEV1"; devlint ignores it',
        ]
        client.messages.clear()
        settings = {"python": {"selct": 1}, "devlint": {"inlayHints": "of"}}
        client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
        while not client.messages:
            await asyncio.sleep(0.05)
        assert client.messages == ['devlint: setting "inlayHints": "bindings" or "off", not "of"; devlint ignores it']
        client.messages.clear()
        settings = {"devlint": {"extendSelect": ["DEV1O1"]}}
        client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
        while not client.messages:
            await asyncio.sleep(0.05)
        assert client.messages[0].startswith('devlint: extendSelect: unknown rule "DEV1O1"; did you mean DEV101')

    options = {"diagnosticMode": "workspce", "selct": ["DEV1"], "ignore": "DEV1", "inlayHints": "off"}
    converse(project, talk, options=options)


def test_nothing_ends_the_server(project: Path) -> None:
    async def talk(client: Client) -> None:
        document = client.open("a.py", "import torch\nx = (\n")
        assert [found.code for found in await client.diagnostics()] == ["DEV901"]
        hover = types.HoverParams(document, types.Position(500, 500))
        assert await wait_for(client.text_document_hover_async(hover)) is None

        client.change("a.py", "import torch\n" + "(" * 5000)
        assert [found.code for found in await client.diagnostics()] == ["DEV901"]
        client.change("a.py", "import torch\nx = torch.ones(1" + " + 1" * 3000 + ")\nx.cuda() + x\n")
        assert [found.code for found in await client.diagnostics()] == ["DEV903"]
        assert "Traceback" in client.logs[0]

        (project / "pyproject.toml").write_text("[tool.devlint]\nselct = []\n")
        client.change("a.py", MENDED)
        while not client.messages:
            await asyncio.sleep(0.05)
        assert "unknown key" in client.messages[0]
        (project / "pyproject.toml").write_text("")
        client.change("a.py", PROGRAM)
        assert "DEV101" in [found.code for found in await client.diagnostics()]

        asked = asyncio.ensure_future(client.text_document_hover_async(hover))
        await asyncio.sleep(0)
        asked.cancel()
        where = types.HoverParams(document, types.Position(2, 0))
        assert await wait_for(client.text_document_hover_async(where)) is not None

    converse(project, talk)


def test_settings_of_the_client_hold_as_soon_as_they_change(project: Path) -> None:
    async def talk(client: Client) -> None:
        client.open("a.py", PROGRAM)
        assert await client.diagnostics() == []
        client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"devlint": {"select": ["DEV101"]}})
        )
        assert [found.code for found in await client.diagnostics()] == ["DEV101"]

    converse(project, talk, options={"ignore": ["DEV101"]})


def test_without_pygls_it_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pygls'] = None; from devlint.cli import main; sys.argv[1:] = ['server']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == "error: the language server needs pygls: pip install 'pygls>=2,<3'\n"
