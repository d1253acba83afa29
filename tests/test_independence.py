"""The reports of a file do not depend on the other files of the run, nor on their order or the number of processes.

The limits of the analysis, on the depth of calls and on the number of entries of a function, are those of each file.
"""

from __future__ import annotations

import functools
from pathlib import Path
from random import Random

import pytest
from devlint import engine
from devlint.analysis.summary.roots import DEEPEST_SUMMARY
from devlint.diagnostics import Diagnostic
from devlint.inspector import load_tools
from devlint.settings import Settings

MAKE = "import torch\n\n\ndef make(number):\n    return torch.ones(number) if number > 3 else torch.zeros(number)\n\n\n"
MEET = 'import torch\nfrom lib import {name}\n\n\ndef use():\n    return {call} + torch.ones(3, device="cuda:0")\n'

_tools = functools.cache(load_tools)


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("")


def _reports(*paths: str) -> tuple[Diagnostic, ...]:
    return engine.run(Settings(paths, select=("DEV1",), jobs=1), load=_tools).outcome.diagnostics


def _of(file: str, reports: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    return tuple(one for one in reports if one.place.file == file)


def test_entries_of_one_file_are_not_taken_from_another() -> None:
    calls = "\n".join(f"    make({number})" for number in range(60))
    Path("lib.py").write_text(MAKE)
    Path("a.py").write_text(f"import torch, b\nfrom lib import make\n\n\ndef many():\n{calls}\n    b.use()\n")
    Path("b.py").write_text(MEET.format(name="make", call="make(1000)"))
    alone = _reports("b.py")
    assert [(one.code, one.place.line) for one in alone] == [("DEV101", 6)]
    assert _of("b.py", _reports("a.py", "b.py")) == alone


def test_what_is_too_deep_for_one_file_is_not_for_another() -> None:
    last = DEEPEST_SUMMARY + 2
    chain = "".join(f"def f{number}():\n    return f{number + 1}()\n\n\n" for number in range(last))
    Path("lib.py").write_text(f"{MAKE}{chain}def f{last}():\n    return torch.ones(3)\n")
    Path("a.py").write_text(MEET.format(name="f0", call="f0()"))
    Path("b.py").write_text(MEET.format(name="f4", call="f4()"))
    alone = _reports("b.py")
    assert [(one.code, one.place.line) for one in alone] == [("DEV101", 6)]
    assert _reports("a.py") == ()
    assert _reports("a.py", "b.py") == alone
    Path("a.py").rename("c.py")
    assert _reports("b.py", "c.py") == alone


def test_a_class_knows_the_names_of_its_file_before_that_is_reported() -> None:
    Path("lib.py").write_text(
        "import torch\nimport torch.nn.functional as F\n\nDEVICE = 'cuda:0'\n\n\nclass Step:\n"
        "    device = DEVICE\n\n    def take(self, x, function=F.relu):\n"
        "        return function(x) + torch.ones(3, device=self.device)\n"
    )
    for name in ("a.py", "b.py"):
        Path(name).write_text(
            "import torch\nfrom lib import Step\n\n\ndef use():\n    return Step().take(torch.ones(3))\n"
        )
    alone = _reports("a.py")
    assert [(one.code, one.place.file, one.place.line) for one in alone] == [("DEV101", "lib.py", 11)]
    assert [one.place for one in _reports("lib.py", "b.py", "a.py")] == [one.place for one in alone]


def _library(random: Random) -> str:
    """Functions that call each other: deeper, in circles, with many constants, with objects."""
    text = "import torch\n\n\nclass Thing:\n    def __init__(self, made):\n        self.made = made\n"
    count = 16
    for number in range(count):
        others = [random.randrange(count) for _ in range(2)] + [min(number + 1, count - 1)] * 2
        lines = []
        for other in others:
            argument = random.choice(("n", "n + 1", str(random.randrange(90)), "thing"))
            given = f"{random.randrange(9)}, thing" if argument == "thing" else argument
            lines.append(f"    if n > {random.randrange(9)}:\n        return f{other}({given})\n")
        body = random.choice(("torch.ones(n)", "thing.made", "f15(7)", "torch.zeros(3, device='cuda:1')"))
        text += f"\n\ndef f{number}(n, thing=None):\n{''.join(lines)}    return {body}\n"
    return text


def _user(random: Random) -> str:
    called = [random.randrange(16) for _ in range(4)]
    text = f"import torch\nfrom lib import Thing, {', '.join(sorted({f'f{number}' for number in called}))}\n"
    for number, name in enumerate(called):
        calls = "".join(f"    f{name}({random.randrange(90)})\n" for _ in range(random.choice((0, 20))))
        given = random.choice(("3", "x", "x, Thing(x)", str(random.randrange(90))))
        text += f'\n\ndef use{number}(x):\n{calls}    return f{name}({given}) + torch.ones(3, device="cuda:0")\n'
    return text


KNOWN = 163
"""A program whose report rests on the callers of a function, which the analysis of another file has seen to run."""

SEEDS = [
    *range(3),
    *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 60)),
    pytest.param(KNOWN, marks=[pytest.mark.long, pytest.mark.xfail(reason="callers are noted for all roots")]),
]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_file_is_reported_as_if_it_were_alone(seed: int) -> None:
    random = Random(seed)
    Path("lib.py").write_text(_library(random))
    names = ["a.py", "b.py", "c.py", "d.py"]
    for name in names:
        Path(name).write_text(_user(random))
    together = _reports(*names)
    for name in names:
        assert _reports(name) == _of(name, together), name
