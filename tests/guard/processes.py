"""Runs commands in processes of their own, of which most need not import torch anew."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Mapping
from multiprocessing import forkserver
from pathlib import Path
from unittest.mock import patch

from tests.copies import HUGE_PAGES

Ended = subprocess.CompletedProcess[str]


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    return file


def python(folder: Path, *arguments: str, **environment: str) -> Ended:
    """Runs Python, which answers SIGINT also where these tests run in the background and ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def forked(folder: Path, main: Callable[[], object], arguments: list[str], environment: Mapping[str, str]) -> Ended:
    """Runs the main function of a command in a copy of a process that has imported torch and done nothing else.

    A copy of this one would not do: OpenMP's threads, which any product of matrices starts, do not outlive a fork,
    and the copy waits for them for ever.

    Args:
        main: a function that can be pickled.
    """
    files = (folder / ".stdout", folder / ".stderr")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "pytest", "devlint.cli", "devlint_guard"])
    with patch.dict(os.environ, HUGE_PAGES):
        forkserver.ensure_running()
    process = context.Process(target=_run, args=(folder, main, arguments, {**os.environ, **environment}, files))
    process.start()
    process.join()
    code = -1 if process.exitcode is None else process.exitcode
    return Ended(arguments, code, *(file.read_text(encoding="utf-8") for file in files))


def _run(
    folder: Path,
    main: Callable[[], object],
    arguments: list[str],
    environment: dict[str, str],
    files: tuple[Path, Path],
) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for stream, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    sys.stdout, sys.stderr = (os.fdopen(stream, "w", encoding="utf-8") for stream in (1, 2))
    sys.argv, sys.excepthook = arguments, sys.__excepthook__
    warnings.resetwarnings()
    sys.exit(main())  # type: ignore[arg-type]
