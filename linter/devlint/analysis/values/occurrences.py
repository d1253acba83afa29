"""What each value is and where it lives, at each place of the source where it stands: for people to look at.

Nothing is concluded here. After an instruction of the recording pass, what its register or name then holds is
put into words. An occurrence is anchored to the part of an expression that is the value's own: the name in
`x`, `fc` in `self.fc`, `zeros` in `torch.zeros(3)`, the brackets in `net(x)`, the operator in `a + b`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from devlint.analysis.execution.frame import Frame
from devlint.analysis.values import modules
from devlint.analysis.values.operands import resolve, step
from devlint.analysis.values.show import reveal
from devlint.domain.device import UNKNOWN_DEVICE, Device, UnknownDevice, parse
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Instance, LibraryObject, ListObject
from devlint.domain.kinds import TensorRole
from devlint.domain.provenance import Origin
from devlint.domain.value import (
    Constant,
    DeviceValue,
    Kind,
    MaybeNone,
    ObjectId,
    Opaque,
    Reference,
    Tensor,
    TupleValue,
    Value,
)
from devlint.facts import Occurrence
from devlint.frontend import ir
from devlint.records import dataclass

MOST_STEPS = 6
"""A story has at most so many steps; a large module has one for each of its parts."""

_Lives = tuple[Device, Origin | None]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a value is, the class it is of, and where its parts live."""

    kind: str
    lives: tuple[_Lives, ...]
    of: str = ""


def observe(frame: Frame, instruction: ir.Instruction, env: Environment) -> None:
    """Records what an instruction has computed or stored, if that lives on a device or names one."""
    match instruction:
        case ir.Load(target=register, name=name, span=span) | ir.Store(source=register, name=name, span=span):
            anchor = _name_at(frame, span, name)
        case (
            ir.Attribute(target=register, name=name, span=span)
            | ir.StoreAttribute(source=register, name=name, span=span)
        ):
            anchor = _last_name(frame, span, name)
        case ir.Call(target=register, function=function, span=span):
            anchor = _call(frame, env, function, span)
        case ir.Subscript(target=register, base=base, span=span):
            anchor = ir.Span(*frame.spans[base][2:], *span[2:])
        case (
            ir.Binary(target=register, left=left, right=right, in_place=False, span=span)
            | ir.Compare(target=register, left=left, right=right, span=span)
        ):
            anchor = _between(frame, frame.spans[left], frame.spans[right], instruction.operator)
        case ir.Unary(target=register, operator="-" | "+" | "~", span=span):
            anchor = ir.Span(span.line, span.column, span.line, span.column + 1)
        case ir.Const(target=register, span=span):
            anchor = span
        case _:
            return
    if anchor is not None and anchor[:2] < anchor[2:]:
        _record(frame, env, frame.kept(register), span, anchor, isinstance(instruction, (ir.Store, ir.StoreAttribute)))


def observe_parameters(frame: Frame, function: ir.Function, env: Environment) -> None:
    """Records what the parameters of a function are taken to be."""
    for parameter in function.parameters:
        anchor = _name_at(frame, parameter.span, parameter.name)
        value = env.names.get(parameter.name)
        if anchor is not None and value is not None:
            _record(frame, env, value, anchor, anchor, True)


def _record(frame: Frame, env: Environment, value: Value, span: ir.Span, anchor: ir.Span, binds: bool) -> None:
    if isinstance(value, Reference) and value.object.is_generic and ">" not in value.object.site:
        return  # `self`: its attributes tell
    seen = seen_as(frame, env, value)
    if seen is None:
        return
    devices = tuple(dict.fromkeys(device for device, _ in seen.lives))
    known = (origin for device, origin in seen.lives if origin is not None and device != UNKNOWN_DEVICE)
    story = tuple(dict.fromkeys(step(frame, each) for origin in known for each in origin.steps()))
    plain = value.present if isinstance(value, MaybeNone) else value
    text = str(devices[0]) if seen.kind == "device" else reveal(frame, env, plain)
    place = frame.program.place
    frame.program.recorder.observe(
        frame.file,
        Occurrence(
            place(frame.file, span),
            place(frame.file, anchor),
            seen.kind,
            seen.of,
            text,
            devices,
            story[:MOST_STEPS],
            binds,
        ),
    )


# --- where it stands ----------------------------------------------------------------------------------------


