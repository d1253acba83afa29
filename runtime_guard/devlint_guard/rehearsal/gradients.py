"""Gradients: autograd's engine compares devices in C++, where no label is seen.

PyTorch's own backward functions run operator by operator, and each operator is judged. A gradient that a custom
function or a hook of the program returns is compared here.

    class Double(torch.autograd.Function): ...   # its `backward` returns a gradient on the CPU
    Double.apply(x.cuda()).sum().backward()      # refused: the input is on cuda:0
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements, around
from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.aside import ASIDE
from devlint_guard.rehearsal.labels import ANYWHERE, label, put, type_name
from devlint_guard.rehearsal.operators import MARKS, doing
from devlint_guard.rehearsal.tensors import to

_C: Any = torch._C
_autograd: Any = torch.autograd

_Devices = tuple[torch.device | None, ...]


def install(replaced: Replacements) -> None:
    """Check what custom functions and hooks return."""
    function: Any = _autograd.function
    apply = functools.partial(_apply, function.Function.__dict__["apply"])  # a method of a class, in Python or in C
    replaced.put(function.Function, "apply", classmethod(around(function.Function.apply, apply)))
    for name in ("apply", "apply_boxed"):
        if hasattr(function.BackwardCFunction, name):
            replaced.around(function.BackwardCFunction, name, _checking)
    replaced.around(Tensor, "register_hook", _registering)
    # PyTorch's C++ code keeps the hooks of each node of the graph by this function (python_cpp_function.cpp).
    nodes: Any = function._HookMixin
    replaced.put(nodes, "_register_hook", staticmethod(around(nodes._register_hook, _registering)))
    for module in (_autograd, _autograd.graph):
        if hasattr(module, "_engine_run_backward"):
            replaced.around(module, "_engine_run_backward", _run_engine)


def _run_engine(run: Callable[..., Any], outputs: Any, gradients: Any, *args: Any, **kwargs: Any) -> Any:
    """Let functions that the program gives to autograd be the program's, wherever `backward` was called."""
    ASIDE.wake()  # PyTorch puts back afterwards what modes it has found
    _check_start(outputs, gradients)
    with doing(is_marked=False) if MARKS.is_marked else _AS_IT_IS:
        return run(outputs, gradients, *args, **kwargs)


_AS_IT_IS: Any = contextlib.nullcontext()


def _check_start(outputs: Any, gradients: Any) -> None:
    """Follow engine.cpp, validate_outputs: a gradient is where the tensor is that it belongs to."""
    for index, (output, gradient) in enumerate(zip(outputs, gradients or (), strict=False)):
        if isinstance(output, Tensor) and isinstance(gradient, Tensor):
            wanted, found = label(output), label(gradient)
            if wanted != found and gradient.dim() and ANYWHERE not in (wanted, found):
                words.refuse(f"invalid gradient at index {index} - expected device {wanted} but got {found}")


def _apply(apply: Any, bound: Any, cls: Any, *args: Any, **kwargs: Any) -> Any:
    result = apply.__get__(None, cls)(*args, **kwargs)
    outputs = result if isinstance(result, tuple) else (result,)
    node = next((one.grad_fn for one in outputs if isinstance(one, Tensor) and one.grad_fn is not None), None)
    if isinstance(node, _autograd.function.BackwardCFunction) and node._forward_cls is cls:
        node._devlint_devices = (_labels(args), _labels(outputs))
    return result


def _checking(backward: Callable[..., Any], self: Any, *args: Any) -> Any:
    known: tuple[_Devices, _Devices] | None = getattr(self, "_devlint_devices", None)
    if known is None:
        return backward(self, *args)
    inputs, outputs = known
    gradients = args[0] if args and isinstance(args[0], list) else args  # a list: `boxed_grads_call`
    for gradient, wanted in zip(gradients, outputs, strict=False):
        # The engine makes zeros for an output without a gradient.
        if isinstance(gradient, Tensor) and wanted is not None and label(gradient) == ANYWHERE:
            put(gradient, wanted)
    return _check(self, backward(self, *args), inputs)


def _labels(values: Sequence[Any]) -> _Devices:
    return tuple(label(one) if isinstance(one, Tensor) else None for one in values)


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


def _registering(register: Callable[..., Any], owner: Any, hook: Callable[..., Any]) -> Any:
    """Register a hook of a tensor, or of a node of the graph, whose result is checked."""

    @functools.wraps(hook)
    def called(given: Any, *args: Any) -> Any:
        result = hook(given, *args)
        are_tuples = isinstance(given, tuple) and isinstance(result, tuple) and len(given) == len(result)
        for before, after in zip(given, result, strict=True) if are_tuples else ((given, result),):
            _check_hook(hook, before, after)
        return result

    return register(owner, called)


def _check_hook(hook: Callable[..., Any], before: Any, after: Any) -> None:
    """Follow custom_function.cpp, check_variable_result."""
    if not (isinstance(before, Tensor) and isinstance(after, Tensor)):
        return
    own, found = label(before), label(after)
    if own.type != found.type and ANYWHERE not in (own, found):
        name = getattr(hook, "__name__", "")
        words.refuse(f"hook '{name}' has changed the type of value (was {type_name(before)} got {type_name(after)})")
