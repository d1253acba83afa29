"""`devlint rehearse --check-fixes`: which fixes a rehearsal confirms, does not reach, or refutes.

The program runs as it is, then with all fixes. Where that does not decide about a fix, it runs with all fixes but that
one. Each run is a process of its own, in which Python reads the changed text in the place of the file: see
`devlint_guard.rehearsal.proving`. No file changes.

    train.py raises at line 18        without fixes
    train.py runs to its end          with both fixes: line 18 does not raise any more, its fix is confirmed
    train.py raises at line 30        without the fix of line 30: it is confirmed too
"""

from __future__ import annotations

import ast
import enum
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devlint import engine
from devlint.decoding import decode, read_bytes
from devlint.errors import RehearsalError
from devlint.project import display_path, root_for
from devlint.records import dataclass
from devlint.settings import Settings
from devlint.writing import create_file

if TYPE_CHECKING:
    from devlint.diagnostics import Place
    from devlint.fixes import Settled

_CHILD = "from devlint_guard.rehearsal.proving import main; main()"
_GOOD = ("JUDGED", "NOT_ALL_JUDGED")


class Verdict(enum.Enum):
    """What rehearsals say of a fix.

    CONFIRMED: its operation and the changed lines ran and raised nothing, and without the fix there is a device error.
    NOT_NEEDED: they ran and raised nothing, but without the fix there is no device error either. NOT_REACHED: some of
    them did not run. REFUTED: its operation still raises, a changed line fails, or the program fails by the fix.
    """

    CONFIRMED = "confirmed"
    NOT_NEEDED = "not needed"
    NOT_REACHED = "not reached"
    REFUTED = "refuted"


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """A program and the machine for it; see `devlint rehearse --help`."""

    target: str
    arguments: tuple[str, ...]
    as_module: bool
    devices: int
    device_type: str
    steps: int | None
    batches: int | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception at an operation of the user's.

    Attributes:
        line, column, end_line, end_column: the operation; its columns are None if Python does not know them.
        message: the class and the text of the error.
        is_device_error: PyTorch raised it for a device.
    """

    path: str
    line: int
    column: int | None
    end_line: int
    end_column: int | None
    message: str
    is_device_error: bool

    def is_within(self, place: Place) -> bool:
        """Whether the operation is a part of a stretch of the same file, as far as that is known."""
        if self.column is None or self.end_column is None:
            return place.line <= self.line <= place.end_line
        return place.start <= (self.line, self.column) and (self.end_line, self.end_column) <= place.end


@dataclass(frozen=True)
class Attempt:
    """One run of the program.

    Attributes:
        texts: the contents of changed files, by absolute path.
        outcome: a member of the guard's `Outcome`, by name.
        ending: the end of the program in words.
        error: the class and the text of the exception that ended it; empty without one.
        not_judged: a sentence for each thing that was not judged.
        lines: the lines that ran, by absolute path.
        errors: the device errors, also those that the program caught.
        others: the other exceptions.
        output: what the program wrote to standard error.
    """

    texts: Mapping[str, bytes]
    outcome: str
    ending: str
    error: str
    not_judged: tuple[str, ...]
    lines: Mapping[str, frozenset[int]]
    errors: tuple[Raised, ...]
    others: tuple[Raised, ...]
    output: str

    @property
    def is_good(self) -> bool:
        """Whether the program ran without an error."""
        return self.outcome in _GOOD

    @cached_property
    def original_errors(self) -> tuple[Raised, ...]:
        """The device errors with the lines of the files as they are."""
        return tuple(
            replace(
                one, line=_line_before(one.path, self, one.line), end_line=_line_before(one.path, self, one.end_line)
            )
            for one in self.errors
        )


@dataclass(frozen=True, slots=True)
class Proved:
    """A fix and the verdict on it.

    Attributes:
        settled: the diagnostics that it settles, the first one at `line`.
        line: in the file as it is.
        reason: a sentence.
    """

    settled: tuple[Settled, ...]
    line: int
    verdict: Verdict
    reason: str

    @property
    def change(self) -> str:
        """The change of the source, in the imperative."""
        fix = self.settled[0].diagnostic.fix
        return "" if fix is None else fix.message


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdicts on all fixes, and how the program ended without and with them."""

    before: Attempt
    after: Attempt
    fixes: tuple[Proved, ...]

    @property
    def exit_code(self) -> int:
        """0: all confirmed and all judged; 1: an error or a refuted fix; 3: neither; 4: it fails with the fixes."""
        verdicts = {one.verdict for one in self.fixes}
        if self.after.outcome == "DEVICE_ERROR" or Verdict.REFUTED in verdicts:
            return 1
        if not self.after.is_good:
            return 4
        return 0 if self.after.outcome == "JUDGED" and verdicts <= {Verdict.CONFIRMED} else 3


