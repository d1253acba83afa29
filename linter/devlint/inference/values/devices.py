"""Devices as values: which certainly differ, which one operands share, which one a value names.

A device is a `Device`, a symbol or term that stands for one, alternatives of these, UNKNOWN, or NO_DEVICE for a value
that is no tensor. The terms:

* `denoted(v, d)`: the device that `v` names, or `d` if `v` is None;
* `target(v, d)`: the device of `x.to(v)` for an `x` on `d`;
* `started(s, d)`: where the state of an optimizer is after a step with parameters on `d`, if it was on `s` before;
* `by_type(d)`: any device of the type of `d`;
* `sent_from(v)`: where tensors are that a process group with the backend `v` sends; NO_DEVICE if anywhere;
* `meet(a, r, b, s)`: the device that operands on `a` and `b` with the ranks `r` and `s` share;
* `ite(t, a, b)`: `a` if the test `t` holds, else `b`.
"""

from __future__ import annotations

from typing import Final

from devlint.inference.values.joins import either, join_all, under
from devlint.inference.values.objects import Library
from devlint.inference.values.tensors import ACCELERATOR, CPU, Alternatives, Device, Tensor, device, options
from devlint.inference.values.terms import (
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
    constant,
    is_symbolic,
    term,
)

TYPES: Final = frozenset("cpu cuda mps xpu meta hpu npu mtia ipu xla privateuseone".split())
"""The types of devices, as `torch.device` takes them."""

SCALAR: Final = constant(0)
"""The rank of a 0-dim tensor."""


ANY_CUDA: Final = device("cuda")
"""A CUDA device, whichever it is: it differs from no other one."""


def parse(text: str) -> Value:
    """Return the device that a text names; unknown, if it names none."""
    kind, colon, index = text.partition(":")
    if kind not in TYPES or (colon and not (index.isdecimal() and str(int(index)) == index)):
        return UNKNOWN
    return CPU if kind == "cpu" else device(f"{kind}:{int(index)}" if colon else kind)


def type_of(name: str) -> str:
    """Return the type of a device: "cuda" for "cuda:0"."""
    return name.partition(":")[0]


def differ(one: Value, two: Value) -> bool:
    """Whether two values are devices, and are two in every world."""
    if one is two:
        return False
    if isinstance(one, Device) and isinstance(two, Device):
        return _devices_differ(one.name, two.name)
    if isinstance(one, Alternatives):
        return all(differ(each, two) for each in one.options)
    if isinstance(one, Term) and one.operator == "ite":
        then, orelse = two, two
        if isinstance(two, Term) and two.operator == "ite" and two.arguments[0] is one.arguments[0]:
            then, orelse = two.arguments[1], two.arguments[2]
        return differ(one.arguments[1], then) and differ(one.arguments[2], orelse)
    is_several = isinstance(two, Alternatives) or (isinstance(two, Term) and two.operator == "ite")
    return is_several and differ(two, one)


def _devices_differ(one: str, two: str) -> bool:
    if "accelerator" in (one, two):
        return "cpu" in (one, two)
    first, _, index = one.partition(":")
    second, _, other = two.partition(":")
    return first != second or (index != other and bool(index) and bool(other))


def meet(devices: list[Value], ranks: list[Value]) -> Value:
    """Return the device of the result of an operation: the device that its tensor operands share.

    An operand of rank 0 is exempt and does not count beside others; an operand without the exemption has the rank
    POSITIVE here. If two devices differ, the result is unknown; only a client keeps everything on its accelerator.
    """
    tests = [each.arguments[0] for each in devices if isinstance(each, Term) and each.operator == "ite"]
    if len(tests) > 1 and len(set(tests)) == 1:
        then, orelse = (meet([under(tests[0], each, branch) for each in devices], ranks) for branch in (1, 2))
        return either(tests[0], then, orelse)
    live: dict[Value, Value] = {}
    for each, rank in zip(devices, ranks, strict=True):
        if each is not NO_DEVICE:
            exempt = rank if is_symbolic(rank) or rank is SCALAR else POSITIVE
            live[each] = exempt if live.get(each, SCALAR) is SCALAR or exempt is POSITIVE else live[each]
    parts = [part for pair in live.items() for each in pair for part in options(each)]
    if any(map(is_symbolic, parts)) and len(live) > 1:
        return term("meet", *[part for pair in live.items() for part in pair])
    chosen = [each for each, rank in live.items() if rank is not SCALAR] or list(live)
    fixed = [each for each in chosen if isinstance(each, Device)]
    if any(differ(each, other) for each in fixed for other in chosen):
        return ACCELERATOR if ACCELERATOR in fixed else UNKNOWN
    if fixed:
        return next((each for each in fixed if ":" in each.name), fixed[0])
    return UNKNOWN if len(chosen) > 1 else next(iter(chosen), NO_DEVICE)


