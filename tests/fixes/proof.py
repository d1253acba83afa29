"""Holds each fix against PyTorch.

The program as it is and the fixed one run on pretended machines, and are compared.

A fix has to make PyTorch content at the reported operation, and where the program ran before it must compute what it
computed. Where it raised, what it was meant to compute is what a lenient machine computes, whose operators take tensors
from several devices: a fix that adds to a copy is found by that.
"""

from __future__ import annotations

import enum
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from devlint import engine
from devlint.decoding import decode
from devlint.diagnostics import Diagnostic, Edit, Place
from devlint.fixes import apply_to_bytes
from devlint.fixes.applying import moved
from devlint.fixes.harm import allows, new_errors, useless
from devlint.fixes.repair import edited
from devlint.settings import Settings

from tests.expectations import read
from tests.judge import Judge, Variant, Verdict

LACKING = ("no-cuda", "ordinal")
"""The kinds of errors of a machine without the device."""

TRIED = ("DEV1", "DEV2", "DEV4")
"""The rules whose fixes are tried alone; those of portability are alike and many, and are made all together."""

EVERY, BUT = ("ALL",), ("DEV7",)
"""The rules whose fixes are tried: all but those about wording."""


MOST_SHARING = 6
"""Programs that run through shared code with a fix, at most."""


class Result(enum.Enum):
    """The effect of a fix on one program on one machine."""

    MENDS = "mends"
    FIRST_OF_SEVERAL = "mends the first of several"
    SAME = "changes no result"
    USELESS = "useless"
    BROKEN = "broken"


@dataclass(frozen=True)
class Program:
    """Something to run: a file of a folder, or one of its functions.

    Attributes:
        name: for people.
        folder: all files that it needs.
        main: the file to run, relative to the folder.
        call: the function to call, None for the file itself.
        machines: the numbers of devices to run on.
        lines: first and last line of the function; a fix elsewhere in a file may concern every function of the file.
    """

    name: str
    folder: Path
    main: str
    call: str | None = None
    machines: tuple[int, ...] = (4, 0)
    variant: Variant = "cuda"
    lines: tuple[int, int] = (0, 0)


@dataclass
class Tried:
    """One fix, and its effect wherever it was tried.

    Attributes:
        withdrawn: the analysis of the fixed file objects, so that `--fix` does not make it; no program is run.
    """

    diagnostic: Diagnostic
    withdrawn: bool = False
    results: list[tuple[str, Result, str]] = field(default_factory=list)

    @property
    def result(self) -> Result | None:
        """The effect altogether, None if no program runs through it."""
        found = {result for _, result, _ in self.results}
        order = (Result.BROKEN, Result.USELESS, Result.MENDS, Result.FIRST_OF_SEVERAL, Result.SAME)
        return next((result for result in order if result in found), None)


class Proof:
    """Tries the fixes of the files of one folder on the programs there.

    Args:
        judge: runs the programs.
        folder: with all files, unchanged.
        copy: a folder that does not exist, for the fixed files.
    """

    def __init__(self, judge: Judge, folder: Path, copy: Path) -> None:
        self._judge, self._folder, self._copy = judge, folder, copy
        self._before: dict[tuple[str, int, bool], Verdict] = {}

    def try_fixes(
        self, programs: list[Program], *, files: tuple[Path, ...] = (), codes: tuple[str, ...] = ("",)
    ) -> Iterator[Tried]:
        """Try each fix of some rules in the folder, or in some files of it, alone."""
        shutil.copytree(self._folder, self._copy, ignore=shutil.ignore_patterns("__pycache__"))
        analysed = files or (self._folder,)
        before = _relative(_reports(analysed), self._folder)
        for diagnostic in _reports(analysed):
            if diagnostic.fix is None or not diagnostic.code.startswith(codes):
                continue
            path = Path(diagnostic.place.file).resolve()
            fixed = self._copy / path.relative_to(self._folder.resolve())
            data = path.read_bytes()
            fixed.write_bytes(apply_to_bytes(data, diagnostic.fix.edits, diagnostic.place.file))
            copies = tuple(self._copy / one.resolve().relative_to(self._folder.resolve()) for one in analysed)
            after = _relative(_reports(copies), self._copy)
            tried = Tried(diagnostic, withdrawn=_is_refused(diagnostic, before, after, self._folder))
            for program in () if tried.withdrawn else self._concerned(programs, path, diagnostic.fix.edits):
                for devices in program.machines:
                    result, why = self._compare(program, devices, diagnostic, fixed)
                    tried.results.append((f"{program.name} on {devices}", result, why))
            fixed.write_bytes(data)
            yield tried

    def _concerned(self, programs: list[Program], path: Path, edits: tuple[Edit, ...]) -> list[Program]:
        """The programs that may run through an edit; of those that share the code, a few."""
        found = [program for program in programs if _concerns(program, path, edits)]
        own = [program for program in found if program.lines[0] <= edits[-1].place.line <= program.lines[1]]
        return own or found[:MOST_SHARING]

    def _run(self, program: Program, devices: int, *, copy: bool, lenient: bool = False) -> Verdict:
        key = (program.name, devices, lenient)
        if not copy and key in self._before:
            return self._before[key]
        root = self._copy if copy else program.folder
        verdict = self._judge.run(
            file=root / program.main,
            call=program.call,
            devices=devices,
            variant=program.variant,
            lenient=lenient,
            recorded=True,
            env={"HF_HUB_OFFLINE": "1"},
        )
        if not copy:
            self._before[key] = verdict
        return verdict

    def _compare(self, program: Program, devices: int, diagnostic: Diagnostic, fixed: Path) -> tuple[Result, str]:
        before, after = self._run(program, devices, copy=False), self._run(program, devices, copy=True)
        if before.outcome == "ok":
            if after.outcome != "ok":
                return Result.BROKEN, f"ran before, now {_said(after)}"
            why = values_differ(before, after)
            return (Result.SAME, "") if why is None else (Result.BROKEN, why)
        if after.outcome not in ("ok", "device-error", before.outcome):
            return Result.BROKEN, f"raised {_said(before)}, now {_said(after)}"
        if devices and program.variant == "cuda":
            meant = self._run(program, devices, copy=False, lenient=True)
            why = values_differ(meant, after)
            if why is not None:
                return Result.BROKEN, why
        if after.outcome == "ok":
            return Result.MENDS, ""
        if after.kind in LACKING and not diagnostic.code.startswith("DEV3"):
            return Result.SAME, ""  # the machine lacks a device that the program names, with the fix and without
        if self._raises_alike(before, after, diagnostic, program):
            if not self._reported_there(before, diagnostic, program):
                return Result.SAME, ""
            if _others(diagnostic, fixed):
                return Result.FIRST_OF_SEVERAL, ""
            return Result.USELESS, f"still {_said(after)}"
        return Result.MENDS, f"then {_said(after)}"

    def _raises_alike(self, before: Verdict, after: Verdict, diagnostic: Diagnostic, program: Program) -> bool:
        assert diagnostic.fix is not None
        main = (program.folder / program.main).resolve()
        if Path(diagnostic.place.file).resolve() != main:
            return (before.stack, before.message) == (after.stack, after.message)
        text = main.read_text(encoding="utf-8")
        places = [{line for line, _ in moved(text, diagnostic.fix.edits, line, 1)} for line in before.stack[-1:]]
        return all(line in possible for line, possible in zip(after.stack[-1:], places, strict=False))

    def _reported_there(self, before: Verdict, diagnostic: Diagnostic, program: Program) -> bool:
        place = diagnostic.place
        if Path(place.file).resolve() != (program.folder / program.main).resolve():
            return False
        is_missing = before.kind in LACKING
        if is_missing != diagnostic.code.startswith("DEV3"):
            return False
        if is_missing:
            return place.line <= (before.line or 0) <= place.end_line
        return any(place.line <= line <= place.end_line for line in before.stack)


