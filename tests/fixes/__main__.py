"""`python -m tests.fixes FOLDER [--count 8]`: break packages in one place, and fix what devlint reports there.

FOLDER holds packages, unpacked, each in a folder of its own, as `tests.ecosystem` leaves them. For each kind of fix it
breaks places one at a time until so many were reported with a fix, taking the packages in turn. A fix counts if the
result is Python, no byte outside of its edits has changed, and the report is gone. Files are changed in memory only.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from devlint.decoding import decode_exactly
from devlint.diagnostics import Diagnostic, Edit
from devlint.fixes import apply_to_bytes
from devlint.inspector import Batch, Inspector, load_tools
from devlint.project import root_for
from devlint.settings import Configuration, Settings

from tests.fixes.mutations import MUTATIONS, Mutation

LARGEST = 60_000
"""Files with more bytes are left out, for they take long and show nothing else."""

NEAR = 60
"""A value that was broken may be reported some lines on, where it meets another."""


class Broken(NamedTuple):
    """A file with one place broken."""

    path: Path
    package: str
    line: int
    data: bytes


class Bench:
    """Inspects files of packages in one process, and keeps what it learns of a package.

    A file with other content gets another name, since what is known of a file does not change.
    """

    def __init__(self) -> None:
        self._inspected = 0
        self._inspectors: dict[Path, tuple[Inspector, Batch]] = {}

    def inspect(self, path: Path, data: bytes) -> list[Diagnostic]:
        """What devlint says of a file with that content."""
        root = root_for(path)
        if root not in self._inspectors:
            batch = Batch(root, Configuration(None, root), ())
            self._inspectors[root] = (Inspector(Settings((), isolated=True, select=("ALL",)), load_tools), batch)
        inspector, batch = self._inspectors[root]
        self._inspected += 1
        beside = path.with_name(f"{path.stem}_broken_{self._inspected}.py")
        (result,) = inspector.inspect(batch.of([beside]), {beside: data})
        return list(result.diagnostics)


def broken(folder: Path, mutation: Mutation) -> Iterator[Broken]:
    """The places of all packages, one of each package in turn."""
    by_package = [_of_package(package, mutation) for package in sorted(folder.iterdir()) if package.is_dir()]
    for places in zip_longest(*by_package):
        yield from (place for place in places if place is not None)


def _of_package(package: Path, mutation: Mutation) -> Iterator[Broken]:
    for path in sorted(package.rglob("*.py")):
        data = path.read_bytes()
        if len(data) > LARGEST or b"torch" not in data:
            continue
        text, encoding = decode_exactly(data, str(path))
        for offset, new in mutation.texts(text):
            yield Broken(path, package.name, text.count("\n", 0, offset) + 1, new.encode(encoding))
            break  # one place a file, for variety


def outcome(bench: Bench, place: Broken, mutation: Mutation) -> str:
    """What came of a place: "" if not reported, "no fix", "safe" or "unsafe" if that counts, else what is wrong."""
    before = bench.inspect(place.path, place.data)
    found = [one for one in before if one.code in mutation.codes and abs(one.place.line - place.line) <= NEAR]
    if not found:
        return ""
    fixable = [one for one in found if one.fix is not None and re.match(mutation.words, one.fix.message)]
    if not fixable or fixable[0].fix is None:
        return "no fix"
    fix = fixable[0].fix
    after = apply_to_bytes(place.data, fix.edits, str(place.path))
    try:
        ast.parse(after)
    except SyntaxError:
        return "WRONG: no Python"
    if _without(after, place.data, fix.edits) != place.data:
        return "WRONG: other bytes"
    left = Counter((one.code, one.message) for one in bench.inspect(place.path, after))
    cause = (fixable[0].code, fixable[0].message)
    if left[cause] >= Counter((one.code, one.message) for one in before)[cause]:
        return "WRONG: still reported"
    return fix.safety.value


def _without(after: bytes, before: bytes, edits: tuple[Edit, ...]) -> bytes:
    """The result with each edit undone at its place, counted in bytes; the original if nothing else has changed."""
    lines = before.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(
            lines[line - 1].decode("utf-8-sig" if line == 1 else "utf-8")[: column - 1].encode()
        )

    result = after
    for edit in edits:
        start = offset(edit.place.line, edit.place.column)
        end = offset(edit.place.end_line, edit.place.end_column)
        text = edit.text.encode()
        assert result[start : start + len(text)] == text
        result = result[:start] + before[start:end] + result[start + len(text) :]
    return result


def main() -> int:
    """Prints a line for each place and a table; returns 1 if a fix was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fixes", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=8, help="fixes wanted for each kind")
    parser.add_argument("--tries", type=int, default=40, help="places to break in each way at most")
    parser.add_argument("--seconds", type=float, default=900, help="when to stop")
    parser.add_argument("--kind", action="append", help="only kinds of fixes with this in their names")
    options = parser.parse_args()
    bench, end = Bench(), time.monotonic() + options.seconds
    results: dict[str, Counter[str]] = defaultdict(Counter)
    packages: dict[str, set[str]] = defaultdict(set)
    for mutation in MUTATIONS:
        if options.kind and not any(text in mutation.kind for text in options.kind):
            continue
        counts = results[mutation.kind]
        for number, place in enumerate(broken(options.folder.absolute(), mutation)):
            made = counts["safe"] + counts["unsafe"]
            if number >= options.tries or made >= options.count or time.monotonic() > end:
                break
            what = outcome(bench, place, mutation)
            counts[what or "not reported"] += 1
            if what in ("safe", "unsafe"):
                packages[mutation.kind].add(place.package)
            if what:
                print(
                    f"{mutation.kind}: {place.path.relative_to(options.folder.absolute())}:{place.line}: {what}",
                    flush=True,
                )
    print("\n| kind of fix | safe | unsafe | packages | no fix offered | wrong | not reported |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    wrong = 0
    for kind, counts in results.items():
        bad = sum(number for what, number in counts.items() if what.startswith("WRONG"))
        wrong += bad
        row = (
            kind,
            counts["safe"],
            counts["unsafe"],
            len(packages[kind]),
            counts["no fix"],
            bad,
            counts["not reported"],
        )
        print(f"| {' | '.join(map(str, row))} |")
    made = sum(counts["safe"] + counts["unsafe"] for counts in results.values())
    print(f"\n{made} fixes in {len(set().union(*packages.values()))} packages")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
