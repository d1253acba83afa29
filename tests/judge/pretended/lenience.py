"""A machine whose operators, and numpy, take tensors from several devices: it shows what a program was meant to do."""

from __future__ import annotations

from typing import Any

import torch

from tests.judge.pretended.dispatch import register_all
from tests.judge.pretended.machine import MACHINE
from tests.judge.pretended.relabel import to_cpu_label


def be_lenient() -> None:
    """Make this process, in which devices are pretended, lenient; there is no way back."""
    MACHINE.is_lenient = True
    register_all()
    tensor: Any = torch.Tensor
    original_numpy, original_array = tensor.numpy, tensor.__array__

    def numpy(self: Any, **options: Any) -> Any:
        return original_numpy(_on_cpu(self), **options)

    def array(self: Any, *arguments: Any, **options: Any) -> Any:
        return original_array(_on_cpu(self), *arguments, **options)

    tensor.numpy, tensor.__array__ = numpy, array


def _on_cpu(tensor: torch.Tensor) -> torch.Tensor:
    return to_cpu_label(tensor) if tensor.is_cuda and not tensor.requires_grad else tensor
