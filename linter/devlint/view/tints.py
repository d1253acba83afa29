"""One colour for each device, the same in the terminal and on a page, and the words of the legend."""

from __future__ import annotations

from collections.abc import Iterable

from devlint.domain.device import CPU, META, Concrete, Device, UnknownDevice, is_symbolic
from devlint.facts import Occurrence
from devlint.records import dataclass

SLOTS = 6
"""Accelerators share so many colours; indices beyond that begin again."""

_FIRST_SLOT = {"cuda": 0, "xpu": 3, "mps": 4}


@dataclass(frozen=True, slots=True, order=True)
class Tint:
    """A colour with its meaning.

    Attributes:
        rank: its place in the legend.
        name: what style sheets and tables of codes call it: "cpu", "a0" to "a5", "meta", "follows", "several",
            "unknown".
        label: the devices it stands for: `cuda:0`.
        meaning: the label for people who see it for the first time.
    """

    rank: int
    name: str
    label: str
    meaning: str


UNKNOWN = Tint(90, "unknown", "unknown", "devlint does not know, and is silent")
FOLLOWS = Tint(60, "follows", "follows an input", "wherever an input is, or a module that may be moved")
SEVERAL = Tint(70, "several", "several", "parts are on different devices, or paths differ")


def tint_of(seen: Occurrence) -> Tint:
    """Return the colour of a value, as far as its devices are known."""
    known = tuple(device for device in seen.devices if not isinstance(device, UnknownDevice))
    tints = {tint_of_device(device) for device in known}
    if not tints:
        return UNKNOWN
    return tints.pop() if len(tints) == 1 else SEVERAL


def tint_of_device(device: Device) -> Tint:
    """Return the colour of one device."""
    if is_symbolic(device):
        return FOLLOWS
    if not isinstance(device, Concrete):
        return UNKNOWN
    if device.type == CPU.type:
        return Tint(0, "cpu", "cpu", "the CPU")
    if device == META:
        return Tint(50, "meta", "meta", "no memory at all")
    index = device.index or 0
    slot = (_FIRST_SLOT.get(device.type, SLOTS - 1) + index) % SLOTS
    meaning = f"the current {device.type} device" if device.index is None else "an accelerator"
    return Tint(10 + slot, f"a{slot}", str(device), meaning)


def legend(seen: Iterable[Occurrence]) -> list[Tint]:
    """Return the colours in use, in the order of the legend."""
    return sorted({tint_of(each) for each in seen})
