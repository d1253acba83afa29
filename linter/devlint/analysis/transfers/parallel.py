"""DataParallel and DistributedDataParallel: what they check is written in Python (torch/nn/parallel, 2.13).

DataParallel's constructor moves the module only when there is a single id, and otherwise checks only the ids; its
`forward` wants every parameter on the first id, scatters inputs from anywhere, and gathers on `output_device`.

DistributedDataParallel takes one id or none and moves nothing. Its constructor wants ids of no module that has
parameters on the CPU or on several devices; its `forward` moves inputs to the one id, where the module must be.
"""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.interpreter import calls
from devlint.analysis.libraries import moves
from devlint.analysis.libraries.transfer_tables import CONSTRUCTORS, FUNCTIONS, MODULE_CALLS, LibraryCall, register
from devlint.analysis.transfers import collectives
from devlint.analysis.values import modules
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.analysis.values.devices import check_use, current, literal_origin
from devlint.domain.device import (
    CPU,
    UNKNOWN_DEVICE,
    UNREACHED,
    Concrete,
    Device,
    Unreached,
    differ,
    parse,
)
from devlint.domain.heap import LibraryObject, ListObject
from devlint.domain.kinds import OriginKind, ParallelProblem, Spelling
from devlint.domain.provenance import Origin
from devlint.domain.value import (
    UNKNOWN,
    Constant,
    DeviceValue,
    Kind,
    Opaque,
    Reference,
    Tensor,
    TupleValue,
    Value,
    is_host,
)
from devlint.facts import ParallelMisuse

DATA_PARALLEL = "torch.nn.DataParallel"
DATA_PARALLEL_ONCE = "torch.nn.parallel.data_parallel"
REPLICATE = "torch.nn.parallel.replicate"
DISTRIBUTED = "torch.nn.parallel.DistributedDataParallel"

DP, DDP = "DataParallel", "DistributedDataParallel"
"""The wrappers by the names that facts have for them."""


# --- ids ----------------------------------------------------------------------------------------------------


def _ids(site: LibraryCall) -> list[Device] | None:
    """The ids as devices; None where they are not given or cannot be counted."""
    given = site.arguments.get(1, "device_ids")
    if given is None or given.value == Constant(None):
        return None
    held = site.held(given.value)
    if isinstance(held, ListObject) and held.items is None:
        return None if held.first is None else [_id(held.first), UNKNOWN_DEVICE]
    items = _items(site, given.value)
    return None if items is None else [_id(item) for item in items]


def _items(site: LibraryCall, value: Value) -> tuple[Value, ...] | None:
    """The elements of a list or tuple; None where it is neither, or where they are not known."""
    if isinstance(value, TupleValue):
        return value.items
    held = site.held(value)
    return held.items if isinstance(held, ListObject) else None


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


def _written(site: LibraryCall, position: int, name: str) -> str:
    """The source text of an argument, or nothing."""
    given = site.arguments.get(position, name)
    return "" if given is None else site.frame.text(given.span)


def _is_one_number(site: LibraryCall) -> bool:
    """Whether an ordinal is given for the list of ids."""
    given = site.value(1, "device_ids")
    return isinstance(given, Constant) and type(given.value) is int


def _misuse(
    site: LibraryCall,
    wrapper: str,
    problem: ParallelProblem,
    message: str,
    advice: str,
    *,
    ids: str | None = None,
    module: Device | None = None,
    wanted: Device | None = None,
    story: tuple[Origin | None, ...] = (),
) -> None:
    shown = _written(site, 1, "device_ids") if ids is None else ids
    site.record(ParallelMisuse(wrapper, problem, message, shown, module, wanted, site.steps(*story), advice))


def _refuses_ids(site: LibraryCall, wrapper: str, ids: list[Device]) -> bool:
    """Whether an id is refused, whatever the module: one that is no CUDA device, or that the machine lacks."""
    devices = site.frame.program.devices
    for device in ids:
        if isinstance(device, Concrete) and device.type == "cpu":
            message = f"Expected a non cpu device, but got: {device}"
            _misuse(site, wrapper, ParallelProblem.NOT_CUDA, message, "name CUDA devices only")
            return True
    if devices:
        for device in ids:
            if isinstance(device, Concrete) and device.index is not None and device.index >= devices:
                message = "Invalid device id" if wrapper == DP else "CUDA error: invalid device ordinal"
                _misuse(site, wrapper, ParallelProblem.BEYOND, message, f"this machine has {devices} devices")
                return True
    return False


