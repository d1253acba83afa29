"""The device lattice: where one tensor may live.

                 Unknown                    any device; say nothing
         /     |      |      |
         |     |      |   Either()          some device that the surroundings choose
         |     |      |      |
         |     |      | Either(D, E)        one of these
         |     |      |    /   \\
       cpu  cuda:0  cuda:1 D     E          D, E: device variables, "the device of parameter x"
         \\     |      |     |   /
               Unreached                    no execution gets here

A `Concrete` device has a type and an index; `cuda` without an index is a CUDA device of which only the type is
known. A `Variable` stands for one device that the surroundings choose: two equal variables are one device, of
two different variables nothing is known. Where two variables join, the surroundings still choose: a value that is
on either of them fails to meet one that is always on the CPU, as soon as they choose an accelerator. Joining any
other two devices loses the device: unknown is silent.

Laws (tests/domain/test_laws.py): join is the least upper bound of a partial order. Chains are short, as `Either` lists
few variables, so join is also widen.
"""

from __future__ import annotations

import re
from typing import TypeAlias, TypeGuard

from devlint.domain.place import UNNAMED as UNNAMED
from devlint.domain.place import AccessPath, Fresh
from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Unreached:
    """No execution gets here."""

    def __str__(self) -> str:
        return "unreached"


@dataclass(frozen=True, slots=True)
class UnknownDevice:
    """Any device."""

    def __str__(self) -> str:
        return "unknown"


@dataclass(frozen=True, slots=True)
class Concrete:
    """One device; index None: some device of that type."""

    type: str
    index: int | None = None

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"


@dataclass(frozen=True, slots=True)
class Variable:
    """The device that a place of the surroundings has: that of `x`, that of `self.fc`."""

    place: AccessPath

    @property
    def root(self) -> str:
        """The name that the place begins with: `x` for `x['a'].device`; empty for the result of a call."""
        return self.place.root_name

    @property
    def value_place(self) -> AccessPath:
        """The place of the value whose device it is: `x[0]` for `x[0].device`."""
        return self.place.parent if self.place.is_attribute("device") else self.place

    @property
    def owner(self) -> str:
        """Whose device it is, for people: `x` for `x.device`; a device that an object keeps is told by its own name."""
        shown = str(self.place)
        whose = shown.removesuffix(".device")
        return shown if whose == "self" else whose

    @property
    def names_device(self) -> bool:
        """Whether the place is called a device, as `device` and `self.device` are, so that it is no value on one."""
        return self.owner.endswith("device")

    @property
    def is_unnamed(self) -> bool:
        """Whether no short text says whose device it is, such as that of `a if b else c`."""
        return isinstance(self.place.root, Fresh) and self.place.root.text == UNNAMED

    def __str__(self) -> str:
        return self.owner if self.names_device else f"device of {self.owner}"


@dataclass(frozen=True, slots=True)
class Either:
    """One of several device variables; of none when there are too many to list.

    `open`: it may be another device, too, unless all of the variables are the same accelerator.
    """

    variables: frozenset[Variable] = frozenset()
    open: bool = False

    def __str__(self) -> str:
        places = sorted(variable.owner for variable in self.variables)
        return f"device of {' or '.join(places)}" if places else "device of the inputs"


Device: TypeAlias = Unreached | Concrete | Variable | Either | UnknownDevice

_LONGEST_QUOTE = 60


def quoted(text: str) -> str:
    """Return source text in backquotes, on one line and cut where it gets long; `x[*]` reads "an element of `x`"."""
    line = " ".join(text.split())
    if line.endswith("[*]"):
        return f"an element of {quoted(line[:-3])}"
    line = line.replace("[*]", "[…]")
    if len(line) > _LONGEST_QUOTE:
        line = line[: _LONGEST_QUOTE - 1] + "…"
    return f"`{line}`"


def in_words(device: Device) -> str:
    """Return a device as it reads in a sentence: `cuda:0`, "the device of `x`", or "`device`"."""
    variables = variables_of(device)
    if variables and all(variable.is_unnamed for variable in variables):
        return "a device that the program chooses"
    if variables:
        places = " or ".join(sorted({_owner_in_words(variable) for variable in variables}))
        return places if all(variable.names_device for variable in variables) else f"the device of {places}"
    return "the device that callers choose" if device == CHOSEN_BY_CALLER else str(device)


