"""Tensors and devices that no signature describes: tensors made from data, and queries of the machine."""

from __future__ import annotations

from typing import Final

from devlint.inference.libraries.python import AVAILABLE
from devlint.inference.libraries.signatures import apply, prove
from devlint.inference.libraries.table import CallSite, handles
from devlint.inference.requirements.machines import CUDA as CURRENT_CUDA
from devlint.inference.requirements.machines import STARTED, hold, need
from devlint.inference.requirements.make import draw, participant, pin, require
from devlint.inference.state.containers import elements, one_element
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.moves import moved
from devlint.inference.state.where import PROCESS_STATE, default_device, device_of, rank_of, source_of
from devlint.inference.values import ranks
from devlint.inference.values.data import ALL_DIMENSIONS, HOST, NAMED, ONE_ELEMENT, TAKES_CPU, Participant
from devlint.inference.values.devices import denoted
from devlint.inference.values.folding import fold
from devlint.inference.values.joins import either
from devlint.inference.values.objects import LIBRARY, LIST, Instance, Library, library
from devlint.inference.values.tensors import CPU, Array, Tensor, Tuple, device, pack, tensor
from devlint.inference.values.terms import (
    DEVICE,
    ELEMENT,
    FALSE,
    NO_DEVICE,
    NONE,
    NUMBER,
    POSITIVE,
    TRUE,
    UNKNOWN,
    Constant,
    Term,
    Value,
    attribute,
    constant,
    is_symbolic,
    term,
)
from devlint.inference.worlds.choices import COUNT

CUDA: Final = device("cuda:0")
CONTEXT: Final = "torch.autograd.function.FunctionCtx"


@handles("torch.device")
def device_(call: CallSite) -> Value:
    """Return a device by name, by type and index, or by index."""
    name, index = call.argument(0, "type"), call.given(1, "index")
    if index is not None and index is not NONE:
        name = fold("format", name, constant(":"), index)
    need(call.frame, call.name, name, call.span, kind=NAMED)
    return denoted(name, UNKNOWN)


@handles("torch.tensor", "torch.as_tensor", "torch.asarray")
def from_data(call: CallSite) -> Value:
    """Return a tensor of data: where the data are if they are a tensor, else on the default device."""
    frame, data = call.frame, call.argument(0, "data")
    where = call.option("device")
    rank = rank_of_data(frame, data)
    own = device_of_data(frame, data)
    if call.option("pin_memory") is TRUE:
        pin(frame, call.name, denoted(where or NONE, own), call.span)
    if where is None or where is NONE:
        return tensor(own, rank, NONE, source_of(frame, data) if isinstance(data, Tensor) else frame.source())
    need(frame, call.name, where, call.span)
    return tensor(denoted(where, own), rank, NONE, frame.source())


def device_of_data(frame: Frame, data: Value) -> Value:
    """Return the device of a tensor that is made from data."""
    if isinstance(data, Tensor):
        return data.device
    if isinstance(data, Term) and data.operator == "ite":
        test, then, orelse = data.arguments
        return either(test, device_of_data(frame, then), device_of_data(frame, orelse))
    is_plain = isinstance(data, Term) and device_of(frame, data) is NO_DEVICE
    return term("device_of_data", data) if is_symbolic(data) and not is_plain else default_device(frame)


def rank_of_data(frame: Frame, data: Value, depth: int = 0) -> Value:
    """Return the number of dimensions of a tensor that is made from data."""
    if isinstance(data, Constant) and isinstance(data.value, (bool, int, float, complex)):
        return constant(0)
    if data is NUMBER or isinstance(data, (Tensor, Array)) or is_symbolic(data):
        return rank_of(frame, data)
    if isinstance(data, Tuple) or (isinstance(data, Instance) and data.kind == LIST):
        found = elements(frame, data)
        if found == ():
            return constant(1)
        inner = (
            rank_of_data(frame, found[0] if found else one_element(frame, data), depth + 1) if depth < 4 else UNKNOWN
        )
        exact = ranks.number(inner)
        is_one = exact == 0 and found is not None and len(found) == 1
        return POSITIVE if exact is None or is_one else constant(exact + 1)
    return UNKNOWN


@handles("torch.nn.Parameter", "torch.nn.Buffer", "torch.nn.parameter.Parameter")
def parameter(call: CallSite) -> Value:
    """Return a tensor that its module registers."""
    frame, data = call.frame, call.given(0, "data")
    if data is None:
        return tensor(default_device(frame), constant(1), TRUE, frame.source())
    prove(frame, data)
    return tensor(device_of(frame, data), rank_of(frame, data), TRUE, source_of(frame, data))


@handles("torch.cuda.is_available", "torch.accelerator.is_available")
def is_available(call: CallSite) -> Value:
    """Return whether the machine has an accelerator."""
    hold(call.frame, STARTED)
    return AVAILABLE


