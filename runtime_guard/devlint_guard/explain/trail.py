"""The way of a value back from the line that fails, as far as reading the source tells.

Each link is an expression: an argument of a caller that still runs, a value assigned to a variable or an attribute, the
batches of a loop, a result of a function of the user. This runs no code of the program and needs no record of the run.
Where several assignments may be meant, the value itself tells which; otherwise the way ends.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Final

import torch
from torch import nn

from devlint_guard.explain.links import How, Link
from devlint_guard.explain.operands import Scene
from devlint_guard.program.bindings import Binding, is_attribute, is_name, is_none, own_nodes, reaching
from devlint_guard.program.frames import Site, node_at
from devlint_guard.program.functions import Scope, argument_of, class_scope, imported, top_of
from devlint_guard.program.stored import UNKNOWN, dictionary_of

_MOST: Final = 16
"""More links than this are no explanation."""


def trail(scene: Scene, node: ast.expr, device: str, value: object = None) -> list[Link]:
    """The way of a value back, the failing expression first.

    Args:
        scene: where the error is.
        node: the expression on the user's line.
        device: where its value is; of two parts of an expression, that which is there is followed.
        value: the object, if it still exists.
    """
    scope = None if scene.user is None else Scope.at(scene.user)
    if scope is None:
        return []
    way = _Way(scene.sites, device)
    links = [Link(How.HERE, scope, node, value=UNKNOWN if value is None else value)]
    while len(links) <= _MOST:
        link = way.before(links[-1])
        if link is None or any(one.node is link.node for one in links):
            break
        links.append(link)
    return links


class _Way:
    """One value on a device, followed through the frames of an error."""

    def __init__(self, sites: Sequence[Site], device: str) -> None:
        self._sites, self._device = sites, device

    def before(self, link: Link) -> Link | None:
        """The link that gave an expression its value."""
        parts = [*link.parts(self._device)]
        scope, node = link.scope, parts[-1][0]
        value = link.value if all(is_same for _, is_same in parts) else UNKNOWN
        if value is UNKNOWN and scope.is_settled(node):
            value = scope.reader.value(node)
        match node:
            case ast.Name(id=name):
                reached = scope.reaching(is_name(name), node)
                entry = self._entry(scope, name, value) if None in reached else None
                return _meant(scope, reached, name, value, entry)
            case ast.Attribute():
                return self._of_attribute(scope, node, value)
            case ast.Call():
                return _returned(scope.reader.value(node.func))
        return None

    # --- variables ---

    def _entry(self, scope: Scope, name: str, value: object) -> Link | None:
        """Where a variable has its value from when its function begins."""
        if name in scope.parameters:
            return self._passed_to(scope, name, value)
        if name in scope.code.co_freevars:
            outer = next((one for one in self._running() if _is_inside(scope, one)), None)
            return None if outer is None else _meant(outer, outer.reaching(is_name(name), None), name, value)
        is_global = not scope.is_module and name in scope.more_names and name not in scope.code.co_varnames
        return _of_file(top_of(scope), name, value) if is_global else None

    def _running(self) -> Iterator[Scope]:
        """The user's functions that run, the innermost first."""
        found = (Scope.at(site) for site in reversed(self._sites) if site.is_user)
        return (scope for scope in found if scope is not None)

    def _passed_to(self, scope: Scope, name: str, value: object) -> Link | None:
        """What a running function was given for a parameter, or the constructor of an object that one holds."""
        if scope.site is not None:
            return self._given_by_caller(scope.site, name, value)
        owner = scope.names.get(scope.parameters[0])
        made = None if scope.code.co_name != "__init__" or owner is None else self._construction(owner)
        return None if made is None else _passed(*made, scope.code, name, value)

    def _given_by_caller(self, site: Site, name: str, value: object) -> Link | None:
        """What the caller of a running function passed, also through frames of libraries that pass it on as it is."""
        between = next((number for number, one in enumerate(self._sites) if one.frame is site.frame), 0) - 1
        code, own = site.frame.f_code, site.frame.f_locals.get(name, UNKNOWN)
        known = value if value is not UNKNOWN else own
        while between >= 0 and not self._sites[between].is_user:
            frame = self._sites[between].frame
            if frame.f_code.co_name not in _PASS_ON:
                given = frame.f_code.co_varnames[: frame.f_code.co_argcount] if isinstance(known, torch.Tensor) else ()
                through = next((key for key, one in frame.f_locals.items() if one is known), None)
                if through not in given:
                    return None
                code, name = frame.f_code, through
            between -= 1
        scope = Scope.at(self._sites[between]) if between >= 0 else None
        call = node_at(self._sites[between]) if between >= 0 else None
        while isinstance(call, (ast.Expr, ast.Return, ast.Assign, ast.Await)) and call.value is not None:
            call = call.value
        return _passed(scope, call, code, name, value) if scope is not None and isinstance(call, ast.Call) else None

    def _construction(self, owner: object) -> tuple[Scope, ast.Call] | None:
        """The call that made an object which a variable of a running function holds."""
        for scope in self._running():
            for name, held in scope.names.items():
                reached = scope.reaching(is_name(name), None) if held is owner and name != "self" else ()
                for one in reached:
                    made = None if one is None else one.value
                    if isinstance(made, ast.Call) and scope.reader.value(made.func) is type(owner):
                        return scope, made
        return None

    # --- attributes ---

    def _of_attribute(self, scope: Scope, node: ast.Attribute, value: object) -> Link | None:
        """The assignment of an attribute: in the same function, a method of its class, or the body of the class."""
        name, owner = node.attr, scope.reader.value(node.value)
        if isinstance(node.value, ast.Name):
            reached = scope.reaching(is_attribute(node.value.id, name), node)
            if any(one is not None for one in reached):
                return _meant(scope, reached, f"{node.value.id}.{name}", value)
        if isinstance(owner, ModuleType):
            return _of_file(top_of(owner), name, value)
        if found := [] if owner is UNKNOWN else [*assigned_by_methods(owner, name, value)]:
            return found[0] if len(found) == 1 else None
        if name not in dictionary_of(owner):
            return _of_class(owner, name, value)
        made, construct = self._construction(owner), vars(type(owner)).get("__init__")
        if made is None or not isinstance(construct, FunctionType):
            return None
        return _passed(*made, construct.__code__, name, value)


