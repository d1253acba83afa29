"""Abstract values: what a name, an attribute or a register can hold.

A value is immutable; what can change in place (a module that is moved, a list that grows) lives in the heap
and is held by a `Reference`. `Unknown` is the top: nothing is said about it. A value read from the
surroundings of a function, such as a parameter, is `Opaque`: unknown, but the same thing each time, so
that its device is a device variable and two uses of it agree.

`join` gives the least value of this domain above both, and `Unknown` where the two have nothing in common.
Origins are stories, not content: they take no part in equality, and a join keeps the left one.
"""

from __future__ import annotations

import enum
from dataclasses import field, replace
from types import NoneType
from typing import NamedTuple, TypeAlias

from devlint.domain.device import CPU, UNKNOWN_DEVICE, Concrete, Device, Variable, is_symbolic
from devlint.domain.device import join as join_devices
from devlint.domain.kinds import OriginKind, Spelling, TensorRole
from devlint.domain.place import AccessPath
from devlint.domain.provenance import OTHERS, CpuOnOnePath, Origin
from devlint.frontend.ir import Annotation, Function, Span
from devlint.records import dataclass

Rank: TypeAlias = int | None
"""How many dimensions a tensor has: a number, or None when that is not known."""

SOME_DIMENSIONS = -1
"""A rank that is known to be at least one. It is also that of a tensor known to have a single element."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything."""


UNKNOWN = Unknown()


@dataclass(frozen=True, slots=True)
class Constant:
    """A Python literal. `checked`: made where a CUDA device is known to exist, or replaced where there is none."""

    value: object
    checked: bool = False
    origin: Origin | None = field(default=None, compare=False)

    @property
    def python_type(self) -> type:
        """The type of the value."""
        return type(self.value)

    @property
    def is_true(self) -> bool:
        """Whether the value counts as true in a test."""
        return bool(self.value)

    @property
    def is_none(self) -> bool:
        """Whether it is None."""
        return self.python_type is NoneType

    @property
    def is_text(self) -> bool:
        """Whether it is a text."""
        return issubclass(self.python_type, str)

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and True are different constants.
        if not isinstance(other, Constant):
            return NotImplemented
        if self.python_type is not other.python_type or self.checked != other.checked:
            return False
        return self.is_none or self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Host:
    """Something that is certainly no tensor and no module: "number", "text", "shape", "dtype", "array",
    "object".

    A count is a number that depends on how many devices there are; of processes there is one, or more in a group that
    is for CUDA. `rank`: how many dimensions an array has; `bounds`:
    those of a slice, where they are known. A slice only ever stands in a subscript, so no two are joined.
    `excess`: how much more a count is than the number of devices, where that is known.
    """

    kind: str
    rank: Rank = None
    bounds: tuple[int | None, int | None, int | None] | None = field(default=None, compare=False)
    excess: int | None = None


NUMBER = Host("number")
TEXT = Host("text")
ARRAY = Host("array")
COUNT = Host("count")
NUMBER_OF_DEVICES = Host("count", excess=0)
PROCESSES = Host("processes")
SHAPE = Host("shape")
DTYPE = Host("dtype")


@dataclass(frozen=True, slots=True)
class DeviceValue:
    """A `torch.device`, or whatever else names a device; `checked` as for `Constant`.

    `beyond`: its ordinal is the number of devices, or more, so no machine has it.
    """

    device: Device
    checked: bool = False
    origin: Origin | None = field(default=None, compare=False)
    written: Spelling = field(default=Spelling.STRING, compare=False)
    beyond: bool = False


