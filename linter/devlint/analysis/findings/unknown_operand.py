"""A tensor that was left on the CPU meets something that may be anywhere: no rule but an audit's tells of it.

What meets it is the result of a call that is not followed, an attribute that others fill, a part of an unknown
container, or a parameter that need not be a tensor. In a file that never names a device this says nothing. In one that
does, what is created without one is most often forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, permutations

from devlint.analysis.execution.frame import Frame, is_computed, is_moved
from devlint.analysis.findings import client, conflicts
from devlint.analysis.findings.pytorch_messages import wording
from devlint.analysis.index import classes
from devlint.analysis.values import operands, partial_batch_move
from devlint.analysis.values.arguments import Arguments, ArgumentValue, BoundArguments
from devlint.diagnostics import Certainty
from devlint.domain.device import (
    CPU,
    UNKNOWN_DEVICE,
    Variable,
    is_symbolic,
    quoted,
)
from devlint.domain.environment import Environment
from devlint.domain.kinds import ConflictKind, Exemption, OperandRole, OriginKind
from devlint.domain.place import AccessPath
from devlint.domain.provenance import Origin
from devlint.domain.summary import Operand, OwnerModule
from devlint.domain.value import SOME_DIMENSIONS, Kind, ObjectId, Opaque, Reference, Tensor
from devlint.facts import Conflict
from devlint.frontend.ir import Function, Span
from devlint.torchlib.knowledge import CALLED_MODULE, TOGETHER

_PART = re.compile(r"self(\.\w+)+")
"""An attribute of a module that is called, or a method of one."""

_LOSS = re.compile(r"(^|[._])(loss|criterion|loss_(fn?|func|function))$")
"""Something with such a name that is called compares what it is given."""

_OF_MODULE = re.compile(rf"{CALLED_MODULE.pattern}|({CALLED_MODULE.pattern.removesuffix('$')})\.\w+$")
"""A module by its name, or a method of one."""

_NO_TENSOR = re.compile(rf"{client.LENGTHS.pattern}|text|caption|sentence|prompt|question|answer|name|path|meta")
"""Says of a part of a batch by its name that it may be text or numbers."""

_KEY = re.compile(r"\[[\"']")
"""The beginning of a subscript that names an entry."""

_NAMES_A_DEVICE = re.compile(
    r"\.device\b|\b_?device\b *[=:,)]|_device\(|\.is_cuda\b|\.cuda\(|\.new_(zeros|ones|full|empty|tensor)\(|\.type_as\("
)
"""Code with such a word expects tensors anywhere: it says where they are, or makes others there."""

_TAKES_OVER_DTYPE = re.compile(r"\bdtype *= *[\w.\[\]]+\.dtype\b")
"""A call with such an argument makes something to go with another tensor, and forgets where that is."""


def note(frame: Frame, env: Environment, operation: str, span: Span, sides: Sequence[Operand]) -> None:
    """Notes that of values which an operation needs on one device, one is on the CPU and another may be anywhere."""
    if not frame.recording or env.fallback or env.on_host or len(sides) < 2:
        return
    for one, other in permutations(sides, 2):
        if one.origin is not None and one.device == CPU and not _is_placed(other):
            frame.joined.setdefault((one.origin.file, one.origin.span), set()).add(span)
    for one, other in permutations(sides, 2):
        if one.stray is not None and other.stray is not None and one.stray.subject == other.stray.subject:
            continue  # one test has created both there
        left = _of_loader(frame, one) or conflicts.created_on_cpu(one) or one
        if _is_left_on_cpu(left) and _may_be_anywhere(other) and knows_of_devices(frame, left):
            assert left.origin is not None
            frame.unplaced.setdefault((left.origin.file, left.origin.span), (operation, span, left, other))
            return


def record(frame: Frame) -> None:
    """Records where each tensor first met something unplaced, unless it meets something that is known to be apart."""
    for made, (operation, span, left, other) in frame.unplaced.items():
        if made not in frame.reported:
            there = _somewhere(frame, other)
            sides = operands.meeting(frame, there), operands.meeting(frame, left)
            said = wording(operation, there, left)
            doubts = conflicts.parameters_of(frame, other.device)
            frame.record(
                span, Conflict(ConflictKind.UNKNOWN_OPERAND, operation, *sides, Certainty.POSSIBLE, said), doubts
            )


def _somewhere(frame: Frame, side: Operand) -> Operand:
    """The value as one that has a device of its own."""
    device = side.device if is_symbolic(side.device) else Variable(AccessPath(side.name))
    origin = side.origin or frame.origin(
        f"the device of {quoted(side.name)} is not known", side.span, OriginKind.UNKNOWN
    )
    return replace(side, device=device, origin=origin)


def note_inputs(frame: Frame, env: Environment, function: ArgumentValue, arguments: Arguments, span: Span) -> None:
    """Notes that a part of a module that cannot be followed is given what was left on the CPU, beside what is not.

    A loss, whose ever it is, compares that with what was computed, of which nothing says where it is. Lengths stay on
    the CPU by design.
    """
    name = frame.text(function.span)
    _note_batch(frame, env, function, arguments, span)
    compares = _LOSS.search(name) is not None
    is_part = frame.owner is not None and classes.is_module(frame.owner) and _PART.fullmatch(name)
    if not frame.recording or not (compares or is_part):
        return
    left, placed = [], []
    named = (*(("", given) for given in arguments.positional), *arguments.keywords)
    for keyword, given in named:
        value = frame.tensor(given.value) if isinstance(given.value, Opaque) else given.value
        if not isinstance(value, Tensor):
            continue
        device = operands.resolve(env, value.device)
        certain = not isinstance(given.value, Opaque) or frame.kind(given.value) is Kind.TENSOR
        batch = partial_batch_move.batch_of(given.value)
        text, file = frame.text(given.span), frame.file
        side = Operand(text, device, value.rank, given.span, value.origin, certain=certain, file=file, batch=batch)
        behind = partial_batch_move.left_behind(frame, side) if compares else None
        of_loader = (behind or _of_loader(frame, side)) if compares else None
        if of_loader is not None:
            side = replace(of_loader, certain=True)
        is_left = behind is not None or (_is_left_on_cpu(side) and (compares or side.rank is not None))
        if is_left and not client.LENGTHS.search(f"{keyword} {side.name}"):
            left.append(side)
        elif (certain or _is_result(frame, given, compares)) and (
            is_symbolic(device) or (compares and (_may_be_anywhere(side) or operands.is_accelerator(device)))
        ):
            placed.append(side)
    if left and placed and not env.fallback and not env.on_host and knows_of_devices(frame, left[0]):
        made = left[0].origin
        assert made is not None
        frame.unplaced.setdefault((made.file, made.span), (name, span, left[0], placed[0]))


def _note_batch(frame: Frame, env: Environment, function: ArgumentValue, arguments: Arguments, span: Span) -> None:
    """Notes that a module, which may be anywhere, is given a part of a batch as it is, where another part is moved.

    That is no mistake if it hands its inputs out to replicas. Beside one that is moved, text may go to it as well.
    """
    name = frame.text(function.span)
    if not frame.recording or env.fallback or not frame.batches or not _OF_MODULE.search(name):
        return
    inputs = [(given, given.value) for given in arguments.all() if isinstance(given.value, (Tensor, Opaque))]
    moved = sum(is_moved(value) for _, value in inputs)
    for given, value in inputs:
        text = frame.text(given.span)
        alone = moved == 0 and given is arguments.first() and CALLED_MODULE.search(name) is not None
        likely = alone or (moved > 1 and not _NO_TENSOR.search(text))
        certain = (isinstance(value, Tensor) or frame.kind(value) is Kind.TENSOR) and not client.LENGTHS.search(text)
        if likely or certain:
            side = Operand(text, value.device, SOME_DIMENSIONS, given.span, None, file=frame.file)
            left = partial_batch_move.left_behind(
                frame, replace(side, batch=partial_batch_move.batch_on_some_path(frame, value))
            )
            if left is not None and left.origin is not None:
                there = replace(side, name=name, device=UNKNOWN_DEVICE, span=function.span, module=OwnerModule())
                frame.unplaced.setdefault((left.origin.file, left.origin.span), (name, span, left, there))
                return


def _is_result(frame: Frame, given: ArgumentValue, likely: bool) -> bool:
    """Whether a part of a module has computed what is given, or, where that is enough, it is `likely` a tensor."""
    if not isinstance(given.value, Opaque):
        return False
    return is_computed(given.value) or (likely and frame.is_likely_tensor(given.value))


def note_collected(frame: Frame, env: Environment, given: ArgumentValue, collection: ObjectId) -> None:
    """Notes what a list is given, if that is left on the CPU or nothing says where it is."""
    value = frame.tensor(given.value) if isinstance(given.value, Opaque) else given.value
    if isinstance(value, Tensor):
        name, device = frame.text(given.span), operands.resolve(env, value.device)
        side = Operand(name, device, value.rank, given.span, value.origin, file=frame.file)
        if _is_left_on_cpu(side) or _may_be_anywhere(side):
            frame.collected.setdefault(collection, []).append(side)


def note_lists(frame: Frame, env: Environment, operation: str, span: Span, bound: BoundArguments) -> None:
    """Notes that an operation puts together what a list was given, where that is apart: `torch.cat(rows)`."""
    for given in chain.from_iterable(bound.values()) if frame.collected else ():
        if isinstance(given.value, Reference) and operation in TOGETHER:
            note(frame, env, operation, span, frame.collected.get(given.value.object, ()))


def _of_loader(frame: Frame, side: Operand) -> Operand | None:
    """A part of a batch of what is called a loader, as a tensor on the CPU, where loaders make batches."""
    if not isinstance(side.device, Variable) or side.origin is None:
        return None
    if not _is_of_loader(side.device.place):
        return None
    event = frame.origin(f"batches of `{side.device.place.whole}` are on the CPU", side.origin.span, OriginKind.LOADER)
    return replace(side, device=CPU, origin=event)


def _is_of_loader(place: AccessPath) -> bool:
    """Whether a place is a part of what a loader gives, which the function was given or its object keeps."""
    loader = place.whole
    if loader is place or loader.is_fresh:
        return False
    kept = loader.is_of_self and len(loader.steps) == 1
    return (kept or not loader.steps) and str(loader).endswith("loader")


def _is_left_on_cpu(side: Operand) -> bool:
    """Whether a tensor with dimensions is on the CPU because nobody said where to put it."""
    if not side.certain or side.device != CPU or side.origin is None or side.rank == 0:
        return False
    if side.rank is None and side.exemption is not Exemption.NONE:
        return False  # it may have none, and then it may meet anything
    return _is_by_default(side.origin) and not operands.is_exempt(side)


def _is_by_default(made: Origin) -> bool:
    """Whether something is on the CPU for want of a word: as a factory, a loader or numpy leaves it."""
    if made.kind is OriginKind.ATTRIBUTE:
        return made.because is not None and _is_by_default(made.because)
    return made.kind in (OriginKind.CREATED, OriginKind.HOST, OriginKind.LOADER) and made.is_unasked


def _is_placed(side: Operand) -> bool:
    """Whether it is known where a value is, or it is no tensor that has to be anywhere."""
    if side.role not in (OperandRole.OPERAND, OperandRole.INDEX) or side.module is not None:
        return True
    if side.exemption is Exemption.ANY:
        return True
    if side.exemption is Exemption.SUBSCRIPT and not side.certain:
        return True
    if isinstance(side.device, Variable):
        return not (side.device.place.is_fresh or _is_of_loader(side.device.place))
    return side.device != UNKNOWN_DEVICE


def _may_be_anywhere(side: Operand) -> bool:
    """Whether a value is likely a tensor, of which nothing says where it is; an index is most often a number."""
    if side.role not in (OperandRole.OPERAND, OperandRole.INDEX) or side.module is not None:
        return False
    if not side.likely or side.exemption is Exemption.ANY:
        return False
    if side.exemption is Exemption.SUBSCRIPT and not side.certain:
        return False
    if isinstance(side.device, Variable) and _is_of_loader(side.device.place):
        return False
    if side.device == UNKNOWN_DEVICE:
        return side.origin is None or side.origin.kind not in (OriginKind.LOADER, OriginKind.HOST, OriginKind.MOVED)
    return isinstance(side.device, Variable) and (side.device.place.is_fresh or not side.certain)


def knows_of_devices(frame: Frame, left: Operand) -> bool:
    """Whether the file names a device somewhere, or goes by that of a tensor, or what is executed is of a module.

    So does who makes something with the dtype of another tensor.
    What a batch has by keys is moved key by key, in place, which is not followed.
    """
    if not isinstance(frame.scope, Function) or client.makes_host_data(frame):
        return False
    if left.origin is not None and left.origin.kind is OriginKind.LOADER:
        if _KEY.search(frame.program.source(frame.file, frame.scope.span)):
            return False
    elif frame.owner is not None and classes.is_module(frame.owner):
        return not frame.scope.name.endswith(".__init__")
    made = left.origin
    if made is not None and _TAKES_OVER_DTYPE.search(frame.program.source(made.file, made.span)):
        return True
    return frame.file_says(_NAMES_A_DEVICE)
