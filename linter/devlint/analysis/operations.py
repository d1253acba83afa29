"""Applying a device signature: which device does each of its variables stand for, and do all who name it agree.

For each device variable the values that name it form a group. Those that may be a 0-dim tensor on the CPU, and
whose parameter exempts it, are set aside; the others must be on one device. Two different concrete devices are a
conflict. One that is pinned to the CPU and one that follows its surroundings are a conflict as soon as those are
an accelerator. Two that both follow something are a requirement, which the summary passes on to every caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from devlint.analysis import conflicts, placement
from devlint.analysis.arguments import Bound
from devlint.analysis.containers import allocate, elements_of, items_of
from devlint.analysis.devices import default_device, placed
from devlint.analysis.frame import Frame
from devlint.domain.device import CPU, META, UNKNOWN_DEVICE, Concrete, Device, UnknownDevice, Unreached, Variable
from devlint.domain.environment import Environment
from devlint.domain.heap import LibraryObject
from devlint.domain.heap import Sequence as SequenceObject
from devlint.domain.provenance import Origin
from devlint.domain.summary import Side
from devlint.domain.value import (
    ARRAY,
    NUMBER,
    SHAPE,
    SOME_DIMENSIONS,
    UNKNOWN,
    Constant,
    DeviceValue,
    Kind,
    Opaque,
    Rank,
    Reference,
    Tensor,
    Tuple,
    Value,
    is_host,
)
from devlint.frontend.ir import Span
from devlint.torchlib.signature import (
    ArrayTerm,
    DeviceTerm,
    ListTerm,
    ModuleTerm,
    NoneTerm,
    NumberTerm,
    ObjectTerm,
    ScalarTerm,
    SelfTerm,
    Signature,
    SizeTerm,
    TensorTerm,
    Terms,
    TupleTerm,
)

FIXED: dict[str, Device] = {"cpu": CPU, "any": UNKNOWN_DEVICE, "cuda": Concrete("cuda"), "meta": META}
"""Words of the notation that name a device instead of a variable."""

LONGEST_GROUP = 8
"""Of a longer list of tensors only the first so many are compared pair by pair."""


@dataclass(slots=True)
class Application:
    """One application of a signature to arguments.

    Attributes:
        operation: the operation in words, for messages.
        span: the whole operation.
    """

    frame: Frame
    env: Environment
    operation: str
    span: Span
    groups: dict[str, list[Side]] = field(default_factory=dict)
    settled: dict[str, Device] = field(default_factory=dict)
    origins: dict[str, Origin | None] = field(default_factory=dict)
    device_values: dict[str, DeviceValue] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    ranks: dict[str, Rank] = field(default_factory=dict)
    operand_ranks: list[Rank] = field(default_factory=list)

    def run(self, signature: Signature, bound: Bound, receiver: Value | None = None, *, exact: bool = True) -> Value:
        """Gathers the arguments, settles each group, and returns the result's value.

        Without `exact` there are arguments that could not be counted.
        """
        for parameter in signature.parameters:
            for given in bound.get(parameter.name, ()):
                self.take(parameter.name, parameter.terms, given.value, given.span)
            if not bound.get(parameter.name) and parameter.default is not None:
                for term in parameter.terms:
                    if isinstance(term, DeviceTerm):
                        self.defaults[term.variable] = parameter.default
        if not exact:
            self.ranks = {name: SOME_DIMENSIONS if rank else None for name, rank in self.ranks.items()}
        for variable, sides in self.groups.items():
            if variable not in FIXED:
                self.settle(variable, sides)
            elif variable == "cpu":
                self.find_on_host(sides)
        return self.result(signature.returns, receiver)

    # --- gathering ------------------------------------------------------------------------------------------

    def take(self, parameter: str, terms: Terms, value: Value, span: Span) -> None:
        """Sorts one argument into the groups of the variables that its parameter names."""
        if isinstance(value, Constant) and value.value is None:
            for term in terms:
                if isinstance(term, DeviceTerm):
                    self.defaults.setdefault(term.variable, "None")
            return
        exempt = next((term.device for term in terms if isinstance(term, ScalarTerm)), "")
        only_tensor = all(isinstance(term, (TensorTerm, ScalarTerm, NoneTerm)) for term in terms)
        for term in terms:
            match term:
                case TensorTerm():
                    self._take_tensor(parameter, term, exempt, value, span, only_tensor)
                case ListTerm():
                    self._take_elements(parameter, term.element, value, span)
                case TupleTerm() if isinstance(value, Tuple) and len(value.items) == len(term.items):
                    for inner, item in zip(term.items, value.items, strict=True):
                        self.take(parameter, inner, item, span)
                case DeviceTerm():
                    self._take_device(term.variable, value, span)
                case SizeTerm():
                    self._take_size(term.rank, value)
                case ModuleTerm():
                    self._take_module(parameter, term.device, value, span)
                case _:
                    pass

    def _take_tensor(
        self, parameter: str, term: TensorTerm, exempt: str, value: Value, span: Span, only_tensor: bool
    ) -> None:
        device: Device
        rank: Rank = None
        certain = True
        match value:
            case Tensor():
                device, rank, origin = value.device, value.rank, value.origin
            case Opaque():
                if only_tensor:
                    self.frame.prove(value, Kind.TENSOR)
                kind = self.frame.kind(value)
                if kind is Kind.MODULE:
                    return
                certain = only_tensor or kind is not Kind.ANY
                device, origin = value.device, value.origin
            case _ if is_host(value):
                return
            case _:
                device, origin, certain = UNKNOWN_DEVICE, None, only_tensor
        if isinstance(term.rank, str) and term.rank.isidentifier():
            self.ranks.setdefault(term.rank, rank)
        if term.device != "any":
            self.operand_ranks.append(rank)
        device = conflicts.resolve(self.env, device)
        name, file = self.frame.text(span), self.frame.file
        side = Side(name, device, rank, span, origin, exempt, certain, parameter, file=file)
        self.groups.setdefault(term.device, []).append(side)

    def _take_elements(self, parameter: str, terms: Terms, value: Value, span: Span) -> None:
        if isinstance(value, (Tensor, Opaque)):
            return
        items = items_of(self.env, value)
        if items is None:
            items = (elements_of(self.frame, self.env, value).each,)
        spans = self.frame.displays.get(span, ())
        for position, item in enumerate(items):
            self.take(parameter, terms, item, spans[position] if len(spans) == len(items) else span)

    def _take_device(self, variable: str, value: Value, span: Span) -> None:
        if isinstance(value, (Tensor, Reference, Tuple)):
            return
        found = placed(self.frame, self.env, value, span)
        self.device_values[variable] = found
        self.settled[variable] = found.device
        self.origins[variable] = found.origin

    def _take_size(self, variable: str, value: Value) -> None:
        length: int | None = None
        if isinstance(value, Tuple):
            length = len(value.items)
        elif isinstance(value, Reference):
            held = self.env.heap.get(value.object)
            if isinstance(held, SequenceObject) and held.items is not None:
                length = len(held.items)
        elif isinstance(value, Constant) or value == NUMBER:
            length = 1
        elif value == SHAPE:
            # The shape of another tensor: one that has dimensions, or nobody would ask.
            self.ranks[variable] = SOME_DIMENSIONS
            return
        before = self.ranks.get(variable, 0)
        self.ranks[variable] = None if before is None or length is None else before + length

    def _take_module(self, parameter: str, variable: str, value: Value, span: Span) -> None:
        device: Device = UNKNOWN_DEVICE
        origin: Origin | None = None
        if isinstance(value, Reference):
            held = self.env.heap.get(value.object)
            if isinstance(held, LibraryObject):
                device, origin = held.device, held.origin
        elif isinstance(value, Opaque):
            device, origin = value.device, value.origin
        device = conflicts.resolve(self.env, device)
        name, file = self.frame.text(span), self.frame.file
        holder = placement.holder(self.env, value)
        side = Side(name, device, SOME_DIMENSIONS, span, origin, "", True, parameter, holder, file)
        if not isinstance(device, Unreached):
            self.groups.setdefault(variable, []).insert(0, side)

    # --- agreement ------------------------------------------------------------------------------------------

    def settle(self, variable: str, sides: Sequence[Side]) -> None:
        """Finds the device a group agrees on, and records who does not agree."""
        firm = [side for side in sides if not conflicts.is_spared(side)]
        # On the fallback path there is no accelerator to differ from.
        compared = [] if self.env.fallback else firm[:LONGEST_GROUP]
        if conflicts.find(self.frame, self.env, self.operation, self.span, compared):
            self.settled[variable] = UNKNOWN_DEVICE
            return
        sure = [side for side in firm if not conflicts.may_be_spared(side)]
        if not sure and len({side.device for side in firm}) == 1:
            sure = firm  # whichever of them is spared, the others are there too
        known = [side for side in sure if not isinstance(side.device, UnknownDevice)]
        if known:
            self.settled.setdefault(variable, known[0].device)
            self.origins.setdefault(variable, known[0].origin)
        elif firm:
            self.settled.setdefault(variable, UNKNOWN_DEVICE)
        elif sides:
            self.settled.setdefault(variable, sides[0].device)
            self.origins.setdefault(variable, sides[0].origin)

    def find_on_host(self, sides: Sequence[Side]) -> None:
        """What the operation accepts only from the CPU is there, from here on: `x.numpy()` would have raised."""
        for side in sides:
            if isinstance(side.device, Variable):
                self.env.assumptions[side.device] = CPU

    def device(self, variable: str) -> Device:
        """What a variable of the signature stands for."""
        if variable in FIXED:
            return FIXED[variable]
        if variable in self.settled:
            return self.settled[variable]
        match self.defaults.get(variable, ""):
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
        asked = self.device_values.get(variable)
        if asked is not None:
            what = f"created on {asked.device} by `{self.operation}`"
            return self.frame.origin(what, self.span, "created", asked.origin, asked.checked)
        if made is not None:
            return made
        source = self.defaults.get(variable, "")
        if source.isidentifier() and source in self.origins:
            return self.origin(source)
        device = self.device(variable)
        where = "on the CPU" if device == CPU else f"on {device}"
        return self.frame.origin(f"created {where} by `{self.operation}`", self.span, "created")

    # --- result ---------------------------------------------------------------------------------------------

    def rank(self, rank: int | str | None) -> Rank:
        """What a rank of the signature stands for."""
        match rank:
            case None | int():
                return rank
            case "broadcast":
                return _highest(self.operand_ranks)
            case "positive":
                return SOME_DIMENSIONS
            case str() if rank.isidentifier():
                return self.ranks.get(rank)
            case _:
                name, _, addend = rank.partition(" + ")
                known = self.ranks.get(name)
                if known is None or not addend.isdecimal():
                    return None
                return SOME_DIMENSIONS if known == SOME_DIMENSIONS else known + int(addend)

    def result(self, terms: Terms, receiver: Value | None) -> Value:
        """The value that a return type describes."""
        if len(terms) != 1:
            return UNKNOWN
        match terms[0]:
            case TensorTerm(device=device, rank=rank):
                return Tensor(self.device(device), self.rank(rank), origin=self.origin(device))
            case TupleTerm(items=items, names=names):
                return Tuple(tuple(self.result(item, receiver) for item in items), names)
            case ListTerm(element=element):
                each = self.result(element, receiver)
                return allocate(self.frame, self.env, self.span, "list", SequenceObject(None, each))
            case DeviceTerm(variable=variable):
                return DeviceValue(self.device(variable))
            case NumberTerm():
                return NUMBER
            case ArrayTerm():
                return ARRAY
            case NoneTerm():
                return Constant(None)
            case SelfTerm() if receiver is not None:
                return receiver
            case _:
                return UNKNOWN


def _highest(ranks: Sequence[Rank]) -> Rank:
    """The rank that operands broadcast to."""
    if SOME_DIMENSIONS in ranks:
        return SOME_DIMENSIONS
    known = [rank for rank in ranks if rank is not None]
    if len(known) == len(ranks):
        return max(known, default=None)
    return SOME_DIMENSIONS if any(rank > 0 for rank in known) else None


def fits(terms: Terms, value: Value) -> bool:
    """Whether a value can be what a parameter takes; what is not known fits everything."""
    if any(isinstance(term, ObjectTerm) for term in terms):
        return True
    match value:
        case Tensor(rank=rank):
            scalar = rank in (0, None)
            return any(isinstance(t, TensorTerm) or (scalar and isinstance(t, ScalarTerm)) for t in terms)
        case Constant(value=None):
            return any(isinstance(term, (NoneTerm, DeviceTerm)) for term in terms)
        case Constant(value=str()):
            return any(isinstance(term, (NumberTerm, DeviceTerm)) for term in terms)
        case DeviceValue():
            return any(isinstance(term, DeviceTerm) for term in terms)
        case Constant(value=int() | float() | complex()):
            return any(isinstance(term, (NumberTerm, DeviceTerm, SizeTerm)) for term in terms)
        case Tuple():
            return any(isinstance(term, (ListTerm, TupleTerm, SizeTerm, NumberTerm, TensorTerm)) for term in terms)
        case _ if value == NUMBER:
            return any(isinstance(term, (NumberTerm, SizeTerm, DeviceTerm)) for term in terms)
        case _ if value == ARRAY:
            return any(isinstance(term, ArrayTerm) for term in terms)
        case _:
            return True
