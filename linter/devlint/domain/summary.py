"""Summaries: what calling a function of the program does, said in terms of its parameters.

A summary is made once for each *entry*: the pattern of arguments that are constants or known devices, while tensors,
modules and everything else stay symbolic. Of the constants, only those count that the body asks about, so
`try_gpu(1)` and `try_gpu(2)` have a summary each, and `log(x, "a")` and `log(x, "b")` share one. A summary has
the parts of a signature: *requires* (devices that must agree) and *returns*, and says what a call changes of the
program's own state, such as the current device.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from devlint.domain.body import Point, Side
from devlint.domain.device import Device
from devlint.domain.environment import Pair
from devlint.domain.given_object import PassedObject, Store
from devlint.domain.heap import DictObject, Instance, ListObject, Object
from devlint.domain.kinds import ConflictKind, Exemption, OperandRole
from devlint.domain.place import AccessPath
from devlint.domain.process import NOTHING_SETTLED, Process
from devlint.domain.provenance import CpuOnOnePath, Origin
from devlint.domain.value import DeviceValue, ObjectId, Rank, Value
from devlint.frontend.ir import Function, Span
from devlint.records import dataclass

Held: TypeAlias = Value | ListObject | DictObject | Instance
"""What a body begins with in a parameter: a value, or a list, dict or object as such."""

Entry: TypeAlias = Mapping[str, Held | PassedObject]
"""What a summary is made for: arguments by parameter. An object of the caller answers questions."""


@dataclass(frozen=True, slots=True)
class OwnerModule:
    """The module through whose parameters and buffers a value is met.

    Attributes:
        made: the event of its construction, None where that is not seen.
        criterion: it is a loss or a metric.
    """

    made: Origin | None = None
    criterion: bool = False


ARGUMENT = "argument"
"""What stands for the name of a parameter that is not known."""


@dataclass(frozen=True, slots=True)
class AtOperation:
    """How an operation itself names an operand, and where it stands there.

    `is_argument`: the last call has handed over this value as an argument of its own, or the module that registers it.
    """

    name: str
    span: Span
    file: str
    is_argument: bool = False


@dataclass(frozen=True, slots=True)
class Operand:
    """One of the values of a requirement; see `devlint.facts.Meeting`.

    Attributes:
        exemption: which tensors the operation takes from another device on this side.
        certain: it is known to be a tensor or a module, not a number.
        parameter: the name of the operation's parameter.
        file: the display path of the file that `span` is in.
        role: its part in the operation.
        module: the module it is met through, if it is one.
        stray: as for a tensor: how it was created on the CPU, on one of the paths that lead here.
        batch: the place of what a loop takes one by one, if this is a part of it.
        inside: where a call has put the caller's value in its place: how the operation names it.
        object: the object that it is, if it is a module.
    """

    name: str
    device: Device
    rank: Rank
    span: Span
    origin: Origin | None
    exemption: Exemption = Exemption.NONE
    certain: bool = True
    parameter: str = ARGUMENT
    role: OperandRole = OperandRole.OPERAND
    module: OwnerModule | None = None
    file: str = ""
    stray: CpuOnOnePath | None = None
    batch: AccessPath | None = None
    inside: AtOperation | None = None
    object: ObjectId | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """These two must go together, at `span` of `file`; kind as for a conflict.

    Attributes:
        always: every call comes there, whatever branches it takes.
        met: the body itself has found the two apart. A call of a function reports no other ones, unless `always`.
        calls: the calls that have led to it so far, each with its file, the innermost first.
        handing: the number of innermost calls, up to the outermost that hands over both values. A call of an object's
            own method does not count.
        arises_inside: a later call does not hand over both values. This call is right, and the called function wrong.
        points: where it is in the body that found it, and where that body has made or moved its values; none if other
            calls lead there than those that are seen.
    """

    kind: ConflictKind
    operation: str
    first: Operand
    second: Operand
    message: str
    file: str
    span: Span
    always: bool
    met: bool = False
    calls: tuple[tuple[str, Span], ...] = ()
    handing: int = 0
    arises_inside: bool = False
    points: tuple[Point, ...] = ()

    @property
    def pair(self) -> Pair:
        """The devices of the two sides, and the kind of the requirement."""
        return self.kind, frozenset((self.first.device, self.second.device))


@dataclass(frozen=True, slots=True)
class Summary:
    """What a call does.

    Attributes:
        returns: the result; None when the function never returns.
        requires: what must agree, among devices that depend on the arguments.
        heap: objects of the parameters that changed, and new objects that the result can reach.
        default: where factories create tensors from then on; None: as before.
        current: the index of the current CUDA device from then on; "kept": as before.
        uses: CUDA devices among the arguments that are used with nothing made sure of.
        process: what the call settles about the process.
        checks: the call returns only where an accelerator is known to be there.
        default_device_callees: functions that are called under a default device other than their file's.
        touches_devices: something is met on the way that is on a device, names one or cannot be followed.
        called: the parameters that are called, or have a method called.
        tested: the parameters, and the places in them, that decide a branch or an operation, but not for this entry.
        skipped: the sides of branches that a known test has left out, each time that the test was made.
        is_whole: it says all that happens to objects: those that were there before stay as they are.
        stores: the attributes that the call stores in the objects that it passes.
        escaped: those of these objects that the function passes on to code that nobody follows.
        needs_object: there is no summary for objects such as this; each call executes the body with its own object.
    """

    returns: Value | None
    requires: tuple[Requirement, ...] = ()
    heap: tuple[tuple[ObjectId, Object], ...] = ()
    checks: bool = False
    default: Device | None = None
    current: int | str | None = "kept"
    uses: tuple[DeviceValue, ...] = ()
    process: Process = NOTHING_SETTLED
    default_device_callees: frozenset[Function] = frozenset()
    touches_devices: bool = False
    called: frozenset[AccessPath] = frozenset()
    tested: frozenset[AccessPath] = frozenset()
    skipped: frozenset[Side] = frozenset()
    is_whole: bool = True
    stores: tuple[Store, ...] = ()
    escaped: frozenset[AccessPath] = frozenset()
    needs_object: bool = False
