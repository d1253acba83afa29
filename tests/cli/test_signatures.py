"""Device signatures of a project's own wrappers, given in its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint.cli import devlint

PROGRAM = """\
import torch
from wrappers import fused_add, load_batch


def step():
    batch = load_batch()
    fused_add(torch.ones(3, device="cuda:0"), torch.ones(3))
    return batch + torch.ones(3, device="cuda:0")
"""

WRAPPERS = """\
from _native import fused_add


def load_batch():
    return _read()
"""

SIGNATURES = """\
def fused_add(input: Tensor[D], other: Tensor[D]) -> Tensor[D]: ...
def load_batch() -> Tensor[cpu, 1]: ...
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "main.py").write_text(PROGRAM)
    (tmp_path / "wrappers.py").write_text(WRAPPERS)
    (tmp_path / "stubs").mkdir()
    (tmp_path / "stubs" / "wrappers.pyi").write_text(SIGNATURES)
    (tmp_path / "pyproject.toml").write_text('[tool.devlint]\nselect = ["DEV1"]\nsignatures = ["stubs/wrappers.pyi"]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_signatures_nothing_is_known_of_the_wrappers(project: Path) -> None:
    result = CliRunner().invoke(devlint, ["check", "main.py", "--isolated", "--select", "DEV1"])

    assert result.exit_code == 0, result.output


def test_signatures_say_what_must_agree_and_where_results_live(project: Path) -> None:
    result = CliRunner().invoke(devlint, ["check", "main.py", "--output-format", "concise"])

    lines = [line.split(" ")[0] for line in result.stdout.splitlines()]
    assert (result.exit_code, lines) == (1, ["main.py:7:5:", "main.py:8:12:"]), result.output
