"""Gradients: autograd's engine compares devices in C++, where no label is seen.

PyTorch's own backward functions run operator by operator, and each operator is judged. A gradient that a custom
function or a hook of the program returns is compared here.

    class Double(torch.autograd.Function): ...   # its `backward` returns a gradient on the CPU
    Double.apply(x.cuda()).sum().backward()      # refused: the input is on cuda:0
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements
from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.labels import ANYWHERE, label, put, type_name
from devlint_guard.rehearsal.tensors import to

_C: Any = torch._C
_autograd: Any = torch.autograd

_Devices = tuple[torch.device | None, ...]


def install(replaced: Replacements) -> None:
    """Check what custom functions and hooks return."""
    _install_functions(replaced)
    tensor: Any = Tensor
    replaced.put(tensor, "register_hook", _registering(tensor.register_hook))
    # PyTorch's C++ code keeps the hooks of each node of the graph by this function (python_cpp_function.cpp).
    nodes: Any = _autograd.function._HookMixin
    replaced.put(nodes, "_register_hook", staticmethod(_registering(nodes._register_hook)))


# --- custom functions -----------------------------------------------------------------------------------------


def _install_functions(replaced: Replacements) -> None:
    function: Any = _autograd.function
    apply = function.Function.__dict__["apply"]  # a method of a class, in Python or in C

    @functools.wraps(function.Function.apply)
    def remembering(cls: Any, *args: Any, **kwargs: Any) -> Any:
        result = apply.__get__(None, cls)(*args, **kwargs)
        node = _node_of(result)
        if isinstance(node, function.BackwardCFunction) and node._forward_cls is cls:
            outputs = result if isinstance(result, tuple) else (result,)
            node._devlint_devices = (_labels(args), _labels(outputs))
        return result

    replaced.put(function.Function, "apply", classmethod(remembering))
    for name in ("apply", "apply_boxed"):
        if hasattr(function.BackwardCFunction, name):
            replaced.put(function.BackwardCFunction, name, _checking(getattr(function.BackwardCFunction, name)))


def _checking(backward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(backward)
    def checked(self: Any, *args: Any) -> Any:
        known: tuple[_Devices, _Devices] | None = getattr(self, "_devlint_devices", None)
        if known is None:
            return backward(self, *args)
        inputs, outputs = known
        _place(args[0] if args and isinstance(args[0], list) else args, outputs)  # a list: `boxed_grads_call`
        return _check(self, backward(self, *args), inputs)

    return checked


def _place(gradients: Sequence[Any], outputs: _Devices) -> None:
    """Give each gradient that C++ made the device of its output: the engine makes zeros for an output without one."""
    for gradient, wanted in zip(gradients, outputs, strict=False):
        if isinstance(gradient, Tensor) and wanted is not None and label(gradient) == ANYWHERE:
            put(gradient, wanted)


def _labels(values: Sequence[Any]) -> _Devices:
    return tuple(label(one) if isinstance(one, Tensor) else None for one in values)


def _node_of(result: Any) -> Any:
    for one in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(one, Tensor) and one.grad_fn is not None:
            return one.grad_fn
    return None


def _check(node: Any, result: Any, devices: _Devices) -> Any:
    """Follow engine.cpp, validate_outputs: a gradient is on the device of its input, and one number is moved there."""
    is_one = not isinstance(result, tuple)
    gradients = [result] if is_one else list(result)
    needed = node.needs_input_grad
    for index, (wanted, gradient) in enumerate(zip(devices, gradients, strict=False)):
        if wanted is None or not isinstance(gradient, Tensor) or not (index < len(needed) and needed[index]):
            continue
        found = label(gradient)
        if found == wanted or ANYWHERE in (found, wanted):
            continue
        if gradient.dim():
            words.refuse(
                f"Function {type(node).__name__} returned an invalid gradient at index {index} - expected device "
                f"{wanted} but got {found}"
            )
        gradients[index] = to(gradient, wanted)
    return gradients[0] if is_one else tuple(gradients)


# --- hooks ----------------------------------------------------------------------------------------------------


def _registering(register: Callable[..., Any]) -> Callable[..., Any]:
    """Return what registers a hook of a tensor, or of a node of the graph, whose result is checked."""

    @functools.wraps(register)
    def register_hook(owner: Any, hook: Callable[..., Any]) -> Any:
        @functools.wraps(hook)
        def called(given: Any, *args: Any) -> Any:
            result = hook(given, *args)
            for before, after in _pairs(given, result):
                _check_hook(hook, before, after)
            return result

        return register(owner, called)

    return register_hook


def _pairs(given: Any, result: Any) -> Iterator[tuple[Any, Any]]:
    if not (isinstance(given, tuple) and isinstance(result, tuple)):
        yield given, result
    elif len(given) == len(result):  # PyTorch compares the lengths first
        yield from zip(given, result, strict=True)


def _check_hook(hook: Callable[..., Any], before: Any, after: Any) -> None:
    """Follow custom_function.cpp, check_variable_result."""
    if not (isinstance(before, Tensor) and isinstance(after, Tensor)):
        return
    own, found = label(before), label(after)
    if own.type != found.type and ANYWHERE not in (own, found):
        name = getattr(hook, "__name__", "")
        words.refuse(f"hook '{name}' has changed the type of value (was {type_name(before)} got {type_name(after)})")
