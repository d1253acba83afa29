"""The programs that a rehearsal is compared on.

* `semantics`: small programs.
* `fixtures`: the programs that the linter is tested with, the tutorials and those of public questions among them.
* `guard`: the programs of the guard's tests.
* `corners`: programs that were written for this comparison.
"""

from __future__ import annotations

import ast
import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.conftest import REPOSITORY, read_toml
from tests.expectations import read
from tests.guard import test_audit, test_operators, test_remedies, test_reports, test_right_programs
from tests.guard.explained import read_bugs
from tests.judge import Judge, Verdict

_SEMANTICS: Final = REPOSITORY / "tests/semantics/cases.jsonl"
_FIXTURES: Final = REPOSITORY / "fixtures"

_NOT_COMPARED: Final = "cpuonly."
"""Programs for a machine without any device."""


class Said(NamedTuple):
    """What is compared of a verdict; the text is the first line of the message."""

    verdict: str
    line: int | None = None
    exception: str | None = None
    text: str | None = None

    @staticmethod
    def of(verdict: Verdict) -> Said:
        """Return what is compared of a verdict."""
        outcome = "not judged" if verdict.outcome == "ok" and verdict.unjudged else verdict.outcome
        text = "; ".join(verdict.unjudged) if outcome == "not judged" else verdict.message or ""
        return Said(outcome, verdict.line, verdict.exception, text.partition("\n")[0] or None)


class Case(NamedTuple):
    """One program.

    Attributes:
        devices: the number of CUDA devices of its machine.
        code: its text, if it has no file.
        call: the function of the file to call; None for the file itself.
    """

    id: str
    devices: int
    code: str | None = None
    file: Path | None = None
    call: str | None = None

    @property
    def text(self) -> str:
        """The text of the program, or of the file that it is in."""
        return self.file.read_text(encoding="utf-8") if self.file is not None else self.code or ""

    @property
    def paths(self) -> list[Path]:
        """The folders to import from, besides that of the file."""
        return [REPOSITORY] if self.file is not None and _FIXTURES not in self.file.parents else []

    def run(self, judge: Judge) -> Verdict:
        """Run the program."""
        return judge.run(
            self.code,
            file=self.file,
            call=self.call,
            devices=self.devices,
            paths=self.paths,
            timeout=120,
        )


def semantics() -> Iterator[Case]:
    """Yield the programs of `tests/semantics`."""
    for row in map(json.loads, _SEMANTICS.read_text(encoding="utf-8").splitlines()):
        if not row["id"].startswith(_NOT_COMPARED):
            yield Case(row["id"], row["devices"], row["code"])


def fixtures() -> Iterator[Case]:
    """Yield the programs of the fixtures, each on the machines of its comments and on one without devices."""
    for file in sorted(_FIXTURES.rglob("*.py")):
        name = file.relative_to(_FIXTURES)
        if name.parts[0] in ("malformed", "questions") or not _has_libraries(file):
            continue
        if name.parts[0] == "projects" and name.name != "main.py":
            continue
        for program in read(file).programs:
            machines = {program.devices, 0, *(one.devices for one in program.errors if one.devices is not None)}
            for devices in sorted(machines, reverse=True):
                yield Case(f"{name.as_posix()}::{program.name} on {devices}", devices, None, file, program.name)
    for question, row in read_toml(_FIXTURES / "questions/programs.toml").items():
        file = _FIXTURES / "questions" / question / row["main"]
        if row.get("variant", "cuda") == "cuda" and _has_libraries(file):
            yield Case(f"questions/{question}", row["devices"], None, file)


def _has_libraries(file: Path) -> bool:
    """Whether all libraries that a program imports are installed."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in {name.partition(".")[0] for name in names}:
            if not (file.parent / name).with_suffix(".py").exists() and importlib.util.find_spec(name) is None:
                return False
    return True


def guard() -> Iterator[Case]:
    """Yield the programs of the guard's tests that are in no fixture."""
    for bug in read_bugs():
        if bug.code:
            yield Case(f"bugs:{bug.program} on {bug.devices}", bug.devices, bug.code)
    for name, (_, text) in test_remedies.PROGRAMS.items():
        yield Case(f"remedies:{name}", 4, test_remedies.START + text)
    for name, text in test_reports.PROGRAMS.items():
        yield Case(f"reports:{name}", 4, text)
    for name in ("LEGAL", "FORETOLD"):
        yield Case(f"operators:{name}", 4, getattr(test_operators, name))
    yield Case("audit:TIED", 4, test_audit.TIED)
    for name in test_right_programs.PROGRAMS:
        yield Case(f"right:{name}", 2, None, test_right_programs.FILE, name)


def corners() -> Iterator[Case]:
    """Yield the functions of the folder `corners` that are programs."""
    for file in sorted(Path(__file__).with_name("corners").glob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.args.args:
                yield Case(f"corners:{node.name}", 4, None, file, node.name)


SOURCES: Final[dict[str, Callable[[], Iterator[Case]]]] = {
    "semantics": semantics,
    "fixtures": fixtures,
    "guard": guard,
    "corners": corners,
}
