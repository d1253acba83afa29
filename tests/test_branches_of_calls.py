"""Branches that no call of the project takes: what happens only there is merely possible, and not reported by default.

Each program is one file, or two. Each test asks which lines are reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from devlint import engine
from devlint.settings import Settings


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()


def _reported(files: Mapping[str, str]) -> list[tuple[str, int, str]]:
    for name, text in files.items():
        Path(name).write_text(text)
    run = engine.run(Settings((".",), jobs=1))
    assert not run.problems
    return [(one.place.file, one.place.line, one.code) for one in run.outcome.diagnostics if one.code < "DEV2"]


DRAWN = """\
import torch


class Runner:
    @staticmethod
    def draw(device=None):
        mesh = torch.zeros(3, 3)
        if device is not None:
            mesh = mesh.to(device)
        return mesh.numpy()

    def run(self):
        return self.draw({given})


if __name__ == "__main__":
    Runner().run()
"""


@pytest.mark.parametrize(("given", "found"), [("", []), ("device='cuda'", [("run.py", 10, "DEV105")])])
def test_a_move_in_a_branch(given: str, found: list[tuple[str, int, str]]) -> None:
    assert _reported({"run.py": DRAWN.format(given=given)}) == found


EMBEDDED = """\
import torch
from torch import nn


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(3, 3)

    def forward(self, x, target=None):
        if target is None:
            target = torch.zeros(x.shape[0]).long()
        return x + self.embed(target)
"""

TRAINED = """\
from embed import Embed


def train(loader):
    net = Embed().cuda()
    for batch, labels in loader:
        batch, labels = batch.cuda(), labels.cuda()
        net({given})


if __name__ == "__main__":
    train(load())
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("batch, labels", []),
        ("batch, target=labels.long()", []),
        ("batch", [("embed.py", 13, "DEV103")]),
        ("batch, None", [("embed.py", 13, "DEV103")]),
    ],
)
def test_a_default_of_forward(given: str, found: list[tuple[str, int, str]]) -> None:
    assert _reported({"embed.py": EMBEDDED, "run.py": TRAINED.format(given=given)}) == found


NORMALIZED = """\
import torch


def laplacian(adjacency: torch.Tensor, normalize):
    if not normalize:
        return adjacency
    return torch.eye(3) - adjacency


if __name__ == "__main__":
    laplacian(torch.ones(3, 3, device="cuda"), {given})
"""


@pytest.mark.parametrize(("given", "found"), [("False", []), ("True", [("run.py", 7, "DEV103")])])
def test_code_behind_a_return(given: str, found: list[tuple[str, int, str]]) -> None:
    assert _reported({"run.py": NORMALIZED.format(given=given)}) == found


CONVERTED = """\
import numpy as np
import torch
from torch import nn


class Value(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def value(self, x):
        if isinstance(x, (np.ndarray, np.generic)):
            x = torch.tensor(x)
        return self.fc(x)


if __name__ == "__main__":
    Value().cuda().value({given})
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [("torch.ones(3, 3).cuda()", []), ("np.ones((3, 3))", [("run.py", 14, "DEV103")])],
)
def test_a_branch_for_arrays(given: str, found: list[tuple[str, int, str]]) -> None:
    assert _reported({"run.py": CONVERTED.format(given=given)}) == found


COUNTED = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, device="cuda" if torch.cuda.is_available() else "cpu"):
        super().__init__()
        layers = [nn.Linear(3, 3)]
        for _ in range(3):
            layers.append(nn.Linear(3, 3))
        self.block = nn.Sequential(*layers)
        self.size = self._count()
        self.to(device)

    def _count(self):
        x = torch.zeros(1, 3)
        return self.block(x).numel()


if __name__ == "__main__":
    net = Net()
    {more}
"""


@pytest.mark.parametrize(("more", "found"), [("", []), ("net._count()", [("run.py", 17, "DEV103")])])
def test_a_helper_of_a_constructor_that_moves_its_module_last(more: str, found: list[tuple[str, int, str]]) -> None:
    assert _reported({"run.py": COUNTED.format(more=more)}) == found
