"""What the project's own code calls, makes, moves and hands over, as its execution shows."""

from __future__ import annotations

from typing import final

from devlint.inference.values.code import Body, ClassCode


@final
class Demand:
    """The uses that the project's own code makes of its functions and classes.

    Attributes:
        calls: the bodies that each body calls.
        makes: the classes that each body instantiates.
        moved: the classes of the objects that some code moves as a whole.
        is_paused: whether a client is executed, which is no code of the project.
    """

    __slots__ = ("_given", "_left_out", "calls", "is_paused", "makes", "moved")

    def __init__(self) -> None:
        self.calls: dict[Body, dict[Body, None]] = {}
        self.makes: dict[Body, dict[ClassCode, None]] = {}
        self.moved: set[ClassCode] = set()
        self._given: set[tuple[Body, str]] = set()
        self._left_out: set[tuple[Body, str]] = set()
        self.is_paused = False

    def call(self, caller: Body, callee: Body) -> None:
        """Note a call of another body."""
        if not self.is_paused and callee is not caller:
            self.calls.setdefault(caller, {})[callee] = None

    def make(self, caller: Body, code: ClassCode) -> None:
        """Note a new object of a class."""
        if not self.is_paused:
            self.makes.setdefault(caller, {})[code] = None

    def move(self, code: ClassCode) -> None:
        """Note a move of an object of a class."""
        if not self.is_paused:
            self.moved.update(code.order)

    def hand_over(self, body: Body, name: str, is_given: bool) -> None:
        """Note that a call gives an argument for a parameter, or leaves it out."""
        if not self.is_paused:
            (self._given if is_given else self._left_out).add((body, name))

    def always_given(self, body: Body, name: str) -> bool:
        """Whether there are calls and each gives an argument for a parameter."""
        return (body, name) in self._given and (body, name) not in self._left_out

    def never_given(self, body: Body, name: str) -> bool:
        """Whether there are calls and each leaves out the argument for a parameter."""
        return (body, name) in self._left_out and (body, name) not in self._given
