"""What the project's own code calls, makes, moves and hands over, as its execution shows."""

from __future__ import annotations

from typing import final

from devlint.inference.values.code import Body, ClassCode
from devlint.inference.values.objects import Function


@final
class Demand:
    """The uses that the project's own code makes of its functions and classes.

    Attributes:
        calls: the bodies that each body calls.
        makes: the classes that each body instantiates.
        moved: the classes of the objects that some code moves as a whole.
        moves_something: whether some code moves a tensor or a module.
        placing: the methods that move their own object.
        commands: the functions that a library calls with the options of a user.
        is_paused: whether a client is executed, which is no code of the project.
    """

    __slots__ = (
        "_given",
        "_left_out",
        "calls",
        "commands",
        "is_paused",
        "makes",
        "moved",
        "moves_something",
        "placing",
    )

    def __init__(self) -> None:
        self.calls: dict[Body, dict[Body, None]] = {}
        self.makes: dict[Body, dict[ClassCode, None]] = {}
        self.moved: set[ClassCode] = set()
        self.moves_something = False
        self.placing: set[Body] = set()
        self.commands: dict[Body, None] = {}
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

    def move_passed(self, body: Body, name: str) -> None:
        """Note that a body moves what a symbol of its caller stands for; a method may move its own object."""
        called = body.function
        if body.owner is not None and called is not None and called.parameters and called.parameters[0].name == name:
            self.placing.add(body)

    def command(self, body: Body) -> None:
        """Note a function that a library of options calls."""
        if not self.is_paused:
            self.commands[body] = None

    def hand_over(self, body: Body, name: str, is_given: bool) -> None:
        """Note that a call gives an argument for a parameter, or leaves it out."""
        if not self.is_paused:
            (self._given if is_given else self._left_out).add((body, name))

    def called(self) -> set[Body]:
        """Return the bodies that another body calls."""
        return {each for calls in self.calls.values() for each in calls}

    def made_by_programs(self) -> set[ClassCode]:
        """Return the classes, with their bases, that the programs of the project make: not what only its tests make.

        A class that a program makes leads to all its methods.
        """
        callers = {**self.calls, **self.makes}
        waiting = [*self.commands, *[each for each in callers if each.function is None and not each.file.is_test]]
        reached: set[Body] = set()
        made: set[ClassCode] = set()
        while waiting:
            body = waiting.pop()
            if body in reached:
                continue
            reached.add(body)
            waiting.extend(self.calls.get(body, ()))
            for code in [one for each in self.makes.get(body, ()) for one in each.order if one not in made]:
                made.add(code)
                waiting.extend([each.body for each in code.members.values() if isinstance(each, Function)])
        return made

    def always_given(self, body: Body, name: str) -> bool:
        """Whether there are calls and each gives an argument for a parameter."""
        return (body, name) in self._given and (body, name) not in self._left_out
