"""A mistake in one file that calls in other files show: one report, at the line that raises."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from devlint import engine
from devlint.cli import devlint
from devlint.flake8 import Plugin
from devlint.settings import Settings

from tests.cli.git import commit, git

LIB = "import torch\n\n\ndef shifted(x):\n    steps = torch.arange(3)\n    return x + steps\n"
ONE = "import torch\n\nfrom lib import shifted\n\nx = torch.ones(3, device='cuda:0')\nshifted(x)\nshifted(x * 2)\n"
TWO = "import torch\n\nfrom lib import shifted\n\nshifted(torch.ones(3, device='cuda:0'))\n"
IGNORED = LIB.replace("x + steps", "x + steps  # devlint: ignore[DEV101] checked by hand")
LEFT_BEHIND = """\
import torch

class Net(torch.nn.Module):
    def __init__(self, cell="gru"):
        super().__init__()
        self.one = torch.nn.Embedding(3, 3)
        self.two = getattr(torch.nn, cell.upper())(3, 3) if cell else torch.nn.GRU(3, 3)

    def forward(self, inputs=None, function=None):
        kept = None
        if inputs is None:
            inputs = torch.zeros(3, dtype=torch.long)
            if torch.cuda.is_available():
                inputs = inputs.cuda()
        for turn in range(3):
            y, kept = self.step(inputs[:, 0].unsqueeze(1), kept, function=function)
        return y

    def step(self, x, kept, function):
        y = self.one(x)
        z, kept = self.two(y, kept)
        return z, kept