def _name_at(frame: Frame, span: ir.Span, name: str) -> ir.Span | None:
    """The name with which a stretch begins; variables of comprehensions have a longer one in the IR."""
    name = name.partition("@")[0]
    anchor = ir.Span(span.line, span.column, span.line, span.column + len(name.encode()))
    return anchor if frame.program.source(frame.file, anchor) == name else None


def _last_name(frame: Frame, span: ir.Span, name: str) -> ir.Span | None:
    """The name with which a stretch ends."""
    anchor = ir.Span(span.end_line, span.end_column - len(name.encode()), span.end_line, span.end_column)
    return anchor if frame.program.source(frame.file, anchor) == name else None


def _call(frame: Frame, env: Environment, function: ir.Register, span: ir.Span) -> ir.Span | None:
    """The name of what is called, or the brackets behind it where that is something to look at by itself."""
    callee = frame.spans[function]
    if seen_as(frame, env, frame.registers[function]) is None:
        name = re.search(r"\w+$", frame.program.source(frame.file, callee))
        if name is not None:
            return _last_name(frame, callee, name[0])
    return ir.Span(*callee[2:], *span[2:])


def _between(frame: Frame, left: ir.Span, right: ir.Span, operator: str) -> ir.Span | None:
    """The operator between two operands that stand in one line."""
    if left.end_line != right.line:
        return None
    text = frame.program.source(frame.file, ir.Span(left.end_line, left.end_column, right.line, right.column))
    before, found, _ = text.partition(operator)
    start = left.end_column + len(before.encode())
    return ir.Span(right.line, start, right.line, start + len(operator.encode())) if found else None


# --- what it is ---------------------------------------------------------------------------------------------


def seen_as(frame: Frame, env: Environment, value: Value) -> Seen | None:
    """What a value is, None for what neither lives on a device nor names one."""
    match value:
        case MaybeNone(present=present):
            return seen_as(frame, env, present)
        case Tensor():
            return Seen(_role(value), ((resolve(env, value.device), value.origin),))
        case Opaque():
            kind = frame.kind(value)
            if kind in (Kind.TENSOR, Kind.MODULE):
                return Seen(kind.value, ((resolve(env, value.device), value.origin),))
            return None
        case DeviceValue():
            return Seen("device", ((value.device, value.origin),))
        case Constant(is_text=True, value=str(text), origin=Origin() as origin):
            return Seen("device", ((parse(text) or UNKNOWN_DEVICE, origin),))
        case Reference() if modules.is_module(frame, env, value):
            lives = tuple((resolve(env, device), origin) for device, origin in modules.state(frame, env, value))
            return Seen("module", lives, class_name(env, value))
        case TupleValue() | Reference():
            lives = tuple(dict.fromkeys(_inside(frame, env, value, set())))
            known = any(not isinstance(device, UnknownDevice) for device, _ in lives)
            return Seen("container", lives) if known else None
        case _:
            return None


def _role(tensor: Tensor) -> str:
    return "tensor" if tensor.role is TensorRole.PLAIN else tensor.role.value


def _inside(frame: Frame, env: Environment, value: Value, inside: set[ObjectId]) -> Iterator[_Lives]:
    """Where the tensors and modules live that a container holds."""
    match value:
        case TupleValue(items=items):
            held: tuple[Value, ...] = items
        case Reference() if value.object not in inside and not modules.is_module(frame, env, value):
            inside.add(value.object)
            match env.heap.get(value.object):
                case ListObject(items=elements, rest=rest):
                    held = (rest,) if elements is None else elements
                case DictObject(items=pairs, rest=rest):
                    held = (*(item for _, item in pairs), rest)
                case _:
                    return
        case _:
            seen = seen_as(frame, env, value)
            if seen is not None and seen.kind != "device":
                yield from seen.lives
            return
    for item in held:
        yield from _inside(frame, env, item, inside)


def class_name(env: Environment, value: Reference) -> str:
    """The class of an object as people call it: `Linear`, `Net`."""
    match env.heap.get(value.object):
        case LibraryObject(cls=cls):
            return cls.rpartition(".")[2]
        case Instance(cls=cls):
            return cls.name
        case ListObject(module=str(cls)) | DictObject(module=str(cls)):
            return cls.rpartition(".")[2]
        case _:
            return ""
