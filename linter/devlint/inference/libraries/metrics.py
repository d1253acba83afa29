"""Metrics of torchmetrics: modules whose state takes inputs from its own device.

A state on a GPU also takes inputs on the CPU, because most of what is added to it is 0-dim.
"""

from __future__ import annotations

from typing import Final

from devlint.inference.libraries.table import CallSite, handles
from devlint.inference.requirements.causes import STATE
from devlint.inference.requirements.make import participant, require
from devlint.inference.state.where import device_of_module, source_of
from devlint.inference.values.data import MODULE, ON_CPU, Participant
from devlint.inference.values.objects import library
from devlint.inference.values.tensors import pack
from devlint.inference.values.terms import NONE, POSITIVE, UNKNOWN, Value, constant

METRIC: Final = "torchmetrics._Metric"


@handles(f"{METRIC}:update", f"{METRIC}:forward", f"{METRIC}:__call__")
def update(call: CallSite) -> Value:
    """Add inputs to the state."""
    frame, metric = call.frame, call.receiver
    how = pack(library(METRIC), NONE, STATE)
    where, source = device_of_module(frame, metric), source_of(frame, metric)
    state = Participant(MODULE, where, POSITIVE, source, subject=metric, kept=how)
    for each in call.arguments.values():
        given = participant(frame, each, ON_CPU)._replace(rank=constant(0))
        require(frame, call.name, [state, given], call.span)
    return UNKNOWN