def denoted(value: Value, default: Value) -> Value:
    """Return the device that a value names; `default` is the one that None stands for."""
    if isinstance(value, (Device, Tensor)):
        return value if isinstance(value, Device) else value.device
    if value is NONE:
        return default
    if isinstance(value, Constant):
        if isinstance(value.value, str):
            return parse(value.value)
        return device(f"cuda:{value.value}") if type(value.value) is int and value.value >= 0 else UNKNOWN
    if isinstance(value, Alternatives):
        return join_all([denoted(each, default) for each in value.options])
    if isinstance(value, Term) and value.operator in ("denoted", "meet"):
        return value
    if isinstance(value, Term) and value.operator == "ite":
        test, then, orelse = value.arguments
        return either(test, denoted(then, default), denoted(orelse, default))
    return term("denoted", value, default) if is_symbolic(value) else UNKNOWN


def target(value: Value, own: Value) -> Value:
    """Return the device of `x.to(value)` for an `x` on `own`; None and a dtype move nothing."""
    if value is NONE or isinstance(value, Library):
        return own
    if isinstance(value, Alternatives):
        return join_all([target(each, own) for each in value.options])
    if isinstance(value, Term) and value.operator == "ite":
        test, then, orelse = value.arguments
        return either(test, target(then, under(test, own, 1)), target(orelse, under(test, own, 2)))
    if is_symbolic(value) and not (isinstance(value, Term) and value.operator in ("denoted", "meet")):
        return term("target", value, own)
    return denoted(value, own)


def started(state: Value, now: Value) -> Value:
    """Return where the state of an optimizer is after a step; NO_DEVICE stands for no state before it.

    If the step fails, the state is unknown, so that the next step is not reported as well.
    """
    if state is NO_DEVICE or state is now:
        return now
    if is_symbolic(state) or is_symbolic(now):
        return term("started", state, now)
    return UNKNOWN if differ(state, now) else state


def by_type(where: Value) -> Value:
    """Return any device of the type of a device: "cuda" for "cuda:0"."""
    if isinstance(where, Device):
        return device(type_of(where.name))
    return term("by_type", where) if is_symbolic(where) else where


def sent_from(backend: Value) -> Value:
    """Return where tensors are that a process group with a backend sends; NO_DEVICE if anywhere."""
    if isinstance(backend, Constant) and isinstance(backend.value, str):
        return ANY_CUDA if backend.value.lower() in ("nccl", "cuda:nccl") else NO_DEVICE
    return term("sent_from", backend) if is_symbolic(backend) else UNKNOWN


def scope(context: Value, before: Value) -> Value:
    """Return the default device inside of `with context:`, which only a device changes."""
    if isinstance(context, Device):
        return context
    if isinstance(context, Term) and context.operator in ("denoted", "meet"):
        return context
    if isinstance(context, Term) and context.operator == "ite":
        test, then, orelse = context.arguments
        return either(test, scope(then, before), scope(orelse, before))
    return term("scope", context, before) if is_symbolic(context) else before


def type_name(where: Value) -> Value:
    """Return `x.type()` as a text, whose prefix shows whether the tensor is on a GPU."""
    if isinstance(where, Device):
        if where is CPU:
            return constant("torch.FloatTensor")
        return constant("torch.cuda.FloatTensor") if type_of(where.name) in ("cuda", "accelerator") else NUMBER
    return term("type_name", where) if is_symbolic(where) else NUMBER


def device_type(where: Value) -> Value:
    """Return `d.type` as a text."""
    if isinstance(where, Device):
        return NUMBER if where is ACCELERATOR else constant(type_of(where.name))
    return term("device_type", where) if is_symbolic(where) else NUMBER


def is_of_type(where: Value, kind: Value) -> Value:
    """Return whether a tensor on a device is on one of a type, as `x.is_cuda` says."""
    if isinstance(where, Device) and isinstance(kind, Constant):
        if where is ACCELERATOR and kind.value != "cpu":
            return TRUE if kind.value == "cuda" else NUMBER
        return TRUE if type_of(where.name) == kind.value else FALSE
    return term("is_of_type", where, kind) if is_symbolic(where) else NUMBER


def are_equal(one: Value, two: Value) -> Value:
    """Return whether two devices are equal, as PyTorch compares `torch.device`: "cuda" is not "cuda:0" there."""
    if isinstance(one, Device) and isinstance(two, Device):
        if one is two and one is not ACCELERATOR:
            return TRUE
        return FALSE if differ(one, two) else NUMBER
    if one is two and is_symbolic(one):
        return TRUE
    return NUMBER


def possible(where: Value) -> tuple[Value, ...]:
    """Return the alternatives of a device; a symbol has one, itself."""
    if isinstance(where, Term) and where.operator == "ite":
        return (*possible(where.arguments[1]), *possible(where.arguments[2]))
    return options(where)
