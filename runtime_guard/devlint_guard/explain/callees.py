"""Which function of the user's a call runs, and which methods a class has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType, FunctionType

from torch import nn

from devlint_guard.program.bindings import definition_of
from devlint_guard.program.expressions import Reader
from devlint_guard.program.frames import is_user_code
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import UNKNOWN, dictionary_of


def called(reader: Reader, node: ast.Call) -> tuple[object, object]:
    """The function of the user's, or the class, that a call runs, and the object whose method it is."""
    function, owner = reader.value(node.func), UNKNOWN
    is_of_class = isinstance(function, (classmethod, staticmethod))  # as a class itself stores them
    if isinstance(node.func, ast.Attribute) and (function is UNKNOWN or is_of_class):
        owner = reader.value(node.func.value)
        function = method_of(owner, node.func.attr)
    if isinstance(function, nn.Module):
        function, owner = type(function).forward, function
    wrapped = getattr(function, "__wrapped__", None) if isinstance(function, FunctionType) else None
    if isinstance(wrapped, FunctionType) and not is_user_code(function.__code__, None):  # type: ignore[attr-defined]
        function = wrapped
    return function, owner


def method_of(owner: object, name: str) -> object:
    """A method as the class of an object, or a class itself, defines it."""
    if owner is UNKNOWN or (not isinstance(owner, type) and name in dictionary_of(owner)):
        return UNKNOWN
    kinds = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
    found = next((vars(base)[name] for base in kinds if name in vars(base)), UNKNOWN)
    return found.__func__ if isinstance(found, (staticmethod, classmethod)) else found


def methods(owner: type) -> Iterator[FunctionType]:
    """The user's methods of a class and of its bases."""
    for base in owner.__mro__:
        if not base.__module__.startswith("torch."):
            yield from (one for one in vars(base).values() if isinstance(one, FunctionType))


def code_named(scope: Scope, node: ast.AST) -> CodeType | None:
    """A code object that stands for a function that no longer runs: its places have its name."""
    for value in scope.more_names.values():
        if isinstance(value, FunctionType) and definition_of(scope.source.tree, value.__code__) is node:
            return value.__code__
    return None
