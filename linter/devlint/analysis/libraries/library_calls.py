"""Calling what the catalogue knows: functions, methods and modules of libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from devlint.analysis.execution.frame import Frame, is_computed, is_moved
from devlint.analysis.findings import conflicts, unregistered_tensor
from devlint.analysis.findings.client import LENGTHS
from devlint.analysis.libraries import handed_out, transfer_tables
from devlint.analysis.libraries.apply_signature import Application
from devlint.analysis.libraries.transfer_tables import LibraryCall
from devlint.analysis.libraries.unify import fits
from devlint.analysis.values import operands, partial_batch_move
from devlint.analysis.values.arguments import Arguments, ArgumentValue, BoundArguments, bind_to_signature, constant
from devlint.analysis.values.containers import allocate
from devlint.analysis.values.devices import check_call, default_device
from devlint.analysis.values.modules import is_module, is_module_class, module_device
from devlint.analysis.values.narrowing import present
from devlint.domain.device import (
    CPU,
    UNKNOWN_DEVICE,
    UNREACHED,
    Concrete,
    Unreached,
    created_by,
    differ,
    is_symbolic,
)
from devlint.domain.environment import Environment
from devlint.domain.heap import LibraryObject
from devlint.domain.kinds import Exemption, OperandRole, OriginKind, TensorRole
from devlint.domain.place import AccessPath
from devlint.domain.summary import Operand, OwnerModule
from devlint.domain.value import (
    SOME_DIMENSIONS,
    UNKNOWN,
    Constant,
    Host,
    Kind,
    Method,
    Opaque,
    Reference,
    Tensor,
    Unknown,
    Value,
)
from devlint.facts import PinnedDeviceTensor
from devlint.frontend.ir import Span
from devlint.torchlib.knowledge import ASKS_FOR_ACCELERATOR, FROM_NUMBERS, MODULE, TENSOR
from devlint.torchlib.signature import ListTerm, ObjectTerm, Signature, TensorTerm


def short_name(cls: str) -> str:
    """The name of a library's class for messages; one that stands for several is private in the stubs."""
    return cls.rsplit(".", 1)[-1].lstrip("_")


def is_method(frame: Frame, name: str) -> bool:
    """Whether tensors have a method of that name."""
    return frame.program.catalogue.method(TENSOR, name) is not None


def is_module_method(frame: Frame, name: str) -> bool:
    """Whether modules have a method of that name."""
    return frame.program.catalogue.method(MODULE, name) is not None


Form = tuple[Signature, BoundArguments]
"""A form of a function, and the arguments by its parameters."""


def choose(frame: Frame, signatures: tuple[Signature, ...], arguments: Arguments) -> Form | None:
    """The first form that the arguments fit; None where an argument of which nothing is known decides what is returned.

    Where no form takes a tensor, one that takes a number has it as such: `torch.arange(lengths.max())`.
    """
    found: list[Form] = []
    for as_number in (False, True):
        fitting = ((one, _fitting(frame, one, arguments, as_number=as_number)) for one in signatures)
        found = [(one, bound) for one, bound in fitting if bound is not None]
        if found:
            break
    else:
        return None
    unclear = [given for given in arguments.all() if isinstance(_seen(frame, given.value), (Unknown, Opaque))]
    deciding = [given for given in unclear if len(found) > 1 and _decides(given, found)]
    return _for_numbers(found, deciding) if deciding else found[0]


def _seen(frame: Frame, value: Value) -> Value:
    """The value, as a tensor if it is known to be one."""
    return frame.tensor(value) if isinstance(value, Opaque) and frame.kind(value) is Kind.TENSOR else value


def _fitting(frame: Frame, signature: Signature, arguments: Arguments, *, as_number: bool) -> BoundArguments | None:
    bound = bind_to_signature(signature, arguments)
    if bound is None:
        return None
    fit = all(
        fits(parameter.terms, _seen(frame, given.value), as_number=as_number)
        for parameter in signature.parameters
        for given in bound.get(parameter.name, ())
    )
    return bound if fit else None


def _decides(given: ArgumentValue, found: list[Form]) -> bool:
    """Whether the forms take an argument for different things: a tensor in one, a number in another."""
    return len({kind for form in found for kind in _takes_tensor(form, given)}) > 1


