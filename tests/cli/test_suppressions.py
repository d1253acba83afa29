"""What `devlint check` says of the comments that silence it."""

from __future__ import annotations

import json

import pytest

from tests.cli.stand_in import Shell

IDLE = "import torch\nx = 1  # devlint: ignore[DEV101] old\n"


def test_an_idle_comment_is_reported_where_it_stands(shell: Shell) -> None:
    shell.write("a.py", IDLE)
    assert shell.concise() == ["a.py:2:8: DEV902"]
    assert shell.run("--ignore", "DEV902", ".").exit_code == 0
    assert shell.run("--fail-on", "error", ".").exit_code == 0


def test_files_without_torch_are_no_exception(shell: Shell) -> None:
    shell.write("a.py", "x = 1  # devlint: ignore[DEV101]\ny = 1  # noqa\nz = 1  # noqa: DEV302\n")
    assert shell.concise() == ["a.py:1:8: DEV902", "a.py:3:8: DEV902"]


@pytest.mark.parametrize(
    ("comment", "arguments", "reported"),
    [
        ("ignore[DEV101]", ["--select", "DEV3,DEV902"], False),
        ("ignore[DEV101]", ["--select", "DEV1,DEV902"], True),
        ("ignore[DEV1]", ["--select", "DEV101,DEV902"], False),
        ("ignore", ["--select", "DEV1,DEV902"], False),
        ("ignore", ["--ignore", "DEV302"], False),
        ("ignore", [], True),
        ("ignore[ALL]", [], True),
        ("ignore[DEV501]", [], False),
        ("ignore[DEV5]", [], True),
        ("ignore[DEV7]", [], False),
        ("ignore[DEV501]", ["--extend-select", "DEV501"], True),
        ("ignore[DEV902]", [], False),
        ("ignore-file[DEV902]", [], False),
        ("ignore-file", [], True),
    ],
)
def test_it_is_judged_where_all_its_rules_are_on(
    shell: Shell, comment: str, arguments: list[str], reported: bool
) -> None:
    shell.write("a.py", f"import torch\nx = 1  # devlint: {comment}\n")
    assert shell.concise(*arguments) == ["a.py:2:8: DEV902"] * reported


def test_rules_that_are_off_for_the_file_say_nothing_of_its_comments(shell: Shell) -> None:
    shell.write("pyproject.toml", "[tool.devlint.per-file-ignores]\n'a.py' = ['DEV101']\n")
    shell.write("a.py", IDLE)
    assert shell.concise() == []


def test_another_comment_can_silence_it_but_not_itself(shell: Shell) -> None:
    shell.write("a.py", IDLE + "# devlint: ignore-file[unused-suppression]\n")
    shell.write("b.py", "import torch\nx = 1  # devlint: ignore[DEV]\n")
    assert shell.concise() == ["b.py:2:8: DEV902"]


def test_unknown_rules_are_guessed(shell: Shell) -> None:
    shell.write(
        "a.py",
        "import torch\nclash  # devlint: ignore[mixed-device-operand]\nx  # noqa: DEV190\nclash  # noqa: DEV1O1\n",
    )
    result = shell.run("--output-format", "concise", "-q", ".")
    assert "`mixed-device-operand` names no rule; did you mean mixed-device-operands?" in result.stdout
    assert "`DEV190` names no rule; did you mean" in result.stdout
    assert "a.py:4:1: DEV101" in result.stdout, "the letter O is no zero, and `DEV1` is not what was written"
    assert "`DEV1O1` names no rule; did you mean DEV101" in result.stdout
    assert "a.py:2:1: DEV101" in result.stdout


