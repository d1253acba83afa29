"""Signatures of the stubs, applied to the arguments of a call: matching overload, requirements, result."""

from __future__ import annotations

from typing import Final, NamedTuple

from devlint.frontend import ir
from devlint.inference.libraries.rank_words import result_rank
from devlint.inference.requirements.causes import state_of
from devlint.inference.requirements.machines import CUDA, need
from devlint.inference.requirements.make import draw, participant, pin, require
from devlint.inference.state.containers import elements, fill, get, one_element, side_by_side
from devlint.inference.state.frame import Arguments, Frame
from devlint.inference.state.where import current_device, default_device, device_of_module, is_module, source_of
from devlint.inference.stubs import Stubs
from devlint.inference.values.data import (
    ALL_DIMENSIONS,
    ANYWHERE,
    FOLLOWS,
    HOST,
    INDEX,
    MAKES_ON_CPU,
    MODULE,
    ON_CPU,
    ON_HOST,
    SHARE,
    TAKES_CPU,
    TENSOR,
    Participant,
)
from devlint.inference.values.devices import denoted, meet
from devlint.inference.values.folding import CODE
from devlint.inference.values.joins import join_all
from devlint.inference.values.objects import DICT, LIBRARY, LIST, OBJECT, SET, Instance, Library, library
from devlint.inference.values.objects import MODULE as MODULE_KIND
from devlint.inference.values.ranks import number
from devlint.inference.values.tensors import (
    CPU,
    Alternatives,
    Array,
    Device,
    Piece,
    Tensor,
    Tuple,
    array,
    options,
    pack,
    tensor,
)
from devlint.inference.values.terms import (
    DEVICE,
    FALSE,
    ITEMS,
    NO_DEVICE,
    NONE,
    NUMBER,
    POSITIVE,
    RANK,
    SOURCE,
    TRUE,
    UNKNOWN,
    Constant,
    Symbol,
    Value,
    asked,
    constant,
    is_symbolic,
)
from devlint.torchlib import signature as stub
from devlint.torchlib.signature import Signature, Terms

LAZY: Final = frozenset({"torch.cuda.set_rng_state"})
"""Functions for the current CUDA device that do nothing before CUDA starts."""

NUMBERS_ALONE: Final = "_default"
"""A parameter of the forms that take numbers alone; a symbol may be a tensor as well."""


class Fitted(NamedTuple):
    """An overload of a function, with the arguments of a call by parameter."""

    form: Signature
    given: dict[str, list[Value]]


class Solution:
    """The values of the variables of an overload in a call."""

    __slots__ = ("devices", "generators", "ranks", "sources", "variables")

    def __init__(self) -> None:
        self.devices: dict[str, Value] = {}
        self.sources: dict[str, Value] = {}
        self.variables: dict[str, Value] = {}
        self.ranks: list[Value] = []
        self.generators: list[tuple[str, Value]] = []


# --- which form -----------------------------------------------------------------------------------------------


def fitted(frame: Frame, stubs: Stubs, forms: tuple[Signature, ...], arguments: Arguments) -> Fitted | None:
    """Return the first overload that takes the arguments; a tensor of one element may stand for a number."""
    for is_loose in (False, True):
        for form in forms:
            given = _bound(frame, stubs, form, arguments, is_loose)
            if given is not None:
                return Fitted(form, given)
        if not any(isinstance(each, Tensor) for each in arguments.values()):
            break
    return None


def _bound(
    frame: Frame, stubs: Stubs, form: Signature, arguments: Arguments, is_loose: bool
) -> dict[str, list[Value]] | None:
    given: dict[str, list[Value]] = {}
    rest, named = list(arguments.positional), dict(arguments.named)
    is_complete = arguments.spread is None and arguments.row is None
    for parameter in form.parameters:
        values: list[Value] = []
        if parameter.kind in ("positional", "normal") and rest:
            values = [rest.pop(0)]
        elif parameter.kind in ("positional", "normal") and parameter.default is None and arguments.spread is not None:
            values = [one_element(frame, arguments.spread)]
        elif parameter.kind == "args":
            values, rest = rest, []
            if arguments.spread is not None:
                values = [*values, *side_by_side(frame, arguments.spread)]
                if elements(frame, arguments.spread) is None:
                    values.append(UNKNOWN)
        elif parameter.kind == "kwargs":
            named = {}
            continue
        else:
            names = (parameter.name, *stub.ALTERNATIVE_NAMES.get(parameter.name, ()))
            name = next((each for each in names if parameter.kind != "positional" and each in named), None)
            if name is None and parameter.default is None and is_complete:
                return None
            if name is not None:
                values = [named.pop(name)]
            elif arguments.row is not None and any(isinstance(term, stub.DeviceTerm) for term in parameter.terms):
                values = [get(frame, arguments.row, constant(parameter.name), NONE)]
            else:
                continue
        if not all(_fits(stubs, parameter.terms, each, is_loose) for each in values):
            return None
        given[parameter.name] = values
    return None if rest or named else given


