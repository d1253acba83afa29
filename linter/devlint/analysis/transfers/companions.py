"""Libraries around torch that do to several objects at once, or to what they are given, what torch does to one.

`accelerator.prepare(module, optimizer, loader)` takes anything and treats each by its kind, which no signature says.
"""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.libraries import library_calls
from devlint.analysis.libraries.transfer_tables import (
    CONSTRUCTORS,
    FUNCTIONS,
    MODULE_CALLS,
    OBJECT_METHODS,
    LibraryCall,
    register,
)
from devlint.analysis.transfers.wrappers import same
from devlint.analysis.values import modules
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Device, Variable
from devlint.domain.heap import LibraryObject
from devlint.domain.kinds import OriginKind
from devlint.domain.place import AccessPath
from devlint.domain.value import UNKNOWN, Constant, Reference, TupleValue, Value
from devlint.torchlib.knowledge import LOADER

ACCELERATOR = "accelerate.Accelerator"

RANDN_TENSOR = "diffusers.randn_tensor"

METRIC = "torchmetrics._Metric"

CHOSEN = Variable(AccessPath("the accelerator"))
"""Where an Accelerator puts things: one device of its own choice for the whole process."""


def accelerator(site: LibraryCall) -> Value:
    """`Accelerator()`; with `cpu=True` there is nothing to choose."""
    cpu = site.arguments.keyword("cpu")
    given = CPU if cpu is not None and cpu.value == Constant(True) else UNKNOWN_DEVICE
    device = CHOSEN if cpu is None and site.arguments.exact else given
    origin = site.frame.origin("the device that accelerate has chosen", site.span, OriginKind.CREATED)
    return site.allocate(ACCELERATOR, LibraryObject(ACCELERATOR, device, origin))


def prepare(site: LibraryCall) -> Value:
    """`accelerator.prepare(a, b)`: modules are moved, of loaders a copy that moves its batches comes back."""
    given = site.arguments.positional
    if not given or site.arguments.keywords or not site.arguments.exact:
        return UNKNOWN
    items = tuple(_prepared(site, item.value) for item in given)
    return items[0] if len(items) == 1 else TupleValue(items)


def _prepared(site: LibraryCall, value: Value) -> Value:
    held = site.held(value)
    if not isinstance(value, Reference) or held is None:
        return UNKNOWN
    origin = site.frame.origin(f"`{site.name}` moves this to its device", site.span, OriginKind.MOVED)
    if modules.is_module(site.frame, site.env, value):
        modules.place_object(site.frame, site.env, value, _device(site), origin)
    elif isinstance(held, LibraryObject) and held.cls == LOADER:
        return site.allocate(LOADER, replace(held, device=_device(site), origin=origin))
    return value


def _device(site: LibraryCall) -> Device:
    held = None if site.receiver is None else site.held(site.receiver.value)
    return held.device if isinstance(held, LibraryObject) else UNKNOWN_DEVICE


def update(site: LibraryCall) -> Value:
    """`metric.update(predictions, target)`: state on the CPU does not take results from elsewhere."""
    held = None if site.receiver is None else site.held(site.receiver.value)
    if site.receiver is not None and isinstance(held, LibraryObject) and held.device == CPU:
        for given in site.arguments.positional[:1]:
            library_calls.meet(site.frame, site.env, site.receiver, given, "Metric.update", site.span)
    return UNKNOWN


def randn_tensor(site: LibraryCall) -> Value | None:
    """`randn_tensor(shape, generator, device)`: with a generator of the CPU, it draws there and moves the result."""
    given = site.held(site.value(1, "generator"))
    arguments = site.arguments
    if isinstance(given, LibraryObject) and given.device == CPU:
        keywords = tuple(pair for pair in arguments.keywords if pair[0] != "generator")
        positional = tuple(
            replace(one, value=Constant(None)) if place == 1 else one for place, one in enumerate(arguments.positional)
        )
        arguments = replace(arguments, positional=positional, keywords=keywords)
    return library_calls.call_by_signature(site.frame, site.env, site.name, arguments, site.span)


register(CONSTRUCTORS, {ACCELERATOR: accelerator})

register(FUNCTIONS, {RANDN_TENSOR: randn_tensor})

register(
    OBJECT_METHODS,
    {
        f"{ACCELERATOR}.prepare": prepare,
        f"{ACCELERATOR}.prepare_model": prepare,
        f"{ACCELERATOR}.prepare_data_loader": prepare,
        f"{ACCELERATOR}.unwrap_model": same,
        f"{METRIC}.update": update,
    },
)

register(MODULE_CALLS, {METRIC: update})
