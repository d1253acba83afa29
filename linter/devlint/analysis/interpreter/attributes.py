"""Reading and storing attributes."""

from __future__ import annotations

import re
from dataclasses import replace

from devlint.analysis.execution.frame import Frame, device_of, is_computed
from devlint.analysis.findings import conflicts, unregistered_tensor
from devlint.analysis.index import classes
from devlint.analysis.interpreter import calls
from devlint.analysis.libraries import library_calls
from devlint.analysis.values import operands
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.analysis.values.containers import element, put_into
from devlint.analysis.values.modules import is_module
from devlint.analysis.values.narrowing import is_chosen, on_type
from devlint.analysis.values.objects import may_have_more, unseen_attribute
from devlint.domain.device import UNKNOWN_DEVICE, Variable, join
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Instance, LibraryObject, ListObject, Optimizer
from devlint.domain.kinds import Exemption, OperandRole, TensorRole
from devlint.domain.place import AccessPath, AccessStep
from devlint.domain.value import (
    DTYPE,
    NUMBER,
    SHAPE,
    UNKNOWN,
    BoundMethod,
    Closure,
    DeviceType,
    DeviceValue,
    Kind,
    Library,
    MaybeNone,
    Method,
    Opaque,
    Reference,
    SourceFile,
    Super,
    Tensor,
    TupleValue,
    Unknown,
    UserClass,
    Value,
)
from devlint.frontend.ir import Span
from devlint.torchlib.knowledge import HOST_ATTRIBUTES, MODULE_ONLY, SAVED, TENSOR_ONLY

_HOST = {"shape": SHAPE, "dtype": DTYPE}
"""What attributes are that are no plain numbers."""

_RESTORES = re.compile(r"state_dict|__[gs]etstate__")


def load(frame: Frame, env: Environment, base: Value, name: str, span: Span, place: AccessPath | None) -> Value:
    """`base.name`; `place` is where the base was loaded from."""
    match base:
        case Tensor():
            return _of_tensor(frame, env, base, name, place)
        case Opaque():
            return _of_opaque(frame, env, base, name, place)
        case Reference():
            return _of_object(frame, env, base, name, span, place)
        case Library():
            member = frame.program.library_value(f"{base.name}.{name}")
            return replace(member, checked=True) if base.checked and isinstance(member, Library) else member
        case UserClass():
            found = classes.find(base, name)
            return UNKNOWN if found is None else found[0]
        case Super():
            return _of_super(frame, env, base, name)
        case SourceFile():
            return frame.program.member(base.globals, name)
        case TupleValue() if name in base.names:
            return base.items[base.names.index(name)]
        case DeviceValue():
            if name == "type":
                return DeviceType(base.device, is_chosen(base))
            return NUMBER if name == "index" else UNKNOWN
        case Unknown() if name in TENSOR_ONLY:
            return Method(Tensor(UNKNOWN_DEVICE, None), name, place)
        case Unknown() | Method() | BoundMethod() if name == "device":
            owner = frame.fresh_symbol(frame.text(span).removesuffix(".device"), span)
            return DeviceValue(device_of(owner), True)
        case _:
            return Method(base, name, place)


def _of_tensor(frame: Frame, env: Environment, base: Tensor, name: str, place: AccessPath | None) -> Value:
    if name == "device":
        return DeviceValue(base.device, True, base.origin)
    if name in HOST_ATTRIBUTES:
        return _HOST.get(name, NUMBER)
    if name in ("is_cuda", "is_cpu", "is_mps", "is_xpu"):
        return on_type(operands.resolve(env, base.device), name.removeprefix("is_"))
    found = library_calls.tensor_attribute(frame, env, base, name)
    return Method(base, name, place) if found is None else found


