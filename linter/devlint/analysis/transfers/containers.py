"""Modules that hold modules: they are containers, and calling one calls what is inside."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.libraries.transfer_tables import CONSTRUCTORS, LibraryCall, register
from devlint.analysis.values.containers import elements_of, items_of
from devlint.domain.device import UNKNOWN_DEVICE
from devlint.domain.heap import DictObject, ListObject
from devlint.domain.kinds import TensorRole
from devlint.domain.value import UNKNOWN, Constant, Kind, Tensor, Value
from devlint.torchlib.knowledge import SEQUENTIAL


def sequential(site: LibraryCall) -> Value:
    """`nn.Sequential(a, b)`; of `*layers` that nobody can count, one for all, or only that it is a module."""
    given, each = site.arguments.positional, site.arguments.each
    if not site.arguments.exact:
        if given or each is None:
            return replace(site.frame.fresh_symbol("Sequential()", site.span), kind=Kind.MODULE)
        return site.allocate(site.name, ListObject(None, each.value, site.name))
    if len(given) == 1 and isinstance(site.held(given[0].value), DictObject):
        held = site.held(given[0].value)
        assert isinstance(held, DictObject)
        items = tuple(item for _, item in held.items) if held.complete else None
        return site.allocate(site.name, ListObject(items, UNKNOWN, site.name))
    return site.allocate(site.name, ListObject(tuple(item.value for item in given), UNKNOWN, site.name))


def module_list(site: LibraryCall) -> Value:
    """`nn.ModuleList(modules)`."""
    given = site.arguments.get(0, "modules") or site.arguments.get(0, "parameters")
    if given is None:
        return site.allocate(site.name, ListObject((), UNKNOWN, site.name))
    items = items_of(site.frame, site.env, given.value)
    each = elements_of(site.frame, site.env, given.value).each if items is None else UNKNOWN
    return site.allocate(site.name, ListObject(items, each, site.name))


def module_dict(site: LibraryCall) -> Value:
    """`nn.ModuleDict(modules)`."""
    given = site.arguments.get(0, "modules") or site.arguments.get(0, "parameters")
    if given is None:
        return site.allocate(site.name, DictObject((), UNKNOWN, True, site.name))
    held = site.held(given.value)
    if isinstance(held, DictObject):
        return site.allocate(site.name, replace(held, module=site.name))
    return site.allocate(site.name, DictObject((), UNKNOWN, False, site.name))


def parameter(site: LibraryCall) -> Value:
    """`nn.Parameter(data)`, `nn.Buffer(data)`: the tensor, registered by whoever stores it in a module."""
    role = _role(site)
    data = site.value(0, "data")
    if isinstance(data, Tensor):
        return replace(data, role=role)
    if data is None:
        return replace(site.created(None, None), role=role)
    return Tensor(UNKNOWN_DEVICE, None, role)


def uninitialized(site: LibraryCall) -> Value:
    """`UninitializedParameter(device=d)`: what a lazy module registers before it knows its sizes."""
    given = site.arguments.get(1, "device")
    target = None if given is None or given.value == Constant(None) else site.device(given)
    return replace(site.created(target, None), role=_role(site))


def _role(site: LibraryCall) -> TensorRole:
    return TensorRole.BUFFER if site.name.endswith("Buffer") else TensorRole.PARAMETER


register(
    CONSTRUCTORS,
    {
        SEQUENTIAL: sequential,
        "torch.nn.ModuleList": module_list,
        "torch.nn.ParameterList": module_list,
        "torch.nn.ModuleDict": module_dict,
        "torch.nn.ParameterDict": module_dict,
        "torch.nn.Parameter": parameter,
        "torch.nn.UninitializedParameter": uninitialized,
        "torch.nn.UninitializedBuffer": uninitialized,
        "torch.nn.Buffer": parameter,
    },
)
