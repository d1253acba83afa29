"""Functions of PyTorch as they are without a dispatch mode, while one is active.

* The lengths of `torch.ctc_loss` may be on the CPU: LossCTC.cpp reads them as numbers. Under any dispatch mode it keeps
  them as tensors instead, and then fails where the rest is on another device. So they are given to it as numbers.
* `Kind([1.0])` for a subclass of `Tensor` computes a tensor and then makes an object of the subclass for it. Under a
  mode the operators of that computation have already given the tensor an object of class `Tensor`, and PyTorch refuses
  a second one (python_variable.cpp, THPVariable_NewWithVar). So those operators are not shown to the mode. In torch 2.4
  the same holds for `as_subclass`.
* The interpreter of TorchScript takes the text of an error from C++. An error that has come through Python, as it does
  under any dispatch mode, has none there: the program would end with `RuntimeError: ` and no text. So the mode does not
  see the operators of its functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements
from devlint_guard.program.uncompiled import uncompiled
from devlint_guard.requirement import is_full
from devlint_guard.watch import scopes

_ctc_loss = torch.ctc_loss


@functools.wraps(_ctc_loss)
def _with_numbers(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, *args: Any) -> Any:
    lengths = (input_lengths, target_lengths)
    if not torch.compiler.is_compiling() and all(isinstance(one, Tensor) for one in lengths):
        lengths = (input_lengths.tolist(), target_lengths.tolist())
    return _ctc_loss(log_probs, targets, *lengths, *args)


def _unseen(original: Callable[..., Any]) -> Callable[..., Any]:
    @uncompiled
    @functools.wraps(original)
    def call(first: Any, /, *args: Any, **kwargs: Any) -> Any:
        if first is Tensor or torch.compiler.is_compiling() or not scopes.has_only_moved_modes():
            return original(first, *args, **kwargs)
        with scopes.NoModes():
            return original(first, *args, **kwargs)

    return call


_UNSEEN: tuple[tuple[Any, str], ...] = (
    (Tensor, "__new__"),
    (torch._C.ScriptFunction, "__call__"),
    (torch._C.ScriptMethod, "__call__"),
    *(() if is_full() else ((Tensor, "as_subclass"),)),
)
_REPLACED: tuple[tuple[Any, str, Any, Any], ...] = (
    (torch, "ctc_loss", _ctc_loss, _with_numbers),
    *((owner, name, getattr(owner, name), _unseen(getattr(owner, name))) for owner, name in _UNSEEN),
)


_replaced = Replacements(is_shared=True)


def install() -> None:
    """Puts them in place; again without effect."""
    for owner, name, original, ours in _REPLACED:
        if getattr(owner, name) is original:
            _replaced.put(owner, name, ours)


def uninstall() -> None:
    """Puts PyTorch's own back, unless another library has replaced them since."""
    _replaced.undo()
