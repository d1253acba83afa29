"""A parameter or buffer that was replaced after its module had moved: the line that replaces it, and its mending.

No later `.to()` reaches the new tensor, so the module is right where it is and only that line is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import torch
from torch import nn

from devlint_guard.advise.astray import Astray
from devlint_guard.advise.edits import followed_by, with_keyword
from devlint_guard.explain.assignments import ended
from devlint_guard.explain.cores import MOVES, unwrapped
from devlint_guard.explain.links import Link
from devlint_guard.explain.trail import assigned_attribute, way_of
from devlint_guard.finding import Advice, Change
from devlint_guard.program.bindings import bindings, own_nodes
from devlint_guard.program.frames import Site
from devlint_guard.program.functions import Scope
from devlint_guard.program.stored import modules_in, registered_in, table_of


def mends_of_replaced(astray: Astray, module: nn.Module) -> Iterator[Advice]:
    """The line that replaced a tensor of a module creates the new one where the old one was."""
    device = astray.met.operand.device.partition(" and ")[0]
    for holder, name, tensor in _entries(astray, module, device):
        link = assigned_attribute(astray.scene.sites, holder, name, tensor, device)
        if link is None or link.scope.code.co_name == "__init__":
            continue
        is_split = any(str(one.device) == astray.device for one in registered_in(module))
        if is_split or _is_moved(astray.scene.sites, holder):
            change = _created_beside(astray.scene.sites, link, device)
            if change is not None:
                yield Advice("create it where the tensor was that it replaces", (change,), link.step)


def _entries(astray: Astray, module: nn.Module, device: str) -> Iterator[tuple[nn.Module, str, torch.Tensor]]:
    """The tensors to look at, each with the module that registers it and its name there."""
    for holder in modules_in(module):
        for table in ("_parameters", "_buffers"):
            for name, tensor in table_of(holder, table):
                if isinstance(tensor, torch.Tensor) and str(tensor.device) == device and _is_meant(astray, tensor):
                    yield holder, name, tensor


def _is_meant(astray: Astray, tensor: torch.Tensor) -> bool:
    wanted = astray.met.tensor if isinstance(astray.met.value, nn.Module) else astray.met.value
    return wanted is None or wanted is tensor


def _created_beside(sites: Sequence[Site], link: Link, device: str) -> Change | None:
    old = f"{link.variable}.device"
    for one in reversed(way_of(sites, link, device)):
        call = one.core(device)
        made = one.scope.reader.creates(call) if isinstance(call, ast.Call) else ""
        if made and isinstance(call, ast.Call) and one.scope.code is link.scope.code:
            if made == "keyword":
                return with_keyword(one.scope, call, "device", old)
            return followed_by(one.scope, call, f".to({old})")
    return followed_by(link.scope, unwrapped(link.scope.reader, link.node), f".to({old})")


def _is_moved(sites: Sequence[Site], module: nn.Module) -> bool:
    """Whether a function that runs, or one that it has called, moves a module or one that holds it."""
    running = (scope for site in sites if site.is_user and (scope := Scope.at(site)) is not None)
    return any(_moves(scope, module) for scope in (*running, *ended(sites)))


def _moves(scope: Scope, module: nn.Module) -> bool:
    for node in own_nodes(scope.definition) if scope.definition is not None else ():
        match node:
            case ast.Call(func=ast.Attribute(value=receiver, attr=attr)) if attr in MOVES:
                if _holds(scope.reader.value(receiver), module):
                    return True
    for _, target, value in bindings(scope.definition) if scope.definition is not None else ():
        match value:
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in MOVES:
                if _holds(scope.reader.value(target), module):
                    return True
    return False


def _holds(value: object, module: nn.Module) -> bool:
    return isinstance(value, nn.Module) and any(one is module for one in modules_in(value))
