"""Several devices and processes: wrappers of modules, and collectives.

`DataParallel` copies its module to several devices; `DistributedDataParallel` has one device in each process. A wrapper
keeps the device on which it looks for its module, WORKS_ON, and the device of its results, RETURNS_ON. An argument
that names no device, such as an empty list of ids, is NOWHERE. The process keeps the device from which its group sends.
"""

from __future__ import annotations

from typing import Final

from devlint.inference.libraries.python import AVAILABLE
from devlint.inference.libraries.signatures import prove
from devlint.inference.libraries.table import CallSite, handles
from devlint.inference.requirements.machines import need
from devlint.inference.requirements.make import participant, require
from devlint.inference.state.containers import elements, is_list, side_by_side
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.moves import is_another_moved, moved, scattered
from devlint.inference.state.where import PROCESS_STATE, device_of_module, is_module, parts_of, source_of, stored
from devlint.inference.values import terms
from devlint.inference.values.data import MODULE, SENT, TENSOR, WRAPPED, Participant
from devlint.inference.values.devices import ANY_CUDA, by_type, denoted
from devlint.inference.values.folding import fold, truth
from devlint.inference.values.objects import MODULE as MODULE_KIND
from devlint.inference.values.objects import Instance, library
from devlint.inference.values.tensors import Tensor, Tuple, device
from devlint.inference.values.terms import BACKEND, NO_DEVICE, NONE, RETURNS_ON, UNKNOWN, WORKS_ON, Constant, Value
from devlint.inference.worlds.choices import COUNT

DATA_PARALLEL: Final = "torch.nn.DataParallel"
DISTRIBUTED: Final = "torch.nn.parallel.DistributedDataParallel"
GROUPS: Final = "torch.distributed"
NOWHERE: Final = device("nowhere")
CUDA: Final = device("cuda:0")
SEVERAL: Final = fold(">", COUNT, terms.constant(1))
COLLECTIVES: Final = """
    all_gather all_gather_into_tensor all_reduce all_to_all all_to_all_single broadcast gather irecv isend recv reduce
    reduce_scatter reduce_scatter_tensor scatter send
    """.split()
SENDS: Final = ("tensor", "output", "output_tensor", "output_tensor_list")
"""The parameters of collectives that hold the sent tensors; the first one counts."""


# --- process groups -------------------------------------------------------------------------------------------


@handles(f"{GROUPS}.init_process_group")
def init_process_group(call: CallSite) -> Value:
    """Make the group of the process; which backends a group without a name has, depends on the release of PyTorch."""
    call.frame.heap.put(PROCESS_STATE, BACKEND, fold("sent_from", call.argument(0, "backend")))
    return NONE


@handles(f"{GROUPS}.destroy_process_group")
def destroy_process_group(call: CallSite) -> Value:
    """Forget the group."""
    call.frame.heap.put(PROCESS_STATE, BACKEND, NO_DEVICE)
    return NONE


@handles(*[f"{GROUPS}.{name}" for name in COLLECTIVES])
def collective(call: CallSite) -> Value:
    """Send tensors with the group of the process; another group has a backend of its own."""
    forms = call.frame.engine.stubs.function(call.name)
    names = [each.name for each in forms[0].parameters] if forms else []
    sent = next((each for each in SENDS if each in names), "")
    if sent and (call.given(names.index("group"), "group") or NONE) is NONE:
        value = call.argument(names.index(sent), sent)
        for each in side_by_side(call.frame, value) if is_list(value) or isinstance(value, Tuple) else (value,):
            prove(call.frame, each)
            require_sent(call, each)
    return UNKNOWN


def require_sent(call: CallSite, value: Value) -> None:
    """Record that the group of the process sends a tensor or a module."""
    backend = Participant("backend", stored(call.frame, PROCESS_STATE, BACKEND))
    require(call.frame, call.name.rpartition(".")[2], [participant(call.frame, value), backend], call.span, SENT)


# --- wrappers -------------------------------------------------------------------------------------------------


def devices_of(frame: Frame, given: Value) -> list[Value]:
    """Return the devices that a list of ids names; UNKNOWN for an unknown list."""
    found = () if isinstance(given, Constant) else elements(frame, given)
    if found is None:
        return [denoted(frame.heap.get(given, terms.FIRST) or UNKNOWN, UNKNOWN)]
    named = [denoted(each, UNKNOWN) for each in found]
    known = [each for each in named if each is not UNKNOWN]
    return named if named and len(set(known)) == len(known) else [NOWHERE]


def ask(call: CallSite, role: str, where: Value, needed: Value, module: Value = NONE) -> None:
    """Record that something, perhaps a module, is on the device that a wrapper needs."""
    source = source_of(call.frame, module)
    both = [Participant(role, where, source=source, subject=module), Participant("wrapper", needed)]
    require(call.frame, (call.of or call.name).rpartition(".")[2], both, call.span, WRAPPED)


def wrapper(call: CallSite) -> Instance:
    """Return a new wrapper of the first argument."""
    made = call.frame.make(MODULE_KIND, call.span, library(call.name))
    call.frame.heap.put(made, terms.attribute("module"), call.argument(0, "module"))
    return made


