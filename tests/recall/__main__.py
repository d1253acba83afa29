"""`python -m tests.recall CLONES [ID …] [--others]`: which of the mended bugs does devlint find?

CLONES holds clones of the repositories, each as `owner+name` (its git folder there or in `repo/` below it). For
each bug the two commits are unpacked (once, in the system's temporary folder), and the file is linted in its project
with every rule. A
bug counts as found when a diagnostic of a fitting family stands on one of its lines, or names one as an origin,
before the fix, and the same rule no longer says so after it. Prints a line for each bug, then the table; exits
with 1 if the filed reasons of the misses do not fit. `--others`: 285 bugs of 53 other repositories, labelled by one
reading without devlint, for whose misses no reasons are filed.
"""

from __future__ import annotations

import argparse
import difflib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.recall.bugs import FAMILIES, SCOPES, Bug, read_bugs, read_misses
from tests.recall.clones import unpack


class Said(NamedTuple):
    """One diagnostic: its rule's code, and the lines of the file that it stands on or names, its own first."""

    code: str
    lines: tuple[int, ...]
    message: str


def lint(root: Path, path: str) -> list[Said]:
    """What every rule together says of a file."""
    options = ["--select", "ALL", "--isolated", "--output-format", "json", "--exit-zero"]
    command = [sys.executable, "-m", "devlint", "check", path, *options]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2):
        raise RuntimeError(done.stderr)
    said = []
    for row in json.loads(done.stdout)["diagnostics"]:
        own = range(row["line"], row["end_line"] + 1) if row["file"] == path else ()
        told = [step["line"] for step in row["related"] if step["file"] == path]
        if own or told:
            said.append(Said(row["code"], (*own, *told), row["message"]))
    return said


def survives(said: Said, before: list[str], after: list[str], later: list[Said]) -> bool:
    """Whether the same rule still speaks of the line, wherever the fix has moved it."""
    line = said.lines[0] - 1
    for _, start, end, new_start, new_end in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if start <= line < end:
            moved = new_start + (line - start)
            new = (
                {moved + 1} if before[start:end] == after[new_start:new_end] else set(range(new_start + 1, new_end + 1))
            )
            return any(other.code == said.code and other.lines[0] in new for other in later)
    return False


def find(bug: Bug, clones: Path, work: Path) -> tuple[Said | None, str]:
    """The diagnostic that finds the bug, or None and what was seen instead."""
    roots = [unpack(clones, bug.repo, commit, work) for commit in (bug.parent, bug.fix)]
    earlier, later = (lint(root, bug.path) for root in roots)
    before, after = ((root / bug.path).read_text(encoding="utf-8").splitlines() for root in roots)
    on_bug = [said for said in earlier if {*bug.lines, *bug.related} & set(said.lines)]
    fitting = [said for said in on_bug if said.code.startswith(FAMILIES[bug.category])]
    for said in fitting:
        if not survives(said, before, after, later):
            return said, ""
    if fitting:
        return None, f"still reported after the fix ({fitting[0].code})"
    return None, f"another family reports it ({on_bug[0].code})" if on_bug else "silent"


def main() -> int:
    """Prints bug by bug and the table; the result is the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.recall", description=__doc__)
    parser.add_argument("clones", type=Path, metavar="FOLDER", help="the clones")
    parser.add_argument("bugs", nargs="*", metavar="ID", help="only these bugs")
    parser.add_argument("--others", action="store_true", help="the bugs of other repositories")
    options = parser.parse_args()
    clones, chosen = options.clones.absolute(), set(options.bugs)
    found: Counter[str] = Counter()
    every: Counter[str] = Counter()
    reasons = read_misses()
    unexplained = 0
    work = Path(tempfile.gettempdir()) / "devlint-recall"
    work.mkdir(exist_ok=True)
    for bug in read_bugs(others=options.others):
        if chosen and bug.id not in chosen:
            continue
        said, instead = find(bug, clones, work)
        every[bug.decidable] += 1
        found[bug.decidable] += said is not None
        if said is not None:
            verdict = f"found: {said.code} {said.message}"
        else:
            verdict = f"missed, {instead}: {reasons.get(bug.id, 'no reason filed')}"
        unexplained += not options.others and (said is None) != (bug.id in reasons)
        print(f"{bug.id} {bug.decidable:10} {bug.category:20} {verdict}", flush=True)
    for scope in SCOPES:
        if every[scope]:
            print(f"{scope:10} {found[scope]:3} of {every[scope]:3}  {100 * found[scope] / every[scope]:.0f} %")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