def _is_inside(scope: Scope, outer: Scope) -> bool:
    """Whether a function is defined in another one, which runs."""
    inside, around = scope.definition, outer.definition
    return inside is not around is not None and not outer.is_module and any(one is inside for one in ast.walk(around))


def _assigned(scope: Scope, reached: Sequence[Binding | None], name: str, value: object) -> Iterator[Link]:
    """The links of assignments, but for those of None."""
    for one in reached:
        if one is not None and not is_none(one.value):
            is_loop = isinstance(one.statement, (ast.For, ast.AsyncFor, ast.comprehension))
            known = UNKNOWN if one.is_part else value
            yield Link(How.TAKEN if is_loop else How.ASSIGNED, scope, one.value, one.statement, name, known)


def _meant(
    scope: Scope, reached: Sequence[Binding | None], name: str, value: object, entry: Link | None = None
) -> Link | None:
    """Of the assignments that may be meant, and the value before them, the only one, or the one that gave the value."""
    found = [*_assigned(scope, reached, name, value), *filter(None, [entry])]
    if len(found) > 1:
        found = [one for one in found if _is_same(one.scope.reader.value(one.node), value)]
    return found[-1] if found else None


def _is_same(one: object, other: object) -> bool:
    kinds = (str, int, torch.device)
    return one is other is not UNKNOWN or (isinstance(one, kinds) and isinstance(other, kinds) and one == other)


def _of_file(top: Scope | None, name: str, value: object) -> Link | None:
    """The assignment of a variable of a file, or of the file that it is imported from."""
    if top is None:
        return None
    found = _meant(top, top.reaching(is_name(name), None), name, value)
    source = imported(top, name) if found is None else None
    return found if source is None else _of_file(source[0], source[1], value)


_PASS_ON: Final = frozenset(
    {nn.Module._call_impl.__name__, nn.Module._wrapped_call_impl.__name__, "_guarded_call", "decorate_context", "inner"}
)
"""Frames that hand all arguments on as they are."""


def _passed(scope: Scope, call: ast.Call, code: CodeType, name: str, value: object) -> Link | None:
    """What a call passes for a parameter."""
    given = argument_of(call, code, name)
    return None if given is None else Link(How.PASSED, scope, given, variable=name, value=value)


def assigned_by_methods(owner: object, name: str, value: object) -> Iterator[Link]:
    """The assignments of an attribute by the methods of a class of the user's."""
    for base in type(owner).__mro__:
        for method in vars(base).values() if not base.__module__.startswith("torch.") else ():
            scope = Scope.of(method, owner) if isinstance(method, FunctionType) else None
            if scope is not None and scope.parameters:
                own = scope.parameters[0]
                yield from _assigned(scope, scope.reaching(is_attribute(own, name), None), f"{own}.{name}", value)


def _of_class(owner: object, name: str, value: object) -> Link | None:
    for base in (owner if isinstance(owner, type) else type(owner)).__mro__:
        scope = class_scope(base) if name in vars(base) else None
        if scope is not None:
            return _meant(scope[0], reaching(scope[1], is_name(name), None), name, value)
    return None


def _returned(function: object) -> Link | None:
    """What a function of the user's returned, if it has one `return`."""
    scope = Scope.of(function) if isinstance(function, FunctionType) else None
    nodes = own_nodes(scope.definition) if scope is not None else ()
    found = [one.value for one in nodes if isinstance(one, ast.Return) and one.value is not None]
    return Link(How.RETURNED, scope, found[0]) if scope is not None and len(found) == 1 else None