@handles(DATA_PARALLEL)
def data_parallel(call: CallSite) -> Value:
    """Return a `DataParallel`. With one id it moves its module; without ids it has all devices of the machine."""
    frame, heap, made = call.frame, call.frame.heap, wrapper(call)
    given, output = call.given(1, "device_ids") or NONE, call.given(2, "output_device") or NONE
    ids = [fold("ite", SEVERAL, CUDA, NO_DEVICE)] if given is NONE else devices_of(frame, given)
    returns_on = denoted(output, ids[0])
    for each in (*ids, returns_on):
        ask(call, "device id", fold("by_type", each), ANY_CUDA)
    if NOWHERE in ids:
        ids = [UNKNOWN]
    elif len(elements(frame, given) or ()) == 1:
        moved(frame, call.argument(0, "module"), ids[0], frame.source())
        returns_on = NO_DEVICE
    path = frame.under(AVAILABLE)  # without an accelerator, a `DataParallel` is its module
    for each in reversed(ids if given is not NONE else ()):
        need(frame, "DataParallel", each, call.span)
    frame.path = path
    heap.put(made, WORKS_ON, ids[0])
    heap.put(made, RETURNS_ON, returns_on)
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
    given, inputs = call.given(2, "device_ids") or NONE, call.argument(1, "inputs")
    works_on = CUDA if given is NONE else devices_of(call.frame, given)[0]
    handed = Arguments(list(inputs.items) if isinstance(inputs, Tuple) else [inputs], {})
    returns_on = denoted(call.given(3, "output_device") or NONE, works_on)
    return _replicated(call, call.argument(0, "module"), handed, works_on, returns_on)


def _replicated(call: CallSite, module: Value, handed: Arguments, works_on: Value, returns_on: Value) -> Value:
    """Call a module that must be on the first device, and move the results; with one id they stay (NO_DEVICE)."""
    where = _place(call.frame, module)
    result = _call(call, module, handed, works_on)
    if returns_on is NO_DEVICE:
        return result
    if isinstance(result, Tensor) and where is not UNKNOWN and result.device is not where:
        ask(call, TENSOR, fold("by_type", result.device), fold("by_type", returns_on))
    return scattered(call.frame, result, returns_on)


def _place(frame: Frame, module: Value) -> Value:
    """Return the device of a module; unknown, if the body has moved another symbol, which may be this module."""
    return UNKNOWN if is_another_moved(frame, module) else device_of_module(frame, module)


def _call(call: CallSite, module: Value, handed: Arguments, works_on: Value) -> Value:
    """Call a module that must be on a device; the inputs are moved there, or where the module is instead."""
    frame, where = call.frame, _place(call.frame, module)
    ask(call, MODULE, where, works_on, module)
    where = CUDA if where is NO_DEVICE else where
    positional = [scattered(frame, each, where) for each in handed.positional]
    named = {name: scattered(frame, each, where) for name, each in handed.named.items()}
    rest = None if handed.spread is None else UNKNOWN, None if handed.row is None else UNKNOWN
    return frame.engine.call(frame, module, Arguments(positional, named, *rest), call.span)


@handles(DISTRIBUTED)
def distributed(call: CallSite) -> Value:
    """Return a `DistributedDataParallel`: with an id, its module is on one CUDA device; without, anywhere."""
    frame, made, module = call.frame, wrapper(call), call.argument(0, "module")
    given, output = call.given(1, "device_ids") or NONE, call.given(2, "output_device") or NONE
    is_alone = given is NONE or elements(frame, given) == ()
    ids = [NO_DEVICE] if is_alone else devices_of(frame, given)
    places = [fold("by_type", each) if is_alone else each for each in _places(frame, module)]
    for each in places[1:]:
        ask(call, MODULE, each, places[0])
    if not is_alone:
        ask(call, "device id", by_type(ids[0]) if len(ids) == 1 else NOWHERE, ANY_CUDA)
        if isinstance(given, Constant) or elements(frame, given) is not None:
            ask(call, MODULE, device_of_module(frame, module), ANY_CUDA, module)
    elif output is not NONE and truth(output):
        ask(call, "output device", NOWHERE, ANY_CUDA)
    elif len(places) == 1:
        require_sent(call, module)
    frame.heap.put(made, WORKS_ON, UNKNOWN if NOWHERE in ids else ids[0])
    return made


def _places(frame: Frame, module: Value) -> list[Value]:
    """Return the devices of the modules in a module that have parameters of their own."""
    inner = [each for each in parts_of(frame, module) if is_module(each)] if isinstance(module, Instance) else []
    found = [place for each in inner for place in _places(frame, each)] or [device_of_module(frame, module)]
    return list(dict.fromkeys([each for each in found if each is not NO_DEVICE]))


@handles(f"{DISTRIBUTED}:__call__", f"{DISTRIBUTED}:forward")
def call_distributed(call: CallSite) -> Value:
    """Call the module; with an id, the inputs are moved there."""
    module = call.frame.engine.read(call.frame, call.receiver, "module", call.span)
    works_on = stored(call.frame, call.receiver, WORKS_ON)
    if works_on is NO_DEVICE:
        return call.frame.engine.call(call.frame, module, call.arguments, call.span)
    return _call(call, module, call.arguments, works_on)
