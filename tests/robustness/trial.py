"""What must hold of devlint for any input at all."""

from __future__ import annotations

import ast
import functools
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from devlint import engine
from devlint.engine import Run
from devlint.errors import CatalogueError, ConfigError, DevlintError, SourceError
from devlint.inspector import load_tools
from devlint.settings import Settings

SLOW = 20.0
"""Seconds of the processor after which an input of a few hundred lines counts as a failure."""

load = functools.cache(load_tools)


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong with one input."""

    kind: str
    number: int
    what: str


def trial(kind: str, number: int, data: bytes, folder: Path) -> Failure | None:
    """Checks one input and, of a program, makes all its fixes.

    Args:
        kind: of `inputs.KINDS`.
        number: of the input.
        data: its content.
        folder: an empty folder, the working directory.
    """
    start = time.process_time()
    try:
        what = _configuration(data, folder) if kind == "configuration" else _source(kind, data)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
    if what is None and time.process_time() - start > SLOW:
        what = f"took {time.process_time() - start:.0f} s"
    return None if what is None else Failure(kind, number, what)


def _configuration(data: bytes, folder: Path) -> str | None:
    (folder / "devlint.toml").write_bytes(data)
    try:
        run = _run(b"import torch\n", "a.py", fix=False, isolated=False)
    except (ConfigError, CatalogueError) as error:  # what is configured, or a file that it leads to
        return None if str(error) else "an error without a message"
    except DevlintError as error:
        return f"not an error of the configuration: {error}"
    finally:
        os.unlink(folder / "devlint.toml")
    return _internal(run)


def _source(kind: str, data: bytes) -> str | None:
    name = "a.ipynb" if kind == "notebook" else "a.py"
    try:
        first = _run(data, name, fix=True)
    except SourceError as error:
        return None if error.message else "an error without a message"
    failed = _internal(first)
    if failed is not None or not first.changes:
        return failed
    fixed = first.changes[0].after
    try:
        json.loads(fixed) if kind == "notebook" else ast.parse(fixed)
    except (ValueError, SyntaxError) as error:
        return f"the fixed text cannot be parsed: {error}"
    again = _run(fixed, name, fix=True)
    if again.changes:
        return "fixes of the fixed text change it again"
    return _internal(again)


def _run(data: bytes, name: str, *, fix: bool, isolated: bool = True) -> Run:
    settings = Settings(
        ("-",),
        select=("ALL",),
        isolated=isolated,
        stdin_filename=name,
        fix=fix,
        unsafe_fixes=fix,
        jobs=1,
    )
    return engine.run(settings, stdin=data, load=load)


def _internal(run: Run) -> str | None:
    failures = [entry.message for entry in run.outcome.diagnostics if entry.code == "DEV903"]
    return failures[0] if failures else None
