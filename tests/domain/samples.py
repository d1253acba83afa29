"""What the laws are tried on: samples by hand and strategies, for each domain."""

from __future__ import annotations

from typing import TypeVar

from devlint.domain.device import (
    CHOSEN_BY_CALLER,
    CPU,
    META,
    UNKNOWN_DEVICE,
    UNREACHED,
    Concrete,
    Device,
    Either,
    Variable,
)
from devlint.domain.environment import Environment
from devlint.domain.heap import DictObject, Heap, Instance, LibraryObject, ListObject, Object, Optimizer
from devlint.domain.kinds import OriginKind, TensorRole
from devlint.domain.place import AccessPath
from devlint.domain.process import UNKNOWN_BACKEND, UNKNOWN_NUMBER, Process
from devlint.domain.provenance import Origin
from devlint.domain.value import (
    ARRAY,
    COUNT,
    NUMBER,
    NUMBER_OF_DEVICES,
    SHAPE,
    SOME_DIMENSIONS,
    TEXT,
    UNKNOWN,
    Assume,
    Constant,
    Constraint,
    DeviceType,
    DeviceValue,
    Globals,
    Kind,
    Library,
    MaybeNone,
    Method,
    ObjectId,
    Opaque,
    PartialCall,
    Predicate,
    Present,
    Rank,
    Reference,
    Replace,
    SourceFile,
    Tensor,
    TupleValue,
    UserClass,
    Value,
    Visible,
)
from devlint.frontend.ir import Span
from hypothesis import strategies as st

T = TypeVar("T")

HERE = Origin("created here", "a.py", Span(1, 0, 1, 5), OriginKind.CREATED)
THERE = Origin("moved there", "a.py", Span(2, 0, 2, 5), OriginKind.MOVED, HERE)
ORIGINS = (None, HERE, THERE)

GPU, GPU0, GPU1 = Concrete("cuda"), Concrete("cuda", 0), Concrete("cuda", 1)
X, Y, Z = Variable(AccessPath("x")), Variable(AccessPath("self").attribute("fc")), Variable(AccessPath("z"))
X_OR_Y = Either(frozenset((X, Y)))
LIKE_X = Either(frozenset((X,)), open=True)
DEVICES: tuple[Device, ...] = (
    *(UNREACHED, CPU, GPU, GPU0, GPU1, META, X, Y, Z, X_OR_Y, LIKE_X, CHOSEN_BY_CALLER, UNKNOWN_DEVICE),
)
RANKS: tuple[Rank, ...] = (None, 0, 1, 2, SOME_DIMENSIONS)

GLOBALS = Globals("a.py", "a", {})
CLASS_A = UserClass("A", (), {}, GLOBALS, {})
CLASS_B = UserClass("B", (), {}, GLOBALS, {})
IDS = (ObjectId("a.py:1:0:list"), ObjectId("a.py:2:0:A"))

PROOFS: tuple[Constraint, ...] = (
    Present(True),
    Present(False),
    Visible(2),
    Assume(X, GPU),
    Assume(X, CPU),
    Replace(AccessPath("device"), UNKNOWN, Constant(None)),
)

devices = st.sampled_from(DEVICES)
ranks = st.sampled_from(RANKS)
origins = st.sampled_from(ORIGINS)
proofs = st.lists(st.sampled_from(PROOFS), max_size=3, unique=True).map(tuple)

