"""Classes of the program: what they inherit, what they are, where an attribute is found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache, lru_cache

from devlint.domain.device import Device
from devlint.domain.given_object import about_class, defined
from devlint.domain.heap import Instance
from devlint.domain.provenance import Origin
from devlint.domain.value import Closure, DeviceValue, Field, Library, UserClass, Value
from devlint.frontend import ir
from devlint.torchlib.knowledge import (
    CRITERION_ENDINGS,
    KNOWS_DEVICE,
    METRIC_LIBRARIES,
    MODULE_BASES,
    MODULE_STEPS,
    PLAIN_BASES,
)


def find(cls: UserClass, name: str) -> tuple[Value, UserClass] | None:
    """An attribute of the class or of a base in the program, with the class whose body binds it."""
    return defined(cls, name)


@about_class
def fields(cls: UserClass) -> tuple[Field, ...]:
    """What the constructor of a class that writes none takes, in order: names that it or its bases declare.

    Dataclasses and named tuples have such a constructor; so may what a decorator or base outside the program changes,
    as pydantic. Modules are left out of the latter: only an `__init__` registers parameters.
    """
    own = [item for item in cls.lineage if isinstance(item, UserClass)]
    is_record = any(item.is_record for item in own)
    foreign = not is_record and not is_module(cls) and (is_open(cls) or any(item.dynamic for item in own))
    found: dict[str, Field] = {}
    for item in reversed(own):
        for field in item.declared if item.is_record or foreign else ():
            if field.annotation is None or not field.annotation.names[0].endswith("ClassVar"):
                found[field.name] = field
    return tuple(found.values())


@about_class
def find_after(cls: UserClass, after: UserClass, name: str) -> tuple[Value, UserClass] | None:
    """As `find`, beginning behind `after`: what `super()` sees."""
    passed = False
    for item in cls.lineage:
        if passed and isinstance(item, UserClass) and name in item.attributes:
            return item.attributes[name], item
        passed = passed or item is after
    return None


@about_class
def is_module(cls: UserClass) -> bool:
    """Whether instances are modules: by a base, or by having a `forward` where a base is not known."""
    if any(isinstance(item, Library) and is_module_name(item.name) for item in cls.lineage):
        return True
    return is_open(cls) and find(cls, "forward") is not None


@cache
def is_module_name(name: str) -> bool:
    """Whether a library class is a module: one of torch.nn, or named as libraries name their module classes."""
    if name in MODULE_BASES or name.startswith("torch.nn."):
        return True
    last = name.rsplit(".", 1)[-1]
    return last.endswith(("Module", "PreTrainedModel", "ModelMixin")) and not last.endswith("DataModule")


@about_class
def reached_from(cls: UserClass, method: str) -> frozenset[str]:
    """The names that a method of the class reads from anything, with those that methods of these names read."""
    found: set[str] = set()
    pending = [method]
    while pending:
        name = pending.pop()
        for item in cls.lineage:
            function = item.attributes.get(name) if isinstance(item, UserClass) else None
            if isinstance(function, Closure):
                new = read_in(function.function) - found
                found |= new
                pending.extend(new)
    return frozenset(found)


@about_class
def reached_in_use(cls: UserClass) -> frozenset[str]:
    """As `reached_from`, for all methods that use a module once it is where it belongs."""
    return frozenset().union(*(reached_from(cls, step) for step in MODULE_STEPS))


@lru_cache(maxsize=500)  # it keeps the bodies
def read_in(function: ir.Function) -> frozenset[str]:
    """The attributes that a function reads, and those inside of it."""
    found = set()
    pending: list[object] = [function.body]
    while pending:
        item = pending.pop()
        if isinstance(item, ir.Attribute):
            found.add(item.name)
        elif isinstance(item, ir.Function):
            pending.append(item.body)
        elif isinstance(item, tuple):
            pending.extend(item)
    return frozenset(found)


def loads(body: object, name: str) -> bool:
    """Whether instructions, or those inside of them, read a name."""
    pending = [body]
    while pending:
        item = pending.pop()
        if isinstance(item, ir.Load) and item.name == name:
            return True
        if isinstance(item, (ir.Function, ir.Class)):
            pending.append(item.body)
        elif isinstance(item, tuple):
            pending.extend(item)
    return False


@about_class
def is_defined_above(cls: UserClass, name: str) -> bool:
    """Whether a base class in the program defines a method of that name, too."""
    return any(isinstance(item, UserClass) and item is not cls and name in item.attributes for item in cls.lineage)


@about_class
def is_criterion(cls: UserClass) -> bool:
    """Whether instances are losses or metrics: by a base, or by what the class is called."""
    names = [item.name for item in cls.lineage if isinstance(item, (UserClass, Library))]
    return is_module(cls) and any(map(is_criterion_name, names))


def is_criterion_name(name: str) -> bool:
    """Whether a class is named as losses and metrics are, or is one of a library of metrics."""
    return name.startswith(METRIC_LIBRARIES) or name.endswith(CRITERION_ENDINGS)


@about_class
def is_open(cls: UserClass) -> bool:
    """Whether some base lies outside what is known, so that instances may have and do more than one sees."""
    return any(
        not isinstance(item, UserClass) and not (isinstance(item, Library) and _is_plain(item.name))
        for item in cls.lineage
    )


@about_class
def is_dynamic(cls: UserClass) -> bool:
    """Whether a decorator or metaclass outside the program may add attributes to the class."""
    return cls.dynamic


@about_class
def definitions(cls: UserClass, name: str) -> tuple[Closure, ...]:
    """The methods of that name of the class and of its bases in the program, in the order of the lineage."""
    every = (item.attributes.get(name) for item in cls.lineage if isinstance(item, UserClass))
    return tuple(found for found in every if isinstance(found, Closure))


@about_class
def knows_device(cls: UserClass) -> bool:
    """Whether a module keeps its device in `self.device`, which each move of it changes.

    In `__init__`, a LightningModule is on the default device; its trainer moves it later (lightning 2.6,
    `_DeviceDtypeModuleMixin`).
    """
    return any(isinstance(item, Library) and item.name in KNOWS_DEVICE for item in cls.lineage)


@about_class
def torch_base(cls: UserClass, after: UserClass | None = None) -> str | None:
    """Return the library class among the bases of a module that brings parts of its own; None if there is none.

    `after`: only bases behind this class of the lineage count.
    """
    behind = after is None
    for item in cls.lineage:
        behind = behind or item is after
        if not behind:
            continue
        if isinstance(item, Library) and is_module_name(item.name):
            return None if item.name in MODULE_BASES or item.name in KNOWS_DEVICE else item.name
    return None


def blank(cls: UserClass, default: Device, origin: Origin | None = None) -> Instance:
    """Return an instance before its `__init__` has run; `default` is where factories create tensors."""
    held = Instance(cls, open=any(_is_unseen(item) for item in cls.lineage), origin=origin)
    return held.put("device", DeviceValue(default, True), registered=False) if knows_device(cls) else held


def seen_whole(held: Instance, base: str) -> Instance:
    """Return an instance whose library base has become known; it is still open if another base is unknown."""
    others = (item for item in held.cls.lineage if not (isinstance(item, Library) and item.name == base))
    return replace(held, open=held.open and any(map(_is_unseen, others)))


@about_class
def has_plain_bases(cls: UserClass) -> bool:
    """Whether all bases are of the program, or those of ordinary modules and objects: nobody else calls its methods."""
    return all(
        isinstance(base, UserClass) or (isinstance(base, Library) and _is_plain(base.name)) for base in cls.lineage
    )


def _is_unseen(base: Value) -> bool:
    """Whether instances may register or move what one does not see, for the sake of a base class."""
    if isinstance(base, Library):
        return not _is_plain(base.name) and base.name not in KNOWS_DEVICE
    return not isinstance(base, UserClass)


def _is_plain(name: str) -> bool:
    return name in MODULE_BASES or name in PLAIN_BASES or name.startswith("builtins.")


@about_class
def moves_itself(cls: UserClass) -> bool:
    """Whether the class decides for itself what `.to()` does."""
    return any(find(cls, name) is not None for name in ("_apply", "to", "cuda", "cpu"))


@about_class
def stores(cls: UserClass, name: str) -> bool:
    """Whether some method stores an attribute of that name on `self`."""
    every = [item for item in cls.lineage if isinstance(item, UserClass)]
    return any(name in stored for item in every for stored in item.self_stores.values())


def is_left_to_heirs(cls: UserClass, name: str, heirs: Iterable[UserClass]) -> bool:
    """Whether an attribute may be one of derived classes: one in the same file has it, or nothing else is used.

    A module class without `forward` is used through classes that have one.
    """
    return all(find(cls, step) is None for step in MODULE_STEPS) or any(
        stores(heir, name) or find(heir, name) is not None for heir in heirs
    )


def other_stores(cls: UserClass, *, besides: str) -> frozenset[str]:
    """The attributes that methods other than one store on `self`, and others than those that are parts of that one."""
    names: set[str] = set()
    for item in cls.lineage:
        if isinstance(item, UserClass):
            for method, stores in item.self_stores.items():
                if method != besides and stores and not is_part_of(cls, method, besides):
                    names |= stores
    return frozenset(names)


@about_class
def stored_from(cls: UserClass, method: str) -> frozenset[str]:
    """The attributes that a method of the class, or one that it calls, stores on `self`."""
    storing = {method, *reached_from(cls, method)}
    items = [item for item in cls.lineage if isinstance(item, UserClass)]
    return frozenset().union(*(item.self_stores.get(name, frozenset()) for item in items for name in storing))


@about_class
def is_read_only_in(cls: UserClass, attribute: str, method: str) -> bool:
    """Whether the methods of a class that read an attribute, of which there is one, are called by that one method."""
    readers = _readers(cls, attribute)
    return bool(readers) and readers <= reached_from(cls, method) | {method}


def _readers(cls: UserClass, attribute: str) -> set[str]:
    """The methods of a class and its bases that read an attribute of that name."""
    return {
        name
        for item in cls.lineage
        if isinstance(item, UserClass)
        for name, value in item.attributes.items()
        if isinstance(value, Closure) and attribute in read_in(value.function)
    }


@about_class
def is_part_of(cls: UserClass, method: str, whole: str) -> bool:
    """Whether a method takes nothing and is called by one method alone, so that it does the same each time."""
    found = find(cls, method)
    if found is None or not isinstance(found[0], Closure) or len(found[0].function.parameters) != 1:
        return False
    return _readers(cls, method) == {whole}
