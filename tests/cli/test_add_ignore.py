"""`--add-ignore`: a comment for each report, with a reason."""

from __future__ import annotations

import json

import pytest

from tests.cli.stand_in import Shell

REASON = ("--add-ignore", "  only on our cluster ")


def _text(shell: Shell, name: str = "a.py") -> str:
    return (shell.folder / name).read_bytes().decode()


def test_each_report_gets_a_comment_and_the_next_run_is_silent(shell: Shell) -> None:
    shell.write("a.py", "import torch\nclash\nf(\n    raw_cuda,\n    clash,\n)  # why\n")
    shell.write("b.py", "import torch\nclash and clash  # devlint: ignore[DEV302] one GPU\nraw_cuda\n")
    result = shell.run("check", *REASON)

    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "Silenced 6.\n")
    assert _text(shell) == (
        "import torch\nclash  # devlint: ignore[DEV101] only on our cluster\n"
        "f(\n    raw_cuda,\n    clash,\n)  # why  # devlint: ignore[DEV101, DEV302] only on our cluster\n"
    )
    assert _text(shell, "b.py") == (
        "import torch\nclash and clash  # devlint: ignore[DEV302, DEV101] one GPU\n"
        "raw_cuda  # devlint: ignore[DEV302] only on our cluster\n"
    )
    assert shell.concise("--ignore", "DEV902") == []
    assert shell.run("check", *REASON, "--ignore", "DEV902").stderr == "Silenced 0.\n"


def test_the_reason_reaches_the_report(shell: Shell) -> None:
    shell.write("a.py")
    shell.run("check", *REASON)
    document = json.loads(shell.run("check", "--output-format", "json").stdout)
    assert [one["reason"] for one in document["silenced"]] == ["only on our cluster"]


def test_only_chosen_rules_and_lines_are_silenced(shell: Shell) -> None:
    shell.write("a.py", "import torch\nclash + raw_cuda\n")
    shell.run("check", *REASON, "--select", "DEV302")
    assert _text(shell) == "import torch\nclash + raw_cuda  # devlint: ignore[DEV302] only on our cluster\n"


def test_line_ends_and_encoding_stay(shell: Shell) -> None:
    shell.write("a.py", "# coding: latin-1\r\nimport torch\r\nclash  # caf\xe9\r\n".encode("latin-1"))
    shell.run("check", *REASON)
    assert (shell.folder / "a.py").read_bytes() == (
        "# coding: latin-1\r\nimport torch\r\nclash  # caf\xe9  # devlint: ignore[DEV101] only on our cluster\r\n"
    ).encode("latin-1")


def test_a_cell_of_a_notebook_gets_its_comment(shell: Shell) -> None:
    cell = {"cell_type": "code", "source": ["import torch\n", "clash"], "metadata": {}, "outputs": []}
    shell.write("n.ipynb", json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    assert shell.run("check", *REASON).exit_code == 0
    written = json.loads(_text(shell, "n.ipynb"))["cells"][0]["source"]
    assert "".join(written) == "import torch\nclash  # devlint: ignore[DEV101] only on our cluster"


def test_a_file_that_cannot_be_analysed_is_no_report_to_silence(shell: Shell) -> None:
    shell.write("a.py", "import torch\nx = (\n")
    result = shell.run("check", *REASON)
    assert (result.exit_code, _text(shell)) == (2, "import torch\nx = (\n")


def test_a_comment_for_all_rules_takes_no_code(shell: Shell) -> None:
    """It silences the report already, so there is nothing to add."""
    shell.write("a.py", "import torch\nclash  # devlint: ignore\n")
    assert shell.run("check", *REASON).stderr == "Silenced 0.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--add-ignore", " "], "error: --add-ignore needs a reason: words on one line, without `#`\n"),
        (["--add-ignore", "a # b"], "error: --add-ignore needs a reason: words on one line, without `#`\n"),
        (["--add-ignore", "a\nb"], "error: --add-ignore needs a reason: words on one line, without `#`\n"),
        ([*REASON, "--fix"], "error: --add-ignore cannot be combined with fixes\n"),
        ([*REASON, "--watch"], "error: --add-ignore cannot be combined with --watch\n"),
        ([*REASON, "-"], "error: --add-ignore needs files, not standard input\n"),
    ],
)
def test_wrong_usage(shell: Shell, arguments: list[str], message: str) -> None:
    shell.write("a.py")
    result = shell.run("check", *arguments)
    assert (result.exit_code, result.stderr) == (2, message)
    assert _text(shell) == "import torch\nclash\n"
