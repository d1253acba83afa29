"""A renamed rule keeps its former names wherever a user may write a name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from devlint.cli import devlint
from devlint_rules.mixed_device_operands import MixedDeviceOperands

OLD, NEW = "operands-apart", "mixed-device-operands"

PROGRAM = 'import torch\n\ntorch.ones(3, device="cuda:0") + torch.ones(3){comment}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(MixedDeviceOperands, "former_names", (OLD,))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(PROGRAM.format(comment=""))
    return tmp_path


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(devlint, arguments)


def _reported(*arguments: str) -> list[tuple[str, str]]:
    done = _run("check", "--no-cache", "--output-format", "json", *arguments, "a.py")
    assert done.exit_code in (0, 1), done.output
    return [(one["rule"], one["severity"]) for one in json.loads(done.stdout)["diagnostics"]]


def test_options(folder: Path) -> None:
    assert _reported("--select", OLD) == [(NEW, "error")]
    assert _reported("--select", OLD.upper()) == [(NEW, "error")]
    assert _reported("--select", "DEV101", "--ignore", OLD) == []


@pytest.mark.parametrize("name", [OLD, NEW])
def test_configuration(folder: Path, name: str) -> None:
    select = f'[tool.devlint]\nselect = ["{name}"]\n'
    severity = f'[tool.devlint.severity]\n"{name}" = "warning"\n'
    ignores = f'[tool.devlint.per-file-ignores]\n"a.py" = ["{name}"]\n'
    for more, found in (("", [(NEW, "error")]), (severity, [(NEW, "warning")]), (ignores, [])):
        (folder / "pyproject.toml").write_text(select + more)
        assert _reported() == found


def test_comments(folder: Path) -> None:
    (folder / "a.py").write_text(PROGRAM.format(comment=f"  # devlint: ignore[{OLD}] the host reads both"))
    assert _reported("--select", "DEV101,DEV902") == []
    (folder / "a.py").write_text(f"# devlint: ignore-file[{OLD}] audited\n" + PROGRAM.format(comment=""))
    assert _reported("--select", "DEV101,DEV902") == []
    (folder / "a.py").write_text(f"import torch\nx = 1  # devlint: ignore[{OLD}] no report here\n")
    assert _reported("--select", "DEV101,DEV902") == [("unused-suppression", "warning")]


def test_explain_says_the_former_name(folder: Path) -> None:
    done = _run("explain", OLD)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"DEV101 {NEW} (")
    assert f"Its former name is `{OLD}`." in done.stdout