constants = st.builds(
    Constant,
    st.sampled_from([None, 0, 1, 1.0, True, 7, "", "cpu", "cuda", "cuda:0", b"x", ...]),
    st.booleans(),
    origins,
)
atoms: st.SearchStrategy[Value] = st.one_of(
    st.just(UNKNOWN),
    constants,
    st.sampled_from([NUMBER, TEXT, ARRAY, COUNT, NUMBER_OF_DEVICES, SHAPE]),
    st.builds(DeviceValue, devices, st.booleans(), origins, st.just("string"), st.booleans()),
    st.builds(DeviceType, devices),
    st.builds(Tensor, devices, ranks, st.sampled_from(["plain", "parameter", "buffer"]), origins),
    st.builds(
        Opaque,
        st.sampled_from([AccessPath("x"), AccessPath("self").attribute("fc")]),
        st.sampled_from(list(Kind)),
        devices,
        origins,
    ),
    st.sampled_from([Reference(identity) for identity in IDS]),
    st.sampled_from([Library("torch.zeros"), Library("torch.ones"), SourceFile(GLOBALS), CLASS_A, CLASS_B]),
    st.builds(Predicate, proofs, proofs, st.sampled_from([None, True, False])),
)
values: st.SearchStrategy[Value] = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: TupleValue(tuple(items))),
        st.builds(Method, inner, st.sampled_from(["to", "cuda"])),
        st.builds(PartialCall, inner, st.just(()), st.just(())),
    ),
    max_leaves=5,
)
VALUES: tuple[Value, ...] = (
    UNKNOWN,
    Constant(None),
    Constant(0),
    Constant(1),
    Constant(1.0),
    Constant(True),
    Constant("cuda"),
    Constant("cuda", True),
    Constant("cpu"),
    NUMBER,
    TEXT,
    COUNT,
    DeviceValue(GPU0),
    DeviceValue(GPU0, True, HERE),
    DeviceValue(CPU),
    DeviceType(X),
    Tensor(CPU, 1),
    Tensor(CPU, 0, TensorRole.PLAIN, HERE),
    Tensor(GPU0, 2, TensorRole.PARAMETER, THERE),
    Tensor(UNKNOWN_DEVICE, None),
    Tensor(X, SOME_DIMENSIONS, TensorRole.BUFFER),
    Opaque(AccessPath("x"), Kind.ANY, X),
    Opaque(AccessPath("x"), Kind.TENSOR, X),
    Opaque(AccessPath("y"), Kind.ANY, X),
    Opaque(AccessPath("x"), Kind.MOVABLE, GPU0),
    TupleValue(()),
    MaybeNone(Tensor(CPU, 1)),
    MaybeNone(Tensor(X, SOME_DIMENSIONS, TensorRole.BUFFER)),
    TupleValue((Tensor(CPU, 1), Constant(1))),
    TupleValue((Tensor(GPU0, 1), Constant(2))),
    Reference(IDS[0]),
    Reference(IDS[1]),
    Library("torch.zeros"),
    SourceFile(GLOBALS),
    Method(Tensor(CPU, 1), "to"),
    CLASS_A,
    PartialCall(Library("torch.zeros"), (Constant(3),), ()),
    Predicate(),
    Predicate((Present(True),), (Present(False),)),
    Predicate((Present(True), Assume(X, GPU)), known=True),
    Predicate((Assume(X, GPU), Present(True)), known=True),
)

attributes = st.dictionaries(st.sampled_from("abc"), values, max_size=3).map(lambda found: tuple(found.items()))
modules = st.sampled_from([None, "torch.nn.Sequential"])


def sequences(module: str | None) -> st.SearchStrategy[ListObject]:
    """Well-formed ones: `rest` and `first` speak only where the elements are not listed."""
    listed = st.lists(values, max_size=3).map(lambda items: ListObject(tuple(items), UNKNOWN, module))
    first = st.one_of(st.none(), values)
    return st.one_of(listed, st.builds(ListObject, st.none(), values, st.just(module), first))


def dictionaries(module: str | None) -> st.SearchStrategy[DictObject]:
    """With keys of several kinds; only an incomplete one has anything under keys that are not listed."""
    keys = st.sampled_from(["x", "y", 2, None])
    items = st.dictionaries(keys, values, max_size=3).map(lambda found: tuple(found.items()))
    complete = items.map(lambda pairs: DictObject(pairs, UNKNOWN, True, module))
    return st.one_of(complete, items.map(lambda pairs: DictObject(pairs, UNKNOWN, False, module)))


def instances(cls: UserClass) -> st.SearchStrategy[Instance]:
    """Instances of one class."""
    registered = st.frozensets(st.sampled_from("abc"))
    return st.builds(Instance, st.just(cls), attributes, registered, st.booleans(), origins)


def library_objects(cls: str) -> st.SearchStrategy[LibraryObject]:
    """Instances of one library class."""
    parts = st.dictionaries(st.sampled_from(["module", "first"]), values).map(lambda found: tuple(found.items()))
    return st.builds(LibraryObject, st.just(cls), devices, origins, parts)


def optimizers(cls: str) -> st.SearchStrategy[Optimizer]:
    """Optimizers of one class."""
    owners = st.one_of(st.none(), st.lists(values, max_size=2).map(tuple))
    return st.builds(Optimizer, st.just(cls), owners, devices, origins)


