"""What objects store: attributes, elements, tensors in containers. Looked up, never computed.

`__getattr__`, properties and the `__getitem__` of the program's own classes are not run.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import types
from collections import UserDict
from collections.abc import Iterator, Mapping
from typing import Any, Final

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.nn.utils.rnn import PackedSequence

UNKNOWN: Final = object()
"""The value of an expression that cannot be had without running something."""


def attribute(owner: object, name: str) -> object:
    """An attribute that is stored, UNKNOWN if it would be computed."""
    if isinstance(owner, torch.Tensor):
        is_plain = name in ("device", "data") or (name == "grad" and owner.is_leaf)
        return getattr(owner, name) if is_plain else dictionary_of(owner).get(name, UNKNOWN)
    own = dictionary_of(owner)
    tables = ("_parameters", "_buffers", "_modules") if isinstance(owner, nn.Module) else ()
    for table in (own, *(own.get(key) for key in tables)):
        if isinstance(table, Mapping) and name in table:
            return table[name]
    kind = owner if isinstance(owner, type) else type(owner)
    found = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), UNKNOWN)
    if isinstance(found, (types.MemberDescriptorType, _NAMED_TUPLE_FIELD)):
        with contextlib.suppress(AttributeError, TypeError):
            return found.__get__(owner, type(owner))
    return UNKNOWN if hasattr(type(found), "__get__") else found


_NAMED_TUPLE_FIELD: Final = type(vars(collections.namedtuple("_", "field"))["field"])


def dictionary_of(owner: object) -> Mapping[str, object]:
    """The attributes that an object itself stores, whatever its class makes of `__getattr__`."""
    try:
        found = object.__getattribute__(owner, "__dict__")
    except (AttributeError, TypeError):
        return {}
    return found if isinstance(found, Mapping) else {}


def element(owner: object, key: object) -> object:
    """An element of a plain container or of a container of modules, UNKNOWN of anything else."""
    if isinstance(owner, (nn.ModuleList, nn.Sequential)) and isinstance(key, int):
        return list(owner._modules.values())[key] if -len(owner) <= key < len(owner) else UNKNOWN
    if isinstance(owner, nn.ModuleDict) and isinstance(key, str):
        return owner._modules.get(key, UNKNOWN)
    if isinstance(owner, (nn.ParameterList, nn.ParameterDict)):
        return attribute(owner, str(key))
    if isinstance(owner, UserDict):
        owner = owner.data
    plain = type(owner).__getitem__ if isinstance(owner, (list, tuple, dict)) else None
    found: object = UNKNOWN
    is_plain = plain in (list.__getitem__, tuple.__getitem__, dict.__getitem__) and isinstance(key, (int, str, bytes))
    with contextlib.suppress(LookupError, TypeError):
        found = owner[key] if is_plain else UNKNOWN  # type: ignore[index]
    return found


def is_same_or_view(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a second tensor is a first one, or a view of it, as the transposed weight of a layer is."""
    return one is other or (other._is_view() and other._base is one) or shares_memory(one, other)


def shares_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have one storage."""
    try:
        return bool(one.untyped_storage()._cdata == other.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):  # a tensor without a storage of its own
        return False


_DEEPEST = 4


def tensors_in(value: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of a plain container, each with the way to it: `[0]['mask']`."""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, PackedSequence):
        yield path, value.data  # its `batch_sizes` are always on the CPU
    elif depth < _DEEPEST and isinstance(value, (list, tuple)):
        for index, one in enumerate(tuple.__iter__(value) if isinstance(value, tuple) else list.__iter__(value)):
            yield from tensors_in(one, f"{path}[{index}]", depth + 1)
    elif depth < _DEEPEST and isinstance(value, (dict, UserDict)):
        items = value.data.items() if isinstance(value, UserDict) else dict.items(value)
        for key, one in items:
            shown = repr(key) if isinstance(key, (str, int)) else "…"
            yield from tensors_in(one, f"{path}[{shown}]", depth + 1)


