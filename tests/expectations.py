"""Reads what a fixture file claims about itself: what devlint reports where, and what PyTorch does.

A fixture is a program that runs. Its claims are comments at the end of the line they speak of:

    x + y  # error: [mixed-device-operands] "cuda:0"  devlint reports it here, PyTorch raises on this line
    x.cuda()  # error: [discarded-move] later         PyTorch raises on a later line because of it; outside of a
                                                      program, on another line of the same class or function
    x = y.cuda()  # error: [unguarded-cuda] never     PyTorch does not raise on the stated machine
    x = y.cuda()  # error: [unguarded-cuda] on 0 devices    PyTorch raises here, on that machine only
    d = "cuda:1"  # error: [unguarded-cuda-index] later on 1 device    the two put together
    x + z  # error: [mixed-device-operands] wrong     devlint reports, PyTorch is content: known to be wrong
    x + z  # missed: [mixed-device-operands]          PyTorch raises, devlint is silent: known to be wrong
    x + z  # missed[analysis]: [mixed-device-operands]    PyTorch raises, this engine is silent, the other reports it
    reveal_device(x)  # revealed: cuda:0              the device that devlint infers and the run shows

Comments on lines of their own: `# devices: 1` (the machine: before the first statement for the file, in a
function for that function), `# program: bad` (the file is one program), `# Limit: why` (it answers wrongly).

Every function whose name starts with `bad_`, `ok_`, `fp_` or `fn_` is a program; a file without one is itself
a program. Code outside the programs of a file is shared by them, and so are the claims in it.
"""

from __future__ import annotations

import ast
import enum
import re
import tokenize
from dataclasses import dataclass, replace
from pathlib import Path

from devlint import testing
from devlint.testing import Remark

DEFAULT_DEVICES = 4
MOST_DEVICES = 8

_WORDS = ("error", "missed", "revealed", "devices", "program", "Limit")
_ENGINES = ("analysis", "inference")
_ENGINE = re.compile(r"\[(\w+)\](?=:)")
_MACHINE = re.compile(r"\bon (\d+) devices?\b")


class FixtureError(Exception):
    """A fixture file makes a claim that cannot be understood, or that contradicts its name."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")


class Moment(enum.Enum):
    """When PyTorch raises because of a claim."""

    HERE = "here"
    LATER = "later"
    NEVER = "never"


class Kind(enum.Enum):
    """What the name of a program promises."""

    BAD = "bad"
    OK = "ok"
    FALSE_POSITIVE = "fp"
    FALSE_NEGATIVE = "fn"


@dataclass(frozen=True, slots=True)
class Claim:
    """A diagnostic that devlint reports on a line, or (in `Program.missed`) fails to report.

    Attributes:
        line: 1-based.
        rule: the kebab-case name.
        text: what the message contains; "" when anything will do.
        moment: when PyTorch raises.
        devices: the machine that `moment` speaks of; None for the machine of the program.
        wrong: devlint reports and PyTorch is content.
        missed_by: the engine that does not report it; "" if both do.
    """

    line: int
    rule: str
    text: str = ""
    moment: Moment = Moment.HERE
    devices: int | None = None
    wrong: bool = False
    missed_by: str = ""


@dataclass(frozen=True, slots=True)
class Revealed:
    """What `reveal_device` shows on a line."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Program:
    """One thing to run.

    Attributes:
        name: the function to call; None when the file itself is the program.
        line, end_line: where it stands, both inclusive.
        devices: how many CUDA devices its machine has.
        errors, missed, revealed: its own claims, by line.
    """

    name: str | None
    kind: Kind
    line: int
    end_line: int
    devices: int
    errors: tuple[Claim, ...]
    missed: tuple[Claim, ...]
    revealed: tuple[Revealed, ...]


