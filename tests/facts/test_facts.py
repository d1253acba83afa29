"""The claims of the inference about programs of this repository, compared with runs of these programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.judge import require_judge

KNOWN = Path(__file__).parent / "known.txt"

FOLDERS = ("rules/mixed_device_operands", "flow")
"""Of fixtures: enough to meet each kind of value, and not more than a test has time for."""


def door(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run `python -m tests.facts` in a process of its own, behind some code."""
    code = f"import sys\n{before}\nfrom tests.facts.__main__ import main\nsys.exit(main())"
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, env=environment, timeout=500)


def test_no_claim_is_wrong_but_the_known_ones() -> None:
    require_judge()
    files = [str(file) for folder in FOLDERS for file in sorted((REPOSITORY / "fixtures" / folder).glob("*.py"))]
    done = door("--known", str(KNOWN), *files)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gone" not in done.stdout, done.stdout


LIES = """\
from devlint.inference.libraries import known
from devlint.inference.libraries.table import handles
from devlint.inference.values import tensors, terms
handles("torch.as_tensor")(lambda call: tensors.tensor(tensors.device("cuda:0"), terms.constant(1)))
handles("torch.asarray")(lambda call: tensors.tensor(tensors.CPU, terms.constant(2)))
handles("torch.tensor")(lambda call: terms.NUMBER)
"""
"""Wrong results of functions: a device, a rank and a kind."""

MISLED = """\
import torch
def same(x):
    return x
same(torch.as_tensor([1.0, 2.0]))
same(torch.asarray([1.0, 2.0]))
same(torch.tensor([1.0, 2.0]))
"""


def test_a_wrong_claim_is_told_at_its_first_place(tmp_path: Path) -> None:
    require_judge()
    program = tmp_path / "program.py"
    program.write_text(MISLED)
    done = door(str(program), before=LIES)
    told = [line.partition("program.py:")[2] for line in done.stdout.splitlines() if line.startswith("DISAGREE")]
    assert done.returncode == 1, done.stdout + done.stderr
    assert told == ["4:5 Call device", "5:5 Call rank", "6:5 Call kind"]


CAUGHT = """\
import torch
def both(x, y):
    return x + y
try:
    both(torch.ones(2).cuda(), torch.ones(2))
except RuntimeError:
    pass
"""

REQUIRES_OF_LISTS = """\
from devlint.frontend import ir
from devlint.inference.execute import expressions, run
from devlint.inference.requirements.make import participant, require
def build(frame, instruction):
    items = [participant(frame, frame.registers[item.register]) for item in instruction.items]
    require(frame, "list", items, instruction.span)
    expressions.build(frame, instruction)
from devlint.inference.execute import statements
run.TABLE[ir.Build] = build
"""
"""A wrong requirement: all elements of a list are on one device."""


def test_a_broken_requirement_must_raise(tmp_path: Path) -> None:
    require_judge()
    for name, text in (("raises.py", CAUGHT), ("ends_well.py", CAUGHT.replace("x + y", "[x, y]"))):
        (tmp_path / name).write_text(text)
    done = door(str(tmp_path / "raises.py"), str(tmp_path / "ends_well.py"), before=REQUIRES_OF_LISTS)
    told = [line.rpartition("/")[2] for line in done.stdout.splitlines() if line.startswith("CONFLICT")]
    assert told == ["ends_well.py:3"], done.stdout + done.stderr