def _fits(stubs: Stubs, terms: Terms, value: Value, is_loose: bool) -> bool:
    if isinstance(value, Alternatives) or is_symbolic(value) or value is UNKNOWN:
        return any(not isinstance(term, stub.LiteralTerm) for term in terms)
    return any(_fits_term(stubs, term, value, is_loose) for term in terms)


def _fits_term(stubs: Stubs, term: stub.Term, value: Value, is_loose: bool) -> bool:
    if isinstance(term, (stub.ObjectTerm, stub.SelfTerm)):
        return True
    if isinstance(term, (stub.TensorTerm, stub.ScalarTerm)):
        return isinstance(value, Tensor)
    if isinstance(term, stub.ArrayTerm):
        return isinstance(value, Array)
    if isinstance(term, stub.NumberTerm):
        return _is_number(value) or (is_loose and isinstance(value, Tensor) and number(value.rank) in (0, None))
    if isinstance(term, stub.LiteralTerm):
        return value is (TRUE if term.value else FALSE)
    if isinstance(term, stub.NoneTerm):
        return value is NONE
    if isinstance(term, (stub.ListTerm, stub.TupleTerm)):
        return isinstance(value, (Tuple, Instance))
    if isinstance(term, stub.DeviceTerm):
        is_name = (
            isinstance(value, Constant) and isinstance(value.value, (str, int)) and not isinstance(value.value, bool)
        )
        return is_name or isinstance(value, Device) or value in (NONE, NUMBER)
    if isinstance(term, stub.SizeTerm):
        is_size = value is NUMBER or (isinstance(value, Constant) and type(value.value) is int)
        return is_size or isinstance(value, Tuple) or (isinstance(value, Instance) and value.kind == LIST)
    if isinstance(term, stub.InstanceTerm):
        return (
            isinstance(value, Instance) and isinstance(value.of, Library) and term.cls in stubs.lineage(value.of.name)
        )
    return isinstance(value, Instance)


def _is_number(value: Value) -> bool:
    if value is NUMBER or isinstance(value, (Tuple, Device, *CODE)):
        return True
    if isinstance(value, Constant):
        return value is not NONE
    return isinstance(value, Instance) and value.kind in (LIST, SET, DICT, OBJECT)


# --- requirements and results ---------------------------------------------------------------------------------


def apply(
    frame: Frame, stubs: Stubs, name: str, forms: tuple[Signature, ...], arguments: Arguments, span: ir.Span
) -> Value:
    """Return the result of a call, and record its requirements; UNKNOWN if no overload takes the arguments."""
    found = fitted(frame, stubs, forms, arguments)
    if found is None:
        return UNKNOWN
    solved = solve(frame, stubs, name, found, span)
    first = arguments.positional[0] if arguments.positional else UNKNOWN
    if "in_place" in found.form.markers and isinstance(found.form.returns[0], stub.SelfTerm):
        return first
    return result(frame, found.form.returns, solved, found.given, first, span)


def solve(frame: Frame, stubs: Stubs, name: str, found: Fitted, span: ir.Span) -> Solution:
    """Return the values of the variables of an overload, and record its requirements."""
    solved = Solution()
    by_device: dict[str, list[Participant]] = {}
    for parameter in found.form.parameters:
        values = found.given.get(parameter.name)
        if values is None:
            continue
        if all(isinstance(term, (stub.TensorTerm, stub.NoneTerm)) for term in parameter.terms):
            for each in values:
                prove(frame, each)
        exemption = _exemption(parameter.terms)
        for term in parameter.terms:
            _take(frame, stubs, term, values, exemption, solved, by_device)
            if isinstance(term, stub.DeviceTerm):
                _need_device(frame, name, values[0], span)
    for variable, taking_part in by_device.items():
        _share(frame, name, variable, taking_part, solved, span)
    arguments = [each for values in found.given.values() for each in values]
    for parameter in found.form.parameters:
        if parameter.name not in found.given and parameter.default not in (None, "..."):
            for term in parameter.terms:
                if isinstance(term, stub.DeviceTerm):
                    found_default = _default(frame, str(parameter.default), solved)
                    is_open = parameter.name == NUMBERS_ALONE and any(map(_is_open, arguments))
                    solved.devices[term.variable] = UNKNOWN if is_open else found_default
                    if parameter.default == "CURRENT" and name.startswith("torch.cuda.") and name not in LAZY:
                        need(frame, name, CUDA, span)
                    if parameter.default in solved.sources:
                        solved.sources[term.variable] = solved.sources[str(parameter.default)]
    for variable, generator in solved.generators:
        draw(frame, name, solved.devices.get(variable, UNKNOWN), generator, span)
    if found.given.get("pin_memory") == [TRUE]:
        pin(frame, name, solved.devices.get("E", UNKNOWN), span)
    return solved


