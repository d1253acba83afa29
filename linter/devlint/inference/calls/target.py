"""Targets of calls: the code of a value, of several values, or of a symbol whose code the caller knows."""

from __future__ import annotations

from collections.abc import Callable

from devlint.frontend import ir
from devlint.inference.calls.attributes import MOVES, named
from devlint.inference.calls.construct import construct, construct_library, initialize
from devlint.inference.calls.items import own_method, require_index, subscript
from devlint.inference.calls.knowledge import code_of
from devlint.inference.libraries.known import TOPICS
from devlint.inference.libraries.modules import BASE, CONTAINERS, same
from devlint.inference.libraries.python import add_option, parsed
from devlint.inference.libraries.signatures import apply as apply_signature
from devlint.inference.libraries.table import CallSite, function_handler, method_handler
from devlint.inference.requirements.causes import with_unread
from devlint.inference.requirements.machines import CUDA, need
from devlint.inference.requirements.make import participant, require
from devlint.inference.state.frame import Arguments, Frame, State
from devlint.inference.state.moves import havoc, moved
from devlint.inference.state.where import RESULT, current_device, device_of, device_of_module, is_module, source_of
from devlint.inference.stubs import TENSOR_CLASS
from devlint.inference.values.code import Body, ClassCode
from devlint.inference.values.data import MODULE, Code, Participant
from devlint.inference.values.devices import denoted, target
from devlint.inference.values.joins import either, join
from devlint.inference.values.objects import (
    DICT,
    LIST,
    SET,
    Bound,
    ClassValue,
    Function,
    Instance,
    Library,
    Method,
    bound,
    function,
    method,
)
from devlint.inference.values.tensors import Alternatives, Tensor, device
from devlint.inference.values.terms import (
    ABSENT,
    BOTTOM,
    CHOOSES,
    ENVIRONMENT_OF,
    MOVED,
    NO_DEVICE,
    NONE,
    NUMBER,
    OPTION,
    PARAMETER,
    POSITIVE,
    RECEIVER,
    UNKNOWN,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
    is_symbolic,
    root,
    root_of,
    symbol,
    term,
)
from devlint.torchlib.knowledge import TENSOR_NAMES

assert TOPICS

OPTION_LIBRARIES = frozenset(
    """
    argparse click typer absl hydra omegaconf fire configargparse tap yacs configparser ml_collections simple_parsing
    docopt jsonargparse tyro yaml toml tomli tomllib ruamel
    """.split()
)
"""Libraries whose results are choices of the user of a program."""

ANY_CLASS = frozenset({"typing.Any", "torch.autograd.Variable"})
"""Annotations other than classes of tensors that do not exclude a tensor."""

PARSERS = frozenset({"parse_args", "parse_known_args"})
"""Methods that read the command line, unless they are given one."""

QUIET = frozenset(
    """
    torch math logging warnings os sys re time json numpy print isinstance len range type id hash repr str format
    callable issubclass hasattr any all abs round min max sum sorted open vars dir collections functools itertools
    typing
    """.split()
)
"""Libraries and functions that never move their arguments."""


def call_value(frame: Frame, callee: Value, arguments: Arguments, span: ir.Span) -> Value:
    """Execute a call and return its result."""
    if isinstance(callee, Function):
        result = frame.engine.call_function(frame, callee, arguments, span)
        return with_unread(callee.body, arguments, result) if isinstance(result, Tensor) else result
    if isinstance(callee, Bound):
        return call_value(frame, callee.function, arguments.behind(callee.receiver), span)
    if isinstance(callee, ClassValue):
        return construct(frame, callee.code, arguments, span)
    if isinstance(callee, Library):
        return call_library(frame, callee.name, arguments, span)
    if isinstance(callee, Method):
        return call_method(frame, callee, arguments, span)
    if isinstance(callee, Instance):
        return call_instance(frame, callee, arguments, span)
    if isinstance(callee, Alternatives):
        held = [each for each in callee.options if each not in (NONE, ABSENT)]
        return branches(frame, [_calls(frame, each, arguments, span) for each in held], NONE)
    if isinstance(callee, Term) and callee.operator == "ite":
        test, then, orelse = callee.arguments
        if then is not NONE and orelse is not NONE:
            ways = [_calls(frame, then, arguments, span), _calls(frame, orelse, arguments, span)]
            return branches(frame, ways, test)
        return call_value(frame, orelse if then is NONE else then, arguments, span)
    if is_symbolic(callee):
        return _call_symbol(frame, callee, arguments, span)
    return call_unknown(frame, arguments, span)


