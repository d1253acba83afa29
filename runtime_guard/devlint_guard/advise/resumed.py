"""State of an optimizer that stayed where it was when the module moved: the two lines, and their order.

`Optimizer.load_state_dict` puts state on the devices that the parameters have at that time, and a step creates state
there; a later move of the module takes no state along.
"""

from __future__ import annotations

import torch

from devlint_guard.advise.edits import preceded_by
from devlint_guard.explain.cause import said_of
from devlint_guard.explain.operands import Scene
from devlint_guard.finding import Changes, Step
from devlint_guard.program import naming
from devlint_guard.program.functions import Scope
from devlint_guard.record.recorder import RECORD

MOVE_FIRST = "move the module before the optimizer is given its state, which stays where it is then"


def order_of(scene: Scene, parameter: torch.Tensor | None, state: object) -> tuple[tuple[Step, ...], Changes] | None:
    """Where an optimizer got state, and where the module of the parameter was moved after that, as recorded.

    Returns:
        the two lines, and the change that moves the module before the first of them, if both are of one function; None
        if the state was made after the last move.
    """
    event = RECORD.of(state) if isinstance(state, torch.Tensor) else None
    holder = None if parameter is None else naming.holder_of(parameter, scene.roots)
    if event is None or holder is None or not event.stack:
        return (), ()
    moves = [one for one in RECORD.moves_of(holder) if one.number > event.number and one.stack]
    if not moves:
        return None if RECORD.moves_of(holder) else ((), ())
    made, moved = event.stack[0], moves[0].stack[0]
    steps = (*said_of(event, "is put there by"), *said_of(moves[0], "is left behind by"))
    statement, source = moved.statement, moved.source
    if made.code is not moved.code or made.node is None or statement is None or source is None:
        return steps, ()
    is_short = statement.end_lineno == statement.lineno
    return steps, preceded_by(Scope(source, made.code), made.node, source.of(statement)) if is_short else ()


def parameter_of(scene: Scene, state: object) -> torch.Tensor | None:
    """The parameter whose state, in an optimizer of a running function, a tensor is."""
    for optimizer in naming.optimizers_in(site.frame for site in scene.sites):
        for parameter, values in optimizer.state.items():
            is_apart = isinstance(state, torch.Tensor) and parameter.device != state.device
            if is_apart and isinstance(values, dict) and any(one is state for one in values.values()):
                return parameter if isinstance(parameter, torch.Tensor) else None
    return None
