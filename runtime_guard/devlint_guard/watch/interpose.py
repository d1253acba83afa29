"""The fast path: stands in for `nn.Module.__call__` while a guard is active, and says when devices differ.

`nn.Module.__call__` is `_wrapped_call_impl`, which only chooses between a compiled and the plain `_call_impl`. The
function here makes that choice itself instead of calling it, so that it costs no Python frame. If other code has
replaced `__call__` before, the function calls that replacement.

It keeps no state, and Dynamo takes it for PyTorch's own: a compiled region contains no code of the guard, and the start
or end of a guard causes no compilation. Modules with hooks are an exception, because Dynamo traces their whole
`__call__`. So the fast path has no closure, and reads no changing value in sight of Dynamo.
"""

from __future__ import annotations

import functools
import sys
import threading
import types
from collections.abc import Callable, Container
from typing import Any, Protocol

import torch
from torch import Tensor
from torch._C import DisableTorchFunction
from torch.compiler import is_compiling, is_dynamo_compiling
from torch.nn import Module, Parameter
from torch.nn.utils.rnn import PackedSequence

from devlint_guard.program.uncompiled import uncompiled
from devlint_guard.watch.entry import COMPARED

Call = Callable[..., Any]

Runner = Callable[[Call], Any]
"""Makes a call of a module with the arguments that it knows; returns the result."""


