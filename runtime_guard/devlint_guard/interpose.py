"""The fast path: stands in for `nn.Module.__call__` while a guard is active, and says when devices differ.

`nn.Module.__call__` is `_wrapped_call_impl`, which only chooses between a compiled and the plain `_call_impl`. The
function here makes that choice itself instead of calling it, so that it costs no Python frame of its own; where
something else has replaced `__call__` before, it calls what it found.

It keeps no state, and Dynamo is told to take it for PyTorch's own: inside a compiled region nothing of the guard is
traced, and nothing is compiled again when a guard begins or ends. Modules with hooks are an exception, of which Dynamo
traces the whole of `__call__`: so the fast path has no closure, and reads nothing that changes where Dynamo sees it.
"""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Container
from typing import Any, Protocol

from torch import Tensor
from torch.compiler import is_compiling, is_dynamo_compiling
from torch.nn import Module, Parameter
from torch.nn.utils.rnn import PackedSequence

from devlint_guard.entry import COMPARED

Call = Callable[..., Any]


class Listener(Protocol):
    """Is told what the fast path notices, and looks everything up again: names and paths are no concern of it."""

    def entered(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The tensors of a module and its arguments may not all be on one device; raising prevents the call."""

    def failed(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> None:
        """A call raised; the error goes on its way afterwards."""

    def called(self, module: Module) -> None:
        """A module is called that no other module has called; told only where calls are counted."""


_CONTAINERS = frozenset({list, tuple, dict, PackedSequence})

_listener: Listener | None = None
_installed: Call | None = None
_original: Call | None = None
_calls = threading.local()

resting: Container[int] = frozenset()
"""Modules in training, by identity, whose tensors are not compared for now; none when a fast path is installed."""


def install(listener: Listener, compared: Container[type], *, counting: bool = False, with_rests: bool = False) -> None:
    """Puts the fast path in the place of `nn.Module.__call__`, or exchanges it for one with other options.

    Args:
        listener: is told, until `uninstall`.
        compared: the classes of modules whose tensors are compared on entry.
        counting: tell the listener of calls too.
        with_rests: ask `resting` which modules are not to be compared; only where calls are not counted.
    """
    global _listener, _installed, _original, _compared, resting
    if Module.__call__ is not _installed or _original is None:
        uninstall()
        _original = Module.__call__
    _listener, _compared, resting = listener, compared, frozenset()
    if not _is_plain(_original):
        call = _on_top_of(_original)
    else:
        call = _resting_call if with_rests and not counting else _guarded_call
    before, _installed = Module.__call__, _counting(call) if counting else call
    if before is not _installed:  # or Python would forget what it knows of all classes of modules
        Module.__call__ = _installed  # type: ignore[method-assign]
        _tell_dynamo(before, _installed)


def uninstall() -> None:
    """Puts back what was there. Where another library wraps the fast path by now, it stays, and tells nobody."""
    global _listener, _installed, _original, resting
    _listener, resting = None, frozenset()
    if _installed is None or _original is None:
        return
    if Module.__call__ is _installed:
        Module.__call__ = _original  # type: ignore[method-assign]
    _tell_dynamo(_installed, _original)
    _installed = _original = None


def _tell_dynamo(before: Call, after: Call) -> None:
    """Dynamo inlines `forward` directly where `__call__` is what it holds for the unpatched one."""
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        source = sys.modules.get(name)
        if getattr(source, "unpatched_nn_module_call", None) is before:
            source.unpatched_nn_module_call = after  # type: ignore[union-attr]


def _is_plain(call: Call) -> bool:
    """Whether the fast path does all that a `Module.__call__` does."""
    return call is getattr(Module, "_wrapped_call_impl", None) and hasattr(Module, "_compiled_call_impl")


def _on_top_of(call: Call) -> Call:
    """The fast path, calling something else than PyTorch's own `__call__`.

    A function of its own, as the other one may be in use below: a guard leaves it there if `call` was put on top of it.
    """
    return _with(_guarded_call, _compared=_compared, _original_call=call, _wraps=True)


def _with(function: Call, **constants: Any) -> Call:
    """The function with other values for some of its globals.

    It has no `__name__` among its globals, so that Dynamo looks for them in it and not in this module.
    """
    assert isinstance(function, types.FunctionType)
    known = {**globals(), **constants}
    del known["__name__"]
    return types.FunctionType(function.__code__, known, function.__name__)


_compared: Container[type] = COMPARED
_original_call: Call = Module.__call__
_wraps = False
"""Whether there is more in `_original_call` than the fast path does itself."""


def _guarded_call(self: Module, *args: Any, **kwargs: Any) -> Any:
    if type(self) in _compared:
        device = None
        tensor: Tensor | None
        for tensor in self._parameters.values():
            if tensor is not None:
                if device is None:
                    device = tensor.device
                elif tensor.device != device:
                    _entered(self, args, kwargs)
                    break
        if device is None and self._buffers:
            for tensor in self._buffers.values():
                if tensor is not None:
                    device = tensor.device
                    break
        for value in args:
            kind = type(value)
            if kind is Tensor or kind is Parameter:
                if device is None:
                    device = value.device
                elif value.device != device:
                    _entered(self, args, kwargs)
                    break
            elif kind in _CONTAINERS and _differs(value, device):
                _entered(self, args, kwargs)
                break
        if kwargs:
            for value in kwargs.values():
                kind = type(value)
                if kind is Tensor or kind is Parameter:
                    if device is None:
                        device = value.device
                    elif value.device != device:
                        _entered(self, args, kwargs)
                        break
                elif kind in _CONTAINERS and _differs(value, device):
                    _entered(self, args, kwargs)
                    break
    try:
        if _wraps or self._compiled_call_impl is not None:
            return _original_call(self, *args, **kwargs)
        return self._call_impl(*args, **kwargs)  # type: ignore[no-untyped-call]
    except Exception as error:
        _failed(self, args, kwargs, error)
        raise


def _resting_call(self: Module, *args: Any, **kwargs: Any) -> Any:
    # To Dynamo the last condition but one is a constant: what it compiles never rests on `resting`, which changes.
    if type(self) not in _compared or (self.training and not is_dynamo_compiling() and id(self) in resting):
        try:
            if self._compiled_call_impl is not None:
                return _original_call(self, *args, **kwargs)
            return self._call_impl(*args, **kwargs)  # type: ignore[no-untyped-call]
        except Exception as error:
            _failed(self, args, kwargs, error)
            raise
    return _guarded_call(self, *args, **kwargs)


def _differs(container: Any, device: Any) -> bool:
    """Whether a container holds a tensor elsewhere than on `device`, or of which `device` says nothing yet."""
    for value in container.values() if type(container) is dict else container:
        if isinstance(value, Tensor):
            if value.device != device:
                return True
        elif type(value) in _CONTAINERS and _differs(value, device):
            return True
    return False


def _entered(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if _listener is not None:
        _listener.entered(module, args, kwargs)


def _failed(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> None:
    if _listener is not None:
        _listener.failed(module, args, kwargs, error)


def _called(module: Module) -> None:
    if _listener is not None:
        _listener.called(module)


def _counting_call(self: Module, *args: Any, **kwargs: Any) -> Any:
    # To Dynamo the first condition is a constant: what it compiles never rests on `_calls`, which changes.
    if is_compiling() or getattr(_calls, "inside", False):
        return _counted_call(self, *args, **kwargs)
    _calls.inside = True
    try:
        _called(self)
        return _counted_call(self, *args, **kwargs)
    finally:
        _calls.inside = False


_counted_call: Call = _guarded_call


def _counting(call: Call) -> Call:
    """The fast path, telling of calls that no other module makes."""
    return _counting_call if call is _guarded_call else _with(_counting_call, _counted_call=call)
