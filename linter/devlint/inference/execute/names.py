"""Names: which scope a name belongs to, read and stored."""

from __future__ import annotations

import builtins
from typing import Final

from devlint.inference.calls.attributes import present, read
from devlint.inference.state.frame import Frame
from devlint.inference.values.objects import class_value, library
from devlint.inference.values.terms import UNKNOWN, Value, attribute, constant

BUILTINS: Final = frozenset(dir(builtins))


def load(frame: Frame, name: str) -> Value:
    """Return the value of a name."""
    for _, namespace in reversed(frame.namespaces):
        if name in namespace:
            return namespace[name]
    body, scope = frame.body, frame.body.scope
    if body.function is None:
        found = frame.state.names.get(name)
        if found is not None:
            return found
        return _global(frame, name)
    if name in scope.local_names and name not in scope.nonlocal_names and name not in scope.global_names:
        if name in body.captured:
            held = frame.heap.get(frame.environment, attribute(name))
            return UNKNOWN if held is None else present(held)
        return frame.state.names.get(name, UNKNOWN)
    if name in body.around and name not in scope.global_names:
        return read(frame, frame.around, name, frame.span)
    if name == "__class__" and body.owner is not None:
        return class_value(body.owner)
    return _global(frame, name)


def _global(frame: Frame, name: str) -> Value:
    if name == "__name__":
        return constant("__main__") if frame.body.function is None else UNKNOWN
    found = frame.engine.global_of(frame, frame.body.file, name)
    if found is UNKNOWN and name in BUILTINS and name not in frame.body.file.scope.local_names:
        return library(name)
    return found


def store(frame: Frame, name: str, value: Value) -> None:
    """Bind a name."""
    if frame.namespaces:
        frame.namespaces[-1][1][name] = value
        return
    body, scope = frame.body, frame.body.scope
    if body.function is None:
        frame.state.names[name] = value
        frame.engine.set_global(frame, name, value)
    elif name in scope.global_names:
        frame.engine.set_global(frame, name, value)
    elif name in scope.nonlocal_names:
        frame.heap.put(frame.around, attribute(name), value)
    elif name in body.captured:
        frame.heap.put(frame.environment, attribute(name), value)
    else:
        frame.state.names[name] = value
