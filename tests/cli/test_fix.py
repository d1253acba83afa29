"""`--fix` and its like, with the real analysis: files, standard input, differences, exit codes."""

from __future__ import annotations

import codecs
import json
import stat
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from devlint.cli import devlint

MIXED = """\
import torch


def step(x: torch.Tensor):
    return x + torch.ones(3)  # the reason
"""
FIXED = MIXED.replace("torch.ones(3)", "torch.ones(3, device=x.device)")
UNSAFE = """\
import torch


def step(x: torch.Tensor):
    mask = torch.ones(3)
    total = mask.sum()
    return x + mask, total
"""
LEFT = 'import torch\n\nx = torch.ones(3) + y\nz = torch.ones(3, device="gpu")\n'


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _run(*arguments: str, stdin: bytes | None = None) -> Result:
    result = CliRunner().invoke(devlint, ["check", *arguments], input=stdin)
    assert result.exit_code in (0, 1, 2), result.output
    return result


def _write(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_fix_changes_files_and_reports_what_is_left() -> None:
    mixed, left = _write("mixed.py", MIXED), _write("left.py", LEFT)
    result = _run("--fix", "--output-format", "concise", ".")

    assert mixed.read_text() == FIXED
    assert left.read_text() == LEFT
    assert [line.split()[1] for line in result.stdout.splitlines()] == ["DEV303"]
    assert result.stderr == "Fixed 1. Found 1 error in 2 files.\n"
    assert result.exit_code == 1


def test_when_all_is_fixed_the_exit_code_says_so() -> None:
    _write("mixed.py", MIXED)
    result = _run("--fix", ".")
    assert (result.stderr, result.exit_code) == ("Fixed 1. No mistake found in 1 file.\n", 0)
    result = _run("--fix", ".")
    assert (result.stderr, result.exit_code) == ("No mistake found in 1 file.\n", 0)


def test_exit_non_zero_on_fix() -> None:
    _write("mixed.py", MIXED)
    assert _run("--fix", "--exit-non-zero-on-fix", ".").exit_code == 1
    assert _run("--fix", "--exit-non-zero-on-fix", ".").exit_code == 0


def test_diff_prints_a_patch_and_writes_nothing() -> None:
    mixed = _write("mixed.py", MIXED.replace("\n", "\r\n").removesuffix("\r\n"))
    before = mixed.read_bytes()
    result = _run("--diff", ".")

    assert mixed.read_bytes() == before
    assert (result.stderr, result.exit_code) == ("Would fix 1.\n", 1)
    assert _run("--fix", ".").exit_code == 0
    fixed = mixed.read_bytes()
    mixed.write_bytes(before)
    subprocess.run(["git", "apply", "-p0", "-"], input=result.stdout_bytes, check=True)
    assert mixed.read_bytes() == fixed


def test_diff_of_what_needs_no_change() -> None:
    _write("left.py", LEFT)
    result = _run("--diff", ".")
    assert (result.stdout, result.stderr, result.exit_code) == ("", "Would fix 0.\n", 0)


def test_fix_only_reports_nothing() -> None:
    mixed = _write("mixed.py", MIXED)
    _write("left.py", LEFT)
    result = _run("--fix-only", ".")
    assert (result.stdout, result.stderr, result.exit_code) == ("", "Fixed 1.\n", 0)
    assert mixed.read_text() == FIXED


def test_unsafe_fixes_are_made_if_asked_for() -> None:
    path = _write("unsafe.py", UNSAFE)
    hint = "Found 1 error in 1 file.\n`--fix --unsafe-fixes` has a fix for 1 of them.\n"
    assert _run(".").stderr == hint
    assert _run("--fix", ".").stderr == hint
    assert path.read_text() == UNSAFE
    assert _run("--unsafe-fixes", ".").stderr == "Found 1 error in 1 file.\n`--fix` has a fix for 1 of them.\n"
    assert _run("--fix", "--unsafe-fixes", ".").exit_code == 0
    assert path.read_text() == UNSAFE.replace("torch.ones(3)", "torch.ones(3, device=x.device)")


def test_standard_input_is_printed_fixed() -> None:
    data = codecs.BOM_UTF8 + MIXED.replace("\n", "\r\n").encode()
    result = _run("--fix", "-", stdin=data)
    assert result.stdout_bytes == codecs.BOM_UTF8 + FIXED.replace("\n", "\r\n").encode()
    assert (result.stderr, result.exit_code) == ("Fixed 1. No mistake found in 1 file.\n", 0)

    result = _run("--fix", "--output-format", "concise", "-", stdin=LEFT.encode())
    assert result.stdout == LEFT
    assert result.stderr.startswith("<stdin>:4:26: DEV303 ")
    assert result.exit_code == 1


def test_several_processes_fix_the_same() -> None:
    for number in range(6):
        _write(f"f{number}.py", MIXED)
    result = _run("--fix", "--jobs", "2", ".")
    assert (result.stderr, result.exit_code) == ("Fixed 6. No mistake found in 6 files.\n", 0)
    assert {path.read_text() for path in Path().glob("f*.py")} == {FIXED}


def test_the_edits_are_in_the_json() -> None:
    _write("mixed.py", MIXED)
    (found,) = json.loads(_run("--output-format", "json", ".").stdout)["diagnostics"]
    assert found["fix"] == {
        "safety": "safe",
        "message": "pass `device=x.device` to `torch.ones(3)`",
        "edits": [{"line": 5, "column": 28, "end_line": 5, "end_column": 28, "text": ", device=x.device"}],
    }


@pytest.mark.parametrize(
    "comment", ["# noqa", "# devlint: ignore[DEV103]", "# devlint: ignore[cpu-tensor-in-device-code] why"]
)
def test_suppressed_lines_stay(comment: str) -> None:
    text = MIXED.replace("# the reason", comment)
    elsewhere = UNSAFE.replace("ones(3)", f"ones(3)  {comment}")
    paths = [_write("here.py", text), _write("elsewhere.py", elsewhere)]
    _run("--fix", "--unsafe-fixes", ".")
    assert [path.read_text() for path in paths] == [text, elsewhere]


def test_permissions_and_links_stay() -> None:
    mixed = _write("mixed.py", MIXED)
    mixed.chmod(0o755)
    Path("pkg").mkdir()
    link = Path("pkg/link.py")
    link.symlink_to(mixed.resolve())
    assert _run("--fix", str(link)).exit_code == 0
    assert link.is_symlink()
    assert mixed.read_text() == FIXED
    assert stat.S_IMODE(mixed.stat().st_mode) == 0o755
    assert sorted(path.name for path in Path().iterdir()) == ["mixed.py", "pkg"]


def test_a_read_only_file_is_an_error() -> None:
    mixed = _write("mixed.py", MIXED)
    mixed.chmod(0o444)
    result = _run("--fix", ".")
    assert "mixed.py: cannot be written" in result.stderr
    assert result.exit_code == 2
    assert mixed.read_text() == MIXED


def test_a_broken_file_does_not_keep_others_from_being_fixed() -> None:
    mixed, broken = _write("mixed.py", MIXED), _write("broken.py", "import torch\nx = (\n")
    assert _run("--fix", ".").exit_code == 2
    assert mixed.read_text() == FIXED
    assert broken.read_text() == "import torch\nx = (\n"
