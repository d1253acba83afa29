"""The server under load: typing into a large file, documents that come, change and go, and ends of all kinds."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from tests.conftest import REPOSITORY
from tests.editor.client import Client, converse, environment, wait_for

pytest.importorskip("lsprotocol", reason="pygls is not installed")

from lsprotocol import types

FUNCTION = """\
def step_{number}(x, y):
    z = torch.ones(3)
    for each in x:
        y = y + each.cuda()
        z = z * 2
    while y.sum() > 0:
        y = y - x[0]
    return z.to(y.device) + y
"""

MADE = "import torch\n\ntable = torch.ones(2)\n"
USED = 'import torch\nfrom made import table\n\nprint(table + torch.ones(2, device="cuda:0"))\n'


STATEMENT = 'value = torch.ones(2) + torch.ones(2, device="cuda:0")'
"""Typed letter by letter: no Python on the way, a report at the end."""


def program(functions: int) -> str:
    """A program that takes about a hundredth of a second for each function."""
    return "import torch\n\n\n" + "\n\n".join(FUNCTION.format(number=number) for number in range(functions))


async def busy(client: Client) -> psutil.Process:
    """The process that analyses, once it does."""
    before: dict[int, float] = {}
    while True:
        await asyncio.sleep(0.05)
        for process in server_of(client).children():
            spent = sum(process.cpu_times()[:2])
            if spent - before.get(process.pid, spent) > 0.015:
                return process
            before[process.pid] = spent


def runs(process: psutil.Process) -> bool:
    """Whether a process has not ended."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def server_of(client: Client) -> psutil.Process:
    """The process of the server."""
    assert client.process is not None
    return psutil.Process(client.process.pid)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.devlint]\nselect = ["DEV1", "DEV301"]\n')
    return tmp_path