SEQUENCES: tuple[ListObject, ...] = (
    ListObject(()),
    ListObject((Tensor(CPU, 1),)),
    ListObject((Tensor(GPU0, 1),)),
    ListObject((Tensor(CPU, 1), Tensor(GPU0, 1))),
    ListObject((Tensor(GPU0, 1), Tensor(CPU, 1))),
    ListObject((Constant(0), Constant(1), Constant(2))),
    ListObject(None, UNKNOWN),
    ListObject(None, Tensor(CPU, 1)),
    ListObject(None, NUMBER, None, Constant(0)),
    ListObject(None, NUMBER, None, Constant(1)),
)
DICTIONARIES: tuple[DictObject, ...] = (
    DictObject(()),
    DictObject((("x", Tensor(CPU, 1)),)),
    DictObject((("x", Tensor(GPU0, 1)),)),
    DictObject((("x", Tensor(CPU, 1)), ("y", Constant(1)))),
    DictObject((("y", Constant(1)), ("x", Tensor(CPU, 1)))),
    DictObject(((2, Tensor(CPU, 1)),)),
    DictObject((), UNKNOWN, False),
    DictObject((("x", Tensor(CPU, 1)),), UNKNOWN, False),
)
INSTANCES: tuple[Instance, ...] = (
    Instance(CLASS_A),
    Instance(CLASS_A, (("a", Tensor(CPU, 1)),)),
    Instance(CLASS_A, (("a", Tensor(GPU0, 1)), ("b", Constant(1))), frozenset("a"), False, HERE),
    Instance(CLASS_A, (("b", Constant(1)), ("a", Tensor(GPU0, 1))), frozenset("a")),
    Instance(CLASS_A, (("a", UNKNOWN),), frozenset(), True),
)
LIBRARY_OBJECTS: tuple[LibraryObject, ...] = (
    *(LibraryObject("torch.nn.Linear", device, HERE) for device in DEVICES),
    LibraryObject("torch.nn.Linear", CPU, THERE, (("module", Reference(IDS[0])),)),
    LibraryObject("torch.nn.Linear", CPU, None, (("module", Reference(IDS[1])),)),
)
OPTIMIZERS: tuple[Optimizer, ...] = (
    *(Optimizer("torch.optim.Adam", (Reference(IDS[0]),), device, HERE) for device in DEVICES),
    Optimizer("torch.optim.Adam", (Reference(IDS[1]),), CPU, THERE),
    Optimizer("torch.optim.Adam", None, CPU),
)

_FOUND = Heap({IDS[0]: ListObject((Tensor(CPU, None),))})
_OBJECTS = st.fixed_dictionaries({}, optional={IDS[0]: sequences(None), IDS[1]: instances(CLASS_A)})


def _heap(objects: dict[ObjectId, Object], has_found: bool) -> Heap:
    heap = _FOUND.above() if has_found else Heap()
    heap.update(objects)
    return heap


heaps: st.SearchStrategy[Heap] = st.builds(_heap, _OBJECTS, st.booleans())


processes = st.builds(
    Process,
    st.sampled_from([None, "", "nccl", UNKNOWN_BACKEND]),
    st.sampled_from([None, 0, 2, UNKNOWN_NUMBER]),
    st.booleans(),
)


def environments(*, fallback: bool) -> st.SearchStrategy[Environment]:
    """Environments of one side: on a machine without an accelerator, or any."""
    return st.builds(
        Environment,
        st.dictionaries(st.sampled_from(["x", "y", "device"]), values, max_size=3),
        heaps,
        st.dictionaries(st.sampled_from([X, Y]), devices, max_size=2),
        st.booleans(),
        st.just(fallback),
        st.sampled_from([None, 0, 1]),
        devices,
        processes,
        st.frozensets(st.sampled_from([("a.py", HERE.span), ("b.py", HERE.span)])),
        st.booleans(),
    )


ENVIRONMENTS: tuple[Environment, ...] = (
    Environment(),
    Environment({"x": Tensor(CPU, 1)}),
    Environment({"x": Tensor(GPU0, 1)}, checked=True),
    Environment({"device": Constant("cuda")}, checked=True, current=1),
    Environment({"device": Constant("cpu")}, current=None, always=False),
    Environment({"x": Reference(IDS[0])}, Heap({IDS[0]: ListObject((Tensor(CPU, 1),))}), {X: GPU}),
    Environment({"x": Reference(IDS[0])}, Heap({IDS[0]: ListObject(())}), {X: CPU}, default=GPU0),
    Environment(process=Process("nccl")),
    Environment(process=Process("gloo")),
)


def content(thing: object) -> object:
    """What is said, without the order in which keys, attributes or proofs are listed."""
    match thing:
        case Predicate():
            return Predicate, frozenset(thing.holds), frozenset(thing.fails), thing.known
        case TupleValue():
            return TupleValue, tuple(map(content, thing.items))
        case ListObject():
            items = None if thing.items is None else tuple(map(content, thing.items))
            return ListObject, items, content(thing.rest), thing.module, content(thing.first)
        case DictObject():
            pairs = {(type(key), key): content(value) for key, value in thing.items}
            return DictObject, pairs, content(thing.rest), thing.complete, thing.module
        case Instance():
            stored = {name: content(value) for name, value in thing.attributes}
            return Instance, thing.cls, stored, thing.registered, thing.open
        case LibraryObject():
            parts = {name: content(value) for name, value in thing.parts}
            return LibraryObject, thing.cls, thing.device, parts
        case Environment():
            names = {name: content(value) for name, value in thing.names.items()}
            heap = {identity: content(held) for identity, held in thing.heap.items()}
            rest = (
                thing.checked,
                thing.fallback,
                thing.current,
                thing.default,
                thing.process,
                thing.arriving,
                thing.always,
            )
            return Environment, names, heap, dict(thing.assumptions), rest
        case _:
            return thing