def own_tensors(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """The parameters, then the buffers that a module registers itself, by their names."""
    for table in ("_parameters", "_buffers"):
        yield from ((name, one) for name, one in table_of(module, table) if isinstance(one, torch.Tensor))


def plain_tensors(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that attributes of a module hold and that do not move with it, each with the way to it."""
    for name, value in list(dictionary_of(module).items()):
        if name not in _TABLES:
            yield from tensors_in(value, name)


_TABLES: Final = frozenset(nn.Module().__dict__) - {"training"}


def tensors_of(owner: object) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that attributes of an object hold, each with the way to it: `.mean`, `.batch['mask']`."""
    if isinstance(owner, functools.partial):
        yield from tensors_in(owner.args, ".args")
        yield from tensors_in(owner.keywords, ".keywords")
    elif not isinstance(owner, (type, types.ModuleType, types.FunctionType, torch.optim.Optimizer)):
        for name, value in dictionary_of(owner).items():
            yield from tensors_in(value, f".{name}")


def modules_in(root: nn.Module) -> Iterator[nn.Module]:
    """A module and all that are registered below it, each once, as `root.modules()` is without a method of its own."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        module = waiting.pop()
        if id(module) not in seen:
            seen.add(id(module))
            yield module
            waiting += [one for _, one in reversed(table_of(module, "_modules")) if isinstance(one, nn.Module)]


def parts_of(owner: object) -> dict[str, object]:
    """The attributes of an object, with the modules that it registers; none of a class or of a file."""
    if isinstance(owner, (type, types.ModuleType)):
        return {}
    parts = dict(dictionary_of(owner))
    return {**parts, **dict(table_of(owner, "_modules"))} if isinstance(owner, nn.Module) else parts


def registered_in(root: nn.Module) -> list[torch.Tensor]:
    """The parameters, then the buffers of a module and of those below it, each once.

    It runs no method of the module: a program may have its own `parameters()`, with other arguments or another result.
    """
    found: dict[int, torch.Tensor] = {}
    for name in ("_parameters", "_buffers"):
        for module in modules_in(root):
            found.update({id(one): one for _, one in table_of(module, name) if isinstance(one, torch.Tensor)})
    return list(found.values())


def has_parameters(root: nn.Module) -> bool:
    """Whether a module or one below it has a parameter."""
    return any(one is not None for module in modules_in(root) for _, one in table_of(module, "_parameters"))


def device_of_part(text: str, root: nn.Module) -> str:
    """The source of the device of a module's first parameter or buffer, by its name: `net[0].weight.device`, or "".

    A module of Lightning has a `device`, which is always where it is.
    """
    own = getattr(type(root), "device", None)
    if isinstance(own, property) and "lightning" in getattr(own.fget, "__module__", ""):
        return f"{text}.device"
    found = _first_tensor(root, ())
    return f"{text}{found}.device" if found else ""


def _first_tensor(root: nn.Module, above: tuple[nn.Module, ...]) -> str:
    for table in ("_parameters", "_buffers", "_modules"):
        for name, part in table_of(root, table):
            key = f"[{name}]" if name.isdigit() else f".{name}" if name.isidentifier() else ""
            is_module = isinstance(part, nn.Module) and part not in above
            rest = _first_tensor(part, (*above, root)) if is_module else ""
            if key and (rest or isinstance(part, torch.Tensor)):
                return key + rest
    return ""


def table_of(module: nn.Module, name: str) -> list[tuple[str, Any]]:
    """The items of a table of a module, `_parameters`; none where its class has not called `Module.__init__`."""
    table = dictionary_of(module).get(name)
    return list(table.items()) if hasattr(table, "items") else []


def devices_of(module: nn.Module) -> list[str]:
    """The devices of a module's parameters and buffers, the one with most elements first."""
    sizes: collections.Counter[str] = collections.Counter()
    for tensor in registered_in(module):
        sizes[str(tensor.device)] += 1 if is_lazy(tensor) else max(tensor.numel(), 1)
    return [device for device, _ in sizes.most_common()]