def prove(program: Rehearsed, settings: Settings, tell: Callable[[str], None]) -> Proof:
    """Try the fixes of a program's own files.

    Args:
        program: the program.
        settings: those for the fixes; the paths are those of the files that the program loads.
        tell: takes a line on each run, before it begins.

    Raises:
        RehearsalError: the program cannot be rehearsed.
        DevlintError: its files cannot be analysed.
    """
    tell("rehearse the program as it is")
    before = after = attempt(program, {})
    files = _own(program, before)
    if not files:
        return Proof(before, before, ())
    fixed = _fixed(settings, files)
    while fixed.settled:
        tell(f"rehearse it with {_count(len(_groups(fixed.settled)), 'fix')}")
        after = attempt(program, _texts(fixed))
        more = [path for path in _own(program, after) if path not in files]
        if not more:
            break
        files += more
        fixed = _fixed(settings, files)
    groups = _groups(fixed.settled)
    found = []
    for number, group in enumerate(groups, start=1):

        def without(group: tuple[Settled, ...] = group, number: int = number) -> Attempt:
            tell(f"rehearse it without fix {number} of {len(groups)}")
            return attempt(program, _texts(_fixed(settings, files, left=group)))

        found.append(_judged(group, before, after, without))
    return Proof(before, after, tuple(found))


def _judged(group: tuple[Settled, ...], before: Attempt, after: Attempt, without: Callable[[], Attempt]) -> Proved:
    """Return the verdict on a fix.

    Args:
        group: the diagnostics that it settles.
        before: the run without fixes.
        after: the run with all fixes.
        without: makes a run with all fixes but this one.
    """
    path = _absolute(group[0].place.file)
    line = _line_before(path, after, group[0].place.line)

    def proved(verdict: Verdict, reason: str) -> Proved:
        return Proved(group, line, verdict, reason)

    for one in after.errors:
        if one.path == path and any(one.is_within(settled.place) for settled in group):
            return proved(Verdict.REFUTED, f"with the fix, the operation raises {one.message}")
    ran = after.lines.get(path, frozenset())
    changed = _changed(group[0], path, after)
    if not after.is_good:
        usual = {one.message for one in before.others}
        for one in after.others:
            is_here = one.path == path and any(one.line in lines for lines in changed)
            if is_here and one.message not in usual and one.message.partition(":")[0] in after.error:
                at = _line_before(path, after, one.line)
                return proved(Verdict.REFUTED, f"the fixed program failed at line {at}: {one.message}")
    operations = [range(one.place.line, one.place.end_line + 1) for one in group]
    if not any(number in ran for lines in operations for number in lines):
        return proved(Verdict.NOT_REACHED, "the line did not run")
    if not all(any(number in ran for number in lines) for lines in changed):
        return proved(Verdict.NOT_REACHED, "a line that the fix changes did not run")
    raised = _at(group, before)
    if after.is_good:
        if raised:
            return proved(Verdict.CONFIRMED, _without(raised))
        if before.is_good:
            return proved(Verdict.NOT_NEEDED, _NO_DIFFERENCE)
    other = without()
    if other.is_good and not after.is_good:
        return proved(Verdict.REFUTED, f"with the fix, {after.ending}: {after.error}")
    known = {(one.path, one.line) for one in after.original_errors}
    new = (one for one in other.original_errors if (one.path, one.line) not in known)
    raised = raised or _at(group, other) or next(new, None)
    return proved(Verdict.CONFIRMED, _without(raised)) if raised else proved(Verdict.NOT_NEEDED, _NO_DIFFERENCE)


def _changed(settled: Settled, path: str, run: Attempt) -> list[range]:
    """Return the lines of the statements that the edits of a fix are in, in the text of a run, one for each edit."""
    tree = ast.parse("\n".join(_rows(run.texts, path)))
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    found = []
    for edit in settled.edited:
        around = [one for one in statements if one.lineno <= edit.end_line and edit.line <= (one.end_lineno or 0)]
        inner = [range(one.lineno, _end_of_head(one) + 1) for one in around]
        found.append(min(inner, key=lambda lines: (edit.line not in lines, len(lines)), default=range(0)))
    return found


def _end_of_head(statement: ast.stmt) -> int:
    """Return the last line of a statement, without the statements in it."""
    body = getattr(statement, "body", None)
    return max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno or statement.lineno


_NO_DIFFERENCE = "without the fix, the run has no other device error"


def _at(group: tuple[Settled, ...], run: Attempt) -> Raised | None:
    """Return the device error at the operation of a fix in a run without it."""
    for one in run.original_errors:
        for settled in group:
            place = settled.diagnostic.place
            if one.path == _absolute(place.file) and one.is_within(place):
                return one
    return None


def _without(raised: Raised) -> str:
    return f"without the fix, {display_path(Path(raised.path))}:{raised.line} raises {raised.message}"


