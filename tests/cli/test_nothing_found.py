"""What a run says that has found nothing: how many files it has checked, and which script can be rehearsed."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import pytest

from tests.cli.stand_in import Shell

MAIN = "import torch\n\nif __name__ == '__main__':\n    print(torch.ones(3))\n"
LOOP = "import torch\n\nfor step in range(3):\n    torch.ones(step)\n"
LIBRARY = "import torch\n\n\ndef made():\n    return torch.ones(3)\n"
NET = "import torch\n\ntorch.manual_seed(0)\n\n\nclass Net(torch.nn.Module): ...\n\n\nnet = Net()\n"
HINT = "A rehearsal checks the code that it runs: `devlint rehearse {}`\n"


@pytest.mark.parametrize(
    ("files", "script"),
    [
        ({"train.py": MAIN}, "train.py"),
        ({"train.py": LOOP}, "train.py"),
        ({"a.py": LOOP, "b.py": MAIN}, "b.py"),
        ({"a/run.py": MAIN, "b.py": LIBRARY, "tools.py": MAIN, "z.py": MAIN}, "tools.py"),
        ({"my run.py": MAIN}, "'my run.py'"),
        ({"net.py": NET, "use.py": NET + "print(net)\n"}, "use.py"),
        ({"net.py": NET, "use.py": NET + "y = net(torch.ones(3))\n"}, "use.py"),
        ({"net.py": NET, "use.py": LIBRARY + "print(made().cuda())\n"}, "use.py"),
        ({"net.py": NET + "torch.set_default_dtype(torch.float64)\nwidth = 3\nprint(width)\n"}, None),
        ({"net.py": LIBRARY}, None),
        ({"net/__init__.py": "", "net/made.py": LOOP}, None),
        ({"run.py": MAIN.replace("torch", "numpy")}, None),
        ({"setup.py": MAIN, "tests/run.py": MAIN, "test_net.py": LOOP, "conftest.py": MAIN}, None),
        ({"book.ipynb": '{"cells": []}'}, None),
        ({}, None),
    ],
)
def test_a_run_that_finds_nothing_names_a_script_to_rehearse(
    shell: Shell, files: Mapping[str, str], script: str | None
) -> None:
    for name, text in files.items():
        shell.write(name, text)
    many = "1 file" if len(files) == 1 else f"{len(files)} files"
    said = f"No mistake found in {many}.\n" + (HINT.format(script) if script else "")
    for options in ((), ("--output-format", "concise"), ("--output-format", "github"), ("--statistics",)):
        result = shell.run(".", *options)
        assert (result.stderr.removeprefix("note: .: no Python files\n"), result.exit_code) == (said, 0)
    assert shell.run(".", "--quiet").stderr == shell.run(".", "--output-format", "json", "--quiet").stderr == ""
    assert "rehears" not in shell.run(".", "--output-format", "json").output


def test_a_run_that_finds_something_names_no_script(shell: Shell) -> None:
    shell.write("train.py", MAIN)
    shell.write("a.py", "# torch\nclash\n")
    assert shell.run(".").stderr == "Found 1 error in 2 files.\n"


def test_only_checked_files_are_named(shell: Shell) -> None:
    shell.write("net.py", LIBRARY)
    shell.write("train.py", MAIN)
    assert shell.run("net.py").stderr == "No mistake found in 1 file.\n"


LISTED = "devlint: name a script. These commands rehearse what can run here:\n"


def test_a_rehearsal_without_a_script_lists_what_can_run_and_needs_no_torch(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    said = "error: name a SCRIPT: no file here that uses torch does anything when it runs\n"
    assert shell.run("rehearse").stderr == said
    for name, text in {"net.py": LIBRARY, "my run.py": LOOP, "tools/eval.py": MAIN, "tests/test_net.py": LOOP}.items():
        shell.write(name, text)
    commands = ["devlint rehearse tools/eval.py", "devlint rehearse 'my run.py'", "pytest --devlint-rehearse=2"]
    result = shell.run("rehearse", "--devices", "2")
    assert (result.stdout, result.exit_code) == ("", 2)
    assert result.stderr == LISTED + "".join(f"  {one}\n" for one in commands)
    for number in range(20):
        shell.write(f"run_{number:02}.py", MAIN)
    lines = shell.run("rehearse").stderr.splitlines()[1:]
    assert (lines[0], lines[-3:]) == (
        "  devlint rehearse run_00.py",
        ["  devlint rehearse run_18.py", "  … and 3 more", "  pytest --devlint-rehearse=2"],
    )
