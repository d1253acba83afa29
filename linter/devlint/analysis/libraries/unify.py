"""Gathering the arguments of a signature: which values name which of its variables, and which fit at all."""

from __future__ import annotations

from dataclasses import field, replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import unregistered_tensor
from devlint.analysis.values import operands, partial_batch_move
from devlint.analysis.values.containers import elements_of, items_of
from devlint.analysis.values.devices import placed
from devlint.domain.device import UNKNOWN_DEVICE, Device, Unreached
from devlint.domain.environment import Environment
from devlint.domain.heap import LibraryObject, ListObject
from devlint.domain.kinds import Exemption, OperandRole, OriginKind
from devlint.domain.provenance import Origin
from devlint.domain.summary import Operand
from devlint.domain.value import (
    NUMBER,
    SOME_DIMENSIONS,
    UNKNOWN,
    Constant,
    DeviceValue,
    Host,
    Kind,
    Library,
    Opaque,
    Rank,
    Reference,
    Tensor,
    TupleValue,
    Value,
    is_host,
    is_number,
)
from devlint.frontend.ir import Span
from devlint.records import dataclass
from devlint.torchlib.knowledge import FROM_NUMBERS
from devlint.torchlib.signature import (
    ArrayTerm,
    DeviceTerm,
    GeneratorTerm,
    InstanceTerm,
    ListTerm,
    LiteralTerm,
    ModuleTerm,
    NoneTerm,
    NumberTerm,
    ObjectTerm,
    ScalarTerm,
    SizeTerm,
    TensorTerm,
    Terms,
    TupleTerm,
)


