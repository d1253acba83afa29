"""Tensors that are printed: PyTorch brings them to the CPU with all dispatch modes switched off.

`repr` calls `torch._tensor_str._str` by its name in that module, so that it can be stood in for while a ledger counts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._C import DisableTorchFunction

from devlint_guard.program.undisturbed import Undisturbed

Told = Callable[[Tensor], None]

_told: list[Told] = []
_original: Any = None


def follow(told: Told) -> None:
    """Tells of each tensor on a device that is printed, until `leave` is called."""
    global _original
    if not _told:
        _original = torch._tensor_str._str
        setattr(torch._tensor_str, "_str", functools.wraps(_original)(_printed))  # noqa: B010
    _told.append(told)


def leave(told: Told) -> None:
    """Puts back PyTorch's own function once nobody listens; where another library has wrapped this one, it stays."""
    if told in _told:
        _told.remove(told)
        if not _told and getattr(torch._tensor_str._str, "__wrapped__", None) is _original:
            setattr(torch._tensor_str, "_str", _original)  # noqa: B010


def _printed(tensor: Tensor, *args: Any, **kwargs: Any) -> str:
    with Undisturbed(None), DisableTorchFunction():
        if tensor.device.type not in ("cpu", "meta"):
            for told in _told:
                told(tensor)
    text: str = _original(tensor, *args, **kwargs)
    return text
