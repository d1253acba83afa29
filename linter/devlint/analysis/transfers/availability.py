"""Devices themselves: making them, counting them, choosing the current and the default one.

Signatures describe where tensors go. Here the results are devices and truth values, or the effect is on the
program's own state.
"""

from __future__ import annotations

from devlint.analysis.libraries.transfer_tables import CONSTRUCTORS, FUNCTIONS, LibraryCall, register
from devlint.analysis.values import visible_devices
from devlint.analysis.values.arguments import ArgumentValue
from devlint.analysis.values.devices import as_device, literal_origin, numbered
from devlint.analysis.values.narrowing import present
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Concrete
from devlint.domain.heap import LibraryObject
from devlint.domain.kinds import Spelling
from devlint.domain.value import (
    NUMBER,
    NUMBER_OF_DEVICES,
    UNKNOWN,
    Constant,
    DeviceValue,
    Host,
    Library,
    Predicate,
    Present,
    Value,
)
from devlint.facts import InvalidDevice
from devlint.torchlib.knowledge import AUTOCAST, DEVICE_SCOPE

_CHANGES_VARIABLES = (
    *(f"os.environ.{name}" for name in ("update", "setdefault", "pop", "clear")),
    *("os.putenv", "os.unsetenv"),
)


def is_available(site: LibraryCall) -> Value:
    """Whether there is an accelerator: a check."""
    return present(site.frame.program.devices)


def is_initialized(site: LibraryCall) -> Value:
    """Whether CUDA has started: only where there is a device, but not wherever there is one."""
    return Predicate((Present(True),), (), False if site.frame.program.devices == 0 else None)


def device_count(site: LibraryCall) -> Value:
    """How many devices there are: comparing it is a check."""
    devices = site.frame.program.devices
    return NUMBER_OF_DEVICES if devices is None else Constant(devices)


def make_device(site: LibraryCall) -> Value:
    """`torch.device("cuda:1")`, `torch.device("cuda", 1)`, `torch.device(1)`; harmless by itself."""
    given = site.arguments.get(0, "type") or site.arguments.keyword("device")
    if given is None:
        return DeviceValue(UNKNOWN_DEVICE)
    found = as_device(site.frame, site.env, given.value, given.span, used=False)
    index = site.value(1, "index")
    written = given.value.value if isinstance(given.value, Constant) else None
    if index is not None and isinstance(written, str) and ":" in written:
        message = f"type (string) must not include an index because index was passed explicitly: {written}"
        site.record(InvalidDevice(site.frame.text(site.span), message))
        return DeviceValue(UNKNOWN_DEVICE)
    if isinstance(index, Constant) and isinstance(index.value, int) and isinstance(found.device, Concrete):
        origin = literal_origin(
            site.frame, site.env, site.span, f"the device `{site.frame.text(site.span)}` comes from here"
        )
        return DeviceValue(Concrete(found.device.type, index.value), found.checked, origin, Spelling.STRING)
    if isinstance(index, Host) and found.device == Concrete("cuda"):
        return numbered(index)
    if index is not None and isinstance(found.device, Concrete):
        return DeviceValue(Concrete(found.device.type), True)
    return found


def set_device(site: LibraryCall) -> Value:
    """`torch.cuda.set_device(i)`: `cuda` without an index is that one from now on."""
    given = site.arguments.get(0, "device")
    site.env.current = None if given is None else ordinal(site, given)
    if given is not None and not isinstance(given.value, Constant):
        site.env.checked = True  # who runs the program has named a device
    return Constant(None)


def ordinal(site: LibraryCall, given: ArgumentValue) -> int | None:
    """The ordinal that a device argument of `torch.cuda` names, None if it is not known; negative ones do nothing."""
    value = given.value
    if isinstance(value, Constant) and (type(value.value) not in (int, str) or value.value == -1):
        return site.env.current
    found = as_device(site.frame, site.env, value, given.span).device
    return found.index if isinstance(found, Concrete) else None


def set_default_device(site: LibraryCall) -> Value:
    """`torch.set_default_device(d)`: factories create there from now on; None is the CPU."""
    given = site.arguments.get(0, "device")
    if given is None or given.value == Constant(None):
        site.env.default = CPU
    else:
        site.env.default = as_device(site.frame, site.env, given.value, given.span).device
    return Constant(None)