def created_by(operation: str, device: Device) -> str:
    """Return what an operation has created, as a step of a trace: "created on the CPU by `torch.ones`"."""
    where = {CPU: "the CPU", UNKNOWN_DEVICE: "an unknown device"}.get(device) or in_words(device)
    return f"created on {where} by `{operation}`"


def _owner_in_words(variable: Variable) -> str:
    """Return the owner of a device in words; "the accelerator" is no source text."""
    owner = variable.owner
    if variable.is_unnamed:
        return "a value without a name"
    if owner.startswith("the "):
        return owner
    if owner.endswith("[*]"):
        return f"the elements of {quoted(owner[:-3])}"
    return f"the result of {quoted(owner)}" if owner.endswith("()") else quoted(owner)


UNREACHED = Unreached()
UNKNOWN_DEVICE = UnknownDevice()
CHOSEN_BY_CALLER = Either(open=True)
CPU = Concrete("cpu")
META = Concrete("meta")

DEVICE_TYPES = tuple(
    "cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia "
    "privateuseone".split()
)
"""The types `torch.device` accepts (the list in its own error message, torch 2.13)."""

_PATTERN = re.compile(r"([a-z_]+)(?::(0|[1-9][0-9]*))?")


MOST_VARIABLES = 4
"""Of more variables than this it is only known that it is some of the surroundings' choice."""


def is_symbolic(device: Device) -> TypeGuard[Variable | Either]:
    """Whether the surroundings choose the device."""
    return isinstance(device, (Variable, Either))


def variables_of(device: Device) -> frozenset[Variable]:
    """The device variables that a device may be, as far as they are known."""
    match device:
        case Variable():
            return frozenset((device,))
        case Either(variables=variables):
            return variables
        case _:
            return frozenset()


def join(left: Device, right: Device) -> Device:
    """The least device above both."""
    if left == right or isinstance(right, Unreached):
        return left
    if isinstance(left, Unreached):
        return right
    if is_symbolic(left) and is_symbolic(right):
        variables = variables_of(left) | variables_of(right)
        listed = CHOSEN_BY_CALLER not in (left, right) and len(variables) <= MOST_VARIABLES
        return Either(variables, _is_open(left) or _is_open(right)) if listed else CHOSEN_BY_CALLER
    return UNKNOWN_DEVICE


def _is_open(device: Device) -> bool:
    """Whether the device may be another one than the variables that it names."""
    return isinstance(device, Either) and device.open


def opened(device: Device) -> Device:
    """Return the device of a result such as `x * y`, if `x` is on `device` and `y` is unknown.

    With `x` on an accelerator, PyTorch puts the result there. With `x` on the CPU, the result follows `y`.
    """
    match device:
        case Variable() | Either():
            return Either(variables_of(device), open=True)
        case Concrete(type=type_) if type_ != "cpu":
            return device
        case Unreached():
            return device
        case _:
            return UNKNOWN_DEVICE


def differ(left: Device, right: Device) -> bool:
    """Whether the two are certainly different devices.

    An index that is not known may be any; the CPU has one device whatever its index.
    """
    if not isinstance(left, Concrete) or not isinstance(right, Concrete):
        return False
    if left.type != right.type:
        return True
    return left.type != "cpu" and None not in (left.index, right.index) and left.index != right.index


def parse(text: str) -> Concrete | None:
    """The device a string denotes, or None if `torch.device` refuses it."""
    match = _PATTERN.fullmatch(text)
    if match is None or match[1] not in DEVICE_TYPES:
        return None
    return Concrete(match[1], None if match[2] is None else int(match[2]))


def complaint(text: str) -> str:
    """What `torch.device` says of a string that `parse` refuses (torch 2.13)."""
    if not text:
        return "Device string must not be empty"
    kind = re.match(r"([a-zA-Z_]+)(:(0|[1-9][0-9]*))?$", text)
    if kind is not None and kind[1] not in DEVICE_TYPES:
        listed = ", ".join(DEVICE_TYPES)
        return f"Expected one of {listed} device type at start of device string: {kind[1]}"
    return f"Invalid device string: '{text}'"