def _takes_tensor(form: Form, given: ArgumentValue) -> Iterator[bool]:
    """Whether a form takes an argument for a tensor or a list of them, if it takes it by name."""
    signature, bound = form
    for parameter in signature.parameters:
        if any(item is given for item in bound.get(parameter.name, ())):
            yield any(isinstance(term, (TensorTerm, ListTerm)) for term in parameter.terms)


def _for_numbers(found: list[Form], deciding: list[ArgumentValue]) -> Form | None:
    """The form that takes arguments of which nothing is known for numbers, so that nothing is asked of them.

    None if the forms return different things, or if only some of them use the default device.
    """
    if any(signature.returns != found[0][0].returns for signature, _ in found):
        return None
    if len({any(one.name == FROM_NUMBERS for one in signature.parameters) for signature, _ in found}) > 1:
        return None
    forms = (form for form in found if not any(kind for given in deciding for kind in _takes_tensor(form, given)))
    return next(forms, None)


def call_function(frame: Frame, env: Environment, name: str, arguments: Arguments, span: Span) -> Value | None:
    """A call of a library function; Unknown for what is not in the catalogue."""
    check_call(frame, env, name, span)
    transfer = transfer_tables.FUNCTIONS.get(name)
    if transfer is not None:
        return transfer(LibraryCall(frame, env, name, arguments, span))
    return call_by_signature(frame, env, name, arguments, span)


def call_by_signature(frame: Frame, env: Environment, name: str, arguments: Arguments, span: Span) -> Value | None:
    """A call of a library function as its signature says."""
    signatures = frame.program.catalogue.function(name)
    if signatures is None:
        return present(frame.program.devices) if _asks_for_accelerator(name) else UNKNOWN
    found = choose(frame, signatures, arguments)
    if found is None:
        return UNKNOWN
    signature, bound = found
    first = arguments.get(0, signature.parameters[0].name) if "in_place" in signature.markers else None
    receiver = None if first is None else first.value
    result = Application(frame, env, name, span).run(signature, bound, receiver, exact=arguments.exact)
    if constant(arguments.keyword("pin_memory")) is True:
        _note_pinning(frame, env, name, result, span)
    return result


@cache
def _asks_for_accelerator(name: str) -> bool:
    return ASKS_FOR_ACCELERATOR.search(name) is not None


def _note_pinning(frame: Frame, env: Environment, name: str, result: Value, span: Span) -> None:
    """A factory with `pin_memory` creates in the host's memory."""
    if isinstance(result, Tensor) and isinstance(result.device, Concrete) and result.device.type == "cuda":
        message = "Only dense CPU tensors can be pinned"
        if not env.fallback:
            frame.record(span, PinnedDeviceTensor(f"`{name}`", result.device, message, ()))


def call_tensor_method(
    frame: Frame,
    env: Environment,
    receiver: ArgumentValue,
    name: str,
    arguments: Arguments,
    span: Span,
    operation: str | None = None,
) -> Value | None:
    """A call of a tensor's method."""
    check_call(frame, env, f"{TENSOR}.{name}", span)
    transfer = transfer_tables.TENSOR_METHODS.get(name)
    if transfer is not None:
        return transfer(LibraryCall(frame, env, name, arguments, span, receiver))
    signatures = frame.program.catalogue.method(TENSOR, name)
    if signatures is None:
        return UNKNOWN
    with_self = arguments.behind(receiver)
    found = choose(frame, signatures, with_self)
    if found is None:
        return UNKNOWN
    signature, bound = found
    application = Application(frame, env, operation or f"Tensor.{name}", span)
    result = application.run(signature, bound, receiver.value, exact=arguments.exact)
    return receiver.value if "in_place" in signature.markers and application.apart is None else result


def read_by_numpy(frame: Frame, env: Environment, operation: str, given: ArgumentValue, span: Span) -> None:
    """Numpy makes an array of a value, if that is a tensor."""
    side = operands.side_of(frame, env, given, "input", Exemption.NONE, OperandRole.OPERAND)
    if side is not None:
        conflicts.find_on_cpu(frame, env, operation, span, side, OperandRole.HOST)


def tensor_attribute(frame: Frame, env: Environment, base: Tensor, name: str) -> Value | None:
    """An attribute of a tensor that is no method; None if it has none of that name."""
    terms = frame.program.catalogue.attribute(TENSOR, name)
    if terms is None:
        return None
    if name == "ndim" and base.rank is not None and base.rank != SOME_DIMENSIONS:
        return Constant(base.rank)
    for term in terms:
        if isinstance(term, TensorTerm):
            return Tensor(base.device, base.rank if term.rank == "R" else None, origin=base.origin)
    application = Application(frame, env, name, frame.scope.span)
    return application.result(terms, base)


