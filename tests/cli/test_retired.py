"""What devlint has given up is accepted for one release: one note tells of it, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from devlint.cli import devlint

PROGRAM = 'import torch\n\ntorch.ones(3, device="cuda:0") + torch.ones(3)\n'
NOTE = "has no effect, and the next release refuses it: "


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(PROGRAM)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(devlint, arguments)


def _notes(result: Result) -> list[str]:
    return [line for line in result.stderr.splitlines() if line.startswith("note: ") and NOTE in line]


def test_a_retired_option_is_one_note(program: Path) -> None:
    plain = _run("check", "a.py")
    found = _run("check", "--observed", "run.json", "--observed", "other.json", "a.py")
    assert (found.exit_code, found.stdout) == (plain.exit_code, plain.stdout)
    assert _notes(found) == [f"note: `--observed` {NOTE}devlint uses no recorded runs"]
    assert "--observed" not in _run("check", "--help").stdout
    assert _notes(_run("check", "-q", "--observed", "run.json", "a.py")) == []


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ({"devlint.toml": 'observed = ["run.json"]\n'}, "devlint.toml:1"),
        ({"pyproject.toml": "[tool.devlint]\nsrc = []\nobserved = [1]\n"}, "pyproject.toml:3"),
        ({"devlint.toml": 'extend = "base.toml"\n', "base.toml": "observed = []\n"}, "base.toml:1"),
    ],
)
def test_a_retired_key_is_one_note(program: Path, files: dict[str, str], where: str) -> None:
    plain = _run("check", ".")
    for name, text in files.items():
        (program / name).write_text(text)
    (program / "b.py").write_text("import torch\n")
    for _ in range(2):  # the second time, results come from the cache
        found = _run("check", ".")
        assert (found.exit_code, found.stdout) == (plain.exit_code, plain.stdout)
        assert _notes(found) == [f"note: {where}: `observed` {NOTE}devlint uses no recorded runs"]


@pytest.mark.parametrize("arguments", [(), ("a.py",), ("--output-format", "dot", "a.py"), ("--help",)])
def test_a_retired_command_is_no_path(program: Path, arguments: tuple[str, ...]) -> None:
    (program / "graph").mkdir()
    found = _run("graph", *arguments)
    assert (found.exit_code, found.stdout) == (0, "")
    (note,) = found.stderr.splitlines()
    assert note.startswith(f"note: `devlint graph` {NOTE}`devlint show`")
    assert "graph" not in _run("--help").stdout
