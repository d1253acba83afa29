"""Names for the bodies of functions and for points in them, which stay valid when the instructions are dropped."""

from __future__ import annotations

from typing import NamedTuple

from devlint.frontend.ir import Scope, Span


class Body(NamedTuple):
    """The name of a function or of another scope.

    Attributes:
        name, span: see `Scope`.
    """

    file: str
    name: str
    span: Span

    @classmethod
    def of(cls, file: str, scope: Scope) -> Body:
        """Return the name of a scope of a file."""
        return cls(file, scope.name, scope.span)


class Side(NamedTuple):
    """One side of a branch in a body.

    Attributes:
        test: the place of the test.
        holds: whether it is the side on which the test holds.
    """

    test: Span
    holds: bool


class Point(NamedTuple):
    """A point in a body.

    Attributes:
        body: the body.
        path: the sides of the branches around the point, the outermost first.
    """

    body: Body
    path: tuple[Side, ...]