@handles("torch.cuda.device_count", "torch.accelerator.device_count")
def device_count(call: CallSite) -> Value:
    """Return the number of accelerators of the machine."""
    return COUNT


@handles("torch.accelerator.current_accelerator")
def current_accelerator(call: CallSite) -> Value:
    """Return the accelerator of the machine, without an index; None without one."""
    return either(AVAILABLE, device("cuda"), NONE)


@handles("torch.backends.mps.is_available", "torch.backends.mps.is_built", "torch.xpu.is_available")
def is_other_available(call: CallSite) -> Value:
    """Return whether the machine has another accelerator than CUDA: one has one kind."""
    return FALSE


@handles(
    "torch.jit.is_scripting", "torch.jit.is_tracing", "torch.onnx.is_in_onnx_export", "torch.compiler.is_compiling"
)
def is_not(call: CallSite) -> Value:
    """Return False: Python executes the code."""
    return FALSE


@handles("torch.set_default_device")
def set_default_device(call: CallSite) -> Value:
    """Change where tensors are made."""
    where = call.argument(0, "device")
    call.frame.engine.changes_default = True
    need(call.frame, call.name, where, call.span)
    call.frame.heap.put(PROCESS_STATE, DEVICE, CPU if where is NONE else denoted(where, CPU))
    return NONE


@handles("torch.set_default_tensor_type")
def set_default_tensor_type(call: CallSite) -> Value:
    """Change where tensors are made, by the name of a type."""
    found = device_of_type(call.argument(0, "t"))
    call.frame.engine.changes_default = call.frame.engine.changes_type = True
    if found is not None:
        need(call.frame, call.name, device_of_type(call.argument(0, "t"), CURRENT_CUDA) or UNKNOWN, call.span)
    call.frame.heap.put(PROCESS_STATE, DEVICE, UNKNOWN if found is None else found)
    return NONE


def device_of_type(value: Value, cuda: Value = CUDA) -> Value | None:
    """Return the device of the tensors of a type such as `torch.cuda.FloatTensor`, by class or by name."""
    if isinstance(value, Term) and value.operator == "ite":
        then, orelse = [device_of_type(each, cuda) for each in value.arguments[1:]]
        return None if then is None or orelse is None else either(value.arguments[0], then, orelse)
    name = value.name if isinstance(value, Library) else value.value if isinstance(value, Constant) else None
    if not isinstance(name, str) or not name.startswith("torch.") or not name.endswith("Tensor"):
        return None
    return cuda if name.startswith("torch.cuda.") else CPU if name.count(".") == 1 else None


@handles("torch.Tensor")
def legacy(call: CallSite) -> Value:
    """Return `torch.Tensor(…)`: of a tensor its alias; else one on the CPU, unless the program sets a default type."""
    frame, data = call.frame, call.given(0, "")
    if len(call.arguments.positional) == 1 and data is not None and (isinstance(data, Tensor) or is_symbolic(data)):
        return tensor(device_of_data(frame, data), rank_of(frame, data), NONE, source_of(frame, data))
    where = default_device(frame) if frame.engine.changes_type else CPU
    return tensor(where, POSITIVE, NONE, frame.source())


@handles(*[f"torch.{kind}Tensor" for kind in "Float Double Half BFloat16 Long Int Short Char Byte Bool".split()])
def typed(call: CallSite) -> Value:
    """Return `torch.FloatTensor(…)`, which refuses a tensor that is on another device."""
    frame, given = call.frame, call.arguments.positional
    if len(given) == 1 and (isinstance(given[0], Tensor) or is_symbolic(given[0])):
        require(frame, call.name, [participant(frame, given[0]), Participant(HOST, CPU)], call.span, TAKES_CPU)
    stubs = frame.engine.stubs
    return apply(frame, stubs, call.name, stubs.function(call.name) or (), call.arguments, call.span)


@handles("torch.sparse_coo_tensor", "torch.sparse.FloatTensor")
def sparse(call: CallSite) -> Value:
    """Return a sparse tensor, where its values are."""
    frame, values = call.frame, call.argument(1, "values")
    where = denoted(call.option("device") or NONE, device_of_data(frame, values))
    return tensor(where, POSITIVE, NONE, source_of(frame, values))


@handles("torch.Tensor:type")
def type_(call: CallSite) -> Value:
    """Return `x.type(t)`: a type of tensors moves, a dtype does not; `x.type()` is a text."""
    given = call.given(0, "dtype")
    if given is None:
        return fold("type_name", device_of(call.frame, call.receiver))
    where = device_of_type(given)
    if where is None:
        if isinstance(call.receiver, Tensor):
            rank = call.receiver.rank
            is_known = given is NUMBER or isinstance(given, Library)
            return tensor(call.receiver.device if is_known else UNKNOWN, rank, NONE, call.receiver.source)
        return call.receiver
    need(call.frame, call.name, device_of_type(given, CURRENT_CUDA) or UNKNOWN, call.span, call.receiver)
    return moved(call.frame, call.receiver, where, call.frame.source())


