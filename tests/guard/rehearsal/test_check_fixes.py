"""`devlint rehearse --check-fixes`: the verdicts on fixes, by real runs of programs with and without them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from devlint.cli import main
from devlint_guard.rehearsal.words import refusal

from tests.guard.processes import Ended, forked, write

PROGRAM = """\
import sys
import torch
import model

def never(x):
    y = x.cuda()
    return y + torch.zeros(3)

device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.ones(2, 3).to(device)
net = model.Net().to(device)
net(x)
y = x * torch.ones(3)
try:
    torch.addcmul(y, torch.ones(3), eval("torch.ones(3)"))
except RuntimeError:
    print("caught")
if len(sys.argv) > 9:
    never(x)
"""

MODEL = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.scale = torch.ones(3)

    def forward(self, x):
        return self.layer(x) * self.scale
"""


def check(folder: Path, *arguments: str) -> Ended:
    """Run `devlint rehearse --check-fixes`."""
    return forked(folder, main, ["devlint", "rehearse", "--check-fixes", *arguments], {})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A script and a module of one project."""
    write(tmp_path / "pyproject.toml", "")
    write(tmp_path / "model.py", MODEL)
    write(tmp_path / "train.py", PROGRAM)
    return tmp_path


def test_a_run_confirms_refutes_or_does_not_reach_each_fix(project: Path) -> None:
    ended = check(project, "--report", "report.json", "train.py")
    report = json.loads((project / "report.json").read_text(encoding="utf-8"))
    verdicts = {(one["file"], one["line"]): one["verdict"] for one in report["fixes"]}
    assert verdicts == {
        ("model.py", 8): "confirmed",
        ("train.py", 7): "not-reached",
        ("train.py", 13): "confirmed",
        ("train.py", 15): "refuted",
    }, ended.stdout + ended.stderr
    reasons = {one["line"]: one["reason"] for one in report["fixes"]}
    refused = f"RuntimeError: {refusal('Expected all tensors')}"
    assert reasons[8].startswith(f"without the fix, model.py:11 raises {refused}")
    assert reasons[13].startswith(f"without the fix, train.py:13 raises {refused}")
    assert reasons[15].startswith(f"with the fix, the operation raises {refused}")
    assert report["without_fixes"]["ending"] == "the program would raise"
    assert report["with_fixes"]["ending"] == "the program ran to its end"
    assert report["exit_code"] == ended.returncode == 1
    assert "train.py:13: DEV101 confirmed: " in ended.stdout
    assert "2 confirmed, 0 not needed, 1 not reached, 1 refuted; no file was changed" in ended.stderr
    assert "caught" not in ended.stdout
    assert (project / "train.py").read_text(encoding="utf-8") == PROGRAM
    assert (project / "model.py").read_text(encoding="utf-8") == MODEL
    assert not list(project.rglob("__pycache__"))


def test_a_program_without_reports_has_no_fixes_to_try(tmp_path: Path) -> None:
    write(tmp_path / "train.py", "import torch\nprint(torch.ones(2).sum())\n")
    ended = check(tmp_path, "--steps", "1", "train.py")
    assert ended.returncode == 0, ended.stderr
    assert "there are no fixes to try; no file was changed" in ended.stderr


def test_a_fix_that_fails_itself_is_refuted_with_its_line_and_error(tmp_path: Path) -> None:
    """PyTorch refuses a buffer under a name that the object has from a class of another file."""
    write(tmp_path / "base.py", "from torch import nn\n\n\nclass Base(nn.Module):\n    shift = None\n")
    program = (
        "import torch\nfrom torch import nn\nfrom base import Base\n\n\nclass Net(Base):\n"
        "    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(3, 3)\n"
        "        self.shift = torch.ones(3)\n\n    def forward(self, x):\n        return self.fc(x) + self.shift\n\n\n"
        "Net().to('cuda')(torch.ones(4, 3).to('cuda'))\n"
    )
    write(tmp_path / "train.py", program)
    ended = check(tmp_path, "--unsafe-fixes", "--report", "report.json", "train.py")
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    verdicts = {one["line"]: (one["verdict"], one["reason"]) for one in report["fixes"]}
    failed = (
        "refuted",
        "the fixed program failed at line 10: KeyError: \"attribute 'shift' already exists\"",
    )
    assert failed in verdicts.values(), ended.stdout + ended.stderr


@pytest.mark.long
def test_only_confirmed_fixes_make_the_exit_code_0(tmp_path: Path) -> None:
    write(tmp_path / "train.py", "import torch\nx = torch.ones(3).cuda()\ny = x * torch.ones(3)\n")
    ended = check(tmp_path, "--unsafe-fixes", "train.py")
    assert "train.py:2: DEV301 not needed: " in ended.stdout, ended.stdout
    assert "train.py:3: DEV101 confirmed: " in ended.stdout
    assert ended.returncode == 3
    ended = check(tmp_path, "train.py")
    assert ended.returncode == (0 if "DEV301" not in ended.stdout else 3)


@pytest.mark.long
def test_another_failure_of_the_fixed_program_keeps_its_traceback(tmp_path: Path) -> None:
    program = "import torch\nx = torch.ones(3).to('cuda')\ny = x * torch.ones(3)\nraise ValueError('mine')\n"
    write(tmp_path / "train.py", program)
    ended = check(tmp_path, "train.py")
    assert ended.returncode == 4, ended.stderr
    assert "ValueError: mine" in ended.stderr
    assert "train.py:3: DEV101 confirmed: " in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing.py",), "there is no script missing.py"),
        (("--devices", "65", "train.py"), "a rehearsal has 0 to 64 devices"),
        (("--report", "report.html", "train.py"), "the report is JSON"),
    ],
)
def test_wrong_usage_is_a_sentence(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    write(tmp_path / "train.py", "import torch\n")
    ended = check(tmp_path, *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