def _calls(frame: Frame, callee: Value, arguments: Arguments, span: ir.Span) -> Callable[[], Value]:
    return lambda: call_value(frame, callee, arguments, span)


def call_unknown(frame: Frame, arguments: Arguments, span: ir.Span) -> Value:
    """Call unknown code: it may move its arguments, and its result is unknown."""
    for each in arguments.values():
        havoc(frame, each)
    return frame.unknown("call", span)


def branches(frame: Frame, ways: list[Callable[[], Value]], test: Value) -> Value:
    """Execute several alternative calls, join their states and return the join of their results.

    If there are two ways, the first one runs where the test holds.
    """
    before, path = frame.state, frame.path
    states: list[State] = []
    whole: Value = BOTTOM
    for number, way in enumerate(ways):
        frame.state = before.fork()
        if is_symbolic(test):
            frame.under(test if number == 0 else frame.opposite(test))
        elif len(ways) > 1:
            frame.under(UNKNOWN)
        value = way()
        frame.path = path
        if frame.is_live:
            whole = either(test, whole, value) if states and is_symbolic(test) else join(whole, value)
            states.append(frame.state)
    if not states:
        frame.state = before
        frame.leave()
        return UNKNOWN
    state = states[0]
    for each in states[1:]:
        state = state.joined(each, test)
    frame.state = state
    return whole


def _call_symbol(frame: Frame, callee: Value, arguments: Arguments, span: ir.Span) -> Value:
    """Call a symbol or term: the code that the caller knows, else a method by its name, else unknown code."""
    code = code_of(frame, callee)
    if code is not None:
        return call_code(frame, callee, code, arguments, span)
    receiver, name = receiver_of(callee)
    top = root_of(callee)
    is_option = top is not None and top.kind == OPTION and name not in MOVES
    if name and not is_option and (name in MOVES or not _is_declared_otherwise(frame, receiver)):
        return call_method(frame, method(receiver, "", name), arguments, span)
    if is_option:
        _note_commands(frame, arguments)
    if is_option and isinstance(callee, Symbol):
        if callee.field.name in PARSERS and arguments.at(0, "args") is not None:  # the program gives the arguments
            return parsed(CallSite(frame, "", callee.field.name, callee.root, arguments, span))
        if callee.field.name == "add_argument":
            add_option(CallSite(frame, "", callee.field.name, callee.root, arguments, span))
        for each in arguments.values():
            havoc(frame, each)
        return symbol(callee, RESULT)
    return _call_module(frame, callee, arguments, span)


def _note_commands(frame: Frame, arguments: Arguments) -> None:
    """Note the functions that a library of options is handed, which it calls with the options of a user."""
    for each in arguments.values():
        if isinstance(each, Function):
            frame.engine.demand.command(each.body)


def _is_declared_otherwise(frame: Frame, value: Value) -> bool:
    """Whether a parameter is of a class other than a tensor, as `self` is; then a method name proves no tensor."""
    function, owner = frame.body.function, frame.body.owner
    if not isinstance(value, Root) or value.kind != PARAMETER or function is None:
        return False
    held = None if owner is None else owner.members.get(function.name.rpartition(".")[2])
    is_method = isinstance(held, Function) and held.body is frame.body
    if owner is not None and is_method and [each.name for each in function.parameters[:1]] == [value.name]:
        return owner.is_module or not (owner.is_open or owner.libraries)
    for each in function.parameters:
        if each.name == value.name and each.annotation is not None:
            names = [name for name in each.annotation.names if name != "None"]
            return bool(names) and not any(_may_name_a_tensor(frame, name) for name in names)
    return False


def _may_name_a_tensor(frame: Frame, name: str) -> bool:
    """Whether the class that an annotation names has tensors among its objects."""
    found = named(frame, frame.body.file, name)
    if isinstance(found, ClassValue):
        return any(each in TENSOR_NAMES for each in found.code.libraries)
    return isinstance(found, Library) and (found.name in TENSOR_NAMES or found.name in ANY_CLASS)


