"""A rehearsal: a program runs on the CPU as if the machine had devices of one type.

    with rehearse(devices=2):
        net = Net().cuda()
        net(torch.ones(3))  # raises what PyTorch would raise on a machine with two GPUs

All tensors are plain tensors on the CPU. Each storage has a label that says where it would be (`labels`). A dispatch
mode compares the labels of an operator's tensors by PyTorch's own rules before the operator runs, and labels what the
operator makes (`operators`, with `plans` and `checks`). What a program asks `torch.cuda` is answered for a pretended
machine (`machine`, `device_api`). Types of devices differ little (`kinds`, `mps`). There is no native code, and no tie
to one build of torch.

    x = torch.ones(2)          aten.ones, called by the program: its storage has no label, and is on the CPU
    y = x.cuda()               a copy, whose storage gets the label cuda:0
    z = y[0]                   a view: the same storage, so the same label
    x + y                      aten.add.Tensor is ELEMENTWISE, the labels are cpu and cuda:0: it raises

A rehearsal knows what the linter guesses, on the one path that runs. It lists in `unjudged` the places that it could
not judge.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Iterator
from typing import Final

import torch

from devlint_guard.errors import GuardUsageError
from devlint_guard.rehearsal.kinds import KINDS

_PARTS: Final = (
    "device_api",
    "tensors",
    "types_of_torch",
    "calls",
    "composites",
    "gradients",
    "autocast",
    "storages",
    "scripts",
    "distributed",
    "fake_tensors",
    "children",
    "progress",
)
"""The modules that replace something of torch or of Python, each by its function `install`."""

_is_running = False


def available() -> str:
    """Return why the installed torch cannot rehearse, or an empty text."""
    if importlib.util.find_spec("torchgen") is None:
        return "this torch comes without torchgen, whose table says which operators compare devices"
    for name in ("_storage_address", "_has_storage"):
        if not hasattr(torch._C, name):
            return f"this torch has no torch._C.{name}"
    return ""


@contextlib.contextmanager
def rehearse(devices: int = 1, device_type: str = "cuda", *, from_beginning: bool = False) -> Iterator[None]:
    """While the body runs, the machine has so many devices of a type; afterwards torch is as it was.

    Tensors that were labelled are plain CPU tensors afterwards.

    Args:
        devices: how many devices there are; 0 is a build of torch for such devices on a machine without any.
        device_type: the type of the devices, `cuda`, `mps` or `xpu`; torch is built for no other type.
        from_beginning: nothing of the program is imported before, so that it has no function of torch as it was. The
            dispatch mode is then out while all tensors are on the CPU.

    Raises:
        GuardUsageError: there is no such type, the number is out of range, the installed torch lacks something that a
            rehearsal needs, or a rehearsal is running already.
    """
    global _is_running
    kind = KINDS.get(device_type)
    if kind is None:
        raise GuardUsageError(
            f"devices of the type {device_type} cannot be rehearsed, only those of {', '.join(KINDS)}"
        )
    if not 0 <= devices <= kind.most:
        raise GuardUsageError(f"a rehearsal has 0 to {kind.most} devices of the type {kind.name}, and not {devices}")
    if _is_running:
        raise GuardUsageError("a rehearsal is running already")
    missing = available()
    if missing:
        raise GuardUsageError(f"a rehearsal is not possible here: {missing}")

    from devlint_guard.program.replacements import Replacements
    from devlint_guard.record import installed
    from devlint_guard.rehearsal import aside, generators, labels, machine, operators
    from devlint_guard.rehearsal.unjudged import JOURNAL, UNJUDGED

    replaced, recording = Replacements(), contextlib.ExitStack()
    _is_running = True
    if not JOURNAL.path:
        JOURNAL.begin()
    UNJUDGED.forget()
    machine.begin(kind, devices)
    try:
        for name in _PARTS:
            importlib.import_module(f"{__name__}.{name}").install(replaced)
        recording.enter_context(installed.recording())
        mode = operators.RehearsalMode()  # type: ignore[no-untyped-call]
        with aside.ASIDE.around(mode) if from_beginning and aside.is_main_thread() else mode:
            yield
    finally:
        recording.close()
        replaced.undo()
        labels.forget()
        generators.forget()
        JOURNAL.end()
        machine.begin(kind, 0)
        _is_running = False
