"""`Judge`: hands programs to servers and returns their verdicts."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from tests.copies import HUGE_PAGES
from tests.judge.protocol import FAILURE_MARK, Job, Variant, Verdict

_REPOSITORY = Path(__file__).resolve().parents[2]

_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "MASTER_ADDR": "localhost",
    "MASTER_PORT": "0",
    "RANK": "0",
    "WORLD_SIZE": "1",
}
"""Libraries ask no network, and process groups find their own process, as `torchrun --nproc-per-node 1` has it."""


class JudgeError(Exception):
    """The judge cannot do its work; this says nothing about the program."""


class Judge:
    """Runs programs on pretended machines. A context manager; not to be shared by threads.

    Args:
        python: the interpreter to run programs with, which needs torch as `supported` says.
    """

    def __init__(self, python: str = sys.executable) -> None:
        self._python = python
        self._servers: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the servers; the next run would start them again."""
        for server in self._servers.values():
            _pipe(server.stdin).close()
            server.wait()
            _pipe(server.stdout).close()
        self._servers.clear()

    def run(
        self,
        code: str | None = None,
        *,
        file: Path | None = None,
        devices: int = 4,
        variant: Variant = "cuda",
        timeout: float = 60,
        env: Mapping[str, str] | None = None,
        argv: Sequence[str] = (),
        call: str | None = None,
        paths: Sequence[Path] = (),
        lenient: bool = False,
        recorded: bool = False,
    ) -> Verdict:
        """Runs one program in a process of its own, in an empty working directory.

        Args:
            code: the program's text; None: what stands in `file`.
            file: the file that the text belongs to, whose folder the program can import from.
            devices: how many CUDA devices the machine has.
            variant: a CUDA build of torch, or the installed build without any device, where `devices` and `lenient`
                have no meaning.
            timeout: seconds after which the program is killed.
            env: environment variables to set, besides those of `torchrun`; unless named here, CUDA_VISIBLE_DEVICES is
                unset, and empty for "cpuonly".
            argv: the program's command line arguments.
            call: a function to call, without arguments, once the text was executed (not as `__main__`).
            paths: further folders to import from; the runtime guard can always be imported.
            lenient: operators take tensors from several devices, so that a program with a device error computes what
                its author meant.
            recorded: the verdict has the values, and all devices draw one sequence of random numbers.

        Raises:
            ValueError: neither `code` nor `file` is given.
            OSError: `file` cannot be read.
            JudgeError: the server does not start, does not survive the program, or fails to run it.
        """
        if code is None:
            if file is None:
                raise ValueError("a program needs code or a file")
            code = importlib.util.decode_source(file.read_bytes())
        job = Job(
            code=code,
            file=None if file is None else str(file.resolve()),
            devices=devices,
            variant=variant,
            timeout=timeout,
            env={**_ENVIRONMENT, **({"CUDA_VISIBLE_DEVICES": ""} if variant == "cpuonly" else {}), **(env or {})},
            argv=list(argv),
            call=call,
            paths=[str(path.resolve()) for path in paths],
            recorded=recorded,
        )
        kind = "plain" if variant == "cpuonly" else "lenient" if lenient else "rehearsed"
        return Verdict.from_json(self._answer(kind, job.to_json()))

    def _answer(self, kind: str, line: str) -> str:
        server = self._server(kind)
        try:
            _pipe(server.stdin).write(line + "\n")
            _pipe(server.stdin).flush()
            answer = _pipe(server.stdout).readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise JudgeError(f"the judge's server ended with exit code {self._servers.pop(kind).wait()}")
        if answer.startswith(FAILURE_MARK.decode()):
            raise JudgeError(json.loads(answer[1:]))
        return answer

    def _server(self, kind: str) -> subprocess.Popen[str]:
        server = self._servers.get(kind)
        if server is None:
            server = subprocess.Popen(
                [self._python, "-m", "tests.judge.server", kind],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=_REPOSITORY,
                env={**os.environ, **HUGE_PAGES, "PYTHONHASHSEED": "0"},  # messages print sets in one order
            )
            self._servers[kind] = server
        return server


def _pipe(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise JudgeError("the judge's server has no pipes")
    return stream
