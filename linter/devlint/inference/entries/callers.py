"""Callers outside of the project: pytest, the unknown user of an object, and the user of a command."""

from __future__ import annotations

from typing import Final

from devlint.frontend import ir
from devlint.inference.entries.clients import options
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.values.code import Body
from devlint.inference.values.objects import Function, Instance, bound, class_value, function
from devlint.inference.values.terms import Value

SET_UP: Final = ("setUp", "setup_method")
"""Methods that are called before each test of a class."""


def is_test(body: Body) -> bool:
    """Whether pytest calls a function, by its convention."""
    called = body.function
    is_reached = called is not None and not body.around and called.name.rpartition(".")[2].startswith("test")
    return body.file.is_test and is_reached


def is_of_object(body: Body) -> bool:
    """Whether a function is a public method, which needs an object; a client uses the modules."""
    owner, called = body.owner, body.function
    if (
        owner is None
        or owner.is_module
        or body.file.is_test
        or called is None
        or not called.parameters
        or called.is_stub
    ):
        return False
    name = called.name.rpartition(".")[2]
    found = owner.members.get(name)
    return not name.startswith("_") and isinstance(found, Function) and found.body is body


def run(frame: Frame, body: Body) -> None:
    """Call a function with unknown arguments; a method, for a new object that is set up.

    Args:
        frame: the frame of an entry.
        body: a function for which `is_test` or `is_of_object` holds.
    """
    assert body.function is not None
    frame.span = body.scope.span
    given = _unknown(frame, body)
    if body.owner is None:
        frame.engine.call(frame, function(body), Arguments(given, {}), frame.span)
        return
    first = body.owner.lookup("__init__")
    options = _unknown(frame, first.body)[1:] if isinstance(first, Function) else []
    made = frame.engine.call(frame, class_value(body.owner), Arguments(options, {}), frame.span)
    for name in SET_UP:
        found = body.owner.lookup(name)
        if body.file.is_test and isinstance(found, Function) and frame.is_live:
            frame.engine.call(frame, bound(found, made), Arguments([], {}), frame.span)
    if isinstance(made, Instance) and frame.is_live:
        frame.engine.call(frame, bound(function(body), made), Arguments(given[1:], {}), frame.span)


def run_command(frame: Frame, body: Body) -> None:
    """Call a function that a library of options calls: with the options of a user."""
    frame.span = body.scope.span
    frame.engine.call(frame, function(body), options(frame, body, 0), frame.span)


def _unknown(frame: Frame, body: Body) -> list[Value]:
    """Return an unknown value for each parameter that must be given."""
    parameters: tuple[ir.Parameter, ...] = () if body.function is None else body.function.parameters
    needed = [each for each in parameters if each.kind in ("normal", "positional") and not each.has_default]
    return [frame.unknown(f"argument {each.name}", body.scope.span) for each in needed]
