"""Configuration files: one for each folder, `extend`, and files of devlint's own."""

from __future__ import annotations

import pytest

from tests.cli.stand_in import Shell

BOTH = "import torch\nclash\nraw_cuda\n"


def _codes(shell: Shell, *arguments: str) -> list[str]:
    return [line.rpartition(" ")[2] for line in shell.concise(*arguments)]


def test_a_key_replaces_that_of_the_extended_file_and_others_are_taken(shell: Shell) -> None:
    shell.write("pyproject.toml", '[tool.devlint]\nignore = ["DEV101"]\nseverity = {DEV3 = "error"}\n')
    shell.write("inner/devlint.toml", 'extend = "../pyproject.toml"\n')
    shell.write("inner/a.py", BOTH)
    assert _codes(shell) == ["DEV302"]
    assert shell.run("--fail-on", "error", ".").exit_code == 1
    shell.write("inner/devlint.toml", 'extend = "../pyproject.toml"\nignore = []\n')
    assert _codes(shell) == ["DEV101", "DEV302"]


def test_patterns_stay_relative_to_the_file_that_they_stand_in(shell: Shell) -> None:
    shell.write(
        "pyproject.toml",
        '[tool.devlint]\nexclude = ["/inner/gen/"]\n[tool.devlint.per-file-ignores]\n"inner/a.py" = ["DEV101"]\n',
    )
    shell.write("inner/.devlint.toml", 'extend = "../pyproject.toml"\n')
    for name in ("inner/a.py", "inner/gen/b.py", "inner/inner/gen/c.py"):
        shell.write(name, BOTH)
    found = ["inner/a.py:3:1: DEV302", "inner/inner/gen/c.py:2:1: DEV101", "inner/inner/gen/c.py:3:1: DEV302"]
    assert shell.concise() == found


def test_files_extend_files_that_extend_files(shell: Shell) -> None:
    shell.write("base.toml", '[tool.devlint]\nselect = ["DEV1"]\n')
    shell.write("mid.toml", '[tool.devlint]\nextend = "base.toml"\nextend-select = ["DEV3"]\n')
    shell.write("devlint.toml", 'extend = "mid.toml"\nignore = ["DEV101"]\n')
    shell.write("a.py", BOTH)
    assert _codes(shell) == ["DEV302"]


def test_a_file_of_its_own_wins_over_the_projects(shell: Shell) -> None:
    shell.write("a.py", BOTH)
    shell.write("pyproject.toml", '[tool.devlint]\nignore = ["ALL"]\n')
    assert _codes(shell) == []
    shell.write("devlint.toml", 'ignore = ["DEV101"]\n[severity]\nDEV302 = "error"\n')
    assert _codes(shell) == ["DEV302"]
    shell.write(".devlint.toml", 'ignore = ["DEV302"]\n')
    assert _codes(shell) == ["DEV101"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"devlint.toml": 'extend = "gone.toml"\n'}, 'devlint.toml:1: extend: "gone.toml" does not exist in '),
        ({"devlint.toml": "extend = 3\n"}, "devlint.toml:1: extend: a path is wanted, this is the number 3"),
        (
            {"devlint.toml": 'extend = "a.toml"\n', "a.toml": "[tool.other]\n"},
            'devlint.toml:1: extend: "a.toml" has no [tool.devlint] table',
        ),
        (
            {"devlint.toml": 'extend = "a.toml"\n', "a.toml": '[tool.devlint]\nextend = "devlint.toml"\n'},
            'a.toml:2: extend: "devlint.toml" extends itself',
        ),
        (
            {"devlint.toml": 'extend = "sub/a.toml"\n', "sub/a.toml": '[tool.devlint]\nselct = ["DEV1"]\n'},
            'sub/a.toml:2: unknown key "selct"; did you mean "select"?',
        ),
        (
            {"pyproject.toml": '[tool.devLint]\nselect = ["DEV1"]\n'},
            'pyproject.toml: unknown table "tool.devLint"; did you mean "tool.devlint"?',
        ),
        ({"devlint.toml": "\n\nbaselin = 1\n"}, 'devlint.toml:3: unknown key "baselin"; did you mean "baseline"?'),
        ({"devlint.toml": '[severity]\nDEV1 = "eror"\n'}, "devlint.toml:1: severity.DEV1: "),
    ],
)
def test_what_cannot_be_obeyed_is_said_where_it_stands(shell: Shell, files: dict[str, str], message: str) -> None:
    shell.write("a.py", BOTH)
    for name, text in files.items():
        shell.write(name, text)
    result = shell.run(".")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {message}")


def test_a_path_that_does_not_exist_is_guessed(shell: Shell) -> None:
    shell.write("train.py")
    result = shell.run("trian.py")
    assert result.exit_code == 2
    assert 'error: trian.py: no such file or folder; did you mean "train.py"?\n' in result.stderr
