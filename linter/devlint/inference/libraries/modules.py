"""Modules: their constructors, registered parts, parameters and containers."""

from __future__ import annotations

from typing import Final

from devlint.inference.libraries.containers import append_, extend, insert, views
from devlint.inference.libraries.table import CallSite, handles
from devlint.inference.requirements.causes import STATE
from devlint.inference.requirements.make import participant, require
from devlint.inference.state.containers import any_value, append, content, elements, fill, keys, one_element, set_key
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.moves import move
from devlint.inference.state.where import device_of, device_of_module, is_module, parts_of, registered, source_of
from devlint.inference.values import data
from devlint.inference.values.joins import join
from devlint.inference.values.objects import DICT, LIST, MODULE, Instance, library
from devlint.inference.values.tensors import Tensor, pack, row, tensor
from devlint.inference.values.terms import (
    COMPUTED,
    ELEMENT,
    MAPPING,
    NO_DEVICE,
    NONE,
    NUMBER,
    OTHER_KEYS,
    PARTS,
    POSITIVE,
    TRUE,
    UNKNOWN,
    Constant,
    Value,
    constant,
)

LISTS: Final = ("torch.nn.ModuleList", "torch.nn.ParameterList")
MAPPINGS: Final = ("torch.nn.ModuleDict", "torch.nn.ParameterDict")
SEQUENTIAL: Final = "torch.nn.Sequential"
BASE: Final = "torch.nn.Module"
CONTAINERS: Final = (SEQUENTIAL, *LISTS, *MAPPINGS)


@handles(f"{BASE}:__init__")
def initialize_base(call: CallSite) -> Value:
    """Execute `super().__init__()` of a module: it stores nothing."""
    return NONE


@handles(
    *[
        f"{BASE}:{name}"
        for name in "train eval float half double bfloat16 requires_grad_ share_memory type compile".split()
    ]
)
def same(call: CallSite) -> Value:
    """Return the module."""
    return call.receiver


# --- registering ----------------------------------------------------------------------------------------------


@handles(*[f"{BASE}:{name}" for name in "register_buffer register_parameter add_module register_module".split()])
def register(call: CallSite) -> Value:
    """Store a tensor or a module under a name; a buffer moves with its module."""
    frame, owner, name = call.frame, call.receiver, call.argument(0, "name")
    value = (
        call.given(1, "tensor") or call.arguments.named.get("param") or call.arguments.named.get("module") or UNKNOWN
    )
    key = str(name.value) if isinstance(name, Constant) and isinstance(name.value, str) else COMPUTED.name
    if call.of == SEQUENTIAL:
        append(frame, owner, (value,))
    if key != COMPUTED.name and call.of in MAPPINGS:
        set_key(frame, owner, constant(key), value)
    elif key != COMPUTED.name:
        frame.engine.write(frame, owner, key, value, call.span)
    else:
        before = frame.heap.get(owner, COMPUTED)
        frame.heap.put(owner, COMPUTED, value if before is None else join(before, value))
    if call.name == "register_buffer":
        frame.heap.put(owner, registered(key), TRUE)
    return NONE


# --- containers -----------------------------------------------------------------------------------------------


@handles(*CONTAINERS, *[f"{name}:__init__" for name in CONTAINERS])
def container(call: CallSite) -> Value:
    """Return a new container of modules or parameters; or fill the one that an object of the project is."""
    frame, name, first = call.frame, call.of or call.name, call.given(0, "modules")
    made = call.receiver if call.of else frame.make(MODULE, call.span, frame.engine.stubs.named(name))
    if name in MAPPINGS:
        frame.heap.put(made, MAPPING, row(NONE) if first is None else content(frame, first))
    else:
        fill(frame, made, *_parts(call, name, first))
    return NONE if call.of else made


