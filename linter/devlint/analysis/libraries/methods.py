"""Methods that a library defines: of unknown things, of objects, of modules; none executes code of the program."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.execution.frame import Frame, is_computed
from devlint.analysis.libraries import handed_out, library_calls, moves
from devlint.analysis.libraries.builtin_methods import dict_method, list_method
from devlint.analysis.libraries.move_targets import target_of
from devlint.analysis.libraries.transfer_tables import OPTIMIZER_METHODS, LibraryCall
from devlint.analysis.values import modules
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.analysis.values.containers import put_into
from devlint.domain.device import UNKNOWN_DEVICE, Unreached, Variable
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Instance, LibraryObject, ListObject, Object, Optimizer
from devlint.domain.kinds import OriginKind, TensorRole
from devlint.domain.place import SELF
from devlint.domain.value import (
    NUMBER,
    TEXT,
    UNKNOWN,
    Constant,
    Kind,
    Opaque,
    Reference,
    Tensor,
    TupleValue,
    Value,
)
from devlint.frontend.ir import Span
from devlint.torchlib.knowledge import (
    CALLED_MODULE,
    MODULE_METHODS,
    MOVES,
    TENSOR_CALLS,
    TENSOR_KEYWORDS,
)


def move_unknown(frame: Frame, env: Environment, name: str, arguments: Arguments, span: Span) -> Value:
    """Moving something of which nothing is known: the device named is used all the same."""
    target = target_of(LibraryCall(frame, env, name, arguments, span, ArgumentValue(UNKNOWN, span)), name)
    if target is None:
        return UNKNOWN
    origin = moves.moved_by(frame, target, span, name)
    return Opaque(frame.fresh_symbol("moved", span).path.call("to"), Kind.MOVABLE, target.device, origin)


def call_opaque_method(
    frame: Frame,
    env: Environment,
    receiver: ArgumentValue,
    value: Opaque,
    name: str,
    arguments: Arguments,
    span: Span,
) -> Value | None:
    """Call a method of something of which nothing is known, or only that it is a tensor or a module."""
    if _is_call_of_tensor(frame, value, name, arguments):
        frame.infer_kind(value, Kind.TENSOR)
    kind = frame.kind(value)
    site = LibraryCall(frame, env, name, arguments, span, receiver)
    if kind is Kind.TENSOR:
        as_tensor = replace(receiver, value=frame.tensor(value))
        result = library_calls.call_tensor_method(frame, env, as_tensor, name, arguments, span)
        return value if result is as_tensor.value else result
    if name in MOVES:
        target = target_of(site, name)
        if target is None:
            return value
        result = moves.move_opaque(frame, env, value, target, span, name)
        if receiver.place is not None and env.names.get(receiver.place.name) == value:
            # A module has moved, a tensor has not: what the name holds from now on is known only of a module.
            moved = kind is Kind.MODULE or any(map(CALLED_MODULE.search, (value.path.exact, receiver.place.name)))
            here = replace(value, device=target.device, origin=moves.moved_by(frame, target, span, name))
            env.names[receiver.place.name] = here if moved else replace(value, device=UNKNOWN_DEVICE)
        return result
    if name in ("next", "parameters") and kind is Kind.MODULE:
        parameter = Tensor(value.device, None, TensorRole.PARAMETER, value.origin)
        return site.allocate("parameters", ListObject(None, parameter))
    if name in MODULE_METHODS and kind is Kind.MODULE:
        return value
    return NUMBER if name == "item" else UNKNOWN  # of a tensor, or of an array


def _is_call_of_tensor(frame: Frame, receiver: Opaque, name: str, arguments: Arguments) -> bool:
    """Whether only a tensor can be asked this: `x.size(0)`, `x.mean(dim=-1)`; of what is sliced, `x.to(…)`."""
    if name in TENSOR_CALLS or (name in MOVES and frame.kind(receiver) is Kind.ARRAY):
        return True
    if not library_calls.is_method(frame, name):
        return False
    # What a module has computed is a tensor, or a container of them.
    computed = is_computed(receiver) and name not in MOVES and name not in _OF_CONTAINERS
    return computed or any(key in TENSOR_KEYWORDS for key, _ in arguments.keywords)


_OF_CONTAINERS = frozenset(name for kind in (dict, list, str) for name in dir(kind))


def call_object_method(
    frame: Frame,
    env: Environment,
    receiver: ArgumentValue,
    value: Reference,
    name: str,
    arguments: Arguments,
    span: Span,
) -> Value | None:
    """Call a method that the program does not define, of an object of the heap."""
    held = env.heap.get(value.object)
    inherited = held.inherited if isinstance(held, Instance) and name in _OF_CONTAINERS else None
    container = inherited and env.heap.get(inherited.object)
    if inherited is not None and isinstance(container, (ListObject, DictObject)):
        value, held, receiver = inherited, container, replace(receiver, value=inherited)
    site = LibraryCall(frame, env, name, arguments, span, receiver)
    if modules.is_module(frame, env, value):
        return call_module_method(site, value, held)
    match held:
        case ListObject():
            return list_method(site, value, held)
        case DictObject():
            return dict_method(site, value, held)
        case Optimizer() if name in OPTIMIZER_METHODS:
            return OPTIMIZER_METHODS[name](site)
        case LibraryObject():
            if name in MOVES and library_calls.moves_in_place(frame, held.cls, name):
                target = target_of(site, name)
                if target is not None:
                    env.heap[value.object] = moves.moved_object(frame, env, held, target, span, name)
                return value
            return library_calls.call_method(frame, env, receiver, held, name, arguments, span)
        case Instance():
            # A base class outside the program may define it.
            return move_unknown(frame, env, name, arguments, span) if name in MOVES else UNKNOWN
        case _:
            return UNKNOWN


def call_module_method(site: LibraryCall, value: Reference, held: Object | None) -> Value | None:
    """Methods of `nn.Module` on a module whose parts are known."""
    frame, env, name = site.frame, site.env, site.name
    if name in MOVES or name == "to_empty":
        target = target_of(site, name)
        if target is not None:
            moves.move_object(frame, env, value, target, site.span, name)
        return value
    found = handed_out.parts(site, value)
    if found is not None:
        return found
    if name in MODULE_METHODS:
        return value
    if name in ("parameters", "buffers", "named_parameters", "named_buffers"):
        device, origin = modules.module_device(frame, env, value)
        if isinstance(device, Unreached) and value.object.is_generic:
            # What classes below this one register, for this one registers nothing.
            device = Variable(SELF)
            origin = frame.origin("parameters are on the device of their module", site.span, OriginKind.MODULE)
        # The module may be on several devices; its first parameter is on one.
        first = next(modules.state(frame, env, value, buffers=name.endswith("buffers")), (device, origin))
        known = ((device, origin), first)
        items: list[Value] = [Tensor(there, None, TensorRole.PARAMETER, why) for there, why in known]
        if name.startswith("named_"):
            items = [TupleValue((TEXT, item)) for item in items]
        return site.allocate(name, ListObject(None, items[0], first=items[1], owner=value))
    if name == "state_dict":
        device, origin = modules.module_device(frame, env, value)
        return site.allocate(name, DictObject((), Tensor(device, None, origin=origin), False))
    if name == "load_state_dict" and site.constant(2, "assign") is True:
        given = site.held(site.value(0, "state_dict"))
        state = given.each() if isinstance(given, DictObject) else UNKNOWN
        there, why = (state.device, state.origin) if isinstance(state, Tensor) else (UNKNOWN_DEVICE, None)
        modules.place_object(frame, env, value, there, why)
        return UNKNOWN
    if name in ("register_buffer", "register_parameter", "add_module", "register_module"):
        _register(site, value, held)
        return Constant(None)
    if name in ("append", "extend", "insert", "pop", "__setitem__") and isinstance(held, ListObject):
        return list_method(site, value, held)
    if name in ("clear", "items", "keys", "pop", "update", "values") and isinstance(held, DictObject):
        return dict_method(site, value, held)
    if isinstance(held, LibraryObject) and site.receiver is not None:
        return library_calls.call_method(frame, env, site.receiver, held, name, site.arguments, site.span)
    return UNKNOWN


def _register(site: LibraryCall, value: Reference, held: Object | None) -> None:
    """`register_buffer("name", tensor)` and its like."""
    name = site.constant(0, "name")
    stored = site.value(1, "tensor") or site.value(1, "param") or site.value(1, "module") or UNKNOWN
    if site.name in ("add_module", "register_module"):
        if isinstance(stored, Opaque) and not isinstance(held, Instance):
            device = Variable(stored.path) if stored.device == UNKNOWN_DEVICE else stored.device
            stored = replace(stored, kind=Kind.MODULE, device=device)
        inherited = held.inherited if isinstance(held, Instance) else value
        if inherited is not None:
            put_into(site.env, inherited, name, stored)
    if not isinstance(held, Instance):
        return
    if not isinstance(name, str):
        # Which name it has does not matter; more may have been registered than is seen here.
        name, held = f"@{site.span.line}:{site.span.column}", replace(held, open=True)
    if isinstance(stored, Tensor):
        stored = replace(stored, role=TensorRole.BUFFER if site.name == "register_buffer" else TensorRole.PARAMETER)
    after = held.put(name, stored, registered=True)
    site.env.heap[value.object] = after
    site.frame.note_store(site.env, value, after, name)
