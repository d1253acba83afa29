"""Values used as devices: strings, ordinals, `torch.device` objects, and what using one may get wrong."""

from __future__ import annotations

import re
from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.values import visible_devices
from devlint.domain.body import Body
from devlint.domain.device import UNKNOWN_DEVICE, Concrete, Device, Variable, complaint, is_symbolic, parse
from devlint.domain.environment import Environment
from devlint.domain.kinds import OriginKind, Spelling
from devlint.domain.place import AccessPath
from devlint.domain.provenance import Origin
from devlint.domain.size import LARGEST_NUMBER
from devlint.domain.value import Closure, Constant, DeviceType, DeviceValue, Host, Library, Opaque, Value
from devlint.facts import InvalidDevice, UncheckedDevice
from devlint.frontend.ir import Function, Span
from devlint.torchlib.knowledge import (
    NEEDS_CUDA,
    NEVER_BESIDE_CUDA,
    NOTHING_BEHIND_WITHOUT_CUDA,
    PLUGIN_DEVICES,
    STARTS_CUDA,
)

BEYOND_ALL = "CUDA error: invalid device ordinal"
"""What PyTorch says of an ordinal that is not less than the number of devices (torch 2.13)."""

CUDA_FORMATS = frozenset({"cuda:{}", "cuda:%d", "cuda:%i", "cuda:%s"})
"""Texts that name a CUDA device, once its ordinal is put in."""

_LOOKS_LIKE_DEVICE = re.compile(r"(cpu|cuda|gpu|mps|xpu)\b", re.IGNORECASE)

_FOR_CUDA = re.compile(r"(^|\.)((\w*_)?(?<!no_)(?<!without_)(cuda|gpu)|(cuda|gpu)_\w+)(\.|$)")
"""A function so named, or within one, says itself what it needs: `batch.cuda()`, `dtw_cuda(x)`."""

_FILE_FOR_CUDA = re.compile(r"(^|[/\\_])(?<!no_)(?<!without_)(cuda|gpu)(_[^/\\]*)?\.(py|ipynb)$")
"""So does a file."""

_IMPORTS_FOR_CUDA = re.compile(r"^(import|from) (apex|cupy|cutlass|deepspeed|pycuda|tensorrt|triton)\b", re.MULTILINE)
"""So does a file that cannot be imported without a library for such devices."""


def as_device(frame: Frame, env: Environment, value: Value, span: Span, *, used: bool = True) -> DeviceValue:
    """The device that a value names where PyTorch wants a device; `used`: something is put there now.

    Records a string that no device has, and a CUDA device that is used though nobody asked whether it is there.
    """
    found = _named(frame, env, value, span)
    if used:
        check_use(frame, env, found, span)
    return found


def _named(frame: Frame, env: Environment, value: Value, span: Span) -> DeviceValue:
    match value:
        case DeviceValue():
            return value
        case Constant(is_text=True, value=str() as text):
            device = parse(text)
            if device is None and text.partition(":")[0] in PLUGIN_DEVICES:
                return DeviceValue(UNKNOWN_DEVICE)
            if device is None:
                where = value.origin.span if value.origin is not None else span
                if not env.fallback:
                    frame.record(where, InvalidDevice(repr(text), complaint(text)))
                return DeviceValue(UNKNOWN_DEVICE)
            return DeviceValue(device, value.checked, value.origin)
        case Constant(value=bool()):
            return DeviceValue(UNKNOWN_DEVICE)
        case Constant(value=int() as ordinal):
            if ordinal < 0:
                frame.record(span, InvalidDevice(str(ordinal), "Device index must not be negative"))
                return DeviceValue(UNKNOWN_DEVICE)
            return DeviceValue(Concrete("cuda", ordinal), value.checked, value.origin, Spelling.INDEX)
        case Opaque():
            return DeviceValue(_device_of_opaque(value), True, value.origin)
        case Library(name=name) if name.endswith("device"):
            return DeviceValue(Variable(AccessPath.of_dotted(name)), True)
        case DeviceType(device=Concrete() as device):
            return DeviceValue(Concrete(device.type), True)
        case Host(kind="count" | "number"):
            return numbered(value)
        case _:
            return DeviceValue(UNKNOWN_DEVICE)


def numbered(ordinal: Value) -> DeviceValue:
    """Return the CUDA device with a computed ordinal; no machine has the one with the number of its devices."""
    if isinstance(ordinal, Host) and ordinal.excess is not None and ordinal.excess >= 0:
        return DeviceValue(UNKNOWN_DEVICE, True, written=Spelling.COMPUTED, beyond=True)
    return DeviceValue(Concrete("cuda"), True, written=Spelling.COMPUTED)


def _device_of_opaque(value: Opaque) -> Device:
    """The device that a parameter or setting names: it is a device variable of its own."""
    return value.device if is_symbolic(value.device) else Variable(value.path)


def current(env: Environment, device: Device) -> Device:
    """`cuda` without an index is the current device at the moment of use."""
    if device == Concrete("cuda"):
        return Concrete("cuda", env.current)
    return device


def placed(frame: Frame, env: Environment, value: Value, span: Span) -> DeviceValue:
    """As `as_device`, for putting something there: `cuda` has become the current device."""
    found = as_device(frame, env, value, span)
    frame.follow(found.device)
    return replace(found, device=landing(env, found))


