"""The environment: what is known at one point of a program.

It maps names to values and, through the heap, objects to their state. Three things beside them:

* `checked`: on every path to this point the program has made sure that an accelerator is there.
* `fallback`: this point is reached only on a machine without one.
* what holds for the whole process: the current and the default device, and what `process.py` lists.

devlint asks what happens on a machine that has the accelerators a program asks for. So after

    if torch.cuda.is_available():
        device = "cuda"
    else:
        device = "cpu"

`device` is `cuda`: where a path with an accelerator and a fallback path join, the values of the former win, and
what differs between the two is marked as checked, for a choice has been made; the transfer function of conditional
expressions chooses alike. Two environments of one kind join
pointwise, as a lattice; across the two kinds the join is commutative and absorbs the fallback.

`join` returns a new environment; a transfer function owns the environment it is given and changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from itertools import compress, islice
from operator import is_, is_not
from typing import TypeAlias, TypeVar

from devlint.domain.device import CPU, Device, Variable
from devlint.domain.device import join as join_devices
from devlint.domain.heap import Heap, Object, join_heaps
from devlint.domain.kinds import ConflictKind
from devlint.domain.process import NOTHING_SETTLED, Process
from devlint.domain.process import join as join_processes
from devlint.domain.value import ObjectId, Opaque, Tensor, Value, chosen
from devlint.domain.value import join as join_values
from devlint.frontend.ir import Span
from devlint.records import dataclass

Pair: TypeAlias = tuple[ConflictKind, frozenset[Device]]
"""Two devices, and the kind of conflict that there is if they differ."""

Mends: TypeAlias = Mapping[ObjectId, tuple[Object, Object]]
"""Objects that reports ask to move: how a report found each, and how it is once it is moved."""


@dataclass(slots=True)
class Environment:
    """See the module's text.

    Attributes:
        names: local names (of a file: its globals) that are bound.
        heap: the state of every object.
        assumptions: what branch conditions have said of device variables.
        checked, fallback: see above.
        current: the index of the current CUDA device, None if not known.
        default: where factories create tensors that are not told.
        process: what the program has settled about its process.
        arriving: the copies to the CPU, by file and place, for which nothing has waited.
        always: this point is reached on every run that leaves the function normally.
        on_host: a test has found that something the surroundings decide is on the CPU.
        compared: the pairs of devices of which every path to this point asks that they agree, each with the kind of
            what asks it.
        mended: the objects that are here as the reports on the way ask for; see `findings.recovery`.
    """

    names: dict[str, Value] = field(default_factory=dict)
    heap: Heap = field(default_factory=Heap)
    assumptions: dict[Variable, Device] = field(default_factory=dict)
    checked: bool = False
    fallback: bool = False
    current: int | None = 0
    default: Device = CPU
    process: Process = NOTHING_SETTLED
    arriving: frozenset[tuple[str, Span]] = frozenset()
    always: bool = True
    on_host: bool = False
    compared: frozenset[Pair] = frozenset()
    mended: Mends = field(default_factory=dict)

    def copy(self) -> Environment:
        """An environment of one's own, equal to this one."""
        return Environment(
            self.names.copy(),
            self.heap.copy(),
            self.assumptions.copy(),
            self.checked,
            self.fallback,
            self.current,
            self.default,
            self.process,
            self.arriving,
            self.always,
            self.on_host,
            self.compared,
            self.mended,
        )

    def mend(self, mended: Mends) -> None:
        """Put objects where reports ask for them, if they still are as these reports found them."""
        for identity, (found, moved) in mended.items():
            if identity not in self.mended and self.heap.get(identity) == found:
                self.heap[identity] = moved
        self.mended = {**mended, **self.mended}

    def undo_mends(self, kept: Mends) -> None:
        """Put back the objects that no other mends than `kept` have moved, if nothing has changed them since."""
        for identity, (found, moved) in self.mended.items():
            if identity not in kept and self.heap.get(identity) == moved:
                self.heap[identity] = found
        self.mended = kept


def join(left: Environment | None, right: Environment | None) -> Environment | None:
    """The least environment above both; None is the unreached one."""
    if left is None:
        return None if right is None else right.copy()
    if right is None:
        return left.copy()
    if left.fallback != right.fallback:
        return _prefer(*((right, left) if left.fallback else (left, right)))
    left, right = alike_mended(left, right)
    return Environment(
        _join_names(left.names, right.names),
        join_heaps(left.heap, right.heap),
        {key: value for key, value in left.assumptions.items() if right.assumptions.get(key) == value},
        left.checked and right.checked,
        left.fallback,
        left.current if left.current == right.current else None,
        join_devices(left.default, right.default),
        join_processes(left.process, right.process),
        left.arriving & right.arriving,
        left.always and right.always,
        left.on_host and right.on_host,
        left.compared & right.compared,
        left.mended,
    )


def alike_mended(left: Environment, right: Environment) -> tuple[Environment, Environment]:
    """Return two environments with the mends of both: a change that a report asks for holds on all paths."""
    if left.mended == right.mended:
        return left, right
    mended, left, right = left.mended, left.copy(), right.copy()
    left.mend(right.mended)
    right.mend(mended)
    return left, right


def under_assumptions(env: Environment, value: Value) -> Value:
    """A value whose device variable is known to equal another one, on that other one.

    A variable that a branch has found to be one concrete device stays a variable: what holds of it holds there.
    """
    if isinstance(value, (Tensor, Opaque)) and isinstance(value.device, Variable):
        other = env.assumptions.get(value.device)
        if isinstance(other, Variable):
            return replace(value, device=other)
    return value


Key = TypeVar("Key")
Held = TypeVar("Held")


def apart(left: Mapping[Key, Held], right: Mapping[Key, Held]) -> Iterable[Key]:
    """Return the keys that both have, with different objects, in the order of `left`.

    Two environments that meet most often come from one and have its names in the same order. These are compared
    without a step of Python for each: a file may bind thousands of names, and have thousands of branches.
    """
    if all(map(is_, left, right)):
        return compress(left, map(is_not, left.values(), right.values()))
    return [key for key, held in left.items() if right.get(key, held) is not held]


def only_in(left: Mapping[Key, Held], right: Mapping[Key, Held]) -> Iterable[Key]:
    """Return the keys that the right side lacks, in the order of `left`."""
    if all(map(is_, left, right)):
        return islice(left, len(right), None)
    return [key for key in left if key not in right]


def _join_names(left: dict[str, Value], right: dict[str, Value]) -> dict[str, Value]:
    """Join pointwise; a name bound on one side only holds, where it is bound, what that side stored."""
    result = dict(left)
    for name in apart(left, right):
        result[name] = join_values(left[name], right[name])
    for name in only_in(right, left):
        result[name] = right[name]
    return result


def _prefer(accelerated: Environment, fallback: Environment) -> Environment:
    """The accelerated side; whatever the fallback side has otherwise was chosen by a check."""
    result = accelerated.copy()
    result.checked = accelerated.checked and fallback.checked
    ours, theirs = accelerated.names, fallback.names
    for name in (*apart(ours, theirs), *only_in(ours, theirs)):
        result.names[name] = chosen(ours[name], theirs.get(name))
    for name in only_in(theirs, ours):
        result.names[name] = theirs[name]
    return result
