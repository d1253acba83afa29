"""The C functions with which DataParallel sends tensors between devices (torch/csrc/cuda/comm.cpp)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.kinds import CUDA
from devlint_guard.rehearsal.labels import CPU, label
from devlint_guard.rehearsal.machine import MACHINE, current
from devlint_guard.rehearsal.tensors import move, to


def install(replaced: Replacements) -> None:
    """Replace the functions, which a CPU build lacks. There are none for other devices than those of CUDA."""
    if MACHINE.kind is not CUDA:
        return
    for name, function in {
        "_scatter": _scatter,
        "_gather": _gather,
        "_broadcast": _broadcast,
        "_broadcast_coalesced": _broadcast_coalesced,
    }.items():
        replaced.add(torch._C, name, function)


def _scatter(
    tensor: Tensor, devices: Sequence[int], sizes: Sequence[int] | None = None, dim: int = 0, streams: Any = None
) -> tuple[Tensor, ...]:
    if not devices:
        words.refuse("Expected at least one device to scatter to")
    chunks = tensor.chunk(len(devices), dim) if sizes is None else tensor.split_with_sizes(list(sizes), dim)
    return tuple(to(chunk, index) for chunk, index in zip(chunks, devices, strict=False))


def _gather(tensors: Sequence[Tensor], dim: int, destination: int | None = None) -> Tensor:
    for position, tensor in enumerate(tensors):
        if label(tensor).type != "cuda":
            words.refuse(
                f"Expected all input tensors to be CUDA tensors, but tensor at index {position} has device "
                f"'{label(tensor)}'"
            )
    device = CPU if destination == -1 else torch.device("cuda", current() if destination is None else destination)
    return torch.cat([to(tensor, device) for tensor in tensors], dim)


def _broadcast(tensor: Tensor, devices: Sequence[int]) -> list[Tensor]:
    return [to(tensor, index) for index in devices]


def _broadcast_coalesced(tensors: Sequence[Tensor], devices: Sequence[int], size: int = 0) -> list[list[Tensor]]:
    first = torch.device("cuda", devices[0])
    if any(label(tensor) != first for tensor in tensors):
        words.refuse(f"All tensors must be on devices[0]: {devices[0]}")
    others = [torch.device("cuda", index) for index in devices[1:]]
    return [list(tensors), *([move(tensor.detach(), device) for tensor in tensors] for device in others)]