def _call_module(frame: Frame, callee: Value, arguments: Arguments, span: ir.Span) -> Value:
    """Call an unknown callee. If it was moved as a whole and its tensor arguments share a device, it is a module."""
    where = device_of_module(frame, callee) if _was_moved(frame, callee) else UNKNOWN
    handed = [each for each in arguments.values() if isinstance(each, Tensor) or each in frame.kinds or _is_moved(each)]
    if where is UNKNOWN or where is NO_DEVICE or len({device_of(frame, each) for each in handed}) != 1:
        return call_unknown(frame, arguments, span)
    module = Participant(MODULE, where, POSITIVE, source_of(frame, callee), subject=callee)
    require(frame, "module", [module, participant(frame, handed[0])], span)
    return term("to", call_unknown(frame, arguments, span), where, frame.source())


def _was_moved(frame: Frame, value: Value) -> bool:
    return frame.heap.get(value, MOVED) is not None or _is_moved(value)


def _is_moved(value: Value) -> bool:
    return isinstance(value, Term) and value.operator == "to"


def receiver_of(callee: Value) -> tuple[Value, str]:
    """Return the object of a method and the name of the method; an empty name if the callee is no method."""
    if isinstance(callee, Method):
        return callee.receiver, callee.name
    if isinstance(callee, Symbol) and callee.field.kind == ".":
        return callee.parent, callee.field.name
    if isinstance(callee, Term) and callee.operator == "attribute" and isinstance(callee.arguments[1], Constant):
        return callee.arguments[0], str(callee.arguments[1].value)
    return UNKNOWN, ""


def call_code(frame: Frame, callee: Value, code: Code, arguments: Arguments, span: ir.Span) -> Value:
    """Call a symbol whose code the caller knows."""
    kind, what, is_own = code
    receiver = receiver_of(callee)[0]
    if isinstance(callee, (Root, Symbol)) and not is_own:
        receiver = symbol(callee, RECEIVER)
    if kind in ("several", "either") and isinstance(what, tuple):
        ways = [_way_of_code(frame, callee, each, arguments, span) for each in what]
        test = symbol(callee, CHOOSES) if kind == "either" and isinstance(callee, (Root, Symbol)) else NONE
        return branches(frame, ways, test)
    if isinstance(what, Body):
        around = symbol(callee, ENVIRONMENT_OF) if isinstance(callee, (Root, Symbol)) and what.around else NONE
        if kind == "bound":
            return call_value(frame, function(what, around), arguments.behind(receiver), span)
        return call_value(frame, function(what, around), arguments, span)
    if isinstance(what, ClassCode):
        return (
            construct(frame, what, arguments, span)
            if kind == "class"
            else _call_object(frame, callee, what, arguments, span)
        )
    if kind == "library":
        return call_library(frame, str(what), arguments, span)
    if kind == "method" and isinstance(what, tuple):
        return call_method(frame, method(receiver, str(what[0]), str(what[1])), arguments, span)
    if kind == "instance" and isinstance(what, tuple):
        return _call_library_instance(frame, callee, str(what[1]), arguments, span)
    return call_unknown(frame, arguments, span)


def _way_of_code(frame: Frame, callee: Value, code: Code, arguments: Arguments, span: ir.Span) -> Callable[[], Value]:
    return lambda: call_code(frame, callee, code, arguments, span)


def call_instance(frame: Frame, callee: Instance, arguments: Arguments, span: ir.Span) -> Value:
    """Call an object."""
    if isinstance(callee.of, ClassValue):
        return _call_object(frame, callee, callee.of.code, arguments, span)
    if isinstance(callee.of, Library):
        return _call_library_instance(frame, callee, callee.of.name, arguments, span)
    return call_unknown(frame, arguments, span)


def _call_object(frame: Frame, callee: Value, code: ClassCode, arguments: Arguments, span: ir.Span) -> Value:
    for name in ("__call__", "forward"):
        found = code.lookup(name)
        if isinstance(found, Function):
            return call_value(frame, bound(found, callee), arguments, span)
    for base in code.libraries:
        if frame.engine.stubs.method(base, "forward") is not None:
            return _call_library_instance(frame, callee, base, arguments, span)
    return call_unknown(frame, arguments, span)


def _call_library_instance(frame: Frame, callee: Value, of: str, arguments: Arguments, span: ir.Span) -> Value:
    handler = method_handler(frame, of, "__call__")
    if handler is not None:
        return handler(CallSite(frame, of, "__call__", callee, arguments, span))
    stubs = frame.engine.stubs
    forms = stubs.method(of, "forward") or stubs.method(of, "__call__")
    if forms:
        return apply_signature(frame, stubs, of.rpartition(".")[2], forms, arguments.behind(callee), span)
    return call_unknown(frame, arguments, span)


