"""What is printed of whole programs, whose errors are those of CUDA: word for word, and on the page of the guard."""

from __future__ import annotations

import json
import linecache
import re
from pathlib import Path

import pytest
from devlint_guard.finding import Finding
from devlint_guard.report.json import decoded, encoded
from devlint_guard.report.text import render

from tests.conftest import REPOSITORY, Expect
from tests.guard.pretended import explained
from tests.judge import Judge

PAGE = REPOSITORY / "runtime_guard" / "guard.md"
SHOWCASE = REPOSITORY / "fixtures" / "showcase" / "train.py"
REPORTS = Path(__file__).with_name("reports")

PROGRAMS = {
    "passed_on": """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))

    def forward(self, inputs):
        return self.layers(inputs)


def evaluate(net, batches):
    for batch in batches:
        net(batch["x"])


net = Net().cuda()
evaluate(net, [{"x": torch.ones(2, 3)}])
""",
    "attribute": """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.offset = torch.zeros(3)

    def forward(self, x):
        return self.linear(x) + self.offset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


model = Net().to("cuda:1")
model(torch.ones(2, 3, device="cuda:1"))
""",
    "list_of_tensors": """\
import torch

features = [torch.ones(2, device="cuda"), torch.ones(2, device="cuda")]
features.append(torch.zeros(2))
torch.stack(features)
""",
    "optimizer_state": """\
import torch
from torch import nn

net = nn.Linear(2, 2)
optimizer = torch.optim.Adam(net.parameters())
net(torch.ones(1, 2)).sum().backward()
optimizer.step()
net.cuda()
optimizer.zero_grad()
net(torch.ones(1, 2, device="cuda")).sum().backward()
optimizer.step()
""",
    "replica": """\
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.scale = torch.ones(2, device="cuda")

    def forward(self, x):
        return self.linear(x) * self.scale


net = nn.DataParallel(Scaled().cuda())
net(torch.ones(8, 2))
""",
    "no_such_device": """\
import torch

device = torch.device("cuda:7")
torch.ones(3).to(device)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_reports(name: str, judge: Judge, expect: Expect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    finding = explained(judge, PROGRAMS[name]).finding
    assert finding is not None
    (tmp_path / "program.py").write_text(PROGRAMS[name], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    linecache.clearcache()
    expect(REPORTS / f"{name}.txt", render(finding) + "\n")


def test_the_report_on_the_page(judge: Judge, expect: Expect, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = explained(judge, SHOWCASE.read_text(encoding="utf-8"), file=SHOWCASE).finding
    assert finding is not None
    # As in the repository's root, where lines are broken for the short names of files.
    monkeypatch.chdir(REPOSITORY)
    data = json.loads(json.dumps(encoded(finding)).replace(f"{REPOSITORY}/", ""))
    report = render(decoded(Finding, data))
    text = PAGE.read_text(encoding="utf-8")
    block = re.compile(r"(?<=followed by:\n\n)```console\ndevlint: .*?^```$", re.MULTILINE | re.DOTALL)
    assert len(block.findall(text)) == 1
    expect(PAGE, block.sub(lambda _: f"```console\n{report}\n```", text))
