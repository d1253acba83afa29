"""Calls of the program that a dispatch mode alone cannot understand.

Factories are marked as the program's own. `torch.tensor` and its like make a tensor on the CPU and then move it. Some
composite functions compare devices in C++ before any operator is dispatched, and are checked here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._device import _device_constructors

from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.dispatch import MARKS, marked
from devlint_guard.rehearsal.labels import CPU, label, pin, put, seen_device
from devlint_guard.rehearsal.machine import resolve
from devlint_guard.rehearsal.replacements import Replacements
from devlint_guard.rehearsal.tensors import to

_FROM_DATA = ("tensor", "as_tensor", "asarray")
_LIKE = (
    "empty_like",
    "full_like",
    "ones_like",
    "rand_like",
    "randint_like",
    "randn_like",
    "zeros_like",
)
_NEW = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros")
_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def install(replaced: Replacements) -> None:
    """Replace the functions of `torch`."""
    constructors = _device_constructors()
    for module in (torch, torch.fft):
        for name, value in list(vars(module).items()):
            if callable(value) and value in constructors and name not in _FROM_DATA:
                _replace(replaced, module, name, _marking(value))
    for name in _LIKE:
        _replace(replaced, torch, name, _marking(getattr(torch, name)))
    for name in _NEW:
        replaced.put(Tensor, name, _marking(getattr(torch._C.TensorBase, name)))
    for name in _FROM_DATA:
        _replace(replaced, torch, name, _from_data(getattr(torch, name), is_copy=name == "tensor"))
    for name in _RECURRENT:
        checked = _checking_recurrent(getattr(torch, name))
        _replace(replaced, torch, name, checked)
        replaced.add(torch._VF, name, checked)
    _replace(replaced, torch, "ctc_loss", _with_numbers(torch.ctc_loss))
    _replace(replaced, torch, "from_dlpack", _sharing(torch.from_dlpack))
    replaced.put(torch._C._nn, "_parse_to", _parsing(torch._C._nn._parse_to))


def _replace(replaced: Replacements, module: Any, name: str, function: Callable[..., Any]) -> None:
    """Replace a function of a module, in the table of TorchScript too, which knows functions by identity."""
    original = getattr(module, name)
    table = torch.jit._builtins._get_builtin_table()  # type: ignore[no-untyped-call]
    replaced.put(module, name, function)
    if id(original) in table:
        table[id(function)] = table[id(original)]


def _marking(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if type(kwargs.get("device")) is int:
            kwargs["device"] = torch.device("cuda", kwargs["device"])
        before, MARKS.is_marked = MARKS.is_marked, True
        try:
            made = function(*args, **kwargs)
        finally:
            MARKS.is_marked = before
        if kwargs.get("pin_memory") and isinstance(made, Tensor):
            if label(made).type == "cuda":
                words.refuse("Only dense CPU tensors can be pinned")
            pin(made)
        return made

    return called


def _from_data(function: Callable[..., Any], *, is_copy: bool) -> Callable[..., Any]:
    """Return a function that makes a tensor of data on the CPU, and moves it to where it was asked for."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        kwargs = dict(kwargs)
        device = kwargs.pop("device", None)
        wants_grad = kwargs.pop("requires_grad", False)
        if type(device) is int:
            device = torch.device("cuda", device)
        if device is None and not _is_tensor(args):
            device = _default_device()
        if device is not None and torch.device(device).type not in ("cpu", "cuda"):
            return function(*args, device=device, requires_grad=wants_grad, **kwargs)
        target = None if device is None else resolve(device)
        if is_copy and _is_tensor(args):
            target = label(args[0]) if target is None else target
        with marked(), torch._C.DisableTorchFunction():
            made = function(*args, **kwargs)
        if target is not None and label(made) != target:
            with torch.set_grad_enabled(torch.is_grad_enabled() and not is_copy):
                made = to(made, target)
        return made.requires_grad_() if wants_grad else made

    return called


def _sharing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `from_dlpack`, whose result shares memory with a tensor and so has its device."""

    @functools.wraps(function)
    def called(ext_tensor: Any, **kwargs: Any) -> Any:
        made = function(ext_tensor, **kwargs)
        return put(made, label(ext_tensor)) if isinstance(ext_tensor, Tensor) else made

    return called


def _parsing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what reads the arguments of `Module.to`; a tensor or a number among them means its device."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if _is_tensor(args):
            args = (seen_device(args[0]), args[0].dtype, *args[1:])
        elif args and type(args[0]) is int:
            args = (torch.device("cuda", args[0]), *args[1:])
        if isinstance(kwargs.get("tensor"), Tensor):
            given = kwargs.pop("tensor")
            args = (seen_device(given), given.dtype, *args)
        if type(kwargs.get("device")) is int:
            kwargs["device"] = torch.device("cuda", kwargs["device"])
        return function(*args, **kwargs)

    return called


def _is_tensor(args: tuple[Any, ...]) -> bool:
    return bool(args) and isinstance(args[0], Tensor)


def _default_device() -> torch.device | None:
    """Return the device that a scope gives to factories; None where no scope does."""
    return seen_device(torch.empty(0)) if torch._C._len_torch_function_stack() else None


# --- checks of composite functions ---------------------------------------------------------------------------


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)


def _checking_recurrent(function: Callable[..., Any]) -> Callable[..., Any]:
    """Follow RNN.cpp, check_attributes, and the check of packed sequences before."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 3:
            is_packed = isinstance(args[3], (list, tuple))
            data, hidden, weights = args[0], args[2 if is_packed else 1], args[3 if is_packed else 2]
            own = label(data)
            for what, group in (("hidden", hidden), ("parameter", weights)):
                for one in _tensors(group):
                    if label(one) != own:
                        words.refuse(
                            f"Input and {what} tensors are not at the same device, found input tensor at {own} and "
                            f"{what} tensor at {label(one)}"
                        )
        return function(*args, **kwargs)

    return called


def _with_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Follow LossCTC.cpp: the lengths are read as numbers, wherever they are."""

    @functools.wraps(function)
    def called(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, *args: Any, **kwargs: Any) -> Any:
        lengths = [one.tolist() if isinstance(one, Tensor) else one for one in (input_lengths, target_lengths)]
        if isinstance(targets, Tensor) and label(targets) != label(log_probs) and label(targets) != CPU:
            words.refuse(
                f"Expected tensor to have {label(log_probs)} Device, but got tensor with {label(targets)} Device "
                "(while checking arguments for ctc_loss_gpu)"
            )
        return function(log_probs, targets, *lengths, *args, **kwargs)

    return called
