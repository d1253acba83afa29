"""`devlint init`: a first configuration and a baseline."""

from __future__ import annotations

import json

import pytest

from tests.cli.stand_in import Shell

BOTH = "import torch\nclash\nraw_cuda\n"


def test_a_project_is_clean_after_it_and_new_reports_show(shell: Shell) -> None:
    shell.write("pyproject.toml", '[project]\nname = "p"\nversion = "1"')
    shell.write("a.py", BOTH)
    shell.write("tests/test_a.py", BOTH)
    result = shell.run("init")
    assert result.exit_code == 0
    assert result.stdout == ("pyproject.toml: configures devlint\ndevlint-baseline.json: records 4 current reports\n")
    assert (shell.folder / "pyproject.toml").read_text() == (
        '[project]\nname = "p"\nversion = "1"\n\n'
        '[tool.devlint]\nbaseline = "devlint-baseline.json"\n\n'
        '[tool.devlint.per-file-ignores]\n"tests/**" = ["DEV301", "DEV302"] # tests know their machine\n'
    )
    assert shell.concise() == []
    shell.write("b.py", "import torch\nclash\n")
    assert shell.concise() == ["b.py:2:1: DEV101"]


def test_without_a_project_file_it_writes_one_of_its_own(shell: Shell) -> None:
    shell.write("a.py", BOTH)
    shell.run("init")
    assert (shell.folder / "devlint.toml").read_text() == 'baseline = "devlint-baseline.json"\n'
    assert shell.concise() == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_nothing_of_the_project_file_changes(shell: Shell, end: str) -> None:
    before = f"# ä{end}[project]{end}name = 'p' # why{end}".encode()
    file = shell.write("pyproject.toml", before)
    shell.run("init")
    data = file.read_bytes()
    assert data.startswith(before)
    assert (b"\r\n" in data) is (end == "\r\n")
    assert data.count(b"\n") == data.count(end.encode())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.devlint]\n"),
        ("devlint.toml", ""),
        (".devlint.toml", 'ignore = ["DEV1"]\n'),
        ("devlint-baseline.json", json.dumps({"version": 1, "entries": []})),
    ],
)
def test_what_is_there_is_never_overwritten(shell: Shell, name: str, text: str) -> None:
    file = shell.write(name, text)
    shell.write("a.py", BOTH)
    result = shell.run("init")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {name}: ")
    assert file.read_text() == text
    assert sorted(path.name for path in shell.folder.iterdir()) == sorted([name, "a.py"])


def test_files_that_cannot_be_analysed_are_said(shell: Shell) -> None:
    shell.write("a.py", "x = (\n")
    shell.write("b.py", BOTH)
    assert shell.run("init").exit_code == 2
    assert shell.concise("b.py") == []
