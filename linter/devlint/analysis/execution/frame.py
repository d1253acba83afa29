"""One execution of one body: its registers, its names' scopes, and where its jumps go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace

from devlint.analysis.demand.callers import Doubt
from devlint.analysis.execution.budget import Budget
from devlint.analysis.execution.questions import Questions
from devlint.analysis.index.loops import NO_PLAN, Plan
from devlint.domain.body import Body, Side
from devlint.domain.device import UNKNOWN_DEVICE, Device, Variable, is_symbolic, variables_of
from devlint.domain.environment import Environment, join, under_assumptions
from devlint.domain.heap import Instance, Object
from devlint.domain.kinds import OriginKind
from devlint.domain.place import UNNAMED, AccessPath, Fresh
from devlint.domain.provenance import Origin
from devlint.domain.size import GROWING, limited
from devlint.domain.summary import Requirement
from devlint.domain.value import (
    PROCESSES,
    SOME_DIMENSIONS,
    UNKNOWN,
    Assume,
    Closure,
    Constant,
    DeviceType,
    DeviceValue,
    Globals,
    Kind,
    Library,
    MaybeNone,
    ObjectId,
    Opaque,
    Predicate,
    Present,
    Reference,
    Tensor,
    Unknown,
    UserClass,
    Value,
    chosen,
    maybe_none,
)
from devlint.domain.value import join as join_values
from devlint.facts import Fact, MissingAttribute
from devlint.frontend.ir import Function, Register, Scope, Span
from devlint.records import dataclass
from devlint.torchlib.knowledge import TENSOR_NAMES

_UNDECIDED = (Kind.ANY, Kind.MOVABLE, Kind.ARRAY)
"""Kinds that a use may narrow down further."""


def device_of(value: Opaque) -> Device:
    """The `.device` of an opaque value."""
    return Variable(value.path.attribute("device")) if value.device == UNKNOWN_DEVICE else value.device


def is_computed(value: Opaque) -> bool:
    """Whether a value is what a module has computed, or a part of that."""
    return value.path.is_fresh and value.origin is not None and value.origin.kind is OriginKind.MODULE


def is_moved(value: Tensor | Opaque) -> bool:
    """Whether a value was moved on purpose to where it is."""
    return value.origin is not None and value.origin.kind is OriginKind.MOVED


def _answer(before: Value, value: Value) -> Value | None:
    """What a function says that returns True only where it has made sure of an accelerator, and otherwise False.

    So does one that says how many processes there are, and returns 1 without a group.
    """
    for one, other in ((before, value), (value, before)):
        if other == Constant(False) and one in (Constant(True, checked=True), _SAYS_SO):
            return _SAYS_SO
        if other == Constant(1) and one == PROCESSES:
            return PROCESSES
    return None


_SAYS_SO = Predicate(holds=(Present(True),))

_OF_NUMBERS = frozenset(f"builtins.{name}" for name in ("max", "min", "abs", "round"))
"""Functions of Python that mostly compute with numbers."""


def name_of_result(function: Value, text: str) -> str:
    """What the result of a call is called; a number that Python computes has no name."""
    if isinstance(function, Library) and function.name in _OF_NUMBERS:
        return UNNAMED
    return f"{text.rpartition('.')[2]}()"


@dataclass(slots=True)
class Loop:
    """One loop that is executed.

    Attributes:
        scopes: how many `with` are around it.
        breaks, continues: the environments with which `break` and `continue` leave its body; `continued` is the latest.
        plan: what its text says.
        branching: how many branches are around its body; what is in no other branch happens in each turn.
    """

    scopes: int = 0
    breaks: Environment | None = None
    continues: Environment | None = None
    continued: Environment | None = None
    plan: Plan = NO_PLAN
    branching: int = 0


@dataclass(frozen=True, slots=True)
class DeepLoop:
    """A loop deep inside others: what it began with the last time, and the passes that it has had in all."""

    entry: Environment
    passes: int


@dataclass(frozen=True, slots=True)
class DeviceScope:
    """What a `with` puts back: the default device, the current one, neither; what is kept is not put back."""

    default: Device | None = None
    current: int | str | None = "kept"

    def left(self, env: Environment) -> Environment:
        """The environment behind it; what was set inside by a call stays."""
        default = env.default if self.default is None else self.default
        return replace(env, default=default, current=env.current if isinstance(self.current, str) else self.current)


@dataclass(frozen=True, slots=True)
class Stored:
    """What an attribute was given, and whether it is registered with that."""

    value: Value
    registered: bool


@dataclass(frozen=True, slots=True)
class Construction:
    """A module made of a class of the program whose constructor takes a device, and whether it was `given` one."""

    cls: UserClass
    made: ObjectId
    given: bool


@dataclass(slots=True)
class InferredKinds:
    """What the uses of opaque values in a body show them to be; the passes over one body share it.

    Attributes:
        kinds: by place; the first proof stands.
        dimensional: the places of values with a length; a tensor among them has dimensions.
        followed: places of unknown things where others are put: if it is a tensor, its surroundings choose its device.
        count: how many of these have been found.
    """

    kinds: dict[AccessPath, Kind] = field(default_factory=dict)
    dimensional: set[AccessPath] = field(default_factory=set)
    followed: set[AccessPath] = field(default_factory=set)
    count: int = 0

    def add(self, path: AccessPath, kind: Kind) -> None:
        """Notes what the thing at a path is; the first proof stands, until another one says more."""
        known = self.kinds.get(path)
        if known is None or (known in _UNDECIDED and known is not kind):
            self.kinds[path] = kind
            self.count += 1

    def add_dimensions(self, path: AccessPath) -> None:
        """Notes that the thing at a path has a length."""
        self._add_to(self.dimensional, path)

    def add_followed(self, path: AccessPath) -> None:
        """Notes that others are put where the thing at a path is."""
        self._add_to(self.followed, path)

    def _add_to(self, paths: set[AccessPath], path: AccessPath) -> None:
        self.count += path not in paths
        paths.add(path)


@dataclass(slots=True)
class Frame:
    """The state of one execution that is not part of the environment.

    Attributes:
        program: answers questions about what outlives the execution: files, summaries, the catalogue.
        scope: what is executed.
        globals: the names of its file.
        enclosing: names of the functions around it.
        owner: the class whose method this is, if any.
        site: makes the ids of the objects allocated here differ from those of other executions.
        recording: facts are wanted: this is the pass over the finished fixpoint.
        proofs: what opaque values have been found to be, in this execution or an earlier one of this body.
        requirements: pairs of devices that only callers can compare.
        conflicts: conflicts met in this execution, recorded or not.
        uses: CUDA devices that were used though nothing had made sure of them.
        displays: where the elements of tuple and list displays stand, by the display.
        raised: for each `try` around the present point, the environments in which its body raises.
        scopes: for each `with` around the present point, what it puts back.
        made: functions defined by this execution, which see its names as they are when called.
        captured: by such a function, the objects that it reads from here, as they are where it is defined.
        methods: the same as closures, each before decorators that put another function in its place.
        handled: how many `try` blocks with handlers are around the present point; of these are `answered` those that do
            without a device that is missing.
        budget: see `Budget`.
        unrolled: how many turns one turn of each loop around the present point counts for together.
        calling: for each module around the present point whose parts are called, how many have been called in it.
        deep: by the place of a loop deep inside others, what is known of how it begins; see `loop_statements`.
        forwards: the function passes on, to somebody, the device that it was given.
        constructions: modules that could be given a device, by where they are made.
        deferred: facts about other places, such as the body that called this one.
        branching: how many branches are around the present point.
        path: the sides of the branches that lead to the present point.
        paths: the same of events, by their place.
        is_called_by_name: see `client.is_called_by_name`; None if nobody has asked.
        taken, skipped: the sides of branches that were executed, and those that a known test has left out.
        stores: what was stored in attributes of objects, with whether that registers it.
        batches: by what a loop takes one by one, the event that has moved a part of it.
        joined: by where a tensor was created on the CPU, the operations in which it met something unplaced.
        default_device_callees: functions that are called under a default device other than their file's.
        within: the execution that records facts and has come to this one with its own objects.
        lazy: by object, what fills it when somebody iterates over it.
        touches_devices: something here or in a callee is on a device, names one or cannot be followed.
        called: the parameters that were called, or had a method called.
        tested: the parameters, and the places in them, that a branch or an operation has asked about without an answer.
        has_cpu_inputs: a call was given an object with tensors on the CPU, or, if nothing is known of its result,
            such a tensor.
        owners: for a register that holds an attribute, the object it was read from, its name, and where the object
            was loaded from; `x.size()` counts as `x.shape`.
        on_cpu_by_default: the parameters that are the CPU unless a caller says otherwise: `device="cpu"`.
        registers, optional, spans, places: value, whether it may be None instead, source span and place loaded from,
            by register.
    """

    program: Questions
    scope: Scope
    globals: Globals
    enclosing: Mapping[str, Value]
    owner: UserClass | None
    site: str
    recording: bool
    proofs: InferredKinds
    depth: int = 0
    on_cpu_by_default: frozenset[str] = frozenset()
    registers: list[Value] = field(default_factory=list)
    optional: list[bool] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    places: list[AccessPath | None] = field(default_factory=list)
    owners: dict[Register, tuple[Value, str, AccessPath | None]] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    returned: Environment | None = None
    result: Value | None = None
    yielded: Value | None = None
    exits: int = 0
    requirements: list[Requirement] = field(default_factory=list)
    conflicts: list[Requirement] = field(default_factory=list)
    displays: dict[Span, tuple[Span, ...]] = field(default_factory=dict)
    handled: int = 0
    answered: int = 0
    raised: list[Environment | None] = field(default_factory=list)
    made: set[Function] = field(default_factory=set)
    captured: dict[Function, dict[ObjectId, Object]] = field(default_factory=dict)
    methods: list[Closure] = field(default_factory=list)
    uses: list[DeviceValue] = field(default_factory=list)
    scopes: list[DeviceScope] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)
    unrolled: int = 1
    calling: list[int] = field(default_factory=list)
    deep: dict[Span, DeepLoop] = field(default_factory=dict)
    forwards: bool = False
    constructions: dict[Span, Construction] = field(default_factory=dict)
    deferred: list[tuple[str, Span, Fact]] = field(default_factory=list)
    branching: int = 0
    path: tuple[Side, ...] = ()
    paths: dict[Span, tuple[Side, ...]] = field(default_factory=dict)
    is_called_by_name: bool | None = None
    taken: set[Side] = field(default_factory=set)
    skipped: set[Side] = field(default_factory=set)
    stores: list[tuple[ObjectId, str, Stored]] = field(default_factory=list)
    batches: dict[AccessPath, Origin] = field(default_factory=dict)
    joined: dict[tuple[str, Span], set[Span]] = field(default_factory=dict)
    default_device_callees: set[Function] = field(default_factory=set)
    within: Frame | None = None
    lazy: dict[ObjectId, Callable[[Environment], None]] = field(default_factory=dict)
    touches_devices: bool = False
    called: set[AccessPath] = field(default_factory=set)
    tested: set[AccessPath] = field(default_factory=set)
    has_cpu_inputs: bool = False

    def __post_init__(self) -> None:
        count = self.scope.registers
        self.registers = [UNKNOWN] * count
        self.optional = [False] * count
        self.spans = [self.scope.span] * count
        self.places = [None] * count

    def kept(self, register: Register) -> Value:
        """The content of a register as it is stored somewhere."""
        value = self.registers[register]
        return maybe_none(value) if self.optional[register] else value

    def place_of(self, register: Register) -> AccessPath | None:
        """Returns the place that the content of a register was loaded from: a name, or an attribute of a name."""
        if self.places[register] is None and register in self.owners:
            _, name, owner = self.owners[register]
            return None if owner is None else owner.attribute(name)
        return self.places[register]

    def note_tested(self, register: Register) -> None:
        """Notes that what a register holds does not decide a branch, where it is a parameter or a place in one.

        Of a device, or a test of a device, that is the place of the value which is on it.
        """
        value, place = self.registers[register], self.place_of(register)
        match value:
            case Opaque():
                self.note_unanswered(value)
            case DeviceValue(device=device) | DeviceType(device=device) if is_symbolic(device):
                self._note_devices(variables_of(device))
            case Predicate(holds, fails) if any(isinstance(proof, Assume) for proof in (*holds, *fails)):
                self._note_devices(proof.variable for proof in (*holds, *fails) if isinstance(proof, Assume))
            case _ if place is not None:
                self.tested.add(place)

    def _note_devices(self, variables: Iterable[Variable]) -> None:
        self.tested.update(variable.place for variable in variables if not variable.place.is_fresh)

    def note_unanswered(self, value: Opaque) -> None:
        """Notes that the result depends on an unknown value: that of a parameter, or of a place in one."""
        if not value.path.is_fresh:
            self.tested.add(value.path)

    def iterated(self, env: Environment, value: Value) -> None:
        """Runs what has waited for somebody to iterate over a value, or to take it where that cannot be seen."""
        if not self.lazy or not isinstance(value, Reference):
            return
        fill = self.lazy.pop(value.object, None)  # while it runs it may come past the object of its last turn
        if fill is not None:
            fill(env)
            self.lazy[value.object] = fill

    @property
    def recorded(self) -> Frame | None:
        """This execution if it records facts, or the recording one that it is a part of; None inside a summary."""
        return self if self.recording else self.within

    @property
    def file(self) -> str:
        """The display path of the file."""
        return self.globals.file

    @property
    def body(self) -> Body:
        """The name of the executed scope."""
        return Body.of(self.globals.file, self.scope)

    @property
    def left_out(self) -> frozenset[Side]:
        """The sides of branches that were not executed, because the test was known each time."""
        return frozenset(self.skipped - self.taken)

    def enter(self, side: Side) -> tuple[Side, ...]:
        """Note that a side of a branch is executed from here on, and return the path up to here."""
        around = self.path
        self.path = (*around, side)
        self.taken.add(side)
        return around

    def set(self, register: Register, value: Value, span: Span, place: AccessPath | None = None) -> None:
        """Fill a register: with what a value is when it is used, and beside it whether it may be None.

        Whatever an instruction makes goes into a register first, so this is where values are kept from growing.
        """
        self.hold(register, limited(value) if type(value) in GROWING else value, span, place)

    def hold(self, register: Register, value: Value, span: Span, place: AccessPath | None) -> None:
        """Fill a register with a value that has been in a register before, as `set` does."""
        if isinstance(value, MaybeNone):
            self.optional[register], self.registers[register] = True, value.present
        else:
            self.optional[register], self.registers[register] = False, value
        self.spans[register] = span
        self.places[register] = place

    def text(self, span: Span) -> str:
        """The source text of a span, in one line and shortened."""
        return self.program.text(self.globals.file, span)

    def file_says(self, pattern: re.Pattern[str]) -> bool:
        """Whether something in the text of the whole file is of a pattern."""
        return self.program.says(self.file, pattern)

    def behind_scopes(self, env: Environment, count: int) -> Environment:
        """The environment after a jump out of all device scopes but the outermost `count`."""
        for scope in reversed(self.scopes[count:]):
            env = scope.left(env)
        return env

    def leave(self, env: Environment, value: Value, meet: Callable[[Value, Value], Value] = join_values) -> None:
        """Notes a `return`; a result of the fallback path counts only where there is no other.

        `meet` gives what the function returns, here or where it returned before.
        """
        env = self.behind_scopes(env, 0)
        self.exits += 1
        value = under_assumptions(env, value)
        if env.checked and value == Constant(True):
            value = Constant(True, checked=True)
        before = self.returned
        if before is None or self.result is None:
            self.result = value
        elif before.fallback == env.fallback:
            self.result = _answer(self.result, value) or meet(self.result, value)
        else:
            winner, loser = (self.result, value) if env.fallback else (value, self.result)
            self.result = chosen(winner, loser)
        self.returned = join(before, env)

    def record(self, span: Span, fact: Fact, doubts: tuple[Doubt, ...] = ()) -> None:
        """Records a fact if this is the pass for it; `doubts`: see `Recorder.record`."""
        if self.recording:
            self.program.recorder.record(self.globals.file, span, fact, doubts)

    def record_at(self, file: str, span: Span, fact: Fact) -> None:
        """Records a fact about a place that this execution need not have reached; else whoever calls it may."""
        if self.recording and file == self.file:
            self.program.recorder.record(file, span, fact)
        else:
            self.deferred.append((file, span, fact))

    def miss_device(self, span: Span, owner: str) -> None:
        """Records that `.device` is read from a module of a class; not where an exception would be handled."""
        if not self.handled:
            self.record(span, MissingAttribute(self.text(span).removesuffix(".device"), owner))

    def note_store(self, env: Environment, base: Reference, after: Instance, name: str) -> None:
        """Notes that an attribute of an object has been stored; on a machine without accelerator nobody asks."""
        value = after.get(name)
        if value is not None and not env.fallback:
            self.stores.append((base.object, name, Stored(value, after.registers(name))))

    def origin(
        self, what: str, span: Span, kind: OriginKind, because: Origin | None = None, checked: bool = False
    ) -> Origin:
        """An event in this file. A device that is read off another value, `because`, is as sure as for that value."""
        if because is not None:
            of_value = because.kind in (OriginKind.CREATED, OriginKind.MOVED)
            checked = because.checked or (checked and not of_value)
        if self.path:
            self.paths[span] = self.path
        return Origin(what, self.globals.file, span, kind, because, checked)

    def new_object(self, span: Span, what: str) -> ObjectId:
        """The abstract object allocated at this place by this execution."""
        return ObjectId(f"{self.site}{self.globals.file}:{span.line}:{span.column}:{what}")

    def fresh_symbol(self, what: str | Callable[[], str], span: Span) -> Opaque:
        """Something unknown that the execution of this place has produced: the same thing wherever it is used."""
        text = what if isinstance(what, str) else what()
        return Opaque(AccessPath(Fresh(text, (span.line, span.column))))

    def with_identity(self, value: Value, what: str | Callable[[], str], span: Span) -> Value:
        """A value of which nothing is known as a thing of its own; a device that is not known, likewise."""
        if isinstance(value, Unknown):
            return self.fresh_symbol(what, span)
        if isinstance(value, DeviceValue) and value.device == UNKNOWN_DEVICE:
            return replace(value, device=Variable(self.fresh_symbol(what, span).path))
        return value

    def kind(self, value: Opaque) -> Kind:
        """What an opaque value is known to be, here or anywhere in this body."""
        decided = value.kind in (Kind.TENSOR, Kind.OTHER)
        return value.kind if decided else self.proofs.kinds.get(value.path, value.kind)

    def may_be_tensor(self, value: Opaque) -> bool:
        """Whether something is a parameter that is declared to be a tensor, or else something else: `Tensor | int`."""
        parameters = self.scope.parameters if isinstance(self.scope, Function) else ()
        declared = [one.annotation for one in parameters if one.name == value.path.name and one.annotation is not None]
        names = {self.program.qualified(self.globals, name) for item in declared for name in item.names}
        return value.kind is not Kind.OTHER and not TENSOR_NAMES.isdisjoint(names)

    def tensor(self, value: Opaque) -> Tensor:
        """An opaque value that is known to be a tensor, as one."""
        rank = SOME_DIMENSIONS if value.path in self.proofs.dimensional else None
        device = value.device
        if device == UNKNOWN_DEVICE and value.path in self.proofs.followed:
            device = device_of(value)
        return Tensor(device, rank, origin=value.origin, stray=value.stray)

    def follow(self, device: Device) -> None:
        """Notes that something is put where another thing is: whoever writes that expects that thing anywhere."""
        if isinstance(device, Variable):
            self.proofs.add_followed(device.value_place)

    def infer_kind(self, value: Value, kind: Kind) -> None:
        """Notes what a use of an opaque value has shown it to be; the first proof stands."""
        if isinstance(value, Opaque) and value.kind in _UNDECIDED:
            self.proofs.add(value.path, kind)

    def prove_shape(self, env: Environment, register: Register) -> None:
        """Notes that a part of what a register holds is taken: if that is the shape of a tensor, it has a length."""
        owner, name, place = self.owners.get(register, (UNKNOWN, "", None))
        if name == "shape":
            self.prove_dimensions(env, owner, place)

    def prove_dimensions(self, env: Environment, value: Value, place: AccessPath | None) -> None:
        """Notes that a value has a length: an opaque one wherever it is used, a tensor from here on."""
        held = None if place is None else env.names.get(place.name)
        if isinstance(value, Tensor) and isinstance(held, Opaque) and self.tensor(held) == value:
            value = held
        if isinstance(value, Opaque):
            self.proofs.add_dimensions(value.path)
        elif isinstance(value, Tensor) and value.rank is None and place is not None and held == value:
            env.names[place.name] = replace(value, rank=SOME_DIMENSIONS)
