"""The assignments of an attribute of one object outside of its methods, by functions that run or have ended.

A function that has ended is read with what its call shows for its parameters, so its `net.scale = …` is found where the
object was passed as `net`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Final

from devlint_guard.bindings import Key, own_nodes, targets_of
from devlint_guard.callees import called, methods
from devlint_guard.frames import Site
from devlint_guard.functions import Scope
from devlint_guard.links import How, Link

_DEEPEST: Final = 3
"""So many calls below a running function, functions that have ended are looked through."""


def assigned_by_running(
    sites: Sequence[Site], owner: object, name: str, keys: tuple[Key, ...], value: object
) -> Iterator[Link]:
    """The assignments of an attribute by functions that run, none of which is a method of the object."""
    own = {method.__code__ for method in methods(type(owner))}
    for site in sites:
        scope = Scope.at(site) if site.is_user and site.frame.f_code not in own else None
        if scope is not None:
            yield from _in_scope(scope, owner, name, keys, value)


def assigned_by_ended(
    sites: Sequence[Site], owner: object, name: str, keys: tuple[Key, ...], value: object
) -> Iterator[Link]:
    """The assignments of an attribute by functions that running ones have called, none a method of the object."""
    own = {method.__code__ for method in methods(type(owner))}
    for scope in ended(sites):
        if scope.code not in own:
            yield from _in_scope(scope, owner, name, keys, value)


def ended(sites: Sequence[Site]) -> Iterator[Scope]:
    """The functions of the user's that running functions call, and those that these call, each once."""
    waiting = [(scope, 0) for site in sites if site.is_user and (scope := Scope.at(site)) is not None]
    seen = {scope.code for scope, _ in waiting}
    while waiting:
        scope, depth = waiting.pop(0)
        for node in own_nodes(scope.definition) if scope.definition is not None else ():
            if not isinstance(node, ast.Call):
                continue
            function, owner = called(scope.reader, node)
            if isinstance(function, FunctionType) and function.__code__ not in seen:
                inside = Scope.of(function, owner, (scope, node))
                seen.add(function.__code__)
                if inside is not None:
                    yield inside
                    if depth + 1 < _DEEPEST:
                        waiting.append((inside, depth + 1))


def is_called(sites: Sequence[Site], owner: object, name: str) -> bool:
    """Whether a function that runs, or one that it has called, calls a method of an object."""
    running = (scope for site in sites if site.is_user and (scope := Scope.at(site)) is not None)
    for scope in (*running, *ended(sites)):
        for node in own_nodes(scope.definition) if scope.definition is not None else ():
            match node:
                case ast.Call(func=ast.Attribute(value=receiver, attr=attr)) if attr == name:
                    if scope.reader.value(receiver) is owner and scope.is_reached(node):
                        return True
    return False


def _in_scope(scope: Scope, owner: object, name: str, keys: tuple[Key, ...], value: object) -> Iterator[Link]:
    for node in own_nodes(scope.definition) if scope.definition is not None else ():
        for target, assigned, inside in targets_of(node):
            is_meant = isinstance(target, ast.Attribute) and target.attr == name and isinstance(node, ast.stmt)
            if is_meant and isinstance(target, ast.Attribute) and scope.reader.value(target.value) is owner:
                text = f"{scope.source.of(target.value)}.{name}"
                yield Link(How.ASSIGNED, scope, assigned, node, text, (*inside, *keys), value)
