"""`python -m tests.benchmark [--growth] FOLDER …`: how fast devlint and its peers check each folder; or `--latency`.

Prints a table for each folder: seconds, CPU seconds and memory of devlint without a cache, with one that has
everything, and with one file changed, of the peers that are on PATH, and of bare `ast.parse`; peers that are missing
are named. With `--growth`, how the CPU seconds grow over the first eighth, quarter and half of the files instead. The
folders are copied first, so that no configuration above them counts and nothing in them is touched.

`--latency` needs no folder: it prints what is taken where there is little to do, in a project of 1,000 modules.
"""

from __future__ import annotations

import ast
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tests.benchmark.latency import latencies
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

_FUNCTION = re.compile(r"^def .*\):$", re.MULTILINE)
_FROM = re.compile(r"^\s*from\s+([\w.]+)\s+import", re.MULTILINE)

PARTS = (8, 4, 2, 1)
"""The growth is measured over so many parts of the files: one of eight, …, all."""


def version_of(program: str) -> str:
    """What a program says of its version."""
    said = subprocess.run([program, "--version"], capture_output=True, encoding="utf-8", check=False).stdout.split()
    return next((word for word in said if word[:1].isdigit()), "")


def rows_of_devlint(folder: Path) -> Iterator[Row]:
    """devlint without a cache, in several processes, in one, and with all rules; with a cache, and a file changed."""
    version = version_of_devlint()
    yield Row("devlint", version, measured([*COLD, "."], cwd=folder))
    yield Row("devlint `--jobs 1`", version, measured([*COLD, "--jobs", "1", "."], cwd=folder))
    yield Row("devlint `--select ALL`", version, measured([*COLD, "--select", "ALL", "."], cwd=folder))
    with tempfile.TemporaryDirectory() as place:
        errors = Path(place, "errors")
        environment = {"DEVLINT_CACHE_DIR": str(Path(place, "cache"))}
        alone = folder / "nobody_imports_this.py"
        alone.write_text("import torch\n\nx = torch.zeros(3)\n")

        def again(what: str) -> Row:
            cost = measured([*WARM, "--verbose", "."], cwd=folder, environment=environment, errors=errors)
            analysed = re.search(r"(\d+) of \d+ files analysed", errors.read_text())
            return Row(f"devlint, {what}: {analysed[1] if analysed else '?'} files", version, cost)

        again("")
        yield again("nothing changed")
        alone.write_text(alone.read_text() + "# changed\n")
        yield again("a comment in a file that nobody imports")
        path = most_imported(folder)
        first = path.read_text()
        for what, text in edits(first).items():
            path.write_text(text)
            yield again(f"{what} in the most imported file")
            path.write_text(first)
            again("")


def edits(text: str) -> dict[str, str]:
    """Return edited texts of a file, by a name for the edit. The function is the first with its header in one line."""
    lines = text.split("\n")
    function = next(
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and lines[node.lineno - 1].rstrip().endswith("):")
    )
    at, first = function.lineno, function.body[0]
    indent = " " * first.col_offset
    header = lines[at - 1].rstrip().removesuffix("):")
    return {
        "a comment": "# changed\n" + text,
        f"a statement in `{function.name}`": "\n".join(
            [*lines[: first.lineno - 1], f"{indent}changed = 1", *lines[first.lineno - 1 :]]
        ),
        f"a keyword parameter of `{function.name}`": "\n".join(
            [*lines[: at - 1], f"{header}, changed=None):".replace("(, ", "("), *lines[at:]]
        ),
        "one more function": text + "\n\ndef changed(x):\n    return x\n",
        "one more constant": text + "\nCHANGED = 1\n",
        "one more import": text + "\nimport math as changed\n",
        f"another name for `{function.name}`": "\n".join(
            [*lines[: at - 1], lines[at - 1].replace(function.name, "changed", 1), *lines[at:]]
        ),
        "a call": text + "\nprint()\n",
    }


def version_of_devlint() -> str:
    """The version of devlint."""
    words = subprocess.run([*DEVLINT, "--version"], capture_output=True, encoding="utf-8", check=True).stdout.split()
    return words[-1]


def most_imported(folder: Path) -> Path:
    """The file with a function whose name most files have as the last part of the module in a `from … import`."""
    files = [path for path in python_files(folder) if _FUNCTION.search(path.read_text("utf-8", errors="replace"))]
    names = Counter(
        name.rpartition(".")[2]
        for path in files
        for name in set(_FROM.findall(path.read_text("utf-8", errors="replace")))
    )
    return max(files, key=lambda path: names[path.parent.name if path.stem == "__init__" else path.stem])


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


def grow(folder: Path) -> None:
    """Print how the cost grows with the files."""
    files = python_files(folder)
    print(f"\n{folder.name}\n\n| files | lines | CPU seconds | microseconds a line | memory, MB |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for part in PARTS:
        some = files[: max(1, len(files) // part)]
        names = [str(path.relative_to(folder)) for path in some]
        cost, lines = measured([*COLD, "--jobs", "1", *names], cwd=folder), lines_in(some)
        micros = cost.cpu / max(lines, 1) * 1e6
        print(f"| {len(some):,} | {lines:,} | {cost.cpu:.2f} | {micros:.0f} | {cost.memory:.0f} |", flush=True)


def main(arguments: list[str]) -> int:
    """Measure every folder."""
    if arguments == ["--latency"]:
        for line in table(latencies(DEVLINT, version_of_devlint(), 1000), None):
            print(line, flush=True)
        return 0
    growth = "--growth" in arguments
    folders = [Path(word).absolute() for word in arguments if word != "--growth"]
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
            (grow if growth else compare)(copy)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
