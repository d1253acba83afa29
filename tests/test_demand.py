"""The arguments of all callers decide whether a conflict inside a function is reported, whichever files are named.

Each project is a few files. Each test asks which lines are reported.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint import engine
from devlint.cli import devlint
from devlint.diagnostics import Certainty
from devlint.settings import Settings

ADDS = "import torch\n\n\ndef shifted(x: torch.Tensor):\n    return x + torch.zeros(3)\n"
"""`shifted` is wrong in line 5 if its argument is on an accelerator."""

ON_DEVICE = "import torch\nfrom lib import shifted\n\n\ndef main(device):\n    shifted(torch.ones(3).to(device))\n"
ON_CPU = "import torch\nfrom lib import shifted\n\n\ndef main(batch):\n    shifted(batch.cpu())\n"
UNKNOWN = "from lib import shifted\n\n\ndef main(load):\n    shifted(load())\n"
MOVED_LATER = "from lib import shifted\n\n\ndef main(load, device):\n    x = shifted(load())\n    x = x.to(device)\n"
BUILT = "from setuptools import setup\n\nsetup(name='lib')\n"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()
    Path("start.py").write_text("if __name__ == '__main__':\n    print()\n")  # so that it is a program


def _write(files: Mapping[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def _reported(*paths: str) -> list[tuple[str, int, str]]:
    run = engine.run(Settings(paths or (".",), select=("DEV1",), jobs=1))
    assert not run.problems
    return [(one.place.file, one.place.line, one.code) for one in run.outcome.diagnostics]


FOUND = [("lib.py", 5, "DEV103")]


@pytest.mark.parametrize(
    ("callers", "found"),
    [
        ([ON_DEVICE], FOUND),
        ([ON_CPU], []),
        ([UNKNOWN], []),
        ([], []),
        ([ON_CPU, ON_DEVICE], FOUND),
        ([UNKNOWN, ON_DEVICE], FOUND),
    ],
    ids=["accelerator", "cpu", "unknown", "nobody", "both", "unknown and accelerator"],
)
def test_the_calls_of_a_program_decide(callers: list[str], found: list[tuple[str, int, str]]) -> None:
    _write({"lib.py": ADDS, **{f"run{number}.py": text for number, text in enumerate(callers)}})
    assert _reported() == found


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, True),
        ({"pkg/use.py": UNKNOWN.replace("lib", "pkg.lib")}, True),
        ({"pkg/use.py": ON_CPU.replace("lib", "pkg.lib")}, False),
        ({"pkg/use.py": MOVED_LATER.replace("lib", "pkg.lib")}, False),
        ({"tests/test_lib.py": ON_CPU.replace("lib", "pkg.lib")}, True),
    ],
    ids=["nobody", "unknown", "cpu", "moved later", "a test on the CPU"],
)
def test_a_library_is_there_for_others_unless_a_call_says_otherwise(files: Mapping[str, str], *, found: bool) -> None:
    _write({"setup.py": BUILT, "pkg/__init__.py": "", "pkg/lib.py": ADDS, **files})
    assert _reported() == [("pkg/lib.py", 5, "DEV103")] * found


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("setup.cfg", "[flake8]\nmax-line-length = 100\n", False),
        ("setup.cfg", "[tool:pytest]\naddopts = -q\n\n[mypy]\nstrict = True\n", False),
        ("setup.cfg", "# [metadata]\n[isort]\nprofile = black\n", False),
        ("setup.cfg", "[flake8]\n\n[metadata]\nname = pkg\n", True),
        ("setup.cfg", "[options]\npackages = find:\n", True),
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", False),
        ("pyproject.toml", "[project]\nname = 'pkg'\n", True),
        ("setup.py", "", True),
    ],
)
def test_only_a_file_that_says_how_to_install_makes_a_library(name: str, text: str, *, found: bool) -> None:
    run = 'if __name__ == "__main__":\n    print()\n'
    _write({name: text, "pkg/__init__.py": "", "pkg/lib.py": ADDS, "run.py": run})
    assert _reported() == [("pkg/lib.py", 5, "DEV103")] * found


@pytest.mark.parametrize(
    ("caller", "found"),
    [
        ("", False),
        ("\n\ndef public(load):\n    return _shifted(load())\n", False),
        ("\n\ndef public(load):\n    return load(_shifted)\n", True),
        ("\n\ndef public(x):\n    return _shifted(x)\n", True),
        ("\n\ndef public(load, device):\n    return _shifted(load().to(device))\n", True),
    ],
    ids=["nobody", "unknown", "a call that nobody knows", "what others pass", "accelerator"],
)
def test_only_the_library_itself_calls_its_private_functions(caller: str, *, found: bool) -> None:
    text = ADDS.replace("shifted", "_shifted") + caller
    _write({"setup.py": BUILT, "pkg/__init__.py": "", "pkg/lib.py": text})
    assert _reported() == [("pkg/lib.py", 5, "DEV103")] * found


@pytest.mark.parametrize(("base", "found"), [("object", False), ("torch.distributions.Distribution", True)])
def test_a_base_class_of_another_library_may_call_private_methods(base: str, *, found: bool) -> None:
    text = f"import torch\n\n\nclass Shift({base}):\n    def _shifted(self, x: torch.Tensor):\n"
    text += "        return x + torch.zeros(3)\n"
    _write({"setup.py": BUILT, "pkg/__init__.py": "", "pkg/lib.py": text})
    assert _reported() == [("pkg/lib.py", 6, "DEV103")] * found


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("torch.zeros(3, device=x.device)", False),
        ("torch.zeros(3).type_as(x)", False),
        ("x.to(device)", True),
        ("torch.zeros(3, device=device)", True),
    ],
)
@pytest.mark.parametrize("other", ["torch.ones(3)", "torch.ones(3), []"])
def test_what_a_call_passes_beside_a_cpu_tensor(other: str, given: str, *, found: bool) -> None:
    lib = "def add(x, y, rows=None):\n    return x + y\n"
    use = "import torch\nfrom data import load\nfrom pkg.lib import add\n\n\ndef use(device):\n    x = load()\n"
    use += f"    return add({given}, {other})\n"
    _write({"setup.py": BUILT, "pkg/__init__.py": "", "pkg/lib.py": lib, "pkg/use.py": use})
    assert [code for _, _, code in _reported() if code == "DEV103"] == ["DEV103"] * found


def test_a_function_that_is_called_like_the_method_of_a_module() -> None:
    _write({"lib.py": ADDS.replace("shifted", "forward"), "run.py": ON_DEVICE.replace("shifted", "forward")})
    assert _reported("lib.py") == FOUND


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("torch.empty(0)", []),
        ("torch.zeros((0, 3))", []),
        ("torch.tensor([])", []),
        ("torch.Tensor()", []),
        ("torch.zeros(3)", [("pkg/lib.py", 6, "DEV103")]),
        ("torch.tensor([0.0])", [("pkg/lib.py", 6, "DEV103")]),
    ],
)
def test_a_tensor_without_elements_holds_a_place(made: str, found: list[tuple[str, int, str]]) -> None:
    program = "import torch\n\n\ndef loss(scores: torch.Tensor, wanted: list[torch.Tensor]):\n"
    program += f"    target = torch.cat(wanted) if wanted else {made}\n    return scores - target\n"
    _write({"setup.py": BUILT, "pkg/__init__.py": "", "pkg/lib.py": program})
    assert _reported() == found


JOINED = [("pkg/lib.py", 5, "DEV103")]


@pytest.mark.parametrize(
    ("behind", "found"), [(".to(device)", []), (".cuda()", []), ("", JOINED), (".float()", JOINED)]
)
def test_a_result_that_moves_next(behind: str, found: list[tuple[str, int, str]]) -> None:
    program = "import torch\n\n\ndef padded(x: torch.Tensor, device):\n"
    program += f"    return torch.cat([x, torch.zeros(3)]){behind}\n"
    _write({"setup.py": BUILT, "pkg/__init__.py": "", "pkg/lib.py": program})
    assert _reported() == found


def test_what_nobody_runs_is_there_for_others() -> None:
    _write({"lib.py": ADDS})
    assert _reported() == []
    Path("start.py").unlink()
    assert _reported() == FOUND
    _write({"run.py": UNKNOWN})
    assert _reported() == FOUND
    _write({"run.py": UNKNOWN + "\n\nmain(open)\n"})  # which runs it
    assert _reported() == []


def test_a_script_of_a_library_is_a_program() -> None:
    _write({"setup.py": BUILT, "lib.py": ADDS})
    assert _reported() == []


def test_calls_are_followed_through_other_files_and_functions() -> None:
    _write(
        {
            "lib.py": ADDS,
            "pkg/__init__.py": "from lib import *\n",
            "steps.py": "import pkg\n\n\ndef step(batch):\n    return pkg.shifted(batch)\n",
            "train.py": "from steps import step\n\n\ndef train(loader, device):\n"
            "    for batch in loader:\n        step(batch.to(device))\n",
        }
    )
    assert _reported() == FOUND


PARTS = "import torch\n\n\ndef shifted(given):\n    return torch.add({part}, torch.zeros(3))\n"
WHOLE = (
    "from dataclasses import dataclass\n\nimport torch\nfrom lib import shifted\n\n\n"
    "@dataclass\nclass Batch:\n    x: torch.Tensor\n    y: torch.Tensor\n\n\n"
    "def main(x, y, device):\n    x, y = x.to(device), y.cpu()\n    shifted({whole})\n"
)


@pytest.mark.parametrize(
    ("part", "whole", "found"),
    [
        ("given['x']", "{'x': x, 'y': y}", True),
        ("given['y']", "{'x': x, 'y': y}", False),
        ("given[0]", "[x, y]", True),
        ("given[1]", "(x, y)", False),
        ("given.x", "Batch(x, y)", True),
        ("given.y", "Batch(x, y)", False),
    ],
)
def test_parts_of_what_is_handed_over_are_told_apart(part: str, whole: str, *, found: bool) -> None:
    _write({"lib.py": PARTS.replace("{part}", part), "run.py": WHOLE.replace("{whole}", whole)})
    assert [code for _, _, code in _reported()] == ["DEV103"] * found


def test_a_method_is_called_by_what_other_files_make() -> None:
    _write(
        {
            "lib.py": "import torch\n\n\nclass Metric:\n"
            "    def add(self, x: torch.Tensor):\n        self.total = x + torch.zeros(3)\n",
            "run.py": "from lib import Metric\n\n\ndef main(x, device):\n"
            "    metric = Metric()\n    metric.add(x.to(device))\n",
        }
    )
    assert _reported() == [("lib.py", 6, "DEV103")]


@pytest.mark.parametrize("paths", [("lib.py",), (".",), ("run0.py", "lib.py"), ("lib.py", "run1.py")])
def test_naming_files_only_filters(paths: tuple[str, ...]) -> None:
    _write({"lib.py": ADDS, "run0.py": ON_CPU, "run1.py": ON_DEVICE})
    assert _reported(*paths) == FOUND


def test_the_order_of_files_does_not_matter() -> None:
    files = {"a.py": ADDS.replace("shifted", "f"), "b.py": ADDS.replace("shifted", "g")}
    files["c.py"] = "from a import f\nfrom b import g\n\n\ndef both(x):\n    f(x)\n    g(x)\n"
    files["d.py"] = "from c import both\n\n\ndef main(x, device):\n    both(x.to(device))\n"
    _write(files)
    expected = [("a.py", 5, "DEV103"), ("b.py", 5, "DEV103")]
    for order in itertools.permutations(files):
        assert _reported(*order) == expected


TYPE = ADDS.replace("shifted", "noisy") + "\n\ndef run(x, device):\n    noisy(x.to(device))\n"
SETS = "import torch\n\n\ndef use_cuda():\n    torch.set_default_tensor_type('torch.cuda.FloatTensor')\n"
BOTH = "import noise\nimport setup_torch\n\nsetup_torch.use_cuda()\nnoise.run(noise.torch.ones(3), 'cuda')\n"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, True),
        ({"setup_torch.py": SETS}, True),
        ({"setup_torch.py": SETS, "main.py": BOTH}, False),
        ({"setup_torch.py": SETS, "tests/test_it.py": BOTH}, False),
        ({"test_torch.py": SETS, "main.py": BOTH.replace("setup_torch", "test_torch")}, True),
    ],
    ids=["alone", "another program", "one program", "one program by a test", "set by a test"],
)
def test_another_file_of_the_program_may_choose_the_default(files: Mapping[str, str], *, found: bool) -> None:
    _write({"noise.py": TYPE, **files})
    assert [one for one in _reported() if one[0] == "noise.py"] == [("noise.py", 5, "DEV103")] * found


def test_a_kept_result_rests_on_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEVLINT_CACHE_DIR", str(tmp_path / "kept"))

    def check() -> str:
        return CliRunner().invoke(devlint, ["check", "lib.py", "--select", "DEV1", "--output-format", "concise"]).stdout

    _write({"lib.py": ADDS, "run.py": ON_CPU})
    assert "DEV103" not in check()
    _write({"other.py": ON_DEVICE})  # a caller appears
    assert "DEV103" in check()
    assert "DEV103" in check()
    _write({"other.py": ON_CPU})  # it hands over something else
    assert "DEV103" not in check()
    _write({"other.py": ON_DEVICE})
    assert "DEV103" in check()
    Path("other.py").unlink()
    assert "DEV103" not in check()
    _write({"run.py": "from steps import run\n", "steps.py": ON_CPU.replace("batch.cpu()", "batch.cuda()")})
    assert "DEV103" in check()


def test_the_report_shows_the_call() -> None:
    _write({"lib.py": ADDS, "run.py": ON_DEVICE})
    (found,) = engine.run(Settings(("lib.py",), select=("DEV1",), jobs=1)).outcome.diagnostics
    shown = [(one.place.file, one.place.line, one.message) for one in found.related]
    assert ("run.py", 6, "this call hands over a tensor on an accelerator") in shown


@pytest.mark.parametrize(
    ("option", "table", "found"),
    [
        ([], "", []),
        (["--min-certainty", "possible"], "", ["possible"]),
        ([], "min-certainty = 'possible'\n", ["possible"]),
        (["--min-certainty", "certain"], "min-certainty = 'possible'\n", []),
    ],
)
def test_possible_errors_are_reported_if_asked_for(option: list[str], table: str, found: list[str]) -> None:
    _write({"lib.py": ADDS, "run.py": UNKNOWN, "devlint.toml": table})
    result = CliRunner().invoke(devlint, ["check", "lib.py", "--output-format", "json", "--no-cache", *option])
    assert [one["certainty"] for one in json.loads(result.stdout)["diagnostics"]] == found


def test_the_least_certainty_hides_the_others() -> None:
    _write({"lib.py": ADDS + "\n\nshifted(torch.ones(3, device='cuda'))\ntorch.ones(3).cuda() + torch.ones(3)\n"})

    def codes(*option: str) -> list[str]:
        result = CliRunner().invoke(devlint, ["check", "--select", "DEV1", "--output-format", "json", *option])
        return [one["code"] for one in json.loads(result.stdout)["diagnostics"]]

    assert codes("--no-cache") == ["DEV103", "DEV101"]
    assert codes("--no-cache", "--min-certainty", "certain") == ["DEV101"]


@pytest.mark.parametrize(
    ("branch", "certainty"),
    [("", Certainty.CERTAIN), ("if len(sys.argv) > 9:\n    ", Certainty.ON_ACCELERATOR)],
    ids=["call", "call inside a branch"],
)
def test_a_call_that_need_not_happen_is_no_certain_error(branch: str, certainty: Certainty) -> None:
    lib = "import torch\n\n\ndef add(device):\n    return torch.ones(3, device=device) + torch.ones(3).cuda()\n"
    _write({"lib.py": lib, "run.py": f"import sys\nfrom lib import add\n\nadd('cuda:0')\n{branch}add('cuda:1')\n"})
    (found,) = engine.run(Settings((".",), select=("DEV101",), jobs=1)).outcome.diagnostics
    assert (found.place.file, found.place.line, found.certainty) == ("lib.py", 5, certainty)


def test_a_comment_on_a_possible_error_is_needed() -> None:
    _write(
        {
            "lib.py": ADDS.replace("torch.zeros(3)", "torch.zeros(3)  # devlint: ignore[DEV103] fed by hand"),
            "run.py": UNKNOWN,
        }
    )
    run = engine.run(Settings(("lib.py",), select=("ALL",), jobs=1))
    assert [one.code for one in run.outcome.diagnostics] == []


def test_an_unknown_certainty_is_refused() -> None:
    _write({"lib.py": ADDS, "devlint.toml": "min-certainty = 'likely'\n"})
    result = CliRunner().invoke(devlint, ["check", "lib.py"])
    assert result.exit_code == 2
    assert 'min-certainty: one of "certain", "on-accelerator", "possible" is wanted, this is "likely"' in result.stderr


def test_standard_input_without_a_name_stands_alone() -> None:
    text = ADDS.encode()
    assert len(engine.run(Settings(("-",), select=("DEV1",)), stdin=text).outcome.diagnostics) == 1
    _write({"lib.py": ADDS})
    named = Settings(("-",), select=("DEV1",), stdin_filename="lib.py")
    assert len(engine.run(named, stdin=text).outcome.diagnostics) == 0


NET = (
    "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self, noise='none'):\n"
    "        super().__init__()\n        self.fc = nn.Linear(3, 3)\n        self.noise = noise\n\n"
    "    def forward(self, x):\n        return self.fc(x)\n\n"
    "    def sample(self, count):\n        return self.fc(torch.zeros(count, 3))\n"
)
"""`sample` is wrong in its last line if the module is on an accelerator."""

SAMPLED = [("net.py", 15, "DEV103")]


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("net.sample(3)", SAMPLED),
        ("getattr(net, 'sample')(3)", SAMPLED),
        ("draw = net.sample", SAMPLED),
        ("net.eval()", []),
        ("print('sample')", []),
    ],
)
def test_a_method_that_nothing_calls_is_merely_possible(use: str, found: list[tuple[str, int, str]]) -> None:
    program = (
        f"import torch\nfrom net import Net\n\n\ndef main(load, device):\n    net = load().to(device)\n    {use}\n"
    )
    _write({"net.py": NET, "run.py": program})
    assert _reported() == found


def test_a_method_of_a_library_is_for_other_callers() -> None:
    _write({"setup.py": BUILT, "pkg/__init__.py": "", "pkg/net.py": NET})
    assert _reported() == [("pkg/net.py", 15, "DEV103")]


NOISY = (
    "import torch\n\n\nclass Agent:\n    def __init__(self, noise, device):\n        self.noise = noise\n"
    "        self.net = torch.nn.Linear(3, 3).to(device)\n\n"
    "    def act(self, x):\n        return self.noisy(self.net(x))\n\n"
    "    def noisy(self, x):\n        if self.noise == 'normal':\n"
    "            return torch.cat([x, torch.zeros(3, 3)])\n"
    "        return x\n"
)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["'none'"], []),
        (["'normal'"], [("agent.py", 14, "DEV103")]),
        (["'none'", "'normal'"], [("agent.py", 14, "DEV103")]),
        (["options.noise"], [("agent.py", 14, "DEV103")]),
    ],
)
def test_options_that_no_call_chooses(options: list[str], found: list[tuple[str, int, str]]) -> None:
    program = "import torch\nfrom agent import Agent\n\n\ndef main(options, device):\n"
    program += "".join(f"    Agent({one}, device).act(torch.ones(3, 3).to(device))\n" for one in options)
    _write({"agent.py": NOISY, "run.py": program})
    assert _reported() == found


ENTRY = "import torch\nfrom net import Net\n\nif __name__ == '__main__':\n    net = Net()\n    net.sample(3)\n"


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({}, []),
        ({"other.py": "import torch\n\nprint(torch.ones(3).cuda())\n"}, []),
        ({"train.py": "from net import Net\n\nNet().cuda().sample(3)\n"}, SAMPLED),
        ({"load.py": "import importlib\n\nimportlib.import_module('net')\n"}, SAMPLED),
    ],
)
def test_a_program_that_puts_nothing_on_an_accelerator(
    more: Mapping[str, str], found: list[tuple[str, int, str]]
) -> None:
    _write({"net.py": NET, "run.py": ENTRY, **more})
    assert [one for one in _reported() if one[0] == "net.py"] == found


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("load()", []),
        ("load().features", []),
        ("load().to(device)", ["DEV103"]),
        ("torch.zeros(3, device=device)", ["DEV103"]),
    ],
)
def test_inputs_of_a_module_on_the_cpu_are_there_unless_something_puts_them_elsewhere(
    given: str, found: list[str]
) -> None:
    program = (
        "import torch\nfrom net import Net\n\n\ndef main(device):\n    from data import load\n\n"
        f"    net = Net()\n    torch.cuda.init()\n    return net({given})\n"
    )
    data = "import json\n\n\ndef load():\n    return json.load(open('x'))\n"
    _write({"net.py": NET, "data.py": data, "run.py": program})
    assert [code for file, _, code in _reported() if file == "run.py"] == found


FILLS = (
    "def send(batch, device):\n    for key in batch:\n        batch[key] = batch[key].to(device)\n\n\n"
    "def look(batch, device):\n    for key in batch:\n        print(batch[key].to(device))\n"
)


@pytest.mark.parametrize(("function", "found"), [("send", []), ("look", ["DEV102"])])
def test_a_batch_that_a_function_fills(function: str, found: list[str]) -> None:
    program = (
        f"import torch\nfrom fills import {function}\nfrom torch.utils.data import DataLoader\n\n\n"
        "def main(dataset):\n    net = torch.nn.Linear(3, 3).to('cuda:0')\n"
        f"    for batch in DataLoader(dataset):\n        {function}(batch, 'cuda:0')\n        net(batch['x'])\n"
    )
    _write({"fills.py": FILLS, "run.py": program})
    assert [code for _, _, code in _reported()] == found