def set_default_tensor_type(site: LibraryCall) -> Value:
    """`torch.set_default_tensor_type("torch.cuda.FloatTensor")` makes the current CUDA device the default."""
    value = site.value(0, "t")
    name = legacy_name(value)
    if name is None:
        site.env.default = UNKNOWN_DEVICE
    elif ".cuda." in name:
        site.env.default = legacy_cuda(site, value).device
    else:
        site.env.default = CPU
    return Constant(None)


def legacy_name(value: Value | None) -> str | None:
    """The name of what is given for a type of tensors, as a class or as text."""
    name = value.name if isinstance(value, Library) else value.value if isinstance(value, Constant) else None
    return name if isinstance(name, str) else None


def legacy_cuda(site: LibraryCall, named: Value | None) -> DeviceValue:
    """The device of `torch.cuda.FloatTensor` where it stands for a place: the current one."""
    origin = literal_origin(site.frame, site.env, site.span, f"`{site.frame.text(site.span)}` is called here")
    checked = isinstance(named, (Library, Constant)) and named.checked
    found = DeviceValue(Concrete("cuda"), checked, origin, Spelling.STRING)
    return as_device(site.frame, site.env, found, site.span)


def current_device(site: LibraryCall) -> Value:
    """The ordinal of the current device."""
    return NUMBER if site.env.current is None else Constant(site.env.current, True)


def current_accelerator(site: LibraryCall) -> Value:
    """`torch.accelerator.current_accelerator()`: the accelerator's device, without an index."""
    return DeviceValue(Concrete("cuda"), True)


def device_scope(site: LibraryCall) -> Value:
    """`torch.cuda.device(i)`: a scope that makes a device the current one."""
    given = site.arguments.get(0, "device")
    value = UNKNOWN if given is None else given.value
    return site.allocate("scope", LibraryObject(DEVICE_SCOPE, CPU, None, (("device", value),)))


def autocast(site: LibraryCall) -> Value:
    """`torch.autocast(device_type)`: a mode for one type of device, which does nothing on any other."""
    given = site.value(0, "device_type") if site.name != "torch.cuda.amp.autocast" else Constant("cuda")
    enabled = site.value(2 if site.name != "torch.cuda.amp.autocast" else 0, "enabled")
    kind = UNKNOWN if given is None or enabled == Constant(False) else given
    return site.allocate(AUTOCAST, LibraryObject(AUTOCAST, CPU, None, (("device_type", kind),)))


def change_variables(site: LibraryCall) -> Value:
    """`os.environ.update(…)` and its like: which variables they change is not followed."""
    key = site.value(0, "key")
    if not isinstance(key, Constant) or key.value == visible_devices.VARIABLE:
        visible_devices.store(site.frame, site.env, Constant(visible_devices.VARIABLE), None, site.span)
    return UNKNOWN


register(
    FUNCTIONS,
    {
        "torch.cuda.is_available": is_available,
        "torch.accelerator.is_available": is_available,
        "torch.backends.mps.is_available": is_available,
        "torch.backends.mps.is_built": is_available,
        "torch.backends.cuda.is_built": is_available,
        "torch.mps.is_available": is_available,
        "torch.xpu.is_available": is_available,
        "torch.cuda.is_initialized": is_initialized,
        "torch.cuda.device_count": device_count,
        "torch.accelerator.device_count": device_count,
        "torch.device": make_device,
        "torch.cuda.set_device": set_device,
        "torch.accelerator.set_device_index": set_device,
        "torch.set_default_device": set_default_device,
        "torch.set_default_tensor_type": set_default_tensor_type,
        "torch.cuda.current_device": current_device,
        "torch.accelerator.current_device_index": current_device,
        "torch.accelerator.current_accelerator": current_accelerator,
        **dict.fromkeys(_CHANGES_VARIABLES, change_variables),
    },
)

register(
    CONSTRUCTORS,
    {
        "torch.device": make_device,
        DEVICE_SCOPE: device_scope,
        "torch.autocast": autocast,
        "torch.amp.autocast": autocast,
        "torch.cuda.amp.autocast": autocast,
    },
)