@dataclass(frozen=True, slots=True)
class Fixture:
    """All that one file claims.

    Attributes:
        shared_errors, shared_revealed: claims in code outside the programs.
        definitions: first and last line of every class and function at the top of the file.
    """

    path: Path
    programs: tuple[Program, ...]
    shared_errors: tuple[Claim, ...] = ()
    shared_revealed: tuple[Revealed, ...] = ()
    definitions: tuple[tuple[int, int], ...] = ()

    def together(self, line: int, other: int) -> bool:
        """Whether two lines are the same, or stand in the same class or function at the top of the file."""
        return line == other or any(
            first <= min(line, other) and max(line, other) <= last for first, last in self.definitions
        )

    @property
    def errors(self) -> tuple[Claim, ...]:
        """Every diagnostic that the file expects, by line."""
        own = [claim for program in self.programs for claim in program.errors]
        return tuple(sorted([*own, *self.shared_errors], key=lambda claim: (claim.line, claim.rule, claim.text)))

    def errors_of(self, engine: str) -> tuple[Claim, ...]:
        """Every diagnostic that the file expects of an engine, by line."""
        return tuple(claim for claim in self.errors if claim.missed_by != engine)

    @property
    def revealed(self) -> tuple[Revealed, ...]:
        """Every reveal that the file expects, by line."""
        own = [revealed for program in self.programs for revealed in program.revealed]
        return tuple(sorted([*own, *self.shared_revealed], key=lambda revealed: revealed.line))


@dataclass(slots=True)
class _Draft:
    """A program whose claims are still being collected; `kind` None: not known before they are."""

    name: str | None
    kind: Kind | None
    line: int
    end_line: int
    devices: int | None
    limit: bool
    errors: list[Claim]
    missed: list[Claim]
    revealed: list[Revealed]


def read(path: Path) -> Fixture:
    """The claims of the fixture in `path`.

    Raises:
        FixtureError: a comment is malformed or out of place, or a program's claims contradict its name.
    """
    return parse(path.read_text(encoding="utf-8"), path)


