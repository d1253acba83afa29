"""The judge's server: a process with torch loaded that forks once for each program, in some 20 ms.

A job that calls a function of a file is run by a *stage*: a fork that has executed the text of the file, and that forks
once for each function. So the functions of one file share what their file imports.

Started as `python -m tests.judge.server rehearsed|lenient|plain`. It reads a job per line and answers with a verdict
per line. A program has a process group, an empty working directory and an output file of its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tests.copies import HUGE_PAGES
from tests.judge.program import Loaded, run_program
from tests.judge.protocol import FAILURE_MARK, Job, Verdict

REPOSITORY = Path(__file__).resolve().parents[2]
GUARD_ROOT = REPOSITORY / "runtime_guard"

_OUTPUT_KEPT = 16_000
_MOST_STAGES = 2


def main(kind: str) -> None:
    """Serves jobs until stdin ends.

    Args:
        kind: whether a rehearsal pretends devices, and whether its operators are lenient.
    """
    _prepare(kind)
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    stages: dict[str, Stage] = {}
    for line in sys.stdin:
        replies.write(_answer(Job.from_json(line), kind, stages) + "\n")
        replies.flush()
    for stage in stages.values():
        stage.end()


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


def _answer(job: Job, kind: str, stages: dict[str, Stage]) -> str:
    """Returns the line that answers the job; a stage that fails leaves the job to a fork of its own."""
    if job.call is None or job.recorded:
        return _run_forked(job, kind)
    text = dataclasses.replace(job, call=None, timeout=0).to_json()
    if text not in stages:
        if len(stages) >= _MOST_STAGES:
            stages.pop(next(iter(stages))).end()
        stages[text] = Stage(job, kind, stages.values())
    return stages[text].answer(job) or _run_forked(job, kind)


class Stage:
    """A process that has executed the text of a file, see above.

    Args:
        job: any call of a function of the file.
        kind: see `main`.
        others: the other stages, whose pipes it leaves alone.
    """

    def __init__(self, job: Job, kind: str, others: Iterable[Stage]) -> None:
        jobs_end, self._jobs = os.pipe()
        self._answers, answers_end = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            for stage in (self, *others):
                os.close(stage._jobs)
            _be_stage(job, kind, jobs_end, answers_end)
        os.close(jobs_end)
        os.close(answers_end)
        self._works = True

    def answer(self, job: Job) -> str:
        """Returns the line that answers a job; "" if the stage cannot."""
        found: bytes | None = None
        if self._works:
            with contextlib.suppress(OSError):
                _write_line(self._jobs, job.to_json().encode())
                found = _read_line(self._answers, 2 * job.timeout)
        self._works = bool(found)
        return found.decode().strip() if found else ""

    def end(self) -> None:
        """Ends the process, which tidies up when its pipe ends."""
        os.close(self._jobs)
        _read_line(self._answers, 10)
        os.close(self._answers)
        _kill(self._child)
        os.waitpid(self._child, 0)


def _be_stage(job: Job, kind: str, jobs: int, answers: int) -> NoReturn:
    """Executes the text of a file, and answers jobs until their pipe ends; never returns."""
    try:
        os.setsid()
        with tempfile.TemporaryDirectory(prefix="judge_", ignore_cleanup_errors=True) as name, os.fdopen(jobs) as lines:
            folder = Path(name)
            (folder / "work").mkdir()
            _redirect(folder / "output")
            file = _set_the_scene(job, folder / "work")
            with contextlib.ExitStack() as machine:
                if kind != "plain":
                    from devlint_guard.rehearsal import rehearse

                    machine.enter_context(rehearse(job.devices, from_beginning=True))
                loaded = Loaded(job, file)
                for line in lines:
                    _write_line(answers, _run_forked(Job.from_json(line), kind, loaded).encode())
    finally:
        os._exit(0)


def _run_forked(job: Job, kind: str, loaded: Loaded | None = None) -> str:
    """Returns the line that answers the job; `loaded` is its program, if this process is a stage."""
    with tempfile.TemporaryDirectory(prefix="judge_", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "work").mkdir()
        reading_end, writing_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading_end)
            _run_in_child(job, folder, writing_end, kind, loaded)
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


def _run_in_child(job: Job, folder: Path, pipe: int, kind: str, loaded: Loaded | None) -> NoReturn:
    """Runs the program and writes the verdict; never returns."""
    own_id = os.getpid()
    exit_code = 0
    try:
        os.setsid()
        if loaded is None:
            _redirect(folder / "output")
            file = _set_the_scene(job, folder / "work")
            verdict = run_program(job, file) if kind == "plain" else _rehearsed(job, file)
        else:
            _leave_the_stage(folder)
            verdict = loaded.call(job) if kind == "plain" else _rehearsed_call(job, loaded)
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


def _leave_the_stage(folder: Path) -> None:
    """Gives a fork of a stage a working directory and an output of its own, with what the stage has written."""
    sys.stdout.flush()
    sys.stderr.flush()
    shutil.copytree(os.getcwd(), folder / "work", dirs_exist_ok=True)
    shutil.copyfile(Path(os.getcwd()).parent / "output", folder / "output")
    os.chdir(folder / "work")
    _redirect(folder / "output")


def _rehearsed_call(job: Job, loaded: Loaded) -> Verdict:
    """Calls a function in a fork of a stage, as if the machine had been used by this process alone."""
    from devlint_guard.rehearsal.machine import MACHINE
    from devlint_guard.rehearsal.unjudged import JOURNAL, UNJUDGED

    MACHINE.is_bad_fork = False
    JOURNAL.begin()
    verdict = loaded.call(job)
    verdict = dataclasses.replace(verdict, unjudged=tuple(UNJUDGED.lines()))
    JOURNAL.end()
    return verdict


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
