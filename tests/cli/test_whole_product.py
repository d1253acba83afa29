"""The command line with the real analysis and the real rules, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

MALFORMED = Path(__file__).parents[2] / "fixtures" / "malformed"
PROGRAM = """\
import torch


def step():
    a = torch.zeros(3)
    b = torch.zeros(3, device="cuda:0")
    return a + b  # {comment}
"""


def _devlint(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.run(
        [sys.executable, "-m", "devlint", *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )


def test_the_two_stories_of_a_mismatch_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PROGRAM.format(comment="boom"))
    done = _devlint(tmp_path, "a.py", "--select", "DEV101")
    assert done.returncode == 1
    assert "error[DEV101]: mixed-device-operands: " in done.stdout
    assert "7 |     return a + b  # boom\n  |            ^   ^ cuda:0\n" in done.stdout
    assert "5 |     a = torch.zeros(3)" in done.stdout
    assert '6 |     b = torch.zeros(3, device="cuda:0")' in done.stdout
    assert "= PyTorch says: Expected all tensors to be on the same device" in done.stdout
    assert done.stderr == "Found 1 error in 1 file.\n`--fix` has a fix for 1 of them.\n"


def test_a_call_need_not_take_the_branch_that_fails(tmp_path: Path) -> None:
    helper = "import sys\nimport torch\n\ndef pick(x):\n    {branch}return torch.ones(3, device='cpu')[x]\n    {rest}\n"
    call = "\npick(torch.arange(3, device='cuda:0'))\n"
    taken = helper.format(branch="", rest="") + call
    open_ = helper.format(branch="if len(sys.argv) > 2:\n        ", rest="return x") + call
    for name, text in (("a.py", taken), ("b.py", open_)):
        (tmp_path / name).write_text(text)
    done = _devlint(tmp_path, ".", "--select", "DEV1", "--output-format", "json")
    found = [(each["file"], each["certainty"]) for each in json.loads(done.stdout)["diagnostics"]]
    assert found == [("a.py", "certain"), ("b.py", "on-accelerator")]


def test_a_discarded_move_may_lead_where_the_tensor_is(tmp_path: Path) -> None:
    start = "import torch\n\ndef start(y: torch.Tensor):\n    x = torch.ones(3, device='cuda:0')\n    x.to({goal})\n"
    for name, goal in (("a.py", "'cuda:1'"), ("b.py", "y.device")):
        (tmp_path / name).write_text(start.format(goal=goal))
    done = _devlint(tmp_path, ".", "--select", "DEV203", "--output-format", "json")
    found = [(each["file"], each["certainty"]) for each in json.loads(done.stdout)["diagnostics"]]
    assert found == [("a.py", "certain"), ("b.py", "on-accelerator")]


def test_a_suppression_silences_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PROGRAM.format(comment="devlint: ignore[DEV101] on purpose"))
    assert _devlint(tmp_path, "a.py", "--select", "DEV101").returncode == 0


def test_output_is_byte_identical_from_run_to_run(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"f{number}.py").write_text(PROGRAM.format(comment="") * 2)
    outputs = {
        re.sub(
            r'"seconds": [\d.]+',
            '"seconds": 0',
            _devlint(tmp_path, ".", *arguments, PYTHONHASHSEED=seed).stdout,
        )
        for arguments, seed in (
            (["--output-format", "json"], "1"),
            (["--output-format", "json"], "2"),
            (["--output-format", "json", "--jobs", "2"], "3"),
        )
    }
    (output,) = outputs
    assert json.loads(output)["summary"]["files"] == 8
    assert len({entry["file"] for entry in json.loads(output)["diagnostics"]}) == 8


@pytest.fixture(scope="module")
def malformed() -> subprocess.CompletedProcess[str]:
    return _devlint(MALFORMED, "--isolated", "--output-format", "concise", "--select", "DEV101", ".")


def test_every_malformed_file_is_named_and_the_legal_ones_are_checked(
    malformed: subprocess.CompletedProcess[str],
) -> None:
    said = malformed.stdout + malformed.stderr
    silent = [file.name for file in sorted(MALFORMED.glob("*.py")) if file.name not in said]
    found = [line.partition(" [")[0] for line in malformed.stdout.splitlines() if "DEV101" in line]
    assert malformed.returncode == 2
    assert silent == []
    assert found == ["bom.py:3:9: DEV101", "form_feed.py:3:9: DEV101", "latin1.py:3:9: DEV101"]


def test_no_input_makes_devlint_itself_fail(malformed: subprocess.CompletedProcess[str]) -> None:
    assert "DEV903" not in malformed.stdout
    assert "Traceback" not in malformed.stderr
