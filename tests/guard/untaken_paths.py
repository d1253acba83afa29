"""Bugs on paths that a run does not take: `python -m tests.guard.untaken_paths [--half 0|1]`.

Each program of `untaken/` runs to its end; with `--take` it fails on the line that is marked with `# bug`. The script
records the run that does not fail, checks the program with and without that recording, and prints whether the linter
reports that line. The programs at even positions were looked at while the recording was worked on, the others were not.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devlint import engine
from devlint.settings import Settings

from tests.judge import Judge

FOLDER = Path(__file__).with_name("untaken")

_RECORD = """\
import linecache, os, sys, types
from devlint_guard import guard
folder, file, report = sys.argv[1:4]
os.chdir(folder)
sys.argv = [file]
text = open(file, encoding="utf-8").read()
linecache.cache[file] = (len(text), None, text.splitlines(True), file)
main = sys.modules["__main__"] = types.ModuleType("__main__")
with guard(mode="record", report=report):
    exec(compile(text, file, "exec", dont_inherit=True), main.__dict__)
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the linter reports of a program.

    Attributes:
        without, recorded: whether it reports the bug, without a recording and with one.
        false: lines that it reports with the recording, and that are none.
    """

    program: str
    without: bool
    recorded: bool
    false: tuple[int, ...]


def programs(half: int | None = None) -> list[Path]:
    """The programs, or those at even or at odd positions."""
    found = sorted(FOLDER.glob("*.py"))
    return found if half is None else found[half::2]


def outcome(judge: Judge, program: Path) -> Outcome:
    """Runs a program both ways and checks it both ways.

    Raises:
        AssertionError: the bug is not one, or is on the path that the run takes.
    """
    text = program.read_text(encoding="utf-8")
    bug = 1 + next(number for number, line in enumerate(text.splitlines()) if line.endswith("# bug"))
    failed = judge.run(text, argv=["--take"])
    assert (failed.outcome, failed.line) == ("device-error", bug), f"{program.name}: {failed}"
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / program.name).write_text(text, encoding="utf-8")
        ran = judge.run(_RECORD, argv=[str(folder), program.name, "run.json"])
        assert ran.outcome == "ok", f"{program.name}: {ran}"
        os.chdir(folder)
        try:
            settings = Settings((program.name,), select=("DEV1",), isolated=True, jobs=1)
            plain = _lines(settings)
            seen = _lines(replace(settings, observed=(Path("run.json"),)))
        finally:
            os.chdir(before)
    return Outcome(program.stem, bug in plain, bug in seen, tuple(line for line in seen if line != bug))


def _lines(settings: Settings) -> Sequence[int]:
    return sorted({one.place.line for one in engine.run(settings).outcome.everything()})


def main() -> None:
    """Prints a line for each program, and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", type=int, choices=(0, 1), help="only programs at even or at odd positions")
    half = parser.parse_args().half
    with Judge(is_pretended=True) as judge:
        found = [outcome(judge, program) for program in programs(half)]
    for one in found:
        cells = ("found" if one.without else "-", "found" if one.recorded else "-")
        print(f"{one.program:24} {cells[0]:8} {cells[1]:8} {', '.join(map(str, one.false))}".rstrip())
    without, recorded = sum(one.without for one in found), sum(one.recorded for one in found)
    print(f"of {len(found)} bugs, {without} are found without a recording, {recorded} with one")


if __name__ == "__main__":
    main()
