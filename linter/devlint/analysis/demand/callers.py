"""Demand: the arguments that all calls of a function in the project hand over, and the checks before these calls.

A function adds its argument to a tensor on the CPU. It is right if every call passes a tensor on the CPU. It is wrong
if one call passes a tensor on an accelerator. Without such calls it cannot be judged. A function that uses CUDA needs
no check of its own if a check stands before every call.

A call counts if its file may name the function, by its imports and its text; which files those are is a fact about the
project and not about the files that have been looked at.

Example: `def total(x): return x + torch.zeros(3)` in `lib.py`, `total(y)` in `def use(y)` of `a.py`, and
`use(batch.to(device))` in `b.py`. `a.py` hands on the parameter `y` of `use`, and `b.py` hands over a moved tensor. So
`x` is on an accelerator when the program runs on one, and the conflict in `total` is reported.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from typing import NamedTuple, Protocol, TypeAlias

from devlint.diagnostics import Place
from devlint.domain.body import Body, Point, Side
from devlint.domain.place import AccessPath, named
from devlint.frontend.ir import Function, Scope

Parameter: TypeAlias = tuple[Body, AccessPath]
"""A parameter of a function, or a place in its argument: `x`, `batch['x']`, `rows[*]`."""


LONGEST_PLACE = 120
"""Characters of a place: a function that calls itself with a part of its argument makes ever longer places."""


class Where(enum.Enum):
    """Where a call has the tensor that it hands over.

    ACCELERATOR: there, as soon as the program runs on one: it was moved to the device that the program chose, or comes
    out of a module.
    NO_TENSOR: the argument is something else, such as a list of numbers.
    """

    CPU = enum.auto()
    ACCELERATOR = enum.auto()
    UNKNOWN = enum.auto()
    NO_TENSOR = enum.auto()


Given: TypeAlias = "Where | Parameter"
"""What a call hands over for a parameter: a tensor somewhere, or what its own function was given."""

ByPlace: TypeAlias = Mapping[AccessPath, Collection[Given]]
"""What a call hands over, by place in the parameters: `x`, `batch['x']`, `rows[*]`."""


class CallSite(NamedTuple):
    """A call.

    Attributes:
        root: the file whose functions were executed when the call was met.
        place: where it stands.
    """

    root: str
    place: Place


class Builds(NamedTuple):
    """The doubt that a method is only called by constructors, before anything has moved its module."""

    method: Body


class Unwitnessed(NamedTuple):
    """The doubt that no call hands over a tensor on an accelerator for one of some parameters; of none, it is certain.

    A function of a library is there for callers that do, unless a call in its own project says otherwise.
    """

    parameters: tuple[Parameter, ...]


class NoTensor(NamedTuple):
    """The doubt that some parameters never get a tensor: there are calls, and each hands over something else.

    For example, each call passes a list of lengths, and the function makes a tensor on the CPU of it.
    """

    parameters: tuple[Parameter, ...]


class Unreached(NamedTuple):
    """The doubt that no call comes to a point in a function, because of the options that the calls choose.

    A function of a library is there for other callers.
    """

    point: Point


class Uncalled(NamedTuple):
    """The doubt that nothing calls a method of a module, so nobody knows whether its module is on an accelerator then.

    A method of a library is there for other callers.
    """

    method: Body


class OnHost(NamedTuple):
    """The doubt that a file belongs to a program that puts nothing on an accelerator."""

    file: str


MERELY_POSSIBLE = (Unwitnessed, Unreached, Uncalled, OnHost)
"""The doubts that make a conflict merely possible; the others refute it."""

Doubt: TypeAlias = "Parameter | Body | Builds | Unwitnessed | NoTensor | Unreached | Uncalled | OnHost"
"""A reason against a fact: all calls pass a tensor on the CPU; a check stands before all calls of a function; all calls
of a method stand in constructors; no call passes a tensor on an accelerator; none passes a tensor; no call comes to the
place; nothing calls the method; the program puts nothing on an accelerator."""


class _Call(NamedTuple):
    """A call: the body that it stands in, and whether an accelerator is there wherever it is reached."""

    body: Body
    checked: bool


class Followed(NamedTuple):
    """How a call was followed.

    Attributes:
        caller: the function that the call stands in, if that was executed for no call in particular.
        here: whether the called body was executed with the objects of the caller.
        skipped: the sides of branches that the call does not execute; None if it could not be followed.
    """

    caller: Body | None
    here: bool
    skipped: frozenset[Side] | None


class Files(Protocol):
    """Questions about the files of calls and functions."""

    def is_of_library(self, file: str) -> bool:
        """Whether the functions of a file are there for other projects to call."""

    def is_test(self, file: str) -> bool:
        """Whether a file is there to test others: one that names no device says nothing about where a program runs."""

    def is_read(self, file: str, name: str) -> bool:
        """Whether something in the project reads a name that a file defines, or an attribute of that name."""

    def is_on_host(self, file: str) -> bool:
        """Whether a file belongs to a program that people run, and that puts nothing on an accelerator."""


class Demand:
    """The calls of functions, and the questions that they answer.

    Args:
        about: the files of the project.
    """

    def __init__(self, about: Files) -> None:
        self._about = about
        self._parameters: dict[Body, tuple[str, ...]] = {}
        """The names of the parameters of each function that was defined."""
        self._around: dict[Body, Body] = {}
        """The functions in whose bodies others are defined."""
        self._internal: set[Body] = set()
        """The functions that no other project calls."""
        self._given: dict[Parameter, dict[str, set[Given]]] = {}
        """By the file of the call."""
        self._calls: dict[Body, dict[str, set[_Call]]] = {}
        self._followed: dict[Body, dict[str, set[Followed]]] = {}
        """How the calls of functions were followed, by the file of the call."""
        self._witnesses: dict[Parameter, set[CallSite]] = {}
        self._inputs: set[Body] = set()
        self._callers: dict[Body, frozenset[str]] = {}
        """The files that may name a function, for those that were asked for."""

    # --- noting ---------------------------------------------------------------------------------------------

    def note_definition(self, function: Function, scope: Scope, file: str, *, internal: bool) -> None:
        """Note that a function is defined in a scope of a file; in another function, it sees the parameters of that.

        `internal`: no other project calls the function.
        """
        defined = Body.of(file, function)
        if internal:
            self._internal.add(defined)
        self._parameters[defined] = tuple(own.name for own in function.parameters)
        if isinstance(scope, Function):
            self._around[defined] = Body.of(file, scope)

    def note_call(self, function: Body, checked: bool, body: Body, file: str) -> None:
        """Note a call in a body.

        Args:
            function: the called function.
            checked: there is an accelerator wherever the call is reached.
            body: where the call stands.
            file: whose functions were executed when the call was met.
        """
        if self._about.is_test(file) and file != function.file:
            return
        self._calls.setdefault(function, {}).setdefault(file, set()).add(_Call(body, checked))

    def note_argument(self, function: Body, parameter: AccessPath, given: Collection[Given], call: CallSite) -> None:
        """Note what a call hands over for a parameter, or has at a place in that."""
        file = call.root
        if self._about.is_test(file) and file != function.file:
            given = {one for one in given if one is Where.ACCELERATOR}
        if Where.ACCELERATOR in given:
            self._witnesses.setdefault((function, parameter), set()).add(call)
        self._given.setdefault((function, parameter), {}).setdefault(file, set()).update(given)

    def note_followed(self, function: Body, call: Followed, file: str) -> None:
        """Note how a call of a function was followed, that was met when the functions of `file` were executed."""
        self._followed.setdefault(function, {}).setdefault(file, set()).add(call)

    def note_callers(self, function: Body, files: Collection[str]) -> None:
        """Note the files that may name a function, all of whose calls have been noted."""
        self._callers[function] = frozenset(files)

    def note_input(self, function: Body) -> None:
        """Note a function whose arguments follow the module that it belongs to, unless calls say something else."""
        self._inputs.add(function)

    def drop(self, file: str) -> None:
        """Drop the functions of a file, and the calls that were met in it."""
        self._parameters = {function: names for function, names in self._parameters.items() if function.file != file}
        self._around = {function: around for function, around in self._around.items() if function.file != file}
        self._callers = {function: files for function, files in self._callers.items() if function.file != file}
        self._inputs = {function for function in self._inputs if function.file != file}
        self._internal = {function for function in self._internal if function.file != file}
        self._calls = {
            function: {root: calls for root, calls in by_file.items() if root != file}
            for function, by_file in self._calls.items()
            if function.file != file
        }
        self._followed = {
            function: {root: calls for root, calls in by_file.items() if root != file}
            for function, by_file in self._followed.items()
            if function.file != file
        }
        self._given = {
            key: {root: given for root, given in by_file.items() if root != file}
            for key, by_file in self._given.items()
            if key[0].file != file
        }
        self._witnesses = {
            key: {call for call in calls if call.root != file}
            for key, calls in self._witnesses.items()
            if key[0].file != file
        }

    # --- asking ---------------------------------------------------------------------------------------------

    def parameters(self, body: Body) -> dict[str, Parameter]:
        """Return the parameters that a body sees by their names: its own, and those of the functions around it."""
        seen: dict[str, Parameter] = {}
        around: Body | None = body
        while around is not None:
            own = self._parameters.get(around, ())
            seen = {name: (around, named(name)) for name in own if name != "self"} | seen
            around = self._around.get(around)
        return seen

    def is_nested(self, function: Body) -> bool:
        """Whether a function is defined in another one, which alone can name it."""
        return function in self._around

    def questions(self, doubts: Iterable[Doubt]) -> set[Body]:
        """Return the functions whose callers decide some doubts, as far as the calls are known."""
        asked: set[Body] = set()
        for doubt in doubts:
            match doubt:
                case Unwitnessed(parameters=parameters) | NoTensor(parameters=parameters):
                    for one in parameters:
                        asked.update(function for function, _ in self._sources(one))
                case Builds(method=method):
                    asked.update(self._above(method))
                case Unreached(point=Point(body=function)) | Uncalled(method=function):
                    if self._is_internal(function):
                        asked.update(self._above(function))
                case OnHost():
                    pass
                case Body():
                    asked.update(self._above(doubt))
                case _:
                    asked.update(function for function, _ in self._sources(doubt))
        return asked

    def holds(self, doubt: Doubt) -> bool:
        """Whether the calls are such that a doubt is right."""
        match doubt:
            case Builds(method=method):
                return self._is_for_constructors(method, set())
            case Unwitnessed(parameters=parameters):
                return not any(map(self._is_witnessed, parameters))
            case Unreached():
                return self._is_unreached(doubt)
            case Uncalled(method=method):
                return self._is_uncalled(method)
            case OnHost(file=file):
                return self._about.is_on_host(file)
            case NoTensor(parameters=parameters):
                return all(self._wheres(one) == {Where.NO_TENSOR} for one in parameters)
            case Body():
                return self._is_behind_a_check(doubt, set())
            case _:
                return self._wheres(doubt) - {Where.NO_TENSOR} == {Where.CPU}

    def witness(self, doubts: Iterable[Doubt]) -> CallSite | None:
        """Return the first call that hands over a tensor on an accelerator for a doubted parameter."""
        parameters = [one for doubt in doubts if isinstance(doubt, Unwitnessed) for one in doubt.parameters]
        sources = set().union(*map(self._sources, parameters))
        found = {
            call
            for function, place in sources
            for known in {place, place.base}
            for call in self._witnesses.get((function, known), ())
            if self._counts(function, call.root)
        }
        return min(found, default=None)

    def _counts(self, function: Body, file: str) -> bool:
        """Whether the calls of a function in a file are all known."""
        return file == function.file or file in self._callers.get(function, ())

    def _of(self, parameter: Parameter) -> set[Given]:
        """What the calls hand over for a parameter, or have at a place in that: a part of a tensor is where that is."""
        function, place = parameter
        found = self._noted(parameter)
        if not place.steps:
            return found
        for given in self._noted((function, place.base)):
            if given is not Where.NO_TENSOR:  # a list may well have tensors
                found.add(given if isinstance(given, Where) else (given[0], place.rooted_at(given[1])))
        return found

    def _noted(self, parameter: Parameter) -> set[Given]:
        by_file = self._given.get(parameter, {})
        return set().union(*(given for file, given in by_file.items() if self._counts(parameter[0], file)))

    def _calls_of(self, function: Body) -> list[_Call]:
        by_file = self._calls.get(function, {})
        return [call for file, calls in by_file.items() if self._counts(function, file) for call in calls]

    def _sources(self, parameter: Parameter) -> set[Parameter]:
        """A parameter, and those of callers that are handed on to it, directly or through others."""
        seen: set[Parameter] = set()
        pending = [parameter]
        while pending:
            one = pending.pop()
            if one not in seen and len(one[1].exact) <= LONGEST_PLACE:
                seen.add(one)
                pending += [given for given in self._of(one) if not isinstance(given, Where)]
        return seen

    def _wheres(self, parameter: Parameter) -> Set[Where]:
        """The places of the arguments that the calls hand over for a parameter; empty without calls."""
        return {given for one in self._sources(parameter) for given in self._of(one) if isinstance(given, Where)}

    def _is_witnessed(self, parameter: Parameter) -> bool:
        sources = self._sources(parameter)
        if any(one[0] in self._inputs or Where.ACCELERATOR in self._of(one) for one in sources):
            return True
        is_exported = any(self._is_exported(function) for function, _ in sources)
        return is_exported and not any(Where.CPU in self._of(one) for one in sources)

    def _is_internal(self, function: Body) -> bool:
        """Whether only the project itself calls a function."""
        return function in self._internal or not self._about.is_of_library(function.file)

    def _is_exported(self, function: Body) -> bool:
        """Whether there may be calls of a function of a library that nobody knows.

        They stand in other projects; or something in the project reads the name of a private function, and no call is
        known.
        """
        if not self._is_internal(function):
            return True
        is_unfollowed = not self._calls_of(function) and self._about.is_of_library(function.file)
        return is_unfollowed and self._about.is_read(function.file, function.name.rpartition(".")[2])

    def _is_unreached(self, doubt: Unreached) -> bool:
        function, path = doubt.point
        if self._is_exported(function):
            return False
        calls = [call for call in self._followed_calls(function) if not self._is_followed_elsewhere(call)]
        return bool(calls) and all(call.skipped is not None and not call.skipped.isdisjoint(path) for call in calls)

    def _is_uncalled(self, method: Body) -> bool:
        if self._is_exported(method) or self._followed_calls(method):
            return False
        return not self._about.is_read(method.file, method.name.rpartition(".")[2])

    def _is_followed_elsewhere(self, call: Followed) -> bool:
        """Whether all calls of the function around a call execute that with their own objects, and so meet the call."""
        if call.caller is None or self._is_exported(call.caller):
            return False
        around = self._followed_calls(call.caller)
        return bool(around) and all(one.here for one in around)

    def _followed_calls(self, function: Body) -> list[Followed]:
        """How the calls of a function were followed; a call of a function above may have led to a call of this one."""
        by_file = self._followed.get(function, {})
        above = tuple(self._above(function))
        return [
            call for file, calls in by_file.items() if any(self._counts(one, file) for one in above) for call in calls
        ]

    def _above(self, function: Body) -> Iterator[Body]:
        """A function, and those that call it, directly or through others."""
        seen: set[Body] = set()
        pending = [function]
        while pending:
            one = pending.pop()
            if one not in seen and one in self._parameters:
                seen.add(one)
                yield one
                pending += [call.body for call in self._calls_of(one)]

    def _is_for_constructors(self, function: Body, seen: set[Body]) -> bool:
        """Whether there are calls, and each stands in a constructor or in a function that only constructors call."""
        if function in seen or function.name.endswith(".__init__"):
            return True
        seen.add(function)
        calls = self._calls_of(function)
        return bool(calls) and all(self._is_for_constructors(call.body, seen) for call in calls)

    def _is_behind_a_check(self, function: Body, seen: set[Body]) -> bool:
        """Whether there are calls, and a check stands before each, or before all calls of the function around it."""
        if function in seen:
            return True
        seen.add(function)
        calls = self._calls_of(function)
        unchecked = {call.body for call in calls if not call.checked}
        return bool(calls) and all(self._is_behind_a_check(body, seen) for body in unchecked)
