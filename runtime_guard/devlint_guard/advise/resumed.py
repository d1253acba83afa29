"""State of an optimizer that stayed where it was loaded or made when the module moved: the two lines, and their order.

`Optimizer.load_state_dict` puts state on the devices that the parameters have at that time, and a step creates state
there; a later move of the module takes no state along.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch
from torch import nn

from devlint_guard.advise.edits import preceded_by, statement_of
from devlint_guard.explain.cores import MOVES
from devlint_guard.explain.operands import Scene
from devlint_guard.finding import Change, Step
from devlint_guard.program.bindings import own_nodes
from devlint_guard.program.functions import Scope
from devlint_guard.program.naming import optimizers_in
from devlint_guard.program.stored import registered_in

MOVE_FIRST = "move the module before the optimizer is given its state, which stays where it is then"


def order_of(scene: Scene, parameter: torch.Tensor) -> tuple[tuple[Step, ...], tuple[Change, ...]]:
    """Where the optimizer of a parameter was given its state, and where its module was moved after that.

    Returns:
        the two lines, and the change that moves the module before the first of them; nothing where either is not found.
    """
    for site in scene.sites:
        scope = Scope.at(site) if site.is_user else None
        definition = None if scope is None else scope.definition
        if scope is None or definition is None:
            continue
        calls = [one for one in own_nodes(definition) if isinstance(one, ast.Call)]
        filled = [one for one in calls if _gives_state(scope, one, parameter)]
        moved = [one for one in calls if _moves(scope, one, parameter)]
        for call in filled:
            later = [one for one in moved if one.lineno > call.lineno]
            if later and not any(one.lineno < call.lineno for one in moved):
                steps = (
                    Step(f"is loaded by `{scope.source.of(call)}`", scope.place(call)),
                    Step(f"is left behind by `{scope.source.of(later[0])}`", scope.place(later[0])),
                )
                return steps, tuple(_moved_up(scope, later[0], call))
    return (), ()


def _gives_state(scope: Scope, call: ast.Call, parameter: torch.Tensor) -> bool:
    match call.func:
        case ast.Attribute(value=receiver, attr="load_state_dict"):
            owner = scope.reader.value(receiver)
            return isinstance(owner, torch.optim.Optimizer) and any(one is parameter for one in owner.state)
    return False


def _moves(scope: Scope, call: ast.Call, parameter: torch.Tensor) -> bool:
    match call.func:
        case ast.Attribute(value=receiver, attr=name) if name in MOVES:
            owner = scope.reader.value(receiver)
            return isinstance(owner, nn.Module) and any(one is parameter for one in registered_in(owner))
    return False


def _moved_up(scope: Scope, move: ast.Call, call: ast.Call) -> Iterator[Change]:
    """The move once more, before the line that gives the optimizer its state."""
    statement = statement_of(scope, move)
    if statement is not None and statement.end_lineno == statement.lineno:
        change = preceded_by(scope, call, scope.source.of(statement))
        if change is not None:
            yield change


def parameter_of(scene: Scene, state: object) -> torch.Tensor | None:
    """The parameter whose state, in an optimizer of a running function, a tensor is."""
    for optimizer in optimizers_in(site.frame for site in scene.sites):
        for parameter, values in optimizer.state.items():
            is_apart = isinstance(state, torch.Tensor) and parameter.device != state.device
            if is_apart and isinstance(values, dict) and any(one is state for one in values.values()):
                return parameter if isinstance(parameter, torch.Tensor) else None
    return None
