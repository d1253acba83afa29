"""The types of devices that a rehearsal pretends, and what differs between their machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch


@dataclass(frozen=True, slots=True)
class Kind:
    """One type of devices.

    Attributes:
        name: its name in PyTorch, such as `cuda`; `torch` has a module of this name.
        number: its number in PyTorch (c10/core/DeviceType.h).
        most: how many devices a machine can have.
        mask: the environment variable that hides devices from the driver; empty if there is none.
        backend: the backend of process groups that is for these devices alone; empty if there is none.
        refused: the types of numbers that no tensor on these devices has.
    """

    name: str
    number: int
    most: int = 64
    mask: str = ""
    backend: str = ""
    refused: frozenset[torch.dtype] = frozenset()

    @property
    def key(self) -> str:
        """The name of its dispatch key, which messages name."""
        return self.name.upper()


CUDA: Final = Kind("cuda", 1, mask="CUDA_VISIBLE_DEVICES", backend="nccl")
MPS: Final = Kind("mps", 13, most=1, refused=frozenset({torch.float64}))
XPU: Final = Kind("xpu", 12, mask="ZE_AFFINITY_MASK", backend="xccl")

KINDS: Final = {one.name: one for one in (CUDA, MPS, XPU)}