def parse(source: str, path: Path) -> Fixture:
    """The claims in `source`; `path` is for messages and for the result. Raises FixtureError like `read`."""
    try:
        tree = ast.parse(source)
        remarks = list(testing.remarks(source, _WORDS))
    except (SyntaxError, tokenize.TokenError) as error:
        raise FixtureError(path, getattr(error, "lineno", None) or 1, f"does not parse: {error}") from error
    definitions = [node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    stretches = tuple((node.lineno, node.end_lineno or node.lineno) for node in definitions)
    reader = _Reader(path, _drafts(tree, source), _first_statement(tree), stretches)
    for remark in remarks:
        reader.take(remark)
    return reader.finish()


def _drafts(tree: ast.Module, source: str) -> list[_Draft]:
    drafts = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            prefix = node.name.split("_", 1)[0]
            if "_" in node.name and prefix in {kind.value for kind in Kind}:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                last = node.end_lineno or node.lineno
                drafts.append(_Draft(node.name, Kind(prefix), first, last, None, False, [], [], []))
    if not drafts:
        drafts.append(_Draft(None, None, 1, source.count("\n") + 1, None, False, [], [], []))
    return drafts


def _first_statement(tree: ast.Module) -> int:
    """The line of the first statement that is not the docstring of the file."""
    for node in tree.body:
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            return node.lineno
    return 1


class _Reader:
    """Gives each remark to the program it stands in, and checks the programs when all are given."""

    def __init__(
        self, path: Path, drafts: list[_Draft], first_statement: int, definitions: tuple[tuple[int, int], ...]
    ) -> None:
        self._path = path
        self._definitions = definitions
        self._drafts = drafts
        self._first_statement = first_statement
        self._devices = DEFAULT_DEVICES
        self._shared_errors: list[Claim] = []
        self._shared_revealed: list[Revealed] = []

    def take(self, remark: Remark) -> None:
        program = next((d for d in self._drafts if d.line <= remark.line <= d.end_line), None)
        if remark.alone != (remark.word in ("devices", "program", "Limit")):
            wanted = "at the end of a line of code" if remark.alone else "on a line of its own"
            raise self._wrong(remark.line, f"`# {remark.word}:` belongs {wanted}")
        engine = _ENGINE.match(remark.rest) if remark.word == "missed" else None
        text = remark.rest if engine is None else remark.rest[engine.end() :]
        if not text.startswith(":"):
            raise self._wrong(remark.line, f"`# {remark.word}` needs a colon")
        rest = text[1:].strip()
        match remark.word:
            case "missed" if engine is not None:
                if engine[1] not in _ENGINES:
                    raise self._wrong(remark.line, f"expected `analysis` or `inference`, found `{engine[1]}`")
                claim = replace(self._claim(remark.line, rest), missed_by=engine[1])
                self._own(program, remark).errors.append(claim)
            case "error":
                errors = self._shared_errors if program is None else program.errors
                errors.append(self._claim(remark.line, rest))
            case "missed":
                self._own(program, remark).missed.append(self._claim(remark.line, rest))
            case "revealed":
                if not rest:
                    raise self._wrong(remark.line, "`# revealed:` names no device")
                revealed = self._shared_revealed if program is None else program.revealed
                revealed.append(Revealed(remark.line, rest))
            case "devices":
                self._take_devices(program, remark, rest)
            case "program":
                self._take_kind(program, remark, rest)
            case _:
                if not rest:
                    raise self._wrong(remark.line, "`# Limit:` says nothing")
                self._own(program, remark).limit = True

    def finish(self) -> Fixture:
        programs = tuple(self._checked(draft) for draft in self._drafts)
        errors, revealed = tuple(self._shared_errors), tuple(self._shared_revealed)
        return Fixture(self._path, programs, errors, revealed, self._definitions)

    def _wrong(self, line: int, message: str) -> FixtureError:
        return FixtureError(self._path, line, message)

    def _own(self, program: _Draft | None, remark: Remark) -> _Draft:
        if program is None:
            raise self._wrong(remark.line, f"`# {remark.word}:` stands in no bad_, ok_, fp_ or fn_ function")
        return program

    def _claim(self, line: int, rest: str) -> Claim:
        stated = testing.claim(line, rest)
        if stated is None:
            raise self._wrong(line, f'expected `[rule-name] "text"`, found `{rest}`')
        suffix = stated.rest
        machine = _MACHINE.search(suffix)
        devices = None if machine is None else self._count(line, machine[1])
        words = _MACHINE.sub("", suffix).split()
        if len(words) > 1 or not set(words) <= {"later", "never", "wrong"}:
            raise self._wrong(line, f"expected `later`, `never`, `wrong` or `on N devices`, found `{suffix}`")
        word = words[0] if words else "here"
        if devices is not None and word in ("never", "wrong"):
            raise self._wrong(line, f"`{word}` does not go with `on {devices} devices`")
        moment = Moment.NEVER if word == "wrong" else Moment(word)
        return Claim(line, stated.rule, stated.text, moment, devices, word == "wrong")

    def _count(self, line: int, text: str) -> int:
        if not text.isdecimal() or int(text) > MOST_DEVICES:
            raise self._wrong(line, f"expected a number of devices from 0 to {MOST_DEVICES}, found `{text}`")
        return int(text)

    def _take_devices(self, program: _Draft | None, remark: Remark, rest: str) -> None:
        count = self._count(remark.line, rest)
        if remark.line < self._first_statement:
            self._devices = count
        elif program is None or program.name is None:
            raise self._wrong(remark.line, "`# devices:` belongs before the first statement or in a function")
        elif program.devices is not None:
            raise self._wrong(remark.line, "`# devices:` is given twice")
        else:
            program.devices = count

    def _take_kind(self, program: _Draft | None, remark: Remark, rest: str) -> None:
        if program is None or program.name is not None:
            raise self._wrong(remark.line, "`# program:` does not go with bad_, ok_, fp_ or fn_ functions")
        if rest not in {kind.value for kind in Kind}:
            raise self._wrong(remark.line, f"expected `bad`, `ok`, `fp` or `fn`, found `{rest}`")
        program.kind = Kind(rest)

    def _checked(self, draft: _Draft) -> Program:
        kind = draft.kind or (Kind.BAD if draft.errors else Kind.OK)
        title = draft.name or "the program"
        problem = None
        right = [claim for claim in draft.errors if not claim.wrong]
        if kind is Kind.BAD and not right and not self._shared_errors:
            problem = "is bad and has no `# error:`"
        elif kind is Kind.OK and draft.errors:
            problem = "is ok and has an `# error:`"
        elif (kind is Kind.FALSE_POSITIVE) != (len(right) < len(draft.errors)):
            problem = "`wrong` and the prefix fp_ go together"
        elif (kind is Kind.FALSE_NEGATIVE) != bool(draft.missed):
            problem = "`# missed:` and the prefix fn_ go together"
        elif (kind in (Kind.FALSE_POSITIVE, Kind.FALSE_NEGATIVE)) != draft.limit:
            problem = "`# Limit:` and the prefixes fp_ and fn_ go together"
        if problem is not None:
            raise self._wrong(draft.line, f"{title}: {problem}")
        devices = self._devices if draft.devices is None else draft.devices
        claims = (tuple(draft.errors), tuple(draft.missed), tuple(draft.revealed))
        return Program(draft.name, kind, draft.line, draft.end_line, devices, *claims)