def _is_open(value: Value) -> bool:
    return value is UNKNOWN or is_symbolic(value)


def _need_device(frame: Frame, name: str, named: Value, span: ir.Span) -> None:
    """Record what `device=` needs: the device; but a constructor such as `torch.LongTensor` only takes the CPU."""
    if name.endswith("Tensor") and name.count(".") == 1:
        where = Participant(HOST, denoted(named, CPU), subject=named)
        require(frame, name, [where, Participant(HOST, CPU)], span, MAKES_ON_CPU)
    else:
        need(frame, name, named, span)


def _exemption(terms: Terms) -> str:
    for term in terms:
        if isinstance(term, stub.ScalarTerm):
            return {"cpu": ON_CPU, "follows": FOLLOWS}.get(term.device, ANYWHERE)
    return ALL_DIMENSIONS


def _take(
    frame: Frame,
    stubs: Stubs,
    term: stub.Term,
    values: list[Value],
    exemption: str,
    solved: Solution,
    by_device: dict[str, list[Participant]],
) -> None:
    """Solve the variables in one type of a parameter by its arguments."""
    if isinstance(term, stub.TensorTerm):
        for each in values:
            _take_tensor(frame, stubs, term, each, exemption, solved, by_device)
    elif isinstance(term, stub.ListTerm):
        for each in values:
            for inner in side_by_side(frame, each):
                if all(isinstance(part, stub.TensorTerm) for part in term.element):
                    prove(frame, inner)
                for part in term.element:
                    _take(frame, stubs, part, [inner], exemption, solved, by_device)
    elif isinstance(term, stub.TupleTerm):
        for each in values:
            for inner, parts in zip(elements(frame, each) or (), term.items, strict=False):
                for part in parts:
                    _take(frame, stubs, part, [inner], exemption, solved, by_device)
    elif isinstance(term, (stub.ModuleTerm, stub.InstanceTerm)):
        for each in values:
            _take_object(frame, term.device, each, by_device)
    elif isinstance(term, stub.SizeTerm):
        solved.variables.setdefault(term.rank, _length(frame, values))
    elif isinstance(term, stub.ArrayTerm) and term.rank is not None and values and isinstance(values[0], Array):
        solved.variables.setdefault(term.rank, values[0].rank)
    elif isinstance(term, stub.GeneratorTerm):
        solved.generators += [(term.device, each) for each in values]
    elif isinstance(term, stub.DeviceTerm) and values:
        solved.devices[term.variable] = denoted(values[0], default_device(frame))


def _take_tensor(
    frame: Frame,
    stubs: Stubs,
    term: stub.TensorTerm,
    value: Value,
    exemption: str,
    solved: Solution,
    by_device: dict[str, list[Participant]],
) -> None:
    held = [each for each in options(value) if _may_be_tensor(stubs, each)]
    if not held:
        return
    whole = held[0] if len(held) == 1 else join_all(held)
    role = INDEX if term.word == "Index" else TENSOR
    found = participant(frame, whole, exemption, role)
    if isinstance(term.rank, str) and term.rank.isidentifier():
        solved.variables.setdefault(term.rank, found.rank)
    solved.ranks.append(found.rank)
    by_device.setdefault(term.device, []).append(found)


def _may_be_tensor(stubs: Stubs, value: Value) -> bool:
    if isinstance(value, Instance):
        is_other = value.kind == LIBRARY and isinstance(value.of, Library) and stubs.holds_tensors(value.of.name)
        return is_other and not is_module(value)
    return isinstance(value, Tensor) or is_symbolic(value) or value is UNKNOWN


def _take_object(frame: Frame, variable: str, value: Value, by_device: dict[str, list[Participant]]) -> None:
    where = device_of_module(frame, value)
    rank = frame.heap.get(value, RANK) or POSITIVE
    exemption = ANYWHERE if number(rank) == 0 else ALL_DIMENSIONS
    source = source_of(frame, value)
    one = Participant(MODULE, where, rank, source, exemption, value, state_of(frame, value))
    by_device.setdefault(variable, []).append(one)