"""
SELECTED = ("--select", "DEV1,DEV902", "--output-format", "json")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go to a project with a mistake in `lib.py`, which three calls in two files show."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"pyproject.toml": "", "lib.py": LIB, "one.py": ONE, "two.py": TWO}.items():
        _write(name, text)


def _write(name: str, text: str) -> None:
    Path(name).write_text(text)


def _devlint(*arguments: str) -> Result:
    return CliRunner().invoke(devlint, arguments)


def _reports(*arguments: str) -> list[tuple[str, int, str]]:
    output = _devlint("check", *arguments, *SELECTED).stdout
    return [(one["file"], one["line"], one["code"]) for one in json.loads(output)["diagnostics"]]


def test_one_report_stands_at_the_operation_and_names_its_calls() -> None:
    (report,) = json.loads(_devlint("check", ".", *SELECTED).stdout)["diagnostics"]
    assert (report["file"], report["line"]) == ("lib.py", 6)
    calls = [(one["file"], one["line"], one["message"]) for one in report["related"] if "call" in one["message"]]
    assert calls == [
        ("one.py", 6, "this call leads to the operation"),
        ("one.py", 7, "this call also leads to the operation, and so does one more call"),
    ]


def test_the_call_of_the_wrong_module_is_the_place_and_neither_its_layer_nor_the_entry() -> None:
    program = (
        "import torch\n\n"
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = torch.nn.Linear(3, 3)\n        self.to('cuda:0')\n\n"
        "    def forward(self, x):\n        return self.fc(x)\n\n"
        "class User:\n    def __init__(self, net):\n        self.net = net\n\n"
        "    def use(self):\n        x = torch.ones(3)\n        return self.net(x)\n\n"
        "user = User(Net())\nuser.use()\n"
    )
    _write("program.py", program)
    _, place, *lines = _devlint("check", "program.py", "--select", "DEV102", "--isolated").stdout.splitlines()
    assert place.endswith("program.py:18:16")
    assert lines[:5] == [
        "   |",
        "18 |         return self.net(x)",
        "   |                ^^^^^^^^ ^ cpu",
        "   |                |",
        "   |                cuda:0",
    ]
    assert lines.index("note: this call leads to the operation") < lines.index("21 | user.use()")
    assert "note: `Linear` needs its input on the device of its parameters here" in lines


@pytest.mark.parametrize("paths", [("one.py",), ("two.py",), ("two.py", "lib.py"), ("--whole-project", "lib.py")])
def test_a_named_call_or_operation_shows_the_report(paths: tuple[str, ...]) -> None:
    assert _reports(*paths) == [("lib.py", 6, "DEV101")]


@pytest.mark.parametrize("options", [("--jobs", "2"), ("--no-cache",), ()])
def test_neither_processes_nor_the_cache_change_the_report(options: tuple[str, ...]) -> None:
    first = _devlint("check", ".", "--select", "DEV1", "--no-cache", "--jobs", "1").stdout
    for _ in range(2):
        assert _devlint("check", ".", "--select", "DEV1", *options).stdout == first


def test_the_cache_forgets_a_report_with_the_call_that_shows_it() -> None:
    for _ in range(2):
        assert _reports(".") == [("lib.py", 6, "DEV101")]
    for name in ("one.py", "two.py"):
        _write(name, "import lib\n")
    assert _reports(".") == []


@pytest.mark.parametrize("paths", [(".",), ("lib.py",), ("one.py",), ("lib.py", "two.py")])
def test_a_comment_at_the_operation_silences_it(paths: tuple[str, ...]) -> None:
    _write("lib.py", IGNORED)
    for _ in range(2):
        assert _reports(*paths) == []


def test_a_comment_that_no_call_needs_is_reported() -> None:
    _write("lib.py", IGNORED)
    _write("one.py", "")
    assert _reports(".") == []
    _write("two.py", "import lib\n")
    assert _reports(".") == [("lib.py", 6, "DEV902")]
    assert _reports("lib.py") == [], "the run has not seen the files that import it"


def test_a_fix_changes_the_called_file_if_that_is_named() -> None:
    _devlint("check", "one.py", "--select", "DEV101", "--fix", "--unsafe-fixes")
    assert Path("lib.py").read_text() == LIB
    for _ in range(2):
        _devlint("check", ".", "--select", "DEV101")
    _devlint("check", ".", "--select", "DEV101", "--fix")
    assert Path("lib.py").read_text() == LIB.replace("arange(3)", "arange(3, device=x.device)")
    assert _reports(".") == []


def test_a_report_in_an_excluded_file_stands_at_the_call() -> None:
    _write("pyproject.toml", "[tool.devlint]\nexclude = ['lib.py']\n")
    assert _reports(".") == [("one.py", 6, "DEV101"), ("two.py", 5, "DEV101")]


def test_the_configuration_of_the_called_file_decides() -> None:
    _write("pyproject.toml", "[tool.devlint.per-file-ignores]\n'lib.py' = ['DEV101']\n")
    assert _reports(".") == []


def test_a_baseline_that_names_the_calls_still_holds() -> None:
    _write("pyproject.toml", "[tool.devlint]\nexclude = ['lib.py']\nbaseline = 'accepted.json'\n")
    _devlint("baseline", ".", "--select", "DEV101")
    at_calls = json.loads(Path("accepted.json").read_text())["entries"]
    assert [one["file"] for one in at_calls] == ["one.py", "two.py"]
    _write("pyproject.toml", "[tool.devlint]\nbaseline = 'accepted.json'\n")
    assert _devlint("check", ".", "--select", "DEV101", "--fail-on-stale").exit_code == 0
    _devlint("baseline", ".", "--select", "DEV101", "--prune")
    assert [one["file"] for one in json.loads(Path("accepted.json").read_text())["entries"]] == ["lib.py"]
    assert _devlint("check", ".", "--select", "DEV101", "--fail-on-stale").exit_code == 0


@pytest.mark.parametrize("paths", [(".",), ("two.py",)])
def test_a_call_that_shows_an_old_mistake_is_new_since_a_commit(paths: tuple[str, ...], tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", ".")
    _write("one.py", "import lib\n")
    _write("two.py", TWO.replace("cuda:0", "cpu"))
    commit(tmp_path)
    assert _reports("--diff-base", "main", *paths) == []
    _write("two.py", TWO)
    assert _reports("--diff-base", "main", *paths) == [("lib.py", 6, "DEV101")]
    commit(tmp_path)
    _write("two.py", f"# a new line\n{TWO}")
    assert _reports("--diff-base", "main", *paths) == []


def test_flake8_and_show_report_at_the_call() -> None:
    settings = Settings(("one.py",), select=("DEV101",))
    (look,) = engine.look(settings).files
    assert [(one.place.file, one.place.line) for one in look.result.diagnostics] == [("one.py", 6)]
    found = [(line, text.split()[0]) for line, _, text, _ in Plugin(ast.parse(ONE), "one.py", []).run()]
    assert (6, "DEV101") in found


def test_of_the_operations_that_one_value_breaks_the_first_to_run_is_reported() -> None:
    _write(
        "lib.py",
        "import torch\n\n\ndef product(parts, names):\n"
        "    first = parts[names[0]]\n    total = torch.eye(3, dtype=first.dtype)\n"
        "    for name in names:\n        column = parts[name][:, None]\n"
        "        total = total - total @ column @ column.mT\n    return total\n\n\n"
        "product({'a': torch.ones(3, device='cuda:0')}, ['a', 'a'])\n",
    )
    (report,) = json.loads(_devlint("check", "lib.py", "--select", "DEV101", "--output-format", "json").stdout)[
        "diagnostics"
    ]
    assert report["message"].endswith("`@` needs both on the same device")


def test_a_module_left_on_the_cpu_has_one_report_for_the_parts_that_an_input_meets() -> None:
    _write("lib.py", LEFT_BEHIND)
    _write("one.py", "import torch\nfrom lib import Net\n\nnet = Net()\nnet()\n")
    output = _devlint("check", "one.py", "--select", "DEV102", "--output-format", "json").stdout
    assert [(one["file"], one["line"]) for one in json.loads(output)["diagnostics"]] == [("lib.py", 20)]
