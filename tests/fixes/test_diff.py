"""`--diff` is a patch whatever files are called: git and GNU patch make of it what `--fix` writes, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint.cli import devlint
from devlint.fixes.quoting import quoted
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not allow such names")

MIXED = b'import torch\nx = torch.ones(3, device="cuda:0") + torch.ones(3)\n'
VICTIM = "x"
NAMES = (
    b"plain.py",
    b"two words.py",
    b" blank.py",
    b'quote".py',
    b"'single'.py",
    b'"both".py',
    b"back\\slash.py",
    b"back\\\\n.py",
    b"tab\t.py",
    b"return\r.py",
    b"line\n.py",
    b"bell\a\b\v\f\x7f.py",
    b"colour\x1b[31m.py",
    "umlaut ä.py".encode(),
    "c1 \u009b31m.py".encode(),
    "bidi \u202e.py".encode(),
    "no-break\u00a0.py".encode(),
    b"latin1 \xe4.py",
    b"\xff\xfe.py",
    b"date 2020-01-01 10:00:00.000000000 +0000.py",
    b"--- .py",
    b"+++ b.py",
    b"a\n--- x\n+++ x\n@@ -1 +1 @@\n-safe\n+spoilt\n.py",
    b"a\ndiff --git a/x b/x\ndeleted file mode 100644\n.py",
    b"folder\n+++ x/m.py",
    b"two words/m.py",
)


def _project(folder: Path) -> bytes:
    root = os.fsencode(folder)
    for name in NAMES:
        os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
        with open(os.path.join(root, name), "wb") as file:
            file.write(MIXED)
    (folder / "pyproject.toml").write_text("")
    (folder / VICTIM).write_text("safe\n")
    return root


def _contents(folder: Path) -> dict[bytes, bytes]:
    found = {}
    for base, _, files in os.walk(os.fsencode(folder)):
        for file in files:
            with open(os.path.join(base, file), "rb") as opened:
                found[os.path.relpath(os.path.join(base, file), os.fsencode(folder))] = opened.read()
    return found


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, dict[bytes, bytes]]:
    """A project, the patch of it, and what `--fix` makes of the project."""
    folder = tmp_path_factory.mktemp("names")
    project, fixed = folder / "project", folder / "fixed"
    project.mkdir()
    _project(project)
    shutil.copytree(project, fixed)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        diff = CliRunner().invoke(devlint, ["check", "--diff", "--no-cache", "--select", "DEV101", "."])
        assert diff.stderr == f"Would fix {len(NAMES)}.\n"
        patch.chdir(fixed)
        assert CliRunner().invoke(devlint, ["check", "--fix", "--no-cache", "--select", "DEV101", "."]).exit_code == 0
    return project, diff.stdout_bytes, _contents(fixed)


@pytest.mark.parametrize("tool", [("git", "apply", "-p0", "-"), ("patch", "-p0", "--batch")], ids=lambda tool: tool[0])
def test_the_patch_is_the_fix(
    patched: tuple[Path, bytes, dict[bytes, bytes]], tmp_path: Path, tool: tuple[str, ...]
) -> None:
    if shutil.which(tool[0]) is None:
        pytest.skip(f"no {tool[0]} here")
    project, diff, fixed = patched
    copy = tmp_path / "copy"
    shutil.copytree(project, copy)
    ended = subprocess.run(tool, cwd=copy, input=diff, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert _contents(copy) == fixed


def test_a_patch_steers_no_terminal(patched: tuple[Path, bytes, dict[bytes, bytes]]) -> None:
    rows = patched[1].decode().replace("\t\n", "\n").split("\n")
    assert all(row.isprintable() for row in rows)
    assert sum(row.startswith("+++ ") for row in rows) == len(NAMES)


@given(st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name))
def test_names_are_quoted_as_git_quotes_them(name: bytes) -> None:
    shown = quoted(os.fsdecode(name))
    if shown.startswith(b'"'):
        assert shown.endswith(b'"')
        shown = shown[1:-1].decode("unicode_escape").encode("latin-1")
    assert shown == name
