"""The first change of an explanation mends the program; an error is explained alike with and without a guard.

Each program says what the explanation has to name, the line of the cause, and nothing else: PyTorch judges the change.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from devlint_guard.finding import Finding, Place

from tests.guard.pretended import Way, explained
from tests.guard.questions import carry_out
from tests.judge import Judge

START = "import torch\nfrom torch import nn\n"

NET = """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(3)  # CAUSE

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.sub, self.parts = nn.Linear(3, 3), Part(), nn.ModuleList([Part()])

    def forward(self, x):
        return {result}

Net().cuda()(torch.ones(2, 3).cuda())
"""

PROGRAMS = {
    "attribute_of_an_attribute": ("self.sub.scale", NET.format(result="self.fc(x) * self.sub.scale")),
    "attribute_of_an_element": ("self.parts[0].scale", NET.format(result="self.fc(x) * self.parts[0].scale")),
    "attribute_of_plain_objects": (
        "c.d.t",
        """
class C:
    pass

c = C()
c.d = C()
c.d.t = torch.ones(3)
torch.ones(3).cuda() * c.d.t  # CAUSE
""",
    ),
    "module_left_behind": (
        "criterion",
        """
class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 3))

    def forward(self, x):
        return (x @ self.weight).sum()

def train(device):
    net = nn.Linear(3, 3).to(device)
    criterion = Loss()  # CAUSE
    for x in [torch.ones(2, 3)]:
        criterion(net(x.to(device))).backward()

train("cuda:0")
""",
    ),
    "plain_list": (
        "self.blocks",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(3, 3) for _ in range(2)]  # CAUSE

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x

Net().cuda()(torch.ones(2, 3).cuda())
""",
    ),
    "hidden_state": (
        "hidden",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRUCell(3, 4)

    def init_hidden(self, size):
        return torch.zeros(size, 4)  # CAUSE

    def forward(self, x, hidden):
        return self.rnn(x, hidden)

net = Net().cuda()
x = torch.ones(2, 3).cuda()
hidden = net.init_hidden(2)
net(x, hidden)
""",
    ),
    "batch": (
        'batch["x"]',
        """
def evaluate(net, batches):
    for batch in batches:  # CAUSE
        net(batch["x"])

evaluate(nn.Linear(3, 3).cuda(), [{"x": torch.ones(2, 3)}])
""",
    ),
    "appended": (
        "kept",
        """
x = torch.ones(2, 3).cuda()
kept = []
for number in range(2):
    kept.append(torch.ones(2, 3))  # CAUSE
torch.cat([x, kept[0]])
""",
    ),
    "global_variable": (
        "table",
        """
table = torch.ones(3)  # CAUSE

def add(x):
    return x + table

add(torch.ones(3).cuda())
""",
    ),
    "filled_in_place": (
        "new",
        """
mean = torch.zeros(3).cuda()
new = torch.ones(3) * 2  # CAUSE
mean.lerp_(new, 0.5)
assert mean.sum().item() == 3
""",
    ),
    "table_on_the_cpu": (
        "table",
        """
table = torch.linspace(0, 1, 10)  # CAUSE
steps = torch.tensor([3, 5], device="cuda")
noise = torch.ones(2).cuda() * table[steps]
""",
    ),
    "conditional_expression": (
        "mask",
        """
def mixed(x, mask=None):
    return torch.add(x, mask if mask is not None else 0)

mixed(torch.ones(3).cuda(), torch.ones(3))  # CAUSE
""",
    ),
    "two_devices": (
        "body",
        """
net = nn.Linear(3, 3).to("cuda:1")
scan = torch.ones(2, 3).to("cuda:1")
body = torch.ones(2, 3).cuda()  # CAUSE
net(torch.cat([scan, body]))
""",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_change_mends(judge: Judge, tmp_path: Path, name: str) -> None:
    culprit, text = PROGRAMS[name]
    told = {way: _mended(judge, tmp_path / f"{way}.py", START + text, way) for way in ("explain", "run")}
    for way, (finding, outcome) in told.items():
        assert outcome == "ok", (way, finding.message, finding.changes)
        blamed = finding.operands[0]
        named = " ".join([blamed.name, blamed.qualified, *(step.message for step in blamed.history)])
        assert culprit in named, (way, named)
        line = next(number for number, one in enumerate((START + text).splitlines(), 1) if "# CAUSE" in one)
        assert line in {place.line for place in _places(finding)}, (way, finding)
    (mine, _), (theirs, _) = told["explain"], told["run"]
    assert (mine.code, mine.message, mine.operands[0].name) == (theirs.code, theirs.message, theirs.operands[0].name)
    assert [(one.place.line, one.after) for one in mine.changes] == [(x.place.line, x.after) for x in theirs.changes]


def _mended(judge: Judge, file: Path, text: str, way: Way) -> tuple[Finding, str]:
    """The explanation of a program, and how the program ends as its change makes it."""
    file.write_text(text, encoding="utf-8")
    finding = explained(judge, text, file=file, way=way).finding
    assert finding is not None
    carry_out(finding.changes)
    return finding, explained(judge, file.read_text(encoding="utf-8"), file=file).verdict.outcome


def _places(finding: Finding) -> list[Place]:
    steps = [step.place for one in finding.operands for step in one.history]
    places = [finding.place, *(one.place for one in finding.operands), *steps, *(one.place for one in finding.changes)]
    return [place for place in places if place is not None]
