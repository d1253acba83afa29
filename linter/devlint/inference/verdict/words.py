"""Devices in words, for messages, `reveal_device`, `devlint show` and the editor."""

from __future__ import annotations

from typing import Final

from devlint.inference.values.devices import possible
from devlint.inference.values.tensors import Device
from devlint.inference.values.terms import DEVICE, MACHINE, PARAMETER, Root, Symbol, Term, Value, root
from devlint.inference.worlds.choices import ACCELERATORS, World

UNKNOWN_DEVICE: Final = "unknown"

MACHINES: Final = tuple([World({root(MACHINE, "accelerators"): number}) for number in ACCELERATORS])
"""The worlds in which devices are shown: each has an accelerator."""


def names(where: Value) -> list[str]:
    """Return the names of the devices that a device may be, each once; none for a symbol."""
    return list(dict.fromkeys([each.name for each in possible(where) if isinstance(each, Device)]))


def device_text(where: Value) -> str:
    """Return a device in words: "cuda:0", "device of x", "device of x or y"; else "unknown", as for several devices."""
    here, *others = [world.put(where) for world in MACHINES]
    if any(each is not here for each in others):
        return UNKNOWN_DEVICE
    if isinstance(here, Device):
        return "cuda:0" if here.name == "cuda" else here.name
    owners = list(dict.fromkeys(_owners(here)))
    return f"device of {' or '.join(owners)}" if "" not in owners else UNKNOWN_DEVICE


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
