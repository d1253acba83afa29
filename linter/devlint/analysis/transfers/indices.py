"""Subscripts of tensors: `x[key]`, `x[key] = value` and their function forms.

What a subscript does depends on the kinds of its parts, which no signature can say. Numbers, slices, `...`, None and
tensors without dimensions select a part of the tensor itself, and assigning to that copies from any device. Anything
else is an index with dimensions, and PyTorch looks at devices (torch 2.13; the cases are in
fixtures/rules/index_on_other_device):

* reading: an index on the CPU selects from any tensor, any other must be where the tensor is;
* assigning: the index may be anywhere, the value must be where the tensor is, unless it has only one element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from devlint.analysis.findings import conflicts
from devlint.analysis.libraries.transfer_tables import TENSOR_METHODS, LibraryCall, register
from devlint.analysis.values import operands
from devlint.analysis.values.arguments import ArgumentValue
from devlint.analysis.values.containers import SLICE
from devlint.domain.heap import ListObject, summary
from devlint.domain.kinds import Exemption, OperandRole, TensorRole
from devlint.domain.value import (
    NUMBER,
    SOME_DIMENSIONS,
    UNKNOWN,
    Constant,
    Host,
    Kind,
    Opaque,
    Rank,
    Reference,
    Tensor,
    TupleValue,
    Value,
)


def get_item(site: LibraryCall) -> Value:
    """`x[key]`."""
    assert site.receiver is not None
    receiver = _as_tensor(site, site.receiver.value)
    given = site.arguments.get(0, "key")
    if receiver is None or given is None:
        return UNKNOWN
    parts = given.value.items if isinstance(given.value, TupleValue) else (given.value,)
    if any(part == SLICE or _is_integer(part) for part in parts):
        site.frame.prove_dimensions(site.env, site.receiver.value, site.receiver.place)
    if _is_integer(parts[0]) and (receiver.rank == 0 or (receiver.rank is None and _is_data(site))):
        return UNKNOWN  # PyTorch raises an IndexError for a 0-dim tensor; up to release 0.3 `loss.data[0]` was a number
    _select(site, "[…]", site.receiver, given)
    stray = receiver.stray
    if stray is not None:
        stray = replace(stray, rank=_rank_behind(site, stray.rank, given.value))
    return replace(receiver, rank=_rank_behind(site, receiver.rank, given.value), role=TensorRole.PLAIN, stray=stray)


def _is_integer(key: Value) -> bool:
    return isinstance(key, Constant) and type(key.value) is int


def _is_data(site: LibraryCall) -> bool:
    """Whether the receiver is written as `x.data`."""
    assert site.receiver is not None
    return site.frame.program.source(site.frame.file, site.receiver.span).endswith(".data")


def set_item(site: LibraryCall) -> Value:
    """`x[key] = value`."""
    assert site.receiver is not None
    given, value = site.arguments.get(0, "key"), site.arguments.get(1, "value")
    if given is not None and value is not None and _has_dimensions(site, given.value):
        _assign(site, "[…] =", site.receiver, value)
    return Constant(None)


def put(site: LibraryCall) -> Value:
    """`x.index_put_(indices, values)`: as `x[indices] = values`; accumulating, even one element must be there."""
    assert site.receiver is not None
    values = site.arguments.get(1, "values")
    if values is not None:
        adds = site.arguments.get(2, "accumulate")
        alone = adds is not None and adds.value == Constant(True)
        _assign(site, f"Tensor.{site.name}", site.receiver, values, alone=alone)
    return site.receiver.value


def _select(site: LibraryCall, operation: str, receiver: ArgumentValue, key: ArgumentValue) -> None:
    """Checks each index with dimensions against the tensor it selects from."""
    frame, env = site.frame, site.env
    base = operands.side_of(frame, env, receiver, "input", Exemption.NONE, OperandRole.OPERAND)
    if base is None or env.fallback:
        return
    for part in _parts(site, key):
        index = operands.side_of(frame, env, part, "index", Exemption.SUBSCRIPT, OperandRole.INDEX)
        if index is not None and conflicts.find(frame, env, operation, site.span, (base, index)):
            return
        if index is not None:
            operands.note_joined(frame, env, site.span, (base, index))


def _assign(
    site: LibraryCall, operation: str, receiver: ArgumentValue, value: ArgumentValue, *, alone: bool = False
) -> None:
    """Checks a value that is assigned through an index; `alone`: even if it has only one element."""
    frame, env = site.frame, site.env
    base = operands.side_of(frame, env, receiver, "self", Exemption.NONE, OperandRole.OPERAND)
    side = operands.side_of(frame, env, value, "value", Exemption.NONE, OperandRole.INDEX)
    if base is None or side is None or env.fallback:
        return
    found = alone or (side.rank is not None and side.rank > 0)
    if found and not conflicts.find(frame, env, operation, site.span, (base, side)):
        operands.note_joined(frame, env, site.span, (base, side))


def _as_tensor(site: LibraryCall, value: Value) -> Tensor | None:
    """A value that is known to be a tensor."""
    if isinstance(value, Opaque) and site.frame.kind(value) is Kind.TENSOR:
        return site.frame.tensor(value)
    return value if isinstance(value, Tensor) else None


def _parts(site: LibraryCall, key: ArgumentValue) -> Iterator[ArgumentValue]:
    """The parts of a subscript, with the spans of those that are written out in it."""
    values = key.value.items if isinstance(key.value, TupleValue) else (key.value,)
    spans = site.frame.displays.get(key.span, ())
    for position, value in enumerate(values):
        yield ArgumentValue(value, spans[position] if len(spans) == len(values) > 1 else key.span)


def _has_dimensions(site: LibraryCall, key: Value) -> bool:
    """Whether a subscript certainly has a part that is an index with dimensions: a tensor, a list, an array."""
    for part in key.items if isinstance(key, TupleValue) else (key,):
        match part:
            case Tensor() | Opaque():
                tensor = _as_tensor(site, part)
                if tensor is not None and tensor.rank not in (0, None):
                    return True
            case Reference() if not part.object.site.endswith(":tuple"):
                held = site.held(part)
                each = summary(held) if isinstance(held, ListObject) else UNKNOWN
                if isinstance(each, Constant) or each == NUMBER:
                    return True
            case Host(kind="array"):
                return True
    return False


def _rank_behind(site: LibraryCall, rank: Rank, key: Value) -> Rank:
    parts = key.items if isinstance(key, TupleValue) else (key,)
    if rank is None or rank == SOME_DIMENSIONS:
        keeps = any(part == SLICE or part == Constant(None) for part in parts)
        return SOME_DIMENSIONS if keeps else None
    whole = SLICE not in parts
    selected = False
    for part in parts:
        match part:
            case Constant(value=bool()):
                return None
            case Constant(value=int()) | Host(kind="number" | "count"):
                rank -= 1
            case Constant(is_none=True):
                rank += 1
            case Constant() if part.value is Ellipsis:
                pass
            case _ if part == SLICE:
                pass
            case Tensor(rank=0):
                rank -= 1
            case Tensor(rank=1):
                # Of several indices, and of a mask, one dimension is left together.
                rank -= selected
                selected = True
            case Tensor() if part.rank is not None and part.rank > 0 and len(parts) == 1 and rank > 0:
                return SOME_DIMENSIONS
            case _:
                return None
    if selected and rank == 1:
        return SOME_DIMENSIONS
    if rank < 0:
        return None
    return rank if whole or rank != 1 else SOME_DIMENSIONS


register(
    TENSOR_METHODS,
    {
        "__getitem__": get_item,
        "__setitem__": set_item,
        "index_put": put,
        "index_put_": put,
    },
)
