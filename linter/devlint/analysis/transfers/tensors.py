"""Making tensors from data, and moving them.

A signature would need to say what the first argument is: data that decides device and rank (`torch.tensor`), a
device or a dtype or another tensor (`Tensor.to`), a name of a type (`Tensor.type`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from devlint.analysis.execution.frame import device_of
from devlint.analysis.findings import conflicts
from devlint.analysis.libraries import moves
from devlint.analysis.libraries.move_targets import CPU_VALUE, is_dtype, names_device, own_device, some_cuda
from devlint.analysis.libraries.transfer_tables import FUNCTIONS, TENSOR_METHODS, LibraryCall, Transfer, register
from devlint.analysis.transfers.availability import legacy_cuda, legacy_name
from devlint.analysis.values import operands
from devlint.analysis.values.arguments import ArgumentValue
from devlint.analysis.values.containers import elements_of, items_of
from devlint.domain.device import (
    CPU,
    UNKNOWN_DEVICE,
    Concrete,
    Device,
    Variable,
    differ,
    is_symbolic,
)
from devlint.domain.heap import ListObject
from devlint.domain.kinds import Exemption, OperandRole, TensorRole
from devlint.domain.value import (
    NUMBER,
    SHAPE,
    SOME_DIMENSIONS,
    UNKNOWN,
    Constant,
    DeviceType,
    DeviceValue,
    Host,
    Kind,
    Opaque,
    Predicate,
    Present,
    Rank,
    Reference,
    Tensor,
    TupleValue,
    Value,
)
from devlint.facts import InvalidDevice, LostIndex


def from_data(site: LibraryCall) -> Value:
    """`torch.tensor(data)`: on `device`, else where data lives if it is a tensor, else on the default device."""
    return _made(site, keeps_unknown=False)


def as_tensor(site: LibraryCall) -> Value:
    """`torch.as_tensor(data)` and `torch.asarray`: as `torch.tensor`, but data is a tensor more often than not."""
    return _made(site, keeps_unknown=True)


def _made(site: LibraryCall, *, keeps_unknown: bool) -> Value:
    data = site.value(0, "data") or site.value(0, "obj") or UNKNOWN
    target = _target(site)
    rank = data_rank(site, data)
    if target is not None:
        return _of_data(site, target, rank)
    if isinstance(data, Tensor):
        return replace(data, role=TensorRole.PLAIN)
    if isinstance(data, Opaque) and site.frame.kind(data) is Kind.TENSOR:
        return site.frame.tensor(data)
    sliced = isinstance(data, Opaque) and (
        site.frame.kind(data) in (Kind.ARRAY, Kind.MOVABLE) or site.frame.may_be_tensor(data)
    )
    unclear = data == UNKNOWN or (isinstance(data, Opaque) and site.frame.kind(data) is not Kind.OTHER)
    if sliced or (keeps_unknown and unclear):
        return Tensor(UNKNOWN_DEVICE, None)
    if site.arguments.keyword("device") is not None:
        return Tensor(UNKNOWN_DEVICE, rank)
    return _of_data(site, None, rank)


def _of_data(site: LibraryCall, device: DeviceValue | None, rank: Rank, default: Device | None = None) -> Tensor:
    """A tensor that is created from data; without data, as by `torch.Tensor()`, or of an empty list, it is empty."""
    made = site.created(device, rank, default)
    data = site.value(0, "data") or site.value(0, "obj")
    held = site.held(data) if isinstance(data, Reference) else data
    is_empty = held.items == () if isinstance(held, (TupleValue, ListObject)) else not site.arguments.all()
    return replace(made, origin=replace(made.origin, is_empty=True)) if is_empty and made.origin is not None else made


def _target(site: LibraryCall) -> DeviceValue | None:
    given = site.arguments.keyword("device")
    if given is None or given.value == Constant(None):
        return None
    return site.device(given)


def data_rank(site: LibraryCall, data: Value) -> Rank:
    """How many dimensions a tensor made from such data has."""
    match data:
        case Constant(value=bool() | int() | float() | complex()) | Host(kind="number" | "count"):
            return 0
        case Tensor() | Host(kind="array"):
            return data.rank
        case TupleValue(items=items):
            inner = data_rank(site, items[0]) if items else 0
            single = len(items) == 1
        case Reference():
            held = site.held(data)
            if not isinstance(held, ListObject):
                return None
            first = held.rest if held.items is None else held.items[0] if held.items else NUMBER
            inner = data_rank(site, first)
            single = held.items is not None and len(held.items) == 1
        case Opaque(path=path) if path in site.frame.proofs.dimensional:
            return SOME_DIMENSIONS
        case _:
            return None
    if single and inner == 0:
        return SOME_DIMENSIONS
    return SOME_DIMENSIONS if inner is None or inner == SOME_DIMENSIONS else inner + 1


def pad_sequence(site: LibraryCall) -> Value:
    """`pad_sequence(tensors)`: a tensor on the device of the first one, into which the others are copied."""
    given = site.value(0, "sequences") or UNKNOWN
    items = (given,) if isinstance(given, Tensor) else items_of(site.frame, site.env, given)
    first = elements_of(site.frame, site.env, given).each if items is None else items[0] if items else UNKNOWN
    if isinstance(first, Opaque) and site.frame.kind(first) is Kind.TENSOR:
        first = site.frame.tensor(first)
    if not isinstance(first, Tensor):
        return Tensor(UNKNOWN_DEVICE, SOME_DIMENSIONS)
    return replace(first, rank=SOME_DIMENSIONS, role=TensorRole.PLAIN)


# --- moves --------------------------------------------------------------------------------------------------


def to(site: LibraryCall) -> Value:
    """`x.to(device)`, `x.to(dtype)`, `x.to(other)`, `x.to(device, dtype)`."""
    receiver = _receiver(site)
    given = site.arguments.keyword("device") or site.arguments.keyword("other") or site.arguments.first()
    if given is None:
        return receiver.value
    other = given.value
    if isinstance(other, Tensor):
        return _move(site, receiver, DeviceValue(other.device, True, other.origin), "to")
    if isinstance(other, Opaque) and site.frame.kind(other) is Kind.TENSOR:
        return _move(site, receiver, DeviceValue(device_of(other), True, other.origin), "to")
    if is_dtype(site, given) or other == Constant(None):
        return receiver.value
    if isinstance(other, Opaque) and not names_device(site, given):
        return _move(site, receiver, DeviceValue(UNKNOWN_DEVICE), "to")
    if other == UNKNOWN or (isinstance(other, Host) and not names_device(site, given)):
        # A dtype or a device: what is left is a tensor somewhere.
        return _move(site, receiver, DeviceValue(UNKNOWN_DEVICE), "to")
    return _move(site, receiver, site.device(given), "to")


def type_as(site: LibraryCall) -> Value:
    """`x.type_as(other)`: goes to the device of another tensor too."""
    given = site.arguments.get(0, "other")
    other = UNKNOWN if given is None else given.value
    site.frame.infer_kind(other, Kind.TENSOR)
    if isinstance(other, Opaque):
        other = replace(site.frame.tensor(other), device=device_of(other))
    target = DeviceValue(other.device, True, other.origin) if isinstance(other, Tensor) else DeviceValue(UNKNOWN_DEVICE)
    return _move(site, _receiver(site), target, "type_as")


_ASKS_FOR_TYPE = re.compile(r"\.type\(\)")


def cuda(site: LibraryCall) -> Value:
    """`x.cuda()`, `x.cuda(1)`, `x.cuda(device)`."""
    given = site.arguments.get(0, "device")
    if given is None or given.value == Constant(None):
        _note_lost_index(site)
        return _move(site, _receiver(site), own_device(site, "cuda"), "cuda")
    target = some_cuda(given.value) if isinstance(given.value, Opaque) else site.device(given)
    if target.device == CPU:
        site.record(InvalidDevice(site.frame.text(given.span), "Invalid device, must be cuda device"))
        return UNKNOWN
    return _move(site, _receiver(site), target, "cuda")


def _note_lost_index(site: LibraryCall) -> None:
    """A tensor that came to the CPU from one GPU goes back to the current one."""
    receiver = _receiver(site)
    origin = receiver.value.origin if isinstance(receiver.value, Tensor) else None
    if origin is None or not isinstance(receiver.value, Tensor) or receiver.value.device != CPU:
        return
    left = origin.left
    elsewhere = isinstance(left, Concrete) and left.type == "cuda" and differ(left, Concrete("cuda", site.env.current))
    if elsewhere or isinstance(left, Variable):
        assert left is not None
        site.record(LostIndex(site.frame.text(receiver.span), left, site.steps(origin)))


def cpu(site: LibraryCall) -> Value:
    """`x.cpu()`."""
    return _move(site, _receiver(site), DeviceValue(CPU, True), "cpu")


def to_type(site: LibraryCall) -> Value:
    """`x.type(t)`: a legacy type of the CPU or of CUDA moves, a dtype does not."""
    value = site.value(0, "dtype")
    name = legacy_name(value)
    receiver = _receiver(site)
    if value is None:
        device = receiver.value.device if isinstance(receiver.value, Tensor) else UNKNOWN_DEVICE
        return DeviceType(device, is_longer=True) if isinstance(device, Variable) else Host("text")
    if isinstance(value, DeviceType):
        return _move(site, receiver, DeviceValue(value.device, True), "type")
    if name is None or not name.endswith("Tensor"):
        given = site.arguments.get(0, "dtype")
        kept = value == NUMBER or (given is not None and is_dtype(site, given) and not _may_be_text(site, given))
        return receiver.value if kept else _move(site, receiver, DeviceValue(UNKNOWN_DEVICE), "type")
    target = legacy_cuda(site, value) if ".cuda." in name else DeviceValue(CPU, True)
    return _move(site, receiver, target, "type")


def _may_be_text(site: LibraryCall, given: ArgumentValue) -> bool:
    """Whether what is called a dtype may be the name of a legacy type, in a file that asks for such: `x.type()`."""
    if given.value != UNKNOWN and not isinstance(given.value, Opaque):
        return False
    return site.frame.file_says(_ASKS_FOR_TYPE)


def _receiver(site: LibraryCall) -> ArgumentValue:
    assert site.receiver is not None
    return site.receiver


def _move(site: LibraryCall, receiver: ArgumentValue, target: DeviceValue, how: str) -> Value:
    if isinstance(receiver.value, Tensor):
        return moves.move_tensor(site.frame, site.env, receiver.value, target, site.span, how)
    if isinstance(receiver.value, Opaque):
        return moves.move_opaque(site.frame, site.env, receiver.value, target, site.span, how)
    return UNKNOWN


def item(site: LibraryCall) -> Value:
    """`x.item()`: a number, of a tensor that has data."""
    receiver = _receiver(site)
    if isinstance(receiver.value, Tensor):
        device, origin = receiver.value.device, receiver.value.origin
        moves.refuse_meta(site.frame, site.env, device, origin, CPU_VALUE, site.span, "item")
    return NUMBER


def get_device(site: LibraryCall) -> Value:
    """`x.get_device()`: the ordinal of a CUDA tensor's device, -1 on the CPU."""
    receiver = _receiver(site).value
    if isinstance(receiver, Tensor) and isinstance(receiver.device, Concrete):
        if receiver.device == CPU:
            return Constant(-1)
        if receiver.device.index is not None:
            return Constant(receiver.device.index, True)
    if isinstance(receiver, Tensor) and isinstance(receiver.device, Variable):
        return DeviceValue(receiver.device, True, receiver.origin)  # who asks for the ordinal, puts something there
    return NUMBER