def _reports(paths: tuple[Path, ...]) -> tuple[Diagnostic, ...]:
    run = engine.run(Settings(tuple(map(str, paths)), isolated=True, select=EVERY, ignore=BUT))
    return tuple(run.outcome.diagnostics)


def _relative(reports: Iterable[Diagnostic], folder: Path) -> list[Diagnostic]:
    """The reports with places in files relative to a folder."""

    def change(place: Place) -> Place:
        return replace(place, file=os.path.relpath(os.path.realpath(place.file), os.path.realpath(folder)))

    return [one.with_places(change) for one in reports]


def _is_refused(settled: Diagnostic, before: list[Diagnostic], after: list[Diagnostic], folder: Path) -> bool:
    """Whether `--fix --unsafe-fixes` would undo a fix."""
    assert settled.fix is not None
    (one,) = _relative([settled], folder)
    text = decode(Path(settled.place.file).read_bytes(), settled.place.file)
    where = partial(moved, text, settled.fix.edits)
    own = [each for each in after if each.place.file == one.place.file]
    brought = new_errors(before, after, {one.place.file: where}, edited(one, where))
    return bool(useless([one], (), own, where)) or not all(allows(one, new, unsafe=True) for new in brought)


def _others(diagnostic: Diagnostic, fixed: Path) -> bool:
    """Whether the fixed file has another report of the same kind near the reported operation."""
    before, after = (
        [
            one
            for one in _reports((path,))
            if one.code.startswith(diagnostic.code[:4]) and abs(one.place.line - diagnostic.place.line) <= 2
        ]
        for path in (Path(diagnostic.place.file), fixed)
    )
    return any(one.message != diagnostic.message for one in after) or 0 < len(after) < len(before)


def _concerns(program: Program, path: Path, edits: tuple[Edit, ...]) -> bool:
    """Whether a program may run through one of the edits: it is in its function, or in no program of its file."""
    if program.call is None or path != (program.folder / program.main).resolve():
        return True
    others = _programs_lines(path)
    first, last = program.lines
    return any(
        first <= edit.place.line <= last or not any(a <= edit.place.line <= b for a, b in others) for edit in edits
    )


def _programs_lines(path: Path) -> list[tuple[int, int]]:
    return [(program.line, program.end_line) for program in read(path).programs if program.name is not None]


def _said(verdict: Verdict) -> str:
    return f"{verdict.outcome} in line {verdict.line}: {verdict.exception}: {(verdict.message or '')[:200]}"


def values_differ(before: Verdict, after: Verdict) -> str | None:
    """None if two runs have computed the same, as far as both came; else what is different."""
    pairs = list(zip(before.values, after.values, strict=False))
    if before.outcome == after.outcome == "ok":
        pairs.append((before.values[-1], after.values[-1]))
    for (name, held), (other, now) in pairs:
        if name != other:  # a module that is replicated less often is called less often
            continue
        for variable in sorted(held.keys() & now.keys()):
            if held[variable] != now[variable]:
                return f"{variable} in {name} is {now[variable][:150]}, was {held[variable][:150]}"
    return None


def programs_of(fixture: Path) -> list[Program]:
    """The programs of a fixture file, each on the machines that its claims speak of, and on one without devices."""
    found = []
    for program in read(fixture).programs:
        machines = {program.devices, 0, *(claim.devices for claim in program.errors if claim.devices is not None)}
        found.append(
            Program(
                f"{fixture.name}:{program.name}",
                fixture.parent,
                fixture.name,
                program.name,
                tuple(sorted(machines, reverse=True)),
                lines=(program.line, program.end_line),
            )
        )
    return found