def _of_opaque(frame: Frame, env: Environment, base: Opaque, name: str, place: AccessPath | None) -> Value:
    is_tensor = frame.kind(base) is Kind.TENSOR
    if name == "device" and not (is_tensor and base.device != UNKNOWN_DEVICE):
        return DeviceValue(device_of(base), True, base.origin)
    if name == "cpu" and not base.path.is_fresh:
        frame.follow(device_of(base))
    if is_tensor:
        return _of_tensor(frame, env, frame.tensor(base), name, place)
    if name == "is_cuda":
        return on_type(operands.resolve(env, base.device), "cuda")
    if name in HOST_ATTRIBUTES:
        if is_computed(base):
            frame.infer_kind(base, Kind.TENSOR)
        return _HOST.get(name, NUMBER)
    if name in TENSOR_ONLY:
        frame.infer_kind(base, Kind.TENSOR)
    elif name in MODULE_ONLY:
        frame.infer_kind(base, Kind.MODULE)
    elif not library_calls.is_method(frame, name):
        child = element(frame, base, AccessStep.attribute(name))
        if not isinstance(child, Opaque) or is_computed(base):
            return child
        # What an object stores about itself need not be where the object is; what it has saved has devices of its own.
        return replace(child, device=Variable(child.path) if name == SAVED else UNKNOWN_DEVICE)
    return Method(base, name, place)


def _of_object(
    frame: Frame, env: Environment, base: Reference, name: str, span: Span, place: AccessPath | None
) -> Value:
    held = env.heap.get(base.object)
    if isinstance(held, Instance):
        stored = held.get(name)
        if stored is not None:
            return stored
        if name == "__dict__" and not (held.open or classes.is_dynamic(held.cls) or classes.is_open(held.cls)):
            identity = frame.new_object(span, name)
            env.heap[identity] = DictObject(held.attributes, singly=True)
            return Reference(identity)
        found = classes.find(held.cls, name)
        if found is not None:
            return _bound(frame, env, base, found, span)
        if held.inherited is not None and name != "device":
            value = load(frame, env, held.inherited, name, span, place)
            if value != UNKNOWN:
                return Method(base, name, place) if isinstance(value, Method) else value
        if may_have_more(held):
            return _of_open(frame, held, name, base, place)
        if name == "device" and is_module(frame, env, base):
            given = base.object.is_generic and classes.is_left_to_heirs(held.cls, name, frame.program.heirs(held.cls))
            given = given or classes.stores(held.cls, name) or classes.find(held.cls, "__getattr__") is not None
            if not (given or stores_by_name(frame, held.cls)):
                frame.miss_device(span, held.cls.name)
            return UNKNOWN
        return Method(base, name, place)
    if isinstance(held, Optimizer) and name == "state":
        # Who asks for the state may be about to move it.
        env.heap[base.object] = replace(held, state=UNKNOWN_DEVICE)
        return UNKNOWN
    if isinstance(held, LibraryObject):
        return library_calls.object_attribute(frame, env, base, held, name, span, place)
    if name == "device" and isinstance(held, (ListObject, DictObject)) and held.module is not None:
        frame.miss_device(span, held.module.rsplit(".", 1)[-1])
        return UNKNOWN
    return Method(base, name, place)


def _of_open(frame: Frame, held: Instance, name: str, base: Reference, place: AccessPath | None) -> Value:
    """An attribute that a base class outside the program may define."""
    if name != "device" and (library_calls.is_method(frame, name) or library_calls.is_module_method(frame, name)):
        return Method(base, name, place)
    return unseen_attribute(held, name, place)


def _bound(frame: Frame, env: Environment, base: Reference, found: tuple[Value, UserClass], span: Span) -> Value:
    value, owner = found
    if not isinstance(value, Closure):
        return value
    if "property" in value.decorated:
        result = calls.invoke_closure(
            frame, env, value, owner, Arguments((), ()).behind(ArgumentValue(base, span)), span
        )
        return UNKNOWN if result is None else result
    if "staticmethod" in value.decorated:
        return value
    if "classmethod" in value.decorated:
        return BoundMethod(value, owner)
    return BoundMethod(value, base, owner)


def _of_super(frame: Frame, env: Environment, base: Super, name: str) -> Value:
    receiver = base.receiver
    held = env.heap.get(receiver.object) if isinstance(receiver, Reference) else None
    cls = held.cls if isinstance(held, Instance) else receiver if isinstance(receiver, UserClass) else None
    if cls is not None:
        found = classes.find_after(cls, base.after, name)
        if found is not None and isinstance(found[0], Closure):
            return BoundMethod(found[0], receiver, found[1])
    return Method(Super(receiver, base.after), name)


