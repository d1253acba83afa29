"""The particulars of MPS: the answers of `torch.mps`, and the comparison of devices by kernels.

torchgen writes no comparison into the kernels for MPS: each of them compares by hand, or does not. Each rule follows
the source that it names. If the words of a kernel are not known, the message begins with "PyTorch would refuse".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements
from devlint_guard.record.recorder import RECORD
from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.generators import DEFAULTS
from devlint_guard.rehearsal.kinds import MPS
from devlint_guard.rehearsal.labels import CPU, label, memory_on
from devlint_guard.rehearsal.machine import MACHINE, count, numbered
from devlint_guard.rehearsal.plans import Operand, Plan

_C: Any = torch._C
_MEMORY: Final = 16 << 30


def install(replaced: Replacements) -> None:
    """Replace what `torch.mps` and `torch.backends.mps` ask of the driver."""
    functions: dict[str, Callable[..., Any]] = {
        "is_available": lambda: count() > 0,
        "is_in_bad_fork": lambda: MACHINE.is_bad_fork,
        "get_default_generator": lambda: DEFAULTS[0],
        "recommendedMaxMemory": lambda: _MEMORY,
        "maxBufferLength": lambda: _MEMORY // 2,
        "acquireEvent": lambda enable_timing: 0,
        "queryEvent": lambda event: True,
        "elapsedTimeOfEvents": lambda start, end: 0.1,
    }
    for name in ("currentAllocatedMemory", "driverAllocatedMemory"):
        functions[name] = lambda: memory_on(numbered(0))
    for name in ("deviceSynchronize", "emptyCache", "setMemoryFraction", "profilerStartTrace", "profilerStopTrace"):
        functions[name] = lambda *args: None
    for name in ("releaseEvent", "recordEvent", "waitForEvent", "synchronizeEvent"):
        functions[name] = lambda event: None
    for name, function in functions.items():
        replaced.add(_C, f"_mps_{name}", function)
    replaced.put(_C, "_has_mps", True)
    replaced.put(torch.mps, "_is_in_bad_fork", functions["is_in_bad_fork"])
    replaced.put(torch.mps, "_default_mps_generator", None)
    answers: dict[str, Callable[..., Any]] = {
        "is_available": functions["is_available"],
        "is_macos_or_newer": lambda major, minor: (major, minor) <= (15, 0),
        "is_macos13_or_newer": lambda minor=0: True,
        "get_name": lambda: "Pretended GPU",
        "get_core_count": lambda: 10,
    }
    for name, function in answers.items():  # PyTorch's own keep their first answer
        replaced.add(torch.backends.mps, name, function)


def check_kernel(plan: Plan) -> None:
    """Refuse an operator without a kernel for MPS, unless the program lets the CPU stand in for it (MPSFallback.mm)."""
    if plan.is_missing_on_mps and os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK", "0") == "0":
        raise words.no_kernel(plan.name, MPS)


_SAME_GPU: Final = "Tensor for argument {} is on CPU, but expected it to be on GPU (while checking arguments for mm)"
_WORDS: Final = {
    ("mm", "self"): _SAME_GPU.format("#1 'mat1'"),
    ("mm", "mat2"): _SAME_GPU.format("#2 'mat2'"),
    ("bmm", "self"): "Placeholder storage has not been allocated on MPS device!",
    ("bmm", "mat2"): "Placeholder storage has not been allocated on MPS device!",
    ("index_select", "index"): "Passed CPU tensor to MPS op",
    ("embedding", "indices"): "Passed CPU tensor to MPS op",
}
"""What a kernel says of a tensor on the CPU, by the names of the operator and of the argument (LinearAlgebra.mm with
TensorUtils.cpp, OperationUtils.mm, OperationUtils.h)."""


def refuse(plan: Plan, operands: Sequence[Operand]) -> None:
    """Raise what the kernel of an operator raises for the first tensor on the CPU, if its words are known."""
    astray = next((one.argument for one in operands if one.device == CPU), "")
    if (plan.base, astray) in _WORDS:
        words.refuse(_WORDS[plan.base, astray])


def check_linear(tensors: Sequence[Tensor | None]) -> None:
    """Follow Linear.mm, _mps_linear, for an input, a weight and a bias."""
    devices = [label(one) for one in tensors if one is not None]
    if any(one.type == MPS.name for one in devices):
        for name, device in zip(("input", "weight", "bias"), devices, strict=False):
            if device == CPU:
                RECORD.refused = [one for one in tensors if one is not None]
                words.refuse(f"Tensor for argument {name} is on {device} but expected on mps")
