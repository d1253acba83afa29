"""DataParallel: what its constructor and its forward check is written in Python (torch/nn/parallel, 2.13).

The constructor moves the module only when there is a single id, and otherwise checks only the ids; `forward`
wants every parameter on the first id, scatters inputs from anywhere, and gathers on `output_device`.
"""

from __future__ import annotations

from collections.abc import Callable

from devlint.analysis import moves
from devlint.analysis.devices import current
from devlint.analysis.site import Site
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Concrete, Device, Unreached, differ, parse
from devlint.domain.heap import LibraryObject, Sequence
from devlint.domain.value import UNKNOWN, Constant, DeviceValue, Reference, Tensor, Tuple, Value
from devlint.facts import ParallelMisuse

DATA_PARALLEL = "torch.nn.DataParallel"


def data_parallel(site: Site) -> Value | None:
    """`nn.DataParallel(module, device_ids, output_device)`."""
    module = site.value(0, "module") or UNKNOWN
    devices = site.frame.program.devices
    if devices == 0:
        # Without CUDA the wrapper looks at nothing and passes calls on to the module.
        return module
    alone = site.arguments.get(1, "device_ids")
    if alone is not None and isinstance(alone.value, Constant) and type(alone.value.value) is int:
        message = "'int' object is not subscriptable"
        text = site.frame.text(alone.span)
        site.record(ParallelMisuse("not-a-list", message, text, (), f"write device_ids=[{text}]"))
        return UNKNOWN
    ids = _ids(site)
    if ids is None and devices == 1 and site.arguments.get(1, "device_ids") is None:
        ids = [Concrete("cuda", 0)]
    output = site.arguments.get(2, "output_device")
    if ids is not None:
        problem = _problem(site, ids)
        if problem is not None:
            site.record(problem)
            return UNKNOWN
    first: Device = UNKNOWN_DEVICE
    if ids is None and site.arguments.get(1, "device_ids") is None:
        # All visible devices; the first is 0.
        first = Concrete("cuda", 0)
    elif ids:
        first = ids[0]
    where = first
    if output is not None and output.value != Constant(None):
        where = _output(site, output.value)
        if isinstance(where, Concrete) and where.type == "cpu":
            message = f"Expected a non cpu device, but got: {where}"
            text = site.frame.text(output.span)
            site.record(ParallelMisuse("not-cuda", message, text, (), "gather the results on a CUDA device"))
            return UNKNOWN
    given = site.arguments.get(1, "device_ids")
    origin = site.frame.origin("wrapped in DataParallel here", given.span if given is not None else site.span, "module")
    if ids is not None and len(ids) == 1 and isinstance(module, Reference):
        target = DeviceValue(first, True, origin)
        moves.move_object(site.frame, site.env, module, target, site.span, "DataParallel")
    text = "device_ids" if given is None else site.frame.text(given.span)
    parts = (
        ("module", module),
        ("first", DeviceValue(first, True, origin)),
        ("output", DeviceValue(where, True, origin)),
        ("ids", Constant(text)),
    )
    return site.allocate(DATA_PARALLEL, LibraryObject(DATA_PARALLEL, UNKNOWN_DEVICE, origin, parts))


def _ids(site: Site) -> list[Device] | None:
    """The ids as devices, as far as all of them are known."""
    given = site.arguments.get(1, "device_ids")
    if given is None or given.value == Constant(None):
        return None
    held = site.held(given.value)
    if isinstance(held, Sequence):
        if held.items is not None:
            return [_id(item) for item in held.items]
        return None if held.first is None else [_id(held.first), UNKNOWN_DEVICE]
    return [_id(item) for item in given.value.items] if isinstance(given.value, Tuple) else None


def _id(value: Value) -> Device:
    match value:
        case Constant(value=bool()):
            return UNKNOWN_DEVICE
        case Constant(value=int() as index) if index >= 0:
            return Concrete("cuda", index)
        case Constant(value=str() as text):
            return parse(text) or UNKNOWN_DEVICE
        case DeviceValue():
            return value.device
        case _:
            return UNKNOWN_DEVICE


def _output(site: Site, value: Value) -> Device:
    return current(site.env, _id(value))


def _problem(site: Site, ids: list[Device]) -> ParallelMisuse | None:
    """What the constructor refuses, or forward will for these ids alone."""
    given = site.arguments.get(1, "device_ids")
    text = "" if given is None else site.frame.text(given.span)
    if not ids:
        return ParallelMisuse(
            "empty", "list index out of range", text, (), "name at least one device, or leave device_ids out"
        )
    for device in ids:
        if isinstance(device, Concrete) and device.type == "cpu":
            message = f"Expected a non cpu device, but got: {device}"
            return ParallelMisuse("not-cuda", message, text, (), "name CUDA devices only")
    known = [device for device in ids if isinstance(device, Concrete) and device.index is not None]
    devices = site.frame.program.devices
    for device in known:
        if devices is not None and devices > 0 and device.index is not None and device.index >= devices:
            return ParallelMisuse("beyond", "Invalid device id", text, (), f"this machine has {devices} devices")
    if len(set(known)) < len(known):
        return ParallelMisuse("duplicate", "inputs must be on unique devices", text, (), "name each device once")
    return None


def call_data_parallel(site: Site) -> Value | None:
    """`wrapped(x)`: the module must be on the first id; the result is on the output device."""
    assert site.receiver is not None
    held = site.held(site.receiver.value)
    if not isinstance(held, LibraryObject):
        return UNKNOWN
    module, first, output = held.part("module"), held.part("first"), held.part("output")
    assert isinstance(first, DeviceValue)
    assert isinstance(output, DeviceValue)
    device, origin = site.module_device(module)
    ids = held.part("ids")
    if not isinstance(device, Unreached) and differ(device, first.device):
        message = (
            f"module must have its parameters and buffers on device {first.device} (device_ids[0]) "
            f"but found one of them on device: {device}"
        )
        shown = str(ids.value) if isinstance(ids, Constant) else "device_ids"
        advice = f"move the module to {first.device} first"
        if device != CPU:
            advice += f", or begin device_ids with {device}, where it is"
        site.record(ParallelMisuse("module-elsewhere", message, shown, site.steps(origin, held.origin), advice))
        return UNKNOWN
    return Tensor(output.device, None, origin=output.origin)


Transfer = Callable[[Site], Value | None]

CLASSES: dict[str, Transfer] = {DATA_PARALLEL: data_parallel}

CALLS: dict[str, Transfer] = {DATA_PARALLEL: call_data_parallel}
