"""Functions of TorchScript as they are without a dispatch mode, while one is active.

The interpreter of TorchScript takes the text of an error from C++. An error that has come through Python, as it does
under any dispatch mode, has none there: the program would end with `RuntimeError: ` and no text. So the mode does not
see the operators of these functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from devlint_guard import scopes
from devlint_guard.uncompiled import uncompiled

Call = Callable[..., Any]

_KINDS: tuple[Any, ...] = (torch._C.ScriptFunction, torch._C.ScriptMethod)


def _unseen(original: Call) -> Call:
    @uncompiled
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or not scopes.has_only_moved_modes():
            return original(*args, **kwargs)
        with scopes.NoModes():
            return original(*args, **kwargs)

    return call


_ORIGINALS: tuple[Call, ...] = tuple(kind.__call__ for kind in _KINDS)
_UNSEEN = tuple(map(_unseen, _ORIGINALS))


def install() -> None:
    """Puts them in place; again without effect."""
    for kind, original, unseen in zip(_KINDS, _ORIGINALS, _UNSEEN, strict=True):
        if kind.__call__ is original:
            kind.__call__ = unseen


def uninstall() -> None:
    """Puts PyTorch's own back, unless another library has replaced them since."""
    for kind, original, unseen in zip(_KINDS, _ORIGINALS, _UNSEEN, strict=True):
        if kind.__call__ is unseen:
            kind.__call__ = original
