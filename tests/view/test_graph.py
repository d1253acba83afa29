"""`devlint graph`: what modules are made of, and where they go."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.browser import document_after_scripts, tints_on_screen
from tests.conftest import REPOSITORY
from tests.view.conftest import Devlint

PROGRAM = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.scale = torch.ones(2)

    def forward(self, x):
        return self.fc(x) * self.scale

net = Net().to("cuda:0")

class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))
        self.body = nn.Sequential(Net(), nn.ReLU(), nn.Linear(2, 2))
        self.extra = [nn.Linear(2, 2)]
        self.size = 3

def build():
    tower = Tower()
    tower.cuda(1)
    tower.to("cpu")
    return tower
"""

TREE = """\
a.py
  class Net(Module)  line 4
  ├─ fc: Linear on cpu
  └─ scale: tensor on cpu  not registered, no move reaches it
  class Tower(Module)  line 15
  ├─ mean: buffer on cpu
  ├─ body: Sequential on cpu
  │  ├─ 0: Net on cpu
  │  ├─ 1: ReLU on no parameters
  │  └─ 2: Linear on cpu
  └─ extra: container on [cpu]  not registered, no move reaches it
     └─ 0: Linear on cpu
  net: Net: cpu (line 13) → cuda:0 (line 13)
  tower: Tower in build: cpu (line 24) → cuda:1 (line 25) → cpu (line 26)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_the_tree(program: Path, run: Devlint) -> None:
    result = run("graph", "a.py")

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == TREE


def test_the_page_shows_part_of_it() -> None:
    page = (REPOSITORY / "linter" / "usage.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```console\n(a\.py\n  class .*?)^```$", page, re.MULTILINE | re.DOTALL)

    assert [line for line in block.splitlines() if line not in TREE.splitlines()] == []


def test_the_graph_for_graphviz_has_each_class_and_each_stop(program: Path, run: Devlint) -> None:
    text = run("graph", "a.py", "--output-format", "dot").stdout

    edges = re.findall(r'^  ("[^"]*") -> ("[^"]*") \[label="([^"]*)"', text, re.MULTILINE)
    assert text.startswith("digraph devices {\n")
    assert ('"a.py:Tower.body"', '"a.py:Net"', "0") in edges
    assert ('"a.py:build:tower: Tower"', '"device cuda:1"', "line 25") in edges
    assert '"a.py:Net" -> "a.py:Net.scale" [label="scale", style=dashed];' in text


def test_the_page_draws_an_arrow_for_each_move(program: Path, run: Devlint, tmp_path: Path) -> None:
    run("graph", "a.py", "--output-format", "html", "--output-file", "out.html")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    (drawing,) = re.findall("<svg.*?</svg>", page, re.DOTALL)

    root = ElementTree.fromstring(drawing)
    ways = [each for each in root.iter("path") if each.get("class") == "way"]
    assert len(ways) == 3
    assert root.get("aria-label") == (
        "net on cpu from line 13, then on cuda:0 from line 13; "
        "tower on cpu from line 24, then on cuda:1 from line 25, then on cpu from line 26"
    )
    assert page.count("not registered: no move reaches it") == 2
    assert '<a href="#f1-Net">Net</a>' in page
    assert 'id="f1-Net"' in page
    assert re.findall(r"https?://|@import|url\((?!#)|<link|src=", page) == []


def test_without_modules_it_says_so(tmp_path: Path, run: Devlint) -> None:
    (tmp_path / "a.py").write_text("import torch\nx = torch.ones(3)\n")

    assert run("graph", ".").stdout == "no modules\n"
    assert "devlint knows of no module" in run("graph", ".", "--output-format", "html").stdout


def test_a_browser_draws_the_page(program: Path, run: Devlint, tmp_path: Path) -> None:
    run("graph", "a.py", "--output-format", "html", "--output-file", "out.html")

    assert document_after_scripts(tmp_path / "out.html", tmp_path / "profile").count('class="box"') == 2
    seen = tints_on_screen(tmp_path / "out.html", tmp_path / "other")
    assert min(seen["cpu"], seen["a0"]) > 200