def _parts(call: CallSite, name: str, first: Value | None) -> tuple[list[Value], bool]:
    """Return the modules or parameters in the arguments of a constructor, and whether each is there once."""
    frame, given, spread = call.frame, call.arguments.positional, call.arguments.spread
    if name == SEQUENTIAL and len(given) == 1 and isinstance(first, Instance) and first.kind == DICT:
        known = keys(frame, first)
        return ([any_value(frame, first)], False) if known is None else ([each for _, each in known], True)
    if name == SEQUENTIAL:
        return [*given, *([] if spread is None else [one_element(frame, spread)])], spread is None
    found = () if first is None else elements(frame, first)
    parts = [frame.engine.iterated(frame, first or NONE, call.span)] if found is None else list(found)
    is_parameters = name.endswith("ParameterList")
    return [_as_parameter(each) if is_parameters else each for each in parts], found is not None


def _as_parameter(value: Value) -> Value:
    """Return a tensor as the parameter that a list of parameters makes of it."""
    if isinstance(value, Tensor) and value.owner is NONE:
        return tensor(value.device, value.rank, TRUE, value.source)
    return value


ADDING: Final = {"append": append_, "extend": extend, "insert": insert}


@handles(*[f"{name}:{verb}" for name in (SEQUENTIAL, *LISTS) for verb in ADDING])
def add(call: CallSite) -> Value:
    """Add modules to a container, as to a list."""
    ADDING[call.name](call)
    return NONE if call.name == "insert" and call.of != SEQUENTIAL else call.receiver


handles(*[f"{name}:{verb}" for name in MAPPINGS for verb in ("keys", "values", "items")])(views)


@handles(f"{SEQUENTIAL}:__call__", f"{SEQUENTIAL}:forward")
def call_sequential(call: CallSite) -> Value:
    """Call the modules of a `Sequential` one after the other."""
    frame = call.frame
    value = call.argument(0, "input")
    found = elements(frame, call.receiver)
    if found is not None and isinstance(call.receiver, Instance):
        found = (*found, *[each for each in children(frame, call.receiver) if each not in found])
    if found is None:
        return frame.engine.call(frame, one_element(frame, call.receiver), Arguments([value], {}), call.span)
    for each in found:
        value = frame.engine.call(frame, each, Arguments([value], {}), call.span)
        if not frame.is_live:
            break
    return value


# --- what a module gives of itself ----------------------------------------------------------------------------


def modules_of(frame: Frame, value: Value) -> list[Value]:
    """Return a module and all modules in it, outer ones first."""
    found: list[Value] = []
    waiting = [value]
    while waiting:
        each = waiting.pop(0)
        if each not in found:
            found.append(each)
            if isinstance(each, Instance):
                waiting.extend(children(frame, each))
    return found


def children(frame: Frame, value: Instance) -> list[Value]:
    """Return the modules that a module has registered itself."""
    return list(dict.fromkeys([each for each in parts_of(frame, value) if is_module(each)]))


@handles(*[f"{BASE}:{name}" for name in "modules named_modules children named_children".split()])
def modules(call: CallSite) -> Value:
    """Return the modules in a module."""
    frame, owner = call.frame, call.receiver
    made = frame.make(LIST, call.span, NONE, call.name)
    if not isinstance(owner, Instance):
        frame.heap.put(made, ELEMENT, UNKNOWN)
        return made
    found = modules_of(frame, owner) if call.name.endswith("modules") else children(frame, owner)
    named = [pack(NUMBER, each) for each in found] if call.name.startswith("named") else found
    fill(frame, made, named, True)
    return made


@handles(*[f"{BASE}:{name}" for name in "parameters named_parameters buffers named_buffers".split()])
def parameters(call: CallSite) -> Value:
    """Return the parameters or buffers of a module; a parameter names the module as its owner."""
    frame, owner = call.frame, call.receiver
    made = frame.make(LIST, call.span, NONE, call.name)
    where = device_of_module(frame, owner)
    belongs = owner if "parameters" in call.name else NONE
    each: Value = tensor(UNKNOWN if where is NO_DEVICE else where, UNKNOWN, belongs, source_of(frame, owner))
    each = pack(NUMBER, each) if call.name.startswith("named") else each
    frame.heap.put(made, ELEMENT, each)
    if where is not NO_DEVICE and "parameters" in call.name:  # there is one
        frame.heap.put(made, PARTS, pack(each))
    return made


