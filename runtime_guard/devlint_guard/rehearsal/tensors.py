"""Methods and attributes of tensors that tell of devices, or that move tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from devlint_guard.program.replacements import Replacements
from devlint_guard.record.recorder import RECORD
from devlint_guard.rehearsal import labels, words
from devlint_guard.rehearsal.kinds import MPS
from devlint_guard.rehearsal.labels import CPU, is_pinned, label, put, seen_device, storage_label, type_name
from devlint_guard.rehearsal.machine import MACHINE, numbered, resolve, start
from devlint_guard.rehearsal.operators import marked
from devlint_guard.requirement import is_full

_C: Any = torch._C
_Base: Any = _C.TensorBase
_nn: Any = torch.nn
_UNASKED = (_nn.Parameter, _nn.parameter.UninitializedTensorMixin)
"""Classes whose `__torch_function__` knows PyTorch's own methods by identity, or does nothing."""

_DEVICE_OF_WRAPPER = 7
"""The position of the device among the arguments of `_make_wrapper_subclass` (python_variable.cpp)."""

_is_grad_needed = _Base.requires_grad.__get__


def install(replaced: Replacements) -> None:
    """Replace the attributes of `Tensor`."""
    tensor: Any = Tensor
    replaced.put(tensor, "device", _Attribute(seen_device))
    replaced.put(tensor, f"is_{MACHINE.name}", _Attribute(lambda self: label(self).type == MACHINE.name))
    replaced.put(tensor, "is_cpu", _Attribute(lambda self: seen_device(self).type == "cpu"))
    replaced.put(tensor, "grad", _Attribute(_Base.grad.__get__, _set_grad, _Base.grad.__delete__))
    for owner in (tensor, torch):
        replaced.put(owner, "get_device", _get_device)
    replaced.put(tensor, "record_stream", lambda self, stream: None)  # no work is asynchronous here
    for name, method in {"to": to, "cuda": _move_to("cuda"), "xpu": _move_to("xpu"), "cpu": _cpu}.items():
        replaced.put(tensor, name, _seen_by_modes(method))
    replaced.put(tensor, "type_as", _seen_by_modes(lambda self, other: to(self, seen_device(other), other.dtype)))
    replaced.put(tensor, "numpy", _seen_by_modes(_numpy))
    replaced.around(tensor, "__array__", _array)
    replaced.put(tensor, "new_tensor", _new_tensor)
    replaced.put(tensor, "new", _new)
    replaced.around(tensor, "__new__", _without_modes)
    if not is_full():
        replaced.around(tensor, "as_subclass", _without_modes)
    replaced.put(tensor, "_make_wrapper_subclass", staticmethod(_make_wrapper_subclass))
    replaced.put(tensor, "set_", _set)
    replaced.put(tensor, "pin_memory", _pin_memory)
    replaced.put(tensor, "is_pinned", lambda self, device=None: is_pinned(self))


