"""Whether all tensors are on the CPU, and where a dispatch mode can leave then: at the next line of the user.

PyTorch's way into Python costs each operator 18 µs, whatever the mode does there. A mode cannot leave while it runs an
operator, so it leaves at the next line of the user, and any tracer of the user's keeps it in.
"""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

import torch
from torch import Tensor

from devlint_guard.program.accelerator import accelerator
from devlint_guard.program.frames import user_frame

LONG: Final = 1_000
"""So many operators in turn, with tensors on the CPU alone, let a mode step aside."""


def all_tensors() -> Iterator[Any]:
    """All tensors that Python knows; a process that has frozen its objects (`gc.freeze`) has more."""
    known: list[Any] = gc.get_objects()
    return itertools.compress(known, map(frozenset(_kinds(Tensor)).__contains__, map(type, known)))


def _kinds(kind: Any) -> Iterator[Any]:
    yield kind
    for one in kind.__subclasses__():
        yield from _kinds(one)


def are_all_on_cpu() -> bool:
    """Whether nothing has used a device so far."""
    found = accelerator()
    cuda: Any = torch.cuda
    if gc.get_freeze_count() or cuda.is_initialized() or (found is not None and found.type != "cuda"):
        return False
    with torch._C.DisableTorchFunction():
        return all(type(one) in (Tensor, torch.nn.Parameter) and one.is_cpu for one in all_tensors())


def at_next_line(act: Callable[[], object]) -> None:
    """Calls a function once before the user's next line in this thread; never if there is none, or a tracer is set."""
    frame = user_frame(sys._getframe(1))
    if frame is None or sys.gettrace() is not None:
        return

    def line(frame: FrameType, event: str, argument: Any) -> None:
        frame.f_trace = None
        sys.settrace(None)
        act()

    frame.f_trace = line
    sys.settrace(lambda frame, event, argument: None)
