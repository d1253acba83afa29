"""`python -m tests.cache.affected FOLDER`: how many files of a project are analysed after an edit of each of its parts.

The project is copied and analysed once. Then the edges of the cache tell which results rest on each part; no file is
edited. A result that names a line of the edited file does not count.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from devlint import engine
from devlint.cache import Cache
from devlint.cache.changes import Change, Graph
from devlint.definitions import NAMES, OUTSIDE, code_of
from devlint.inspector import Batch, FileResult, load_tools
from devlint.reads import REPORTS, Part
from devlint.settings import Settings
from devlint.traces import Trace


class Keeping(Cache):
    """A cache that shows the traces of a run."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, lambda batch: "key")
        self.graph = Graph({})
        self.traces: dict[str, Trace] = {}

    def recall(self, batch: Batch) -> dict[Path, FileResult]:
        """Return the results that still hold, by file."""
        found = super().recall(batch)
        self.graph, self.traces = self._graphs["key"], self._memories["key"].traces
        return found


def edits(trace: Trace) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a name for each kind of edit of a file, with the parts that one such edit changes."""
    names = {part.name for part in trace.traced if part.digest}
    if not names:
        return
    yield "a new name", (NAMES, "a name that no file reads")
    yield "a call at the top level, or the like", (OUTSIDE,)
    for name in sorted(names - {NAMES, OUTSIDE}):
        if not name.isidentifier():
            yield "the code of a function, or of the methods of a class", (name,)
        elif code_of(name) in names:
            yield "a definition gets another name, or goes", (NAMES, name, code_of(name))
            yield "the bases or a class attribute of a class", (name,)
        else:
            yield "a constant or an import changes or goes", (NAMES, name)


def affected(folder: Path) -> dict[str, list[int]]:
    """Return for each kind of edit the numbers of files that are analysed again after the edits of this kind."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place, "project")
        shutil.copytree(folder, copy / folder.name, ignore=shutil.ignore_patterns(".git"))
        (copy / "pyproject.toml").touch()
        settings, cache = Settings((str(copy),), isolated=True), Keeping(Path(place, "cache"))
        for _ in range(2):
            engine.run(settings, load=load_tools, cache=cache)
        found = defaultdict(list)
        for trace in cache.traces.values():
            for kind, parts in edits(trace):
                changed = frozenset(Part(trace.path, name) for name in (*parts, REPORTS))
                change = Change(frozenset((trace.path,)), changed)
                found[kind].append(len(cache.graph.affected(cache.traces, change)))
        return dict(found)


def main(arguments: list[str]) -> int:
    """Print the table of one folder."""
    print("| edit | edits | files analysed: median | mean | most | only the edited file |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for kind, numbers in sorted(affected(Path(arguments[0]).absolute()).items()):
        only = sum(number == 1 for number in numbers) / len(numbers)
        figures = f"{statistics.median(numbers):.0f} | {statistics.mean(numbers):.1f} | {max(numbers)} | {only:.0%} |"
        print(f"| {kind} | {len(numbers):,} | {figures}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
