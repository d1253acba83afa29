"""Calls: who is called, and with what."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.execution.frame import Frame, is_computed, is_moved, name_of_result
from devlint.analysis.findings import device_not_forwarded, discarded, host_waits
from devlint.analysis.findings.discarded import receiver_span
from devlint.analysis.index import classes
from devlint.analysis.interpreter import closures, construction, program_calls
from devlint.analysis.interpreter.bodies import annotated
from devlint.analysis.libraries import library_calls
from devlint.analysis.libraries.builtin_methods import text_method
from devlint.analysis.libraries.methods import call_module_method, call_object_method, call_opaque_method, move_unknown
from devlint.analysis.libraries.transfer_tables import FUNCTIONS, MODULE_CALLS, LibraryCall
from devlint.analysis.summary import device_free
from devlint.analysis.values import modules, objects, operands
from devlint.analysis.values.arguments import Arguments, ArgumentValue, collect
from devlint.analysis.values.containers import is_loaded, saves
from devlint.analysis.values.devices import note_called
from devlint.analysis.values.narrowing import names_accelerator
from devlint.analysis.values.show import reveal
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Concrete, Device, Unreached, Variable, is_symbolic
from devlint.domain.environment import Environment
from devlint.domain.heap import Instance, LibraryObject, ListObject
from devlint.domain.kinds import OriginKind
from devlint.domain.place import SELF
from devlint.domain.value import (
    UNKNOWN,
    BoundMethod,
    Closure,
    Constant,
    DeviceType,
    Kind,
    Library,
    Method,
    Opaque,
    PartialCall,
    Predicate,
    Present,
    Reference,
    Super,
    Tensor,
    TupleValue,
    UserClass,
    Value,
    is_lost,
)
from devlint.facts import Reveal
from devlint.frontend import ir
from devlint.frontend.ir import Span
from devlint.torchlib.knowledge import (
    CALLED_MODULE,
    MODULE,
    MOVES,
    SEQUENTIAL,
)

MOST_PARTS = 1_000
"""How many parts of a module one call of it calls, those of its parts included."""

DEEPEST_PART = 50
"""How far modules that are parts of each other are called."""


def transfer_call(frame: Frame, instruction: ir.Call, env: Environment) -> Environment | None:
    """A call; control does not go on behind one that never returns."""
    if isinstance(frame.scope, ir.File):
        frame.program.show_names(frame.file, env.names)
    arguments = collect(frame, env, instruction.arguments)
    function = ArgumentValue(
        frame.registers[instruction.function],
        frame.spans[instruction.function],
        frame.place_of(instruction.function),
    )
    device_not_forwarded.note_call(frame, function.value, arguments, instruction.span)
    result = invoke(frame, env, function, arguments, instruction.span)
    if result is None:
        return None
    if isinstance(function.value, Method) and function.value.name == "size":
        method = function.value
        frame.owners[instruction.target] = (method.receiver, "shape", method.place)
        if arguments.positional:
            frame.prove_dimensions(env, method.receiver, method.place)
    if isinstance(function.value, Method):
        host_waits.note_move(frame, env, function, function.value, arguments, result, instruction.span)
    if instruction.discarded:
        discarded.note(frame, env, function, arguments, result, instruction.span)
    elif frame.loops and instruction.span in frame.program.unread_moves(frame.file, frame.scope):
        discarded.note(frame, env, function, arguments, result, instruction.span, is_bound=True)
    elif isinstance(function.value, Method):
        _keep_original(env, function.value)
    name = name_of_result(function.value, frame.text(function.span))
    if not (frame.has_cpu_inputs or isinstance(function.value, Library)):
        given = any(isinstance(one.value, Tensor) and one.value.device == CPU for one in arguments.all())
        lost = any(map(is_lost, result.items if isinstance(result, TupleValue) else (result,)))
        frame.has_cpu_inputs = (given and lost) or objects.hold_host_data(env, arguments)
    result = frame.with_identity(result, name, instruction.span)
    if isinstance(result, Opaque) and result.path.is_fresh and result.device == UNKNOWN_DEVICE:
        owner, _, _ = frame.owners.get(instruction.function, (UNKNOWN, "", None))
        result = _computed(frame, env, result, function, owner, arguments, instruction.span)
    frame.set(instruction.target, result, instruction.span)
    return env


def _computed(
    frame: Frame,
    env: Environment,
    result: Opaque,
    function: ArgumentValue,
    owner: Value,
    arguments: Arguments,
    span: Span,
) -> Opaque:
    """What a module that cannot be followed computes: given what is not always on the CPU, nor is that.

    A moved input of something called like a module says so, and any input of a part of a module. A moved module takes
    any input on its device. The unknown parts of a moved module, their `owner`, take it too. The result of a part is
    where the module is: each call of the module says where.
    """
    inputs = [value for given in arguments.all() if isinstance(value := given.value, (Tensor, Opaque))]
    inputs = [value for value in inputs if _is_live(frame, value)]
    if not inputs:
        return result
    is_part = frame.owner is not None and classes.is_module(frame.owner) and _is_part(function.value)
    whole: Device = UNKNOWN_DEVICE
    if isinstance(function.value, Opaque):
        whole = (
            function.value.device if is_moved(function.value) else modules.device_of_unknown_parts(frame, env, owner)
        )
    is_inside = isinstance(whole, Concrete)
    if not is_part and not is_inside and not _is_called_as_module(frame, function):
        return result
    for value in inputs:
        if not (is_part or is_moved(value) or (is_inside and operands.resolve(env, value.device) == whole)):
            continue
        where = operands.resolve(env, value.device)
        if is_symbolic(where) or operands.is_accelerator(where):
            computed = f"computed by `{frame.text(function.span)}`"
            if not is_part:
                return replace(
                    result, device=where, origin=frame.origin(computed, span, OriginKind.MODULE, value.origin, True)
                )
            device = _device_of_part(frame, env, _part(function.value), where)
            return replace(result, device=device, origin=frame.origin(computed, span, OriginKind.MODULE))
    return result


def _is_live(frame: Frame, value: Tensor | Opaque) -> bool:
    """Whether a value is on a device, as far as one can tell."""
    return isinstance(value, Tensor) or is_computed(value) or frame.kind(value) in _LIVE


_LIVE = (Kind.TENSOR, Kind.MOVABLE)
"""The kinds of unknown values that are on a device."""


def _device_of_part(frame: Frame, env: Environment, part: Opaque, of_input: Device) -> Device:
    """Where the result of a part of a module is: with its input if nothing in the part is on a device."""
    if isinstance(part.device, Unreached):
        return of_input
    if part.device != UNKNOWN_DEVICE:
        return part.device
    module = env.names.get(SELF.name, UNKNOWN)
    if isinstance(module, Reference) and not module.object.is_generic:
        whole = modules.device_of_unknown_parts(frame, env, module)
        return UNKNOWN_DEVICE if isinstance(whole, Unreached) else whole
    return Variable(SELF)


def _part(function: Value) -> Opaque:
    """The part of a module that is called, or whose method is."""
    part = function.receiver if isinstance(function, Method) else function
    assert isinstance(part, Opaque)
    return part


def _is_called_as_module(frame: Frame, function: ArgumentValue) -> bool:
    """Whether something of which nothing is known is a module: what is moved and called is, or its name says so."""
    if not isinstance(value := function.value, Opaque):
        return False
    if is_moved(value) or frame.kind(value) is Kind.MODULE or CALLED_MODULE.search(frame.text(function.span)):
        return True
    path = value.path.parent if value.path.is_result_of("to") else value.path
    return CALLED_MODULE.search(path.exact) is not None


def _is_part(function: Value) -> bool:
    """Whether what is called is an attribute of `self` of which nothing is known, or a method of one."""
    part = function.receiver if isinstance(function, Method) else function
    return isinstance(part, Opaque) and part.path.is_of_self


def invoke(frame: Frame, env: Environment, function: ArgumentValue, arguments: Arguments, span: Span) -> Value | None:
    """The result of a call, None if it does not return."""
    value = function.value
    called = device_free.called(value)
    if called is not None:
        frame.called.add(called)
    match value:
        case Library():
            return _call_library(frame, env, value, arguments, span)
        case Closure():
            return invoke_closure(frame, env, value, None, arguments, span)
        case BoundMethod():
            receiver = _receiver(frame, function, value)
            result = invoke_closure(frame, env, value.function, value.owner, arguments.behind(receiver), span)
            return _promised(frame, env, value, span) if result == UNKNOWN else result
        case UserClass():
            return construction.construct(frame, env, value, arguments, span)
        case Method():
            result = _call_method(frame, env, value, function, arguments, span)
            if result == UNKNOWN and not isinstance(value.receiver, (Tensor, Constant)):
                objects.escape_arguments(env, arguments)
            return result
        case Reference():
            return _call_object(frame, env, function, arguments, span)
        case PartialCall():
            return _call_partial(frame, env, value, function, arguments, span)
        case Opaque(path) if path.is_attribute("skipTest"):
            return None  # of unittest: it raises
        case Opaque(path):
            first = arguments.first()
            for saved in arguments.positional if saves(value) else ():
                frame.infer_kind(saved.value, Kind.TENSOR)
            others = list(arguments.all())
            if frame.kind(value) is Kind.MODULE and path.is_fresh and first is not None:
                library_calls.meet(frame, env, function, first, f"{frame.text(function.span)}.__call__", span)
                others.remove(first)
            elif _is_called_as_module(frame, function):
                library_calls.meet_inputs(frame, env, function, arguments, span)
            library_calls.meet_on_other_accelerators(frame, env, function, others, span)
            return _call_unknown(frame, env, arguments)
        case _:
            return _call_unknown(frame, env, arguments)


def _call_unknown(frame: Frame, env: Environment, arguments: Arguments) -> Value:
    objects.escape_arguments(env, arguments)
    return UNKNOWN


def _receiver(frame: Frame, function: ArgumentValue, method: BoundMethod) -> ArgumentValue:
    """The object whose method is called, as it stands at the call: `self.net` of `self.net.encode`."""
    where, place = function.span, function.place
    if place is not None and place.steps:
        return ArgumentValue(method.receiver, receiver_span(where, str(place.steps[-1].key)), place.parent)
    name, text = method.function.function.name.rpartition(".")[2], frame.text(where)
    if text.endswith(f".{name}") and not text.startswith("super("):
        where = receiver_span(where, name)
    return ArgumentValue(method.receiver, where)


def _promised(frame: Frame, env: Environment, method: BoundMethod, span: Span) -> Value:
    """What a method that cannot be followed says that it returns: if a module, then a part of the one it belongs to."""
    held = env.heap.get(method.receiver.object) if isinstance(method.receiver, Reference) else None
    if not isinstance(held, Instance) or not classes.is_module(held.cls):
        return UNKNOWN
    name = method.function.function.name.rpartition(".")[2]
    for found in classes.definitions(held.cls, name):
        if annotated(frame, found.globals, found.function.returns) == {MODULE}:
            part = frame.fresh_symbol(f"{name}()", span)
            return replace(part, kind=Kind.MODULE, device=Variable(part.path))
    return UNKNOWN


def invoke_closure(
    frame: Frame,
    env: Environment,
    closure: Closure,
    owner: UserClass | None,
    arguments: Arguments,
    span: Span,
) -> Value | None:
    """A call of a function of the program."""
    if closure.function in frame.made:
        around = {**frame.enclosing, **env.names}
        closure = replace(closure, enclosing=closures.closed_over(frame, closure.function, around))
        for name in closure.function.nonlocal_names:
            env.names[name] = UNKNOWN
    if "opaque" in closure.decorated:
        frame.touches_devices = True
        objects.escape_arguments(env, arguments)
        return UNKNOWN
    env.arriving = frozenset()
    for argument in arguments.all():
        frame.iterated(env, argument.value)
    return program_calls.call(frame, env, closure, owner, arguments, span)


def _call_partial(
    frame: Frame, env: Environment, value: PartialCall, function: ArgumentValue, arguments: Arguments, span: Span
) -> Value | None:
    before = tuple(ArgumentValue(item, function.span) for item in value.arguments)
    keywords = tuple((key, ArgumentValue(item, function.span)) for key, item in value.keywords)
    later = {key for key, _ in arguments.keywords}
    merged = tuple(item for item in keywords if item[0] not in later) + arguments.keywords
    whole = replace(arguments, positional=before + arguments.positional, keywords=merged)
    return invoke(frame, env, ArgumentValue(value.function, function.span), whole, span)


def _call_library(frame: Frame, env: Environment, value: Library, arguments: Arguments, span: Span) -> Value | None:
    name = value.name
    if name in host_waits.READING_FUNCTIONS:
        for argument in arguments.all():
            host_waits.read(frame, env, argument.value, argument.span, name.rpartition(".")[2])
    if name.endswith(".reveal_device"):
        return _reveal(frame, env, arguments, span)
    if name == "builtins.super":
        return _super(frame, env, arguments)
    if name not in FUNCTIONS and frame.program.is_library_class(name):
        return library_calls.construct(frame, env, name, arguments, span)
    behind = value.checked and not env.checked  # what a check has chosen is called behind that check
    env.checked = env.checked or behind
    result = library_calls.call_function(frame, env, name, arguments, span)
    env.checked = env.checked and not behind
    note_called(env, name)
    known = name.startswith(("builtins.", "torch.optim.")) or frame.program.catalogue.function(name) is not None
    if result == UNKNOWN and not known:
        objects.escape_arguments(env, arguments)
    return result


def _reveal(frame: Frame, env: Environment, arguments: Arguments, span: Span) -> Value:
    first = arguments.first()
    value = UNKNOWN if first is None else first.value
    frame.record(span, Reveal(reveal(frame, env, value)))
    return value


def _super(frame: Frame, env: Environment, arguments: Arguments) -> Value:
    if frame.owner is None:
        return UNKNOWN
    if len(arguments.positional) == 2:
        cls, receiver = (item.value for item in arguments.positional)
        return Super(receiver, cls) if isinstance(cls, UserClass) else UNKNOWN
    parameters = getattr(frame.scope, "parameters", ())
    if not parameters:
        return UNKNOWN
    return Super(env.names.get(parameters[0].name, UNKNOWN), frame.owner)


# --- methods ------------------------------------------------------------------------------------------------


def method_of(frame: Frame, env: Environment, value: Reference, name: str) -> Value | None:
    """A method that the class of an instance of the program defines."""
    held = env.heap.get(value.object)
    if not isinstance(held, Instance):
        return None
    found = classes.find(held.cls, name)
    if found is None or not isinstance(found[0], Closure):
        return None
    return BoundMethod(found[0], value, found[1])


def _call_method(
    frame: Frame, env: Environment, method: Method, function: ArgumentValue, arguments: Arguments, span: Span
) -> Value | None:
    name = method.name
    first = arguments.first()
    asks = name == "startswith" and first is not None and names_accelerator(first.value)
    if asks and not isinstance(method.receiver, (Constant, DeviceType)):
        return Predicate(holds=(Present(True),))
    receiver = ArgumentValue(method.receiver, receiver_span(function.span, name), method.place)
    host_waits.note_method(frame, env, receiver, name, arguments, span)
    match receiver.value:
        case Tensor():
            return library_calls.call_tensor_method(frame, env, receiver, name, arguments, span)
        case Opaque():
            return call_opaque_method(frame, env, receiver, receiver.value, name, arguments, span)
        case Reference():
            if name in ("forward", "__call__") and modules.is_module(frame, env, receiver.value):
                return _call_object(frame, env, receiver, arguments, span)
            return call_object_method(frame, env, receiver, receiver.value, name, arguments, span)
        case Super():
            return _call_super(frame, env, receiver.value, name, arguments, span)
        case Constant(is_text=True) | DeviceType():
            return text_method(receiver.value, name, arguments, frame.program.devices)
        case _:
            if name in MOVES and (receiver.value == UNKNOWN or isinstance(receiver.value, Method)):
                return move_unknown(frame, env, name, arguments, span)
            return UNKNOWN


def _call_super(
    frame: Frame, env: Environment, value: Super, name: str, arguments: Arguments, span: Span
) -> Value | None:
    """`super().name(…)` where no class of the program defines it: what nn.Module does."""
    receiver = value.receiver
    if name == "__init__" or not isinstance(receiver, Reference):
        if isinstance(receiver, Reference):
            construction.inherit(frame, env, receiver, value.after, arguments, span)
        return Constant(None) if name == "__init__" else UNKNOWN
    own = ArgumentValue(receiver, span)
    site = LibraryCall(frame, env, name, arguments, span, own)
    if modules.is_module(frame, env, receiver):
        held = env.heap.get(receiver.object)
        if name == "__setattr__" or name == "__getattr__":
            return UNKNOWN
        if name == "forward" and isinstance(held, Instance):
            if held.inherited is None:
                return UNKNOWN
            return _call_object(frame, env, replace(own, value=held.inherited), arguments, span)
        if name in ("forward", "__call__"):
            return _call_object(frame, env, own, arguments, span)
        return call_module_method(site, receiver, held)
    return UNKNOWN


# --- objects ------------------------------------------------------------------------------------------------


def _call_object(
    frame: Frame, env: Environment, function: ArgumentValue, arguments: Arguments, span: Span
) -> Value | None:
    """`object(…)`: modules run their forward."""
    value = function.value
    assert isinstance(value, Reference)
    held = env.heap.get(value.object)
    match held:
        case LibraryObject():
            if held.cls in MODULE_CALLS or modules.is_module_class(frame, held.cls):
                return library_calls.call_module(frame, env, function, held, arguments, span)
            return library_calls.call_method(frame, env, function, held, "__call__", arguments, span)
        case ListObject() if held.module == SEQUENTIAL:
            return _call_sequential(frame, env, function, held, arguments, span)
        case Instance():
            return _call_instance(frame, env, function, value, held, arguments, span)
        case _:
            return UNKNOWN


def _call_sequential(
    frame: Frame, env: Environment, function: ArgumentValue, held: ListObject, arguments: Arguments, span: Span
) -> Value | None:
    """`nn.Sequential`: each part is called with what the one before it returned.

    Parts may be such modules themselves, and the same one may be a part again and again.
    """
    first = arguments.first()
    if first is None or len(frame.calling) >= DEEPEST_PART or sum(frame.calling) > MOST_PARTS:
        return UNKNOWN
    frame.calling.append(0)
    result = _call_parts(frame, env, function, held, arguments, first, span)
    called = frame.calling.pop()
    if frame.calling:
        frame.calling[-1] += called
    return result


def _call_parts(
    frame: Frame,
    env: Environment,
    function: ArgumentValue,
    held: ListObject,
    arguments: Arguments,
    first: ArgumentValue,
    span: Span,
) -> Value | None:
    if held.items is None and isinstance(held.rest, Reference):  # one for all of them
        return invoke(frame, env, ArgumentValue(held.rest, function.span), arguments, span)
    if held.items is None:
        library_calls.meet(frame, env, function, first, "Sequential.__call__", span)
        return UNKNOWN
    result: Value | None = first.value
    where = first.span
    for item in held.items:
        if result is None:
            return None
        frame.calling[-1] += 1
        part = ArgumentValue(item, function.span)
        result = invoke(frame, env, part, Arguments((ArgumentValue(result, where),), ()), span)
    return result


def _call_instance(
    frame: Frame,
    env: Environment,
    function: ArgumentValue,
    value: Reference,
    held: Instance,
    arguments: Arguments,
    span: Span,
) -> Value | None:
    """An instance of the program's class: `__call__`, or `forward` of a module."""
    names = ("__call__", "forward") if classes.is_module(held.cls) else ("__call__",)
    for name in names:
        match classes.find(held.cls, name):
            case (Closure() as closure, owner) if name == "forward":
                return program_calls.call_forward(frame, env, closure, owner, value, function, arguments, span)
            case (Closure() as closure, owner):
                return invoke_closure(
                    frame, env, closure, owner, arguments.behind(ArgumentValue(value, function.span)), span
                )
    if held.inherited is not None and classes.is_module(held.cls):
        return _call_object(frame, env, replace(function, value=held.inherited), arguments, span)
    objects.escape_arguments(env, arguments)
    return UNKNOWN


def _keep_original(env: Environment, method: Method) -> None:
    """A part of a batch is where it was after `x.to(device)` whose result is used: it is a tensor, which is copied."""
    receiver = method.receiver
    copied = method.name in MOVES and isinstance(receiver, Opaque) and is_loaded(receiver)
    if copied and method.place is not None and method.place.name in env.names:
        env.names[method.place.name] = receiver
