"""A module that was left behind: which one, where it was made, and the line that moves it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from devlint_guard.advise.astray import Astray
from devlint_guard.advise.edits import followed_by, preceded_by, surrounded
from devlint_guard.advise.targets import device_at, devices_at
from devlint_guard.explain.cores import MOVES
from devlint_guard.explain.links import Link, shortened
from devlint_guard.explain.trail import assigned_attribute, of_global
from devlint_guard.finding import Advice, Step
from devlint_guard.program import naming
from devlint_guard.program.bindings import Binding, bindings, is_name, own_nodes
from devlint_guard.program.frames import Site, node_at
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import devices_of, dictionary_of, modules_in, parts_of, registered_in

_MOVE = "move the module to where its input is"


def module_of(astray: Astray) -> nn.Module | None:
    """The module that was left behind with the value: itself, or the one that registers it."""
    value = astray.met.value
    if isinstance(value, nn.Module):
        return value
    tensor = tensor_of(astray)
    return None if tensor is None else naming.holder_of(tensor, astray.scene.roots)


def tensor_of(astray: Astray) -> torch.Tensor | None:
    """The tensor that the value is, or that it was taken from on the failing line."""
    part = astray.links[0].tensor(astray.met.operand.device) if astray.links else None
    value = astray.met.value if part is None else part
    return value if isinstance(value, torch.Tensor) and astray.links else None


def moves_of(astray: Astray, module: nn.Module) -> Iterator[Advice]:
    """The lines that may move a module, the best first."""
    if "[" in naming.module_path(module, astray.scene.roots):
        yield from kept_in_container(astray, module)
    for holder in _holders(astray, module):
        yield from _moved_where_made(astray, holder)
    yield from _of_file(astray, module)
    for holder in _holders(astray, module):
        if not holder.is_given:
            text = f"{holder.name}.to({device_at(holder.scope, holder.use, astray.device, astray.other)})"
            change = preceded_by(holder.scope, holder.use, text)
            if change is not None:
                yield Advice(_MOVE, (change,), _told(_made(astray, holder)))
    yield from _where_it_is_used(astray, module)


def _where_it_is_used(astray: Astray, module: nn.Module) -> Iterator[Advice]:
    """The expression of the failing line that stands for the module is moved before that line."""
    link = astray.links[0] if astray.links else None
    if link is None or link.scope.reader.value(link.node) is not module:
        return
    if isinstance(link.node, (ast.Name, ast.Attribute, ast.Subscript)) and link.text != "self":
        text = f"{link.text}.to({device_at(link.scope, link.node, astray.device, astray.other)})"
        change = preceded_by(link.scope, link.node, text)
        if change is not None:
            yield Advice(_MOVE, (change,))


@dataclass(frozen=True, slots=True)
class _Holder:
    """A variable of a running function, or an attribute of one, with a module that holds the one to move.

    Attributes:
        use: where the function uses it.
        owner: the object whose attribute it is; None for a variable.
        is_given: it is a parameter, so the caller has it too.
        is_split: some of its tensors are where they are needed.
    """

    scope: Scope
    name: str
    module: nn.Module
    use: ast.expr
    owner: object = None
    is_given: bool = False
    is_split: bool = False


def _holders(astray: Astray, module: nn.Module) -> Iterator[_Holder]:
    """The outermost running function first, and the outermost module of each; those that are split come last."""
    found = [one for site in astray.scene.sites if site.is_user for one in _holders_at(astray, site, module)]
    device = astray.met.operand.device.partition(" and ")[0]
    split = []
    for one in found:
        devices = {str(tensor.device) for tensor in registered_in(one.module)}
        if devices == {device} or one.module is module:
            yield one
        elif device == "cpu" and devices == {device, astray.device}:
            split.append(one)
    yield from (_Holder(one.scope, one.name, one.module, one.use, one.owner, one.is_given, True) for one in split)


def _holders_at(astray: Astray, site: Site, module: nn.Module) -> Iterator[_Holder]:
    scope = Scope.at(site)
    use = astray.links[0].node if astray.links and site is astray.scene.user else _call_at(site)
    if scope is None or use is None or scope.definition is None:
        return
    by_size = sorted(scope.names.items(), key=lambda one: -len(list(_inside(one[1]))))
    for name, value in by_size:
        if isinstance(value, nn.Module) and name != "self" and any(one is module for one in modules_in(value)):
            reached = scope.reaching(is_name(name), use)
            if reached:
                yield _Holder(scope, name, value, use, None, reached == [None])
    for name, value in scope.names.items():
        if not name.startswith("__"):
            for key, part in parts_of(value).items():
                if isinstance(part, nn.Module) and any(one is module for one in modules_in(part)):
                    yield _Holder(scope, f"{name}.{key}", part, use, value)


def _inside(value: object) -> Iterator[nn.Module]:
    yield from modules_in(value) if isinstance(value, nn.Module) else ()


def _call_at(site: Site) -> ast.expr | None:
    node = node_at(site)
    return node if isinstance(node, ast.expr) else getattr(node, "value", None)


# --- where it was made --------------------------------------------------------------------------------------


def _made(astray: Astray, holder: _Holder) -> tuple[Scope, ast.expr, str] | None:
    """The expression that made a module, and what the module is called there."""
    if holder.owner is not None:
        link = assigned_attribute(astray.scene.sites, holder.owner, holder.name.partition(".")[2], holder.module)
        return None if link is None or link.keys else (link.scope, link.node, link.variable)
    made: Binding | None = None
    uses, seen = [holder.use], set[int]()
    while uses and made is None:
        use = uses.pop()
        seen.add(id(use))
        reached = [one for one in holder.scope.reaching(is_name(holder.name), use) if one is not None]
        made = next((one for one in reached[::-1] if _may_make(holder, one.value)), None)
        uses += [one.value for one in reached if _is_same(holder, one.value) and id(one.value) not in seen]
    if made is None or made.keys or not isinstance(made.statement, ast.Assign):
        return None
    return holder.scope, made.value, holder.name


def _is_same(holder: _Holder, value: ast.expr) -> bool:
    """Whether an expression is a method call on the variable itself, `net.train()`."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name == holder.name
    return False


