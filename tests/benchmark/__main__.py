"""`python -m tests.benchmark FOLDER …`: how fast devlint and its peers check each folder.

Prints a table for each folder: seconds, CPU seconds and memory of devlint without a cache and with one that has
everything, of the peers that are on PATH, and of bare `ast.parse`; peers that are missing are named. The folders are
copied first, so that no configuration above them counts and nothing in them is touched.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tests.benchmark.measure import Row, lines_in, measured, parsing, python_files, table

DEVLINT = (sys.executable, "-m", "devlint")
COLD = (*DEVLINT, "check", "--isolated", "--no-cache", "--exit-zero")
WARM = (*DEVLINT, "check", "--isolated", "--exit-zero")

PEERS = {
    "ruff, all rules, no cache": ("ruff", "check", "--isolated", "--no-cache", "--select", "ALL", "--exit-zero", "."),
    "ty": ("ty", "check", "--exit-zero", "."),
    "pyrefly": ("pyrefly", "check", "."),
    "pyright": ("pyright", "."),
    "TorchFix": ("torchfix", "--select", "ALL", "."),
}
"""Commands of the peers."""


def version_of(program: str) -> str:
    """What a program says of its version."""
    said = subprocess.run([program, "--version"], capture_output=True, encoding="utf-8", check=False).stdout.split()
    return next((word for word in said if word[:1].isdigit()), "")


def rows_of_devlint(folder: Path) -> Iterator[Row]:
    """devlint without a cache, in several processes, in one, and with all rules; with a cache."""
    version = version_of_devlint()
    yield Row("devlint", version, measured([*COLD, "."], cwd=folder))
    yield Row("devlint `--jobs 1`", version, measured([*COLD, "--jobs", "1", "."], cwd=folder))
    yield Row("devlint `--select ALL`", version, measured([*COLD, "--select", "ALL", "."], cwd=folder))
    with tempfile.TemporaryDirectory() as cache:
        environment = {"DEVLINT_CACHE_DIR": cache}
        measured([*WARM, "."], cwd=folder, environment=environment)
        yield Row("devlint, nothing changed", version, measured([*WARM, "."], cwd=folder, environment=environment))


def version_of_devlint() -> str:
    """The version of devlint."""
    words = subprocess.run([*DEVLINT, "--version"], capture_output=True, encoding="utf-8", check=True).stdout.split()
    return words[-1]


def rows_of_peers(folder: Path) -> Iterator[Row]:
    """Each peer that is there."""
    for name, command in PEERS.items():
        if shutil.which(command[0]) is not None:
            yield Row(name, version_of(command[0]), measured(command, cwd=folder))


def compare(folder: Path) -> None:
    """Print the table of one folder."""
    files = python_files(folder)
    parse = parsing(files, folder)
    print(f"\n{folder.name}: {len(files):,} files, {lines_in(files):,} lines\n")
    bare = Row("bare `ast.parse`", platform.python_version(), parse)
    for line in table(chain([bare], rows_of_devlint(folder), rows_of_peers(folder)), parse.cpu):
        print(line, flush=True)


def main(arguments: list[str]) -> int:
    """Measure every folder."""
    folders = [Path(word).absolute() for word in arguments]
    if not folders:
        print(__doc__, file=sys.stderr)
        return 2
    missing = [name for name, command in PEERS.items() if shutil.which(command[0]) is None]
    print(
        f"{platform.platform()}, {os.cpu_count()} CPUs" + (f"; not installed: {', '.join(missing)}" if missing else "")
    )
    for folder in folders:
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / folder.name
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".git"))
            compare(copy)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
