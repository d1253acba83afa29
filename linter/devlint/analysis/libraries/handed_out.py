"""Parts that a module hands out: a move of one moves that part of the module.

`for part in model.children(): part.to(device)` puts the parts of a model on a device one by one, and so does
`model.get_submodule("head").to(device)`. The parts are looked up only in code that moves or replaces something, since
most loops over `modules()` only read the parts.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.analysis.index.contents import Contents
from devlint.analysis.libraries.transfer_tables import LibraryCall
from devlint.analysis.values import modules
from devlint.domain.device import UNKNOWN_DEVICE, Unreached
from devlint.domain.environment import Environment
from devlint.domain.heap import INHERITED, DictObject, Instance, LibraryObject, ListObject, Object
from devlint.domain.value import UNKNOWN, Closure, Constant, MaybeNone, ObjectId, Reference, TupleValue, Value

_LISTING = frozenset({"children", "named_children", "modules", "named_modules"})

MOST_LISTED = 16
"""A loop over at most so many parts is executed part by part; of more, nobody knows where the module is."""


def parts(site: LibraryCall, value: Reference) -> Value | None:
    """Return the parts that a call of a module's method hands out; None where it does not matter which these are.

    A function that may move or replace its argument makes the device of the module unknown.
    """
    name = site.name
    if name == "apply":
        _note_applied(site, value)
    elif name in ("parameters", "named_parameters") and "data" in _contents(site).stored:
        _forget(site, value)  # `for p in model.parameters(): p.data = …`
    if not (name in _LISTING or name == "get_submodule") or not _contents(site).moves:
        return None
    if name == "get_submodule":
        found = _at(site, value, site.constant(0, "target"))
        if found is None:
            _forget(site, value)
        return found
    listed = list(_listed(site.env, value, recursive=name.endswith("modules")))
    if any(not isinstance(part, Reference) for _, part in listed) or not 0 < len(listed) <= MOST_LISTED:
        _forget(site, value)
        return None
    named = name.startswith("named_")
    items = tuple(TupleValue((Constant(key), part)) if named else part for key, part in listed)
    return site.allocate(name, ListObject(items, UNKNOWN, singly=True))


def note_some(site: LibraryCall) -> None:
    """`model[i]` hands out an unknown part; code that may move the part makes the device of the model unknown."""
    if site.receiver is not None and isinstance(site.receiver.value, Reference) and _contents(site).moves:
        _forget(site, site.receiver.value)


def _note_applied(site: LibraryCall, value: Reference) -> None:
    """`model.apply(function)` calls a function with each part, which may move it."""
    function = site.value(0, "fn")
    program = site.frame.program
    if isinstance(function, Closure) and program.contents(function.globals.file, function.function).moves:
        _forget(site, value)


def _forget(site: LibraryCall, value: Reference) -> None:
    """Forget where a module is."""
    modules.place_object(site.frame, site.env, value, UNKNOWN_DEVICE, None)


def _contents(site: LibraryCall) -> Contents:
    """Return what the executed body contains."""
    return site.frame.program.contents(site.frame.file, site.frame.scope)


def _listed(env: Environment, value: Value, *, recursive: bool) -> Iterator[tuple[str, Value]]:
    """Yield the modules in a module with their names; `recursive`: it comes first, and those in them follow."""
    pending: list[tuple[str, Value]] = [("", value)] if recursive else list(_children(env, value))
    seen: set[ObjectId] = set()
    while pending:
        name, part = pending.pop(0)
        if not isinstance(part, Reference):
            yield name, part
            continue
        if part.object in seen:
            continue
        seen.add(part.object)
        yield name, part
        if recursive and len(seen) <= MOST_LISTED:
            pending.extend((f"{name}.{key}".lstrip("."), inner) for key, inner in _children(env, part))


def _children(env: Environment, value: Value) -> Iterator[tuple[str, Value]]:
    """Yield what a module registers, but for tensors, with names; UNKNOWN where that is not all known."""
    held = env.heap.get(value.object) if isinstance(value, Reference) else None
    if isinstance(held, Instance) and held.inherited is not None:
        yield from _children(env, held.inherited)
    for name, stored in _registered(held):
        part = stored.present if isinstance(stored, MaybeNone) else stored
        inner = env.heap.get(part.object) if isinstance(part, Reference) else None
        if part == UNKNOWN or isinstance(inner, (Instance, LibraryObject, ListObject, DictObject)):
            yield name, part


def _registered(held: Object | None) -> Iterator[tuple[str, Value]]:
    match held:
        case Instance(attributes=attributes, registered=registered, open=hidden):
            yield from (item for item in attributes if item[0] in registered and item[0] != INHERITED)
            if hidden:
                yield "", UNKNOWN
        case LibraryObject(parts=stored, device=device):
            yield from stored
            if not isinstance(device, Unreached):  # it has parameters of its own, in parts that nobody has named
                yield "", UNKNOWN
        case ListObject(items=items, rest=rest):
            yield from ((str(i), item) for i, item in enumerate(items)) if items is not None else (("", rest),)
        case DictObject(items=pairs, rest=rest, complete=complete):
            yield from ((str(key), item) for key, item in pairs)
            if not complete:
                yield "", rest
        case _:
            yield "", UNKNOWN


def _at(site: LibraryCall, value: Value, path: object) -> Value | None:
    """Return the part of a module at a path, `layers.0.fc`; None if it is not found."""
    for step in path.split(".") if isinstance(path, str) and path else ():
        value = dict(_children(site.env, value)).get(step, UNKNOWN)
    return value if isinstance(path, str) and isinstance(value, Reference) else None
