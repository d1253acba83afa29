"""Tests by pytest's convention are programs: pytest calls them, with arguments that are unknown."""

from __future__ import annotations

from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.values.code import Body
from devlint.inference.values.objects import Function, Instance, bound, class_value, function

SET_UP = ("setUp", "setup_method")
"""Methods that are called before each test of a class."""


def is_test(body: Body) -> bool:
    """Whether pytest calls a function."""
    called = body.function
    is_reached = called is not None and not body.around and called.name.rpartition(".")[2].startswith("test")
    return body.file.is_test and is_reached


def run(frame: Frame, body: Body) -> None:
    """Execute a test: in a class, for a new object that is set up.

    Args:
        frame: the frame of an entry.
        body: a test.
    """
    assert body.function is not None
    span = frame.span = body.scope.span
    fixtures = [each for each in body.function.parameters if each.kind in ("normal", "positional")]
    given = [frame.unknown(f"fixture {each.name}", span) for each in fixtures if not each.has_default]
    if body.owner is None:
        frame.engine.call(frame, function(body), Arguments(given, {}), span)
        return
    made = frame.engine.call(frame, class_value(body.owner), Arguments([], {}), span)
    for name in SET_UP:
        found = body.owner.lookup(name)
        if isinstance(made, Instance) and isinstance(found, Function) and frame.is_live:
            frame.engine.call(frame, bound(found, made), Arguments([], {}), span)
    if frame.is_live:
        frame.engine.call(frame, bound(function(body), made), Arguments(given[1:], {}), span)
