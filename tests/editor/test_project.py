"""`devlint server` reports on files that are not open, if a client wants that."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.editor.client import Client, converse, wait_for
from tests.editor.test_server import MENDED, PROGRAM
from tests.sources.notebooks import notebook

pytest.importorskip("lsprotocol", reason="pygls is not installed")

from lsprotocol import types

WHOLE = {"diagnosticMode": "workspace"}
PULLING = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
)
ADDS = "import torch\n\n\ndef add(x: torch.Tensor):\n    return x + torch.zeros(3)\n"
ON_CPU = "\n\ndef main(batch):\n    add(batch.cpu())\n\n\nif __name__ == '__main__':\n    main(0)\n"
WATCHING = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
    )
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.devlint]\nselect = ["DEV1"]\n')
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a é.py").write_text(PROGRAM.replace("a + b", 'f"😀{a + b}"'), encoding="utf-8")
    (tmp_path / "clean.py").write_text(MENDED)
    (tmp_path / "book.ipynb").write_text("{}")
    return tmp_path


async def _published(client: Client) -> tuple[str, list[types.Diagnostic]]:
    found = await wait_for(client.published.get())
    return found.uri, list(found.diagnostics)


def _saved(client: Client, name: str) -> None:
    document = types.TextDocumentIdentifier(client.uri(name))
    client.text_document_did_save(types.DidSaveTextDocumentParams(document))


def test_a_file_that_nobody_has_opened_is_reported(project: Path) -> None:
    async def talk(client: Client) -> None:
        uri, (found,) = await _published(client)
        assert uri == client.uri("package/a é.py")
        assert (found.code, found.source) == ("DEV101", "devlint")
        assert found.range == types.Range(types.Position(4, 11), types.Position(4, 16))  # an emoji has two units
        assert [one.location.range.start.line for one in found.related_information or ()] == [2, 3, 3]

    converse(project, talk, options=WHOLE)


def test_a_notebook_is_reported_on_the_lines_of_its_file(tmp_path: Path) -> None:
    first, last = PROGRAM.split("b = ")
    (tmp_path / "book.ipynb").write_text(notebook(first, f"b = {last}"))
    written = (tmp_path / "book.ipynb").read_text().split("\n")
    row = next(number for number, line in enumerate(written) if "a + b" in line)

    async def talk(client: Client) -> None:
        uri, (found,) = await _published(client)
        assert uri == client.uri("book.ipynb")
        assert found.message.startswith("cell 2, line 2: `a` is on cpu")
        assert found.range == types.Range(types.Position(row, 0), types.Position(row + 1, 0))

    converse(tmp_path, talk, options={**WHOLE, "select": ["DEV1"]})


def test_by_default_only_open_documents_are_reported(project: Path) -> None:
    async def talk(client: Client) -> None:
        client.open("clean.py", PROGRAM)
        assert [found.code for found in await client.diagnostics()] == ["DEV101"]
        _saved(client, "clean.py")
        await asyncio.sleep(1)
        assert client.published.empty()

    converse(project, talk)


def test_an_open_document_stands_for_its_file_until_it_is_closed(project: Path) -> None:
    name = "package/a é.py"

    async def talk(client: Client) -> None:
        _, saved = await _published(client)
        client.open(name, MENDED)
        assert await client.report(name, 1) == []
        client.close(name)
        assert await _published(client) == (client.uri(name), saved)

    converse(project, talk, options=WHOLE)


def test_what_is_saved_changes_the_reports_of_other_files(project: Path) -> None:
    (project / "made.py").write_text("import torch\ntable = torch.ones(2)\n")
    (project / "used.py").write_text(
        'import torch\nfrom made import table\nprint(table + torch.ones(2, device="cuda:0"))\n'
    )
    better = 'import torch\ntable = torch.ones(2, device="cuda:0")\n'

    async def talk(client: Client) -> None:
        assert {(await _published(client))[0] for _ in range(2)} == {
            client.uri("package/a é.py"),
            client.uri("used.py"),
        }
        client.open("made.py", better)
        assert await client.report("made.py", 1) == []
        (project / "made.py").write_text(better)
        _saved(client, "made.py")
        assert await _published(client) == (client.uri("used.py"), [])

    converse(project, talk, options=WHOLE)


def test_an_open_document_has_the_reports_that_its_callers_show(tmp_path: Path) -> None:
    called = "import torch\n\n\ndef shifted(x):\n    return x + torch.arange(3)\n"
    (tmp_path / "pyproject.toml").write_text('[tool.devlint]\nselect = ["DEV1"]\n')
    (tmp_path / "called.py").write_text(called)
    (tmp_path / "calls.py").write_text(
        "import torch\nfrom called import shifted\n\nshifted(torch.ones(3, device='cuda:0'))\n"
    )

    async def talk(client: Client) -> None:
        uri, saved = await _published(client)
        assert (uri, [one.code for one in saved]) == (client.uri("called.py"), ["DEV101"])
        client.open("called.py", called)
        assert await client.report("called.py", 1) == saved
        client.change("called.py", f"# a line more\n{called}")
        assert await client.report("called.py", 2) == []

    converse(tmp_path, talk, options=WHOLE)


def test_a_change_on_the_disk_is_noticed_by_a_client_that_watches(project: Path) -> None:
    async def talk(client: Client) -> None:
        await _published(client)
        (project / "package" / "a é.py").write_text(MENDED)
        change = types.FileEvent(client.uri("package/a é.py"), types.FileChangeType.Changed)
        client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
        assert await _published(client) == (client.uri("package/a é.py"), [])
        assert client.registered == [types.WORKSPACE_DID_CHANGE_WATCHED_FILES]

    converse(project, talk, options=WHOLE, capabilities=WATCHING)


def test_a_client_may_ask_for_the_whole_workspace(project: Path) -> None:
    async def pull(client: Client, known: dict[str, str]) -> list[object]:
        previous = [types.PreviousResultId(uri, value) for uri, value in known.items()]
        report = await wait_for(client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(previous)))
        return list(report.items)

    async def talk(client: Client) -> None:
        bad = client.uri("package/a é.py")
        (first,) = await pull(client, {})
        assert isinstance(first, types.WorkspaceFullDocumentDiagnosticReport)
        assert (first.uri, [one.code for one in first.items]) == (bad, ["DEV101"])
        assert first.result_id is not None

        waiting = asyncio.ensure_future(pull(client, {bad: first.result_id}))
        await asyncio.sleep(1)
        assert not waiting.done()
        (project / "clean.py").write_text(PROGRAM)
        _saved(client, "clean.py")
        unchanged, new = sorted(await waiting, key=lambda one: type(one).__name__, reverse=True)
        assert isinstance(unchanged, types.WorkspaceUnchangedDocumentDiagnosticReport)
        assert (unchanged.uri, unchanged.result_id) == (bad, first.result_id)
        assert isinstance(new, types.WorkspaceFullDocumentDiagnosticReport)
        assert (new.uri, [one.code for one in new.items]) == (client.uri("clean.py"), ["DEV101"])

        client.open("clean.py", PROGRAM)  # the client asks for the diagnostics of an open document by itself
        (project / "package" / "a é.py").write_text(MENDED)
        _saved(client, "clean.py")
        (gone,) = await pull(client, {bad: first.result_id})
        assert isinstance(gone, types.WorkspaceFullDocumentDiagnosticReport)
        assert (gone.uri, list(gone.items)) == (bad, [])
        assert client.published.empty()

    converse(project, talk, options=WHOLE, capabilities=PULLING)


@pytest.mark.parametrize("options", [None, WHOLE])
def test_a_server_says_whether_it_answers_for_the_workspace(project: Path, options: object) -> None:
    async def talk(client: Client) -> None:
        assert client.server_capabilities.diagnostic_provider is not None
        assert client.server_capabilities.diagnostic_provider.workspace_diagnostics is (options is not None)

    converse(project, talk, options=options, capabilities=PULLING)


def test_a_wrong_configuration_is_shown_and_the_run_goes_on_once_it_is_mended(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.devlint]\nselect = ["DEV1", "nonsense"]\n')

    async def talk(client: Client) -> None:
        client.open("clean.py", MENDED)
        while not client.messages:
            await asyncio.sleep(0.05)
        assert 'unknown rule "nonsense"' in client.messages[0]
        (project / "pyproject.toml").write_text('[tool.devlint]\nselect = ["DEV1"]\n')
        _saved(client, "clean.py")
        found = [await _published(client) for _ in range(2)]
        assert sorted((uri, len(diagnostics)) for uri, diagnostics in found) == [
            (client.uri("clean.py"), 0),
            (client.uri("package/a é.py"), 1),
        ]

    converse(project, talk, options=WHOLE)


def test_the_folder_that_is_opened_is_the_project_of_a_document(tmp_path: Path) -> None:
    files = {"models/net.py": ADDS, "tools/run.py": f"from models.net import add\n{ON_CPU}"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)

    async def talk(client: Client) -> None:
        client.open("models/net.py", ADDS)
        assert await client.diagnostics() == []
        assert client.messages == []

    converse(tmp_path, talk)


def test_a_limit_on_the_project_of_documents_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))

    async def talk(client: Client) -> None:
        client.open("net.py", ADDS)
        assert [found.code for found in await client.diagnostics()] == ["DEV103"]
        client.change("net.py", f"{ADDS}\n")
        assert len(await client.report("net.py", 2)) == 1
        assert [text for text in client.messages if "nothing marks the folder" in text] == client.messages
        assert len(client.messages) == 1

    converse(tmp_path, talk)
