"""`Kind([1.0])` for a subclass of `Tensor` as it is without a dispatch mode, while one is active.

The constructor computes a tensor and then makes an object of the subclass for it. Under a mode the operators of that
computation have already given the tensor an object of class `Tensor`, and PyTorch refuses a second one
(python_variable.cpp, THPVariable_NewWithVar). So those operators are not shown to the mode.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from devlint_guard import scopes
from devlint_guard.uncompiled import uncompiled

_original: Any = Tensor.__new__


@uncompiled
@functools.wraps(_original)
def _unseen(kind: type[Tensor], *args: Any, **kwargs: Any) -> Any:
    if kind is Tensor or torch.compiler.is_compiling() or not scopes.has_only_moved_modes():
        return _original(kind, *args, **kwargs)
    with scopes.NoModes():
        return _original(kind, *args, **kwargs)


def install() -> None:
    """Puts it in place; again without effect."""
    if Tensor.__new__ is _original:
        Tensor.__new__ = _unseen  # type: ignore[method-assign, assignment]


def uninstall() -> None:
    """Gives `Tensor` back the constructor that it inherits, unless another library has replaced it since."""
    if Tensor.__new__ is _unseen:  # type: ignore[comparison-overlap]
        del Tensor.__new__