@handles(f"{BASE}:state_dict")
def state_dict(call: CallSite) -> Value:
    """Return a dictionary of the parameters and buffers; its keys are unknown."""
    frame = call.frame
    made = frame.make(DICT, call.span, NONE, "state")
    where = device_of_module(frame, call.receiver)
    if where is NO_DEVICE or where is UNKNOWN:
        frame.heap.put(made, MAPPING, row(UNKNOWN))
    else:
        each = tensor(where, UNKNOWN, NONE, source_of(frame, call.receiver))
        frame.heap.put(made, MAPPING, row(NONE, ((OTHER_KEYS, each),)))
    return made


@handles(f"{BASE}:load_state_dict")
def load_state_dict(call: CallSite) -> Value:
    """Copy into a module, wherever it is; or let it take the tensors themselves, wherever they are."""
    frame, taken = call.frame, any_value(call.frame, call.argument(0, "state_dict"))
    if call.given(2, "assign") is TRUE:
        move(frame, call.receiver, device_of(frame, taken), source_of(frame, taken))
    return pack(NUMBER, NUMBER)  # the missing keys, and the unexpected ones


@handles(f"{BASE}:apply")
def apply(call: CallSite) -> Value:
    """Call a function with every module in a module."""
    frame, function = call.frame, call.argument(0, "fn")
    for each in reversed(modules_of(frame, call.receiver)):
        frame.engine.call(frame, function, Arguments([each], {}), call.span)
    return call.receiver


@handles(f"{BASE}:get_submodule")
def get_submodule(call: CallSite) -> Value:
    """Return a module by the path of its name."""
    frame, path, value = call.frame, call.argument(0, "target"), call.receiver
    if not isinstance(path, Constant) or not isinstance(path.value, str):
        return UNKNOWN
    for name in path.value.split(".") if path.value else ():
        if name.isdecimal():
            found = elements(frame, value)
            value = found[int(name)] if found is not None and int(name) < len(found) else UNKNOWN
        else:
            value = frame.engine.read(frame, value, name, call.span)
    return value


@handles(
    "torch.compile",
    "torch.compiler.disable",
    "torch.jit.script",
    "torch.func.vmap",
    "torch.vmap",
    *[f"torch.nn.utils.{name}" for name in "spectral_norm weight_norm remove_spectral_norm remove_weight_norm".split()],
    *[f"torch.nn.utils.parametrizations.{name}" for name in "orthogonal spectral_norm weight_norm".split()],
)
def behaves_alike(call: CallSite) -> Value:
    """Return the argument: the result behaves like it."""
    return call.argument(0, "model")


@handles("torch.utils.checkpoint.checkpoint")
def checkpoint(call: CallSite) -> Value:
    """Call a function."""
    frame = call.frame
    options = "use_reentrant preserve_rng_state context_fn determinism_check debug early_stop".split()
    named = {name: value for name, value in call.arguments.named.items() if name not in options}
    function, rest = call.argument(0, "function"), call.arguments.positional[1:]
    return frame.engine.call(frame, function, Arguments(rest, named, call.arguments.spread), call.span)


@handles(*[f"torchmetrics._Metric:{name}" for name in ("update", "forward", "__call__")])
def update_metric(call: CallSite) -> Value:
    """Add inputs to the state of a metric; a state on a GPU also takes 0-dim inputs on the CPU."""
    frame, metric = call.frame, call.receiver
    how = pack(library(call.of), NONE, STATE)
    where, source = device_of_module(frame, metric), source_of(frame, metric)
    state = data.Participant(data.MODULE, where, POSITIVE, source, subject=metric, kept=how)
    for each in call.arguments.values():
        given = participant(frame, each, data.ON_CPU)._replace(rank=constant(0))
        require(frame, call.name, [state, given], call.span)
    return UNKNOWN
