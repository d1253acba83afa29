"""Abstract values in the one notation that `reveal_device`, `devlint facts` and messages share."""

from __future__ import annotations

from devlint.analysis.conflicts import resolve
from devlint.analysis.frame import Frame
from devlint.analysis.moves import is_module, state
from devlint.domain.device import Device, UnknownDevice
from devlint.domain.environment import Environment
from devlint.domain.heap import Dictionary, Instance
from devlint.domain.heap import Sequence as SequenceObject
from devlint.domain.value import Constant, DeviceValue, ObjectId, Opaque, Reference, Tensor, Tuple, Value, is_host


def reveal(frame: Frame, env: Environment, value: Value, inside: frozenset[ObjectId] = frozenset()) -> str:
    """Where a value lives: `cuda:0`, `[cpu, cuda:0]`, `unknown`; `not a tensor` for what lives nowhere.

    `inside`: the containers that hold it; one that holds itself is shown once.
    """
    match value:
        case Tensor() | Opaque():
            return _device(resolve(env, value.device))
        case DeviceValue():
            return _device(value.device)
        case Tuple(items=items):
            inner = ", ".join(reveal(frame, env, item, inside) for item in items)
            return f"({inner},)" if len(items) == 1 else f"({inner})"
        case Reference():
            return "..." if value.object in inside else _object(frame, env, value, inside | {value.object})
        case _ if is_host(value):
            return "not a tensor"
        case _:
            return "unknown"


def _device(device: Device) -> str:
    return "unknown" if isinstance(device, UnknownDevice) else str(device)


def _object(frame: Frame, env: Environment, value: Reference, inside: frozenset[ObjectId]) -> str:
    if is_module(frame, env, value):
        devices = sorted({_device(device) for device, _ in state(frame, env, value)})
        return " and ".join(devices) if devices else "no parameters"
    match env.heap.get(value.object):
        case SequenceObject(items=items) if items is not None:
            return f"[{', '.join(reveal(frame, env, item, inside) for item in items)}]"
        case SequenceObject(rest=rest):
            return f"[{reveal(frame, env, rest, inside)}, ...]"
        case Dictionary(items=pairs):
            return "{" + ", ".join(f"{key!r}: {reveal(frame, env, item, inside)}" for key, item in pairs) + "}"
        case Instance():
            return "not a tensor"
        case _:
            return "unknown"


def interesting(value: Value) -> bool:
    """Whether `devlint facts` lists a value: it lives on a device, or names one."""
    if isinstance(value, Constant):
        return value.origin is not None and isinstance(value.value, str)
    return isinstance(value, (Tensor, DeviceValue, Reference)) or (isinstance(value, Opaque) and "@" in value.path)