def _share(
    frame: Frame, name: str, variable: str, taking_part: list[Participant], solved: Solution, span: ir.Span
) -> None:
    if variable == "any":
        return
    if variable in ("cpu", "host"):
        host = Participant(HOST, CPU)
        for each in taking_part:
            require(frame, name, [each, host], span, ON_HOST if variable == "host" else TAKES_CPU)
        return
    require(frame, name, taking_part, span, SHARE)
    ranks = [POSITIVE if each.exemption == ALL_DIMENSIONS else each.rank for each in taking_part]
    where = meet([each.device for each in taking_part], ranks)
    solved.devices[variable] = where
    solved.sources[variable] = next(
        (each.source for each in taking_part if each.device is where), taking_part[0].source
    )


def _default(frame: Frame, default: str, solved: Solution) -> Value:
    if default in solved.devices:
        return solved.devices[default]
    return {"DEFAULT": default_device(frame), "CURRENT": current_device(frame), "CPU": CPU}.get(default, UNKNOWN)


def _length(frame: Frame, values: list[Value]) -> Value:
    """Return the number of dimensions of a shape; POSITIVE if it is unknown, or if all sizes are 1."""
    if len(values) == 1 and not isinstance(values[0], Constant):
        inside = values[0].items if isinstance(values[0], Tuple) else None
        if inside is None:
            held = frame.heap.get(values[0], ITEMS)
            inside = held.items if isinstance(held, Tuple) else None
        if inside is None:
            return POSITIVE
        values = list(inside)
    is_one_element = UNKNOWN in values or (bool(values) and all(each is constant(1) for each in values))
    return POSITIVE if is_one_element else constant(len(values))


def prove(frame: Frame, value: Value) -> None:
    """Record that an operation proves a symbol to be a tensor; a slice that is a tensor is one of a tensor."""
    if is_symbolic(value) and value not in frame.kinds:
        frame.kinds[value] = None
        key = value.field.key if isinstance(value, Symbol) else None
        if isinstance(value, Symbol) and any(
            isinstance(each, Piece) for each in (key.items if isinstance(key, Tuple) else (key,))
        ):
            prove(frame, value.parent)


# --- devices and ranks of results -----------------------------------------------------------------------------


def result(
    frame: Frame,
    terms: Terms,
    solved: Solution,
    given: dict[str, list[Value]],
    first: Value,
    span: ir.Span,
    part: str = "",
) -> Value:
    """Return the result of an overload.

    Args:
        frame: of the call.
        terms: the alternatives of the result.
        solved: the values of the variables.
        given: the arguments by parameter.
        first: the receiver or first argument.
        span: of the call.
        part: distinguishes the objects that the call makes.
    """
    return join_all([_result(frame, term, solved, given, first, span, part) for term in terms])


def _result(
    frame: Frame,
    term: stub.Term,
    solved: Solution,
    given: dict[str, list[Value]],
    first: Value,
    span: ir.Span,
    part: str,
) -> Value:
    if isinstance(term, stub.TensorTerm):
        where = (
            CPU
            if term.device == "cpu"
            else UNKNOWN
            if term.device == "any"
            else solved.devices.get(term.device, UNKNOWN)
        )
        rank = result_rank(frame, term.rank, solved.variables, solved.ranks, given)
        source = solved.sources.get(term.device, NONE)
        return tensor(
            UNKNOWN if where is NO_DEVICE else where, rank, NONE, frame.source() if source is NONE else source
        )
    if isinstance(term, stub.SelfTerm):
        return first
    if isinstance(term, stub.NoneTerm):
        return NONE
    if isinstance(term, stub.NumberTerm):
        return asked(first) if isinstance(first, Tensor) or is_symbolic(first) else NUMBER
    if isinstance(term, stub.ArrayTerm):
        return array(solved.variables.get(term.rank, UNKNOWN) if term.rank is not None else UNKNOWN)
    if isinstance(term, stub.DeviceTerm):
        return solved.devices.get(term.variable, UNKNOWN)
    if isinstance(term, stub.TupleTerm):
        inner = [
            result(frame, terms, solved, given, first, span, f"{part}.{index}")
            for index, terms in enumerate(term.items)
        ]
        return pack(*inner)
    if isinstance(term, stub.ListTerm):
        made = frame.make(LIST, span, NONE, part)
        fill(frame, made, [result(frame, term.element, solved, given, first, span, part + ".")], False)
        return made
    if isinstance(term, (stub.ModuleTerm, stub.InstanceTerm)):
        name = "torch.nn.Module" if isinstance(term, stub.ModuleTerm) else term.cls
        kind = MODULE_KIND if frame.engine.stubs.is_module_class(name) else LIBRARY
        made = frame.make(kind, span, library(name), part)
        where = solved.devices.get(term.device, CPU if term.device in ("cpu", "CPU") else UNKNOWN)
        if where is UNKNOWN and term.device == "DEFAULT":
            where = default_device(frame)
        frame.heap.put(made, DEVICE, where)
        frame.heap.put(made, SOURCE, solved.sources.get(term.device, frame.source()))
        return made
    return UNKNOWN
