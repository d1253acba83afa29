"""`devlint check`: exit codes, formats, selection, configuration, suppressions, standard input, processes."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.stand_in import Shell

CLASH = "import torch\nclash\n"
RAW = "import torch\nraw_cuda\n"
BOTH = "import torch\nclash\nraw_cuda\n"


def test_exit_code_follows_the_worst_that_is_reported(shell: Shell) -> None:
    shell.write("clean.py", "import torch\n")
    shell.write("error.py", CLASH)
    shell.write("warning.py", RAW)
    expected = {
        ("clean.py",): 0,
        ("error.py",): 1,
        ("warning.py",): 1,
        ("warning.py", "--fail-on", "error"): 0,
        ("error.py", "--fail-on", "error"): 1,
        ("error.py", "--exit-zero"): 0,
        (".", "--exit-zero"): 0,
    }
    assert {arguments: shell.run("check", *arguments).exit_code for arguments in expected} == expected


def test_exit_zero_does_not_hide_what_could_not_be_analysed(shell: Shell) -> None:
    shell.write("a.py", "x = (\n")
    assert shell.run("check", "--exit-zero", "a.py").exit_code == 2


def test_last_line_counts_and_quiet_leaves_it_out(shell: Shell) -> None:
    shell.write("a.py", BOTH)
    shell.write("b.py", "")
    assert shell.run(".").stderr == "Found 1 error, 1 warning in 2 files.\n"
    assert shell.run("b.py").stderr == "No mistake found in 1 file.\n"
    assert shell.run("-q", ".").stderr == ""


def test_concise_is_one_line_each(shell: Shell) -> None:
    shell.write("a.py", BOTH)
    assert shell.run("--output-format", "concise", "a.py").stdout == (
        "a.py:2:1: DEV101 [mixed-device-operands] a is on cpu, b is on cuda:0\n"
        "a.py:3:1: DEV302 [unguarded-cuda-index] cuda:0 is taken for granted\n"
    )


def test_json_has_exactly_the_promised_keys(shell: Shell) -> None:
    shell.write("pkg/a.py", CLASH)
    result = shell.run("--output-format", "json", ".")
    document = json.loads(result.stdout)
    (diagnostic,) = document["diagnostics"]
    fingerprint = diagnostic.pop("fingerprint")
    document["summary"].pop("seconds")

    assert re.fullmatch("[0-9a-f]{32}", fingerprint)
    assert result.stderr == ""
    assert document["version"] == 1
    assert document["problems"] == document["silenced"] == []
    assert document["summary"] == {"files": 1, "errors": 1, "warnings": 0}
    assert diagnostic == {
        "code": "DEV101",
        "rule": "mixed-device-operands",
        "severity": "error",
        "certainty": "certain",
        "message": "a is on cpu, b is on cuda:0",
        "file": "pkg/a.py",
        "cell": None,
        "line": 2,
        "column": 1,
        "end_line": 2,
        "end_column": 6,
        "related": [{"file": "pkg/a.py", "line": 2, "column": 1, "message": "a is created on cpu here", "value": None}],
        "fix": None,
    }


def _without_seconds(text: str) -> str:
    return re.sub(r'"seconds": [\d.]+', "", text)


def test_output_is_the_same_however_many_processes_there_are(shell: Shell) -> None:
    for number in range(12):
        shell.write(f"p{number % 3}/f{number}.py", "import torch\n" + "clash\n" * (number % 3))
    shell.write("broken.py", "x = (\n")
    runs = [shell.run("--output-format", "json", "--jobs", jobs, ".") for jobs in ("1", "3")]
    assert _without_seconds(runs[0].stdout) == _without_seconds(runs[1].stdout)
    assert runs[0].stderr == runs[1].stderr
    assert {run.exit_code for run in runs} == {2}


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ([], ["DEV101", "DEV302"]),
        (["--select", "DEV101"], ["DEV101"]),
        (["--select", "DEV1"], ["DEV101"]),
        (["--select", "unguarded-cuda-index"], ["DEV302"]),
        (["--select", "dev3, DEV101"], ["DEV101", "DEV302"]),
        (["--select", "ALL"], ["DEV101", "DEV302"]),
        (["--ignore", "DEV3"], ["DEV101"]),
        (["--ignore", "ALL"], []),
        (["--select", "DEV3", "--extend-select", "DEV101"], ["DEV101", "DEV302"]),
        (["--select", "DEV302", "--ignore", "DEV3"], ["DEV302"]),
        (["--select", "DEV3", "--ignore", "DEV302"], []),
    ],
)
def test_selection_on_the_command_line(shell: Shell, arguments: list[str], codes: list[str]) -> None:
    shell.write("a.py", BOTH)
    assert [line[-6:] for line in shell.concise(*arguments, "a.py")] == codes


def test_nearest_configuration_holds_for_each_file(shell: Shell) -> None:
    shell.write("pyproject.toml", '[tool.devlint]\nignore = ["DEV101"]\n')
    shell.write("a.py", BOTH)
    shell.write("inner/pyproject.toml", '[tool.devlint]\nselect = ["DEV101"]\n')
    shell.write("inner/a.py", BOTH)
    shell.write("other/pyproject.toml", '[project]\nname = "x"\n')
    shell.write("other/a.py", BOTH)
    assert shell.concise() == ["a.py:3:1: DEV302", "inner/a.py:2:1: DEV101", "other/a.py:3:1: DEV302"]


def test_isolated_and_config_replace_the_nearest(shell: Shell) -> None:
    shell.write("pyproject.toml", '[tool.devlint]\nignore = ["DEV101"]\n')
    shell.write("ci.toml", '[tool.devlint]\nignore = ["DEV302"]\n')
    shell.write("a.py", BOTH)
    assert shell.concise("a.py", "--isolated") == ["a.py:2:1: DEV101", "a.py:3:1: DEV302"]
    assert shell.concise("a.py", "--config", "ci.toml") == ["a.py:2:1: DEV101"]


def test_select_on_the_command_line_wins_over_the_file(shell: Shell) -> None:
    shell.write("pyproject.toml", '[tool.devlint]\nselect = ["DEV3"]\nignore = ["DEV101"]\n')
    shell.write("a.py", BOTH)
    assert shell.concise("a.py", "--select", "DEV101") == ["a.py:2:1: DEV101"]


def test_per_file_ignores_and_severity(shell: Shell) -> None:
    shell.write(
        "pyproject.toml",
        "[tool.devlint]\nseverity = { DEV3 = 'error', DEV101 = 'warning' }\n"
        "[tool.devlint.per-file-ignores]\n'tests/**' = ['DEV302']\n'gen_*.py' = ['ALL']\n",
    )
    for name in ("a.py", "tests/t.py", "sub/gen_x.py"):
        shell.write(name, BOTH)
    assert shell.concise() == ["a.py:2:1: DEV101", "a.py:3:1: DEV302", "tests/t.py:2:1: DEV101"]
    assert shell.run("a.py", "--select", "DEV302", "--fail-on", "error").exit_code == 1
    assert shell.run("a.py", "--select", "DEV101", "--fail-on", "error").exit_code == 0


def test_suppressed_items_are_not_reported(shell: Shell) -> None:
    shell.write("a.py", "import torch\nclash  # devlint: ignore[DEV101] known\nclash  # noqa\nclash\n")
    shell.write("b.py", "# devlint: ignore-file[mixed-device-operands]\nimport torch\nclash\nraw_cuda\n")
    assert shell.concise() == ["a.py:4:1: DEV101", "b.py:4:1: DEV302"]


def test_standard_input_stands_for_a_file(shell: Shell) -> None:
    shell.write("pyproject.toml", "[tool.devlint.per-file-ignores]\n'sub/*' = ['DEV302']\n")
    arguments = ["-", "--stdin-filename", "sub/new.py"]
    assert shell.concise(*arguments, stdin=BOTH.encode()) == ["sub/new.py:2:1: DEV101"]
    result = shell.run("-", stdin=CLASH.encode())
    assert "2 | clash" in result.stdout
    assert "--> <stdin>:2:1" in result.stdout


def test_standard_input_of_an_excluded_file_is_let_be(shell: Shell) -> None:
    shell.write("pyproject.toml", '[tool.devlint]\nexclude = ["gen/"]\n')
    arguments = ["-", "--stdin-filename", "gen/x.py"]
    assert shell.concise(*arguments, stdin=CLASH.encode()) == ["gen/x.py:2:1: DEV101"]
    assert shell.concise(*arguments, "--force-exclude", stdin=CLASH.encode()) == []


@pytest.mark.parametrize(
    ("arguments", "environment", "coloured"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_choice(
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    environment: dict[str, str],
    coloured: bool,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    shell.write("a.py")
    assert ("\x1b[" in shell.run(*arguments, "a.py").stdout) is coloured


def test_output_survives_a_terminal_that_knows_ascii_only(shell: Shell) -> None:
    shell.write("a.py", "import torch\nclash  # 形\n")
    result = shell.run("a.py")
    assert "形" in result.stdout
    assert json.loads(shell.run("--output-format", "json", "a.py").stdout.encode("ascii"))["diagnostics"]


def test_a_second_run_in_one_process_sees_changed_files(shell: Shell) -> None:
    shell.write("a.py", CLASH)
    assert shell.concise("a.py") == ["a.py:2:1: DEV101"]
    shell.write("a.py", RAW)
    assert shell.concise("a.py") == ["a.py:2:1: DEV302"]


def test_text_without_torch_is_not_analysed_but_its_syntax_counts(shell: Shell) -> None:
    shell.write("a.py", "clash\n")
    shell.write("b.py", "clash = (\n")
    assert shell.concise() == ["b.py:1:9: DEV901"]


def test_own_signatures_lift_that_prefilter(shell: Shell) -> None:
    shell.write("mine.pyi", "")
    shell.write("pyproject.toml", '[tool.devlint]\nsignatures = ["mine.pyi"]\n')
    shell.write("a.py", "clash\n")
    assert shell.concise() == ["a.py:1:1: DEV101"]
