"""What a run says that has found nothing: how many files it has checked, and which script can be rehearsed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.cli.stand_in import Shell

MAIN = "import torch\n\nif __name__ == '__main__':\n    print(torch.ones(3))\n"
LOOP = "import torch\n\nfor step in range(3):\n    torch.ones(step)\n"
LIBRARY = "import torch\n\n\ndef made():\n    return torch.ones(3)\n"
HINT = "A rehearsal checks the code that it runs: `devlint rehearse {}`\n"


@pytest.mark.parametrize(
    ("files", "script"),
    [
        ({"train.py": MAIN}, "train.py"),
        ({"train.py": LOOP}, "train.py"),
        ({"a.py": LOOP, "b.py": MAIN}, "b.py"),
        ({"a/run.py": MAIN, "b.py": LIBRARY, "tools.py": MAIN, "z.py": MAIN}, "tools.py"),
        ({"my run.py": MAIN}, "'my run.py'"),
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
