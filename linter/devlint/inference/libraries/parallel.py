"""Wrappers of modules: `DataParallel` copies its module to several devices, `DistributedDataParallel` has one.

A wrapper keeps the device on which it looks for its module, WORKS_ON, and the device of its results, RETURNS_ON. What
it asks for are requirements between its module and the devices of its ids. An argument that names no device at all,
such as an empty list of ids, is NOWHERE.
"""

from __future__ import annotations

from typing import Final

from devlint.frontend import ir
from devlint.inference.libraries.process_groups import require_sent
from devlint.inference.libraries.python import ACCELERATORS
from devlint.inference.libraries.table import CallSite, handles
from devlint.inference.requirements.make import require
from devlint.inference.state.containers import elements
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.moves import moved, scattered
from devlint.inference.state.where import (
    device_of_module,
    is_module,
    parts_of,
    source_of,
    stored,
)
from devlint.inference.values.data import MODULE, TENSOR, WRAPPED, Participant
from devlint.inference.values.devices import ANY_CUDA, by_type, denoted
from devlint.inference.values.folding import fold, truth
from devlint.inference.values.objects import MODULE as MODULE_KIND
from devlint.inference.values.objects import Instance, library
from devlint.inference.values.tensors import Tensor, Tuple, device
from devlint.inference.values.terms import (
    FIRST,
    NO_DEVICE,
    NONE,
    POSITIVE,
    RETURNS_ON,
    UNKNOWN,
    WORKS_ON,
    Constant,
    Value,
    attribute,
    constant,
)

DATA_PARALLEL: Final = "torch.nn.DataParallel"
DISTRIBUTED: Final = "torch.nn.parallel.DistributedDataParallel"
NOWHERE: Final = device("nowhere")
CUDA: Final = device("cuda:0")
SEVERAL: Final = fold(">", ACCELERATORS, constant(1))


def ids_of(frame: Frame, given: Value) -> list[Value] | None:
    """Return the devices that a list of ids names; None if their number is unknown."""
    if isinstance(given, Constant):
        return [NOWHERE]
    found = elements(frame, given)
    if found is None:
        return None
    named = [denoted(each, UNKNOWN) for each in found]
    known = [each for each in named if each is not UNKNOWN]
    return [NOWHERE] if not named or len(set(known)) < len(known) else named


def first_of(frame: Frame, given: Value, ids: list[Value] | None) -> Value:
    """Return the first device of a list of ids."""
    if ids is None:
        first = frame.heap.get(given, FIRST)
        return UNKNOWN if first is None else denoted(first, UNKNOWN)
    return UNKNOWN if NOWHERE in ids else ids[0]


def asks(call: CallSite, role: str, where: Value, needed: Value) -> None:
    """Record that something is on the device that a wrapper needs."""
    name = (call.of or call.name).rpartition(".")[2]
    require(call.frame, name, [Participant(role, where), Participant("wrapper", needed)], call.span, WRAPPED)


def asks_module(call: CallSite, module: Value, needed: Value) -> None:
    """Record that a module is on the device that its wrapper needs."""
    frame, name = call.frame, (call.of or call.name).rpartition(".")[2]
    own = Participant(MODULE, device_of_module(frame, module), POSITIVE, source_of(frame, module), subject=module)
    require(frame, name, [own, Participant("wrapper", needed)], call.span, WRAPPED)


def wrapper(call: CallSite) -> Instance:
    """Return a new wrapper of the first argument."""
    made = call.frame.make(MODULE_KIND, call.span, library(call.name))
    call.frame.heap.put(made, attribute("module"), call.argument(0, "module"))
    return made


# --- DataParallel ---------------------------------------------------------------------------------------------


@handles(DATA_PARALLEL)
def data_parallel(call: CallSite) -> Value:
    """Return a `DataParallel`. With one id it moves its module; without ids it has all devices of the machine."""
    frame, made = call.frame, wrapper(call)
    given, output = call.given(1, "device_ids") or NONE, call.given(2, "output_device") or NONE
    ids = None if given is NONE else ids_of(frame, given)
    for each in ids or ():
        asks(call, "device id", by_type(each), ANY_CUDA)
    works_on = fold("ite", SEVERAL, CUDA, NO_DEVICE) if given is NONE else first_of(frame, given, ids)
    returns_on = denoted(output, works_on)
    if output is not NONE:
        asks(call, "output device", by_type(returns_on), ANY_CUDA)
    if ids is not None and len(ids) == 1:
        moved(frame, call.argument(0, "module"), works_on, frame.source())
        returns_on = NO_DEVICE
    frame.heap.put(made, WORKS_ON, works_on)
    frame.heap.put(made, RETURNS_ON, returns_on)
    return made