@dataclass(frozen=True, slots=True)
class DeviceType:
    """The text `device.type` of some device, or one that names its type: `str(device)`; `checked` as for `Constant`."""

    device: Device
    checked: bool = False
    is_longer: bool = False


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor.

    Attributes:
        role: its part in the module that holds it.
        stray: where paths with different devices have met, how it was created on the CPU on one of them.
    """

    device: Device
    rank: Rank
    role: TensorRole = TensorRole.PLAIN
    origin: Origin | None = field(default=None, compare=False)
    stray: CpuOnOnePath | None = field(default=None, compare=False)


class Kind(enum.Enum):
    """What an opaque value has been seen to be; ARRAY is a tensor or a numpy array, OTHER is no tensor."""

    ANY = "any"
    MOVABLE = "movable"
    ARRAY = "array"
    TENSOR = "tensor"
    MODULE = "module"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something unknown that keeps its identity: a parameter, an attribute of one, an element of one.

    `device` is where it lives if it lives anywhere; a MOVABLE has a `.to`, so it is no number. `stray` is as for a
    tensor, which the value is on that path.
    """

    path: AccessPath
    kind: Kind = Kind.ANY
    device: Device = UNKNOWN_DEVICE
    origin: Origin | None = field(default=None, compare=False)
    stray: CpuOnOnePath | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TupleValue:
    """A tuple, element by element; `names` are those of its fields, if it has any."""

    items: tuple[Value, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MaybeNone:
    """`present`, or None. It stands where values are kept; who uses one uses what is present."""

    present: Value


class ObjectId(NamedTuple):
    """An abstract object: where it was allocated, and through which calls."""

    site: str

    @classmethod
    def generic(cls, file: str, name: str) -> ObjectId:
        """The instance of a class of a file of which nothing else is known: `self`, when nobody has made it."""
        return cls(f"self:{file}:{name}")

    @property
    def is_generic(self) -> bool:
        """Whether it is an instance of which only the class is known."""
        return self.site.startswith("self:")


@dataclass(frozen=True, slots=True)
class Reference:
    """A value that refers to an object of the heap; `checked` as for `Constant`."""

    object: ObjectId
    checked: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Library:
    """A name of a library, fully qualified and canonical: `torch.zeros`; `checked` as for `Constant`."""

    name: str
    checked: bool = False


@dataclass(frozen=True, slots=True)
class Method:
    """`receiver.name`, not yet called."""

    receiver: Value
    name: str
    place: AccessPath | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Globals:
    """The names of one source file; filled while the file body is executed."""

    file: str
    module: str | None
    names: dict[str, Value]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source file of the program, imported as a whole."""

    globals: Globals


@dataclass(frozen=True, slots=True)
class Imported:
    """A name bound by an import that nobody has looked at yet: `member` of `module`, seen from a file."""

    globals: Globals
    module: str
    member: str
    level: int


@dataclass(frozen=True, slots=True)
class Closure:
    """A function of the program.

    `enclosing` holds the names of the functions around it as they were when it was made.
    """

    function: Function
    defaults: tuple[tuple[str, Value], ...]
    globals: Globals
    enclosing: tuple[tuple[str, Value], ...] = field(default=(), compare=False)
    decorated: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """A function of the program with its first argument; `owner` is the class whose body defines it."""

    function: Closure
    receiver: Value
    owner: UserClass | None = None


class Field(NamedTuple):
    """An annotated name in the body of a class, for the constructor of a dataclass or named tuple.

    Attributes:
        annotation: the annotation of the name.
        factory: the function that makes the default value: `field(default_factory=list)`.
        is_given: False if the constructor does not take the name: `field(init=False)`.
    """

    name: str
    annotation: Annotation | None = None
    factory: Value | None = None
    is_given: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class UserClass:
    """A class of the program.

    Attributes:
        name: dotted path inside its file.
        bases: its base classes as values.
        attributes: what its body binds.
        globals: the names of its file.
        self_stores: the attributes each method stores on its first parameter.
        dynamic: a decorator or metaclass outside the program may add attributes.
        declared: the annotated names of its body in order.
        is_record: it is a dataclass or named tuple, whose constructor takes these.
        span: where it is defined.
        lineage: the class and its bases, depth first, each once; bases outside the program as they are written.
    """

    name: str
    bases: tuple[Value, ...]
    attributes: dict[str, Value]
    globals: Globals
    self_stores: dict[str, frozenset[str]]
    dynamic: bool = False
    declared: tuple[Field, ...] = ()
    is_record: bool = False
    span: Span | None = None
    lineage: tuple[Value, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        found: list[Value] = [self]
        pending = list(self.bases)
        while pending:
            item = pending.pop(0)
            if isinstance(item, UserClass):
                if item in found:
                    continue
                pending = list(item.bases) + pending
            found.append(item)
        object.__setattr__(self, "lineage", tuple(found))


@dataclass(frozen=True, slots=True)
class PartialCall:
    """`functools.partial(function, *arguments, **keywords)`."""

    function: Value
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Super:
    """`super()`: attribute look-up starts behind `after` in the receiver's classes."""

    receiver: Value
    after: UserClass


# --- tests --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Present:
    """On this branch an accelerator is known to be there (or, `present` False, known to be missing)."""

    present: bool


@dataclass(frozen=True, slots=True)
class Visible:
    """On this branch at least so many devices are visible."""

    devices: int


@dataclass(frozen=True, slots=True)
class Assume:
    """On this branch a device variable is that device."""

    variable: Variable
    device: Device


@dataclass(frozen=True, slots=True)
class Replace:
    """On this branch `place` holds `by`, provided that it still holds what was tested."""

    place: AccessPath
    seen: Value
    by: Value


Constraint: TypeAlias = Present | Visible | Assume | Replace


@dataclass(frozen=True, slots=True)
class Predicate:
    """A truth value with what it proves: `holds` where it is true, `fails` where it is false.

    `known` is its outcome when that is certain. Being a value, it may be stored in a variable and tested later.
    """

    holds: tuple[Constraint, ...] = ()
    fails: tuple[Constraint, ...] = ()
    known: bool | None = None

    __test__ = False  # keeps pytest from collecting it


Value: TypeAlias = (
    Unknown | Constant | Host | DeviceValue | DeviceType | Tensor | Opaque | TupleValue | MaybeNone | Reference
    | Library | SourceFile | Imported | Method | Closure | BoundMethod | UserClass | PartialCall | Super | Predicate
)  # fmt: skip


def join_ranks(left: Rank, right: Rank) -> Rank:
    """The least rank above both: equal ranks stay, two that are not zero are at least one."""
    if left == right:
        return left
    if left is None or right is None or left == 0 or right == 0:
        return None
    return SOME_DIMENSIONS


def leq(left: Value, right: Value) -> bool:
    """Whether `left` says at least as much as `right`."""
    return join(right, left) == right


def join(left: Value, right: Value) -> Value:
    """The least value above both."""
    if isinstance(left, Closure) and isinstance(right, Closure) and left == right:
        return _join_enclosing(left, right)
    if left is right or left == right:
        return left
    match left, right:
        case (MaybeNone(), _) | (_, MaybeNone()):
            ours, theirs = present(left), present(right)
            if ours is None or theirs is None:
                return left if theirs is None else right
            return maybe_none(join(ours, theirs))
        case Constant(is_none=True), Tensor() | Opaque() | DeviceValue() | Reference() | TupleValue():
            return MaybeNone(right)
        case Tensor() | Opaque() | DeviceValue() | Reference() | TupleValue(), Constant(is_none=True):
            return MaybeNone(left)
        case Constant(), Constant():
            if left.python_type is right.python_type and left.value == right.value:
                return replace(left, checked=left.checked and right.checked)
            common = host_of(left.python_type)
            return common if common == host_of(right.python_type) else UNKNOWN
        case (Constant(), Host()) | (Host(), Constant()):
            constant, host = (left, right) if isinstance(left, Constant) else (right, left)
            assert isinstance(constant, Constant)
            return host if host_of(constant.python_type) == host else UNKNOWN
        case Host(kind="array"), Host(kind="array"):
            return Host("array", join_ranks(left.rank, right.rank))
        case Host(kind="count"), Host(kind="count"):
            return COUNT
        case DeviceValue(), DeviceValue():
            device = join_devices(left.device, right.device)
            checked, beyond = left.checked and right.checked, left.beyond and right.beyond
            return replace(left, device=device, checked=checked, beyond=beyond)
        case Tensor(), Tensor():
            role = left.role if left.role == right.role else TensorRole.PLAIN
            device = join_devices(left.device, right.device)
            rank = join_ranks(left.rank, right.rank)
            return replace(left, device=device, rank=rank, role=role, stray=left.stray or right.stray)
        case Opaque(), Opaque() if left.path == right.path:
            kind = left.kind if left.kind == right.kind else Kind.ANY
            device = join_devices(left.device, right.device)
            return replace(left, kind=kind, device=device, stray=left.stray or right.stray)
        case (Opaque(kind=Kind.TENSOR), Opaque(kind=Kind.TENSOR) | Tensor()) | (Tensor(), Opaque(kind=Kind.TENSOR)):
            return join(_as_tensor(left), _as_tensor(right))
        case TupleValue(), TupleValue() if len(left.items) == len(right.items):
            return TupleValue(
                tuple(map(join, left.items, right.items)), left.names if left.names == right.names else ()
            )
        case Predicate(), Predicate():
            # Frozen sets would lose the order in which proofs were found.
            return Predicate(
                tuple(proof for proof in left.holds if proof in right.holds),
                tuple(proof for proof in left.fails if proof in right.fails),
                left.known if left.known == right.known else None,
            )
        case _:
            return UNKNOWN


def _as_tensor(value: Value) -> Value:
    """What an opaque tensor is without its identity."""
    return Tensor(value.device, None, origin=value.origin, stray=value.stray) if isinstance(value, Opaque) else value


def present(value: Value) -> Value | None:
    """The value where it is not None; None if it always is."""
    if isinstance(value, MaybeNone):
        return value.present
    return None if isinstance(value, Constant) and value.is_none else value


def maybe_none(value: Value) -> Value:
    """The value, or None; of something unknown that says nothing more."""
    return MaybeNone(value) if isinstance(value, (Tensor, Opaque, DeviceValue, Reference, TupleValue)) else UNKNOWN


def _join_enclosing(left: Closure, right: Closure) -> Value:
    """One function made twice: Unknown if the names around it held different things."""
    names = dict(left.enclosing)
    for name, theirs in right.enclosing:
        if names.setdefault(name, theirs) != theirs:
            return UNKNOWN
    return replace(left, enclosing=tuple(names.items()))


def host_of(python_type: type) -> Value:
    """The host value that covers all constants of a type."""
    if issubclass(python_type, (bool, int, float, complex)):
        return NUMBER
    if issubclass(python_type, str):
        return TEXT
    return UNKNOWN


def is_lost(value: Value) -> bool:
    """Whether a result says nothing of its device."""
    return value == UNKNOWN or (isinstance(value, (Tensor, Opaque)) and value.device == UNKNOWN_DEVICE)


def is_host(value: Value) -> bool:
    """Whether the value is certainly neither a tensor nor a module."""
    return isinstance(value, (Constant, Host, DeviceValue, DeviceType, Predicate))


def is_same_everywhere(value: Value) -> bool:
    """Whether a value means the same in every execution: no object and no symbol of one execution is in it."""
    match value:
        case Tensor(device=Concrete()):
            return True
        case TupleValue(items):
            return all(map(is_same_everywhere, items))
        case PartialCall(function, arguments, keywords):
            return all(map(is_same_everywhere, (function, *arguments, *(item for _, item in keywords))))
        case Unknown() | UserClass() | Library() | SourceFile() | Imported():
            return True
        case Closure(defaults=defaults, enclosing=enclosing):
            return all(is_same_everywhere(held) for _, held in (*defaults, *enclosing))
        case _:
            return is_host(value)


def is_number(value: Value) -> bool:
    """Whether the value is certainly a number of Python."""
    if isinstance(value, Constant):
        return issubclass(value.python_type, (bool, int, float, complex))
    return isinstance(value, Host) and value.kind in ("number", "count")


def is_count(value: Value) -> bool:
    """Whether the value is a number that depends on how many devices there are."""
    return isinstance(value, Host) and value.kind == "count"


def is_array(value: Value) -> bool:
    """Whether the value is certainly an array of numpy."""
    return isinstance(value, Host) and value.kind == "array"


def chosen(winner: Value, loser: Value | None) -> Value:
    """The value of the path with an accelerator; where the fallback has another, a check has chosen it."""
    if isinstance(winner, (Constant, DeviceValue, Library, Reference)) and winner != loser:
        return replace(winner, checked=True)
    return winner


def together(left: Value, right: Value) -> Value:
    """The least value above two elements of one list; it is a stray if just one of them was created on the CPU."""
    both = join(left, right)
    if not isinstance(both, Tensor) or both.device != UNKNOWN_DEVICE:
        return both
    for one, other in ((left, right), (right, left)):
        made = _created(one)
        if made is not None and isinstance(other, (Tensor, Opaque)) and is_symbolic(other.device):
            stray = replace(made, subject=OTHERS, beside=other.device)
            return replace(both, origin=other.origin, stray=stray)
    return both


def _created(value: Value) -> CpuOnOnePath | None:
    """How a value was created on the CPU, always or on one of the paths that have met."""
    if not isinstance(value, Tensor) or value.device != CPU or value.origin is None:
        return cpu_on_one_path(value)
    forgotten = value.origin.kind in (OriginKind.CREATED, OriginKind.HOST) and value.origin.is_unasked
    return CpuOnOnePath(value.origin, OTHERS, value.rank) if forgotten else None


def cpu_on_one_path(value: Value) -> CpuOnOnePath | None:
    """How a value was created on the CPU on one of the paths that have met, None if on none."""
    held = value.present if isinstance(value, MaybeNone) else value
    return held.stray if isinstance(held, (Tensor, Opaque)) else None


def without_cpu_path(value: Value) -> Value:
    """The value as on the paths that have not created it on the CPU."""
    if isinstance(value, MaybeNone):
        return MaybeNone(without_cpu_path(value.present))
    return replace(value, stray=None) if isinstance(value, (Tensor, Opaque)) and value.stray is not None else value
