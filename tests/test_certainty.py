"""Which errors are certain: those that do not depend on the machine, on a caller, or on how often a loop repeats."""

from __future__ import annotations

from pathlib import Path

import pytest
from devlint import engine
from devlint.diagnostics import Certainty
from devlint.settings import Settings

CERTAIN, ON_ACCELERATOR = Certainty.CERTAIN, Certainty.ON_ACCELERATOR


@pytest.mark.parametrize(
    ("program", "certainty"),
    [
        ("x = torch.ones(3, device='cuda')\nx + torch.ones(3)", CERTAIN),
        ("x = torch.ones(3, device='cuda')\ny = torch.ones(3).to(x.device)\ny + torch.ones(3)", CERTAIN),
        (
            "d = 'cuda' if torch.cuda.is_available() else 'cpu'\nx = torch.ones(3, device=d)\nx + torch.ones(3)",
            ON_ACCELERATOR,
        ),
        (
            "d = 'cuda' if torch.cuda.is_available() else 'cpu'\nx = torch.ones(3, device=d)\n"
            "y = torch.ones(3).to(x.device)\ny + torch.ones(3)",
            ON_ACCELERATOR,
        ),
        (
            "x = torch.ones(3)\nfor _ in rows:\n    x = x + torch.ones(3, device='cuda:1')\n    x = x.to('cuda:1')",
            CERTAIN,
        ),
        (
            "x, y = torch.ones(3, device='cuda:1'), torch.ones(3)\nfor _ in rows:\n"
            "    x *= torch.ones(3, device='cuda:1')\n    x, y = y, x",
            ON_ACCELERATOR,
        ),
    ],
    ids=["created", "read off a tensor", "checked", "read off a checked one", "first turn", "next turn"],
)
def test_certainty(tmp_path: Path, program: str, certainty: Certainty) -> None:
    file = tmp_path / "run.py"
    file.write_text(f"import torch\n\nrows = range(int(input()))\n{program}\n")
    run = engine.run(Settings((str(file),), select=("DEV101",), jobs=1, isolated=True))
    assert [one.certainty for one in run.outcome.diagnostics] == [certainty]