def pin_memory(site: LibraryCall) -> Value:
    """`x.pin_memory()`: on the CPU, where `x` has to be, too; so that of a path's other `x` it is not apart."""
    receiver = _receiver(site)
    value = receiver.value
    if isinstance(value, Tensor) and is_symbolic(value.device):
        return replace(value, device=UNKNOWN_DEVICE)
    side = operands.side_of(site.frame, site.env, receiver, "input", Exemption.NONE, OperandRole.OPERAND)
    if side is not None:
        conflicts.find_on_cpu(site.frame, site.env, "Tensor.pin_memory", site.span, side, OperandRole.CPU)
    return value


def is_pinned(site: LibraryCall) -> Value:
    """`x.is_pinned()`: memory is only pinned where there is an accelerator to copy to."""
    return Predicate(holds=(Present(True),))


def dimensions(site: LibraryCall) -> Value:
    """`x.dim()`: the rank, where it is known."""
    receiver = _receiver(site).value
    known = isinstance(receiver, Tensor) and receiver.rank is not None and receiver.rank >= 0
    return Constant(receiver.rank) if isinstance(receiver, Tensor) and known else NUMBER


def size(site: LibraryCall) -> Value:
    """`x.size()` is a shape, `x.size(0)` a number."""
    return NUMBER if site.arguments.all() else SHAPE


