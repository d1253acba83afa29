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
from devlint_guard.program.stored import device_of_part, devices_of
from devlint_guard.record.stacks import devices_in


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
    own = _text_of_other(scope, other, device, names)
    found = [text for text, named in devices_in(names).items() if named == device]
    # In a method of a module, a device that was noted once may be that of before the last move.
    is_first = isinstance(names.get("self"), nn.Module) or not found or found[0].endswith(".device")
    yield from filter(None, [own, *found] if is_first else [*found[:1], own, *found[1:]])


def _known(scope: Scope, node: ast.expr | ast.stmt) -> Iterator[tuple[str, object]]:
    """The variables that are bound when a line is reached, the nearest first."""
    names = (one for one in ast.walk(scope.definition) if isinstance(one, ast.Name))
    targets = [one for one in names if isinstance(one.ctx, ast.Store)]
    before = node if isinstance(node, ast.expr) else ast.copy_location(ast.Name(""), node)
    for name, value in scope.names.items():
        reached = scope.reaching(is_name(name), before)
        # Where it is bound again from this line on, its value then is not the one that it has now.
        stores = (one for one in targets if one.id == name and one.lineno >= before.lineno)
        is_given = name in scope.parameters or name in scope.code.co_freevars
        if reached and (None not in reached or is_given) and not any(True for _ in stores):
            yield name, value
    for name, value in scope.more_names.items() if not scope.is_module else ():
        if name not in scope.code.co_varnames and isinstance(value, (str, torch.device, torch.Tensor, nn.Module)):
            yield name, value


def _text_of_other(scope: Scope, other: ast.expr | None, device: str, names: dict[str, object]) -> str:
    """The device of the value that is on it; empty where a name in it is not bound."""
    if not isinstance(other, (ast.Name, ast.Attribute)):
        return ""
    value, text = scope.reader.value(other), scope.source.of(other)
    if text.partition(".")[0] not in names:
        return ""
    if isinstance(value, nn.Module):
        return device_of_part(text, value) if devices_of(value) == [device] else ""
    return f"{text}.device" if isinstance(value, torch.Tensor) and str(value.device) == device else ""
