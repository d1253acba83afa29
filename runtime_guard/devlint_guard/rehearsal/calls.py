"""Calls of the program that a dispatch mode alone cannot understand.

Factories are marked as the program's own. `torch.tensor` and its like make a tensor on the CPU and then move it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from devlint_guard.program.replacements import Replacements
from devlint_guard.record.factories import constructors
from devlint_guard.rehearsal import words
from devlint_guard.rehearsal.aside import ASIDE
from devlint_guard.rehearsal.kinds import MPS
from devlint_guard.rehearsal.labels import CPU, label, pin, put, seen_device
from devlint_guard.rehearsal.machine import MACHINE, numbered, resolve, start
from devlint_guard.rehearsal.operators import MARKS, RehearsalMode, marked
from devlint_guard.rehearsal.tensors import to
from devlint_guard.rehearsal.unjudged import UNJUDGED

_torch: Any = torch
_INTERPRETED: Any = torch.fx.Interpreter.call_function.__code__

_FROM_DATA = ("tensor", "as_tensor", "asarray")
_SPARSE = ("bsc", "bsr", "compressed", "coo", "csc", "csr")


def install(replaced: Replacements) -> None:
    """Replace the functions of `torch`."""
    for module, name in constructors():
        if name not in _FROM_DATA:
            replaced.put_function(module, name, _marking(getattr(module, name)))
    for name in ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros"):
        replaced.put(Tensor, name, _marking(getattr(Tensor, name)))
    for name in _FROM_DATA:
        replaced.around(torch, name, _from_data)
    for name in _SPARSE:
        replaced.around(torch, f"sparse_{name}_tensor", _of_parts)
    for name in ("nested_tensor", "as_nested_tensor"):
        replaced.around(torch.nested, name, _nested)
    _install_dlpack(replaced)
    replaced.put(torch, "compile", _compiling())
    frames: Any = sys.modules.get("torch._dynamo.eval_frame")
    if hasattr(frames, "_stance"):  # of what was compiled before
        replaced.put(frames, "_stance", frames.DynamoStance("force_eager"))
    # Dynamo, by which a strict export reads the program's code, would read that of the rehearsal too.
    replaced.around(torch.export, "export", lambda call, *args, **given: call(*args, **{**given, "strict": False}))
    for operator in (_torch._ops.OpOverload, _torch._ops.OpOverloadPacket):
        replaced.around(operator, "__call__", _told)
    if not hasattr(TorchDispatchMode, "supports_higher_order_operators"):
        replaced.around(_torch._ops.HigherOrderOperator, "dispatch", _introduced)
    replaced.around(torch._C._nn, "_parse_to", _parsing)


def _marking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a factory that counts as the program's own; it is called too often for one more call around it."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if type(kwargs.get("device")) is int:
            kwargs["device"] = numbered(kwargs["device"])
        if ASIDE.is_out:
            _wake_for(kwargs)
            if not torch._C._len_torch_dispatch_stack() and not kwargs.get("pin_memory"):  # nobody asks for the mark
                return function(*args, **kwargs)
        before, MARKS.is_marked = MARKS.is_marked, True
        try:
            made = function(*args, **kwargs)
        finally:
            MARKS.is_marked = before
        if kwargs.get("pin_memory") and isinstance(made, Tensor):
            if label(made).type == MACHINE.name:
                words.refuse("Only dense CPU tensors can be pinned")
            start()
            if MACHINE.kind is MPS:
                UNJUDGED.note(f"{function.__name__}(pin_memory=True) on a machine with MPS")
            pin(made)
        return made

    return called


def _wake_for(kwargs: dict[str, Any]) -> None:
    """Let the mode see a factory that may make a tensor off the CPU, or memory that is pinned."""
    device = kwargs.get("device")
    is_told = device is not None and torch.device(device).type != "cpu"
    if is_told or kwargs.get("pin_memory") or torch._C._len_torch_function_stack():
        ASIDE.wake()


def _told(call: Callable[..., Any], self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call an operator from Python; the code of a graph, as `torch.export` makes it, names each device."""
    if ASIDE.is_out:
        _wake_for(kwargs)
    if "device" in kwargs:
        caller = sys._getframe(2).f_code
        if caller.co_filename.startswith("<eval_with_key>") or caller is _INTERPRETED:
            with marked():
                return call(self, *args, **kwargs)
    return call(self, *args, **kwargs)


