"""What the calls of a function have in common: facts about its body that rest on who calls it.

A function that adds what it is given to a tensor on the CPU is right if every call passes one from there, and one that
uses CUDA needs no check of its own if every call stands behind one. Only calls in the function's own file count: which
of the others have been looked at is a matter of chance.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from devlint.domain.device import CPU, UNREACHED, Device, Variable, join
from devlint.frontend.ir import Function, Scope

Parameter: TypeAlias = tuple[Function, str]
"""A parameter of a function."""


class Builds(NamedTuple):
    """The doubt that a method is only called by constructors, before anything has moved its module."""

    method: Function


Refutation: TypeAlias = "Parameter | Function | Builds"
"""What a fact may be wrong for: all calls pass for a parameter what is on the CPU; all of a function stand behind a
check; all of a method stand in constructors."""


class Callers:
    """What is known of the calls of functions."""

    def __init__(self) -> None:
        self._arguments: dict[Parameter, Device] = {}
        self._handed_on: dict[Parameter, set[Parameter]] = {}
        self._around: dict[Function, Function] = {}
        """The functions in whose bodies others are defined."""
        self._callers: dict[Function, set[Scope]] = {}
        """The bodies in which functions are called."""
        self._unchecked: dict[Function, set[Scope]] = {}
        """The functions that are called, and whose bodies call them where nothing has made sure of an accelerator."""

    def note_definition(self, function: Function, scope: Scope) -> None:
        """Notes that a function is defined in `scope`; in another function, it sees the parameters of that."""
        if isinstance(scope, Function):
            self._around[function] = scope

    def parameters(self, scope: Scope | None) -> dict[str, Parameter]:
        """The parameters that a scope sees by their names: its own, and those of the functions around it."""
        seen: dict[str, Parameter] = {}
        while isinstance(scope, Function):
            seen = {own.name: (scope, own.name) for own in scope.parameters if own.name != "self"} | seen
            scope = self._around.get(scope)
        return seen

    def note_call(self, function: Function, checked: bool, scope: Scope) -> None:
        """Notes a call in `scope`; `checked`: there is an accelerator wherever it is reached."""
        self._unchecked.setdefault(function, set()).update(() if checked else (scope,))
        self._callers.setdefault(function, set()).add(scope)

    def note_argument(self, function: Function, parameter: str, device: Device, scope: Scope) -> None:
        """Notes where a call in `scope` has the tensor that it passes for a parameter, or whose parameter that is."""
        key = (function, parameter)
        mine = {own.name for own in scope.parameters} if isinstance(scope, Function) else set()
        if isinstance(scope, Function) and isinstance(device, Variable) and device.place in mine - {"self"}:
            self._handed_on.setdefault(key, set()).add((scope, device.place))
        else:
            self._arguments[key] = join(self._arguments.get(key, UNREACHED), device)

    def refute(self, doubts: Iterable[Refutation]) -> bool:
        """Whether the calls are such that a fact with these doubts does not hold."""
        return any(map(self._is_right, doubts))

    def _is_right(self, doubt: Refutation) -> bool:
        match doubt:
            case Builds(method=method):
                return self._is_for_constructors(method, set())
            case Function():
                return self._is_behind_a_check(doubt, set())
            case _:
                return self._is_on_cpu(doubt, set())

    def _is_for_constructors(self, function: Scope, seen: set[Scope]) -> bool:
        """Whether every call of a function, of which there is one, stands in a constructor, or in one of which so."""
        if function in seen or function.name.endswith(".__init__"):
            return True
        seen.add(function)
        scopes = self._callers.get(function) if isinstance(function, Function) else None
        return scopes is not None and all(self._is_for_constructors(scope, seen) for scope in scopes)

    def _is_on_cpu(self, parameter: Parameter, seen: set[Parameter]) -> bool:
        """Whether every call passes for a parameter what is on the CPU, or the like parameter of its own function."""
        if parameter in seen:
            return True
        seen.add(parameter)
        device, callers = self._arguments.get(parameter), self._handed_on.get(parameter, set())
        if device is None and not callers:
            return False
        return device in (None, CPU) and all(self._is_on_cpu(caller, seen) for caller in callers)

    def _is_behind_a_check(self, function: Scope, seen: set[Scope]) -> bool:
        """Whether every call of a function, of which there is one, stands behind a check, or in one that does."""
        if function in seen:
            return True
        seen.add(function)
        scopes = self._unchecked.get(function) if isinstance(function, Function) else None
        return scopes is not None and all(self._is_behind_a_check(scope, seen) for scope in scopes)
