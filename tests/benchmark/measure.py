"""Running commands, and what they took: seconds, CPU seconds and memory, of a command with all its processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PARSE = """
import ast, gc, sys
gc.disable()
for path in sys.stdin.read().splitlines():
    try:
        ast.parse(open(path, "rb").read())
    except (SyntaxError, ValueError):
        pass
"""
"""Parses the files named on its standard input and does nothing with them."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took.

    Attributes:
        seconds: by the clock.
        cpu: of all its processes together.
        memory: MB, of the largest of its processes.
        code: its exit code.
    """

    seconds: float
    cpu: float
    memory: float
    code: int


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: who did what at which cost."""

    name: str
    version: str
    cost: Cost


def measured(
    command: Sequence[str | Path], *, cwd: Path, given: str = "", environment: Mapping[str, str] | None = None
) -> Cost:
    """Run a command, whose output goes nowhere.

    Args:
        command: the program and its arguments.
        cwd: its working directory.
        given: its standard input.
        environment: variables that it gets besides ours.
    """
    with tempfile.TemporaryFile("w+") as stdin:
        stdin.write(given)
        stdin.seek(0)
        start = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1024 if sys.platform != "darwin" else 1024 * 1024
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit, process.returncode)


def python_files(folder: Path) -> list[Path]:
    """The Python files below a folder, in order."""
    return sorted(folder.rglob("*.py"))


def lines_in(files: Iterable[Path]) -> int:
    """How many lines some files have together."""
    return sum(path.read_bytes().count(b"\n") for path in files)


def parsing(files: Sequence[Path], cwd: Path) -> Cost:
    """What it takes to start Python and parse some files with `ast.parse`."""
    return measured([sys.executable, "-c", PARSE], cwd=cwd, given="\n".join(map(str, files)))


def table(rows: Iterable[Row], reference: float) -> Iterator[str]:
    """The rows as a table in Markdown, each as soon as it is known; CPU also in terms of a reference."""
    yield "| | version | seconds | CPU seconds | memory, MB | CPU ÷ `ast.parse` |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for row in rows:
        cost = row.cost
        figures = f"{cost.seconds:.2f} | {cost.cpu:.2f} | {cost.memory:.0f} | {cost.cpu / reference:.1f} |"
        yield f"| {row.name} | {row.version} | {figures}"
