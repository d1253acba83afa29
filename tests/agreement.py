"""Compares what a fixture claims with what devlint reports on it, and with what PyTorch did when it ran."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from devlint.diagnostics import Diagnostic
from devlint.testing import Expected, differences

from tests.expectations import Claim, Fixture, Kind, Moment, Program


class Run(Protocol):
    """What one run of a program showed.

    Attributes:
        outcome: "ok", "device-error", or anything else for a run that judges nothing.
        stack: the lines of the file on the traceback, outermost first.
        message: the text of the error.
        revealed: (line, device) for every `reveal_device` that was executed, in order.
    """

    @property
    def outcome(self) -> str: ...
    @property
    def stack(self) -> Sequence[int]: ...
    @property
    def message(self) -> str | None: ...
    @property
    def revealed(self) -> Sequence[tuple[int, str]]: ...


Execute = Callable[[Program, int], Run]
"""Runs a program on a machine with so many devices."""

_OTHER_ERRORS = {
    "module-has-no-device-attribute": ("has no attribute 'device'",),
    "data-parallel-device-ids": ("list index out of range", "'int' object is not subscriptable"),
    "distributed-device-ids": ("object of type 'int' has no len()",),
}
"""What PyTorch says, of the rules that foresee an exception which does not speak of devices."""


def surprises(fixture: Fixture, diagnostics: Iterable[Diagnostic]) -> list[str]:
    """Diagnostics that no comment announces, comments that no diagnostic keeps, and repetitions."""
    reported = list(diagnostics)
    expected = [Expected(claim.line, claim.rule, claim.text) for claim in fixture.errors_of("analysis")]
    found = differences(reported, expected)
    for one in reported:
        if sum((other.place, other.rule) == (one.place, one.rule) for other in reported) > 1:
            found.append(f"line {one.place.line}: [{one.rule}] {one.message}: said more than once")
    return found


def disagreements(fixture: Fixture, program: Program, execute: Execute) -> list[str]:
    """What the runs of one program say against its claims, one sentence each with the line it is about."""
    stated = execute(program, program.devices)
    claims = [*program.errors, *program.missed]
    found = _judge(fixture, program, [claim for claim in claims if claim.devices is None], stated)
    found += _reveals(fixture, stated)
    for count in sorted({claim.devices for claim in claims if claim.devices is not None}):
        special = [claim for claim in claims if claim.devices == count]
        verdict = execute(program, count)
        found += [f"on {count} devices: {text}" for text in _raises(program, special, verdict)]
    return found


def unreached_reveals(fixture: Fixture, execute: Execute) -> list[str]:
    """The `# revealed:` lines that no machine reaches, or where another machine disagrees.

    A branch for machines without CUDA devices is only entered on one, so what the stated machine leaves out
    is tried without devices and with a single one.
    """
    open_lines = {revealed.line: revealed.text for revealed in fixture.revealed if _comparable(revealed.text)}
    found = []
    for machine in (None, 0, 1):
        for program in fixture.programs:
            if not open_lines:
                break
            run = execute(program, program.devices if machine is None else machine)
            reached = [(line, text) for line, text in run.revealed if line in open_lines]
            found += [
                f"{fixture.path}:{line}: revealed {open_lines[line]}, but {machine} devices show {text}"
                for line, text in reached
                if not _confirms(open_lines[line], text)
            ]
            for line, _ in reached:
                open_lines.pop(line, None)
    return found + [f"{fixture.path}:{line}: no run reaches this line" for line in sorted(open_lines)]


def uncovered_claims(fixture: Fixture, execute: Execute) -> list[str]:
    """The claims in code outside the programs where no program raises."""
    due = [c for c in fixture.shared_errors if c.moment is not Moment.NEVER and c.devices is None]
    if not due:
        return []
    hit: set[int] = set()
    for program in fixture.programs:
        hit.update(execute(program, program.devices).stack)
    return [
        f"{fixture.path}:{claim.line}: no program raises {'here' if claim.moment is Moment.HERE else 'because of it'}"
        for claim in due
        if not _comes_true(fixture, claim, hit)
    ]


def _comes_true(fixture: Fixture, claim: Claim, stack: Iterable[int]) -> bool:
    """Whether a run that raised bears out a claim in code outside the programs."""
    if claim.moment is Moment.HERE:
        return claim.line in stack
    return any(line != claim.line and fixture.together(line, claim.line) for line in stack)


def _comparable(text: str) -> bool:
    """Whether a run can confirm a revealed text: every device in it is known, and none is a variable."""
    return "unknown" not in text and "device of" not in text


def _confirms(wanted: str, shown: str) -> bool:
    """Whether a run shows what was claimed; `cuda` claims some CUDA device, whatever its index."""
    return shown in (wanted, f"{wanted}:{shown.partition(':')[2]}")


def _judge(fixture: Fixture, program: Program, claims: Sequence[Claim], run: Run) -> list[str]:
    """Holds the run on the stated machine against the claims that speak of it."""
    if any(claim.moment is not Moment.NEVER for claim in claims):
        return _raises(program, claims, run)
    due = [claim for claim in fixture.shared_errors if claim.moment is not Moment.NEVER]
    expected = program.kind is Kind.BAD and any(_comes_true(fixture, claim, run.stack) for claim in due)
    if expected and run.outcome == "device-error":
        return []
    if run.outcome != "ok":
        return [f"{_where(program, run)}PyTorch was expected to be content: {_said(run)}"]
    if program.kind is Kind.BAD and not claims and not any(c.devices is not None for c in program.errors):
        return ["PyTorch was expected to raise at a claim outside the function, and is content"]
    return []


def _raises(program: Program, claims: Sequence[Claim], run: Run) -> list[str]:
    """What speaks against: PyTorch raises at the first claim, or after it where it says `later`."""
    message = run.message or ""
    foreseen = any(text in message for claim in claims for text in _OTHER_ERRORS.get(claim.rule, ()))
    if run.outcome != "device-error" and not foreseen:
        return [f"PyTorch was expected to raise for line {claims[0].line}: {_said(run)}"]
    here = min((c.line for c in claims if c.moment is Moment.HERE), default=program.end_line)
    later = [c.line for c in claims if c.moment is Moment.LATER]
    if here in run.stack and any(c.line == here and c.moment is Moment.HERE for c in claims):
        return []
    inside = [line for line in run.stack if program.line <= line <= program.end_line]
    if inside and any(line < inside[0] <= here for line in later):
        return []
    expected = f"at line {here}" if here in {c.line for c in claims} else f"after line {min(later)}"
    return [f"{_where(program, run)}PyTorch was expected to raise {expected}: {_said(run)}"]


def _reveals(fixture: Fixture, run: Run) -> Iterable[str]:
    expected = {revealed.line: revealed.text for revealed in fixture.revealed}
    for line, text in dict.fromkeys(run.revealed):
        wanted = expected.get(line)
        if wanted is None:
            yield f"line {line}: the run reveals {text}, and no comment says so"
        elif _comparable(wanted) and not _confirms(wanted, text):
            yield f"line {line}: revealed {wanted}, but the run shows {text}"


def _where(program: Program, run: Run) -> str:
    inside = [line for line in run.stack if program.line <= line <= program.end_line]
    return f"line {inside[0]}: " if inside else ""


def _said(run: Run) -> str:
    return run.outcome if run.message is None else f"{run.outcome}: {run.message.splitlines()[0]}"