def call_library(frame: Frame, name: str, arguments: Arguments, span: ir.Span) -> Value:
    """Call a function or class of a library."""
    handler = function_handler(name)
    if handler is not None:
        return handler(CallSite(frame, "", name, UNKNOWN, arguments, span))
    stubs = frame.engine.stubs
    if stubs.class_(name) is not None:
        return construct_library(frame, name, arguments, span)
    forms = stubs.function(name)
    if forms:
        return apply_signature(frame, stubs, name, forms, arguments, span)
    if name.partition(".")[0] in OPTION_LIBRARIES:
        _note_commands(frame, arguments)
        return root(OPTION, name, frame.site(span))
    if name.partition(".")[0] in QUIET:
        return frame.unknown(name, span)
    return call_unknown(frame, arguments, span)


def call_method(frame: Frame, callee: Method, arguments: Arguments, span: ir.Span) -> Value:
    """Call a method of a library or of Python; if its class is unknown, the name of the method decides."""
    receiver, of, name = callee.receiver, callee.of, callee.name
    if name in MOVES and of != "str":
        return call_move(frame, receiver, name, arguments, span)
    stubs = frame.engine.stubs
    if name == "__init__" and of != BASE and of not in CONTAINERS and stubs.class_(of) is not None:
        initialize(frame, receiver, of, arguments, span)
        return NONE
    if not of:
        called = own_method(receiver, name)
        if called is not None:
            return call_value(frame, called, arguments, span)
        is_open = is_symbolic(receiver) and receiver not in frame.kinds and name != "type"
        if is_open and method_handler(frame, BASE, name) is same:
            return receiver  # a tensor or a module: its device and rank stay
        if stubs.is_tensor_method(name):
            of = TENSOR_CLASS
    if name == "__getitem__" and of == TENSOR_CLASS and len(arguments.positional) == 1:
        require_index(frame, receiver, arguments.positional[0], span)
        return subscript(frame, receiver, arguments.positional[0], span)
    handler = method_handler(frame, of, name)
    if handler is not None:
        return handler(CallSite(frame, of, name, receiver, arguments, span))
    forms = stubs.method(of, name) if of else None
    if forms:
        return apply_signature(frame, stubs, name, forms, arguments.behind(receiver), span)
    if of in (LIST, DICT, SET, "str"):
        return NUMBER if of == "str" else UNKNOWN
    return call_unknown(frame, arguments.behind(receiver), span)


def call_move(frame: Frame, receiver: Value, name: str, arguments: Arguments, span: ir.Span) -> Value:
    """Execute `x.to(…)`, `x.cuda()` and their like."""
    if isinstance(receiver, Instance) and receiver.kind in (LIST, DICT, SET):
        return UNKNOWN
    frame.engine.demand.moves_something = True
    own = device_of_module(frame, receiver) if is_module(receiver) else device_of(frame, receiver)
    where = target_of_move(frame, name, arguments, own)
    named = arguments.at(0, "device") or NONE
    if name in ("to", "cuda") and (name == "cuda" or named is not NONE):
        need(frame, name, CUDA if named is NONE else named, span, receiver)
    if where is own and (isinstance(receiver, Tensor) or stays(frame, name, arguments)):
        return receiver
    return moved(frame, receiver, where, frame.source())


def stays(frame: Frame, name: str, arguments: Arguments) -> bool:
    """Whether a move names no device: the parts of a module stay, wherever each of them is."""
    nowhere = device("nowhere")
    return target_of_move(frame, name, arguments, nowhere) is nowhere


def target_of_move(frame: Frame, name: str, arguments: Arguments, own: Value) -> Value:
    """Return the target device of a move; `own` if the call only changes a dtype or moves nothing."""
    first = arguments.at(0, "device")
    if name == "to":
        if first is None:
            first = arguments.named.get("other")
        if first is None:
            return own if arguments.row is None else UNKNOWN
        if isinstance(first, Symbol) and first.field.name == "dtype":
            return own
        return target(first, own)
    if name == "cpu":
        return device("cpu")
    if first is None or first is NONE:
        return current_device(frame) if name == "cuda" else device(name)
    return denoted(first, current_device(frame))