# --- modules ------------------------------------------------------------------------------------------------


def construct(frame: Frame, env: Environment, name: str, arguments: Arguments, span: Span) -> Value | None:
    """`torch.nn.Linear(…)` and other classes of the catalogue."""
    transfer = transfer_tables.CONSTRUCTORS.get(name)
    if transfer is not None:
        return transfer(LibraryCall(frame, env, name, arguments, span))
    signatures = frame.program.catalogue.method(name, "__init__")
    device = default_device(env)
    kind = OriginKind.MODULE if is_module_class(frame, name) else OriginKind.CREATED
    parts: tuple[tuple[str, Value], ...] = ()
    # The stubs call a class that users know by other names by one with an underscore.
    called = name if "._" not in name else frame.text(span).partition("(")[0]
    origin = frame.origin(created_by(f"{called}(…)", device), span, kind)
    if signatures is not None:
        nothing = ArgumentValue(UNKNOWN, span)
        found = choose(frame, signatures, arguments.behind(nothing))
        if found is not None:
            signature, bound = found
            application = Application(frame, env, name, span)
            application.run(signature, bound, exact=arguments.exact)
            if any(isinstance(term, ObjectTerm) for term in signature.returns):
                device = UNKNOWN_DEVICE
            elif "E" in application.settled or "E" in application.given.defaults:
                device = application.device("E")
                origin = replace(application.origin("E"), kind=kind)
                if any(parameter.name == FROM_NUMBERS for parameter in signature.parameters):
                    parts = ((FROM_NUMBERS, Constant(True)),)
                sides = application.given.groups.get("E")
                if sides and all(side.rank == 0 for side in sides):
                    device = UNREACHED  # what it holds is a number, which may meet any device
                elif sides and all(map(operands.may_be_exempt, sides)):
                    device = UNKNOWN_DEVICE
            elif _is_stateless(frame, name):
                device = UNREACHED
        else:
            device = UNKNOWN_DEVICE
    elif _is_stateless(frame, name):
        device = UNREACHED
    return allocate(frame, env, span, name, LibraryObject(name, device, origin, parts))


def _is_stateless(frame: Frame, name: str) -> bool:
    """Whether modules of a class have no parameters or buffers unless told otherwise."""
    entry = frame.program.catalogue.class_(name)
    return entry is not None and "stateless" in entry.markers


def call_module(
    frame: Frame, env: Environment, receiver: ArgumentValue, held: LibraryObject, arguments: Arguments, span: Span
) -> Value | None:
    """A call of a library module: its parameters and its inputs meet."""
    transfer = transfer_tables.MODULE_CALLS.get(held.cls)
    if transfer is not None:
        return transfer(LibraryCall(frame, env, held.cls, arguments, span, receiver))
    signatures = frame.program.catalogue.method(held.cls, "forward")
    if signatures is None:
        return UNKNOWN
    found = choose(frame, signatures, arguments.behind(receiver))
    if found is None:
        return UNKNOWN
    signature, bound = found
    operation = f"{short_name(held.cls)}.__call__"
    _meet_replaced_parts(frame, env, receiver, held, arguments, operation, span)
    return Application(frame, env, operation, span).run(signature, bound, exact=arguments.exact)


def _meet_replaced_parts(
    frame: Frame,
    env: Environment,
    receiver: ArgumentValue,
    held: LibraryObject,
    arguments: Arguments,
    operation: str,
    span: Span,
) -> None:
    """A part that the program has put into a module meets what the module computes from its first input.

    It does if the module's class has a part of that name, which the new one replaces.
    """
    given = (one for one in arguments.all() if isinstance(one.value, Tensor) and one.value.device == held.device)
    inputs = list(given)
    for name, part in _replaced_parts(frame, env, held) if inputs else ():
        called = f"{frame.text(receiver.span)}{name}"
        meet(frame, env, replace(receiver, value=part), inputs[0], operation, span, called)


