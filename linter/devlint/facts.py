"""Facts: everything a rule may ask of the analysis, as plain data anchored to spans of the source.

The analysis records facts in one last pass over its finished fixpoint; a rule receives the facts of a node,
decides, and words a diagnostic. A fact names devices only through the domain's own notation, so rule, summary
and message print a device alike.
"""

from __future__ import annotations

from typing import TypeAlias

from devlint.diagnostics import Certainty, Place
from devlint.domain.device import CPU, Device
from devlint.domain.kinds import ConflictKind as ConflictKind
from devlint.domain.kinds import OriginKind as OriginKind
from devlint.domain.kinds import ParallelProblem as ParallelProblem
from devlint.domain.kinds import Spelling as Spelling
from devlint.domain.kinds import VisibilityProblem as VisibilityProblem
from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trace: what happened to a value, and where."""

    place: Place
    what: str


@dataclass(frozen=True, slots=True)
class Named:
    """What the source text calls a value at one place."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class Meeting:
    """One of two values that meet.

    Attributes:
        name: the source text that names it, shortened: `x`, `self.fc`, `torch.zeros(3)`.
        device: where it lives, in the domain's notation.
        place: where it stands in the operation.
        trace: how it got its device, oldest first; never empty.
        kind: how it came to have its device, for a rule to choose its words by.
        inside: what the operation itself calls it, where that is inside a called function.
        joined: it was computed with a tensor whose device nobody knows.
    """

    name: str
    device: Device
    place: Place
    trace: tuple[Step, ...]
    kind: OriginKind
    inside: Named | None = None
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two values that an operation requires on one device are not on one.

    Attributes:
        kind: which two values are on different devices; it says, too, which of them comes first.
        operation: the operation in words: `+`, `torch.cat`, `Linear.__call__`; for a tensor that escapes: "return",
            "yield", `self.x =` or the called function.
        first, second: the two values. For `HOST` and `CPU_ARGUMENT` the second is the CPU itself.
        certainty: see `Certainty`.
        message: what PyTorch says, without the exception class.
        via: the calls from the reported place on, outermost first, and the operation in the innermost one.
        arises_inside: the called function is wrong, and not the call.
        handing: how many of the innermost calls lead to the one that hands over both values as they are, and is wrong.
        led: the calls that lead to the reported operation, outermost first, where only a caller shows the conflict.
        other_calls: further calls that lead to the same conflict.
        others: further operands that are on the CPU as one of the two is, each for a reason of its own.
        witness: the call that hands over a tensor on an accelerator, when one of the two values is an argument.
    """

    kind: ConflictKind
    operation: str
    first: Meeting
    second: Meeting
    certainty: Certainty
    message: str
    via: tuple[Step, ...] = ()
    witness: Step | None = None
    arises_inside: bool = False
    handing: int = 0
    led: tuple[Step, ...] = ()
    other_calls: tuple[Place, ...] = ()
    others: tuple[Meeting, ...] = ()


@dataclass(frozen=True, slots=True)
class Built:
    """A function creates a module on the CPU and calls it with one of its arguments.

    Attributes:
        module: the construction as written, shortened.
        name: its input, or a value inside it that follows an argument.
        device: where that is.
        meets: where the two meet.
        in_forward: the function is the `forward` of a module.
    """

    module: str
    name: str
    device: Device
    meets: Place
    in_forward: bool


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """A module holds a tensor as a plain attribute, which no move reaches, and uses it with what does move.

    Attributes:
        attribute: `self.offset`.
        device: where it is: the CPU, or unknown if the module was given it.
        name: the other operand.
        meets: where.
        other: where that is.
    """

    attribute: str
    device: Device
    name: str
    other: Device
    meets: Place


@dataclass(frozen=True, slots=True)
class UnregisteredMembers:
    """A module holds modules or parameters in a plain container, which no move looks into.

    Attributes:
        attribute: `self.layers`.
        container: "list", "tuple", "dict".
        member: the class of the first of them: `Linear`, `Parameter`.
        made: where that was made.
    """

    attribute: str
    container: str
    member: str
    made: Step | None


@dataclass(frozen=True, slots=True)
class UnforwardedDevice:
    """A module that keeps its device is built without one, where there is one to give.

    Attributes:
        construction: as written, shortened.
        module: its class.
        attribute: where it keeps its device: `self.device`.
        device: the kept device: the CPU, or None.
    """

    construction: str
    module: str
    attribute: str
    device: Device | None


@dataclass(frozen=True, slots=True)
class IgnoredDevice:
    """A function never reads the device that it is given, and puts something on another one.

    Attributes:
        parameter: the name of its parameter.
        used: the device that it names instead: `self.device`.
        where: the parameter.
    """

    parameter: str
    used: str
    where: Place


@dataclass(frozen=True, slots=True)
class StaleOptimizer:
    """An optimizer steps, and its state is not where the parameters have been moved to in the meantime.

    Attributes:
        name: the optimizer as it is named.
        state: where its state is.
        parameters: where the parameters are.
        certainty: see `Certainty`.
        trace: what made the state, and what moved the parameters.
    """

    name: str
    state: Device
    parameters: Device
    certainty: Certainty
    trace: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class DiscardedMove:
    """The result of moving a tensor is thrown away; `method` is `to`, `cuda`, `cpu` …, `name` the tensor.

    Attributes:
        device, trace: where it should have gone, and how it got where it is.
        before: where it is; if one of the two only follows something, it may be at its goal already.
        needed: an operation behind it has a conflict because the tensor is still there.
        is_bound: the result gets the name of the tensor, a loop's variable, and nobody reads it.
    """

    name: str
    method: str
    device: Device
    trace: tuple[Step, ...]
    before: Device = CPU
    needed: bool = False
    is_bound: bool = False


@dataclass(frozen=True, slots=True)
class UncheckedDevice:
    """A CUDA device is used with no evidence on the way that it exists.

    Attributes:
        device: `cuda` or `cuda:N`, as written.
        written: how it is written.
        text: the source text, shortened.
        use: where it is first used, if that is elsewhere than where it is written.
        available: how many devices the machine has, where that is known; it is too few.
    """

    device: Device
    written: Spelling
    text: str
    use: Place | None
    available: int | None = None


@dataclass(frozen=True, slots=True)
class LostIndex:
    """A tensor that was brought from one GPU to the CPU goes back to the current GPU, which may be another.

    `name` is the tensor, `device` where it came from, `trace` how it got to the CPU.
    """

    name: str
    device: Device
    trace: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class VisibilityConflict:
    """CUDA_VISIBLE_DEVICES and the use of CUDA disagree.

    Attributes:
        problem: how they disagree.
        text: what the variable is set to, or what uses the device, as written.
        device, visible: the device that is used, and how many there are; None where CUDA has started already.
        related: where CUDA has started, or where the variable was set.
    """

    problem: VisibilityProblem
    text: str
    device: Device | None
    visible: int | None
    related: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class InvalidDevice:
    """A string or number that no device has; `message` is what PyTorch says."""

    text: str
    message: str


@dataclass(frozen=True, slots=True)
class UnmappedLoad:
    """A checkpoint is read to the devices that it was written from; `function` reads it."""

    function: str


@dataclass(frozen=True, slots=True)
class MissingAttribute:
    """`name.device` is read from a module, which has no such attribute; `owner` is its class."""

    name: str
    owner: str


@dataclass(frozen=True, slots=True)
class ParallelMisuse:
    """`DataParallel` or `DistributedDataParallel` and its module, ids or output device disagree.

    Attributes:
        wrapper: "DataParallel" or "DistributedDataParallel".
        problem: how they disagree.
        message: what PyTorch says, "" where it says nothing.
        ids: the ids or the output device as written, for the message.
        module: where the module is, if that is one device and matters.
        wanted: where the module should be.
        related: where module and wrapper got their devices.
        advice: the change to make.
    """

    wrapper: str
    problem: ParallelProblem
    message: str
    ids: str
    module: Device | None
    wanted: Device | None
    related: tuple[Step, ...]
    advice: str


@dataclass(frozen=True, slots=True)
class BackendMismatch:
    """A process group has no backend for its tensor.

    Attributes:
        backend: the only backend there is; "" if the program names none, so that it is `nccl` beside CUDA.
        name, device: the tensor and its device; "" and None where the backend itself finds no device.
        message: what PyTorch says.
        related: how the tensor or module got its device.
    """

    backend: str
    name: str
    device: Device | None
    message: str
    related: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class SyncInLoop:
    """Each turn of a training loop waits for the device.

    Attributes:
        text: what waits, as written.
        how: "" for a method that is called, else what reads the value: "print", "testing", "float" ….
        device: where the value is.
    """

    text: str
    how: str
    device: Device


@dataclass(frozen=True, slots=True)
class CreateThenMove:
    """A tensor is created on the CPU only to be moved; `factory` creates it, `method` moves it to `device`."""

    factory: str
    method: str
    device: Device


@dataclass(frozen=True, slots=True)
class LoopInvariantTransfer:
    """Each turn of a loop copies the same tensor to the same device."""

    name: str
    device: Device


@dataclass(frozen=True, slots=True)
class ReadBeforeSync:
    """The host reads a copy that nothing has waited for.

    `text` reads it, `how` as for `SyncInLoop`, `related` is the copy.
    """

    text: str
    how: str
    related: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class PinnedDeviceTensor:
    """Memory is to be pinned that is not the host's: `name` gives tensors on `device`; PyTorch says `message`."""

    name: str
    device: Device
    message: str
    related: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Reveal:
    """`reveal_device(value)` was executed; `text` is the value's device in the domain's notation."""

    text: str


