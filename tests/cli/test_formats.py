"""`devlint check` in each format, into a file, and as statistics."""

from __future__ import annotations

import json
import os
import sys
from xml.etree import ElementTree

import pytest
from devlint.report import FORMATS

from tests.cli.stand_in import Shell
from tests.report.test_formats import SARIF

TWO = "import torch\nclash\nraw_cuda\n"
HOSTILE = "a\n::error::b,c:%0A<&\"'{0}.py"
on_posix = pytest.mark.skipif(os.name != "posix", reason="no such file names")


def _count(name: str, text: str) -> int:
    """How many items a report has, read as its format demands."""
    if name == "json":
        return len(json.loads(text)["diagnostics"])
    if name == "sarif":
        log = json.loads(text)
        SARIF.validate(log)
        return len(log["runs"][0]["results"])
    if name == "gitlab":
        return len(json.loads(text))
    if name == "junit":
        return len(list(ElementTree.fromstring(text).iter("failure")))
    if name == "full":
        return text.count("\n\n")
    if name == "jsonl":
        return len([json.loads(line) for line in text.splitlines()])
    return len(text.splitlines())


@on_posix
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_every_diagnostic_even_of_a_file_with_a_hostile_name(shell: Shell, name: str) -> None:
    shell.write(HOSTILE, TWO)
    result = shell.run("--output-format", name, ".")
    assert result.exit_code == 1
    assert _count(name, result.stdout) == 2
    assert [line for line in (result.stdout + result.stderr).splitlines() if line.startswith("::error::")] == []


@pytest.mark.parametrize("name", ["json", "jsonl", "sarif", "github", "gitlab", "junit"])
def test_a_file_that_cannot_be_read_is_in_every_format_for_programs(shell: Shell, name: str) -> None:
    shell.write("a.py", b"\xff\xfe\x00binary")
    result = shell.run("--output-format", name, "a.py")
    assert result.exit_code == 2
    assert "a.py" in result.stdout
    assert "UTF-16" in result.stdout


def test_json_names_problems(shell: Shell) -> None:
    shell.write("a.py", "# coding: nonsense\n")
    document = json.loads(shell.run("--output-format", "json", ".", "gone.py").stdout)
    assert document["problems"] == [
        {"file": "a.py", "line": 1, "problem": "cannot be decoded: unknown encoding: nonsense"},
        {"file": "gone.py", "line": None, "problem": "no such file or folder"},
    ]


@on_posix
def test_a_hostile_name_cannot_begin_a_line_of_standard_error(shell: Shell) -> None:
    result = shell.run("gone\n::error::x\r.py")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 2)


def test_sarif_has_the_text_of_each_rule_that_reports(shell: Shell) -> None:
    shell.write("a.py", TWO)
    (run,) = json.loads(shell.run("--output-format", "sarif", ".").stdout)["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["DEV101", "DEV302"]
    assert all("## Why is this bad" in rule["help"]["markdown"] for rule in rules)
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == ["DEV101", "DEV302"]
    assert run["columnKind"] == "unicodeCodePoints"
    assert len({result["partialFingerprints"]["devlint/v1"] for result in run["results"]}) == 2


@pytest.mark.parametrize("name", FORMATS)
def test_the_report_goes_into_a_file_without_colour(shell: Shell, name: str) -> None:
    shell.write("a.py", TWO)
    shell.write("report", "old")
    result = shell.run("--output-format", name, "--output-file", "report", "--color", "always", "a.py")
    assert (result.exit_code, result.stdout) == (1, "")
    text = (shell.folder / "report").read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert _count(name, text) == 2
    assert sorted(path.name for path in shell.folder.iterdir()) == ["a.py", "report"]


def test_a_report_that_cannot_be_written_is_an_error_and_leaves_nothing(shell: Shell) -> None:
    shell.write("a.py")
    result = shell.run("--output-file", "gone/report", "a.py")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: gone/report: cannot be written")


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_the_file_keeps_its_permissions_and_a_link_stays_a_link(shell: Shell) -> None:
    shell.write("a.py")
    target = shell.write("real", "old")
    target.chmod(0o640)
    (shell.folder / "link").symlink_to(target)
    shell.run("--output-file", "link", "a.py")
    assert (shell.folder / "link").is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert "DEV101" in target.read_text()


def test_statistics_count_by_rule(shell: Shell) -> None:
    shell.write("a.py", TWO)
    shell.write("b.py", "import torch\n" + "raw_cuda\n" * 10)
    result = shell.run("--statistics", ".")
    assert (result.exit_code, result.stdout) == (
        1,
        "11  DEV302  unguarded-cuda-index\n 1  DEV101  mixed-device-operands\n",
    )
    counts = json.loads(shell.run("--statistics", "--output-format", "json", ".").stdout)
    assert counts[0] == {"code": "DEV302", "rule": "unguarded-cuda-index", "count": 11}
    assert shell.run("--statistics", "--output-format", "sarif", ".").exit_code == 2