def _replaced_parts(frame: Frame, env: Environment, held: LibraryObject) -> Iterator[tuple[str, Value]]:
    """Yield the parts of a module that its class has, and their parts, each with its path in the source."""
    for name, part in held.parts:
        is_item = name.startswith("[")
        described = frame.program.catalogue.method(held.cls, "__getitem__") if is_item else None
        if not is_module(frame, env, part) or (
            described is None and frame.program.catalogue.attribute(held.cls, name) is None
        ):
            continue
        led = name if is_item else f".{name}"
        yield led, part
        inner = env.heap.get(part.object) if isinstance(part, Reference) else None
        if isinstance(inner, LibraryObject):
            yield from ((led + further, one) for further, one in _replaced_parts(frame, env, inner))


def call_method(
    frame: Frame,
    env: Environment,
    receiver: ArgumentValue,
    held: LibraryObject,
    name: str,
    arguments: Arguments,
    span: Span,
) -> Value:
    """A method of an instance of a library's class, as its signature says; Unknown without one.

    An object that is called has the method `__call__`, a subscript is the method `__getitem__`.
    """
    transfer = transfer_tables.OBJECT_METHODS.get(f"{held.cls}.{name}")
    if transfer is not None:
        return transfer(LibraryCall(frame, env, f"{short_name(held.cls)}.{name}", arguments, span, receiver)) or UNKNOWN
    found = choose(frame, frame.program.catalogue.method(held.cls, name) or (), arguments.behind(receiver))
    if found is None:
        return UNKNOWN
    signature, bound = found
    if "transfer" in signature.markers:
        return UNKNOWN
    short = short_name(held.cls)
    operation = short if name == "__call__" else f"{short}.{name}"
    application = Application(frame, env, operation, span)
    result = application.run(signature, bound, receiver.value, exact=arguments.exact)
    if name != "__getitem__":
        return _kept_part(frame, env, receiver.value, held, f"{name}()", result)
    key = arguments.first()
    item = None if key is None else _item_name(key.value)
    if item is not None:
        return _kept_part(frame, env, receiver.value, held, item, result)
    if not is_module(frame, env, result):
        return result
    handed_out.note_some(LibraryCall(frame, env, operation, arguments, span, receiver))
    return UNKNOWN


def _item_name(key: Value) -> str | None:
    """Return the name of the part of a module that `module[key]` leads to; None for an unknown one."""
    if isinstance(key, Constant):
        return f"[{key.value!r}]"
    return f"[{key.bounds}]" if isinstance(key, Host) and key.bounds is not None else None


def store_item(frame: Frame, env: Environment, base: Reference, held: LibraryObject, key: Value, value: Value) -> None:
    """`module[key] = value` of a module of a library: the new part replaces the one of that key."""
    name = _item_name(key)
    if name is not None and is_module(frame, env, base) and is_module(frame, env, value):
        others = tuple(part for part in held.parts if part[0] != name)
        env.heap[base.object] = replace(held, parts=(*others, (name, value)))


def _kept_part(frame: Frame, env: Environment, module: Value, held: LibraryObject, name: str, result: Value) -> Value:
    """Return the result of a module's method; a module among these results is a part, and moves with its module."""
    if result == module or not (is_module(frame, env, module) and is_module(frame, env, result)):
        return result
    kept = held.part(name)
    if kept == UNKNOWN and isinstance(module, Reference):
        env.heap[module.object] = replace(held, parts=(*held.parts, (name, result)))
    return result if kept == UNKNOWN else kept


def moves_in_place(frame: Frame, cls: str, name: str) -> bool:
    """Whether a method of a library's class moves the object itself and returns it."""
    return any("moves" in signature.markers for signature in frame.program.catalogue.method(cls, name) or ())


def meet(
    frame: Frame,
    env: Environment,
    receiver: ArgumentValue,
    value: ArgumentValue,
    operation: str,
    span: Span,
    name: str = "",
) -> None:
    """A module meets an input, where no signature says so: the input must be where the parameters are.

    `name`: what the module is called, if that is not the text of the receiver.
    """
    device, origin = module_device(frame, env, receiver.value)
    if isinstance(device, Unreached) or not isinstance(value.value, (Tensor, Opaque)):
        return
    name = name or frame.text(receiver.span)
    holder = unregistered_tensor.holder(env, receiver.value)
    module = Operand(name, device, SOME_DIMENSIONS, receiver.span, origin, module=holder, file=frame.file)
    if isinstance(receiver.value, Reference):
        module = replace(module, object=receiver.value.object)
    held = value.value
    rank = held.rank if isinstance(held, Tensor) else None
    certain = isinstance(held, Tensor) or is_computed(held) or frame.kind(held) not in (Kind.ANY, Kind.OTHER)
    where = operands.resolve(env, held.device)
    text, batch = frame.text(value.span), partial_batch_move.batch_of(held)
    one = Operand(
        text, where, rank, value.span, held.origin, Exemption.NONE, certain, "input", file=frame.file, batch=batch
    )
    conflicts.find(frame, env, operation, span, (module, one))


