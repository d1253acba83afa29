"""The way of a value back from the line that fails to the line that made it, as far as reading the source tells.

Each link is an expression: an argument of a caller, a value assigned to a variable, the batches of a loop, an element
appended to a list, a result of a function of the user. This runs no code of the program and needs no record of the run.
Where several assignments may be meant, the object itself, or the device, tells which; otherwise the way ends.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Final

import torch
from torch import nn

from devlint_guard.explain.assignments import assigned_by_ended, assigned_by_running, last_of
from devlint_guard.explain.callees import called, code_named, method_of, methods
from devlint_guard.explain.cores import (
    MOVES,
    core,
    holds_none_on,
    inner,
    is_elsewhere,
    likely,
    makes,
    may_be_on,
    may_make,
    put_in,
)
from devlint_guard.explain.links import How, Link
from devlint_guard.program.bindings import (
    Binding,
    Field,
    IsTarget,
    Key,
    is_attribute,
    is_name,
    is_none,
    own_nodes,
    targets_of,
)
from devlint_guard.program.frames import Site, node_at
from devlint_guard.program.functions import Scope, class_scope, given_by, imported, rest_of, top_of
from devlint_guard.program.stored import UNKNOWN, devices_of, dictionary_of, modules_in, parts_of, stores

_MOST: Final = 16
"""More links than this are no explanation."""
_DEEPEST: Final = 3
"""So many objects, each an attribute of the next, are looked for where they were made."""


def trail(sites: Sequence[Site], site: Site, node: ast.expr, device: str, value: object = None) -> list[Link]:
    """The way of a value back, the failing expression first.

    Args:
        sites: the frames of the error, outermost first.
        site: the frame that the expression is in.
        node: the expression.
        device: where its value is; of two parts of it, that which is there is followed.
        value: the object, if it still exists; an attribute that holds it is on its way under any name.
    """
    scope = Scope.at(site)
    if scope is None:
        return []
    way = _Way(sites, device)
    keys = _attribute_with(scope.reader.value(node), value)
    links = way.followed(Link(How.HERE, scope, node, keys=keys, value=UNKNOWN if value is None else value))
    if not any("." in link.variable for link in links):
        kept = _kept_in(sites, value)
        links += [] if kept is None else way.followed(kept)
    return links


def _attribute_with(held: object, value: object) -> tuple[Key, ...]:
    """The attribute of an object that holds a tensor, as a distribution does; empty for a tensor itself."""
    if value is None or held is value or isinstance(held, (nn.Module, type, ModuleType)):
        return ()
    return next(((Field(name),) for name, one in dictionary_of(held).items() if one is value), ())


def _kept_in(sites: Sequence[Site], value: object) -> Link | None:
    """The assignment of the attribute that holds a tensor, of a module whose call is under way or ended just now."""
    if not isinstance(value, torch.Tensor):
        return None
    for site in reversed(sites):
        for one in list(site.frame.f_locals.values()) if site.is_user else ():
            for owner in modules_in(one) if isinstance(one, nn.Module) else ():
                for name, held in dictionary_of(owner).items():
                    if held is value and not name.startswith("_"):
                        return _Way(sites, str(value.device)).of_attribute(owner, name, (), value)
    return None


def way_of(sites: Sequence[Site], link: Link, device: str) -> list[Link]:
    """The way back of the value that a link stands for."""
    return _Way(sites, device).followed(link)


def constructed(sites: Sequence[Site], owner: object) -> tuple[Scope, ast.Call] | None:
    """The call that made an object which a variable of a running function, or an attribute of one, holds."""
    return _Way(sites, "").construction(owner)


@dataclass(frozen=True, slots=True)
class _Way:
    """What is followed: the value on a device, in the frames of an error."""

    sites: Sequence[Site]
    device: str
    depth: int = 0

    def followed(self, first: Link) -> list[Link]:
        """A link and those before it."""
        links = [first]
        for _ in range(_MOST):
            link = self.before(links[-1])
            if link is None or any((one.node, one.keys) == (link.node, link.keys) for one in links):
                break
            links.append(link)
        return links

    def before(self, link: Link) -> Link | None:
        """The link that gave an expression its value."""
        if link.how is How.DEFAULT:
            return None
        scope, reader = link.scope, link.scope.reader
        node, keys, value = link.node, link.keys, link.value
        while (part := inner(reader, node, keys, self.device)) is not None:
            node, keys, is_same = part
            value = value if is_same else UNKNOWN
        held = reader.value(node)
        if keys and held is not UNKNOWN and not isinstance(held, torch.Tensor):
            produced = self._of_iteration(held, scope, node, keys)
            if produced is not None:
                return produced
        match node:
            case ast.Name():
                return self._of_name(scope, node, keys, value)
            case ast.Attribute():
                return self._of_member(scope, node, keys, value)
            case ast.Call():
                return self._of_call(scope, node, keys, value) or self._of_place(scope, node)
        return None

    # --- variables ---

    def _of_name(self, scope: Scope, node: ast.Name, keys: tuple[Key, ...], value: object) -> Link | None:
        reached = scope.reaching(is_name(node.id), node)
        if value is UNKNOWN and not keys and scope.site is not None and scope.is_settled(node):
            value = scope.reader.value(node)
        binding = self._chosen(scope, [one for one in reached if one is not None], keys, value)
        entry = self._entry(scope, node.id, keys, value) if None in reached else None
        if binding is not None and entry is not None and not self._is_rather(scope, binding, entry, value):
            binding = None
        if binding is None:
            return entry
        is_loop = not isinstance(binding.statement, ast.stmt) or isinstance(binding.statement, (ast.For, ast.AsyncFor))
        filled = self._filled(scope, is_name(node.id), node.id, (*binding.keys, *keys), binding.value)
        whole = value if not binding.keys and not keys else UNKNOWN
        how = How.TAKEN if is_loop else How.ASSIGNED
        found = Link(how, scope, binding.value, binding.statement, node.id, (*binding.keys, *keys), whole)
        return filled or found

    def _is_rather(self, scope: Scope, binding: Binding, entry: Link, value: object) -> bool:
        """Whether a value comes from an assignment that may not have been done, and not from before it."""
        given = entry.scope.reader.value(entry.node) if entry.scope.site is not None else UNKNOWN
        if value is not UNKNOWN and given is value:
            return False
        if not binding.keys and is_elsewhere(scope.reader, binding.value, self.device):
            return False
        names = {one.id for one in ast.walk(binding.value) if isinstance(one, ast.Name)}
        if entry.variable in names:
            return True  # it leads there itself
        if given is not UNKNOWN and not may_be_on(entry.scope.reader, entry.node, self.device):
            return True
        return given is UNKNOWN or given is None

    def _chosen(self, scope: Scope, found: Sequence[Binding], keys: tuple[Key, ...], value: object) -> Binding | None:
        """Of some bindings that may be meant, the one that gave the object, or one on the device; the last of them."""
        reader = scope.reader
        if len(found) > 1 and value is not UNKNOWN:
            same = [one for one in found if not one.keys and not keys and reader.value(one.value) is value]
            found = same or found
        if len(found) > 1:
            full = [one for one in found if not is_none(one.value)]
            there = [one for one in full if self.device and may_be_on(reader, one.value, self.device)]
            open_ones = [one for one in full if one.keys or not is_elsewhere(reader, one.value, self.device)]
            found = there or open_ones or full
        if len(found) > 1 and self.depth == 0:
            way = _Way(self.sites, self.device, 1)
            answers = [way.leads_there(scope, one, keys) for one in found]
            leading = [one for one, answer in zip(found, answers, strict=True) if answer]
            found = leading or [one for one, answer in zip(found, answers, strict=True) if answer is None] or found
        return found[-1] if found else None

    def leads_there(self, scope: Scope, binding: Binding, keys: tuple[Key, ...]) -> bool | None:
        """Whether the way of an assigned value ends at one that is on the device; None if that is not known."""
        last = self.followed(Link(How.ASSIGNED, scope, binding.value, keys=(*binding.keys, *keys)))[-1]
        reader, node = last.scope.reader, last.core(self.device)
        if is_elsewhere(reader, node, self.device):
            return False
        return bool(self.device and may_be_on(reader, node, self.device)) or None

    def _entry(self, scope: Scope, name: str, keys: tuple[Key, ...], value: object) -> Link | None:
        """Where a variable has its value from when its function begins."""
        code = scope.code
        if name in scope.parameters or name in rest_of(code):
            link = self._argument(scope, name, keys, value)
            if link is None and scope.call is not None:
                return Link(How.DEFAULT, *scope.call, variable=name) if scope.has_default(name) else None
            return link
        if name in code.co_freevars:
            around = self._around(scope, name)
            return None if around is None else self._bound_at_end(around, is_name(name), name, keys, value)
        if scope.is_module or name not in scope.more_names or name in code.co_varnames:
            return None
        top = top_of(scope)
        return None if top is None else self.of_variable_of_file(top, name, keys, value)

    def _bound_at_end(
        self, scope: Scope, is_target: IsTarget, name: str, keys: tuple[Key, ...], value: object
    ) -> Link | None:
        reached = scope.reaching(is_target, None)
        binding = self._chosen(scope, [one for one in reached if one is not None], keys, value)
        if binding is None:
            return self._entry(scope, name, keys, value) if name in scope.parameters else None
        how = How.TAKEN if isinstance(binding.statement, (ast.For, ast.AsyncFor)) else How.ASSIGNED
        all_keys = (*binding.keys, *keys)
        filled = self._filled(scope, is_target, name, all_keys, binding.value)
        return filled or Link(how, scope, binding.value, binding.statement, name, all_keys, value)

    def _around(self, scope: Scope, name: str) -> Scope | None:
        """The function around another one that binds one of its free variables, if it still runs or has ended."""
        inside = scope.definition
        for site in reversed(self.sites):
            outer = Scope.at(site) if site.is_user and site.file == scope.code.co_filename else None
            definition = None if outer is None else outer.definition
            if outer is None or definition is None or outer.code is scope.code or outer.is_module:
                continue
            if inside is None or any(one is inside for one in ast.walk(definition)):
                return outer
        for node in ast.walk(scope.source.tree):
            is_outer = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node is not inside
            if is_outer and inside is not None and any(one is inside for one in ast.walk(node)):
                code = code_named(scope, node)
                return None if code is None else Scope(scope.source, code, scope.names, scope.more_names)
        return None

    def of_variable_of_file(self, top: Scope, name: str, keys: tuple[Key, ...], value: object) -> Link | None:
        """The assignment of a variable of a file, or of the file that it is imported from."""
        found = self._bound_at_end(top, is_name(name), name, keys, value)
        if found is not None:
            return found
        source = imported(top, name)
        return None if source is None else self.of_variable_of_file(source[0], source[1], keys, value)

    # --- parameters ---

    def _argument(self, scope: Scope, name: str, keys: tuple[Key, ...], value: object) -> Link | None:
        if scope.call is not None:
            caller, call = scope.call
            return _passed(caller, call, scope.code, name, keys, value)
        if scope.site is None:
            made = self._given_to_constructor(scope, name, keys, value)
            return made or self._given_by_a_call(scope, name, keys, value)
        return self._given_by_caller(scope.site, name, keys, value)

    def _given_by_caller(self, site: Site, name: str, keys: tuple[Key, ...], value: object) -> Link | None:
        """What the caller of a running function passed, also through frames of libraries that pass it on as it is."""
        index = next((number for number, one in enumerate(self.sites) if one.frame is site.frame), 0)
        code, own = site.frame.f_code, site.frame.f_locals.get(name, UNKNOWN)
        known = value if value is not UNKNOWN else own
        between = index - 1
        while between >= 0 and not self.sites[between].is_user:
            frame = self.sites[between].frame
            if frame.f_code.co_name not in _PASS_ON:
                if not isinstance(known, torch.Tensor):
                    return None
                through = next((key for key, one in frame.f_locals.items() if one is known), None)
                if through is None or through not in frame.f_code.co_varnames[: frame.f_code.co_argcount]:
                    return None
                code, name = frame.f_code, through
            between -= 1
        caller = self.sites[between] if between >= 0 else None
        scope = None if caller is None else Scope.at(caller)
        call = None if caller is None else node_at(caller)
        while isinstance(call, (ast.Expr, ast.Return, ast.Assign, ast.Await)) and call.value is not None:
            call = call.value
        if scope is None or not isinstance(call, ast.Call):
            return None
        return _passed(scope, call, code, name, keys, value)

    def _given_by_a_call(self, scope: Scope, name: str, keys: tuple[Key, ...], value: object) -> Link | None:
        """What a running function passed to one that has ended; of several calls, what is known to be on the device."""
        found = []
        for site in self.sites:
            caller = Scope.at(site) if site.is_user else None
            definition = None if caller is None else caller.definition
            for node in own_nodes(definition) if definition is not None else ():
                if caller is not None and isinstance(node, ast.Call):
                    function, _ = called(caller.reader, node)
                    if isinstance(function, FunctionType) and function.__code__ is scope.code:
                        link = _passed(caller, node, scope.code, name, keys, value)
                        found += [] if link is None else [link]
        there = [one for one in found if self.device and may_be_on(one.scope.reader, one.node, self.device)]
        return there[0] if there else found[0] if len(found) == 1 else None

    def _given_to_constructor(self, scope: Scope, name: str, keys: tuple[Key, ...], value: object) -> Link | None:
        """What the constructor of an object was given, where a running function made the object."""
        made = self.construction(scope.names.get(scope.parameters[0])) if scope.code.co_name == "__init__" else None
        return None if made is None else _passed(*made, scope.code, name, keys, value)

    def construction(self, owner: object) -> tuple[Scope, ast.Call] | None:
        """The call that made an object which a variable of a running function, or an attribute of one, holds."""
        if owner is None or self.depth > _DEEPEST:
            return None
        way = _Way(self.sites, self.device, self.depth + 1)
        for site in reversed(self.sites):
            scope = Scope.at(site) if site.is_user else None
            definition = None if scope is None else scope.definition
            if scope is None or definition is None:
                continue
            for name, held in scope.names.items():
                if held is owner and name != "self":
                    made = way._made(way._bound_at_end(scope, is_name(name), name, (), owner), owner)
                    if made is not None:
                        return made
                for key, part in parts_of(held).items():
                    if part is owner and not key.startswith("_"):
                        made = way._made(way.of_attribute(held, key, (), owner), owner)
                        if made is not None:
                            return made
        return None

    def _made(self, first: Link | None, owner: object) -> tuple[Scope, ast.Call] | None:
        for link in self.followed(first) if first is not None else ():
            for node in ast.walk(link.node):
                if isinstance(node, ast.Call) and makes(link.scope.reader, node, owner):
                    return link.scope, node
        return None

    # --- attributes ---

    def _of_member(self, scope: Scope, node: ast.Attribute, keys: tuple[Key, ...], value: object) -> Link | None:
        owner = scope.reader.value(node.value)
        if isinstance(node.value, ast.Name):
            # What the same function has assigned before.
            reached = scope.reaching(is_attribute(node.value.id, node.attr), node)
            local = [one for one in reached if one is not None]
            if None in reached:  # it may be from before, but not if this is where it is
                local = [one for one in local if self.device and may_be_on(scope.reader, one.value, self.device)]
                local = [one for one in local if not _is_update(scope, one, node.value.id, node.attr, self.device)]
            if local:
                binding = self._chosen(scope, local, keys, value)
                if binding is not None:
                    name = f"{node.value.id}.{node.attr}"
                    all_keys = (*binding.keys, *keys)
                    return Link(How.ASSIGNED, scope, binding.value, binding.statement, name, all_keys, value)
        if owner is UNKNOWN:
            return Link(How.TAKEN, scope, node.value, keys=(Field(node.attr), *keys))
        if isinstance(owner, ModuleType):
            top = top_of(owner)
            return None if top is None else self.of_variable_of_file(top, node.attr, keys, value)
        if value is UNKNOWN and not keys:
            value = scope.reader.value(node)
        found = self.of_attribute(owner, node.attr, keys, value)
        if found is None and not isinstance(owner, (nn.Module, type)):
            # What an object stores that no line of the program assigns, its constructor was given.
            return Link(How.TAKEN, scope, node.value, keys=(Field(node.attr), *keys))
        return found

    def of_attribute(self, owner: object, name: str, keys: tuple[Key, ...], value: object) -> Link | None:
        """The assignment of an attribute: by a running function, a method of its class, or the body of the class."""
        found = list(assigned_by_running(self.sites, owner, name, keys, value))[-1:]
        if not found:
            found = list(self._assigned_by_methods(owner, name, keys, value))
            found += list(assigned_by_ended(self.sites, owner, name, keys, value))[-1:]
        found = [one for one in found if may_make(one.scope.reader, one.node, value)] or found
        if len(found) > 1:
            found = last_of(found, self.sites, owner, value, self.device)
        if len(found) == 1:
            link = found[0]
            filled = self._filled_attribute(owner, name, link) if link.scope.parameters else None
            return filled or link
        if found:
            return None
        return self._of_class(owner, name, keys, value)

    def _assigned_by_methods(self, owner: object, name: str, keys: tuple[Key, ...], value: object) -> Iterator[Link]:
        seen: set[str] = set()
        for method in methods(type(owner)):
            scope = Scope.of(method, owner)
            if scope is None or not scope.parameters or method.__name__ in seen:
                continue
            if method.__name__ != "__init__":  # of which one calls the next
                seen.add(method.__name__)
            own = scope.parameters[0]
            reached = scope.reaching(is_attribute(own, name, also_any=stores(owner, name)), None)
            for one in reached:
                is_update = one is not None and _is_update(scope, one, own, name, self.device)
                if one is not None and not is_update and not is_none(one.value):
                    known = scope
                    if method.__name__ == "__init__" and (made := self.construction(owner)) is not None:
                        known = Scope.of(method, owner, made) or scope
                    text = f"{own}.{name}"
                    yield Link(How.ASSIGNED, known, one.value, one.statement, text, (*one.keys, *keys), value)

    def _of_class(self, owner: object, name: str, keys: tuple[Key, ...], value: object) -> Link | None:
        for base in (owner if isinstance(owner, type) else type(owner)).__mro__:
            held = vars(base).get(name, UNKNOWN)
            getter = held.fget if isinstance(held, property) else getattr(held, "func", None)
            if isinstance(held, (property, functools.cached_property)) and isinstance(getter, FunctionType):
                return self._returned(Scope.of(getter, owner), keys)
            if held is not UNKNOWN:
                scope = class_scope(base)
                if scope is None:
                    return None
                for node in scope[1].body:
                    for target, assigned, inside in targets_of(node):
                        if is_name(name)(target):
                            return Link(How.ASSIGNED, scope[0], assigned, node, name, (*inside, *keys), value)
        return None

    # --- functions ---

    def _of_call(self, scope: Scope, node: ast.Call, keys: tuple[Key, ...], value: object) -> Link | None:
        """What a function of the user's returned or yielded, or a constructor stored."""
        function, owner = called(scope.reader, node)
        if isinstance(owner, nn.DataParallel) and (made := self.construction(owner)) is not None:
            return Link(How.GATHERED, *made)
        if isinstance(owner, nn.Module) and self.device != "cpu" and self.device in devices_of(owner):
            return None  # it is where the module is
        if isinstance(function, type):
            return self._of_constructor(scope, node, function, keys)
        inside = Scope.of(function, owner, (scope, node)) if isinstance(function, FunctionType) else None
        return self._returned(inside, keys, value)

    def _of_constructor(self, scope: Scope, node: ast.Call, kind: type, keys: tuple[Key, ...]) -> Link | None:
        """The assignment of an attribute by the constructor that a call runs."""
        first, *rest = keys or (None,)
        method = next((vars(base)["__init__"] for base in kind.__mro__ if "__init__" in vars(base)), None)
        if not isinstance(first, Field):
            return None
        inside = Scope.of(method, call=(scope, node)) if isinstance(method, FunctionType) else None
        if inside is None or not inside.parameters:
            return self._of_library(scope, node, method, first.name, tuple(rest))
        own = inside.parameters[0]
        return self._bound_at_end(inside, is_attribute(own, first.name), f"{own}.{first.name}", tuple(rest), UNKNOWN)

    def _of_library(
        self, scope: Scope, node: ast.Call, method: object, name: str, keys: tuple[Key, ...]
    ) -> Link | None:
        """What a constructor without source was given for an attribute: by its name, or the only thing that fits."""
        code = method.__code__ if isinstance(method, FunctionType) else None
        found = None if code is None else given_by(node, code, name, keys)
        if found is None:
            given = [one for one in node.args if not isinstance(one, ast.Starred)]
            part = likely(scope.reader, [*given, *(one.value for one in node.keywords)], self.device)
            found = None if part is None else (part, keys)
        return None if found is None else Link(How.PASSED, scope, found[0], variable=name, keys=found[1])

    def _returned(self, scope: Scope | None, keys: tuple[Key, ...], value: object = UNKNOWN) -> Link | None:
        definition = None if scope is None else scope.definition
        if scope is None or definition is None:
            return None
        yielded = [one for one in own_nodes(definition) if isinstance(one, ast.Yield) and one.value is not None]
        if yielded and keys:
            given = yielded[0].value if len(yielded) == 1 else None
            return None if given is None else Link(How.YIELDED, scope, given, yielded[0], keys=keys[1:])
        returned = [one for one in own_nodes(definition) if isinstance(one, ast.Return) and scope.is_reached(one)]
        values = [one.value for one in returned if one.value is not None]
        values = [one for one in values if not keys and makes(scope.reader, one, value)] or values
        if len(values) > 1:
            values = [one for one in values if may_be_on(scope.reader, one, self.device)] if self.device else values
        return Link(How.RETURNED, scope, values[0], keys=keys) if len(values) == 1 else None

    def _of_iteration(self, held: object, scope: Scope, node: ast.expr, keys: tuple[Key, ...]) -> Link | None:
        """What an object of the user's own class gives when it is gone through, or asked for an element."""
        if isinstance(keys[0], Field) or isinstance(held, (type, nn.Module, ModuleType)):
            return None
        for name in ("__iter__", "__getitem__"):
            method = method_of(held, name)
            if isinstance(method, FunctionType):
                inside = Scope.of(method, held)
                rest = keys if name == "__iter__" else keys[1:]
                return self._returned(inside, rest)
        return None

    def _of_place(self, scope: Scope, node: ast.Call) -> Link | None:
        """What says where a call puts its result: the way of a value goes on with the way of its device."""
        if self.device == "":
            return None
        told = next((one.value for one in node.keywords if one.arg == "device"), None)
        if told is None and isinstance(node.func, ast.Attribute) and node.func.attr in MOVES and node.args:
            told = node.args[0]
        if told is None or isinstance(told, ast.Constant):
            return None
        found = _Way(self.sites, "").before(Link(How.PLACED, scope, told))
        if found is None or isinstance(scope.reader.value(told), torch.Tensor):
            return None
        return Link(How.PLACED, scope, told)

    # --- what fills a container ---

    def _filled(
        self, scope: Scope, is_container: IsTarget, variable: str, keys: tuple[Key, ...], value: ast.expr
    ) -> Link | None:
        """The element that was put into a container which was made without any on the device."""
        definition = scope.definition
        if definition is None or not holds_none_on(scope.reader, value, self.device):
            return None
        found = list(put_in(definition, is_container))
        if len(found) > 1:
            found = [one for one in found if may_be_on(scope.reader, one[0], self.device)]
        if not found:
            return None
        node, rest = found[0]
        return Link(How.APPENDED, scope, node, variable=variable, keys=(*rest, *keys[1:]))

    def _filled_attribute(self, owner: object, name: str, link: Link) -> Link | None:
        if not holds_none_on(link.scope.reader, link.node, self.device):
            return None
        for method in methods(type(owner)):
            inside = Scope.of(method, owner)
            definition = None if inside is None else inside.definition
            if inside is None or definition is None or not inside.parameters:
                continue
            own = inside.parameters[0]
            found = list(put_in(definition, is_attribute(own, name)))
            if len(found) == 1:
                node, rest = found[0]
                return Link(How.APPENDED, inside, node, variable=f"{own}.{name}", keys=(*rest, *link.keys[1:]))
        return None


def _is_update(scope: Scope, binding: Binding, own: str, name: str, device: str) -> bool:
    """Whether an assignment computes an attribute from its value before the method: it leaves the device as it was."""
    if isinstance(binding.statement, ast.AugAssign):
        return True
    part, is_target = core(scope.reader, binding.value, device), is_attribute(own, name)
    return part is not binding.value and is_target(part) and None in scope.reaching(is_target, part)


_PASS_ON: Final = frozenset(
    {nn.Module._call_impl.__name__, nn.Module._wrapped_call_impl.__name__, "_guarded_call", "decorate_context", "inner"}
)
"""Frames that hand all arguments on as they are."""


def _passed(
    scope: Scope, call: ast.Call, code: CodeType, name: str, keys: tuple[Key, ...], value: object
) -> Link | None:
    """What a call passes for a parameter, or for an element of the rest of its arguments."""
    given = given_by(call, code, name, keys)
    if given is None:
        return None
    return Link(How.PASSED, scope, given[0], variable=name, keys=given[1], value=UNKNOWN if given[1] else value)
