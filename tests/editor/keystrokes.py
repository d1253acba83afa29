"""Measures the analysis after an edit: `python -m tests.editor.keystrokes FOLDER FILE …`.

For each FILE of the project in FOLDER, it measures the first analysis of the document and those after edits, each with
and without a report in the document, and prints their processor time divided by that of `ast.parse` for all files of
FOLDER, as the median of several edits.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from devlint.editor.jobs import Job
from devlint.editor.living import Living
from devlint.settings import Settings

EDITS = 5

REPORTED = 'import torch\nvalue = torch.ones(2) + torch.ones(2, device="cuda:0")'


class Times(NamedTuple):
    """Seconds of processor time for a first analysis, and for one after an edit."""

    first: float
    edited: float


def measure(path: Path, *, with_report: bool) -> Times:
    """Analyse a document, and again after edits of a statement before a definition in its middle."""
    lines = path.read_text("utf-8").split("\n")
    middle = next(n for n in range(len(lines) // 2, len(lines)) if lines[n].startswith(("def", "class", "@")))
    settings = Settings((), select=("DEV101",), in_editor=True)
    living, known = Living(), None
    spent = []
    for number in range(1 + EDITS):
        statements = [f"number = {number}", *([REPORTED] if with_report else [])]
        text = "\n".join([*lines[:middle], *statements, *lines[middle:]])
        start = time.process_time()
        found = living.answer(Job(path, settings, {path: text.encode()}, known))
        spent.append(time.process_time() - start)
        assert found is not None
        assert bool(found.result.diagnostics) == with_report
        known = found.basis
    return Times(spent[0], statistics.median(spent[1:]))


def parsing(folder: Path) -> float:
    """The seconds of processor time that `ast.parse` takes for all files of a folder."""
    texts = [path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))]
    start = time.process_time()
    for text in texts:
        ast.parse(text)
    return time.process_time() - start


def rows(folder: Path, files: Sequence[Path]) -> Iterable[str]:
    """Yield a line for each file."""
    for path in files:
        unit = parsing(folder)
        plain, reported = measure(path, with_report=False), measure(path, with_report=True)
        ratios = [seconds / unit for seconds in (plain.first, plain.edited, reported.first, reported.edited)]
        lines = path.read_text("utf-8").count("\n")
        yield f"{path.name:32} {lines:6,}" + "".join(f"{ratio:10.2f}" for ratio in ratios)


def main() -> int:
    """Measure the files that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    measure(given.files[0].absolute(), with_report=True)  # imports what the first analysis needs
    print(f"{'file':32} {'lines':>6}{'first':>10}{'edited':>10}{'first':>10}{'edited':>10}  (last two: with a report)")
    for row in rows(given.folder, [path.absolute() for path in given.files]):
        print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
