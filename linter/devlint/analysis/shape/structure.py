"""What the modules of a file are made of, as their constructors leave them: for people to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from devlint.analysis.execution.frame import Frame
from devlint.analysis.index import classes
from devlint.analysis.shape import self_object
from devlint.analysis.values.occurrences import class_name, seen_as
from devlint.analysis.values.show import reveal
from devlint.domain.environment import Environment
from devlint.domain.heap import INHERITED, DictObject, Heap, Instance, LibraryObject, ListObject
from devlint.domain.kinds import TensorRole
from devlint.domain.value import Library, MaybeNone, Reference, Tensor, UserClass, Value
from devlint.module_classes import Member, ModuleClass

MOST_PARTS = 16
"""Of a container with more parts than this, the first ones stand for all."""

DEEPEST = 4


def module_class(frame: Frame, cls: UserClass) -> ModuleClass | None:
    """A class of modules as `__init__` leaves its instances; None for any other class."""
    if not classes.is_module(cls) or cls.span is None:
        return None
    generic = self_object.generic(frame, cls, moved=False)
    reference, heap = generic.value, generic.heap
    env = Environment(heap=heap)
    held = heap.get(reference.object)
    members: list[Member] = []
    if isinstance(held, Instance):
        places = dict(held.places)
        for name, value, registered in _members(heap, held):
            member = _member(frame, env, name, value, registered, DEEPEST)
            if member is not None:
                where = places.get(name)
                place = None if where is None else frame.program.place(*where)
                members.append(replace(member, place=place))
    bases = tuple(_base_name(base) for base in cls.bases)
    return ModuleClass(cls.name, frame.program.place(cls.globals.file, cls.span), bases, tuple(members))


def _members(heap: Heap, held: Instance) -> Iterator[tuple[str, Value, bool]]:
    """The attributes and inherited parts of an instance; the flag says whether each is registered."""
    for name, value in held.attributes:
        if name != INHERITED:
            yield name, value, name in held.registered
        elif isinstance(value, Reference) and not isinstance(heap.get(value.object), LibraryObject):
            yield from ((key, part, True) for key, part in _parts(heap.get(value.object)))
        else:
            yield "super()", value, True


def _base_name(base: Value) -> str:
    match base:
        case UserClass(name=name) | Library(name=name):
            return name.rpartition(".")[2]
        case _:
            return "…"


def _member(frame: Frame, env: Environment, name: str, value: Value, registered: bool, depth: int) -> Member | None:
    """An attribute that lives on a device or holds what does; None for any other."""
    value = value.present if isinstance(value, MaybeNone) else value
    seen = seen_as(frame, env, value)
    if seen is None or seen.kind == "device":
        return None
    kind = seen.kind if not isinstance(value, Tensor) or value.role is not TensorRole.PLAIN else "tensor"
    devices = tuple(dict.fromkeys(device for device, _ in seen.lives))
    of, file = "", ""
    parts: tuple[Member, ...] = ()
    if isinstance(value, Reference):
        held = env.heap.get(value.object)
        of = class_name(env, value)
        if isinstance(held, Instance):
            file = held.cls.globals.file
        elif depth:
            inner = (_member(frame, env, key, part, registered, depth - 1) for key, part in _parts(held))
            parts = tuple(part for part in inner if part is not None)
    kind = kind if registered else f"unregistered {kind}"
    return Member(name, kind, of, file, reveal(frame, env, value), devices, None, parts)


def _parts(held: object) -> Iterator[tuple[str, Value]]:
    """What a container or wrapper of a library holds, by name."""
    match held:
        case ListObject(items=None, rest=rest):
            yield "*", rest
        case ListObject(items=tuple(items)):
            yield from ((str(index), item) for index, item in enumerate(items[:MOST_PARTS]))
        case DictObject(items=pairs):
            yield from ((str(key), item) for key, item in pairs[:MOST_PARTS])
        case LibraryObject(parts=parts):
            yield from parts[:MOST_PARTS]
