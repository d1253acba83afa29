"""Whether an exception of a rehearsed program is one that a machine with devices would raise."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final

from devlint_guard.errors import DeviceMismatchError
from devlint_guard.explain.messages import read
from devlint_guard.finding import Finding
from devlint_guard.findings.explanation import annotate, forget_note
from devlint_guard.program.frames import is_installed
from devlint_guard.rehearsal.distributed import uses_own_backend
from devlint_guard.rehearsal.machine import MACHINE
from devlint_guard.rehearsal.unjudged import UNJUDGED

_OF_THE_CPU: Final = (
    "not linked with support for {0.name}|not compiled with {0.key}|from the '{0.key}' backend.* is only available for"
)
"""What a build of torch for the CPU says where PyTorch's own code has left the rehearsal."""

_GUARD: Final = str(Path(__file__).parents[1])

_REFUSING: Final[Mapping[type[Exception], tuple[str, ...]]] = {
    OSError: ("urllib.", "requests.", "huggingface_hub.", "datasets.", "transformers."),
    RuntimeError: ("torchvision.datasets.", "torchaudio.datasets."),
}
"""The installed modules that raise such an error if a download or a data set is not there."""

_PAGE: Final = '"Without the data" on the page about rehearsals'


@contextlib.contextmanager
def stopping() -> Iterator[None]:
    """End the body by `Stopped` at an error of the CPU's code, which a machine with devices would not raise."""
    try:
        yield
    except Exception as error:
        text = str(error)
        is_native = re.search(_OF_THE_CPU.format(MACHINE.kind), text) is not None
        *_, frame = (None, *(frame for frame, _ in traceback.walk_tb(error.__traceback__)))
        if is_native or (uses_own_backend() and "gloo" in text.lower()):
            UNJUDGED.stop(f"this on the CPU ({text.splitlines()[0].partition('. ')[0]})", frame)
        raise


def would_raise(error: BaseException, improve: Callable[[Finding], Finding] = lambda finding: finding) -> bool:
    """Return whether an exception is a device error, which then carries the guard's explanation.

    Its traceback ends where it would end on a machine with devices. The error of a guard within the program counts.

    Args:
        error: the exception.
        improve: returns what is told instead of a finding.
    """
    if isinstance(error, DeviceMismatchError):
        return True
    if read(error) is None:
        return False
    _cut(error.__traceback__)
    forget_note(error)
    annotate(error, improve=improve)
    return True


def show(error: BaseException) -> None:
    """Print the traceback of an exception of the program, and what to do if the program lacks data or a module."""
    error.__traceback__ = from_program(error.__traceback__)
    traceback.print_exception(type(error), error, error.__traceback__)
    need = None if read(error) else _need(error)
    if need:
        advice = "provide it, or rehearse with a stand-in. `--limit-batches` shortens long data. See " + _PAGE
        print(f"devlint: the program needs {need}: {advice}", file=sys.stderr)


def _need(error: BaseException) -> str:
    """Return what a program needs that is not there; empty for an error with another reason."""
    if isinstance(error, ModuleNotFoundError):
        return f"the module `{error.name}`, which is not installed"
    if isinstance(error, FileNotFoundError):
        if not error.filename:
            return "a file, which is not there"
        folder = os.path.dirname(os.fsdecode(error.filename))
        missing = folder if folder and not os.path.exists(folder) else error.filename
        return f"`{os.fsdecode(missing)}`, which is not there"
    *_, frame = (None, *(frame for frame, _ in traceback.walk_tb(error.__traceback__)))
    if frame is not None and is_installed(frame.f_code.co_filename):
        module = f"{frame.f_globals.get('__name__')}."
        sampled = getattr(frame.f_locals.get("self"), "data_source", None)
        refused = any(isinstance(error, kind) and module.startswith(names) for kind, names in _REFUSING.items())
        if refused or (isinstance(error, ValueError) and sampled is not None and not len(sampled)):
            return "data that it cannot get here"
    return "" if error.__cause__ is None else _need(error.__cause__)


def from_program(found: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback that begins with the program's own first frame."""
    first = found
    while first is not None and first.tb_frame.f_code.co_filename.startswith((_GUARD, "<frozen")):
        first = first.tb_next
    return first or found


def _cut(found: TracebackType | None) -> None:
    """Cut off the last frames of a traceback, which a machine with devices would not have."""
    last = found
    while found is not None:
        last = last if found.tb_frame.f_code.co_filename.startswith(_GUARD) else found
        found = found.tb_next
    if last is not None:
        last.tb_next = None