def store(
    frame: Frame, env: Environment, base: Value, name: str, value: Value, place: AccessPath | None, span: Span
) -> None:
    """`base.name = value` at `span`; `place` is where the base was loaded from."""
    if isinstance(base, Reference):
        held = env.heap.get(base.object)
        if isinstance(held, Instance):
            found = classes.find(held.cls, name)
            if found is not None and isinstance(found[0], Closure) and "property" in found[0].decorated:
                value = UNKNOWN  # its setter may put that elsewhere
            after = put(frame, env, held, name, value, span)
            env.heap[base.object] = after
            if held.inherited is not None and after.registers(name) and is_module(frame, env, value):
                put_into(env, held.inherited, name, value)
            frame.note_store(env, base, after, name)
        elif isinstance(held, LibraryObject):
            parts = tuple(part for part in held.parts if part[0] != name)
            # A parameter that is replaced need not be where the others are.
            device = join(held.device, value.device) if isinstance(value, Tensor) else held.device
            env.heap[base.object] = replace(held, device=device, parts=(*parts, (name, value)))
    elif isinstance(base, SourceFile):
        base.globals.names[name] = UNKNOWN
    elif isinstance(base, UserClass):
        base.attributes[name] = UNKNOWN
    elif isinstance(base, Tensor) and name == "grad":
        _check_gradient(frame, env, base, value, place, span)
    elif isinstance(base, Tensor) and name == "data" and place is not None:
        # The same tensor is elsewhere from now on; other names that hold it are not found.
        env.names[place.name] = value if isinstance(value, Tensor) else UNKNOWN


def _check_gradient(
    frame: Frame, env: Environment, base: Tensor, value: Value, place: AccessPath | None, span: Span
) -> None:
    """`base.grad = value`: a gradient is where its tensor is, even one without dimensions."""
    tensor = operands.side_of(frame, env, ArgumentValue(base, span), "self", Exemption.NONE, OperandRole.OPERAND)
    gradient = operands.side_of(frame, env, ArgumentValue(value, span), "grad", Exemption.NONE, OperandRole.OPERAND)
    if tensor is not None and gradient is not None:
        sides = (
            replace(tensor, name="tensor" if place is None else str(place)),
            replace(gradient, name="its gradient"),
        )
        conflicts.find(frame, env, ".grad =", span, sides)


def put(frame: Frame, env: Environment, held: Instance, name: str, value: Value, span: Span) -> Instance:
    """An instance after an attribute is stored; a module registers parameters and modules, and keeps buffers."""
    where = (frame.file, span)
    if not classes.is_module(held.cls):
        return held.put(name, value, registered=False, where=where)
    there = value.present if isinstance(value, MaybeNone) else value
    registered = (isinstance(there, Tensor) and there.role is not TensorRole.PLAIN) or is_module(frame, env, there)
    if held.registers(name) and isinstance(there, (Tensor, Opaque)):
        buffer = replace(there, role=TensorRole.BUFFER) if isinstance(there, Tensor) else there
        return held.put(name, MaybeNone(buffer) if there is not value else buffer, registered=True, where=where)
    if not registered and classes.find(held.cls, "__setattr__") is not None:
        value = frame.fresh_symbol(f"self.{name}", span)  # what the class makes of it
    elif not registered and not classes.moves_itself(held.cls):
        value = unregistered_tensor.kept(frame, name, value, span)
    return held.put(name, value, registered=registered, where=where)


def stores_by_name(frame: Frame, cls: UserClass) -> bool:
    """Whether a method of the class stores attributes otherwise than by an assignment.

    Methods that save and restore the state of an object do not count: they store earlier values.
    """
    methods = [
        value
        for item in cls.lineage
        if isinstance(item, UserClass)
        for name, value in item.attributes.items()
        if isinstance(value, Closure) and not _RESTORES.search(name)
    ]
    contents = (frame.program.contents(method.globals.file, method.function) for method in methods)
    return any("setattr" in one.called or "__dict__" in one.named for one in contents)
