"""Whatever is wrong with a file or setting: a message that names the place, exit code 2, the rest intact."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.stand_in import Shell

MALFORMED = Path(__file__).parents[2] / "fixtures" / "malformed"
GOOD = "import torch\nclash\n"


@pytest.fixture
def beside(shell: Shell) -> Shell:
    """A folder with a good file, which must be reported on whatever happens to the others."""
    shell.write("good.py", GOOD)
    return shell


def _others(shell: Shell, *arguments: str) -> list[str]:
    lines = shell.concise(*arguments)
    assert "good.py:2:1: DEV101" in lines
    lines.remove("good.py:2:1: DEV101")
    return lines


@pytest.mark.parametrize(
    ("name", "place", "message"),
    [
        ("unclosed_bracket.py", "unclosed_bracket.py:3:16", "'(' was never closed"),
        ("nul_character.py", "nul_character.py:2:10", "a NUL character"),
        ("merge_conflict.py", "merge_conflict.py:2:1", "invalid syntax"),
        ("python2.py", "python2.py:2:1", "Missing parentheses in call to 'print'"),
        ("template.py", "template.py:1:8", "invalid syntax"),
    ],
)
def test_text_that_is_no_python_is_a_located_diagnostic(beside: Shell, name: str, place: str, message: str) -> None:
    beside.write(name, (MALFORMED / name).read_bytes())
    result = beside.run("--output-format", "concise", ".")
    assert result.exit_code == 2
    (line,) = [line for line in result.stdout.splitlines() if "DEV901" in line]
    assert line.startswith(f"{place}: DEV901 [syntax-error] Python ")
    assert message in line
    assert "good.py:2:1: DEV101" in result.stdout
    assert result.stderr == "Found 2 errors in 2 files. 1 file could not be analysed.\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("binary.py", "binary.py: is a binary file"),
        ("utf16.py", "utf16.py: is UTF-16, which Python does not read; save it as UTF-8"),
        ("not_utf8.py", "not_utf8.py:2: is not utf-8: byte 0xe9 (invalid continuation byte)"),
        ("unknown_encoding.py", "unknown_encoding.py:2: cannot be decoded: unknown encoding: utf-9"),
        (
            "not_a_text_encoding.py",
            "not_a_text_encoding.py:1: cannot be decoded: 'rot13' is not a text encoding",
        ),
        ("declared_ascii.py", "declared_ascii.py:3: is not ascii: byte 0xc3 (ordinal not in range(128))"),
        (
            "bom_and_latin1.py",
            "bom_and_latin1.py:1: cannot be decoded: the coding declaration contradicts the UTF-8 byte order mark",
        ),
    ],
)
def test_bytes_that_cannot_be_decoded_are_an_error_that_names_the_file(beside: Shell, name: str, message: str) -> None:
    beside.write(name, (MALFORMED / name).read_bytes())
    result = beside.run("--output-format", "concise", ".")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"error: {message}",
        "Found 1 error in 2 files. 1 file could not be analysed.",
    ]
    assert _others(beside) == []


@pytest.mark.parametrize("name", ["bom.py", "latin1.py", "form_feed.py"])
def test_unusual_but_legal_text_is_read_as_python_reads_it(shell: Shell, name: str) -> None:
    shell.write(name, (MALFORMED / name).read_bytes())
    (line,) = shell.concise()
    assert line.startswith(f"{name}:3:1: DEV101")


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_every_line_end_counts_as_one(shell: Shell, end: str) -> None:
    shell.write("a.py", end.join(["import torch", "", "clash"]))
    assert shell.concise() == ["a.py:3:1: DEV101"]


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "\ufeff", "\f"])
def test_a_file_without_code_is_fine(shell: Shell, text: str) -> None:
    shell.write("a.py", text)
    result = shell.run("a.py")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "No mistake found in 1 file.\n")


@pytest.mark.parametrize("text", ["continue", "break", "return 1", "yield 1", "await x", "if c:\n    continue"])
def test_text_that_can_be_parsed_but_not_compiled_is_no_crash(beside: Shell, text: str) -> None:
    beside.write("a.py", f"import torch\n{text}\n")
    assert "DEV903" not in "".join(beside.concise())


@pytest.mark.parametrize("text", ["x = " + "-" * 100_000 + "1", "x = " + "[" * 3_000])
@pytest.mark.parametrize("head", ["", "import torch; "])
def test_nesting_that_python_refuses_is_no_crash(beside: Shell, text: str, head: str) -> None:
    beside.write("deep.py", head + text)
    (line,) = _others(beside)
    assert line in (f"deep.py:1:{column}: DEV901" for column in range(1, 5_000))
    assert beside.run(".").exit_code == 2


def test_standard_input_that_is_no_text(shell: Shell) -> None:
    result = shell.run("-", stdin=b"x\xff")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: <stdin>:1: is not utf-8: byte 0xff (invalid start byte)\n"


@pytest.mark.parametrize("text", ["x = 1" + " + 1" * 100_000, "a" + ".b" * 100_000])
def test_chains_that_only_some_pythons_refuse_are_no_crash(beside: Shell, text: str) -> None:
    beside.write("deep.py", "import torch; " + text)
    assert _others(beside) in ([], ["deep.py:1:1: DEV901"])


def test_a_missing_path_does_not_hide_the_others(beside: Shell) -> None:
    result = beside.run("--output-format", "concise", "gone.py", "good.py", "no/where")
    assert result.exit_code == 2
    assert "good.py:2:1: DEV101" in result.stdout
    assert result.stderr.splitlines()[:2] == [
        'error: gone.py: no such file or folder; did you mean "good.py"?',
        "error: no/where: no such file or folder",
    ]


def test_an_unreadable_file_names_the_reason(beside: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = beside.write("secret.py")
    if os.geteuid() == 0:  # permissions do not stop root, so the read itself is made to fail
        real = os.open

        def refuse(path: str | Path, *arguments: int) -> int:
            if path == secret:
                raise PermissionError(13, "Permission denied")
            return real(path, *arguments)

        monkeypatch.setattr(os, "open", refuse)
    else:
        secret.chmod(0)
    result = beside.run("--output-format", "concise", ".")
    assert result.exit_code == 2
    assert "error: secret.py: cannot be read: Permission denied" in result.stderr
    assert "good.py:2:1: DEV101" in result.stdout


def test_broken_links_are_errors_when_named_and_warnings_when_met(beside: Shell) -> None:
    (beside.folder / "link.py").symlink_to("nowhere.py")
    (beside.folder / "self.py").symlink_to("self.py")
    walked = beside.run("--output-format", "concise", ".")
    assert walked.exit_code == 1
    assert walked.stderr.splitlines()[:2] == [
        "warning: link.py: skipped, broken symbolic link",
        "warning: self.py: skipped, broken symbolic link",
    ]
    named = beside.run("link.py", "good.py")
    assert named.exit_code == 2
    assert "error: link.py: broken symbolic link" in named.stderr
    assert "good.py:2:1" in named.stdout


def test_a_folder_without_python_gets_a_note(shell: Shell) -> None:
    shell.write("docs/readme.md", "text")
    result = shell.run("docs")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "note: docs: no Python files\nNo mistake found in 0 files.\n"


def test_a_folder_named_like_a_file_is_walked(shell: Shell) -> None:
    shell.write("x.py/a.py")
    assert shell.concise() == shell.concise("x.py") == ["x.py/a.py:2:1: DEV101"]


def test_stubs_are_passed_over_and_what_is_no_notebook_is_refused(beside: Shell) -> None:
    beside.write("a.pyi", "clash")
    beside.write("n.ipynb", "{}")
    result = beside.run("--output-format", "concise", "a.pyi", "good.py")
    assert (result.exit_code, len(result.stdout.splitlines())) == (1, 1)
    assert "note: a.pyi: skipped" in result.stderr
    refused = beside.run("n.ipynb")
    assert refused.exit_code == 2
    assert "error: n.ipynb: is no notebook" in refused.stderr


@pytest.mark.parametrize(
    ("phase", "said", "jobs"),
    [
        ("analysis", "KeyError: 'lost'", "1"),
        ("analysis", "KeyError: 'lost'", "2"),
        ("rules", "ZeroDivisionError", "1"),
    ],
)
def test_a_crash_inside_stays_with_its_file(beside: Shell, phase: str, said: str, jobs: str) -> None:
    beside.write("crash.py", f"import torch\n# {phase}: fail\nclash\n")
    result = beside.run("--output-format", "concise", "-v", "--jobs", jobs, ".")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stdout.splitlines() == [
        f"crash.py:1:1: DEV903 [internal-error] devlint failed on this file, phase {phase}: {said}",
        "good.py:2:1: DEV101 [mixed-device-operands] a is on cpu, b is on cuda:0",
    ]
    assert jobs == "2" or "Traceback" not in beside.run(".").stderr


def test_a_process_that_dies_takes_only_its_file_along(beside: Shell) -> None:
    for number in range(6):
        beside.write(f"good{number}.py", GOOD)
    for name in ("dies_a.py", "dies_b.py"):
        beside.write(name, "import torch\n# analysis: die\n")
    lines = beside.concise("--jobs", "2")
    assert lines == [
        "dies_a.py:1:1: DEV903",
        "dies_b.py:1:1: DEV903",
        "good.py:2:1: DEV101",
        *(f"good{number}.py:2:1: DEV101" for number in range(6)),
    ]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[tool.devlint]\nselekt = []\n", 'pyproject.toml:2: unknown key "selekt"; did you mean "select"?'),
        ("[tool.devlint]\nselect = 'DEV1'\n", "pyproject.toml:2: select: a list of strings is wanted"),
        ("[tool.devlint]\nselect = ['DEV999']\n", 'pyproject.toml: select: unknown rule "DEV999"'),
        (
            "[tool.devlint]\n\nignore = ['mixed-devise-operands']\n",
            'ignore: unknown rule "mixed-devise-operands"; did you mean mixed-device-operands?',
        ),
        ("[tool.devlint]\nignore = ['DEV901']\n", "ignore: DEV901 says that a file could not be analysed"),
        ("[tool.devlint]\ndevices = 'two'\n", "pyproject.toml:2: devices: a number of devices"),
        ("[tool.devlint]\ndevices = true\n", "this is a boolean"),
        ("[tool.devlint]\nsrc = ['lib']\n", 'pyproject.toml:2: src: "lib" does not exist in'),
        ("[tool.devlint.severity]\nDEV1 = 'eror'\n", 'severity.DEV1: "error" or "warning" is wanted'),
        ("[tool.devlint.severity]\nDEV8 = 'error'\n", 'severity: unknown rule "DEV8"'),
        ("[tool.devlint.per-file-ignores]\n'*.py' = 'DEV1'\n", 'per-file-ignores."*.py": a list of strings'),
        ("[tool.devlint.per-file-ignores]\n'*.py' = ['X1']\n", 'per-file-ignores."*.py": unknown rule "X1"'),
        ("[tool]\ndevlint = 3\n", "tool.devlint: a table is wanted, this is the number 3"),
        ("[tool.devlint\n", "pyproject.toml:1: is not valid TOML"),
        ("[tool.devlint]\nexclude = ['!']\n", "exclude: "),
    ],
)
def test_a_wrong_configuration_is_named_with_file_and_key(beside: Shell, table: str, message: str) -> None:
    beside.write("pyproject.toml", table)
    result = beside.run(".")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: pyproject.toml")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("folder_has_files", [True, False])
def test_an_unknown_rule_on_the_command_line(shell: Shell, folder_has_files: bool) -> None:
    if folder_has_files:
        shell.write("a.py")
    result = shell.run("--select", "DEV1O1", ".")
    assert result.exit_code == 2
    assert result.stderr.startswith('error: --select: unknown rule "DEV1O1"; did you mean DEV101')


def test_a_configuration_file_that_cannot_be_used(beside: Shell) -> None:
    beside.write("other.toml", "[tool.other]\n")
    assert "error: gone.toml: cannot be read" in beside.run("--config", "gone.toml", ".").stderr
    assert "error: other.toml: has no [tool.devlint] table" in beside.run("--config", "other.toml", ".").stderr
    beside.write("other.toml", "[project]\n")
    assert 'error: other.toml:1: unknown key "project"' in beside.run("--config", "other.toml", ".").stderr
