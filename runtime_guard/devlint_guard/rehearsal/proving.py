"""One rehearsal of `devlint rehearse --check-fixes`: a process that runs a program with changed sources.

The changes exist in memory alone: Python reads the text of a changed file from the request, and writes no byte code.
So the program finds its data where they are, its `__file__` is the user's, and no file of the user changes.

    python -c "from devlint_guard.rehearsal.proving import main; main()" request.json answer.json

The answer tells which lines of the user's files ran, and at which lines an exception was raised, also if the program
caught it.
"""

from __future__ import annotations

import functools
import io
import json
import linecache
import os
import sys
import threading
import tokenize
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from devlint_guard.errors import GuardUsageError
from devlint_guard.explain.messages import read
from devlint_guard.program.frames import is_installed, span_at
from devlint_guard.program.replacements import Replacements
from devlint_guard.record.stores import compiled
from devlint_guard.rehearsal.launch import attempt
from devlint_guard.rehearsal.machine import MACHINE, Program
from devlint_guard.report.json import encoded

_MOST_ERRORS = 10_000
"""How many different exceptions of a file a trace keeps, also those that the program handles."""


class Trace:
    """A context that traces the lines of the user's files, in this process.

    Attributes:
        lines: the numbers of lines, by file.
        errors: the exceptions by file, each at the user's innermost operation: the line and column where it begins,
            those where it ends, the message, and whether it is a device error. Lines begin at 1 and columns, in bytes,
            at 0. Before Python 3.11, the columns are None.
    """

    def __init__(self) -> None:
        self.lines: dict[str, set[int]] = {}
        self.errors: dict[str, dict[tuple[int | None, int | None, int | None, int | None, str, bool], None]] = {}
        self._last: BaseException | None = None

    def __enter__(self) -> Trace:
        threading.settrace(self._call)
        sys.settrace(self._call)
        return self

    def __exit__(self, *args: object) -> None:
        sys.settrace(None)
        threading.settrace(None)
        self._last = None

    def _call(self, frame: FrameType, event: str, value: Any) -> Any:
        if not _is_ours(frame.f_code.co_filename):
            return None
        self.lines.setdefault(frame.f_code.co_filename, set())
        return self._local

    def _local(self, frame: FrameType, event: str, value: Any) -> Any:
        file = frame.f_code.co_filename
        if event == "line":
            self.lines[file].add(frame.f_lineno)
        elif event == "exception":
            error = value[1]
            if isinstance(error, BaseException) and error is not self._last:
                self._last = error
                text = f"{type(error).__name__}: {error}".splitlines()[0]
                found = self.errors.setdefault(file, {})
                if len(found) < _MOST_ERRORS:
                    found[(*_span(frame), text, read(error) is not None)] = None
        return self._local


@functools.cache
def _is_ours(file: str) -> bool:
    return not file.startswith("<") and not is_installed(file)


def _span(frame: FrameType) -> tuple[int | None, int | None, int | None, int | None]:
    """Return where the present operation of a frame begins and ends: line, column, line, column."""
    span = span_at(frame.f_code, frame.f_lasti)
    return (*span[0], *span[1]) if span is not None else (frame.f_lineno, None, frame.f_lineno, None)


def substitute(texts: Mapping[str, bytes], replaced: Replacements) -> None:
    """Let Python find other contents in source files, whose absolute paths are given."""
    open_code, get_code = io.open_code, SourceFileLoader.get_code

    def opened(path: Any) -> Any:
        found = texts.get(os.path.abspath(path))
        return open_code(path) if found is None else io.BytesIO(found)

    def code(self: SourceFileLoader, name: str) -> CodeType | None:
        found = texts.get(os.path.abspath(self.path))
        return get_code(self, name) if found is None else compiled(found, self.path)

    import _io

    for owner in (io, _io):
        replaced.put(owner, "open_code", opened)
    replaced.put(SourceFileLoader, "get_code", code)
    for path, content in texts.items():
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        linecache.cache[path] = (len(content), None, content.decode(encoding).splitlines(keepends=True), path)


def main() -> None:
    """Rehearse what a request tells, and write the answer; both are JSON files that the command line names."""
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    answer = Path(sys.argv[2])
    sys.dont_write_bytecode = True
    try:
        answer.write_text(json.dumps(_answered(request)), encoding="utf-8")
    except GuardUsageError as error:
        answer.write_text(json.dumps({"refused": str(error)}), encoding="utf-8")


def _answered(request: Mapping[str, Any]) -> dict[str, Any]:
    trace, replaced = Trace(), Replacements()
    substitute({path: text.encode("latin-1") for path, text in request["texts"].items()}, replaced)
    result = attempt(Program(**request["program"]), None if request.get("is_trial") else trace)
    replaced.undo()
    return {
        "outcome": result.outcome.name,
        "ending": result.ending,
        "error": result.error,
        "not_judged": result.unjudged,
        "finding": None if result.finding is None else encoded(result.finding),
        "operators": MACHINE.operators,
        "lines": {os.path.abspath(file): sorted(lines) for file, lines in trace.lines.items()},
        "errors": {os.path.abspath(file): list(found) for file, found in trace.errors.items()},
    }
