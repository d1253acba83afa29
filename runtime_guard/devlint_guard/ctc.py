"""`torch.ctc_loss` as it is without a dispatch mode, while one is active.

The lengths of `ctc_loss` may be on the CPU: LossCTC.cpp reads them as numbers. Under any dispatch mode it keeps them as
tensors instead, and then fails where the rest is on another device. So they are given to it as numbers.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

_original = torch.ctc_loss


@functools.wraps(_original)
def _with_numbers(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, *args: Any) -> Any:
    lengths = (input_lengths, target_lengths)
    if not torch.compiler.is_compiling() and all(isinstance(one, Tensor) for one in lengths):
        lengths = (input_lengths.tolist(), target_lengths.tolist())
    return _original(log_probs, targets, *lengths, *args)


def install() -> None:
    """Puts it in place; again without effect."""
    if torch.ctc_loss is _original:
        torch.ctc_loss = _with_numbers  # type: ignore[assignment]


def uninstall() -> None:
    """Puts PyTorch's own back, unless another library has replaced it since."""
    if torch.ctc_loss is _with_numbers:
        torch.ctc_loss = _original
