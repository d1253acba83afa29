"""Processes and threads that a rehearsed program starts: each takes part, on the same machine.

`multiprocessing` sends a new process the state of its parent before the program's own objects; the rehearsal is a part
of that state. A command such as `python -u train.py`, as torchrun starts it for each rank, becomes

    python -u -c "from devlint_guard.rehearsal.child import main; main()" SETTINGS script train.py

A forked process has the rehearsal of its parent. A dispatch mode belongs to one thread, so that each gets its own.
"""

from __future__ import annotations

import json
import multiprocessing.spawn as spawn
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal.machine import MACHINE, after_fork_in_child
from devlint_guard.rehearsal.operators import RehearsalMode
from devlint_guard.rehearsal.unjudged import JOURNAL

_ROOT: Final = str(Path(__file__).parents[2])
"""The folder that a new process has to look in for this package."""

_FIND: Final = f"import sys; sys.path.append({_ROOT!r}); "
_MAIN: Final = f"{_FIND}from devlint_guard.rehearsal.child import main; main()"
_FLAGS: Final = re.compile(r"-[bBdEIOPsSuvqx]+|-[WX].+")
_FLAGS_WITH_VALUE: Final = ("-W", "-X")


_is_registered = False


def install(replaced: Replacements) -> None:
    """Replace how Python processes and threads are started."""
    global _is_registered
    if not _is_registered and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=after_fork_in_child)
        _is_registered = True
    replaced.around(threading.Thread, "_bootstrap_inner", _begin_thread)
    replaced.around(spawn, "get_preparation_data", lambda data, name: {**data(name), "devlint": _Beginning()})
    replaced.around(subprocess.Popen, "__init__", _start_process)


def _begin_thread(bootstrap: Callable[..., None], self: threading.Thread) -> None:
    with RehearsalMode():  # type: ignore[no-untyped-call]
        bootstrap(self)


def _start_process(start: Callable[..., None], self: Any, args: Any, *others: Any, **options: Any) -> None:
    if isinstance(args, Sequence) and not isinstance(args, (str, bytes)) and not options.get("shell"):
        args = _command(args)
    start(self, args, *others, **options)


class _Beginning:
    """Is pickled as the beginning of a rehearsal."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (f"{_FIND}from devlint_guard.rehearsal.child import begin; begin(*{_settings()!r})",)


def _settings() -> list[Any]:
    """Return what `child.begin` is given."""
    return [MACHINE.devices, MACHINE.name, MACHINE.steps, MACHINE.batches, JOURNAL.path]


def _command(args: Sequence[Any]) -> Sequence[Any]:
    """Return the command that rehearses what a command of this Python runs; any other command as it is."""
    words = [os.fspath(one) if isinstance(one, os.PathLike) else one for one in args]
    if not words or not all(isinstance(one, str) for one in words) or not _is_this_python(words[0]):
        return args
    position = 1
    while position < len(words) and words[position].startswith("-") and words[position] != "-m":
        if words[position] in _FLAGS_WITH_VALUE:
            position += 2
        elif _FLAGS.fullmatch(words[position]):
            position += 1
        else:
            return args
    is_module = words[position : position + 1] == ["-m"]
    target = words[position + is_module :]
    if not target or target[0] == "devlint":
        return args
    return [*words[:position], "-c", _MAIN, json.dumps(_settings()), "module" if is_module else "script", *target]


def _is_this_python(command: str) -> bool:
    found = shutil.which(command)
    if found is None or not Path(found).name.startswith("python"):
        return False
    return Path(found).absolute().parent == Path(sys.executable).absolute().parent
