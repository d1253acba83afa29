"""The assignments of an attribute of one object outside of its methods, by functions that run or have ended.

A function that has ended is read with what its call shows for its parameters, so its `net.scale = …` is found where the
object was passed as `net`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Final

from torch import nn

from devlint_guard.explain.callees import called, methods
from devlint_guard.explain.cores import is_elsewhere, may_be_on
from devlint_guard.explain.links import How, Link
from devlint_guard.program.bindings import Key, own_nodes, targets_of
from devlint_guard.program.frames import Site
from devlint_guard.program.functions import Scope

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


def last_of(found: list[Link], sites: Sequence[Site], owner: object, value: object, device: str) -> list[Link]:
    """Of several assignments of an attribute, the one that came last, as far as the source tells.

    Args:
        found: the assignments.
        sites: the frames of the error.
        owner: the object.
        value: of the attribute; a module is moved in place, so the device of what made it tells nothing.
        device: where the value is; empty if that does not matter.
    """
    found = [one for one in found if not _is_at_work(one, sites)] or found
    done = [one for one in found if _is_done(one, sites, owner)]
    if done:
        found = [one for one in found if one in done or _is_of_constructor(one)]
    if device and not isinstance(value, nn.Module):
        found = _on_device(found, device) or found
    running = [one for one in found if any(site.frame.f_code is one.scope.code for site in sites)]
    return running or [one for one in found if one in done] or found


def _on_device(found: Sequence[Link], device: str) -> list[Link]:
    """The assignments of a value that is on the device; otherwise those of one that may be."""
    there = [one for one in found if may_be_on(one.scope.reader, one.node, device)]
    return there or [one for one in found if not is_elsewhere(one.scope.reader, one.node, device)]


def _is_at_work(link: Link, sites: Sequence[Site]) -> bool:
    """Whether the failing line is the assignment itself."""
    site = next((one for one in reversed(sites) if one.frame.f_code is link.scope.code), None)
    first, last = getattr(link.statement, "lineno", 0), getattr(link.statement, "end_lineno", None) or 0
    return site is not None and first <= site.line <= last


def _is_done(link: Link, sites: Sequence[Site], owner: object) -> bool:
    """Whether an assignment was done after the constructor, as far as the calls in the source tell."""
    if _is_of_constructor(link):
        return False
    own = {method.__code__ for method in methods(type(owner))}
    return link.scope.code not in own or is_called(sites, owner, link.scope.code.co_name)


def _is_of_constructor(link: Link) -> bool:
    return link.scope.code.co_name == "__init__"


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
