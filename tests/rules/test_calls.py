"""A conflict inside of called functions: where it is reported, and which calls the notes show."""

from __future__ import annotations

from pathlib import Path

from devlint import engine
from devlint.settings import Settings
from devlint.testing import fixed

PROGRAM = """\
import torch


class Box:
    def __init__(self, kept, table):
        self.kept = kept
        self.table = table


def inner(box):
    return box.kept + box.table


def middle(box):
    return inner(box)


middle(Box(torch.ones(3, device="cuda:0"), torch.ones(3)))
middle(Box(torch.ones(3, device="cuda:0"), torch.zeros(3)))
"""


def test_the_operation_is_the_place_and_the_notes_show_the_whole_way() -> None:
    run = engine.run(Settings(("-",), select=("DEV101",), isolated=True), stdin=PROGRAM.encode())
    (report,) = run.outcome.diagnostics
    calls = [(one.place.line, one.message) for one in report.related if "leads" in one.message]
    assert report.place.line == 11
    assert "`box.kept` is on cuda:0" in report.message
    assert calls == [
        (18, "this call leads to the operation"),
        (15, "this call leads to the operation"),
        (19, "this call also leads to the operation"),
    ]


PADDED = """\
import torch


def padded(x: torch.Tensor):
    \"\"\"Zeros before host data.\"\"\"
    return torch.cat([torch.FloatTensor([0, 0]), x])


padded(torch.ones(2))
padded(torch.ones(2, device="cuda:0"))
"""


def test_a_fix_names_the_device_of_every_caller(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(PADDED)
    assert "torch.FloatTensor([0, 0]).to(x.device)" in fixed(program, "DEV101")
