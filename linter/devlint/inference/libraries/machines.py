"""CUDA devices, process groups and environment variables: what needs a device, what asks for one, what hides one."""

from __future__ import annotations

from typing import Final

from devlint.inference.libraries.python import AVAILABLE
from devlint.inference.libraries.signatures import apply as apply_signature
from devlint.inference.libraries.table import CallSite, handles
from devlint.inference.requirements.machines import CUDA, demand, need
from devlint.inference.state.containers import has
from devlint.inference.state.where import PROCESS_STATE
from devlint.inference.values.data import LOADED
from devlint.inference.values.folding import fold, truth
from devlint.inference.values.objects import LIBRARY, library
from devlint.inference.values.tensors import device
from devlint.inference.values.terms import CURRENT, NONE, RUNS_IF, TRUE, UNKNOWN, Constant, Value, constant

MAP_LOCATION: Final = constant("map_location")


def _by_signature(call: CallSite) -> Value:
    """Return the result of a function by its signature, as without a handler."""
    frame = call.frame
    forms = frame.engine.stubs.function(call.name)
    if not forms:
        return frame.unknown(call.name, call.span)
    return apply_signature(frame, frame.engine.stubs, call.name, forms, call.arguments, call.span)


@handles("torch.cuda.current_device", "torch.cuda.init", "torch.cuda.ipc_collect")
def needs_cuda(call: CallSite) -> Value:
    """Start CUDA on the current device."""
    need(call.frame, call.name, CUDA, call.span)
    return _by_signature(call)


@handles("torch.cuda.set_device", "torch.cuda.device")
def choose_device(call: CallSite) -> Value:
    """Choose a device; a negative number chooses none."""
    named = call.argument(0, "device")
    is_none = isinstance(named, Constant) and type(named.value) is int and named.value < 0
    if not is_none:
        need(call.frame, call.name, named, call.span)
        call.frame.engine.changes_current = True
        call.frame.heap.put(PROCESS_STATE, CURRENT, device("cuda"))
    return NONE if call.name.endswith("set_device") else UNKNOWN


@handles("torch.cuda.is_initialized", "torch.distributed.is_initialized", "torch.Tensor:is_pinned")
def only_beside_cuda(call: CallSite) -> Value:
    """Return a truth value that is False in some run on a machine without accelerators."""
    return fold("and", AVAILABLE, call.frame.unknown(call.name, call.span))


@handles("torch.distributed.is_available")
def is_built_in(call: CallSite) -> Value:
    """Return True: releases of PyTorch have process groups."""
    return TRUE


@handles("unittest.skipUnless", "unittest.skipIf", "pytest.mark.skipif")
def skip(call: CallSite) -> Value:
    """Return a decorator of tests that run under a condition."""
    frame, test = call.frame, call.argument(0, "condition")
    made = frame.make(LIBRARY, call.span, library(call.name))
    frame.heap.put(made, RUNS_IF, test if call.name.endswith("Unless") else fold("not", test))
    return made


@handles("torch.load", "torch.jit.load", "torch.hub.load_state_dict_from_url")
def load(call: CallSite) -> Value:
    """Return the content of a file; without `map_location`, it needs the devices of the tensors that were saved."""
    frame, row = call.frame, call.arguments.row
    if call.given(2 if call.name.endswith("url") else 1, "map_location") is None and call.arguments.spread is None:
        path = frame.path
        is_mapped = constant(False) if row is None else has(frame, row, MAP_LOCATION)
        if truth(is_mapped) is not True:
            frame.under(fold("not", is_mapped))
            demand(frame, LOADED, call.name, CUDA, call.span)
        frame.path = path
    return _by_signature(call)
