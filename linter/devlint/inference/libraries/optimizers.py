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
from devlint.inference.state.where import place_of_trained, stored
from devlint.inference.values.data import KEPT, Participant
from devlint.inference.values.devices import started
from devlint.inference.values.folding import truth
from devlint.inference.values.joins import join_all
from devlint.inference.values.objects import DICT, LIBRARY, Instance, library
from devlint.inference.values.tensors import Alternatives, Tensor, Tuple
from devlint.inference.values.terms import (
    NO_DEVICE,
    NONE,
    STATE,
    TRAINS,
    UNKNOWN,
    Root,
    Symbol,
    Value,
    constant,
)

OPTIMIZER: Final = "torch.optim.Optimizer"
SGD: Final = "torch.optim.SGD"
ADAGRAD: Final = "torch.optim.Adagrad"
KEEPING: Final = tuple(
    f"torch.optim.{name}"
    for name in "ASGD Adadelta Adafactor Adam AdamW Adamax Muon NAdam RAdam RMSprop Rprop SparseAdam".split()
)
"""Optimizers whose first step makes a state."""


@handles(SGD, ADAGRAD, *KEEPING)
def optimizer(call: CallSite) -> Value:
    """Return an optimizer. Adagrad makes its state at once, and SGD only keeps one if it has a momentum."""
    frame = call.frame
    made = frame.make(LIBRARY, call.span, library(call.name))
    found = owners(frame, call.argument(0, "params"))
    frame.heap.put(made, TRAINS, UNKNOWN if UNKNOWN in found else join_all(found))
    state: Value = NO_DEVICE
    if call.name == SGD:
        momentum = call.given(2, "momentum")
        state = NO_DEVICE if momentum is not None and truth(momentum) else UNKNOWN
    elif call.name == ADAGRAD:
        state = place_of_trained(frame, made)
    frame.heap.put(made, STATE, state)
    return made


def owners(frame: Frame, value: Value, depth: int = 0) -> list[Value]:
    """Return the modules of some parameters, which stand alone, in lists or in groups; UNKNOWN for any other value."""
    if isinstance(value, Tensor) and isinstance(value.owner, (Instance, Root, Symbol)):
        return [value.owner]
    if depth > 3:
        return [UNKNOWN]
    if isinstance(value, Instance) and value.kind == DICT:
        inner: tuple[Value, ...] = (get(frame, value, constant("params"), UNKNOWN),)
    elif isinstance(value, Alternatives):
        inner = value.options
    elif isinstance(value, (Instance, Tuple)):
        found = elements(frame, value)
        inner = (one_element(frame, value),) if found is None else found
    else:
        inner = ()
    return [each for one in inner for each in owners(frame, one, depth + 1)] or [UNKNOWN]


@handles(f"{OPTIMIZER}:step")
def step(call: CallSite) -> Value:
    """Change the parameters; the first step makes the state where they are."""
    frame, closure = call.frame, call.given(0, "closure")
    loss = NONE if closure is None else frame.engine.call(frame, closure, Arguments([], {}), call.span)
    state, now = stored(frame, call.receiver, STATE), place_of_trained(frame, call.receiver)
    both = [Participant("state", state, subject=call.receiver), Participant("parameters", now, subject=call.receiver)]
    require(frame, "step", both, call.span, KEPT)
    frame.heap.put(call.receiver, STATE, started(state, now))
    return loss


@handles(f"{OPTIMIZER}:load_state_dict")
def load_state(call: CallSite) -> Value:
    """Copy a state to the device of the parameters."""
    call.frame.heap.put(call.receiver, STATE, place_of_trained(call.frame, call.receiver))
    return NONE


@handles(f"{OPTIMIZER}:.state", f"{OPTIMIZER}:.param_groups", f"{OPTIMIZER}:add_param_group")
def hands_out(call: CallSite) -> Value:
    """Return what the optimizer keeps: whoever has it may move it."""
    forget_places(call.frame, call.receiver)
    return UNKNOWN