def _may_make(holder: _Holder, value: ast.expr) -> bool:
    """Whether an expression may be the one that made a module: a call of another class is not."""
    if _is_same(holder, value):
        return False
    kind = holder.scope.reader.value(value.func) if isinstance(value, ast.Call) else None
    return not isinstance(kind, type) or kind is type(holder.module)


def _moved_where_made(astray: Astray, holder: _Holder) -> Iterator[Advice]:
    """The line that makes a module moves it too, if nothing has moved it since, and its device is known there."""
    made = _made(astray, holder)
    if made is None or not isinstance(made[1], ast.Call):
        return
    scope, node, _ = made
    if isinstance(holder.owner, nn.Module) and scope.site is None:
        return  # the constructor of a module is not where its parts are moved
    if holder.is_split and _is_moved_after(scope, holder):
        return
    device = next(devices_at(scope, node, astray.device), "" if scope.site is None else f'"{astray.device}"')
    change = followed_by(scope, node, f".to({device})") if device else None
    if change is not None:
        yield Advice(_MOVE, (change,), _told(made))


def _is_moved_after(scope: Scope, holder: _Holder) -> bool:
    """Whether the function that makes a module moves it, on the same line or later."""
    for node in own_nodes(scope.definition) if scope.definition is not None else ():
        match node:
            case ast.Call(func=ast.Attribute(value=receiver, attr=name)) if name in MOVES:
                held = scope.reader.value(receiver)
                if held is holder.module or any(isinstance(one, ast.Call) for one in ast.walk(receiver)):
                    return True
    return False


def _told(made: tuple[Scope, ast.expr, str] | None) -> Step | None:
    if made is None:
        return None
    scope, node, name = made
    return Step(f"is part of `{name}`, made by `{shortened(scope.source.of(node))}`", scope.place(node))