def _check_number(site: LibraryCall, ids: list[Concrete]) -> None:
    """Record that literal ids need more than one device, where the program has not asked for the number of devices.

    Id 0 alone asks for nothing: DataParallel passes calls on to the module where there is no device.
    """
    given, highest = site.arguments.get(1, "device_ids"), max((one.index or 0 for one in ids), default=0)
    if given is None or highest == 0:
        return
    origin = literal_origin(
        site.frame, site.env, given.span, f"the device ids `{site.frame.text(given.span)}` come from here"
    )
    items = _items(site, given.value)
    checked = any(isinstance(item, (Constant, DeviceValue)) and item.checked for item in items or ())
    check_use(site.frame, site.env, DeviceValue(Concrete("cuda", highest), checked, origin, Spelling.IDS), given.span)


# --- DataParallel -------------------------------------------------------------------------------------------


def data_parallel(site: LibraryCall) -> Value | None:
    """`nn.DataParallel(module, device_ids, output_device)`."""
    module = site.value(0, "module") or UNKNOWN
    devices = site.frame.program.devices
    if devices == 0:
        # Without CUDA the wrapper looks at nothing and passes calls on to the module.
        return module
    wrapped = _wrapped(site, module)
    if wrapped is None:
        return UNKNOWN
    ids = _ids(site)
    alone = devices == 1 and site.arguments.get(1, "device_ids") is None
    if (alone or (ids is not None and len(ids) == 1)) and isinstance(module, Reference):
        first = wrapped.part("first")
        assert isinstance(first, DeviceValue)
        moves.move_object(site.frame, site.env, module, first, site.span, DP)
    return site.allocate(DATA_PARALLEL, wrapped)


def data_parallel_once(site: LibraryCall) -> Value | None:
    """`nn.parallel.data_parallel(module, inputs, device_ids, output_device)`: the wrapper for one call."""
    wrapped = _wrapped(replace(site, arguments=_without_inputs(site.arguments)), site.value(0, "module") or UNKNOWN)
    if wrapped is None:
        return UNKNOWN
    inputs = site.value(1, "inputs") or UNKNOWN
    given = inputs.items if isinstance(inputs, TupleValue) else (inputs,)
    return _forward(site, wrapped, Arguments(tuple(ArgumentValue(item, site.span) for item in given), ()))


def replicate(site: LibraryCall) -> Value:
    """`nn.parallel.replicate(network, devices)`: copies of a module that is on the first device."""
    devices, (device, origin) = _ids(site), site.module_device(site.value(0, "network") or UNKNOWN)
    if devices and differ(device, devices[0]):
        first = devices[0]
        message = f"All tensors must be on devices[0]: {getattr(first, 'index', 0)}"
        text, advice = _written(site, 1, "devices"), f"move the module to {first} first"
        _misuse(
            site,
            DP,
            ParallelProblem.MODULE_ELSEWHERE,
            message,
            advice,
            ids=text,
            module=device,
            wanted=first,
            story=(origin,),
        )
    return UNKNOWN


def _without_inputs(arguments: Arguments) -> Arguments:
    positional = arguments.positional[:1] + arguments.positional[2:]
    return replace(arguments, positional=positional)


def _wrapped(site: LibraryCall, module: Value) -> LibraryObject | None:
    """The wrapper of a module; None where its constructor refuses what it is given."""
    if _is_one_number(site):
        text = _written(site, 1, "device_ids")
        _misuse(site, DP, ParallelProblem.NOT_A_LIST, "'int' object is not subscriptable", f"write device_ids=[{text}]")
        return None
    ids = _ids(site)
    given = site.arguments.get(1, "device_ids")
    if ids is not None:
        if not ids:
            advice = "name at least one device, or remove `device_ids`"
            _misuse(site, DP, ParallelProblem.EMPTY, "list index out of range", advice)
            return None
        if _refuses_ids(site, DP, ids):
            return None
        known = [device for device in ids if isinstance(device, Concrete) and device.index is not None]
        if len(set(known)) < len(known):
            _misuse(site, DP, ParallelProblem.DUPLICATE, "", "name each device once")
        _check_number(site, known)
    first: Device = UNKNOWN_DEVICE
    if given is None or given.value == Constant(None):
        # All visible devices; the first is 0.
        first = Concrete("cuda", 0)
    elif ids:
        first = ids[0]
    where = first
    output = site.arguments.get(2, "output_device")
    if output is not None and output.value != Constant(None):
        where = current(site.env, _id(output.value))
        if isinstance(where, Concrete) and where.type == "cpu":
            message = f"Expected a non cpu device, but got: {where}"
            text = site.frame.text(output.span)
            _misuse(site, DP, ParallelProblem.NOT_CUDA, message, "gather the results on a CUDA device", ids=text)
            return None
    what = "wrapped in DataParallel here"
    if isinstance(where, Concrete):
        what += f", which gathers its output on {where}"
    origin = site.frame.origin(what, given.span if given is not None else site.span, OriginKind.MODULE)
    parts = (
        ("module", module),
        ("first", DeviceValue(first, True, origin)),
        ("output", DeviceValue(where, True, origin)),
        ("ids", Constant("" if given is None else site.frame.text(given.span))),
    )
    return LibraryObject(DATA_PARALLEL, UNKNOWN_DEVICE, origin, parts)


