"""A process that a rehearsed program has started: it rehearses from its beginning to its end (`children`)."""

from __future__ import annotations

import atexit
import contextlib
import json
import sys
from importlib.machinery import ModuleSpec

from devlint_guard.errors import GuardUsageError
from devlint_guard.launcher import prepare, run_prepared, status_of
from devlint_guard.rehearsal import rehearse
from devlint_guard.rehearsal.distributed import end_process
from devlint_guard.rehearsal.machine import MACHINE
from devlint_guard.rehearsal.progress import Steps
from devlint_guard.rehearsal.unjudged import ERROR, JOURNAL, Stopped
from devlint_guard.rehearsal.verdict import show, stopping, would_raise

_kept = contextlib.ExitStack()


def begin(devices: int, device_type: str, steps: int | None, batches: int | None, journal: str) -> None:
    """Rehearse from now to the end of the process, or without an error to the last step.

    Args:
        devices, device_type, steps, batches: those of a `Program`.
        journal: the file for what the process has to tell the one that began the rehearsal.
    """
    JOURNAL.begin(journal)
    _kept.enter_context(rehearse(devices, device_type, from_beginning=True))
    atexit.register(_kept.close)
    MACHINE.steps, MACHINE.batches = steps, batches
    _kept.enter_context(Steps(steps, shown=False))


def main() -> None:
    """Rehearse the program of a command; the exit code is the program's own."""
    settings, kind, target, *arguments = sys.argv[1:]
    try:
        program = prepare(target, arguments, kind == "module")
    except GuardUsageError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    begin(*json.loads(settings))
    end_process(_run(program))


def _run(program: ModuleSpec) -> int:
    """Run the program of a command and return its exit code."""
    try:
        with stopping():
            run_prepared(program)
    except SystemExit as error:
        return status_of(error)
    except Stopped:
        return 0
    except Exception as error:
        if would_raise(error):
            JOURNAL.write(ERROR, f"{type(error).__name__}: {error}".splitlines()[0])
        show(error)
        return 1
    return 0
