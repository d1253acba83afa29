"""Calls of the program that a dispatch mode alone cannot understand.

Factories are marked as the program's own. `torch.tensor` and its like make a tensor on the CPU and then move it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._device import _device_constructors

from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.dispatch import MARKS, marked
from devlint_guard.rehearsal.labels import label, pin, put, seen_device
from devlint_guard.rehearsal.machine import resolve
from devlint_guard.rehearsal.replacements import Replacements
from devlint_guard.rehearsal.tensors import to

_torch: Any = torch

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


def install(replaced: Replacements) -> None:
    """Replace the functions of `torch`."""
    constructors = _device_constructors()
    for module in (torch, torch.fft):
        for name, value in list(vars(module).items()):
            if callable(value) and value in constructors and name not in _FROM_DATA:
                replace_function(replaced, module, name, _marking(value))
    for name in _LIKE:
        replace_function(replaced, torch, name, _marking(getattr(torch, name)))
    for name in _NEW:
        replaced.put(Tensor, name, _marking(getattr(torch._C.TensorBase, name)))
    for name in _FROM_DATA:
        replace_function(replaced, torch, name, _from_data(getattr(torch, name), is_copy=name == "tensor"))
    replace_function(replaced, torch, "from_dlpack", _sharing(_torch.from_dlpack))
    replaced.put(torch._C._nn, "_parse_to", _parsing(torch._C._nn._parse_to))


def replace_function(replaced: Replacements, module: Any, name: str, function: Callable[..., Any]) -> None:
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