def call_data_parallel(site: LibraryCall) -> Value | None:
    """`wrapped(x)`: the module must be on the first id; the result is on the output device."""
    assert site.receiver is not None
    held = site.held(site.receiver.value)
    return _forward(site, held, site.arguments) if isinstance(held, LibraryObject) else UNKNOWN


def _forward(site: LibraryCall, held: LibraryObject, arguments: Arguments) -> Value | None:
    module, first, output, ids = (held.part(name) for name in ("module", "first", "output", "ids"))
    assert isinstance(first, DeviceValue)
    assert isinstance(output, DeviceValue)
    assert isinstance(ids, Constant)
    device, origin = site.module_device(module)
    if not isinstance(device, Unreached) and differ(device, first.device):
        message = (
            f"module must have its parameters and buffers on device {first.device} (device_ids[0]) "
            f"but found one of them on device: {device}"
        )
        advice = f"move the module to {first.device} first"
        if device != CPU:
            advice += f", or begin device_ids with {device}, the device of the module"
        _misuse(
            site,
            DP,
            ParallelProblem.MODULE_ELSEWHERE,
            message,
            advice,
            ids=str(ids.value),
            module=device,
            wanted=first.device,
            story=(origin, held.origin),
        )
        return UNKNOWN
    result = _replica(site, module, first, arguments)
    if result is None:
        return None
    if isinstance(result, Tensor) and result.device == CPU:
        message = "Gather function not implemented for CPU tensors"
        _misuse(
            site,
            DP,
            ParallelProblem.RESULT_ON_CPU,
            message,
            "return the result on its GPU, and move it after the call",
            ids=str(ids.value),
            story=(result.origin,),
        )
        return UNKNOWN
    if isinstance(result, TupleValue):
        return TupleValue(tuple(_gathered(item, output) for item in result.items), result.names)
    return Tensor(output.device, None, origin=output.origin)


def _gathered(value: Value, output: DeviceValue) -> Value:
    return Tensor(output.device, None, origin=output.origin) if isinstance(value, Tensor) else UNKNOWN


def _replica(site: LibraryCall, module: Value, first: DeviceValue, arguments: Arguments) -> Value | None:
    """What the module returns on the first device, which is the current one for it."""
    if not isinstance(first.device, Concrete) or not isinstance(module, Reference):
        return UNKNOWN
    before, site.env.current = site.env.current, first.device.index
    function = site.receiver or ArgumentValue(module, site.span)
    inside = scattered(arguments, first)
    result = calls.invoke(site.frame, site.env, replace(function, value=module), inside, site.span)
    site.env.current = before
    return result


def scattered(arguments: Arguments, target: DeviceValue) -> Arguments:
    """The arguments as a module gets them whose inputs are moved to its device first."""
    positional = tuple(replace(given, value=_scattered(given.value, target)) for given in arguments.positional)
    keywords = tuple(
        (name, replace(given, value=_scattered(given.value, target))) for name, given in arguments.keywords
    )
    return replace(arguments, positional=positional, keywords=keywords)


def _scattered(value: Value, target: DeviceValue) -> Value:
    match value:
        case Tensor():
            return Tensor(target.device, value.rank, origin=target.origin)
        case Opaque(kind=Kind.TENSOR):
            return Tensor(target.device, None, origin=target.origin)
        case TupleValue():
            return TupleValue(tuple(_scattered(item, target) for item in value.items), value.names)
        case _ if is_host(value):
            return value
        case _:
            return UNKNOWN


# --- DistributedDataParallel --------------------------------------------------------------------------------


def distributed(site: LibraryCall) -> Value | None:
    """`nn.parallel.DistributedDataParallel(module, device_ids, output_device)`."""
    module = site.value(0, "module") or UNKNOWN
    ids = _ids(site)
    if _refuses_distributed(site, module, ids):
        return UNKNOWN
    target: Device = ids[0] if ids is not None and len(ids) == 1 else UNREACHED
    given = site.arguments.get(1, "device_ids")
    if ids is None and given is not None and given.value != Constant(None):
        target = UNKNOWN_DEVICE
    text = "" if given is None else site.frame.text(given.span)
    span = given.span if given is not None else site.span
    origin = site.frame.origin("wrapped in DistributedDataParallel here", span, OriginKind.MODULE)
    parts = (("module", module), ("target", DeviceValue(target, True, origin)), ("ids", Constant(text)))
    return site.allocate(DISTRIBUTED, LibraryObject(DISTRIBUTED, UNREACHED, origin, parts))


