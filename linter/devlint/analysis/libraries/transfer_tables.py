"""What a transfer function gets, one call of a library, and the tables that the files of `transfers/` fill."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from devlint.analysis.demand.callers import Doubt
from devlint.analysis.execution.frame import Frame
from devlint.analysis.values import devices, modules
from devlint.analysis.values.arguments import Arguments, ArgumentValue
from devlint.analysis.values.containers import allocate
from devlint.domain.device import Device, created_by
from devlint.domain.environment import Environment
from devlint.domain.heap import Object
from devlint.domain.kinds import OriginKind
from devlint.domain.provenance import Origin
from devlint.domain.value import Constant, DeviceValue, Rank, Reference, Tensor, Value
from devlint.facts import Fact, Step
from devlint.frontend.ir import Span
from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """One call of a library function, method or module; `receiver` is what a method is called on."""

    frame: Frame
    env: Environment
    name: str
    arguments: Arguments
    span: Span
    receiver: ArgumentValue | None = None

    def value(self, position: int, name: str) -> Value | None:
        """The value of an argument, None if it is not given."""
        given = self.arguments.get(position, name)
        return None if given is None else given.value

    def constant(self, position: int, name: str) -> object:
        """The constant an argument is, None if it is none."""
        value = self.value(position, name)
        return value.value if isinstance(value, Constant) else None

    def held(self, value: Value | None) -> Object | None:
        """The object a value refers to."""
        return self.env.heap.get(value.object) if isinstance(value, Reference) else None

    def device(self, given: ArgumentValue) -> DeviceValue:
        """The device an argument names, as a place to put something."""
        return devices.placed(self.frame, self.env, given.value, given.span)

    def default_device(self) -> Device:
        """Where factories create what is not told."""
        return devices.default_device(self.env)

    def created(self, device: DeviceValue | None, rank: Rank, default: Device | None = None) -> Tensor:
        """A tensor that this call creates."""
        place = device.device if device is not None else self.default_device() if default is None else default
        because = None if device is None else device.origin
        checked = device is not None and device.checked
        what = created_by(self.name, place)
        origin = self.frame.origin(what, self.span, OriginKind.CREATED, because, checked)
        return Tensor(place, rank, origin=origin)

    def allocate(self, what: str, made: Object) -> Reference:
        """Puts a new object into the heap."""
        return allocate(self.frame, self.env, self.span, what, made)

    def record(self, fact: Fact, doubts: tuple[Doubt, ...] = ()) -> None:
        """Records a fact about the call, as `Frame.record`; on a path without accelerators nothing can differ."""
        if not self.env.fallback:
            self.frame.record(self.span, fact, doubts)

    def steps(self, *origins: Origin | None) -> tuple[Step, ...]:
        """Events as steps of a trace."""
        place = self.frame.program.place
        return tuple(
            Step(place(event.file, event.span), event.what)
            for origin in origins
            if origin is not None
            for event in origin.steps()
        )

    def module_device(self, value: Value) -> tuple[Device, Origin | None]:
        """Where a module's parameters and buffers are, and why."""
        return modules.module_device(self.frame, self.env, value)


Transfer: TypeAlias = Callable[[LibraryCall], Value | None]
"""Takes a call and gives its result, None if the call does not return."""

FUNCTIONS: dict[str, Transfer] = {}
"""Functions, by qualified name."""

CONSTRUCTORS: dict[str, Transfer] = {}
"""Constructors, by qualified name of the class."""

MODULE_CALLS: dict[str, Transfer] = {}
"""Calls of a library's module, by qualified name of its class."""

TENSOR_METHODS: dict[str, Transfer] = {}
"""Methods of tensors, by name."""

OPTIMIZER_METHODS: dict[str, Transfer] = {}
"""Methods of optimizers, by name."""

OBJECT_METHODS: dict[str, Transfer] = {}
"""Methods of other objects of a library, by qualified name."""


def register(table: dict[str, Transfer], transfers: Mapping[str, Transfer]) -> None:
    """Add transfer functions to a table.

    Raises:
        ValueError: a name is in the table already.
    """
    known = table.keys() & transfers.keys()
    if known:
        raise ValueError(f"transfer functions are registered twice: {', '.join(sorted(known))}")
    table.update(transfers)
