"""A module that was left behind: which one, and the line that moves it where it is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from devlint_guard.advise.astray import Astray
from devlint_guard.advise.device_expressions import device_at
from devlint_guard.advise.edits import preceded_by, surrounded
from devlint_guard.finding import Advice, Step
from devlint_guard.program import naming
from devlint_guard.program.bindings import bindings, is_name
from devlint_guard.program.frames import Site, node_at
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import dictionary_of, modules_in, parts_of, registered_in

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
    for holder in _holders(astray, module):
        if not holder.is_given:
            text = f"{holder.name}.to({device_at(holder.scope, holder.use, astray.device, astray.other)})"
            change = preceded_by(holder.scope, holder.use, text)
            if change is not None:
                yield Advice(_MOVE, (change,))
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
        is_given: it is a parameter, so the caller has it too.
    """

    scope: Scope
    name: str
    module: nn.Module
    use: ast.expr
    is_given: bool = False


def _holders(astray: Astray, module: nn.Module) -> Iterator[_Holder]:
    """The outermost running function first, and the outermost module of each that is there as a whole."""
    device = astray.met.operand.device.partition(" and ")[0]
    for site in astray.scene.sites:
        for one in _holders_at(astray, site, module) if site.is_user else ():
            if one.module is module or {str(tensor.device) for tensor in registered_in(one.module)} == {device}:
                yield one


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
                yield _Holder(scope, name, value, use, reached == [None])
    for name, value in scope.names.items():
        for key, part in parts_of(value).items():
            if isinstance(part, nn.Module) and any(one is module for one in modules_in(part)):
                yield _Holder(scope, f"{name}.{key}", part, use)


def _inside(value: object) -> Iterator[nn.Module]:
    yield from modules_in(value) if isinstance(value, nn.Module) else ()


def _call_at(site: Site) -> ast.expr | None:
    node = node_at(site)
    return node if isinstance(node, ast.expr) else getattr(node, "value", None)


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
