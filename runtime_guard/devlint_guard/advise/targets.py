"""How a line of the user's source can name a device: by a variable that holds it, or by something that is on it.

An expression is offered only if each name in it is bound when the line is reached, and if its value, where the function
still runs, is the device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch
from torch import nn

from devlint_guard.program.bindings import is_name
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import UNKNOWN, device_of_part, devices_of, dictionary_of


def device_at(
    scope: Scope,
    node: ast.expr | ast.stmt,
    device: str,
    other: ast.expr | None = None,
) -> str:
    """The best expression for a device on a line; its name in quotes if nothing on that line tells it.

    Args:
        scope: what the line is in.
        node: on the line.
        device: it.
        other: a value that is on the device, if it is of this scope.
    """
    return next(devices_at(scope, node, device, other), f'"{device}"')


def devices_at(
    scope: Scope,
    node: ast.expr | ast.stmt,
    device: str,
    other: ast.expr | None = None,
) -> Iterator[str]:
    """The expressions for a device on a line, the best first."""
    names = dict(_known(scope, node))
    tensors = [name for name, value in names.items() if _is_on(value, device)]
    own = _text_of_other(scope, node, other, device)
    variables = list(_variables(names, device))
    # In a method of a module, a device that was noted once may be that of before the last move.
    inside = isinstance(names.get("self"), nn.Module)
    if own and inside:
        yield own
    yield from (f"{name}.device" for name in tensors if inside)
    yield from variables
    if own:
        yield own
    yield from (f"{name}.device" for name in tensors)
    for name, value in sorted(names.items(), key=lambda item: item[0] != "self"):
        if isinstance(value, nn.Module):
            if devices_of(value) == [device]:
                yield from filter(None, [device_of_part(name, value)])
        elif not isinstance(value, type):
            for key, part in dictionary_of(value).items():
                if not isinstance(part, nn.Module) or devices_of(part) != [device]:
                    continue
                yield from filter(None, [device_of_part(f"{name}.{key}", part)])


def _known(scope: Scope, node: ast.expr | ast.stmt) -> Iterator[tuple[str, object]]:
    """The variables that are bound when a line is reached, the nearest first."""
    definition = scope.definition
    before = node if isinstance(node, ast.expr) else ast.copy_location(ast.Name(""), node)
    for name, value in scope.names.items():
        if name.startswith("__"):
            continue
        reached = scope.reaching(is_name(name), before)
        later = list(_targets_after(definition, name, before)) if definition is not None else []
        if reached and (None not in reached or name in scope.parameters) and not later:
            yield name, value
    if not scope.is_module:
        local = set(scope.code.co_varnames)
        yield from (
            (name, value)
            for name, value in scope.more_names.items()
            if not name.startswith("__")
            and name not in local
            and isinstance(value, (str, torch.device, torch.Tensor, nn.Module))
        )


def _targets_after(definition: ast.AST, name: str, before: ast.expr) -> Iterator[ast.Name]:
    """Where a variable is bound again from this line on: its value then is not the one that it has now."""
    for one in ast.walk(definition):
        match one:
            case ast.Name(id=found, ctx=ast.Store(), lineno=line) if found == name and line >= before.lineno:
                yield one


def _text_of_other(scope: Scope, node: ast.expr | ast.stmt, other: ast.expr | None, device: str) -> str:
    if not isinstance(other, (ast.Name, ast.Attribute)):
        return ""
    value = scope.reader.value(other)
    text = scope.source.of(other)
    base: ast.expr = other
    while isinstance(base, ast.Attribute):
        base = base.value
    bound = isinstance(base, ast.Name) and any(name == base.id for name, _ in _known(scope, node))
    if isinstance(value, nn.Module):
        return device_of_part(text, value) if bound and devices_of(value) == [device] else ""
    return f"{text}.device" if bound and _is_on(value, device) else ""


def _variables(names: dict[str, object], device: str) -> Iterator[str]:
    for name, value in names.items():
        if names_device(value, device):
            yield name
    for name, value in names.items():
        if isinstance(value, (torch.Tensor, type)):
            continue
        if _keeps_its_device(value):
            yield f"{name}.device"
            continue
        for key, part in dictionary_of(value).items():
            if names_device(part, device) and not key.startswith("_"):
                yield f"{name}.{key}"


def _keeps_its_device(value: object) -> bool:
    """Whether a module has Lightning's `device`, which is always where the module is; by now it may have been moved."""
    found = getattr(type(value), "device", None)
    return isinstance(found, property) and "lightning" in getattr(found.fget, "__module__", "")


def names_device(value: object, device: str) -> bool:
    """Whether a value names a device; `cuda` is the current one."""
    if not isinstance(value, (str, torch.device)) or not str(value).startswith(("cpu", "cuda", "mps", "xpu")):
        return False
    try:
        named = torch.device(value)
    except RuntimeError:
        return False
    if named.index is None and named.type == "cuda" and torch.cuda.is_initialized():
        named = torch.device("cuda", torch.cuda.current_device())
    return str(named) == device


def _is_on(value: object, device: str) -> bool:
    return value is not UNKNOWN and isinstance(value, torch.Tensor) and str(value.device) == device
