"""`devlint rehearse`: runs a program to its end, or for a few steps, and tells what would raise.

The exit codes are those that CI can decide by; see `Outcome`.
"""

from __future__ import annotations

import enum
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

from devlint_guard.finding import Finding
from devlint_guard.launcher import INTERRUPTED, prepare, run_prepared, status_of
from devlint_guard.rehearsal import rehearse
from devlint_guard.rehearsal.labels import used_gpu
from devlint_guard.rehearsal.machine import MACHINE, Program
from devlint_guard.rehearsal.progress import Steps, StepsDone
from devlint_guard.rehearsal.trial import Trial
from devlint_guard.rehearsal.unjudged import ERROR, JOURNAL, UNJUDGED, Stopped
from devlint_guard.rehearsal.verdict import show, stopping, would_raise
from devlint_guard.report.files import write
from devlint_guard.report.ranks import path_of_rank
from devlint_guard.report.record import Record, Rehearsal, machine
from devlint_guard.report.summary import counted
from devlint_guard.session import Guard


class Outcome(enum.IntEnum):
    """How a rehearsal ended; the value is the exit code."""

    JUDGED = 0
    DEVICE_ERROR = 1
    NOT_ALL_JUDGED = 3
    FAILED = 4


@dataclass(slots=True)
class Result:
    """What a rehearsal has shown.

    Attributes:
        program: what was rehearsed.
        steps: the number of steps that the program's optimizers took.
        seconds: the time that the program ran.
        ending: the end of the program in words.
        stopped: why the rehearsal ended the program, in a few words; empty if it did not.
        error: the class and the text of the exception that ended the program; empty without one.
        outcome: what the exit code tells.
        unjudged: a sentence for each thing that was not judged.
        used_gpu: anything was on a device, or there is none to use.
        record: the record of the guard, if one watched the program.
        finding: the explanation of the error.
    """

    program: Program
    steps: int = 0
    seconds: float = 0.0
    ending: str = "the program ran to its end"
    stopped: str = ""
    error: str = ""
    outcome: Outcome = Outcome.JUDGED
    unjudged: list[str] = field(default_factory=list)
    used_gpu: bool = True
    record: Record | None = None
    finding: Finding | None = None

    def added_to(self, record: Record) -> Record:
        """Return the record of a guard with the result."""
        program = record.program
        if program is not None and self.stopped:
            program = replace(program, ended=self.stopped)
        rehearsal = Rehearsal(
            devices=self.program.devices,
            steps=self.steps,
            outcome=self.outcome.name.lower().replace("_", "-"),
            exit_code=int(self.outcome),
            ending=self.ending,
            error=self.error,
            not_judged=tuple(self.unjudged),
            device_type=self.program.device_type,
        )
        told = self.finding
        findings = tuple(told if told is not None and one.key == told.key else one for one in record.findings)
        return replace(record, findings=findings, program=program, rehearsal=rehearsal, used_gpu=self.used_gpu)


def launch(program: Program, *, report: str | None = None, tries: bool = False) -> int:
    """Run a program as if the machine had GPUs; return the exit code.

    Args:
        program: the program and the machine.
        report: a path for a report: `.json`, `.html`, or else text; the guard then records what the program does.
        tries: whether a change is proposed only if the program runs on with it; the program runs again for that.

    Raises:
        GuardUsageError: there is no such program or machine, or the installed torch cannot rehearse.
    """
    guard = None if report is None else Guard(mode="record", report=report)
    try:
        result = attempt(program, guard, Trial(program) if tries else None)
    except KeyboardInterrupt:
        return INTERRUPTED
    _tell(result)
    if result.record is not None and report is not None:
        write(result.added_to(result.record), path_of_rank(Path(report)))
    return int(result.outcome)


def attempt(
    program: Program, watch: AbstractContextManager[object] | None = None, trial: Trial | None = None
) -> Result:
    """Rehearse a program, and print the traceback of the exception that ends it.

    Args:
        program: the program and the machine.
        watch: surrounds the program, such as a guard.
        trial: tries the changes that are proposed for its error; None to propose them untried.

    Raises:
        GuardUsageError: there is no such program or machine, or the installed torch cannot rehearse.
        KeyboardInterrupt: the user has ended the program.
    """
    spec = prepare(program.target, program.arguments, program.as_module)
    result = Result(program)
    counter = Steps(program.steps, shown=True)
    began = time.monotonic()
    with rehearse(program.devices, program.device_type, from_beginning=True), counter:
        MACHINE.steps, MACHINE.batches = program.steps, program.batches
        try:
            with stopping():
                run_prepared(spec, watch)
        except StepsDone:
            result.stopped = f"ended by --steps {program.steps}"
            taken = counted(counter.taken, "step")
            result.ending = f"the program was ended after {taken}, so code behind them did not run"
        except Stopped:
            result.ending = result.stopped = "the rehearsal stopped"
        except SystemExit as error:
            code = status_of(error)
            if code:
                result.outcome, result.ending = Outcome.FAILED, f"the program ended with the exit code {code}"
        except KeyboardInterrupt as error:
            show(error)
            raise
        except BaseException as error:
            result.seconds, result.steps = time.monotonic() - began, counter.taken
            _judge(error, result, trial)
        result.steps = counter.taken
        result.record = watch.record() if isinstance(watch, Guard) else None
        result.unjudged = UNJUDGED.lines()
        result.used_gpu = not program.devices or used_gpu()
    result.seconds = result.seconds or time.monotonic() - began
    if result.outcome is Outcome.JUDGED and not result.used_gpu:
        result.ending += "; it put nothing on a simulated GPU, so this run cannot show a mistake with devices"
    if result.outcome is Outcome.JUDGED and result.unjudged:
        result.outcome = Outcome.NOT_ALL_JUDGED
    return result


def _judge(error: BaseException, result: Result, trial: Trial | None) -> None:
    result.error = f"{type(error).__name__}: {error}".splitlines()[0]
    in_children = JOURNAL.read(ERROR)

    def improved(finding: Finding) -> Finding:
        result.finding = finding if trial is None else trial.tried(finding, result.steps, MACHINE.operators)
        return result.finding

    if would_raise(error, improved):
        result.outcome, result.ending = Outcome.DEVICE_ERROR, "the program would raise"
    elif in_children:
        result.outcome, result.ending = Outcome.DEVICE_ERROR, "a child process of the program would raise"
        result.error = in_children[0]
    else:
        result.outcome, result.ending = Outcome.FAILED, "the program failed"
    show(error)


def _tell(result: Result) -> None:
    what = f"{counted(result.steps, 'optimizer step')}, {result.seconds:.1f} s"
    where = machine(result.program.devices, result.program.device_type)
    print(f"devlint: rehearsed on {where}: {result.ending} ({what})", file=sys.stderr)
    if result.unjudged:
        print("devlint: not checked:", file=sys.stderr)
        for line in result.unjudged:
            print(f"  {line}", file=sys.stderr)