@handles("torch.Tensor:dim", "torch.Tensor:ndimension")
def dim(call: CallSite) -> Value:
    """Return the number of dimensions of a tensor."""
    prove(call.frame, call.receiver)
    rank = rank_of(call.frame, call.receiver)
    return NUMBER if rank in (UNKNOWN, POSITIVE) else rank


@handles("torch.Tensor:tolist", "numpy.ndarray:tolist")
def tolist(call: CallSite) -> Value:
    """Return the numbers of a tensor or an array: lists in lists, or one number."""
    rank = rank_of(call.frame, call.receiver)
    if ranks.number(rank) == 0:
        return NUMBER
    if not ranks.is_positive(rank):
        return call.frame.unknown("tolist", call.span)
    made = call.frame.make(LIST, call.span)
    call.frame.heap.put(made, ELEMENT, NUMBER if ranks.number(rank) == 1 else UNKNOWN)
    return made


@handles("torch.Tensor:get_device")
def get_device(call: CallSite) -> Value:
    """Return the device of a tensor in place of its ordinal: a program uses both to place other tensors there."""
    return device_of(call.frame, call.receiver)


@handles("torch.Tensor:new_tensor")
def new_tensor(call: CallSite) -> Value:
    """Return a tensor of data where another one is."""
    frame, where = call.frame, call.option("device")
    rank = rank_of_data(frame, call.argument(0, "data"))
    own = device_of(frame, call.receiver)
    if where is None or where is NONE:
        return tensor(own, rank, NONE, source_of(frame, call.receiver))
    need(frame, call.name, where, call.span)
    return tensor(denoted(where, own), rank, NONE, frame.source())


@handles("torch.nn.utils.rnn.pad_sequence")
def pad_sequence(call: CallSite) -> Value:
    """Return a tensor where the first of some is; the others are copied."""
    frame, given = call.frame, call.argument(0, "sequences")
    found = elements(frame, given)
    first = found[0] if found else one_element(frame, given)
    if isinstance(first, Tensor) or is_symbolic(first):
        return tensor(device_of(frame, first), POSITIVE, NONE, source_of(frame, first))
    return tensor(UNKNOWN, POSITIVE)


@handles("torch.Tensor:index_put", "torch.Tensor:index_put_", "torch.index_put", "torch.index_put_")
def index_put(call: CallSite) -> Value:
    """Put values at indices; if they are added, even one element must be where the tensor is."""
    frame, given = call.frame, call.arguments.positional
    owner, rest = (call.receiver, given) if call.of else (call.argument(0, "input"), given[1:])
    value = rest[1] if len(rest) > 1 else call.arguments.named.get("values", UNKNOWN)
    adds = rest[2] if len(rest) > 2 else call.arguments.named.get("accumulate", FALSE)
    exemption = ALL_DIMENSIONS if adds is TRUE else ONE_ELEMENT
    require(frame, call.name, [participant(frame, owner), participant(frame, value, exemption)], call.span)
    return owner


@handles("diffusers.randn_tensor")
def randn_tensor(call: CallSite) -> Value:
    """Return random numbers on a device: a generator on the CPU draws there, and the numbers are moved."""
    frame, generator, shape = call.frame, call.given(1, "generator") or NONE, call.argument(0, "shape")
    where = denoted(call.given(2, "device") or NONE, CPU)
    drawn_on = fold("ite", fold("is_of_type", device_of(frame, generator), constant("cpu")), CPU, where)
    draw(frame, "randn_tensor", drawn_on, generator, call.span)
    return tensor(where, constant(len(shape.items)) if isinstance(shape, Tuple) else POSITIVE, NONE, frame.source())


# --- functions with a derivative of their own -----------------------------------------------------------------


@handles("torch.autograd.Function:apply")
def apply_function(call: CallSite) -> Value:
    """Call `forward` of a class, with a context that keeps the saved tensors; `backward` may not run."""
    frame, of = call.frame, call.receiver
    context = frame.make(LIBRARY, call.span, library(CONTEXT))
    forward, setup = (frame.engine.read(frame, of, name, call.span) for name in ("forward", "setup_context"))
    if isinstance(setup, Library):
        return frame.engine.call(frame, forward, call.arguments.behind(context), call.span)
    value = frame.engine.call(frame, forward, call.arguments, call.span)
    given = Arguments([context, pack(*call.arguments.positional), value], {})
    frame.engine.call(frame, setup, given, call.span)
    return value


@handles(f"{CONTEXT}:save_for_backward")
def save_for_backward(call: CallSite) -> Value:
    """Keep tensors in a context."""
    call.frame.heap.put(call.receiver, attribute("saved_tensors"), pack(*call.arguments.positional))
    return NONE
