"""The one table of handlers: library functions and methods by name, for behaviour that no signature can express."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from devlint.frontend import ir
from devlint.inference.state.containers import get
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.values.terms import NONE, UNKNOWN, Value, constant


class CallSite(NamedTuple):
    """One call of a function or method of a library.

    Attributes:
        frame: of the caller.
        of: the class of a method, as the table names it; empty for a function.
        name: of the function or method.
        receiver: of a method; UNKNOWN for a function.
        arguments: the others.
        span: of the call.
    """

    frame: Frame
    of: str
    name: str
    receiver: Value
    arguments: Arguments
    span: ir.Span

    def argument(self, position: int, name: str) -> Value:
        """Return an argument; unknown, if it is not given."""
        found = self.arguments.at(position, name)
        return UNKNOWN if found is None else found

    def option(self, name: str) -> Value | None:
        """Return a keyword argument, also from the content of a `**`; None if it is not given."""
        found = self.arguments.named.get(name)
        if found is None and self.arguments.row is not None:
            return get(self.frame, self.arguments.row, constant(name), NONE)
        return found

    def given(self, position: int, name: str) -> Value | None:
        """Return an argument, if it is given."""
        return self.arguments.at(position, name)


Handler: TypeAlias = Callable[[CallSite], Value]

_functions: Final[dict[str, Handler]] = {}
_methods: Final[dict[tuple[str, str], Handler]] = {}
HANDLED_READS: Final[set[str]] = set()
"""The attributes that have a handler for reads, in some class."""


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Register the handler of functions by canonical name, of methods by `class:name`, of reads by `class:.name`."""

    def register(handler: Handler) -> Handler:
        for name in names:
            of, found, method = name.rpartition(":")
            if found:
                _methods[of, method] = handler
                if method.startswith("."):
                    HANDLED_READS.add(method[1:])
            else:
                _functions[name] = handler
        return handler

    return register


def function_handler(name: str) -> Handler | None:
    """Return the handler of a library function, by the first word of its name; None if there is none."""
    return _functions.get(name.partition(" ")[0])


def method_handler(frame: Frame, of: str, name: str) -> Handler | None:
    """Return the handler of a method of a class or of its bases in libraries; None if there is none."""
    found = _methods.get((of, name))
    if found is not None or not of:
        return found
    for base in frame.engine.stubs.lineage(of):
        found = _methods.get((base, name))
        if found is not None:
            return found
    return None
