"""What each command prints and how it exits."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner
from devlint import __version__
from devlint.cli import devlint

from tests.cli.stand_in import Shell


def _run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(devlint, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_version_has_the_products_name_also_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "devlint", "--version"], capture_output=True, text=True, check=True, env=_env()
    )
    assert done.stdout == f"devlint {__version__}\n"


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["check", "--help"]])
def test_cheap_commands_load_neither_parser_nor_torch(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from devlint.cli import devlint\n"
        "try:\n"
        f"    devlint.main({arguments!r})\n"
        "finally:\n"
        "    heavy = {'libcst', 'torch', 'devlint.rule', 'devlint.engine'} & set(sys.modules)\n"
        "    assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=_env())
    assert (done.returncode, done.stderr) == (0, "")


def _env() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_without_arguments_the_help_is_shown_and_nothing_counts_as_checked() -> None:
    code, out, err = _run()
    assert code == 2
    assert "devlint PATH… is devlint check PATH…" in (out + err).replace("`", "")


def test_the_list_of_commands_cuts_no_sentence() -> None:
    _, out, _ = _run("--help")
    assert "..." not in out.partition("Commands:")[2]


def test_a_path_needs_no_command(shell: Shell) -> None:
    shell.write("a.py")
    for arguments in (["a.py"], ["check", "a.py"], ["--output-format", "full", "a.py"]):
        result = shell.run(*arguments)
        assert result.exit_code == 1
        assert "a.py:2:1" in result.stdout


def test_without_a_path_check_takes_the_current_folder(shell: Shell) -> None:
    shell.write("sub/a.py")
    assert shell.concise() == ["sub/a.py:2:1: DEV101"]


def test_explain_takes_code_and_name_in_any_case() -> None:
    code, text, _ = _run("explain", "DEV101")
    assert code == 0
    assert text.startswith("DEV101 mixed-device-operands (error)\n\n## What it does\n")
    assert _run("explain", "dev101") == _run("explain", "Mixed-Device-Operands") == (0, text, "")


def test_explain_offers_what_is_spelled_alike() -> None:
    code, out, err = _run("explain", "mixed-device-operand")
    assert (code, out) == (2, "")
    assert err == "error: unknown rule 'mixed-device-operand'; did you mean mixed-device-operands?\n"


def _cells(line: str) -> list[str]:
    """A row of the list of rules, whose columns are two blanks apart."""
    return re.split(r"\s{2,}", line, maxsplit=3)


def test_every_code_is_explained_those_of_the_guard_too() -> None:
    from devlint_guard import codes

    _, listed, _ = _run("rules")
    names = {row[0]: row[1] for row in map(_cells, listed.splitlines())} | codes.NAMES
    assert {"DEV101", "DEV605", "DEV904"} <= set(names)
    for code, name in names.items():
        exit_code, text, _ = _run("explain", code)
        assert (exit_code, text.partition(" (")[0]) == (0, f"{code} {name}")
        assert _run("explain", name.upper()) == _run("explain", code.lower()) == (0, text, "")
        assert text.count("\n## ") >= 4


def test_rules_are_listed_in_order_in_one_short_line_each() -> None:
    code, text, _ = _run("rules")
    rows = [_cells(line) for line in text.splitlines()]
    assert code == 0
    assert [row[0] for row in rows] == sorted({row[0] for row in rows})
    assert all(row[2].removesuffix(", opt-in") in ("error", "warning") and len(row) == 4 for row in rows)
    assert max(map(len, text.splitlines())) <= 120
    assert "…" not in text.replace("[…]", "")
    assert ["DEV901", "syntax-error", "error"] in [row[:3] for row in rows]
    assert ["DEV304", "load-without-map-location", "warning, opt-in"] in [row[:3] for row in rows]


def test_rules_as_json_are_the_same_rules() -> None:
    _, text, _ = _run("rules")
    _, document, _ = _run("rules", "--output-format", "json")
    rows = json.loads(document)
    standing = [row["severity"] + ", opt-in" * row["opt_in"] for row in rows]
    assert [[row["code"], row["rule"], level, row["title"]] for row, level in zip(rows, standing, strict=True)] == [
        _cells(line) for line in text.splitlines()
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--selekt", "DEV101", "."], "error: No such option '--selekt'."),
        (["check", "--jobs", "0"], "error: Invalid value for '--jobs'"),
        (["check", "--output-format", "xml"], "error: Invalid value for '--output-format'"),
        (["explain"], "error: Missing argument 'RULE'"),
        (["explian", "DEV101"], "error: no path and no command 'explian'; did you mean `devlint explain`?"),
        (["check", "--stdin-filename", "a.py", "."], "error: --stdin-filename is for the path `-`"),
        (["check", "-", "a.py"], "error: `-` (standard input) cannot be combined"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(shell: Shell, arguments: list[str], message: str) -> None:
    result = shell.run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(message)
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [*sorted(devlint.commands), "."])
def test_a_working_folder_that_is_gone_is_one_line(shell: Shell, command: str) -> None:
    shell.folder.rmdir()
    assert _run(command) == (2, "", "error: the working folder cannot be used: No such file or directory\n")


def test_facts_of_a_file_and_of_one_line(shell: Shell) -> None:
    shell.write("a.py", "import torch\nclash\nraw_cuda\n")
    result = shell.run("facts", "a.py:3")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "a.py:3  x  cuda:0\n"
        "a.py:3:1  UncheckedDevice\n"
        "    device: cuda:0\n"
        "    written: string\n"
        '    text: "cuda:0"\n'
        "    use: -\n"
        "    available: -\n"
    )
    whole = shell.run("facts", "a.py").stdout
    assert whole.startswith("a.py:2  x  cuda:0\na.py:3  x  cuda:0\na.py:2:1  Conflict\n")
    assert "first: name a, device cpu, place a.py:2:1, trace a is created on cpu here (a.py:2:1)" in whole
    assert shell.run("facts", "a.py:1").stdout == "a.py:1: devlint knows no value here\n"
    beyond = shell.run("facts", "a.py:9999")
    assert (beyond.exit_code, beyond.stdout) == (2, "")
    assert beyond.stderr.startswith("error: a.py: has no line 9999: it ends on line ")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone.py:3", None, "error: gone.py: cannot be read: No such file or directory\n"),
        ("a.py", "x = (\n", "error: a.py:1: '(' was never closed\n"),
    ],
)
def test_facts_of_what_cannot_be_read(shell: Shell, name: str, content: str | None, message: str) -> None:
    if content is not None:
        shell.write(name, content)
    result = shell.run("facts", name)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", message)


@pytest.mark.parametrize("command", [["run"], ["rehearse"], ["rehearse", "--check-fixes"]])
def test_a_notebook_has_to_be_exported_before_it_runs(command: list[str]) -> None:
    code, printed, said = _run(*command, "my notes.ipynb", "--epochs", "1")
    export = "`jupyter nbconvert --to script 'my notes.ipynb'`"
    assert (code, printed) == (2, "")
    assert said.endswith(f"my notes.ipynb is a notebook: export it first, with {export}\n")