def _from_data(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Make a tensor of data on the CPU, and move it to where it was asked for."""
    is_copy, first = function.__name__ == "tensor", args[0] if args else None
    device = kwargs.pop("device", None)
    wants_grad = kwargs.pop("requires_grad", False)
    if type(device) is int:
        device = numbered(device)
    if device is None and not isinstance(first, Tensor):
        device = _default_device()
    if device is not None and torch.device(device).type not in MACHINE.types:
        ASIDE.wake()
        return function(*args, device=device, requires_grad=wants_grad, **kwargs)
    target = None if device is None else resolve(device)
    if is_copy and isinstance(first, Tensor):
        target = label(first) if target is None else target
    with marked(), torch._C.DisableTorchFunction():
        made = function(*args, **kwargs)
    if target is not None and label(made) != target:
        with torch.set_grad_enabled(torch.is_grad_enabled() and not is_copy):
            made = to(made, target)
    return made.requires_grad_() if wants_grad else made


def _of_parts(function: Callable[..., Any], *args: Any, device: Any = None, **kwargs: Any) -> Any:
    """Make a sparse tensor, which is where its values are (sparse_coo_tensor_ctor)."""
    wanted = None if device is None else resolve(device)
    if wanted is None:
        values = next((one for one in reversed(args) if isinstance(one, Tensor)), kwargs.get("values"))
        wanted = seen_device(values) if isinstance(values, Tensor) else _default_device() or CPU
    if wanted.type not in MACHINE.types:
        return function(*args, device=wanted, **kwargs)
    with marked(), torch._C.DisableTorchFunction():
        return put(function(*args, device=CPU, **kwargs), wanted)


def _nested(function: Callable[..., Any], *args: Any, device: Any = None, **kwargs: Any) -> Any:
    """Make a nested tensor, whose parts share one storage; jagged ones have a class of their own."""
    wanted = None if device is None else resolve(device)
    if wanted is None or wanted.type != MACHINE.name or kwargs.get("layout") is torch.jagged:
        return function(*args, device=wanted, **kwargs)
    return put(function(*args, device=CPU, **kwargs), wanted)


def _install_dlpack(replaced: Replacements) -> None:
    """Let memory that leaves as a capsule, or as an object with one, come back with its label."""
    exported: dict[int, torch.device] = {}

    def to_dlpack(write: Callable[..., Any], tensor: Tensor) -> Any:
        exported[tensor.data_ptr()] = label(tensor)
        return write(tensor)

    def from_dlpack(read: Callable[..., Any], ext_tensor: Any, **kwargs: Any) -> Any:
        made = read(ext_tensor, **kwargs)
        if isinstance(ext_tensor, Tensor):
            return put(made, label(ext_tensor))
        device = exported.get(made.data_ptr())
        return made if device is None else put(made, device)

    for owner in (torch, torch.utils.dlpack):
        replaced.around(owner, "to_dlpack", to_dlpack)
        replaced.around(owner, "from_dlpack", from_dlpack)


def _compiling() -> Callable[..., Any]:
    """Return a `torch.compile` that compiles nothing, and says so the first time.

    A function stays as it is. A module gets PyTorch's wrapper, which programs ask for `_orig_mod`, and which puts that
    name into the keys of a checkpoint.
    """
    is_said = False

    @functools.wraps(torch.compile)
    def compiled(model: Any = None, **options: Any) -> Any:
        nonlocal is_said
        if not is_said:
            print("devlint: a rehearsal runs compiled functions and modules as eager code", file=sys.stderr)
            is_said = True
        if model is None:
            return functools.partial(compiled, **options)
        is_wrapped = isinstance(model, nn.Module) and not options.get("disable")
        return _torch.compiler.disable(model) if is_wrapped else model

    return compiled


def _introduced(dispatch: Callable[..., Any], self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Run `torch.cond` and its like: before torch 2.7, each has to know the class of a mode."""
    if RehearsalMode not in vars(self).get("python_key_table", vars(self).get("python_key_mode_table")):
        self.py_impl(RehearsalMode)(lambda mode, *args, **kwargs: mode.__torch_dispatch__(self, (), args, kwargs))
    return dispatch(self, *args, **kwargs)


def _parsing(parse: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Read the arguments of `Module.to`; a tensor or a number among them means its device."""
    if args and isinstance(args[0], Tensor):
        args = (seen_device(args[0]), args[0].dtype, *args[1:])
    elif args and type(args[0]) is int:
        args = (numbered(args[0]), *args[1:])
    if isinstance(kwargs.get("tensor"), Tensor):
        given = kwargs.pop("tensor")
        args = (seen_device(given), given.dtype, *args)
    if type(kwargs.get("device")) is int:
        kwargs["device"] = numbered(kwargs["device"])
    return parse(*args, **kwargs)


def _default_device() -> torch.device | None:
    """Return the device that a scope gives to factories; None where no scope does."""
    return seen_device(torch.empty(0)) if torch._C._len_torch_function_stack() else None