@pytest.mark.parametrize(
    ("comment", "spelling"),
    [
        ("ignore DEV302", "ignore[DEV302]"),
        ("ignore: DEV302, dev101", "ignore[DEV302, dev101]"),
        ("ignore mixed-device-operands", "ignore[mixed-device-operands]"),
        ("disable=DEV302", "ignore[DEV302]"),
        ("disable-file=DEV302", "ignore-file[DEV302]"),
        ("ignore_file", "ignore-file[RULE]"),
        ("ignores[DEV302]", "ignore[DEV302]"),
        ("Ignore[DEV302]", "ignore[DEV302]"),
        ("ignore[DEV302", "ignore[DEV302]"),
        ("ignore[]", "ignore[RULE]"),
        ("ignore[ ,]", "ignore[RULE]"),
        ("off", "ignore[RULE]"),
    ],
)
def test_a_comment_that_is_not_understood_is_reported_with_its_spelling(
    shell: Shell, comment: str, spelling: str
) -> None:
    shell.write("a.py", f"import torch\nclash  # devlint: {comment}  # noqa: E501\n")
    result = shell.run("--output-format", "json", ".")
    found = {one["code"]: one for one in json.loads(result.stdout)["diagnostics"]}
    assert set(found) == {"DEV101", "DEV902"}, "the comment silences nothing"
    assert found["DEV902"]["message"] == f"`# devlint: {comment}` is not valid: write `# devlint: {spelling}`"


def test_an_idle_code_in_a_file_level_noqa_is_removed(shell: Shell) -> None:
    path = shell.write("a.py", "import torch\n# ruff: noqa: E501, DEV302\nx = 1\n# flake8: noqa: DEV101\ny = 1\n")
    assert shell.concise() == ["a.py:2:1: DEV902", "a.py:4:1: DEV902"]
    shell.run("--fix", "-q", ".")
    assert path.read_text() == "import torch\n# ruff: noqa: E501\nx = 1\ny = 1\n"


def test_a_broken_file_has_no_idle_comments(shell: Shell) -> None:
    shell.write("a.py", IDLE + "x = (\n")
    assert shell.concise() == ["a.py:3:5: DEV901"]


def test_reasons_can_be_required(shell: Shell) -> None:
    shell.write("pyproject.toml", '[tool.devlint]\nextend-select = ["suppression-without-reason"]\n')
    shell.write("a.py", "import torch\nclash  # devlint: ignore[DEV101]\nclash  # devlint: ignore[DEV101] known\n")
    assert shell.concise() == ["a.py:2:8: DEV904"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # devlint: ignore[DEV101] was wrong once\n", "x = 1\n"),
        ("x = 1  # devlint: ignore\n", "x = 1\n"),
        ("x = 1\t# noqa: DEV101", "x = 1"),
        ("# devlint: ignore-file[DEV3] generated\nx = 1\n", "x = 1\n"),
        ("if x:\n    # devlint: ignore-file\n    y = 1\n", "if x:\n    y = 1\n"),
        ("x = 1\n# devlint: ignore-file", "x = 1\n"),
        ("x = 1  # type: ignore  # devlint: ignore[DEV1] why  # keep\n", "x = 1  # type: ignore  # keep\n"),
        ("clash  # devlint: ignore[DEV302, DEV101] why\n", "clash  # devlint: ignore[DEV101] why\n"),
        ("clash  # noqa: E501, DEV302,DEV101\n", "clash  # noqa: E501, DEV101\n"),
        ("x = 1  # noqa: E501, DEV302\r\n", "x = 1  # noqa: E501\r\n"),
        ("x = '# devlint: ignore'  # devlint: ignore\n", "x = '# devlint: ignore'\n"),
        (
            "clash  # devlint: ignore[mixed-device-operands] why\n",
            "clash  # devlint: ignore[mixed-device-operands] why\n",
        ),
        ("x = 1  # devlint: ignore[no-such-rule]\n", "x = 1  # devlint: ignore[no-such-rule]\n"),
        ("x = 1  # noqa\n", "x = 1  # noqa\n"),
    ],
)
def test_fix_removes_what_is_idle_and_nothing_else(shell: Shell, before: str, after: str) -> None:
    path = shell.write("a.py", before)
    shell.run("--fix", "-q", ".")
    assert path.read_bytes().decode() == after
    shell.run("--fix", "-q", ".")
    assert path.read_bytes().decode() == after


def test_several_idle_comments_are_removed_at_once_and_said_to_be_fixed(shell: Shell) -> None:
    path = shell.write("a.py", "x = 1  # devlint: ignore[DEV101]\ny = 1  # devlint: ignore[DEV101]\nclash\n")
    result = shell.run("--fix", ".")
    assert path.read_text() == "x = 1\ny = 1\nclash\n"
    assert "Fixed 2." in result.stderr
