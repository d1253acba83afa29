"""A process that has imported the libraries of a program, and forks once for each job with that program.

A fixture about a library has a function for each of its cases, and importing the library may take seconds.
"""

from __future__ import annotations

import ast
import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec

from tests.judge.protocol import Job


class Nursery:
    """The process for the program that the last job was about, if that program imports libraries.

    Args:
        prepare: makes the machine as a job says.
        run: runs a job in a process of its own, and returns the line that answers the job.
    """

    def __init__(self, prepare: Callable[[Job], None], run: Callable[[Job], str]) -> None:
        self._prepare = prepare
        self._run = run
        self._program: Job | None = None
        self._process: tuple[int, int, int] | None = None
        """Its id, and the pipes for jobs and answers."""

    def answer(self, job: Job) -> str:
        """Return the line that answers a job."""
        program = replace(job, call=None, timeout=0.0)
        if program != self._program:
            self._end()
            self._program = program
            imports = _imports(job.code) if job.call is not None else ""
            if imports:
                self._start(job, imports)
        if self._process is None:
            return self._run(job)
        _, jobs, answers = self._process
        os.write(jobs, job.to_json().encode() + b"\n")
        with os.fdopen(os.dup(answers), encoding="utf-8") as lines:
            line = lines.readline()
        if not line:
            raise RuntimeError(f"the process that imports the libraries of {job.file} ended")
        return line.rstrip("\n")

    def _start(self, job: Job, imports: str) -> None:
        jobs, jobs_end = os.pipe()
        answers, answers_end = os.pipe()
        child = os.fork()
        if child:
            os.close(jobs)
            os.close(answers_end)
            self._process = child, jobs_end, answers
            return
        try:
            os.close(jobs_end)
            os.close(answers)
            self._prepare(job)
            with contextlib.suppress(Exception):  # the program will raise it again
                exec(imports, {})
            with os.fdopen(jobs) as lines:
                for line in lines:
                    os.write(answers_end, self._run(Job.from_json(line)).encode() + b"\n")
        finally:
            os._exit(0)

    def _end(self) -> None:
        if self._process is not None:
            child, jobs, answers = self._process
            os.close(jobs)
            os.close(answers)
            os.waitpid(child, 0)
            self._process = None


def _imports(code: str) -> str:
    """The statements of a program that import libraries which are not loaded yet."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return ""
    found = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        else:
            continue
        tops = {module.partition(".")[0] for module in modules}
        if not tops & sys.stdlib_module_names and not all(map(_is_loaded, modules)) and all(map(_is_installed, tops)):
            found.append(ast.unparse(node))
    return "\n".join(found)


def _is_loaded(module: str) -> bool:
    return module in sys.modules


def _is_installed(package: str) -> bool:
    return find_spec(package) is not None