_REPLICATES = re.compile("DataParallel")
"""What is in the file of a module that may take its inputs from the CPU, and bring them to where its replicas are."""


def meet_inputs(frame: Frame, env: Environment, function: ArgumentValue, arguments: Arguments, span: Span) -> None:
    """A module of which nothing is known is called: what was moved on purpose meets an input that is on the CPU.

    That is the module itself, or another input. What a loader gives may be for replicas, unless the module was made
    here. Lengths stay on the CPU by design, and a number that was made a tensor may meet anything: the first input is
    taken for none.
    """
    operation = frame.text(function.span)
    made_here = isinstance(function.value, Opaque) and function.value.path.is_fresh
    moved, left = [], []
    for given in (function, *arguments.all()):
        held, text = given.value, frame.text(given.span)
        if not isinstance(held, (Tensor, Opaque)) or held.origin is None:
            continue
        device = operands.resolve(env, held.device)
        rank = held.rank if isinstance(held, Tensor) else SOME_DIMENSIONS
        module, batch = OwnerModule() if given is function else None, partial_batch_move.batch_of(held)
        side = Operand(
            text, device, rank, given.span, held.origin, parameter="input", module=module, file=frame.file, batch=batch
        )
        kind = held.origin.kind
        if kind is OriginKind.MOVED and (is_symbolic(device) or operands.is_accelerator(device)):
            moved.append(side)
            continue
        if LENGTHS.search(text) or given is function:
            continue
        has_dimensions = rank not in (None, 0) or (rank is None and given is arguments.first())
        is_batch = kind is OriginKind.LOADER and made_here and isinstance(held, Tensor)
        if device == CPU and ((kind is OriginKind.CREATED and has_dimensions) or is_batch):
            left.append(side)
        elif made_here and (isinstance(held, Tensor) or frame.kind(held) is Kind.TENSOR):
            left.extend(filter(None, (partial_batch_move.left_behind(frame, side),)))
    if moved and left and not env.fallback and not frame.file_says(_REPLICATES):
        conflicts.find(frame, env, operation, span, (moved[0], left[0]))


def meet_on_other_accelerators(
    frame: Frame, env: Environment, function: ArgumentValue, given: Iterable[ArgumentValue], span: Span
) -> None:
    """Let an unknown module that was moved to an accelerator meet those inputs that are on another accelerator."""
    module = function.value
    if not isinstance(module, Opaque) or not is_moved(module) or frame.file_says(_REPLICATES):
        return
    for one in given:
        if not isinstance(one.value, (Tensor, Opaque)):
            continue
        device = operands.resolve(env, one.value.device)
        if operands.is_accelerator(device) and operands.is_accelerator(module.device) and differ(device, module.device):
            meet(frame, env, function, one, f"{frame.text(function.span)}.__call__", span)


def object_attribute(
    frame: Frame,
    env: Environment,
    base: Reference,
    held: LibraryObject,
    name: str,
    span: Span,
    place: AccessPath | None,
) -> Value:
    """An attribute of an instance of a library class: a parameter of a module, a part, a method."""
    part = held.part(name)
    if part != UNKNOWN:
        return part
    is_module = is_module_class(frame, held.cls)
    terms = frame.program.catalogue.attribute(held.cls, name)
    if terms is not None:
        found = Application(frame, env, name, span).of_object(terms, held)
        if is_module and isinstance(found, Tensor):
            return replace(found, role=TensorRole.PARAMETER)
        return _kept_part(frame, env, base, held, name, found)
    if frame.program.catalogue.method(held.cls, name) is not None:
        return Method(base, name, place)
    if not is_module:
        return UNKNOWN
    if name == "device":
        frame.miss_device(span, short_name(held.cls))
        return UNKNOWN
    if name in ("weight", "bias"):
        return Tensor(held.device, None, TensorRole.PARAMETER, held.origin)
    return UNKNOWN