def _of_file(astray: Astray, module: nn.Module) -> Iterator[Advice]:
    """A module that a variable of the file holds is moved on the line that makes it."""
    scope = None if astray.scene.user is None else Scope.at(astray.scene.user)
    for name, value in scope.more_names.items() if scope is not None and not scope.is_module else ():
        device = astray.met.operand.device.partition(" and ")[0]
        if isinstance(value, nn.Module) and devices_of(value) == [device] and module in list(modules_in(value)):
            assert scope is not None
            link: Link | None = of_global(scope, name)
            if link is not None and isinstance(link.node, ast.Call):
                change = followed_by(link.scope, link.node, f".to({device_at(link.scope, link.node, astray.device)})")
                if change is not None:
                    told = Step(f"is part of `{name}`, made by `{link.text}`", link.scope.place(link.node))
                    yield Advice(_MOVE, (change,), told)


# --- in a list or dict --------------------------------------------------------------------------------------


def kept_in_container(astray: Astray, item: nn.Module | torch.Tensor) -> Iterator[Advice]:
    """The plain list or dict of modules or parameters becomes one that moves with the module that holds it."""
    for root in astray.scene.roots.values():
        for _, holder in naming.paths_of_modules(root, ""):
            for key, value in dictionary_of(holder).items():
                if not key.startswith("_") and any(_is_part(item, one) for one in _elements_in(value)):
                    yield from _wrapped(holder, key, value)


def _elements_in(container: object) -> list[object]:
    """The elements of a container, and of those in it."""
    inside = list(container.values()) if isinstance(container, dict) else container
    if not isinstance(inside, (list, tuple)):
        return []
    return [*inside, *(part for one in inside for part in _elements_in(one))]


def _is_part(item: nn.Module | torch.Tensor, element: object) -> bool:
    return element is item or (isinstance(element, nn.Module) and any(one is item for one in modules_in(element)))


def _kind_for(container: object) -> str:
    """The class of torch.nn that holds the same elements and registers them; empty where there is none."""
    elements = list(container.values()) if isinstance(container, dict) else container
    if not isinstance(elements, (list, tuple)) or not elements:
        return ""
    if isinstance(container, dict) and not all(isinstance(key, str) for key in container):
        return ""
    for kind, name in ((nn.Module, "Module"), (nn.Parameter, "Parameter")):
        if all(isinstance(one, kind) for one in elements):
            return f"{name}{'Dict' if isinstance(container, dict) else 'List'}"
    return ""


def _wrapped(holder: nn.Module, key: str, value: object) -> Iterator[Advice]:
    kind, inner = _kind_for(value), ""
    if not kind and isinstance(value, (list, tuple)) and len(kinds := {_kind_for(one) for one in value}) == 1:
        kind, inner = "ModuleList", kinds.pop()
    if not kind or (inner == "" and kind != _kind_for(value)):
        return
    for function in (one for base in type(holder).__mro__ for one in vars(base).values() if hasattr(one, "__code__")):
        inside = Scope.of(function, holder)
        definition = None if inside is None else inside.definition
        if inside is None or definition is None:
            continue
        name = name_of_torch_nn(inside)
        for _, target, assigned in bindings(definition):
            if isinstance(target, ast.Attribute) and target.attr == key and name:
                before = f"{name}.{kind}({f'{name}.{inner}(one) for one in ' if inner else ''}"
                changes = surrounded(inside, assigned, before, ")")
                if changes:
                    what = "parameters" if kind.startswith("Parameter") else "modules"
                    text = f"keep the {what} in `nn.{kind}`, so that they move with the module that holds them"
                    told = f"is kept in `self.{key}`, a Python {type(value).__name__}"
                    yield Advice(text, changes, Step(told, inside.place(assigned)))


def name_of_torch_nn(scope: Scope) -> str:
    """What the file calls `torch.nn`."""
    for name, value in scope.more_names.items():
        if value is nn:
            return name
    return next((f"{name}.nn" for name, value in scope.more_names.items() if value is torch), "")