def _seen_by_modes(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that function modes and subclasses of `Tensor` are asked about, as they are of PyTorch's own."""

    @functools.wraps(method)
    def asked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if torch.overrides.has_torch_function((self, *args)) and not isinstance(self, _UNASKED):
            return torch.overrides.handle_torch_function(asked, (self, *args), self, *args, **kwargs)
        # It has no memory yet; its class lets no operator see it, and it is given memory where its data is.
        if isinstance(self, _nn.parameter.UninitializedTensorMixin):
            put(self.data, seen_device(method(self.data, *args, **kwargs)))
            return self
        return method(self, *args, **kwargs)

    return asked


# --- attributes ---------------------------------------------------------------------------------------------


class _Attribute(property):
    """An attribute of `Tensor` that knows its class, as those written in C do: `torch._dynamo` asks for it."""

    __objclass__ = Tensor


def _get_device(self: Tensor) -> int:
    index = seen_device(self).index
    return -1 if index is None else index


def _set_grad(self: Tensor, value: Tensor | None) -> None:
    """Check what python_variable.cpp, THPVariable_set_grad, checks."""
    if isinstance(value, Tensor):
        own, given = label(self), label(value)
        if own.type != given.type and {own.type, given.type} <= {*MACHINE.types}:
            words.refuse(
                f"attempting to assign a gradient with device type '{given.type}' to a tensor with device type "
                f"'{own.type}'. Please ensure that the gradient and the tensor are on the same device"
            )
        if own != given and own.type == MACHINE.name:
            # C++ writes each index as a character, and Python reads the text up to the first that is 0.
            text = (
                f"attempting to assign a gradient located on device with index '{chr(given.index)}' to a tensor "
                f"located on device with index '{chr(own.index)}'. Please ensure that the gradient and the tensor are "
                "on the same device"
            )
            words.refuse(text.partition("\0")[0])
    _Base.grad.__set__(self, value)


# --- moves --------------------------------------------------------------------------------------------------


class _Move(torch.autograd.Function):
    """A copy on another device, whose gradient is copied back."""

    generate_vmap_rule = True

    @staticmethod
    def forward(tensor: Tensor, device: torch.device, options: dict[str, Any]) -> Tensor:
        return _copied(tensor, device, options)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        tensor, _, _ = inputs
        ctx.device, ctx.dtype = label(tensor), tensor.dtype

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (grad,) = grads
        return move(grad, ctx.device, {"dtype": ctx.dtype}), None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return tangents[0]


def _copied(tensor: Tensor, device: torch.device, options: dict[str, Any]) -> Tensor:
    labels.check_type(options.get("dtype", tensor.dtype), device)
    with marked():
        return torch.ops.aten._to_copy.default(tensor, device=device, **options)  # type: ignore[no-any-return]


def move(tensor: Tensor, device: torch.device, options: dict[str, Any] | None = None) -> Tensor:
    """Return a copy of a tensor on a device that `resolve` has returned."""
    options = {} if options is None else options
    if torch.is_grad_enabled() and _is_grad_needed(tensor):
        return _Move.apply(tensor, device, options)  # type: ignore[no-any-return, no-untyped-call]
    return _copied(tensor, device, options)


_original_to = _Base.to
_TO = ("device", "dtype", "non_blocking", "copy")


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Stand for `Tensor.to`."""
    named, other = args, kwargs.get("tensor", args[0] if args else None)
    if isinstance(other, Tensor):
        kwargs.pop("tensor", None)
        named = (seen_device(other), other.dtype, *args[1:])
    given = {name: value for name, value in zip(_TO, named, strict=False) if value is not None} | kwargs
    wanted = given.pop("device", None)
    is_wrong = isinstance(given.get("dtype"), bool) or not kwargs.keys().isdisjoint(_TO[: len(named)])
    if wanted is None or isinstance(wanted, torch.dtype) or is_wrong:
        return _original_to(self, *args, **kwargs)  # type: ignore[no-any-return]
    target, own = resolve(wanted), seen_device(self)
    if not {target.type, own.type} <= {*MACHINE.types}:
        return _original_to(self, target, **given)  # type: ignore[no-any-return]
    if target == own:
        return _original_to(self, **given) if given else self
    return move(self, target, {name: given[name] for name in ("dtype", "memory_format") if given.get(name) is not None})


def _move_to(name: str) -> Callable[..., Tensor]:
    """Return what stands for `Tensor.cuda` or `Tensor.xpu`."""

    def move_to(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
        target = resolve(name if device is None else device)
        if target.type != name:
            raise RuntimeError(f"Invalid device, must be {name} device")
        return to(self, target, memory_format=memory_format)

    move_to.__name__ = name
    return move_to


def _cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    return to(self, CPU, memory_format=memory_format)


def _new_tensor(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Follow tensor_new.cpp, new_tensor: the device is that of `self`."""
    made = torch.tensor(data, dtype=self.dtype if dtype is None else dtype, device="cpu")
    made = to(made, seen_device(self) if device is None else device)
    return made.requires_grad_(requires_grad)


def _new(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    return legacy(functools.partial(_Base.new, self), self.dtype, seen_device(self), args, kwargs)


def legacy(
    make: Callable[..., Any], dtype: torch.dtype, device: torch.device, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Follow tensor_new.cpp, legacy_tensor_generic_ctor_new: make a tensor that is on a device."""
    kwargs = dict(kwargs)
    if kwargs.get("device") is not None:
        wanted = kwargs.pop("device")
        kind = MACHINE.name if isinstance(wanted, int) else torch.device(wanted).type
        if kind != device.type:
            words.refuse(f"legacy constructor expects device type: {device.type} but device type: {kind} was passed")
        device = resolve(wanted)
    given = args[0] if len(args) == 1 else None
    if isinstance(given, Tensor):
        found = seen_device(given)
        if (given.dtype, found.type) != (dtype, device.type):
            raise words.other_options(dtype, device, given.dtype, found)
        return make(given, **kwargs)
    return put(make(*args, **kwargs), device)


def _without_modes(make: Any, *args: Any, **kwargs: Any) -> Any:
    """Run without modes: C++ cannot make a subclass of `Tensor` beside one."""
    with _C._DisableTorchDispatch():
        return make(*args, **kwargs)


def _make_wrapper_subclass(*args: Any, **kwargs: Any) -> Any:
    """Stand for the constructor of classes that wrap tensors: autograd knows only the CPU here."""
    has_position = len(args) > _DEVICE_OF_WRAPPER
    given = args[_DEVICE_OF_WRAPPER] if has_position else kwargs.get("device")
    device = CPU if given is None else resolve(given)
    if device.type == MACHINE.name and has_position:
        args = (*args[:_DEVICE_OF_WRAPPER], CPU, *args[_DEVICE_OF_WRAPPER + 1 :])
    elif device.type == MACHINE.name:
        kwargs["device"] = CPU
    return labels.put_wrapper(_Base._make_wrapper_subclass(*args, **kwargs), device)


def _set(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Follow Resize.h, checkSetStorage, which no mode sees the storage for."""
    source = args[0] if args else kwargs.get("source")
    source = getattr(source, "_untyped_storage", source)
    is_real = isinstance(source, torch.UntypedStorage) and not hasattr(self, "fake_device")
    if is_real and storage_label(source) != seen_device(self):
        raise words.other_storage(seen_device(self), storage_label(source))
    return _Base.set_(self, *args, **kwargs)  # type: ignore[no-any-return]


# --- the host ----------------------------------------------------------------------------------------------


def _numpy(self: Tensor, *, force: bool = False) -> Any:
    if label(self).type == MACHINE.name:
        if not force:
            _refuse_numpy(self)
        self = to(self.detach(), CPU)
    return _Base.numpy(self, force=force)


def _array(to_array: Callable[..., Any], self: Tensor, *args: Any, **kwargs: Any) -> Any:
    if label(self).type == MACHINE.name:
        _refuse_numpy(self)
    return to_array(self, *args, **kwargs)


def _refuse_numpy(tensor: Tensor) -> None:
    RECORD.refused = [tensor]
    words.refuse(
        f"can't convert {label(tensor)} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
        "memory first.",
        TypeError,
    )


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    if label(self).type == MACHINE.name:
        RECORD.refused = [self]
        words.refuse(f"cannot pin '{type_name(self)}' only dense CPU tensors can be pinned")
    start()
    if MACHINE.kind is MPS:  # Memory.cpp, _pin_memory: its memory is that of a device
        raise words.other_storage(CPU, numbered(0))
    return self if is_pinned(self) else labels.pin(self.detach().clone().requires_grad_(self.requires_grad))