def attempt(program: Rehearsed, texts: Mapping[str, bytes]) -> Attempt:
    """Rehearse the program in a process of its own, with changed texts.

    Raises:
        RehearsalError: it cannot be rehearsed.
    """
    with tempfile.TemporaryDirectory(prefix="devlint-") as folder:
        request, answer, errors = (Path(folder, name) for name in ("request", "answer", "errors"))
        content = {
            "program": asdict(program),
            "texts": {path: data.decode("latin-1") for path, data in texts.items()},
        }
        create_file(request, json.dumps(content).encode())
        with errors.open("wb") as stream:
            code = subprocess.run(
                [sys.executable, "-c", _CHILD, str(request), str(answer)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                check=False,
            ).returncode
        output = errors.read_text(encoding="utf-8", errors="backslashreplace")
        if not answer.exists():
            ending = f"the process of the program ended with the exit code {code}"
            return Attempt(texts, "FAILED", ending, (output.splitlines() or [""])[-1], (), {}, (), (), output)
        found: Mapping[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if "refused" in found:
        raise RehearsalError(found["refused"])
    raised = [_raised(texts, path, *row) for path, rows in found["errors"].items() for row in rows]
    return Attempt(
        texts,
        found["outcome"],
        found["ending"],
        found["error"],
        tuple(found["not_judged"]),
        {path: frozenset(lines) for path, lines in found["lines"].items()},
        tuple(one for one in raised if one.is_device_error),
        tuple(one for one in raised if not one.is_device_error),
        output,
    )


def _raised(
    texts: Mapping[str, bytes],
    path: str,
    line: int,
    column: int | None,
    end: int,
    end_column: int | None,
    message: str,
    is_device_error: bool,
) -> Raised:
    rows = _rows(texts, path)

    def counted(number: int, offset: int | None) -> int | None:
        return None if offset is None else len(rows[number - 1].encode()[:offset].decode(errors="ignore")) + 1

    return Raised(path, line, counted(line, column), end, counted(end, end_column), message, is_device_error)


def to_json(program: Rehearsed, proof: Proof) -> dict[str, Any]:
    """Return a proof as a report holds it."""
    runs = {"without_fixes": proof.before, "with_fixes": proof.after}
    return {
        "version": 1,
        "command": [program.target, *program.arguments],
        "devices": program.devices,
        "device_type": program.device_type,
        "exit_code": proof.exit_code,
        **{
            name: {"ending": run.ending, "error": run.error or None, "not_judged": list(run.not_judged)}
            for name, run in runs.items()
        },
        "fixes": [
            {
                "file": one.settled[0].place.file,
                "line": one.line,
                "codes": [each.diagnostic.code for each in one.settled],
                "change": one.change,
                "verdict": one.verdict.value.replace(" ", "-"),
                "reason": one.reason,
            }
            for one in proof.fixes
        ],
    }


def _own(program: Rehearsed, run: Attempt) -> list[str]:
    """Return the files of the program's project that ran; libraries beside it are not the user's to mend here."""
    roots = {Path.cwd().resolve()}
    if not program.as_module:
        roots.add(root_for(Path(program.target).absolute()).resolve())
    return [
        path
        for path in sorted(run.lines)
        if path.endswith(".py") and any(Path(path).resolve().is_relative_to(root) for root in roots)
    ]


def _fixed(settings: Settings, files: Sequence[str], left: Sequence[Settled] = ()) -> engine.Run:
    return engine.run(replace(settings, paths=tuple(files), fix=True), left=left)


def _texts(run: engine.Run) -> dict[str, bytes]:
    return {str(change.path): change.after for change in run.changes}


def _groups(settled: Sequence[Settled]) -> list[tuple[Settled, ...]]:
    """Join diagnostics that one change of the source settles."""
    groups: dict[object, list[Settled]] = {}
    for one in settled:
        edits = () if one.diagnostic.fix is None else one.diagnostic.fix.edits
        groups.setdefault((one.place.file, edits), []).append(one)
    return [tuple(group) for group in groups.values()]


def _rows(texts: Mapping[str, bytes], path: str) -> list[str]:
    data = texts[path] if path in texts else read_bytes(Path(path), path)
    return decode(data, path).split("\n")


def _line_before(path: str, run: Attempt, line: int) -> int:
    """Return the line of the file as it is for a line that a run had."""
    if path not in run.texts:
        return line
    matcher = SequenceMatcher(None, _rows({}, path), _rows(run.texts, path), autojunk=False)
    for _, first, last, start, end in matcher.get_opcodes():
        if start <= line - 1 < end:
            return min(first + line - 1 - start, max(first, last - 1)) + 1
    return line


def _absolute(file: str) -> str:
    return str(Path(file).absolute())


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}es"