Fact: TypeAlias = (
    Built
    | Conflict
    | LeftBehind
    | UnregisteredMembers
    | UnforwardedDevice
    | IgnoredDevice
    | StaleOptimizer
    | DiscardedMove
    | UncheckedDevice
    | LostIndex
    | VisibilityConflict
    | InvalidDevice
    | UnmappedLoad
    | MissingAttribute
    | ParallelMisuse
    | BackendMismatch
    | SyncInLoop
    | CreateThenMove
    | LoopInvariantTransfer
    | ReadBeforeSync
    | PinnedDeviceTensor
    | Reveal
)


@dataclass(frozen=True, slots=True)
class Anchored:
    """A fact and the stretch of source it belongs to, which is that of one syntax node."""

    place: Place
    fact: Fact


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A value at one place of the source, for people to look at; no rule asks for it.

    Attributes:
        place: the expression that has the value, or the name that is bound to it.
        anchor: the part of it that is the value's own: a name, the brackets of a call, an operator.
        kind: "tensor", "parameter", "buffer", "module", "device" (something that names one), "container".
        of: the class of a module, as people call it, or "".
        text: where it lives, in the domain's notation.
        devices: each device that it or a part of it lives on, once.
        trace: how it got there, oldest first; empty where that is not known.
        binds: the place is a name or attribute that is being bound.
    """

    place: Place
    anchor: Place
    kind: str
    of: str
    text: str
    devices: tuple[Device, ...]
    trace: tuple[Step, ...]
    binds: bool


@dataclass(frozen=True, slots=True)
class FileFacts:
    """All facts of one file, in source order; `environment` lists (line, place, value) for `devlint facts`.

    `occurrences` are there if they were asked for. The values are in the domain's notation. `elsewhere`
    has the conflicts that calls in this file show in other files, each at its operation.
    """

    facts: tuple[Anchored, ...] = ()
    environment: tuple[tuple[int, str, str], ...] = ()
    occurrences: tuple[Occurrence, ...] = ()
    elsewhere: tuple[Anchored, ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two values of a broken requirement.

    Attributes:
        name: as the text names it, shortened; "" for a value that is no operand in the text.
        place: where the operation names it; None likewise.
        where: its device in words, such as "the CPU" or "cuda:1"; "" for none. A text that names no device stands in
            quotes.
        decided: the place that decided its device; None for none.
        how: what the operation there does with the value, "moved" or "created"; else "".
        is_module: it is a module, and not a tensor.
    """

    name: str
    place: Place | None
    where: str
    decided: Place | None = None
    how: str = ""
    is_module: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """A requirement that is broken: what an operation needs, and the value to change.

    Attributes:
        code: of the rule.
        operation: as the text names it: `+`, `F.cross_entropy`, `table[…]`.
        call: the text of the operation, shortened: `net(x)`, `x.to(…)`.
        place: of the operation; for a device that is bound to a name, of the binding.
        culprit: the value to change.
        other: the value beside it; without a name, if the operation itself asks for a device.
        level: "certain", "on-accelerator", "likely" or "possible".
        machine: where the operation fails, "on a GPU" or "with two GPUs".
        attribute: the attribute that keeps the culprit unregistered, as `self.scale`; "" for none.
        calls: those that lead to the operation, outermost first.
    """

    code: str
    operation: str
    call: str
    place: Place
    culprit: Side
    other: Side
    level: str
    machine: str
    attribute: str = ""
    calls: tuple[Place, ...] = ()

    @property
    def fails(self) -> str:
        """The verb of a headline, which shows the level, with the machine unless the operation fails on each."""
        verb = {"likely": "likely fails", "possible": "may fail"}.get(self.level, "fails")
        return verb if self.level == "certain" else f"{verb} {self.machine}"
