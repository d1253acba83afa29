"""Tensors sent between the devices of one process, as torch/csrc/cuda/comm.cpp does it for DataParallel."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tests.judge.pretended.machine import current_device


def scatter(
    tensor: torch.Tensor,
    devices: Sequence[int],
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: object = None,
) -> tuple[torch.Tensor, ...]:
    """Takes the place of torch._C._scatter."""
    if not devices:
        raise RuntimeError("Expected at least one device to scatter to")
    if chunk_sizes is None:
        chunks = tensor.chunk(len(devices), dim)
    else:
        chunks = tensor.split_with_sizes(list(chunk_sizes), dim)
        if len(chunk_sizes) != len(devices):
            raise RuntimeError(
                "Expected devices and chunk_sizes to be of same length, but got len(devices) = "
                f"{len(devices)} and len(chunk_sizes) = {len(chunk_sizes)}"
            )
    return tuple(_send(chunk, index) for chunk, index in zip(chunks, devices, strict=False))


def _send(chunk: torch.Tensor, index: int) -> torch.Tensor:
    if index < 0:
        raise RuntimeError(f"Expected non-negative device index, but got {index}")
    return chunk.to(torch.device("cuda", index), non_blocking=True, copy=False)


def gather(tensors: Sequence[torch.Tensor], dim: int, destination: int | None = None) -> torch.Tensor:
    """Takes the place of torch._C._gather; destination -1 is the CPU."""
    if not tensors:
        raise RuntimeError("Expected at least one tensor to gather from")
    for position, tensor in enumerate(tensors):
        if not tensor.is_cuda:
            raise RuntimeError(
                "Expected all input tensors to be CUDA tensors, but tensor at index "
                f"{position} has device '{tensor.device}'"
            )
    if destination == -1:
        device = torch.device("cpu")
    else:
        device = torch.device("cuda", current_device() if destination is None else destination)
    return torch.cat([tensor.to(device) for tensor in tensors], dim)


def broadcast(tensor: torch.Tensor, devices: Sequence[int]) -> list[torch.Tensor]:
    """Takes the place of torch._C._broadcast."""
    return [tensor.to(torch.device("cuda", index)) for index in devices]


def broadcast_coalesced(
    tensors: Sequence[torch.Tensor], devices: Sequence[int], buffer_size: int = 0
) -> list[list[torch.Tensor]]:
    """Takes the place of torch._C._broadcast_coalesced: copies of all tensors for each further device."""
    if any(tensor.get_device() != devices[0] for tensor in tensors):
        raise RuntimeError(f"All tensors must be on devices[0]: {devices[0]}")
    copies = [list(tensors)]
    for index in devices[1:]:
        device = torch.device("cuda", index)
        copies.append([tensor.detach().to(device, copy=True) for tensor in tensors])
    return copies