@handles(f"{DATA_PARALLEL}:__call__", f"{DATA_PARALLEL}:forward")
def call_data_parallel(call: CallSite) -> Value:
    """Call the module with the inputs on its device, and gather the results."""
    frame = call.frame
    module = frame.engine.read(frame, call.receiver, "module", call.span)
    works_on, returns_on = stored(frame, call.receiver, WORKS_ON), stored(frame, call.receiver, RETURNS_ON)
    return _replicated(call, module, call.arguments, works_on, returns_on)


@handles("torch.nn.parallel.data_parallel")
def data_parallel_once(call: CallSite) -> Value:
    """Call a module once as a `DataParallel` does."""
    frame, given = call.frame, call.given(2, "device_ids") or NONE
    works_on = CUDA if given is NONE else first_of(frame, given, ids_of(frame, given))
    returns_on = denoted(call.given(3, "output_device") or NONE, works_on)
    inputs = call.argument(1, "inputs")
    handed = Arguments(list(inputs.items) if isinstance(inputs, Tuple) else [inputs], {})
    return _replicated(call, call.argument(0, "module"), handed, works_on, returns_on)


def _replicated(call: CallSite, module: Value, handed: Arguments, works_on: Value, returns_on: Value) -> Value:
    """Call a module that must be on the first device, and move the results; with one id they stay (NO_DEVICE)."""
    frame = call.frame
    asks_module(call, module, works_on)
    result = _called(frame, module, handed, call.span)
    if returns_on is NO_DEVICE:
        return result
    if isinstance(result, Tensor) and result.device is not device_of_module(frame, module):
        asks(call, TENSOR, by_type(result.device), by_type(returns_on))
    return scattered(frame, result, returns_on)


def _called(frame: Frame, module: Value, handed: Arguments, span: ir.Span) -> Value:
    """Call a module with the inputs on its device: where it should be, the call of the wrapper has required."""
    where = device_of_module(frame, module)
    if where is NO_DEVICE:
        where = CUDA
    moved_there = Arguments(
        [scattered(frame, each, where) for each in handed.positional],
        {name: scattered(frame, each, where) for name, each in handed.named.items()},
        None if handed.spread is None else UNKNOWN,
        None if handed.row is None else UNKNOWN,
    )
    return frame.engine.call(frame, module, moved_there, span)


# --- DistributedDataParallel ----------------------------------------------------------------------------------


@handles(DISTRIBUTED)
def distributed(call: CallSite) -> Value:
    """Return a `DistributedDataParallel`: with an id, its module is on one CUDA device; without, anywhere."""
    frame, made, module = call.frame, wrapper(call), call.argument(0, "module")
    given, output = call.given(1, "device_ids") or NONE, call.given(2, "output_device") or NONE
    is_alone = given is NONE or elements(frame, given) == ()
    ids = [] if is_alone else ids_of(frame, given)
    places = [each if ids else by_type(each) for each in _places(frame, module)]
    for each in places[1:]:
        asks(call, MODULE, each, places[0])
    if ids:
        asks(call, "device id", by_type(ids[0]) if len(ids) == 1 else NOWHERE, ANY_CUDA)
        asks_module(call, module, ANY_CUDA)
    elif is_alone and output is not NONE and truth(output):
        asks(call, "output device", NOWHERE, ANY_CUDA)
    elif is_alone and len(places) == 1:
        require_sent(call, module)
    frame.heap.put(made, WORKS_ON, NO_DEVICE if is_alone else first_of(frame, given, ids))
    return made


@handles(f"{DISTRIBUTED}:__call__", f"{DISTRIBUTED}:forward")
def call_distributed(call: CallSite) -> Value:
    """Call the module; with an id, the inputs are moved there."""
    frame = call.frame
    module = frame.engine.read(frame, call.receiver, "module", call.span)
    works_on = stored(frame, call.receiver, WORKS_ON)
    if works_on is NO_DEVICE:
        return frame.engine.call(frame, module, call.arguments, call.span)
    asks_module(call, module, works_on)
    return _called(frame, module, call.arguments, call.span)


def _places(frame: Frame, module: Value) -> list[Value]:
    """Return the devices of the modules in a module that have parameters of their own."""
    inner = [each for each in parts_of(frame, module) if is_module(each)] if isinstance(module, Instance) else []
    found = [place for each in inner for place in _places(frame, each)] or [device_of_module(frame, module)]
    return list(dict.fromkeys([each for each in found if each is not NO_DEVICE]))
