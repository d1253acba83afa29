"""A right fix stays, though the mistake behind it had hidden another mistake, or is at the same operation."""

from __future__ import annotations

from devlint import engine
from devlint.settings import Settings

MODULE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.zeros(4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(x + self.table)

"""

BEHIND = """
def step(model, criterion, x, y, device):
    criterion(model(x.to(device)), y.to(device)).backward()


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
step(Net().to(device), nn.CrossEntropyLoss(weight=torch.ones(2)), torch.zeros(8, 4), torch.zeros(8).long(), device)
"""

SAME = """
def warped(x):
    net = Net()
    return net(x)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
warped(torch.zeros(8, 4).to(device))
"""

BUFFER = 'self.register_buffer("table", torch.zeros(4), persistent=False)'


def _fixed(text: str) -> tuple[str, list[str]]:
    settings = Settings(("-",), select=("DEV1", "DEV2"), isolated=True, fix=True)
    run = engine.run(settings, stdin=text.encode())
    assert run.warnings == ()
    after = next(change.after.decode() for change in run.changes)
    return after, [one.code for one in run.outcome.diagnostics]


def test_what_was_hidden_is_reported_and_the_fix_made() -> None:
    after, left = _fixed(MODULE + BEHIND)
    assert BUFFER in after
    assert left == ["DEV108"]


def test_a_second_reason_at_the_same_operation_is_not_new() -> None:
    after, left = _fixed(MODULE + SAME)
    assert BUFFER in after
    assert left
