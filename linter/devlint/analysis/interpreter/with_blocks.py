"""Context managers that redirect where things are created."""

from __future__ import annotations

from devlint.analysis.execution.frame import DeviceScope, Frame
from devlint.analysis.values.devices import as_device
from devlint.domain.device import Concrete
from devlint.domain.environment import Environment
from devlint.domain.heap import Instance, LibraryObject
from devlint.domain.value import UNKNOWN, Constant, DeviceValue, Opaque, Reference, Value
from devlint.frontend import ir
from devlint.torchlib.knowledge import DEVICE_SCOPE


def enter(frame: Frame, instruction: ir.With, env: Environment) -> DeviceScope:
    """Applies a context manager to the environment of its body, says what `as` binds, and returns what it puts back."""
    scope = DeviceScope()
    context = frame.registers[instruction.context]
    span = frame.spans[instruction.context]
    result: Value = UNKNOWN
    match context:
        case DeviceValue():
            scope = DeviceScope(default=env.default)
            env.default = as_device(frame, env, context, span).device
        case Opaque() | Constant():
            pass
        case Reference():
            held = env.heap.get(context.object)
            if isinstance(held, LibraryObject) and held.cls == DEVICE_SCOPE:
                scope = DeviceScope(current=env.current)
                env.current = _ordinal(frame, env, held, span)
            elif isinstance(held, Instance):
                result = UNKNOWN
            else:
                result = context
        case _ if context == UNKNOWN:
            # An unknown context may be a device scope of the program's own; most are files, locks and modes.
            pass
        case _:
            result = context
    frame.set(instruction.result, result, span)
    return scope


def _ordinal(frame: Frame, env: Environment, scope: LibraryObject, span: ir.Span) -> int | None:
    value = scope.part("device")
    if isinstance(value, Constant) and (type(value.value) is not int or value.value < 0):
        value = UNKNOWN if not isinstance(value.value, str) else value
    device = as_device(frame, env, value, span).device
    if isinstance(device, Concrete) and device.type == "cuda":
        return device.index if device.index is not None else env.current
    return None
