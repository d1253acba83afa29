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

from devlint_guard.explain.cores import inner
from devlint_guard.explain.links import How, Link
from devlint_guard.program.bindings import Binding, is_attribute, is_name, is_none, own_nodes, targets_of
from devlint_guard.program.frames import Site, node_at
from devlint_guard.program.functions import Scope, argument_of, class_scope, imported, top_of
from devlint_guard.program.stored import UNKNOWN, dictionary_of

_MOST: Final = 16
"""More links than this are no explanation."""


def trail(sites: Sequence[Site], site: Site, node: ast.expr, device: str, value: object = None) -> list[Link]:
    """The way of a value back, the failing expression first.

    Args:
        sites: the frames of the error, outermost first.
        site: the frame that the expression is in.
        node: the expression.
        device: where its value is; of two parts of an expression, that which is there is followed.
        value: the object, if it still exists.
    """
    scope = Scope.at(site)
    if scope is None:
        return []
    way = _Way(sites, device)
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
        scope, node, value = link.scope, link.node, link.value
        while (part := inner(scope.reader, node, self._device)) is not None:
            node, is_same = part
            value = value if is_same else UNKNOWN
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
        code = scope.code
        if name in scope.parameters:
            return self._passed_to(scope, name, value)
        if name in code.co_freevars:
            outer = next((one for one in self._running() if _is_inside(scope, one)), None)
            return None if outer is None else _meant(outer, outer.reaching(is_name(name), None), name, value)
        if scope.is_module or name not in scope.more_names or name in code.co_varnames:
            return None
        return _of_file(top_of(scope), name, value)

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
        index = next((number for number, one in enumerate(self._sites) if one.frame is site.frame), 0)
        code, own = site.frame.f_code, site.frame.f_locals.get(name, UNKNOWN)
        known = value if value is not UNKNOWN else own
        between = index - 1
        while between >= 0 and not self._sites[between].is_user:
            frame = self._sites[between].frame
            if frame.f_code.co_name not in _PASS_ON:
                if not isinstance(known, torch.Tensor):
                    return None
                through = next((key for key, one in frame.f_locals.items() if one is known), None)
                if through is None or through not in frame.f_code.co_varnames[: frame.f_code.co_argcount]:
                    return None
                code, name = frame.f_code, through
            between -= 1
        caller = self._sites[between] if between >= 0 else None
        scope = None if caller is None else Scope.at(caller)
        call = None if caller is None else node_at(caller)
        while isinstance(call, (ast.Expr, ast.Return, ast.Assign, ast.Await)) and call.value is not None:
            call = call.value
        if scope is None or not isinstance(call, ast.Call):
            return None
        return _passed(scope, call, code, name, value)

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
        found = [] if owner is UNKNOWN else [*_assigned_by_methods(type(owner), owner, name, value)]
        if found:
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


def _meant(
    scope: Scope, reached: Sequence[Binding | None], name: str, value: object, entry: Link | None = None
) -> Link | None:
    """Of the assignments that may be meant, and the value before them, the only one, or the one that gave the value."""
    found = [
        Link(
            How.TAKEN if isinstance(one.statement, (ast.For, ast.AsyncFor, ast.comprehension)) else How.ASSIGNED,
            scope,
            one.value,
            one.statement,
            name,
            UNKNOWN if one.is_part else value,
        )
        for one in reached
        if one is not None and not is_none(one.value)
    ]
    found += [] if entry is None else [entry]
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


def _assigned_by_methods(kind: type, owner: object, name: str, value: object) -> Iterator[Link]:
    """The assignments of an attribute by the methods of a class of the user's."""
    for base in kind.__mro__:
        for method in vars(base).values() if not base.__module__.startswith("torch.") else ():
            scope = Scope.of(method, owner) if isinstance(method, FunctionType) else None
            if scope is not None and scope.parameters:
                target = is_attribute(scope.parameters[0], name)
                for one in scope.reaching(target, None):
                    if one is not None and not is_none(one.value):
                        text = f"{scope.parameters[0]}.{name}"
                        yield Link(How.ASSIGNED, scope, one.value, one.statement, text, value)


def _of_class(owner: object, name: str, value: object) -> Link | None:
    for base in (owner if isinstance(owner, type) else type(owner)).__mro__:
        scope = class_scope(base) if name in vars(base) else None
        for node in scope[1].body if scope is not None else ():
            for target, assigned, _ in targets_of(node):
                if scope is not None and is_name(name)(target):
                    return Link(How.ASSIGNED, scope[0], assigned, node, name, value)
    return None


def _returned(function: object) -> Link | None:
    """What a function of the user's returned, if it has one `return`."""
    scope = Scope.of(function) if isinstance(function, FunctionType) else None
    nodes = own_nodes(scope.definition) if scope is not None and scope.definition is not None else ()
    found = [one.value for one in nodes if isinstance(one, ast.Return) and one.value is not None]
    return Link(How.RETURNED, scope, found[0]) if scope is not None and len(found) == 1 else None
