"""A change is proposed only if the program runs on with it: `devlint rehearse` tries it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.guard.rehearsal.test_rehearse_command import rehearse

TWO_FIELDS = """
import torch
from torch import nn

def batch_to_dict(size, device):
    return {"x": torch.ones(size, 4), "mask": torch.ones(size, 2)}

net = nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(9):
    given = batch_to_dict(3, "cuda")
    (net(given["x"]) * given["mask"]).sum().backward()
    optimizer.step()
    print("step", step)
"""

ASSERTED = """
import torch

def table():
    made = torch.ones(3)
    assert not made.is_cuda
    return made

x = torch.ones(3).cuda()
flags = table()
assert not (flags + 0).is_cuda, "the table stays on the CPU"
TEXT = "x + flags"
assert TEXT in open(__file__).read()
eval(TEXT, {"x": x, "flags": flags})
"""


def test_a_change_is_proposed_that_the_program_runs_on_with(tmp_path: Path) -> None:
    ended = rehearse(tmp_path, TWO_FIELDS)
    assert ended.returncode == 1
    assert "devlint: trying " in ended.stderr
    assert "`--no-try` switches this off" in ended.stderr
    assert "the program then runs on" in ended.stderr
    changed = [line.strip()[2:] for line in ended.stderr.splitlines() if line.strip().startswith("+ ")]
    lines = [line for line in TWO_FIELDS.splitlines() if "return {" not in line]
    assert changed
    assert all("device" in line for line in changed)
    assert all(line not in lines for line in changed)
    assert "step 0" not in ended.stdout  # what a trial prints is not shown


def test_no_try_runs_the_program_once(tmp_path: Path) -> None:
    ended = rehearse(tmp_path, "open('runs', 'a').write('x')\n" + TWO_FIELDS, "--no-try", "program.py")
    assert "trying" not in ended.stderr
    assert "tried" not in ended.stderr
    assert (tmp_path / "runs").read_text() == "x"


def test_a_trial_runs_the_program_again_in_its_folder(tmp_path: Path) -> None:
    rehearse(tmp_path, "open('runs', 'a').write('x')\n" + TWO_FIELDS)
    assert 2 <= len((tmp_path / "runs").read_text()) <= 11


def test_what_a_trial_refutes_is_not_printed(tmp_path: Path) -> None:
    ended = rehearse(tmp_path, ASSERTED)
    assert ended.returncode == 1
    proposed = any(line.strip().startswith("+ ") for line in ended.stderr.splitlines())
    assert proposed is ("the program then runs" in ended.stderr)


def test_ranks_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    assert "trying" not in rehearse(tmp_path, TWO_FIELDS).stderr