def test_who_types_into_a_large_file_sees_the_reports_of_the_last_letter(project: Path) -> None:
    lines = program(40).split("\n")
    line = next(number for number in range(len(lines) // 2, len(lines)) if lines[number].startswith("def"))
    texts = ["\n".join([*lines[:line], typed, *lines[line:]]) for typed in ("", STATEMENT)]
    command = [sys.executable, "-m", "devlint", "check", "--no-cache", "--output-format", "json", "-"]
    done = subprocess.run(
        command, cwd=project, env=environment(), input=texts[1], capture_output=True, encoding="utf-8"
    )
    rows = {(found["line"], found["code"]) for found in json.loads(done.stdout)["diagnostics"]}
    assert "DEV101" in {code for _, code in rows}

    async def talk(client: Client) -> None:
        def replace(start: int, end: int, text: str) -> int:
            where = types.Range(types.Position(line, start), types.Position(line, end))
            return client.edit("large.py", types.TextDocumentContentChangePartial(where, text))

        document = client.open("large.py", texts[0])
        await client.report("large.py", 1)
        used = []
        for _ in range(3):
            hovers = []
            for column, letter in enumerate(STATEMENT):
                version = replace(column, column, letter)
                asked = types.HoverParams(document, types.Position(column * 5, 8))
                hovers.append(asyncio.ensure_future(client.text_document_hover_async(asked)))
                await asyncio.sleep(0.01)
            found = await client.report("large.py", version)
            assert {(one.range.start.line + 1, one.code) for one in found} == rows
            assert client.published.empty()
            await wait_for(asyncio.gather(*hovers))
            server = server_of(client)
            used.append(sum(one.memory_info().rss for one in [server, *server.children(recursive=True)]))
            replace(0, len(STATEMENT), "")
        assert used[-1] - used[0] < 40 * 2**20

    converse(project, talk)


async def _lines_hovered(client: Client, document: types.TextDocumentIdentifier, lines: Sequence[int]) -> list[str]:
    """The first line of what a hover says at the beginning of some lines; "" where it says nothing."""
    said = []
    for line in lines:
        found = await wait_for(client.text_document_hover_async(types.HoverParams(document, types.Position(line, 0))))
        assert found is None or found.range.start == types.Position(line, 0)
        said.append("" if found is None else found.contents.value.splitlines()[0])
    return said


def test_documents_that_change_meanwhile(project: Path) -> None:
    (project / "made.py").write_text(MADE)

    async def talk(client: Client) -> None:
        # An import that is open is what its document says: as it changes, and when it is closed unsaved.
        client.open("used.py", USED)
        assert [found.code for found in await client.report("used.py", 1)] == ["DEV101"]
        client.open("made.py", MADE)
        assert await client.report("made.py", 1) == []
        client.change("made.py", MADE.replace("ones(2)", 'ones(2, device="cuda:0")'))
        assert await client.report("used.py", 1) == []
        client.close("made.py")
        assert [found.code for found in await client.report("used.py", 1)] == ["DEV101"]
        (project / "made.py").write_text(MADE.replace("ones(2)", 'ones(2, device="cuda:0")'))
        used = types.TextDocumentIdentifier(client.uri("used.py"))
        client.text_document_did_save(types.DidSaveTextDocumentParams(used))
        assert await client.report("used.py", 1) == []
        while not client.published.empty():
            client.published.get_nowait()
        client.text_document_did_save(types.DidSaveTextDocumentParams(used))  # changes nothing

        # Lines end where the protocol says, which form feeds do not.
        text = 'import torch\n\f\na = torch.ones(2)\nb = torch.ones(2, device="cpu")\nprint(a + b)\n'
        document = client.open("a.py", text)
        assert await client.report("a.py", 1) == []
        assert client.published.empty()
        where = types.Range(types.Position(3, 27), types.Position(3, 28))
        version = client.edit("a.py", types.TextDocumentContentChangePartial(where, "c"))
        version = client.edit(
            "a.py",
            types.TextDocumentContentChangePartial(types.Range(types.Position(3, 26), types.Position(3, 29)), "cuda:0"),
        )
        (found,) = await client.report("a.py", version)
        assert (found.code, found.range.start) == ("DEV101", types.Position(4, 6))

        # A configuration file holds as soon as a document is saved.
        before = (project / "pyproject.toml").read_text()
        for configuration, expected in ((before.replace('"DEV1", ', ""), []), (before, ["DEV101"])):
            (project / "pyproject.toml").write_text(configuration)
            client.text_document_did_save(types.DidSaveTextDocumentParams(document))
            assert [found.code for found in await client.report("a.py", version)] == expected

        # While a line is typed, hovers find the others where they are now, and a syntax error changes nothing.
        assert await _lines_hovered(client, document, [2, 3]) == [
            "`a`: tensor on **cpu**",
            "`b`: tensor on **cuda:0**",
        ]
        start = types.Range(types.Position(3, 0), types.Position(3, 0))
        version = client.edit("a.py", types.TextDocumentContentChangePartial(start, "new = (\n"))
        during = ["`a`: tensor on **cpu**", "", "`b`: tensor on **cuda:0**"]
        assert await _lines_hovered(client, document, [2, 3, 4]) == during
        assert [found.code for found in await client.report("a.py", version)] == ["DEV901"]
        assert await _lines_hovered(client, document, [2, 3, 4]) == during
        where = types.Range(types.Position(3, 6), types.Position(3, 7))
        version = client.edit("a.py", types.TextDocumentContentChangePartial(where, "a"))
        assert [found.range.start.line for found in await client.report("a.py", version)] == [5]
        assert (await _lines_hovered(client, document, [3]))[0] == "`new`: tensor on **cpu**"

        # A process that dies costs one analysis.
        large = program(1_000)
        client.open("large.py", large)
        (await busy(client)).kill()
        (died,) = await client.report("large.py", 1)
        assert (died.code, "died" in died.message) == ("DEV903", True)
        version = client.change("large.py", PROGRAM_OF_ONE)
        assert [found.code for found in await client.report("large.py", version)] == ["DEV301"]

        # Closing a document takes its diagnostics away, and its analysis does not go on for long.
        client.change("large.py", large)
        working = await busy(client)
        client.close("large.py")
        assert await client.diagnostics() == []
        assert await _gone([working]) == []
        await asyncio.sleep(0.5)
        assert client.published.empty()

        # A server that is killed takes its processes along, in the middle of an analysis.
        client.open("large.py", large)
        await busy(client)
        server = server_of(client)
        family = server.children(recursive=True)
        server.kill()
        assert await _gone(family) == []

    converse(project, talk, ends=False)


PROGRAM_OF_ONE = program(1)


async def _gone(processes: Sequence[psutil.Process], within: float = 10.0) -> list[psutil.Process]:
    """Wait for processes to end; return those that have not."""
    until = time.monotonic() + within
    while any(map(runs, processes)) and time.monotonic() < until:
        await asyncio.sleep(0.05)
    return [process for process in processes if runs(process)]


EDITOR = """\
import asyncio, sys
from pathlib import Path
from lsprotocol import types
from tests.editor.client import Client
from tests.editor.test_load import busy, program

async def edit():
    client = Client(Path(sys.argv[1]))
    await client.begin(types.ClientCapabilities(), None)
    client.open("large.py", program(400))
    await busy(client)
    print("busy", flush=True)
    await asyncio.sleep(600)

asyncio.run(edit())
"""


def test_the_death_of_the_editor_ends_the_server_and_its_processes(project: Path) -> None:
    variables = environment()
    variables["PYTHONPATH"] += f"{os.pathsep}{REPOSITORY}"
    with subprocess.Popen(
        [sys.executable, "-c", EDITOR, str(project)], env=variables, stdout=subprocess.PIPE, text=True
    ) as editor:
        assert editor.stdout is not None
        assert editor.stdout.readline() == "busy\n"
        family = psutil.Process(editor.pid).children(recursive=True)
        assert len(family) >= 2
        editor.send_signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
    assert asyncio.run(_gone(family)) == []


def test_a_client_that_asks_is_told_what_to_ask_for_again(project: Path) -> None:
    (project / "made.py").write_text(MADE)
    capabilities = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities()),
        workspace=types.WorkspaceClientCapabilities(
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
            inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
        ),
    )

    async def talk(client: Client) -> None:
        async def codes(document: types.TextDocumentIdentifier) -> list[str]:
            answer = await wait_for(client.text_document_diagnostic_async(types.DocumentDiagnosticParams(document)))
            return [found.code for found in answer.items]

        used, made = client.open("used.py", USED), client.open("made.py", MADE)
        assert await codes(used) == ["DEV101"]
        assert await codes(made) == []
        client.refreshed.clear()
        client.change("made.py", MADE.replace("ones(2)", 'ones(2, device="cuda:0")'))
        asked = [asyncio.ensure_future(codes(used)) for _ in range(3)]
        assert [await one for one in asked] == [[], [], []]
        while sorted(set(client.refreshed)) != ["diagnostics", "hints"]:
            await asyncio.sleep(0.05)

        version = client.change("made.py", MADE + 'table = table.cuda()\ntable + torch.ones(2, device="cpu")\n')
        assert await codes(made) == ["DEV301", "DEV101"]
        whole = types.Range(types.Position(0, 0), types.Position(9, 0))
        actions = await wait_for(
            client.text_document_code_action_async(types.CodeActionParams(made, whole, types.CodeActionContext([])))
        )
        assert actions
        for action in actions:
            assert action.edit.changes is None
            assert [change.text_document.version for change in action.edit.document_changes] == [version]

    converse(project, talk, capabilities=capabilities)