def landing(env: Environment, found: DeviceValue) -> Device:
    """Where something put there lands; one of which the ordinal is computed is some CUDA device, not the current."""
    return found.device if found.written is Spelling.COMPUTED else current(env, found.device)


def default_device(env: Environment) -> Device:
    """Where factories create tensors that are not told."""
    return current(env, env.default)


def check_use(frame: Frame, env: Environment, found: DeviceValue, span: Span) -> None:
    """Record the use of a CUDA device that may not be there, that the program has hidden, or that no machine has."""
    device, origin = found.device, found.origin
    if found.beyond and not env.fallback:
        frame.record(span, InvalidDevice(frame.text(span), BEYOND_ALL))
    if isinstance(device, Concrete) and device.type in NEVER_BESIDE_CUDA and frame.program.devices:
        if not (found.checked or env.checked or env.fallback):
            frame.record(span, InvalidDevice(frame.text(span), NEVER_BESIDE_CUDA[device.type]))
        return
    if not isinstance(device, Concrete) or device.type != "cuda":
        return
    devices = frame.program.devices
    excused = found.checked or env.checked or frame.answered > 0 or (devices is None and _is_for_cuda(frame))
    # A check for CUDA proves that some device is visible, not which one.
    looked = not frame.answered and (not excused or bool(env.process.visible))
    hidden = looked and not env.fallback and visible_devices.is_hidden(frame, env, device, span)
    visible_devices.start(frame, env, span, f"{device} is used here")
    lacks = devices is not None and (device.index or 0) >= devices
    if origin is None or hidden or (devices is not None and not lacks):
        return
    # Where the machine is known, an index that it lacks is wrong however the code has made sure of CUDA.
    if excused and not (lacks and devices):
        return
    frame.uses.append(found)
    available = devices if lacks else None
    doubts = _users(frame) if devices is None else ()
    if origin.file == frame.file:
        use = None if origin.span == span else frame.program.place(frame.file, span)
        text = frame.text(origin.span)
        frame.record(origin.span, UncheckedDevice(device, found.written, text, use, available), doubts)
    else:
        frame.record(span, UncheckedDevice(device, found.written, frame.text(span), None, available), doubts)


def _users(frame: Frame) -> tuple[Body, ...]:
    """The executed function, and the constructor of its class, of which something may only be called behind checks."""
    init = None if frame.owner is None else frame.owner.attributes.get("__init__")
    own = (frame.body,) if isinstance(frame.scope, Function) else ()
    return (*own, Body.of(init.globals.file, init.function)) if isinstance(init, Closure) else own


def _is_for_cuda(frame: Frame) -> bool:
    """Whether the executed function or its file says by its name, or by what the file imports, that it is for CUDA."""
    named = _FOR_CUDA.search(frame.scope.name) is not None or _FILE_FOR_CUDA.search(frame.file) is not None
    return named or frame.file_says(_IMPORTS_FOR_CUDA)


def check_call(frame: Frame, env: Environment, name: str, span: Span) -> None:
    """A function of torch is called that needs CUDA, which is certain to fail on a machine that is known to lack it."""
    if name in STARTS_CUDA:
        visible_devices.start(frame, env, span, f"`{name}` is called here")
    if name.endswith(".synchronize"):
        env.arriving = frozenset()
    if name in NEEDS_CUDA and frame.program.devices == 0 and not env.checked:
        frame.record(span, UncheckedDevice(Concrete("cuda"), Spelling.CALL, frame.text(span), None, 0))


def note_called(env: Environment, name: str) -> None:
    """A function of a library has been called: what stands behind some is only reached where there is a device."""
    env.checked = env.checked or name in NOTHING_BEHIND_WITHOUT_CUDA


def check_default(frame: Frame, env: Environment, span: Span) -> None:
    """Something is created on the default device, which may be CUDA on a machine that is known to lack it."""
    lacks = frame.program.devices == 0 and not env.checked
    if lacks and isinstance(env.default, Concrete) and env.default.type == "cuda":
        frame.record(span, UncheckedDevice(Concrete("cuda"), Spelling.CALL, frame.text(span), None, 0))


def note_literal(frame: Frame, env: Environment, value: object, span: Span) -> Constant:
    """A literal of the source; one that can name a device remembers where it stands and what was known there."""
    if isinstance(value, str) and len(value) < 24 and _LOOKS_LIKE_DEVICE.match(value):
        named_here = f" `{value}`" if parse(value) is not None else ""  # not so `"cuda:%d"`, of which a device is made
        return Constant(value, env.checked, literal_origin(frame, env, span, f"the device{named_here} comes from here"))
    if type(value) is int and value <= LARGEST_NUMBER:
        return Constant(value, False, literal_origin(frame, env, span, f"the device `{value}` comes from here"))
    return Constant(value)


def literal_origin(frame: Frame, env: Environment, span: Span, what: str) -> Origin:
    """Where a device was written."""
    return frame.origin(what, span, OriginKind.UNKNOWN, checked=env.checked)


def named(text: Constant) -> Device:
    """The device that a constant names."""
    found = parse(text.value) if isinstance(text.value, str) else None
    return UNKNOWN_DEVICE if found is None else found
