"""Values of a run: kind, devices and rank."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import torch

MISSING: Final = object()
"""No value: a term that cannot be evaluated."""

BASIC: Final = frozenset({"tensor", "module", "array", "number", "none", "device", "list", "dict"})
"""The kinds of which a value has one at most."""

_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, types.ModuleType)
_OF_TENSORS = frozenset({"data", "grad", "dtype", "device", "ndim", "is_cuda", "requires_grad", "shape"})


class Seen(NamedTuple):
    """A value of a run.

    Attributes:
        thing: the value itself.
        kind: one of `BASIC`, "code" or "object"; "number" as in the inference: a text, a size and a dtype, too.
        devices: of a tensor, of the parameters and buffers of a module, or the device that it is; else None.
        rank: of a tensor or an array.
    """

    thing: Any
    kind: str
    devices: frozenset[str] | None = None
    rank: int | None = None


def device_name(device: object) -> str:
    """Return the name of a device; "cuda" is the first one."""
    return "cuda:0" if str(device) == "cuda" else str(device)


def seen(thing: Any) -> Seen:
    """Return what a value is now; a later move does not change the result."""
    if isinstance(thing, torch.Tensor):
        return Seen(thing, "tensor", frozenset({device_name(thing.device)}), thing.dim())
    if isinstance(thing, torch.nn.Module):
        parts = [*thing.parameters(), *thing.buffers()] if "_parameters" in thing.__dict__ else []
        return Seen(thing, "module", frozenset({device_name(each.device) for each in parts}))
    if isinstance(thing, np.ndarray):
        return Seen(thing, "array", None, thing.ndim)
    if isinstance(thing, torch.device):
        return Seen(thing, "device", frozenset({device_name(thing)}))
    if isinstance(thing, (bool, int, float, complex, str, bytes, np.generic, torch.Size, torch.dtype)):
        return Seen(thing, "number")
    if thing is None:
        return Seen(thing, "none")
    if isinstance(thing, (list, tuple, set, frozenset)) or _is_iterator(thing):
        return Seen(thing, "list")
    if isinstance(thing, dict):
        return Seen(thing, "dict")
    return Seen(thing, "code" if isinstance(thing, _CODE) else "object")


def _is_iterator(thing: object) -> bool:
    """Whether something is an iterator of Python, which is the list of its elements for the inference."""
    return type(thing).__module__ == "builtins" and hasattr(thing, "__next__")


def is_plain(thing: object) -> bool:
    """Whether a value equals another one without code of the program."""
    return thing is None or type(thing) in (bool, int, float, str, bytes)


def attribute(thing: Any, name: str) -> Any:
    """Return an attribute that no code of the program computes, else MISSING."""
    if isinstance(thing, torch.Tensor) and name in _OF_TENSORS:
        return getattr(thing, name)
    if isinstance(thing, torch.device) and name in ("type", "index"):
        return getattr(thing, name)
    own: Mapping[str, Any] = getattr(thing, "__dict__", {})
    if isinstance(thing, type):
        return MISSING if hasattr(own.get(name), "__get__") else own.get(name, MISSING)
    if name in own or isinstance(thing, types.ModuleType):
        return own.get(name, MISSING)
    for part in ("_parameters", "_buffers", "_modules"):
        if isinstance(thing, torch.nn.Module) and name in own.get(part, ()):
            return own[part][name]
    for each in type(thing).__mro__:
        if name in each.__dict__:
            found = each.__dict__[name]
            return MISSING if hasattr(type(found), "__get__") else found
    return MISSING