@dataclass(slots=True)
class Gathered:
    """What the arguments of one call say of the variables of a signature.

    Attributes:
        groups: the tensors and modules that name a device, in order.
        generators: the generators for it.
        settled: devices that an argument names itself, with their stories in `origins`; agreement adds others.
        defaults: where the default of a device parameter lies.
        ranks, operand_ranks: the rank variables, and the ranks of all tensors that must agree.
        sizes: the numbers in the shapes that rank variables are the lengths of.
    """

    frame: Frame
    env: Environment
    groups: dict[str, list[Operand]] = field(default_factory=dict)
    generators: dict[str, list[Operand]] = field(default_factory=dict)
    settled: dict[str, Device] = field(default_factory=dict)
    origins: dict[str, Origin | None] = field(default_factory=dict)
    device_values: dict[str, DeviceValue] = field(default_factory=dict)
    device_spans: dict[str, Span] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    ranks: dict[str, Rank] = field(default_factory=dict)
    operand_ranks: list[Rank] = field(default_factory=list)
    sizes: dict[str, tuple[Value, ...]] = field(default_factory=dict)

    def take(self, parameter: str, terms: Terms, value: Value, span: Span) -> None:
        """Sorts one argument into the groups of the variables that its parameter names."""
        if isinstance(value, Constant) and value.is_none:
            for term in terms:
                if isinstance(term, DeviceTerm):
                    self.defaults.setdefault(term.variable, "None")
            return
        exemption = Exemption(next((term.device for term in terms if isinstance(term, ScalarTerm)), ""))
        only_tensor = all(isinstance(term, (TensorTerm, ScalarTerm, NoneTerm)) for term in terms)
        for term in terms:
            match term:
                case TensorTerm():
                    self._take_tensor(parameter, term, exemption, value, span, only_tensor)
                case ListTerm():
                    # Where anything is taken, being in a list proves nothing.
                    anything = tuple(other for other in terms if isinstance(other, ObjectTerm))
                    self._take_elements(parameter, term.element + anything, value, span)
                case TupleTerm() if isinstance(value, TupleValue) and len(value.items) == len(term.items):
                    for inner, item in zip(term.items, value.items, strict=True):
                        self.take(parameter, inner, item, span)
                case DeviceTerm():
                    self._take_device(term.variable, value, span)
                case SizeTerm():
                    self._take_size(term.rank, value)
                case ModuleTerm() | InstanceTerm():
                    self._take_object(parameter, term, value, span)
                case ArrayTerm(rank=str() as name) if isinstance(value, Host) and value.kind == "array":
                    self.ranks.setdefault(name, value.rank)
                case GeneratorTerm():
                    self._take_generator(parameter, term.device, value, span)
                case _:
                    pass

    def _take_tensor(
        self, parameter: str, term: TensorTerm, exemption: Exemption, value: Value, span: Span, only_tensor: bool
    ) -> None:
        device: Device
        rank: Rank = None
        certain, stray = True, None
        match value:
            case Tensor():
                device, rank, origin, stray = value.device, value.rank, value.origin, value.stray
            case Opaque():
                if only_tensor:
                    self.frame.infer_kind(value, Kind.TENSOR)
                kind = self.frame.kind(value)
                if kind in (Kind.MODULE, Kind.OTHER):
                    return
                certain = only_tensor or kind is not Kind.ANY
                if not certain:
                    self.frame.note_unanswered(value)
                tensor = self.frame.tensor(value)
                device, rank, origin, stray = tensor.device, tensor.rank, value.origin, value.stray
            case _ if is_host(value) or isinstance(value, Library):
                return
            case _:
                device, origin, certain = UNKNOWN_DEVICE, None, only_tensor
        if isinstance(term.rank, str) and term.rank.isidentifier():
            self.ranks.setdefault(term.rank, rank)
        if term.device != "any":
            self.operand_ranks.append(rank)
        device = operands.resolve(self.env, device)
        name, file = self.frame.text(span), self.frame.file
        role = OperandRole.INDEX if term.word == "Index" else OperandRole.OPERAND
        side = Operand(name, device, rank, span, origin, exemption, certain, parameter, role, file=file, stray=stray)
        self.groups.setdefault(term.device, []).append(replace(side, batch=partial_batch_move.batch_of(value)))

    def _take_elements(self, parameter: str, terms: Terms, value: Value, span: Span) -> None:
        if isinstance(value, (Tensor, Opaque)):
            return
        items = items_of(self.frame, self.env, value)
        if items is None:
            items = (elements_of(self.frame, self.env, value).each,)
        spans = self.frame.displays.get(span, ())
        for position, item in enumerate(items):
            self.take(parameter, terms, item, spans[position] if len(spans) == len(items) else span)

    def _take_device(self, variable: str, value: Value, span: Span) -> None:
        if isinstance(value, (Tensor, Reference, TupleValue)):
            return
        found = placed(self.frame, self.env, value, span)
        self.device_values[variable] = found
        self.device_spans[variable] = span
        self.settled[variable] = found.device
        self.origins[variable] = found.origin

    def _take_size(self, variable: str, value: Value) -> None:
        sizes: tuple[Value, ...] | None = None
        if isinstance(value, TupleValue):
            sizes = value.items
        elif isinstance(value, Reference):
            held = self.env.heap.get(value.object)
            if isinstance(held, ListObject):
                sizes = held.items
        elif isinstance(value, Constant) or value == NUMBER:
            sizes = (value,)
        before = self.ranks.get(variable, 0)
        if sizes is None or before is None or before == SOME_DIMENSIONS:
            # A shape that comes from elsewhere has dimensions, or nobody would ask.
            self.ranks[variable] = SOME_DIMENSIONS
            return
        self.ranks[variable] = before + len(sizes)
        self.sizes[variable] = (*self.sizes.get(variable, ()), *(sizes or (UNKNOWN,)))

    def count_sizes(self, terms: Terms, count: int) -> None:
        """Notes how many sizes were given one by one: of several, each is one dimension, whatever it is."""
        for term in terms:
            if isinstance(term, SizeTerm) and count > 1:
                self.ranks[term.rank] = count

    def _take_object(self, parameter: str, term: ModuleTerm | InstanceTerm, value: Value, span: Span) -> None:
        device: Device = UNKNOWN_DEVICE
        origin: Origin | None = None
        held = self.env.heap.get(value.object) if isinstance(value, Reference) else None
        if isinstance(value, Reference):
            if isinstance(held, LibraryObject):
                device, origin = held.device, held.origin
                replaced = [part for _, part in held.parts if isinstance(part, Tensor)]
                if device == UNKNOWN_DEVICE and replaced:
                    # Its parameters are apart, but all of them meet the input: this one is known.
                    device, origin = replaced[0].device, replaced[0].origin
        elif isinstance(value, Opaque):
            device, origin = value.device, value.origin
        if origin is not None and isinstance(term, InstanceTerm):
            origin = replace(origin, kind=OriginKind.OBJECT)
        device = operands.resolve(self.env, device)
        name, file = self.frame.text(span), self.frame.file
        holder = unregistered_tensor.holder(self.env, value) if isinstance(term, ModuleTerm) else None
        numbers = isinstance(held, LibraryObject) and held.part(FROM_NUMBERS) == Constant(True)
        rank, exemption = (0, Exemption.CPU) if numbers else (SOME_DIMENSIONS, Exemption.NONE)
        side = Operand(name, device, rank, span, origin, exemption, True, parameter, module=holder, file=file)
        if holder is not None and isinstance(value, Reference):
            side = replace(side, object=value.object)
        if not isinstance(device, Unreached):
            self.groups.setdefault(term.device, []).insert(0, side)

    def _take_generator(self, parameter: str, variable: str, value: Value, span: Span) -> None:
        device: Device = UNKNOWN_DEVICE
        origin: Origin | None = None
        if isinstance(value, Reference):
            held = self.env.heap.get(value.object)
            if isinstance(held, LibraryObject):
                device, origin = held.device, held.origin
        elif isinstance(value, Opaque):
            device, origin = value.device, value.origin
        name, file = self.frame.text(span), self.frame.file
        device = operands.resolve(self.env, device)
        side = Operand(
            name,
            device,
            SOME_DIMENSIONS,
            span,
            origin,
            Exemption.NONE,
            True,
            parameter,
            OperandRole.GENERATOR,
            file=file,
        )
        self.generators.setdefault(variable, []).append(side)


