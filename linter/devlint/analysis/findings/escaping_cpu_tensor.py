"""A tensor that a function leaves on the CPU, and hands on: what it meets there is seen by nobody.

It is returned, kept in an object that was there before, or given to what is not followed. Beside it the function has
something that may be anywhere: a tensor that it was given, or an attribute of what it was given. What a constructor
makes is left out: a module is built on the CPU, and moved as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import conflicts, unknown_operand, unregistered_tensor
from devlint.analysis.findings.pytorch_messages import LATER, wording
from devlint.analysis.index import classes
from devlint.analysis.values import operands
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.diagnostics import Certainty
from devlint.domain.device import (
    CPU,
    Variable,
    is_symbolic,
    quoted,
)
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Instance, ListObject, held_by
from devlint.domain.kinds import ConflictKind, OriginKind, TensorRole
from devlint.domain.place import AccessPath
from devlint.domain.provenance import Origin
from devlint.domain.summary import Operand
from devlint.domain.value import (
    SOME_DIMENSIONS,
    UNKNOWN,
    BoundMethod,
    Closure,
    Constant,
    Kind,
    Library,
    MaybeNone,
    Method,
    ObjectId,
    Opaque,
    Reference,
    Tensor,
    TupleValue,
    UserClass,
    Value,
    is_lost,
)
from devlint.facts import Conflict
from devlint.frontend.ir import Function, Span

_MADE_BY = re.compile(r"created on the CPU by `(.+)`")
"""What a story says of the operation that has made a tensor."""

_ON_PURPOSE = re.compile(r"\bgenerator *=|rng_state")
"""What is drawn with a generator is where that is, and the state of one is always on the CPU."""

_COPIES = re.compile(r"\.cpu\(\)(?!(\.detach\(\))?\.(numpy|tolist|item)\(\))|[\"']cpu[\"']")
"""A function that says so works on the host on purpose, and with what it makes there; a copy for numpy says less."""

_SHOWS = re.compile(r"(^|[._])((log|print|write|save|dump|plot|assert)\w*|add_\w+|append|extend)$")
"""What is called so shows or keeps numbers, wherever they are."""

MOST_PARTS = 50
"""So many lists, dicts and objects are looked into for tensors."""


def note(frame: Frame, env: Environment, value: Value, how: str) -> None:
    """Notes that a value is handed on, with all that it holds; `how` as for an operation: "return", "self.x ="."""
    if not frame.recording or env.fallback or env.on_host or not isinstance(frame.scope, Function):
        return
    left = []
    for tensor in _tensors(env, value):
        made = tensor.origin if tensor.device == CPU else None
        if tensor.stray is not None and tensor.stray.may_meet:
            made = tensor.stray.origin
        if made is not None and tensor.rank != 0 and tensor.role is TensorRole.PLAIN and _is_left_here(frame, made):
            left.append(made)
    # Where one argument was found on the CPU, the others may be there too.
    if left and not any(map(_was_found_on_cpu, env.names.values())):
        for made in left:
            frame.handed_on.setdefault(made, how)


def _was_found_on_cpu(value: Value) -> bool:
    """Whether a test has found an argument on the CPU."""
    if not isinstance(value, (Tensor, Opaque)) or value.device != CPU:
        return False
    return value.origin is not None and value.origin.kind is OriginKind.PARAMETER


def note_stored(frame: Frame, env: Environment, base: Value, value: Value, span: Span) -> None:
    """Notes that a value is stored in an attribute of an object that was there before."""
    if isinstance(base, Opaque) or (isinstance(base, Reference) and base.object.is_generic):
        note(frame, env, value, f"{frame.text(span)} =")


def note_entry(frame: Frame, env: Environment, base: ArgumentValue, key: ArgumentValue, value: Value) -> None:
    """Notes that a value is stored under a name in something that was there before."""
    if isinstance(base.value, Opaque) and isinstance(key.value, Constant) and isinstance(key.value.value, str):
        note(frame, env, value, f"{frame.text(base.span)}[{frame.text(key.span)}] =")


def note_call(frame: Frame, env: Environment, function: ArgumentValue, arguments: Arguments, result: Value) -> None:
    """Notes what a call is given of whose result nothing is known, unless by its name it is for numbers."""
    results = result.items if isinstance(result, TupleValue) else (result,)
    if not (frame.recording and any(map(is_lost, results)) and _may_compute(function.value)):
        return
    name = frame.text(function.span)
    if not _SHOWS.search(name):
        for given in arguments.all():
            note(frame, env, given.value, name)


def _may_compute(called: Value) -> bool:
    """Whether what is called may have its arguments meet: Python, numpy and torch are known, text and tensors are."""
    match called:
        case Library(name):
            return not name.startswith(("builtins.", "numpy.", "torch."))
        case Method(receiver):
            return isinstance(receiver, (Opaque, Reference))
        case _:
            return isinstance(called, (Opaque, Closure, BoundMethod, UserClass, Reference))


def record(frame: Frame, given: Mapping[str, Value]) -> None:
    """Records what is handed on, unless it is seen to meet something; `given`: the names a function begins with."""
    beside = _beside(frame, given) if frame.handed_on and not _builds(frame) else None
    if beside is None or _COPIES.search(frame.program.source(frame.file, frame.scope.span)):
        return
    for made, how in frame.handed_on.items():
        place = (made.file, made.span)
        created = Operand(frame.text(made.span), CPU, SOME_DIMENSIONS, made.span, made, file=frame.file)
        if (
            place not in frame.reported
            and place not in frame.unplaced
            and unknown_operand.knows_of_devices(frame, created)
        ):
            sides = (operands.meeting(frame, beside), operands.meeting(frame, created))
            said = f"{wording(how, beside, created)}{LATER}"
            fact = Conflict(ConflictKind.ESCAPING_CPU_TENSOR, how, *sides, Certainty.POSSIBLE, said)
            frame.record(made.span, fact, conflicts.parameters_of(frame, beside.device))


def _beside(frame: Frame, given: Mapping[str, Value]) -> Operand | None:
    """What a function is given that may be on another device: a tensor, else a part of something."""
    for parameter in getattr(frame.scope, "parameters", ()):
        value = given.get(parameter.name, UNKNOWN)
        value = value.present if isinstance(value, MaybeNone) else value
        if isinstance(value, Opaque) and frame.kind(value) is Kind.TENSOR:
            value = frame.tensor(value)
        if isinstance(value, Tensor) and is_symbolic(value.device):
            return Operand(parameter.name, value.device, value.rank, parameter.span, value.origin, file=frame.file)
    tensors = (path for path, kind in frame.proofs.kinds.items() if kind is Kind.TENSOR)
    for path in (*tensors, *sorted(frame.proofs.followed, key=str)):
        if not path.is_fresh and not path.is_called_device:
            return _of_path(frame, path)
    return None


def _of_path(frame: Frame, path: AccessPath) -> Operand:
    """The value at a place, shown at the parameter that holds it."""
    parameters = getattr(frame.scope, "parameters", ())
    root = next((one.span for one in parameters if one.name == path.root), None)
    head = frame.scope.span
    span = root or Span(head.line, head.column, head.line, head.column + 1)
    origin = frame.origin(f"the device of {quoted(str(path))} is not known", span, OriginKind.UNKNOWN)
    return Operand(str(path), Variable(path), None, span, origin, file=frame.file)


def _builds(frame: Frame) -> bool:
    """Whether the executed function is a constructor, or a method that is called by one alone."""
    name, owner = frame.scope.name.rpartition(".")[2], frame.owner
    return name in ("__init__", "__new__") or (owner is not None and classes.is_part_of(owner, name, "__init__"))


def _is_left_here(frame: Frame, made: Origin) -> bool:
    """Whether this function has made a tensor and could have said where."""
    if not (
        unregistered_tensor.within(frame, made)
        and made.kind in (OriginKind.CREATED, OriginKind.HOST)
        and made.is_unasked
    ):
        return False
    by = _MADE_BY.fullmatch(made.what)
    told = by is None or frame.program.takes_device(by[1]) or "from_" in by[1]
    return told and not _ON_PURPOSE.search(frame.program.source(made.file, made.span))


def _tensors(env: Environment, value: Value) -> Iterator[Tensor]:
    """The tensors that a value is or holds; what objects hold that were there before, others know."""
    pending, seen = [value], set[ObjectId]()
    while pending:
        match pending.pop():
            case Tensor() as tensor:
                yield tensor
            case TupleValue(items):
                pending.extend(items)
            case MaybeNone(present):
                pending.append(present)
            case Reference(identity) if identity not in seen and len(seen) < MOST_PARTS:
                seen.add(identity)
                held = env.heap.get(identity)
                if isinstance(held, (ListObject, DictObject, Instance)) and not identity.is_generic:
                    pending.extend(held_by(held))
