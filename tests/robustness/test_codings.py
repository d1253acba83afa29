"""Encodings of source files: what Python does not read, devlint neither checks nor fixes."""

from __future__ import annotations

import encodings
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from devlint.cli import devlint
from devlint.decoding import decode
from devlint.errors import SourceError

CODINGS = sorted(module.name for module in pkgutil.iter_modules(encodings.__path__) if module.name != "aliases")

ENDS = (b"", b"\n", b"#-", b"# a-b\n", b"# -kva", b"'\\u00e4'\n", b"'+AOQ-'\n", b"'~{VPND~}'\n", b"'\xc3\xa4'\n")
"""What a file ends with. Some encodings take a hyphen, a backslash, a plus or a tilde for more than that."""

READ = """\
import sys, tokenize
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        data = file.read()
    try:
        compile(data, name, "exec")
        with tokenize.open(name) as file:
            compile(file.read(), name, "exec")
    except (SyntaxError, UnicodeError, ValueError):
        print(0)
    else:
        print(1)
"""
"""What Python says of files, as `import` and as a program read them."""


def _accepts(data: bytes) -> bool:
    try:
        compile(decode(data, "m.py"), "m.py", "exec")
    except (SourceError, SyntaxError, ValueError):
        return False
    return True


def test_devlint_reads_what_python_reads(tmp_path: Path) -> None:
    files = {
        tmp_path / f"{coding}{number}.py": f"# coding: {coding}\nx = 1\n".encode() + end
        for coding in CODINGS
        for number, end in enumerate(ENDS)
    }
    for file, data in files.items():
        file.write_bytes(data)
    done = subprocess.run([sys.executable, "-c", READ, *map(str, files)], capture_output=True, text=True, check=True)
    answers = [answer == "1" for answer in done.stdout.split()]
    assert [file.name for file, answer in zip(files, answers, strict=True) if answer is not _accepts(files[file])] == []
    assert 0 < answers.count(False) < len(answers)


def test_a_fixed_file_is_read_by_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    body = b"import torch\nx = torch.ones(3, device='cuda:0') + torch.ones(3)  # -"
    before = {tmp_path / f"{coding}.py": f"# coding: {coding}\n".encode() + body for coding in CODINGS}
    for file, data in before.items():
        file.write_bytes(data)
    CliRunner().invoke(devlint, ["check", "--no-cache", "--isolated", "--fix", "--jobs", "1", "."])
    fixed = {file.stem: file.read_bytes() for file, data in before.items() if file.read_bytes() != data}
    assert {"utf_8", "latin_1", "cp1252", "shift_jis", "euc_kr"} <= fixed.keys()
    for coding, data in fixed.items():
        compile(data, coding, "exec")