class _Listener(Protocol):
    """Is told what the fast path notices, and looks everything up again: names and paths are no concern of it."""

    def entered(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Runner | None: ...
    def failed(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> None: ...
    def called(self, module: Module) -> None: ...


_CONTAINERS = frozenset({list, tuple, dict, PackedSequence})

_PLAIN: Call = Module._wrapped_call_impl
"""The `Module.__call__` that the fast path does all the work of."""

_function_modes: Callable[[], int] = torch._C._len_torch_function_stack
"""How many function modes this thread has."""

_listener: _Listener | None = None
_installed: Call | None = None
_original: Call | None = None
_calls = threading.local()


class Resting:
    """Modules in training, by identity, whose tensors are not compared for now; none when a fast path is installed."""

    modules: Container[int] = frozenset()


resting = Resting()


def install(
    listener: _Listener, compared: Container[type], *, counting: bool = False, with_rests: bool = False
) -> None:
    """Puts the fast path in the place of `nn.Module.__call__`, or exchanges it for one with other options.

    Args:
        compared: the classes of modules whose tensors are compared on entry.
        counting: tell the listener of calls too.
        with_rests: ask `resting` which modules are not to be compared; only where calls are not counted.
    """
    global _listener, _installed, _original
    if Module.__call__ is not _installed or _original is None:
        uninstall()
        _original = Module.__call__
    _listener, resting.modules = listener, frozenset()
    rests = resting if with_rests and not counting and _original is _PLAIN else None
    before, _installed = Module.__call__, _variant(_original, compared, counting, rests)
    if before is not _installed:  # or Python would forget what it knows of all classes of modules
        _put(_installed)
        _tell_dynamo(before, _installed)


def uninstall() -> None:
    """Restores the original function. Where another library wraps the fast path by now, it stays, and tells nobody."""
    global _listener, _installed, _original
    _listener, resting.modules = None, frozenset()
    if _installed is None or _original is None:
        return
    if Module.__call__ is _installed:
        _put(_original)
    _tell_dynamo(_installed, _original)
    if _original is not _PLAIN:  # what belongs to another library is not kept
        for key in [key for key in _variants if key[0] == id(_original)]:
            del _variants[key]
    _installed = _original = None


def _put(call: Call) -> None:
    """PyTorch's own has two names, and pickle finds a function by the one that it was defined with."""
    Module.__call__ = call  # type: ignore[method-assign]
    if _original is _PLAIN:
        Module._wrapped_call_impl = call  # type: ignore[method-assign]


def _tell_dynamo(before: Call, after: Call) -> None:
    """Dynamo inlines `forward` directly if it takes `__call__` for the unpatched one."""
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        source = sys.modules.get(name)
        if getattr(source, "unpatched_nn_module_call", None) is before:
            source.unpatched_nn_module_call = after  # type: ignore[union-attr]


_variants: dict[tuple[int, int, bool, bool], Call] = {}


def _variant(original: Call, compared: Container[type], counts: bool, rests: Resting | None) -> Call:
    """The fast path with other values for the constants below; one function for each, which Dynamo knows again.

    It has no `__name__` among its globals, so that Dynamo looks for them in it and not in this module. In all other
    respects it equals the original.
    """
    key = id(original), id(compared), counts, rests is not None
    if key not in _variants:
        assert isinstance(_guarded_call, types.FunctionType)
        known = {
            **globals(),
            "_compared": compared,
            "_original_call": original,
            "_wraps": original is not _PLAIN,
            "_counts": counts,
            "_rests": rests,
        }
        del known["__name__"]
        call = types.FunctionType(_guarded_call.__code__.replace(), known, _guarded_call.__name__)
        _variants[key] = functools.update_wrapper(call, original)
    return _variants[key]


# The constants of the fast path: each variant has its own.
_compared: Container[type] = COMPARED
_original_call: Call = Module.__call__
_wraps = False
"""Whether there is more in `_original_call` than the fast path does itself."""
_counts = False
"""Whether the listener is told of calls that no other module makes."""
_rests: Resting | None = None
"""Tells which modules are not to be compared."""


def _guarded_call(self: Module, *args: Any, **kwargs: Any) -> Any:
    # It is one function, so that each call takes as many frames as without a guard. To Dynamo `is_compiling` is a
    # constant: what it compiles never rests on `_calls` and `_rests`, which change.
    is_outermost = _counts and not is_compiling() and not getattr(_calls, "inside", False)
    try:
        if is_outermost:
            _calls.inside = True
            _called(self)
        if (
            type(self) in _compared
            and not (_rests is not None and self.training and not is_dynamo_compiling() and id(self) in _rests.modules)
            and _are_apart(self, args, kwargs)
        ):
            run = _entered(self, args, kwargs)
            if run is not None:
                is_original = _wraps or self._compiled_call_impl is not None
                return run(functools.partial(_original_call, self) if is_original else self._call_impl)
        if _wraps or self._compiled_call_impl is not None:
            return _original_call(self, *args, **kwargs)
        return self._call_impl(*args, **kwargs)  # type: ignore[no-untyped-call]
    except Exception as error:
        _failed(self, args, kwargs, error)
        raise
    finally:
        if is_outermost:
            _calls.inside = False


def _are_apart(self: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the tensors of a module and its arguments may not all be on one device."""
    if not is_dynamo_compiling() and _function_modes():
        # Reading a device is a call that a function mode of the program would see.
        with DisableTorchFunction():
            return _differ(self, args, kwargs)
    return _differ(self, args, kwargs)


def _differ(self: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    device = None
    tensor: Tensor | None
    for tensor in self._parameters.values():
        if tensor is not None:
            if device is None:
                device = tensor.device
            elif tensor.device != device:
                return True
    if device is None and self._buffers:
        for tensor in self._buffers.values():
            if tensor is not None:
                device = tensor.device
                break
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind is Tensor or kind is Parameter:
            if device is None:
                device = value.device
            elif value.device != device:
                return True
        elif kind in _CONTAINERS and _differs(value, device):
            return True
    return False


def _differs(container: Any, device: Any) -> bool:
    """Whether a container holds a tensor on another device, or any tensor if no device is known yet."""
    for value in container.values() if type(container) is dict else container:
        if isinstance(value, Tensor):
            if value.device != device:
                return True
        elif type(value) in _CONTAINERS and _differs(value, device):
            return True
    return False


@uncompiled
def _entered(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Runner | None:
    return None if _listener is None else _listener.entered(module, args, kwargs)


@uncompiled
def _failed(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> None:
    if _listener is not None:
        _listener.failed(module, args, kwargs, error)


@uncompiled
def _called(module: Module) -> None:
    if _listener is not None:
        _listener.called(module)
