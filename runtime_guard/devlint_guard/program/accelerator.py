"""What PyTorch says of devices, in words that each supported release understands."""

from __future__ import annotations

import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext


def accelerator() -> torch.device | None:
    """The kind of accelerator that this process has; `torch.accelerator` begins with 2.6, and raises there for none."""
    try:
        kind: torch.device = torch._C._get_accelerator()
    except RuntimeError:
        return None
    return None if kind.type == "cpu" else kind


def default_device() -> torch.device:
    """Where a factory makes a tensor here; `torch.get_default_device` of 2.6 passes `with torch.device(…)` over."""
    modes = reversed(_get_current_function_mode_stack())  # type: ignore[no-untyped-call]
    return next((one.device for one in modes if isinstance(one, DeviceContext)), torch.device("cpu"))
