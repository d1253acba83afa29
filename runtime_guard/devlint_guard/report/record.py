"""The record of a guarded run: plain data that reports are written from and read back into."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from devlint_guard.finding import Finding, Place


class Direction(enum.Enum):
    """Where the bytes of a transfer go."""

    TO_DEVICE = "host to device"
    TO_HOST = "device to host"
    PEER = "device to device"
    NONE = "synchronisation"


@dataclass(frozen=True, slots=True)
class InSteps:
    """The steps in which a line has transferred something.

    Attributes:
        first, last: their numbers, from 0.
        count: how many steps these are.
        most: the largest number of times in one of them.
    """

    first: int
    last: int
    count: int
    most: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """What one line of the user's code has transferred in one way, over the whole run.

    Attributes:
        place: the line; None without a line of the user.
        source: its text.
        direction: where to.
        by: what does it: `copy`, `item()`, `index`.
        count: how many times.
        bytes: in all.
        waits: how many times the host has waited for the device, or may have.
        implicit: nothing in the line asks for a transfer.
        same: how many times the line has copied one tensor, unchanged, to one device; 0 for what is no copy.
        steps: when; None where no steps are counted.
    """

    place: Place | None
    source: str
    direction: Direction
    by: str
    count: int
    bytes: int
    waits: int
    implicit: bool = False
    same: int = 0
    steps: InSteps | None = None


def added(transfers: Iterable[Transfer]) -> tuple[Transfer, ...]:
    """Transfers of one line in one way, of several functions or of several processes, as one; the most bytes first."""
    found: dict[object, Transfer] = {}
    for one in transfers:
        key = (one.place, one.source, one.direction, one.by, one.implicit)
        known = found.get(key)
        if known is not None:
            one = replace(
                known,
                count=known.count + one.count,
                bytes=known.bytes + one.bytes,
                waits=known.waits + one.waits,
                same=max(known.same, one.same),
                steps=_joined(known.steps, one.steps),
            )
        found[key] = one
    return tuple(sorted(found.values(), key=_order))


def _order(transfer: Transfer) -> tuple[object, ...]:
    where = ("", 0) if transfer.place is None else (transfer.place.file, transfer.place.line)
    return (-transfer.bytes, -transfer.count, where, transfer.direction.value, transfer.by)


def _joined(one: InSteps | None, other: InSteps | None) -> InSteps | None:
    if one is None or other is None:
        return one or other
    return InSteps(
        min(one.first, other.first),
        max(one.last, other.last),
        max(one.count, other.count),
        max(one.most, other.most),
    )


@dataclass(frozen=True, slots=True)
class Held:
    """A tensor that a module holds itself.

    Attributes:
        role: `parameter`, `buffer` or `unregistered attribute`.
        detail: dtype and shape.
        bytes: the size of its elements, also if it has no data.
    """

    name: str
    role: str
    device: str
    detail: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Part:
    """A module in the tree of modules.

    Attributes:
        name: that of a root, or the attribute that its parent has it in.
        kind: the name of its class.
        tensors: its own, without those of its submodules.
        parts: the modules inside.
    """

    name: str
    kind: str
    tensors: tuple[Held, ...] = ()
    parts: tuple[Part, ...] = ()

    def held(self) -> Iterator[Held]:
        """All tensors, of modules inside too."""
        yield from self.tensors
        for part in self.parts:
            yield from part.held()


@dataclass(frozen=True, slots=True)
class Program:
    """The program that was guarded, and its end.

    Attributes:
        script: its file, or the file of the module that was run, as reports show it.
        arguments: what it was given.
        seconds: how long it was guarded.
        ended: `finished`, `exit code 3`, or the first line of the error that has ended it.
    """

    script: str
    arguments: tuple[str, ...] = ()
    seconds: float = 0.0
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Allowed:
    """A finding that the program allows.

    Attributes:
        finding: it, with the number of times.
        reason: why it is allowed; empty where nobody has said.
    """

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How a rehearsed run has ended; `Program` has the command and the time.

    Attributes:
        devices: the number of pretended devices.
        steps: the number of steps that the program's optimizers took.
        outcome: `judged`, `device-error`, `not-all-judged` or `failed`.
        exit_code: the code for the outcome.
        ending: the outcome in words.
        error: the class and the text of the exception that ended the program; empty without one.
        not_judged: a sentence for each thing that was not judged.
        device_type: the type of the pretended devices.
    """

    devices: int
    steps: int
    outcome: str
    exit_code: int
    ending: str
    error: str
    not_judged: tuple[str, ...]
    device_type: str = "cuda"


def machine(devices: int, device_type: str) -> str:
    """Return a pretended machine in words."""
    number = "1 GPU" if devices == 1 else f"{devices} GPUs"
    return f"a simulated machine with {number}" + ("" if device_type == "cuda" else f" of the type {device_type}")


@dataclass(frozen=True, slots=True)
class Record:
    """One run of one process, or of several in one job.

    Attributes:
        torch, python: versions.
        devices: the accelerators that the process had in use, `cuda:0 (NVIDIA H200)`.
        program: None before its end.
        config: the guard's options, as they were given.
        steps: how many training steps, or root calls, it saw.
        ranks: of the processes that it is about; empty in a job of one process.
        processes: how many the job has.
        findings: those that are not allowed.
        suspects: what may become a mismatch: on entry, and around calls that failed.
        allowed: the findings that are allowed.
        transfers: the ledger's.
        roots: the trees of the modules that were guarded.
        used_gpu: whether a tensor may have been on an accelerator, so that the run can show mistakes.
        rehearsal: the end of the run, if it was rehearsed.
    """

    torch: str
    python: str
    devices: tuple[str, ...] = ()
    program: Program | None = None
    config: Mapping[str, object] = field(default_factory=dict)
    steps: int = 0
    ranks: tuple[int, ...] = ()
    processes: int = 1
    findings: tuple[Finding, ...] = ()
    suspects: tuple[Finding, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    roots: tuple[Part, ...] = ()
    used_gpu: bool = True
    rehearsal: Rehearsal | None = None