def new_tensor(site: LibraryCall) -> Value:
    """`x.new_tensor(data)`: on x's device unless told otherwise."""
    target = _target(site)
    data = site.value(0, "data") or UNKNOWN
    receiver = _receiver(site).value
    rank = data_rank(site, data)
    if target is not None:
        return _of_data(site, target, rank)
    if isinstance(receiver, (Tensor, Opaque)):
        return Tensor(receiver.device, rank, origin=receiver.origin)
    return UNKNOWN


def legacy(device: str) -> Transfer:
    """`torch.FloatTensor(data)` and its like: on the CPU, or on the current CUDA device.

    `torch.Tensor` is the default type of tensors, which a program may set; a default device does not reach it.
    """

    def make(site: LibraryCall) -> Value:
        value = site.value(0, "data")
        rank: Rank = None
        if isinstance(value, (Constant, Host)) or value is None:
            rank = SOME_DIMENSIONS
        elif value is not None:
            rank = data_rank(site, value)
        target = _target(site)
        if target is not None:
            if device == "cpu":
                _refuse(site, operands.resolve(site.env, target.device))
            return _of_data(site, DeviceValue(UNKNOWN_DEVICE), rank)
        if device == "cpu":
            given = site.arguments.first()
            if given is not None and site.name != "torch.Tensor":
                side = operands.side_of(site.frame, site.env, given, "data", Exemption.NONE, OperandRole.OPERAND)
                if side is not None:
                    conflicts.find_on_cpu(site.frame, site.env, site.name, site.span, side, OperandRole.CPU)
            follows_default = site.name == "torch.Tensor" and site.frame.program.may_choose_type(site.frame.globals)
            return _of_data(site, None, rank, UNKNOWN_DEVICE if follows_default else CPU)
        return _of_data(site, own_device(site, "cuda"), rank)

    return make


