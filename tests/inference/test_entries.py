"""The last callers: which of them get to an operation, and the level that each gives to a finding."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from textwrap import dedent

import pytest
from devlint.inference.solve import Solver
from devlint.inference.verdict.codes import code_of
from devlint.inference.verdict.levels import level_of
from devlint.project import Project
from devlint.torchlib import catalogue

SCALE = """
    import torch
    from torch import nn

    class Scale(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(size))

        def forward(self, x):
            return self.weight * x + torch.ones(3)
"""
MOVED = "from scale import Scale\nnet = Scale(3).cuda()\n"
LEFT = "from scale import Scale\nnet = Scale(3)\n"
TESTED = "from scale import Scale\ndef test_it():\n    Scale(3)\n"
ELSEWHERE = "import torch\ntorch.nn.Linear(3, 3).cuda()\n"


def findings(folder: Path, files: dict[str, str]) -> list[str]:
    """Write the files of a project, and return each finding about devices that meet as file, line, code and level."""
    for name, text in files.items():
        (folder / name).write_text(dedent(text))
    project = Project(folder)
    solver = Solver(project, catalogue.load())
    found = solver.check([project.source(folder / name) for name in files])
    found += solver.of_clients()
    places = {(one.requirement.place, code_of(one), level_of(one)) for one in found}
    told = [(Path(place.path).name, place.line, code, level) for place, code, level in places if code < "DEV3"]
    return [f"{name}:{line} {code} {level}" for name, line, code, level in sorted(told)]


@pytest.mark.parametrize(
    ("files", "level"),
    [
        pytest.param({"setup.py": "", "other.py": ELSEWHERE}, "likely", id="nobody makes it"),
        pytest.param({"setup.py": "", "train.py": MOVED}, "likely", id="a program makes and moves it"),
        pytest.param(
            {"setup.py": "", "train.py": LEFT, "other.py": ELSEWHERE}, "possible", id="it is left where it is"
        ),
        pytest.param({"setup.py": "", "test_it.py": TESTED, "other.py": ELSEWHERE}, "likely", id="a test leaves it"),
        pytest.param({"setup.py": ""}, "possible", id="the library moves nothing"),
        pytest.param({"other.py": ELSEWHERE}, "possible", id="the project is a program"),
    ],
)
def test_the_client_of_a_module(tmp_path: Path, files: dict[str, str], level: str) -> None:
    assert findings(tmp_path, {"scale.py": SCALE, **files}) == [f"scale.py:11 DEV103 {level}"]


def test_the_files_may_come_in_any_order(tmp_path: Path) -> None:
    files = {"scale.py": SCALE, "setup.py": "", "train.py": MOVED, "test_it.py": TESTED}
    told = {tuple(findings(tmp_path, {name: files[name] for name in order})) for order in permutations(files)}
    assert told == {("scale.py:11 DEV103 likely",)}


@pytest.mark.parametrize(
    ("method", "told"),
    [
        pytest.param("def used(self):\n    return self.weight + torch.ones(3)", ["likely"], id="between its own parts"),
        pytest.param("def used(self, x):\n    return torch.relu(x) + torch.ones(3)", ["possible"], id="with an input"),
        pytest.param(
            "def used(self):\n    return self.weight + torch.ones(3)\ndef place(self):\n    self.cuda()",
            ["possible"],
            id="another method moves the object",
        ),
        pytest.param("def _used(self):\n    return self.weight + torch.ones(3)", [], id="it is private"),
        pytest.param(
            "def used(self):\n    return self.weight + torch.ones(3)\ndef _reset(self):\n    self.used()",
            [],
            id="another method calls it",
        ),
        pytest.param(
            "def used(self):\n    self.kept = self.weight\n    return self.kept + self.weight\n"
            "def load(self):\n    self.kept = torch.ones(3)",
            [],
            id="another method stores what it stores itself",
        ),
        pytest.param("def forward(self, x):\n    return torch.relu(x).numpy()", ["possible"], id="an input for numpy"),
        pytest.param("def forward(self, x):\n    return self.part(x).numpy()", ["likely"], id="a result for numpy"),
    ],
)
def test_the_client_of_a_method(tmp_path: Path, method: str, told: list[str]) -> None:
    head = (
        "import torch\nfrom torch import nn\nnn.Linear(3, 3).cuda()\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.weight = nn.Parameter(torch.ones(3))\n"
        "        self.part = nn.Linear(3, 3)\n"
    )
    text = head + "\n".join(f"    {line}" for line in method.split("\n"))
    found = findings(tmp_path, {"net.py": text, "setup.py": ""})
    assert [each.rpartition(" ")[2] for each in found] == told


COMMANDS = """
    import click, torch

    @click.command()
    @click.option("--gpu", is_flag=True)
    @click.option("--mask", is_flag=True)
    def main(gpu, mask):
        x = torch.ones(3)
        if gpu:
            x = x.cuda()
        if mask and not gpu:
            x.numpy()
        if mask:
            x.numpy()

    if __name__ == "__main__":
        main()
"""


def test_a_command_has_the_options_of_its_user(tmp_path: Path) -> None:
    assert findings(tmp_path, {"main.py": COMMANDS})[0] == "main.py:14 DEV105 on-accelerator"


TESTS = """
    import torch

    class TestSum:
        def setup_method(self):
            self.x = torch.ones(3, device="cuda:0")

        def test_wrong(self, size):
            assert (self.x + torch.ones(size)).sum()

        def test_right(self, size):
            assert (self.x + torch.ones(size).to(self.x.device)).sum()

        def helper(self):
            return self.x + torch.ones(3)
"""


@pytest.mark.parametrize(("name", "lines"), [("test_sum.py", [9]), ("sum.py", [])])
def test_pytest_calls_a_test_with_unknown_fixtures(tmp_path: Path, name: str, lines: list[int]) -> None:
    assert findings(tmp_path, {name: TESTS}) == [f"{name}:{line} DEV103 certain" for line in lines]


OBJECT = """
    import torch

    class Runner:
        def __init__(self, data):
            self.data = data

        def fit(self):
            self.place()
            return self.net(torch.ones(3))

        def fit_there(self):
            self.place()
            return self.net(torch.ones(3, device="cuda:0"))

        def place(self):
            self.net = torch.nn.Linear(3, 3).cuda()
"""


def test_a_method_is_called_for_a_new_object(tmp_path: Path) -> None:
    assert findings(tmp_path, {"runner.py": OBJECT}) == ["runner.py:10 DEV102 certain"]


def test_a_star_import_leads_through_others(tmp_path: Path) -> None:
    inner = "import torch\ndef scaled(x):\n    return x * torch.ones(3)\n"
    middle = "try:\n    from inner import *\nexcept ImportError:\n    pass\n"
    outer = "import torch\nfrom middle import *\nscaled(torch.ones(3).cuda())\n"
    told = findings(tmp_path, {"outer.py": outer, "middle.py": middle, "inner.py": inner})
    assert told[0] == "inner.py:3 DEV103 certain"
