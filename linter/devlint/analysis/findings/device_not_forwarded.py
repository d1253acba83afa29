"""Who is given a device and does not pass it on: a module is built without the device that its builder was given.

A module that keeps its device (`self.device = device`) goes on working there, wherever it is moved. If such a module
is built without a device where there is one to give, it keeps its default.
"""

from __future__ import annotations

import re

from devlint.analysis.execution.frame import Construction, Frame
from devlint.analysis.index import classes
from devlint.analysis.values.arguments import Arguments
from devlint.domain.device import CPU, Concrete, Variable
from devlint.domain.environment import Environment
from devlint.domain.heap import Instance
from devlint.domain.place import AccessPath
from devlint.domain.value import Closure, Constant, DeviceValue, Method, ObjectId, Opaque, Reference, UserClass, Value
from devlint.facts import IgnoredDevice, UnforwardedDevice
from devlint.frontend.ir import Function, Span

DEVICE = "device"
"""The name of the parameter in question."""

_DEVICE = AccessPath(DEVICE)


def note_call(frame: Frame, function: Value, arguments: Arguments, span: Span) -> None:
    """Notes that the executed function passes on the device it was given, or puts something on another one."""
    given = arguments.keyword(DEVICE)
    if given is not None and given.place == _DEVICE and _takes_device(frame):
        frame.forwards = True
    if given is None and isinstance(function, Method) and function.name == "to":
        given = arguments.first()
    if given is not None and _OWN_DEVICE.fullmatch(frame.text(given.span)):
        _note_ignored(frame, frame.text(given.span), span)


_OWN_DEVICE = re.compile(r"self\._?device")


def _note_ignored(frame: Frame, used: str, span: Span) -> None:
    """Notes that a method names a device of its object, and never looks at the one it is given.

    What a base class asks for need not be of use to each class below it.
    """
    function, owner = frame.scope, frame.owner
    if not isinstance(function, Function) or owner is None:
        return
    parameter = next((one for one in function.parameters if one.name == DEVICE), None)
    name = function.name.rpartition(".")[2]
    if parameter is None or name.startswith("__") or classes.is_defined_above(owner, name):
        return
    if not classes.loads(function.body, DEVICE):
        place = frame.program.place(frame.file, parameter.span)
        frame.record(span, IgnoredDevice(DEVICE, used, place))


def _takes_device(frame: Frame) -> bool:
    return isinstance(frame.scope, Function) and any(one.name == DEVICE for one in frame.scope.parameters)


def note_construction(
    frame: Frame, cls: UserClass, init: Closure, arguments: Arguments, made: ObjectId, span: Span
) -> None:
    """Notes that an object is made of a class whose constructor takes a device; `arguments` begin with the object."""
    parameters = init.function.parameters
    position = next((i for i, one in enumerate(parameters) if one.name == DEVICE), None)
    if position is None or not parameters[position].has_default or not arguments.exact or not classes.is_module(cls):
        return
    by_position = parameters[position].kind != "keyword" and len(arguments.positional) > position
    given = by_position or arguments.keyword(DEVICE) is not None
    frame.constructions[span] = Construction(cls, made, given)


def note_unforwarded(frame: Frame, env: Environment) -> None:
    """Notes, where an execution ends, which modules it has built without the device that it had to give."""
    has_device = frame.forwards or (_takes_device(frame) and _is_kept(frame, env))
    given = {one.cls for one in frame.constructions.values() if one.given}
    for span, one in frame.constructions.items():
        held = env.heap.get(one.made)
        if one.given or not isinstance(held, Instance) or not (has_device or one.cls in given):
            continue
        kept = _default(held)
        if kept is None:
            continue
        attribute, device = kept
        if held.moved is not None and (device is None or classes.moves_itself(one.cls)):
            continue  # without a device of its own, or moving that as well, it is where it was moved
        name = one.cls.name.rpartition(".")[2]
        frame.record(span, UnforwardedDevice(frame.text(span), name, f"self.{attribute}", device))


def _is_kept(frame: Frame, env: Environment) -> bool:
    """Whether the object whose method is executed keeps the device that it is given."""
    assert isinstance(frame.scope, Function)
    receiver = env.names.get(frame.scope.parameters[0].name)
    held = env.heap.get(receiver.object) if isinstance(receiver, Reference) else None
    return isinstance(held, Instance) and any(_is_given(value) for _, value in held.attributes)


def _is_given(value: Value) -> bool:
    match value:
        case Opaque(path=path):
            return path == _DEVICE
        case DeviceValue(device=Variable(place=place)):
            return place == _DEVICE
        case _:
            return False


def _default(held: Instance) -> tuple[str, Concrete | None] | None:
    """The attribute in which an object keeps the default of its device, and that default; None if there is none."""
    for name, value in held.attributes:
        if DEVICE not in name or name in held.registered:
            continue
        match value:
            case Constant(is_none=True):
                return name, None
            case Constant(value="cpu") | DeviceValue(device=Concrete(type="cpu")):
                return name, CPU
            case _:
                pass
    return None
