"""`devlint show`: each value in the colour of its device, in the terminal and on a page."""

from __future__ import annotations

import json
import re
from pathlib import Path

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

    def forward(self, x: torch.Tensor):
        return self.fc(x)

net = Net().to("cuda:0")
a = torch.ones(2)
b = a.to("cuda:0")
net(a + 1)  # "</script>" & <b>
print(a + b)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def _data(page: str) -> list[dict[str, object]]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    found = json.loads(text)
    assert isinstance(found, list)
    return found


def test_without_colour_the_lines_say_what_they_bind(program: Path, run: Devlint) -> None:
    result = run("show", "a.py", "--isolated")

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert lines[1] == "cpu  cuda:0  follows an input"
    assert re.sub(" +", " ", lines[2 + 11]) == '12 net = Net().to("cuda:0") # Net on cuda:0'
    assert [line.split()[-1] for line in lines if "a = torch" in line] == ["cpu"]
    assert [line.strip() for line in lines if "DEV102" in line] == [
        "^ DEV102 `net` is on cuda:0 and its input `a + 1` on cpu"
    ]


def test_the_page_shows_what_is_printed(program: Path, run: Devlint) -> None:
    page = (REPOSITORY / "linter" / "usage.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```console\n(12 .*?)^```$", page, re.MULTILINE | re.DOTALL)
    printed = run("show", "--select", "DEV1", "a.py").stdout.replace('  # "</script>" & <b>', "")

    shown = [line.split() for line in block.splitlines()]
    assert [line for line in shown if line not in [line.split() for line in printed.splitlines()]] == []


@pytest.mark.parametrize(
    ("options", "environment", "coloured"),
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_is_as_asked_for(
    program: Path,
    run: Devlint,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    environment: dict[str, str],
    coloured: bool,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    text = run("show", "a.py", *options).stdout

    assert ("\x1b[33ma\x1b[0m" in text, "\x1b[32mb\x1b[0m" in text) == (coloured, coloured)
    assert re.sub(r"\x1b\[[0-9;]*m", "", text) == run("show", "a.py", "--color", "never").stdout


def test_the_page_needs_nothing_but_itself(program: Path, run: Devlint) -> None:
    page = run("show", "a.py", "--html", "-").stdout

    assert re.findall(r"https?://|@import|url\(|<link|src=", page) == []
    assert {href[0] for href in re.findall(r'href="([^"]*)"', page)} == {"#"}
    assert page.count("</script>") == 2
    assert page.count("<script") == 2


def test_the_page_tells_the_story_of_each_value(program: Path, run: Devlint) -> None:
    run("show", "a.py", "--html", "out.html")
    page = (program.parent / "out.html").read_text(encoding="utf-8")

    told = {str(value["name"]): value for value in _data(page)}
    assert told["b"]["text"] == "cuda:0"
    assert told["b"]["story"] == [
        {
            "what": "the device `cuda:0` comes from here",
            "at": "line 14",
            "link": "#f1l14",
            "code": 'b = a.to("cuda:0")',
        },
        {"what": "moved to cuda:0 by `.to()`", "at": "line 14", "link": "#f1l14", "code": 'b = a.to("cuda:0")'},
    ]
    assert (told["net"]["kind"], told["self.fc"]["tint"]) == ("module Net", "follows")
    assert 'id="f1l14"' in page
    assert '<span class="counts"><span class="error">1 error</span>' in page
    assert "&quot;&lt;/script&gt;&quot; &amp; &lt;b&gt;" in page


def test_a_folder_is_one_page_whose_stories_lead_from_file_to_file(tmp_path: Path, run: Devlint) -> None:
    (tmp_path / "made.py").write_text("import torch\n\ntable = torch.ones(3)\n")
    (tmp_path / "used.py").write_text("import torch\nfrom made import table\n\ncopy = table.clone()\n")
    (tmp_path / "other.py").write_text("print('no tensor here')\n")
    page = run("show", ".", "--html", "-").stdout

    (copy,) = [value for value in _data(page) if value["name"] == "copy"]
    assert re.findall("<h2>(.*)</h2>", page) == ["made.py", "used.py"]
    assert re.findall('<li><a href="(#f[0-9])">(.*?)</a></li>', page) == [("#f1", "made.py"), ("#f2", "used.py")]
    assert isinstance(copy["story"], list)
    assert copy["story"][0]["at"] == "made.py, line 3"
    assert copy["story"][0]["link"] == "#f1l3"


def test_what_cannot_be_analysed_is_shown_all_the_same(tmp_path: Path, run: Devlint) -> None:
    (tmp_path / "bad.py").write_text("import torch\nx = (\n")
    result = run("show", "bad.py", "gone.py")

    assert result.exit_code == 2
    assert "DEV901" in result.stdout
    assert result.stderr == "error: gone.py: no such file or folder\n"


def test_a_browser_shows_the_card_of_a_value(program: Path, run: Devlint, tmp_path: Path) -> None:
    run("show", "a.py", "--html", "out.html")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    number = [value["name"] for value in _data(page)].index("b")

    before = document_after_scripts(tmp_path / "out.html", tmp_path / "one")
    after = document_after_scripts(tmp_path / "out.html", tmp_path / "two", fragment=f"#v{number}")

    assert '<div id="card" role="status" hidden=""></div>' in before
    card = after.partition('<div id="card"')[2]
    assert re.match(r"[^>]*hidden", card) is None
    assert '<h3>b<span class="chip a0">cuda:0</span></h3><p>tensor</p>' in card
    assert 'moved to cuda:0 by <code>.to()</code>, <a href="#f1l14">line 14</a>' in card


def test_a_browser_shows_devices_in_their_colours(program: Path, run: Devlint, tmp_path: Path) -> None:
    run("show", "a.py", "--html", "out.html")
    seen = tints_on_screen(tmp_path / "out.html", tmp_path / "profile")
    assert min(seen["cpu"], seen["a0"]) > 200
    assert seen["a3"] == 0
