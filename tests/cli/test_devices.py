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


@pytest.mark.parametrize(
    ("devices", "source", "words"),
    [
        (1, 'device = "cuda:1" if torch.cuda.is_available() else "cpu"\ntorch.ones(3, device=device)', "machine has 1"),
        (2, "torch.cuda.set_device(2)", "`2` names cuda:2, which needs 3 CUDA devices, and this machine has 2"),
        (2, "with torch.cuda.device(5):\n    pass", "needs 6 CUDA devices, and this machine has 2"),
        (1, "torch.cuda.get_device_properties(1)", "needs 2 CUDA devices, and this machine has 1"),
        (0, "torch.cuda.set_device(0)", "`0` names cuda:0, which needs a CUDA device, and this machine has none"),
        (0, "torch.cuda.synchronize()", "`torch.cuda.synchronize()` needs a CUDA device, and this machine has none"),
        (0, 'torch.set_default_device("cuda")', '`"cuda"` needs a CUDA device, and this machine has none'),
        (0, "if torch.cuda.is_available():\n    torch.cuda.synchronize()", ""),
        (1, "torch.cuda.synchronize()\ntorch.cuda.set_device(0)", ""),
        (2, "if torch.cuda.device_count() > 2:\n    torch.cuda.set_device(2)", ""),
        (0, 'import torch.distributed as dist\ndist.init_process_group("nccl")', "this machine has none"),
        (0, 'import torch.distributed as dist\ndist.init_process_group("gloo")', ""),
        (1, "torch.nn.DataParallel(torch.nn.Linear(1, 1), device_ids=[0, 1])", "that the machine does not have"),
    ],
)
def test_what_a_known_machine_lacks_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, devices: int, source: str, words: str
) -> None:
    (tmp_path / "main.py").write_text(f"import torch\n\n{source}\n")
    (tmp_path / "pyproject.toml").write_text(f"[tool.devlint]\ndevices = {devices}\n")
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(devlint, ["check", "main.py", "--output-format", "concise"])

    assert (words in result.stdout, bool(result.exit_code)) == (True, bool(words)), result.output
