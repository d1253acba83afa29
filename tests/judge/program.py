"""Runs one program in this process and gives the verdict on it."""

from __future__ import annotations

import linecache
import os
import re
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.judge.kinds import kind_of
from tests.judge.protocol import Job, Verdict
from tests.judge.values import frames_in, record

UNNAMED = "<prog>"
"""Stands in messages for the file of a program that has none."""

_CALLED_PROGRAM = "program"


class Loaded:
    """A program whose text was executed, so that its functions can be called one after the other.

    Args:
        job: the program.
        file: its file.

    Raises:
        BaseException: whatever the program raises.
    """

    def __init__(self, job: Job, file: str) -> None:
        self._file = file
        self._revealed: list[tuple[int, str]] = []
        self._program = _begin(job, file, _CALLED_PROGRAM)
        _observe(file, self._revealed)
        exec(compile(job.code, file, "exec", dont_inherit=True), self._program.__dict__)

    def call(self, job: Job) -> Verdict:
        """Calls the function that a job names; what the program has revealed before is in each verdict."""
        raised = _execute(lambda: getattr(self._program, job.call or "")())
        verdict = Verdict("ok") if raised is None else _verdict(raised, job, self._file)
        return replace(verdict, revealed=tuple(self._revealed))


def run_program(job: Job, file: str) -> Verdict:
    """Executes the text of `job` as the file `file`, and then calls its function if one is named."""
    program = _begin(job, file, "__main__" if job.call is None else _CALLED_PROGRAM)
    try:
        code = compile(job.code, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        return Verdict("other-error", line=error.lineno, exception="SyntaxError", message=str(error))
    revealed: list[tuple[int, str]] = []
    _observe(file, revealed)
    values: list[tuple[str, dict[str, str]]] = []
    if job.recorded:
        record(os.path.dirname(file), values)
    raised = _execute(lambda: _run(code, program, job.call))
    sys.setprofile(None)
    verdict = Verdict("ok") if raised is None else _verdict(raised, job, file)
    left = 0 if raised is None else frames_in(os.path.dirname(file), raised.__traceback__)
    return replace(verdict, revealed=tuple(revealed), values=tuple(values[: len(values) - left]))


def _begin(job: Job, file: str, name: str) -> types.ModuleType:
    """Returns the module that a program becomes, with nothing executed yet."""
    linecache.cache[file] = (len(job.code), None, job.code.splitlines(True), file)
    sys.argv = [file, *job.argv]
    program = types.ModuleType(name)
    program.__file__ = file
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.modules[name] = program
    return program


def _run(code: types.CodeType, program: types.ModuleType, call: str | None) -> None:
    exec(code, program.__dict__)
    if call is not None:
        getattr(program, call)()


def _execute(part: Callable[[], object]) -> BaseException | None:
    """Returns what a part of a program raised; leaving by sys.exit(0) is no error."""
    try:
        part()
    except SystemExit as exit_request:
        return exit_request if exit_request.code else None
    except BaseException as error:
        return error
    return None


def _verdict(error: BaseException, job: Job, file: str) -> Verdict:
    stack = tuple(_lines_in(file, error.__traceback__))
    exception = type(error).__qualname__
    if type(error).__module__ not in ("builtins", "__main__", _CALLED_PROGRAM):
        exception = f"{type(error).__module__}.{exception}"
    message = str(error) if job.file else str(error).replace(file, UNNAMED)
    # an error in a worker process or in a replica's thread carries its own traceback, as text
    inner = re.findall(rf'File "(?:{re.escape(file)}|{UNNAMED})", line (\d+)', message)
    line = int(inner[-1]) if inner else next(reversed(stack), None)
    kind = kind_of(exception, message)
    return Verdict(
        "other-error" if kind is None else "device-error",
        line=line,
        stack=stack,
        kind=kind,
        exception=exception,
        message=message,
    )


def _lines_in(file: str, traceback: types.TracebackType | None) -> Iterator[int]:
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            yield traceback.tb_lineno
        traceback = traceback.tb_next


def _observe(file: str, revealed: list[tuple[int, str]]) -> None:
    """Records what `reveal_device` says in `file`, where the runtime guard can be imported at all."""
    try:
        from devlint_guard import reveal
    except Exception:  # the program meets the same exception if it asks for the guard
        return

    def observer(device_text: str, filename: str, line: int) -> None:
        if filename == file:
            revealed.append((line, device_text))

    reveal.observers.append(observer)
