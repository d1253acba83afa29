"""Devices in words, for messages, `reveal_device`, `devlint show` and the editor."""

from __future__ import annotations

from typing import Final

from devlint.inference.state.where import is_module
from devlint.inference.values.devices import possible, type_of
from devlint.inference.values.objects import ClassValue, Instance
from devlint.inference.values.tensors import Alternatives, Device, Tensor
from devlint.inference.values.terms import (
    DEVICE,
    NO_DEVICE,
    NONE,
    PARAMETER,
    Root,
    Symbol,
    Term,
    Value,
    constant,
)
from devlint.inference.worlds.choices import COUNT, World

UNKNOWN_DEVICE: Final = "unknown"

MACHINES: Final = tuple([World({COUNT: constant(number)}) for number in (8, 4)])
"""The worlds in which devices are shown."""


def names(where: Value) -> list[str]:
    """Return the names of the devices that a device may be, each once; none for a symbol."""
    return list(dict.fromkeys([each.name for each in possible(where) if isinstance(each, Device)]))


def device_text(where: Value, current: Value) -> str:
    """Return a device in words: "cuda:0", "cuda" for one of several, "device of x", "device of x or y"; else "unknown".

    `current` is the current CUDA device. A value that may be None is where it is if it is not None.
    """
    found = [each for world in MACHINES for each in _alternatives(world, where) if each is not NO_DEVICE]
    found = [current if isinstance(each, Device) and each.name == "cuda" else each for each in found]
    texts = [each.name for each in found if isinstance(each, Device)]
    if texts and len(texts) == len(found):
        types = set(map(type_of, texts))
        return texts[0] if len(set(texts)) == 1 else types.pop() if len(types) == 1 else UNKNOWN_DEVICE
    owners = list(dict.fromkeys([owner for each in found for owner in _owners(each)]))
    return f"device of {' or '.join(owners)}" if owners and "" not in owners else UNKNOWN_DEVICE


def _alternatives(world: World, where: Value) -> list[Value]:
    """Return the devices that a device may be in a world."""
    if isinstance(where, Alternatives):
        ways = where.options
    elif isinstance(where, Term) and where.operator == "ite":
        known = world.truth(where.arguments[0])
        ways = where.arguments[1:] if known is None else (where.arguments[1 if known else 2],)
    else:
        return [world.put(where)]
    return [each for way in ways for each in _alternatives(world, way)]


def _owners(where: Value) -> list[str]:
    """Return the names of the values whose device a device may be; "" for one without a name."""
    if isinstance(where, Symbol):
        return [_path(where.parent) if where.field is DEVICE else ""]
    if not isinstance(where, Term):
        return [""]
    if where.operator == "meet":
        return [owner for each in where.arguments[::2] for owner in _owners(each)]
    named = _path(where.arguments[0]) if where.operator in ("denoted", "target") else ""
    return [named.removesuffix(".device") if named.endswith(".device") else ""]


def _path(value: Value) -> str:
    """Return the text of a program that stands for a symbol; "" if there is no such text."""
    if isinstance(value, Root):
        return value.name if value.kind == PARAMETER else ""
    above = _path(value.parent) if isinstance(value, Symbol) and value.field.kind != "#" else ""
    return above + value.field.text if isinstance(value, Symbol) and above else ""


def kind_of(value: Value) -> tuple[str, str]:
    """Return the kind of a value that is somewhere or names a device, see `Seen`, and its class; else empty texts."""
    if all(isinstance(each, Device) for each in possible(value)):
        return "device", ""
    if isinstance(value, Tensor):
        return "tensor" if value.owner is NONE else "parameter", ""
    if not is_module(value) or not isinstance(value, Instance):
        return "", ""
    of = value.of
    return "module", of.code.scope.name if isinstance(of, ClassValue) else value.of.text.rpartition(".")[2]
