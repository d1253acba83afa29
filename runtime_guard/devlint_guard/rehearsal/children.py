"""Python processes that a rehearsed program starts: each begins with a rehearsal of its own, on the same machine.

`multiprocessing` sends a new process the state of its parent before the program's own objects; the rehearsal is a part
of that state. A command such as `python -u train.py`, as torchrun starts it for each rank, becomes

    python -u -c "from devlint_guard.rehearsal.child import main; main()" SETTINGS script train.py

A forked process has the rehearsal of its parent.
"""

from __future__ import annotations

import json
import multiprocessing.spawn as spawn
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal.journal import JOURNAL
from devlint_guard.rehearsal.machine import MACHINE

_ROOT: Final = str(Path(__file__).parents[2])
"""The folder that a new process has to look in for this package."""

_FIND: Final = f"import sys; sys.path.append({_ROOT!r}); "
_MAIN: Final = f"{_FIND}from devlint_guard.rehearsal.child import main; main()"
_FLAGS: Final = re.compile(r"-[bBdEIOPsSuvqx]+|-[WX].+")
_FLAGS_WITH_VALUE: Final = ("-W", "-X")


def install(replaced: Replacements) -> None:
    """Replace how Python processes are started."""
    data_of, start = spawn.get_preparation_data, subprocess.Popen.__init__

    def preparation_data(name: str) -> dict[str, object]:
        return {**data_of(name), "devlint": _Beginning()}

    def popen(self: Any, args: Any, *others: Any, **options: Any) -> None:
        if isinstance(args, Sequence) and not isinstance(args, (str, bytes)) and not options.get("shell"):
            args = _command(args)
        start(self, args, *others, **options)

    replaced.put(spawn, "get_preparation_data", preparation_data)
    replaced.put(subprocess.Popen, "__init__", popen)


class _Beginning:
    """Is pickled as the beginning of a rehearsal."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        arguments = f"{MACHINE.devices}, {MACHINE.name!r}, {MACHINE.steps}, {MACHINE.batches}, {JOURNAL.path!r}"
        return exec, (f"{_FIND}from devlint_guard.rehearsal.child import begin; begin({arguments})",)


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
    settings = json.dumps([MACHINE.devices, MACHINE.name, MACHINE.steps, MACHINE.batches, JOURNAL.path])
    return [*words[:position], "-c", _MAIN, settings, "module" if is_module else "script", *target]


def _is_this_python(command: str) -> bool:
    found = shutil.which(command)
    if found is None or not Path(found).name.startswith("python"):
        return False
    return Path(found).absolute().parent == Path(sys.executable).absolute().parent
