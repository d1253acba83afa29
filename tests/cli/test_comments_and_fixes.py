"""What comments, fixes and files that cannot be written do to each other, with the real rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from devlint.cli import devlint

KEPT_ON_CPU = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.pe = torch.zeros(4)  # COMMENT must stay out of state and on the CPU

    def forward(self, x):
        return self.lin(x) + self.pe
"""

JOINED = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
y = torch.cat(
    [
        torch.ones(2, device=device),
        torch.ones(2),  # COMMENT
    ]
)
"""


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(devlint, ["check", "--output-format", "concise", *arguments])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("comment", ["devlint: ignore[DEV201]", "noqa: DEV201", "devlint: ignore[DEV2]"])
def test_a_fix_of_another_report_changes_no_line_with_a_silenced_one(folder: Path, comment: str) -> None:
    text = KEPT_ON_CPU.replace("COMMENT", comment)
    (folder / "m.py").write_text(text)
    result = _run("--fix", "--unsafe-fixes")
    assert result.exit_code == 1
    assert "m.py:12:16: DEV103" in result.stdout
    assert (folder / "m.py").read_text() == text


def test_without_the_comment_the_same_fix_is_made(folder: Path) -> None:
    (folder / "m.py").write_text(KEPT_ON_CPU.replace("COMMENT", ""))
    assert _run("--fix").exit_code == 0
    assert "register_buffer" in (folder / "m.py").read_text()


def test_a_comment_silences_a_report_that_underlines_its_line(folder: Path) -> None:
    (folder / "m.py").write_text(JOINED.replace("COMMENT", "devlint: ignore[DEV101] both are small"))
    assert (_run().exit_code, _run().stdout) == (0, "")
    (folder / "m.py").write_text(JOINED.replace("COMMENT", "devlint: ignore[DEV203] another rule"))
    found = [line.partition(" [")[0] for line in _run().stdout.splitlines()]
    assert found == ["m.py:4:5: DEV101", "m.py:7:25: DEV902"]


@pytest.mark.parametrize("writes", [True, False])
def test_a_file_that_is_read_only_keeps_its_report(folder: Path, writes: bool) -> None:
    file = folder / "m.py"
    file.write_text(KEPT_ON_CPU.replace("COMMENT", ""))
    file.chmod(0o444)
    result = _run("--fix", "--select", "DEV103", *(() if writes else ("--diff",)))
    if writes:
        assert result.exit_code == 2
        assert "m.py:12:16: DEV103" in result.stdout
        assert "error: m.py: cannot be written: it is read-only\n" in result.stderr
        assert "Found 1 error in 1 file. 1 file could not be written.\n" in result.stderr
    else:
        assert result.exit_code == 1
        assert "register_buffer" in result.stdout
    assert "register_buffer" not in file.read_text()


@pytest.mark.parametrize("rules", ["", ",", " , "])
def test_an_empty_selection_is_an_error(folder: Path, rules: str) -> None:
    (folder / "m.py").write_text(KEPT_ON_CPU.replace("COMMENT", ""))
    result = _run("--select", rules)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: --select names no rule; remove the option to select the default rules\n"