def _refuse(site: LibraryCall, device: Device) -> None:
    """Records that a legacy constructor of the CPU is given another device, or one that others choose."""
    match device:
        case Variable(place=place) if not place.is_fresh:
            kind = "cuda"
        case Concrete(type=kind) if device != CPU:
            pass
        case _:
            return
    message = f"legacy constructor expects device type: cpu but device type: {kind} was passed"
    site.record(InvalidDevice(site.name, message), conflicts.parameters_of(site.frame, device))


_LEGACY = "Float Double Half BFloat16 Int Long Short Byte Char Bool".split()

register(
    FUNCTIONS,
    {
        "torch.tensor": from_data,
        "torch.as_tensor": as_tensor,
        "torch.nn.utils.rnn.pad_sequence": pad_sequence,
        "torch.asarray": as_tensor,
        "torch.Tensor": legacy("cpu"),
        **{f"torch.{kind}Tensor": legacy("cpu") for kind in _LEGACY},
        **{f"torch.cuda.{kind}Tensor": legacy("cuda") for kind in _LEGACY},
    },
)

register(
    TENSOR_METHODS,
    {
        "to": to,
        "type_as": type_as,
        "cuda": cuda,
        "cpu": cpu,
        "type": to_type,
        "item": item,
        "new_tensor": new_tensor,
        "get_device": get_device,
        "pin_memory": pin_memory,
        "is_pinned": is_pinned,
        "size": size,
        "dim": dimensions,
        "ndimension": dimensions,
    },
)
