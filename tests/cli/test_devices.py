"""The number of CUDA devices that a project assumes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint.cli import devlint


@pytest.mark.parametrize(("setting", "found"), [("", 1), ("devices = 1", 1), ("devices = 2", 0)])
def test_a_device_that_is_assumed_to_be_there_needs_no_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, found: int
) -> None:
    (tmp_path / "main.py").write_text('import torch\n\nx = torch.ones(3, device="cuda:1")\n')
    (tmp_path / "pyproject.toml").write_text(f"[tool.devlint]\n{setting}\n")
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(devlint, ["check", "main.py", "--output-format", "concise"])

    assert (result.exit_code, result.stdout.count("DEV302")) == (found, found), result.output
