"""Applying a device signature: which device does each of its variables stand for, and do all who name it agree.

For each device variable the values that name it form a group. Those that may be a 0-dim tensor on the CPU, and
whose parameter exempts it, are set aside; the others must be on one device. Two different concrete devices are a
conflict. One that is pinned to the CPU and one that follows its surroundings are a conflict as soon as those are
an accelerator. Two that both follow something are a requirement, which the summary passes on to every caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import reduce

from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import conflicts, recovery
from devlint.analysis.libraries import ranks
from devlint.analysis.libraries.unify import Gathered
from devlint.analysis.values import operands
from devlint.analysis.values.arguments import BoundArguments
from devlint.analysis.values.containers import allocate
from devlint.analysis.values.devices import check_default, default_device
from devlint.domain.device import (
    CPU,
    META,
    UNKNOWN_DEVICE,
    Concrete,
    Device,
    UnknownDevice,
    Unreached,
    created_by,
    is_symbolic,
    join,
    opened,
)
from devlint.domain.environment import Environment
from devlint.domain.heap import LibraryObject, ListObject
from devlint.domain.kinds import Exemption, OperandRole, OriginKind
from devlint.domain.provenance import OTHERS, CpuOnOnePath, Origin
from devlint.domain.summary import Operand
from devlint.domain.value import (
    NUMBER,
    SOME_DIMENSIONS,
    UNKNOWN,
    Constant,
    DeviceValue,
    Host,
    Rank,
    Tensor,
    TupleValue,
    Value,
)
from devlint.frontend.ir import Span
from devlint.records import dataclass
from devlint.torchlib.knowledge import TOGETHER
from devlint.torchlib.signature import (
    ArrayTerm,
    DeviceTerm,
    InstanceTerm,
    ListTerm,
    NoneTerm,
    NumberTerm,
    SelfTerm,
    Signature,
    TensorTerm,
    Terms,
    TupleTerm,
)

FIXED: dict[str, Device] = {
    "cpu": CPU,
    "host": CPU,
    "any": UNKNOWN_DEVICE,
    "cuda": Concrete("cuda"),
    "meta": META,
}
"""Words of the notation that name a device instead of a variable."""

ON_CPU = {"cpu": OperandRole.CPU, "host": OperandRole.HOST}
"""Those of them that want an operand on the CPU, and why."""

_KEPT = ("R", "broadcast")
"""What the notation calls the rank of a result that has at least the dimensions of each operand."""

LONGEST_GROUP = 8
"""Of a longer list of tensors only the first so many are compared pair by pair."""


@dataclass(slots=True)
class Application:
    """One application of a signature to arguments.

    Attributes:
        operation: the operation in words, for messages.
        span: the whole operation.
        given: what its arguments say.
        bound: its arguments by parameter.
        settled: the device that each variable stands for, as far as anything decides it; `origins` say why, and
            `strays` what else it may be.
        apart: the variable whose operands do not agree, if a conflict of them is reported.
    """

    frame: Frame
    env: Environment
    operation: str
    span: Span
    given: Gathered = field(init=False)
    bound: BoundArguments = field(default_factory=dict)
    settled: dict[str, Device] = field(default_factory=dict)
    origins: dict[str, Origin | None] = field(default_factory=dict)
    strays: dict[str, CpuOnOnePath | None] = field(default_factory=dict)
    apart: str | None = None

    def __post_init__(self) -> None:
        self.given = Gathered(self.frame, self.env)

    def run(
        self, signature: Signature, bound: BoundArguments, receiver: Value | None = None, *, exact: bool = True
    ) -> Value:
        """Gathers the arguments, settles each group, and returns the result's value.

        Without `exact` there are arguments that could not be counted.
        """
        given = self.given
        self.bound = bound
        for parameter in signature.parameters:
            for argument in bound.get(parameter.name, ()):
                given.take(parameter.name, parameter.terms, argument.value, argument.span)
            given.count_sizes(parameter.terms, len(bound.get(parameter.name, ())))
            if not bound.get(parameter.name) and parameter.default is not None:
                for term in parameter.terms:
                    if isinstance(term, DeviceTerm):
                        given.defaults[term.variable] = parameter.default
        if not exact:
            given.ranks = {name: SOME_DIMENSIONS if rank else None for name, rank in given.ranks.items()}
        if "DEFAULT" in given.defaults.values():
            check_default(self.frame, self.env, self.span)
        self.settled.update(given.settled)
        self.origins.update(given.origins)
        for variable, sides in given.groups.items():
            if variable not in FIXED:
                self.settle(variable, sides)
            elif variable in ON_CPU:
                for side in sides:
                    conflicts.find_on_cpu(self.frame, self.env, self.operation, self.span, side, ON_CPU[variable])
        for variable, generators in given.generators.items():
            self.check_generators(variable, generators)
        if any(argument.value == Constant(True) for argument in bound.get("pin_memory", ())):
            made = replace(self.made("E"), name=self.frame.text(self.span))
            conflicts.find_on_cpu(self.frame, self.env, "pin_memory", self.span, made, OperandRole.CPU)
        return self.result(signature.returns, receiver)

    # --- agreement ------------------------------------------------------------------------------------------

    def settle(self, variable: str, sides: Sequence[Operand]) -> None:
        """Finds the device a group agrees on, and records who does not agree."""
        firm = [side for side in _exempted(sides) if not operands.is_exempt(side)]
        stray = _stray(firm)
        whole = stray is not None and stray.subject == OTHERS and self.operation in TOGETHER
        self.strays[variable] = None if whole else stray
        # On the fallback path there is no accelerator to differ from.
        compared = [] if self.env.fallback else firm[:LONGEST_GROUP]
        if conflicts.find(self.frame, self.env, self.operation, self.span, compared):
            self.apart = variable
            self.settled[variable], self.origins[variable] = recovery.result(compared)
            self.strays[variable] = None
            return
        operands.note_joined(self.frame, self.env, self.span, compared)
        sure = [side for side in firm if not operands.may_be_exempt(side)]
        known = [side for side in sure if not isinstance(side.device, UnknownDevice)]
        if known:
            self.settled.setdefault(variable, known[0].device)
            self.origins.setdefault(variable, known[0].origin)
        elif firm:
            self._settle_unsure(variable, sure or firm)
        elif sides:
            self.settled.setdefault(variable, sides[0].device)
            self.origins.setdefault(variable, sides[0].origin)

    def made(self, variable: str) -> Operand:
        """What the operation makes on a device, as a side that stands where the device is named."""
        span = self.given.device_spans.get(variable, self.span)
        name, file = self.frame.text(span), self.frame.file
        return Operand(name, self.device(variable), SOME_DIMENSIONS, span, self.origin(variable), file=file)

    def check_generators(self, variable: str, generators: Sequence[Operand]) -> None:
        """Records a generator for another type of device than that of the numbers drawn from it."""
        sides = self.given.groups.get(variable, ())
        drawn = sides[0] if sides else self.made(variable)
        if not self.env.fallback:
            for generator in generators:
                conflicts.find(self.frame, self.env, self.operation, self.span, (drawn, generator))

    def _settle_unsure(self, variable: str, sides: Sequence[Operand]) -> None:
        """The device of a group in which everything may be a 0-dim tensor on the CPU, which does not decide it.

        One that is on the CPU, whatever its rank, leaves the choice to those that follow something. As soon as one
        of these is on an accelerator, all that is not 0-dim is there, and so is the result.
        """
        following = [side for side in sides if side.certain and is_symbolic(side.device)]
        others = [side for side in sides if side not in following and (not following or side.device != CPU)]
        device = reduce(join, (side.device for side in (*following, *others)))
        if following and isinstance(device, UnknownDevice):
            device = opened(reduce(join, (side.device for side in following)))
        self.settled.setdefault(variable, device)
        self.origins.setdefault(variable, (following or sides)[0].origin)

    def device(self, variable: str) -> Device:
        """What a variable of the signature stands for."""
        if variable in FIXED:
            return FIXED[variable]
        if variable in self.settled:
            return self.settled[variable]
        match self.given.defaults.get(variable, variable):
            case "DEFAULT" | "None":
                return default_device(self.env)
            case "CPU":
                return CPU
            case "CURRENT":
                return Concrete("cuda", self.env.current)
            case source if source and source != variable and source.isidentifier():
                return self.device(source)
            case _:
                return UNKNOWN_DEVICE

    def origin(self, variable: str) -> Origin:
        """Why a result on that variable's device is there."""
        made = self.origins.get(variable)
        asked = self.given.device_values.get(variable)
        if asked is not None:
            return self._created(asked.device, asked.origin, checked=asked.checked)
        if made is not None:
            return made
        source = self.given.defaults.get(variable, "")
        if source.isidentifier() and source in self.origins:
            return self.origin(source)
        return self._created(self.device(variable))

    def _created(self, device: Device, because: Origin | None = None, *, checked: bool = False) -> Origin:
        what = created_by(self.operation, device)
        made = self.frame.origin(what, self.span, OriginKind.CREATED, because, checked)
        return replace(made, is_empty=True) if ranks.is_zero(self.env, self.bound) else made

    def of_object(self, terms: Terms, held: LibraryObject) -> Value:
        """An attribute of such a type, of an object that is on the device D; who uses it knows that it is not None."""
        self.settled["D"] = UNKNOWN_DEVICE if isinstance(held.device, Unreached) else held.device
        self.origins["D"] = held.origin
        return self.result(tuple(term for term in terms if not isinstance(term, NoneTerm)), None)

    # --- result ---------------------------------------------------------------------------------------------

    def rank(self, rank: int | str | None) -> Rank:
        """What a rank of the signature stands for."""
        match rank:
            case None | int():
                return rank
            case str() if rank in ranks.RULES:
                return ranks.RULES[rank](self.env, self.given.operand_ranks, self.bound)
            case str() if rank.isidentifier():
                sizes = self.given.sizes.get(rank)
                single = bool(sizes) and set(sizes or ()) == {Constant(1)}
                return SOME_DIMENSIONS if single else self.given.ranks.get(rank)
            case _:
                name, sign, number = rank.split()
                known = self.given.ranks.get(name)
                if sign == "-":
                    return known - int(number) if known is not None and known >= int(number) else None
                return SOME_DIMENSIONS if known in (None, 0, SOME_DIMENSIONS) else known + int(number)

    def result(self, terms: Terms, receiver: Value | None) -> Value:
        """The value that a return type describes."""
        if len(terms) != 1:
            return UNKNOWN
        match terms[0]:
            case TensorTerm(device=device, rank=rank):
                known, stray = self.rank(rank), self.strays.get(device)
                if stray is not None:
                    kept = stray.rank if rank in _KEPT else None
                    stray = replace(stray, rank=kept if known is None else known)
                return Tensor(self.device(device), known, origin=self.origin(device), stray=stray)
            case TupleTerm(items=items, names=names):
                return TupleValue(tuple(self.result(item, receiver) for item in items), names)
            case ListTerm(element=element):
                each = self.result(element, receiver)
                return allocate(self.frame, self.env, self.span, "list", ListObject(None, each))
            case InstanceTerm(cls=cls, device=device):
                made = LibraryObject(cls, self.device(device), self.origin(device))
                return allocate(self.frame, self.env, self.span, cls, made)
            case DeviceTerm(variable=variable):
                return DeviceValue(self.device(variable), True, self.origins.get(variable))
            case NumberTerm():
                return NUMBER
            case ArrayTerm(rank=rank):
                return Host("array", self.rank(rank))
            case NoneTerm():
                return Constant(None)
            case SelfTerm() if receiver is not None:
                return self._written(receiver)
            case _:
                return UNKNOWN

    def _written(self, receiver: Value) -> Value:
        """What an operation returns that writes to its receiver: behind a conflict, it is where the report asks for."""
        if self.apart is None or not isinstance(receiver, Tensor):
            return receiver
        return replace(receiver, device=self.device(self.apart), origin=self.origins[self.apart], stray=None)


def _stray(firm: Sequence[Operand]) -> CpuOnOnePath | None:
    """What the result is on the path where one operand was created on the CPU: there too, if the others agree.

    One without dimensions leaves the choice to others that may be somewhere.
    """
    for side in firm:
        if side.stray is not None:
            others = [other.device for other in firm if other is not side and other.certain]
            rank = side.stray.rank if side.rank is None else side.rank
            decides = not others or (bool(rank) and all(isinstance(device, UnknownDevice) for device in others))
            return side.stray if decides else None
    return None


def _exempted(sides: Sequence[Operand]) -> list[Operand]:
    """The sides with exemptions that depend on what comes before made plain.

    `FOLLOWS`: the first tensor that is not on the CPU decides for all, so if it has no dimensions, it is not exempt.
    One whose device the surroundings choose decides as soon as they choose an accelerator (`DECIDES`).
    """
    found = []
    for position, side in enumerate(sides):
        if side.exemption is Exemption.FOLLOWS:
            first = operands.is_accelerator(side.device) and all(one.device == CPU for one in sides[:position])
            other = Exemption.DECIDES if is_symbolic(side.device) else Exemption.ANY
            side = replace(side, exemption=Exemption.NONE if first else other)
        found.append(side)
    return found
