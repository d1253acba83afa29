"""Where paths meet: a name that held different things on them holds, from there on, one thing of its own.

The domain's join says only what is true of both sides, which of two device variables is nothing. A body can say
more: whatever `h` is behind the `if`, it is the same thing in all that follows, so its device is a device variable,
named after the name and the place. Two uses of it agree, and it follows its surroundings if both sides did.

A test of an option, such as `args.fast`, splits the runs of the program, and every run takes the same side of all such
tests. What any of them moves from the CPU counts as moved: that is the run with an accelerator.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings.unregistered_tensor import KEPT
from devlint.analysis.values import modules, operands
from devlint.domain import environment
from devlint.domain.device import CPU, UNKNOWN_DEVICE, Device, Either, Variable, is_symbolic
from devlint.domain.device import join as join_devices
from devlint.domain.environment import Environment
from devlint.domain.heap import Instance, LibraryObject, Object, Optimizer, either_optimizer
from devlint.domain.kinds import OriginKind, TensorRole
from devlint.domain.place import UNNAMED, AccessPath
from devlint.domain.provenance import TURN, CpuOnOnePath, Origin
from devlint.domain.value import (
    UNKNOWN,
    DeviceValue,
    Kind,
    MaybeNone,
    Opaque,
    Reference,
    Tensor,
    Value,
    cpu_on_one_path,
    is_array,
    join,
    maybe_none,
    present,
    without_cpu_path,
)
from devlint.frontend.ir import Span


def merge(
    frame: Frame,
    left: Environment | None,
    right: Environment | None,
    span: Span,
    subject: str = "",
    *,
    before: Environment | None = None,
) -> Environment | None:
    """The join of two environments at a place of the body.

    Args:
        subject: what chose the path, if no test did.
        before: the environment before a test of an option, which chose the path.
    """
    if left is None or right is None or left.fallback != right.fallback:
        return environment.join(left, right)
    left, right = environment.alike_mended(left, right)
    merged = environment.join(left, right)
    assert merged is not None
    for name in environment.apart(left.names, right.names):
        ours, theirs = left.names[name], right.names[name]
        if theirs != ours:
            kept = None if before is None else before.names.get(name)
            optimizer = _one_optimizer(frame, left, right, merged, ours, theirs, span)
            merged.names[name] = (
                optimizer
                or _one_module(frame, left, right, ours, theirs, name, span)
                or _moved(ours, theirs, kept)
                or _identified(frame, merged.names[name], ours, theirs, name, span, subject)
            )
    for identity in left.heap.unlike(right.heap):
        one, other, held = left.heap.get(identity), right.heap.get(identity), merged.heap.get(identity)
        if one is other:
            continue
        if isinstance(held, Instance) and isinstance(one, Instance) and isinstance(other, Instance):
            kept_object = None if before is None else before.heap.get(identity)
            merged.heap[identity] = _merged_instance(frame, held, one, other, kept_object, span, subject)
        elif isinstance(one, LibraryObject) and isinstance(other, LibraryObject) and before is not None:
            moved = _moved_module(one, other)
            if moved is not None:
                merged.heap[identity] = moved
    return merged


def _moved_module(left: LibraryObject, right: LibraryObject) -> LibraryObject | None:
    """A module that one path has moved, if the other path leaves it on the CPU; see `_moved`."""
    for one, other in ((left, right), (right, left)):
        if other.device == CPU and one.origin is not None and _has_left_cpu(one.device, one.origin):
            return replace(one, origin=replace(one.origin, checked=True))
    return None


def _moved(left: Value, right: Value, kept: Value | None) -> Tensor | Opaque | None:
    """A tensor that one path has moved, if the other path has left it on the CPU as `kept`; None if that is not so.

    A test that decides this asks whether the program shall use an accelerator, whatever the test is called. As behind
    `torch.cuda.is_available()`, the path with the accelerator counts.
    """
    for one, other in ((left, right), (right, left)):
        if other is not kept or not isinstance(other, (Tensor, Opaque)) or other.device != CPU:
            continue
        if isinstance(one, (Tensor, Opaque)) and one.origin is not None and _has_left_cpu(one.device, one.origin):
            return replace(one, origin=replace(one.origin, checked=True))
    return None


def _has_left_cpu(device: Device, origin: Origin) -> bool:
    """Whether a move has put something on an accelerator, or on a device that the surroundings choose."""
    return origin.kind is OriginKind.MOVED and (is_symbolic(device) or operands.is_accelerator(device))


def _one_optimizer(
    frame: Frame, left: Environment, right: Environment, merged: Environment, ours: Value, theirs: Value, span: Span
) -> Reference | None:
    """Two optimizers of which a name has one, as an optimizer of its own."""
    if not (isinstance(ours, Reference) and isinstance(theirs, Reference)):
        return None
    one, other = left.heap.get(ours.object), right.heap.get(theirs.object)
    if not (isinstance(one, Optimizer) and isinstance(other, Optimizer)):
        return None
    identity = frame.new_object(span, "optimizer")
    merged.heap[identity] = either_optimizer(one, other)
    return Reference(identity)


def _one_module(
    frame: Frame, left: Environment, right: Environment, ours: Value, theirs: Value, name: str, span: Span
) -> Opaque | None:
    """Two modules at the same place, of which a name has one."""
    devices = []
    for env, value in ((left, ours), (right, theirs)):
        if not isinstance(value, Reference) or not modules.is_module(frame, env, value):
            return None
        devices.append(modules.module_device(frame, env, value)[0])
    device = join_devices(*devices)
    return replace(frame.fresh_symbol(name, span), kind=Kind.MODULE, device=device) if device == CPU else None


def _merged_instance(
    frame: Frame, held: Instance, left: Instance, right: Instance, kept: Object | None, span: Span, subject: str
) -> Instance:
    """An object whose attributes are, where two paths have left different things there, things of their own.

    `kept`: the object before a test of an option.
    """
    attributes: dict[str, Value] = {}
    for name, value in held.stored:
        ours, theirs = left.get(name), right.get(name)
        if ours is not None and theirs is not None and ours is not theirs and ours != theirs:
            moved = _moved(ours, theirs, kept.get(name)) if isinstance(kept, Instance) else None
            if moved is not None:
                value = moved
            elif not held.registers(name):
                value = _identified(frame, value, ours, theirs, f"self.{name}", span, subject)
        # A registered part moves with the module, so no path leaves it on the CPU.
        attributes[name] = without_cpu_path(value) if held.registers(name) else value
    return held.with_stored(attributes)


def either(
    frame: Frame, left: Value, right: Value, span: Span, name: str = UNNAMED, *, kept: Value | None = None
) -> Value:
    """The value of an expression that is one or the other.

    Args:
        name: what messages call the value.
        kept: the side that was there before; if the other one is that, moved from the CPU, the value is the moved one.
    """
    return _moved(left, right, kept) or _identified(frame, join(left, right), left, right, name, span)


def _identified(
    frame: Frame, joined: Value, left: Value, right: Value, name: str, span: Span, subject: str = ""
) -> Value:
    """What two sides left, as a thing of its own where the join has lost what it is."""
    if isinstance(joined, MaybeNone) or isinstance(left, MaybeNone) or isinstance(right, MaybeNone):
        ours, theirs = present(left), present(right)
        if ours is None or theirs is None:
            return joined
        return maybe_none(_identified(frame, join(ours, theirs), ours, theirs, name, span, subject))
    one, other = _as_tensor(frame, left), _as_tensor(frame, right)
    if one is not None and other is not None:
        both = join(one, other)
        assert isinstance(both, Tensor)
        if isinstance(both.device, Either):
            return replace(both, device=_variable(frame, name, span))
        if both.device != UNKNOWN_DEVICE or _may_know_of_devices(frame, span, one, other):
            return both
        return replace(both, stray=_stray(frame, one, other, subject or _subject(frame, span)))
    if joined == UNKNOWN and UNKNOWN not in (left, right):
        met = _thing(frame, left, right, name, span)
        if _may_know_of_devices(frame, span, left, right) or met.device != UNKNOWN_DEVICE:
            return met
        return replace(met, stray=_stray(frame, left, right, subject or _subject(frame, span)))
    if isinstance(joined, DeviceValue) and joined.device == UNKNOWN_DEVICE:
        assert isinstance(left, DeviceValue)
        assert isinstance(right, DeviceValue)
        if CPU not in (left.device, right.device):
            return replace(joined, device=_variable(frame, name, span))
    return joined


def _thing(frame: Frame, left: Value, right: Value, name: str, span: Span) -> Opaque:
    """One of two things of which only the device may be common to both."""
    made = frame.fresh_symbol(name, span)
    for one, other in ((left, right), (right, left)):
        as_array = isinstance(other, Tensor) or (isinstance(other, Opaque) and frame.kind(other) is Kind.ARRAY)
        if is_array(one) and as_array and isinstance(other, (Tensor, Opaque)) and other.device == CPU:
            return replace(made, kind=Kind.ARRAY, device=CPU, origin=other.origin)
    if not isinstance(left, (Tensor, Opaque)) or not isinstance(right, (Tensor, Opaque)):
        return made
    device = join_devices(left.device, right.device)
    if isinstance(device, Either):
        device = _variable(frame, name, span)
    live = all(isinstance(side, Tensor) or frame.kind(side) in (Kind.TENSOR, Kind.MOVABLE) for side in (left, right))
    return replace(made, kind=Kind.MOVABLE if live else Kind.ANY, device=device, origin=left.origin)


def returned(frame: Frame, left: Value, right: Value, span: Span) -> Value:
    """What a function returns here or returned before, for callers: devices stay in terms of its parameters.

    What one of its paths has created is no stray for them: the path was chosen by what they have handed over.
    """
    joined = join(left, right)
    if joined == UNKNOWN and isinstance(left, Opaque) and isinstance(right, Opaque) and left.device == right.device:
        thing = _thing(frame, left, right, "result", span)
        if thing.device == UNKNOWN_DEVICE:
            return thing
        return replace(thing, path=AccessPath("result").call(), device=left.device)
    return joined


_DEVICE_WORD = re.compile(r"cpu|cuda|gpu|(?<![a-z])(mps|xpu|npu)|device|offload|available", re.IGNORECASE)
"""A test with such a word may know what is on which device: what its sides create is no stray."""

_RECORDS = re.compile(r"onnx|trac|script", re.IGNORECASE)
"""A test with such a word asks whether the function is recorded, with inputs that are most often on the CPU."""

_RECORDED = frozenset("is_scripting is_tracing is_in_onnx_export is_compiling is_exporting".split())
"""Functions that are true while a function is recorded."""


def _may_know_of_devices(frame: Frame, span: Span, then: Value, orelse: Value) -> bool:
    """Whether a test may know where things are: what is created where nothing is recorded is for any device."""
    if _DEVICE_WORD.search(frame.text(span)):
        return True
    if not _RECORDS.search(frame.text(span)):
        return False
    usual = _unless_recorded(frame.program.source(frame.file, span))
    side = then if usual else orelse
    return usual is None or not (isinstance(side, Tensor) and side.device == CPU)


@lru_cache(maxsize=1_000)
def _unless_recorded(test: str) -> bool | None:
    """The outcome of a test where nothing is recorded, None where that does not decide it."""
    try:
        return _outcome(ast.parse(f"({test})", mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _outcome(test: ast.expr) -> bool | None:
    match test:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[]) if name in _RECORDED:
            return False
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            outcome = _outcome(operand)
            return None if outcome is None else not outcome
        case ast.BoolOp(op=operator, values=values):
            decides = isinstance(operator, ast.Or)
            outcomes = {_outcome(value) for value in values}
            return decides if decides in outcomes else None if None in outcomes else not decides
        case _:
            return None


def _stray(frame: Frame, one: Value, other: Value, subject: str) -> CpuOnOnePath | None:
    """How one of two values was created on the CPU, if the other is somewhere else; of a turn, `other` is behind it."""
    for tensor, beside in ((one, other), (other, one)):
        stray = cpu_on_one_path(tensor)
        if stray is not None:
            return stray
        if not isinstance(tensor, Tensor) or tensor.role is not TensorRole.PLAIN:
            continue  # what a module registers moves along, whichever of the two it is
        made = tensor.origin
        if made is not None and made.kind == KEPT:
            made = made.because
        if (
            tensor.device == CPU
            and tensor.origin is not None
            and made is not None
            and made.kind in (OriginKind.CREATED, OriginKind.HOST)
        ):
            if made.checked or made.is_empty:
                return None
            frame.program.subjects.add(subject)
            there = beside.device if isinstance(beside, (Tensor, Opaque)) else UNKNOWN_DEVICE
            is_later = subject == TURN and tensor is other
            return CpuOnOnePath(tensor.origin, subject, tensor.rank, there, is_later)
    return None


def _subject(frame: Frame, span: Span) -> str:
    """What a test is about: `mask` for `mask is None` and `not mask`."""
    return _subject_of(frame.text(span))


@lru_cache(maxsize=10_000)
def _subject_of(text: str) -> str:
    return _BESIDE_WORDS.sub("", " ".join(_OF_A_TEST.sub(" ", text).split()))


_OF_A_TEST = re.compile(r"\b(is|not|None|and|or)\b|[\s()]")
_BESIDE_WORDS = re.compile(r"(?<!\w) | (?!\w)")


Cleared: TypeAlias = dict[str, tuple[Value, Value]]
"""By name, what a test has left of a stray, and the stray."""


def test_again(frame: Frame, env: Environment, span: Span) -> Cleared:
    """Forgets what one path has created where a test of the same subject, or of the turn, may exclude that path."""
    subjects = (_subject(frame, span), TURN)
    if frame.program.subjects.isdisjoint(subjects):
        return {}
    strays = ((name, value) for name, value in env.names.items() if _is_stray(value, subjects))
    cleared = {name: (without_cpu_path(value), value) for name, value in strays}
    env.names.update((name, left) for name, (left, _) in cleared.items())
    for identity in tuple(env.heap.strayed()):
        held = env.heap[identity]
        assert isinstance(held, Instance)
        if any(_is_stray(value, subjects) for _, value in held.stored):
            env.heap[identity] = held.with_stored(
                {name: _without_stray(value, subjects) for name, value in held.stored}
            )
    return cleared


def put_back(env: Environment, sides: Sequence[tuple[Environment, Cleared]], *, turn_only: bool) -> None:
    """Makes names strays again behind a test that has excluded no path: control comes from both sides, untouched.

    `turn_only`: one side goes on to the next turn, which is then the first that comes here.
    """
    (then, of_then), (orelse, of_else) = sides
    for name, (left, stray) in of_then.items():
        other, same = of_else.get(name, (None, None))
        if same is not stray or (turn_only and not _is_stray(stray, (TURN,))):
            continue
        if then.names.get(name) is left and orelse.names.get(name) is other:
            env.names[name] = stray


def drop_strays(env: Environment, before: Mapping[str, Value]) -> None:
    """Forgets that names are strays, which they were not before: they held the same on one path, untouched."""
    for name, value in env.names.items():
        stray, held = cpu_on_one_path(value), before.get(name)
        if stray is not None and isinstance(held, Tensor) and held.stray is None and held.origin is stray.origin:
            env.names[name] = without_cpu_path(value)


def _is_stray(value: Value, subjects: tuple[str, ...]) -> bool:
    stray = cpu_on_one_path(value)
    return stray is not None and stray.subject in subjects


def _without_stray(value: Value, subjects: tuple[str, ...]) -> Value:
    return without_cpu_path(value) if _is_stray(value, subjects) else value


def _as_tensor(frame: Frame, value: Value) -> Tensor | None:
    if isinstance(value, Opaque) and frame.kind(value) is Kind.TENSOR:
        return Tensor(value.device, None, origin=value.origin, stray=value.stray)
    return value if isinstance(value, Tensor) else None


def _variable(frame: Frame, name: str, span: Span) -> Device:
    return Variable(frame.fresh_symbol(name, span).path)