def _refuses_distributed(site: LibraryCall, module: Value, ids: list[Device] | None) -> bool:
    """Whether the constructor raises for these ids, or for this module with them."""
    if _is_one_number(site):
        text = _written(site, 1, "device_ids")
        _misuse(
            site, DDP, ParallelProblem.NOT_A_LIST, "object of type 'int' has no len()", f"write device_ids=[{text}]"
        )
        return True
    if ids is not None and len(ids) > 1:
        message = "device_ids can only be None or contain a single element."
        _misuse(
            site, DDP, ParallelProblem.SEVERAL, message, "start one process for each device, and name only its device"
        )
        return True
    return bool(ids and _refuses_ids(site, DDP, ids)) or _refuses_module(site, module, ids)


def _refuses_module(site: LibraryCall, module: Value, ids: list[Device] | None) -> bool:
    places: dict[Device, Origin | None] = {}
    for device, origin in modules.state(site.frame, site.env, module, buffers=False):
        places.setdefault(device, origin)
    known = [device for device in places if isinstance(device, Concrete)]
    if not known or len(known) < len(places):
        return False
    story = tuple(places.values())
    types = {device.type for device in known}
    if len(types) > 1:
        message = "DistributedDataParallel's input module must be on the same type of devices"
        _misuse(site, DDP, ParallelProblem.SEVERAL_TYPES, message, "move the whole module to one device", story=story)
        return True
    asked = _asked(site, ids)
    several = any(differ(one, other) for one in known for other in known)
    if types == {"cpu"}:
        if asked is None:
            collectives.meet(site, _written(site, 0, "module"), CPU, story[0])
        problem, advice = (
            ParallelProblem.MODULE_ON_CPU,
            "move the module to a CUDA device before this line; or remove `device_ids` and `output_device`, without "
            "which PyTorch accepts a module on the CPU",
        )
    elif several:
        problem, advice = (
            ParallelProblem.SEVERAL_DEVICES,
            "remove `device_ids` and `output_device`: then each part of the module keeps its device",
        )
    else:
        problem, advice = ParallelProblem.OUTPUT_WITHOUT_IDS, "pass `device_ids` too, or remove `output_device`"
    if asked is None or (problem == ParallelProblem.OUTPUT_WITHOUT_IDS and ids):
        return False
    message = (
        "DistributedDataParallel device_ids and output_device arguments only work with "
        "single-device/multiple-device GPU modules or CPU modules"
    )
    where = None if several else known[0]
    _misuse(site, DDP, problem, message, advice, ids=asked, module=where, story=story)
    return True


def _asked(site: LibraryCall, ids: list[Device] | None) -> str | None:
    """The argument that names a device for the module, with its keyword; None if none does for certain."""
    if ids:
        return f"device_ids={_written(site, 1, 'device_ids')}"
    given, output = site.value(1, "device_ids"), site.value(2, "output_device")
    has_none = given is None or given == Constant(None) or ids == []
    names = isinstance(output, DeviceValue) or (isinstance(output, Constant) and bool(output.value))
    return f"output_device={_written(site, 2, 'output_device')}" if has_none and names else None


def call_distributed(site: LibraryCall) -> Value | None:
    """`wrapped(x)`: with an id, inputs are moved to it, where the module must be; without, they stay."""
    assert site.receiver is not None
    held = site.held(site.receiver.value)
    if not isinstance(held, LibraryObject):
        return UNKNOWN
    module, target, ids = held.part("module"), held.part("target"), held.part("ids")
    assert isinstance(target, DeviceValue)
    assert isinstance(ids, Constant)
    device, origin = site.module_device(module)
    if not isinstance(device, Unreached) and differ(device, target.device):
        _misuse(
            site,
            DDP,
            ParallelProblem.MODULE_ELSEWHERE,
            "Expected all tensors to be on the same device",
            f"move the module to {target.device} first, or name {device} in device_ids",
            ids=str(ids.value),
            module=device,
            wanted=target.device,
            story=(origin, held.origin),
        )
        return UNKNOWN
    arguments = site.arguments if isinstance(target.device, Unreached) else scattered(site.arguments, target)
    return calls.invoke(site.frame, site.env, replace(site.receiver, value=module), arguments, site.span)


register(FUNCTIONS, {DATA_PARALLEL_ONCE: data_parallel_once, REPLICATE: replicate})

register(CONSTRUCTORS, {DATA_PARALLEL: data_parallel, DISTRIBUTED: distributed})

register(MODULE_CALLS, {DATA_PARALLEL: call_data_parallel, DISTRIBUTED: call_distributed})
