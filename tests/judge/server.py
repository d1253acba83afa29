"""The judge's server: a process with torch loaded that forks once for each program, in some 20 ms.

Started as `python -m tests.judge.server rehearsed|lenient|plain`. It reads a job per line and answers with a verdict
per line. A program has a process group, an empty working directory and an output file of its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from tests.copies import HUGE_PAGES
from tests.judge.program import run_program
from tests.judge.protocol import FAILURE_MARK, Job, Verdict

REPOSITORY = Path(__file__).resolve().parents[2]
GUARD_ROOT = REPOSITORY / "runtime_guard"

_OUTPUT_KEPT = 16_000


def main(kind: str) -> None:
    """Serves jobs until stdin ends.

    Args:
        kind: whether a rehearsal pretends devices, and whether its operators are lenient.
    """
    _prepare(kind)
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        answer = _run_forked(Job.from_json(line), kind)
        replies.write(answer + "\n")
        replies.flush()


def _prepare(kind: str) -> None:
    warnings.simplefilter("ignore")
    for name in HUGE_PAGES:  # which are not for what a program starts
        os.environ.pop(name, None)
    import torch
    import torch._dynamo

    torch.set_num_threads(1)
    # a program may have a package `tests` of its own, so it must find neither ours nor the way to it
    sys.path[:] = [
        str(GUARD_ROOT),
        *(entry for entry in sys.path if Path(entry or ".").resolve() != REPOSITORY),
    ]
    sys.modules.pop("tests", None)
    with contextlib.suppress(Exception):
        import devlint_guard  # noqa: F401  (once here is faster than in each program)
    if kind != "plain":
        from devlint_guard.rehearsal import rehearse

        with rehearse():  # loads what it needs
            torch.ones(1).cuda()
    if kind == "lenient":
        _be_lenient()


def _be_lenient() -> None:
    """Let operators, and numpy, take tensors from several devices: a program computes what its author meant."""
    import torch
    from devlint_guard.rehearsal import checks, tensors
    from devlint_guard.rehearsal.plans import Operand, Plan

    judge = checks.judge

    def judge_leniently(plan: Plan, operands: list[Operand], args: Sequence[Any]) -> torch.device:
        try:
            return judge(plan, operands, args)
        except Exception:
            return next((one.device for one in operands if one.device.type == "cuda"), operands[0].device)

    checks.judge = judge_leniently
    tensors._refuse_numpy = lambda tensor: None


def _run_forked(job: Job, kind: str) -> str:
    """Returns the line that answers the job."""
    with tempfile.TemporaryDirectory(prefix="judge_", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "work").mkdir()
        reading_end, writing_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading_end)
            _run_in_child(job, folder, writing_end, kind)
        os.close(writing_end)
        answer = _read_line(reading_end, job.timeout)
        os.close(reading_end)
        if answer is None or answer:
            # the program's own children, data loader workers for instance, end with it
            _kill(child)
        _, status = os.waitpid(child, 0)
        if answer is None:
            verdict = Verdict("timeout", message=f"no result in {job.timeout:g} s")
        elif answer.startswith(FAILURE_MARK):
            return answer.decode().strip()
        elif answer:
            verdict = Verdict.from_json(answer)
        else:
            _kill_group(child)
            verdict = Verdict("crash", message=_ending(os.waitstatus_to_exitcode(status)))
        output = ""
        with contextlib.suppress(OSError):  # the program may have removed it
            output = (folder / "output").read_text(encoding="utf-8", errors="replace")[-_OUTPUT_KEPT:]
        return dataclasses.replace(verdict, stdout=output).to_json()


def _read_line(pipe: int, timeout: float) -> bytes | None:
    """Reads one line; None when it does not come in time, empty when the writer died.

    The end of the file is not awaited: a grandchild may hold the pipe open.
    """
    received = b""
    end = time.monotonic() + timeout
    while not received.endswith(b"\n"):
        left = end - time.monotonic()
        if left <= 0 or not select.select([pipe], [], [], left)[0]:
            return None
        chunk = os.read(pipe, 1 << 16)
        if not chunk:
            return b""
        received += chunk
    return received


def _kill(child: int) -> None:
    _kill_group(child)
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGKILL)


def _kill_group(child: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)


def _ending(exit_code: int) -> str:
    if exit_code < 0:
        return f"the process was ended by {signal.Signals(-exit_code).name}"
    return f"the process ended itself with exit code {exit_code}"


def _run_in_child(job: Job, folder: Path, pipe: int, kind: str) -> NoReturn:
    """Runs the program and writes the verdict; never returns."""
    own_id = os.getpid()
    exit_code = 0
    try:
        os.setsid()
        _redirect(folder / "output")
        file = _set_the_scene(job, folder / "work")
        verdict = run_program(job, file) if kind == "plain" else _rehearsed(job, file)
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        # a process that the program forked comes here too, and must not answer for it
        if os.getpid() == own_id:
            _write_line(pipe, verdict.to_json().encode())
        else:
            exit_code = int(verdict.outcome != "ok")
    except BaseException:
        _write_line(pipe, FAILURE_MARK + json.dumps(traceback.format_exc()).encode())
    finally:
        os._exit(exit_code)


def _write_line(pipe: int, line: bytes) -> None:
    line += b"\n"
    while line:
        line = line[os.write(pipe, line) :]


def _redirect(output: Path) -> None:
    """Points the standard streams, of Python and of C, to nothing and to the file."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    written = os.open(output, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    os.dup2(nothing, 0)
    os.dup2(written, 1)
    os.dup2(written, 2)
    sys.stdin = os.fdopen(0, "r", closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)


def _set_the_scene(job: Job, work: Path) -> str:
    """Makes folder, environment, import path and machine as the job says; returns the program's file."""
    import torch

    os.chdir(work)
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    os.environ.update(job.env)
    if job.file is None:
        file = str(work / "prog.py")
        Path(file).write_text(job.code, encoding="utf-8")
    else:
        file = job.file
    sys.path[:0] = [os.path.dirname(file), *job.paths]
    torch.manual_seed(0)
    return file


def _rehearsed(job: Job, file: str) -> Verdict:
    from devlint_guard.rehearsal import generators, rehearse
    from devlint_guard.rehearsal.unjudged import UNJUDGED

    if job.recorded:  # a fix that draws numbers on another device draws the same ones
        generators.drawing_on = contextlib.nullcontext  # type: ignore[assignment]
    with rehearse(job.devices, from_beginning=True):
        verdict = run_program(job, file)
    return dataclasses.replace(verdict, unjudged=tuple(UNJUDGED.lines()))


if __name__ == "__main__":
    main(sys.argv[1])
