"""Optimizers: the modules that they train, and the state that they keep for the parameters.

A step makes the state where the parameters are. It stays there when the module moves, and the next step fails.
"""

from __future__ import annotations

from typing import Final

from devlint.inference.libraries.table import CallSite, handles
from devlint.inference.requirements.make import require
from devlint.inference.state.containers import elements, get, one_element
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.moves import forget_places
from devlint.inference.state.where import stored
from devlint.inference.values.data import KEPT, Participant
from devlint.inference.values.folding import fold, truth
from devlint.inference.values.joins import join_all
from devlint.inference.values.objects import DICT, LIBRARY, Instance, library
from devlint.inference.values.tensors import Tensor, Tuple
from devlint.inference.values.terms import NO_DEVICE, NONE, STATE, TRAINED, UNKNOWN, Root, Symbol, Value, constant

OPTIMIZER: Final = "torch.optim.Optimizer"
SGD: Final = "torch.optim.SGD"
ADAGRAD: Final = "torch.optim.Adagrad"
OTHERS: Final = "ASGD Adadelta Adafactor Adam AdamW Adamax Muon NAdam RAdam RMSprop Rprop SparseAdam".split()
"""Optimizers whose first step makes a state."""


@handles(SGD, ADAGRAD, *[f"torch.optim.{name}" for name in OTHERS])
def optimizer(call: CallSite) -> Value:
    """Return an optimizer. Adagrad makes its state at once, and SGD only keeps one if it has a momentum."""
    heap, momentum = call.frame.heap, call.given(2, "momentum")
    made = call.frame.make(LIBRARY, call.span, library(call.name))
    found = owners(call.frame, call.argument(0, "params"))
    heap.put(made, TRAINED, UNKNOWN if UNKNOWN in found else join_all(found))
    keeps = call.name != SGD or (momentum is not None and truth(momentum) is True)
    at_once = stored(call.frame, made, TRAINED) if call.name == ADAGRAD else NO_DEVICE
    heap.put(made, STATE, at_once if keeps else UNKNOWN)
    return made


def owners(frame: Frame, value: Value, depth: int = 0) -> list[Value]:
    """Return the modules of some parameters, which stand alone, in lists or in groups; UNKNOWN for any other value."""
    if isinstance(value, Tensor) and isinstance(value.owner, (Instance, Root, Symbol)):
        return [value.owner]
    inner: tuple[Value, ...] = ()
    if isinstance(value, Instance) and value.kind == DICT:
        inner = (get(frame, value, constant("params"), UNKNOWN),)
    elif isinstance(value, (Instance, Tuple)) and depth < 4:
        inner = elements(frame, value) or (one_element(frame, value),)
    return [each for one in inner for each in owners(frame, one, depth + 1)] or [UNKNOWN]


@handles(f"{OPTIMIZER}:step")
def step(call: CallSite) -> Value:
    """Change the parameters; the first step makes the state where they are."""
    frame, closure = call.frame, call.given(0, "closure")
    loss = NONE if closure is None else frame.engine.call(frame, closure, Arguments([], {}), call.span)
    state, now = stored(frame, call.receiver, STATE), stored(frame, call.receiver, TRAINED)
    require(frame, "step", [Participant("state", state), Participant("parameters", now)], call.span, KEPT)
    frame.heap.put(call.receiver, STATE, fold("started", state, now))
    return loss


@handles(f"{OPTIMIZER}:load_state_dict")
def load_state(call: CallSite) -> Value:
    """Copy a state to the device of the parameters."""
    call.frame.heap.put(call.receiver, STATE, stored(call.frame, call.receiver, TRAINED))
    return NONE


@handles(f"{OPTIMIZER}:.state", f"{OPTIMIZER}:.param_groups", f"{OPTIMIZER}:add_param_group")
def hands_out(call: CallSite) -> Value:
    """Return the state of the optimizer; its new owner may move it."""
    forget_places(call.frame, call.receiver)
    return UNKNOWN
