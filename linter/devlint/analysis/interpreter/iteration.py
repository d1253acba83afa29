"""Iterating over and subscripting whatever it is: containers, tensors, loaders, modules, objects."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.index import classes
from devlint.analysis.interpreter import calls, data_loading
from devlint.analysis.libraries import library_calls
from devlint.analysis.values import visible_devices
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.analysis.values.containers import Elements, elements_of, row, store_subscript, subscript
from devlint.domain.device import CPU
from devlint.domain.environment import Environment
from devlint.domain.heap import Instance, LibraryObject, ListObject
from devlint.domain.kinds import OriginKind
from devlint.domain.value import (
    NUMBER,
    UNKNOWN,
    Closure,
    Constant,
    Kind,
    Opaque,
    Reference,
    Tensor,
    TupleValue,
    UserClass,
    Value,
    is_array,
)
from devlint.frontend.ir import Span
from devlint.torchlib.knowledge import LOADER, TENSOR_DATASET


def iterate(frame: Frame, env: Environment, value: Value, span: Span, where: Span | None = None) -> Elements:
    """What a `for` loop over the value yields; `where`: the value in the text, if that is not the whole span."""
    held = env.heap.get(value.object) if isinstance(value, Reference) else None
    if isinstance(held, LibraryObject):
        if held.cls == LOADER:
            data_loading.note_iteration(frame, env, held, span, where or span)
        return Elements(_of_library(frame, env, value, held, span))
    if isinstance(held, Instance) and isinstance(value, Reference):
        return _of_instance(frame, env, value, held, span)
    return elements_of(frame, env, value)


def _of_library(frame: Frame, env: Environment, base: Value, held: LibraryObject, span: Span) -> Value:
    if held.cls == LOADER:
        batch = _batch(frame, env, held)
        if batch is not None:
            return batch
        loader = frame.fresh_symbol("batch", span).path
        alike = held.origin is None or held.origin.kind is OriginKind.LOADER
        return Opaque(loader.each() if alike else loader, Kind.MOVABLE, held.device, held.origin)
    if held.cls == TENSOR_DATASET:
        return TupleValue(tuple(_row(part) for _, part in held.parts))
    each = library_calls.call_method(frame, env, ArgumentValue(base, span), held, "__iter__", Arguments((), ()), span)
    return elements_of(frame, env, each).each


def _row(value: Value) -> Value:
    return row(value) if isinstance(value, Tensor) else UNKNOWN


def _batch(frame: Frame, env: Environment, held: LibraryObject) -> Value | None:
    """The batches of a loader over a TensorDataset: as many tensors as it has, where the loader has them."""
    dataset = held.part("dataset")
    inner = env.heap.get(dataset.object) if isinstance(dataset, Reference) else None
    if not isinstance(inner, LibraryObject) or inner.cls != TENSOR_DATASET:
        return None
    items: list[Value] = []
    for _, part in inner.parts:
        if isinstance(part, Tensor):
            moved = held.device != CPU  # by whoever prepared the loader
            origin = held.origin if moved or part.device == held.device else part.origin
            items.append(Tensor(held.device if moved else part.device, part.rank, origin=origin))
        else:
            items.append(UNKNOWN)
    identity = frame.new_object(frame.scope.span, "batch")
    env.heap[identity] = ListObject(tuple(items))
    return Reference(identity)


def _of_instance(frame: Frame, env: Environment, value: Reference, held: Instance, span: Span) -> Elements:
    for name in ("__iter__", "__getitem__"):
        found = classes.find(held.cls, name)
        if found is not None and isinstance(found[0], Closure):
            arguments = (
                (ArgumentValue(value, span),)
                if name == "__iter__"
                else (ArgumentValue(value, span), ArgumentValue(NUMBER, span))
            )
            result = calls.invoke_closure(frame, env, found[0], found[1], Arguments(arguments, ()), span)
            if result is None:
                return Elements(UNKNOWN)
            return elements_of(frame, env, result) if name == "__iter__" else Elements(result)
    return elements_of(frame, env, value)


def get_item(frame: Frame, env: Environment, base: ArgumentValue, key: ArgumentValue, span: Span) -> Value:
    """`base[key]`."""
    value = base.value
    if is_array(value):
        _read_part(frame, env, "numpy.ndarray.__getitem__", key, span)
        return UNKNOWN
    named = isinstance(key.value, Constant) and isinstance(key.value.value, str)  # an element of a mapping
    if isinstance(key.value, Opaque) and frame.kind(key.value) in (Kind.ARRAY, Kind.TENSOR):
        key = replace(key, value=frame.tensor(key.value))
    if isinstance(value, Opaque) and frame.kind(value) is Kind.ARRAY and isinstance(key.value, Tensor):
        on_host = replace(base, value=frame.tensor(value))  # an array, too, cannot be indexed from a device
        library_calls.call_tensor_method(frame, env, on_host, "__getitem__", Arguments((key,), ()), span)
        return value
    if isinstance(value, Tensor) or (isinstance(value, Opaque) and frame.kind(value) is Kind.TENSOR and not named):
        result = library_calls.call_tensor_method(frame, env, base, "__getitem__", Arguments((key,), ()), span)
        return UNKNOWN if result is None else result
    if isinstance(value, UserClass):
        return value  # a generic class with its parameters
    held = env.heap.get(value.object) if isinstance(value, Reference) else None
    if isinstance(held, LibraryObject):
        return library_calls.call_method(frame, env, base, held, "__getitem__", Arguments((key,), ()), span)
    if isinstance(held, Instance) and isinstance(value, Reference):
        found = calls.method_of(frame, env, value, "__getitem__")
        if found is None:
            return subscript(frame, env, value, key.value, span)
        result = calls.invoke(frame, env, ArgumentValue(found, span), Arguments((key,), ()), span)
        return UNKNOWN if result is None else result
    return subscript(frame, env, value, key.value, span)


def set_item(
    frame: Frame, env: Environment, base: ArgumentValue, key: ArgumentValue, value: ArgumentValue, span: Span
) -> None:
    """`base[key] = value`."""
    if base.value == visible_devices.VARIABLES:
        visible_devices.store(frame, env, key.value, value, span)
    held = base.value
    if isinstance(held, Tensor) or (isinstance(held, Opaque) and frame.kind(held) is Kind.TENSOR):
        library_calls.call_tensor_method(frame, env, base, "__setitem__", Arguments((key, value), ()), span)
        return
    if is_array(held):
        _read_part(frame, env, "numpy.ndarray.__setitem__", value, span)
    stored = env.heap.get(held.object) if isinstance(held, Reference) else None
    if isinstance(held, Reference) and isinstance(stored, LibraryObject):
        library_calls.store_item(frame, env, held, stored, key.value, value.value)
    store_subscript(frame, env, base.value, key.value, value.value)


def _read_part(frame: Frame, env: Environment, operation: str, part: ArgumentValue, span: Span) -> None:
    """An array is indexed with a value, or is given one: a tensor of one element counts as a number."""
    held = frame.tensor(part.value) if isinstance(part.value, Opaque) else part.value
    if isinstance(held, Tensor) and held.rank is not None and held.rank > 0:
        library_calls.read_by_numpy(frame, env, operation, part, span)