def fits(terms: Terms, value: Value, *, as_number: bool = False) -> bool:
    """Whether a parameter of some types takes a value. An unknown value fits all types but a literal.

    `as_number`: a tensor without dimensions counts as the number that it holds.
    """
    if any(isinstance(term, ObjectTerm) for term in terms):
        return True
    literals = [term.value for term in terms if isinstance(term, LiteralTerm)]
    if literals:
        return isinstance(value, Constant) and any(value.value is one for one in literals)
    match value:
        case Tensor(rank=rank):
            single = (ScalarTerm, NumberTerm, SizeTerm) if as_number else ScalarTerm
            scalar = rank in (0, None)
            return any(isinstance(term, TensorTerm) or (scalar and isinstance(term, single)) for term in terms)
        case Constant(is_none=True):
            return any(isinstance(term, (NoneTerm, DeviceTerm)) for term in terms)
        case Constant(is_text=True):
            return any(isinstance(term, (NumberTerm, DeviceTerm)) for term in terms)
        case DeviceValue():
            return any(isinstance(term, DeviceTerm) for term in terms)
        case Constant() if is_number(value):
            return any(isinstance(term, (NumberTerm, DeviceTerm, SizeTerm)) for term in terms)
        case TupleValue():
            return any(isinstance(term, (ListTerm, TupleTerm, SizeTerm, NumberTerm, TensorTerm)) for term in terms)
        case _ if value == NUMBER:
            return any(isinstance(term, (NumberTerm, SizeTerm, DeviceTerm)) for term in terms)
        case Host(kind="array"):
            return any(isinstance(term, ArrayTerm) for term in terms)
        case Library() | Host(kind="dtype"):  # a dtype or a function is no size
            return not all(isinstance(term, SizeTerm) for term in terms)
        case _:
            return True
