"""Methods of lists, sets, dicts and text."""

from __future__ import annotations

from dataclasses import replace

from devlint.analysis.libraries.transfer_tables import LibraryCall
from devlint.analysis.values.arguments import Arguments
from devlint.analysis.values.containers import add_element, extend, items_of
from devlint.analysis.values.devices import CUDA_FORMATS, numbered
from devlint.analysis.values.narrowing import decided, has_part
from devlint.domain.heap import LARGEST_DISPLAY, DictObject, ListObject, summary
from devlint.domain.size import is_wide
from devlint.domain.value import NUMBER, TEXT, UNKNOWN, Constant, DeviceType, Reference, TupleValue, Value


def list_method(site: LibraryCall, value: Reference, held: ListObject) -> Value:
    """A method of a list or set, or of a module that holds others in order."""
    env, name = site.env, site.name
    first = site.arguments.first()
    match name:
        case "append" | "add" if first is not None:
            add_element(env, value, first.value)
        case "extend" | "update" if first is not None:
            extend(site.frame, env, value, first.value)
        case "pop":
            return _pop(site, value, held)
        case "copy":
            return site.allocate("list", held)
        case "index" | "count":
            return NUMBER
        case "insert" if len(site.arguments.positional) == 2:
            _insert(site, value, held, site.arguments.positional[1].value)
        case "clear":
            env.heap[value.object] = replace(held, items=())
        case "reverse" if held.items is not None:
            env.heap[value.object] = replace(held, items=held.items[::-1])
        case "sort" | "reverse" | "remove" | "discard":
            env.heap[value.object] = held.loosened(summary(held))
        case _:
            return UNKNOWN
    return Constant(None)


def _pop(site: LibraryCall, value: Reference, held: ListObject) -> Value:
    if not held.items:
        return summary(held)
    index = site.constant(0, "index") if site.arguments.all() else -1
    if type(index) is not int or not -len(held.items) <= index < len(held.items):
        site.env.heap[value.object] = held.loosened(summary(held))
        return summary(held)
    kept = list(held.items)
    result = kept.pop(index)
    site.env.heap[value.object] = replace(held, items=tuple(kept), rest=summary(held))
    return result


def _insert(site: LibraryCall, value: Reference, held: ListObject, item: Value) -> None:
    index = site.constant(0, "index")
    if held.items is None or type(index) is not int or len(held.items) >= LARGEST_DISPLAY:
        add_element(site.env, value, item, repeated=True)
        return
    changed = list(held.items)
    changed.insert(index, item)
    site.env.heap[value.object] = replace(held, items=tuple(changed))


def dict_method(site: LibraryCall, value: Reference, held: DictObject) -> Value:
    """A method of a dict, or of a module that holds others by name."""
    key = site.constant(0, "key")
    named = isinstance(key, (str, int))
    default = site.value(1, "default") or Constant(None)
    match site.name:
        case "get" if named:
            return held.get(key) if not held.lacks(key) else default
        case "setdefault" if named:
            site.env.heap[value.object] = after = held.put_default(key, default)
            return after.get(key)
        case "setdefault":
            site.env.heap[value.object] = held.put_default(None, default)
            return UNKNOWN
        case "pop" if named:
            site.env.heap[value.object] = held.without(key)
            return held.get(key) if not held.lacks(key) else default
        case "pop":
            # Which keys are left is not followed, nor is what any of them has.
            site.env.heap[value.object] = DictObject((), held.each(), False, held.module)
            return held.each() if site.value(1, "default") is None else UNKNOWN
        case "popitem" | "clear":
            # Which keys are left is not followed.
            site.env.heap[value.object] = DictObject((), UNKNOWN, False, held.module)
            return UNKNOWN
        case "copy":
            return site.allocate("dict", held)
        case "values":
            items = tuple(item for _, item in held.items) if held.complete else None
            return site.allocate("values", ListObject(items, UNKNOWN if held.complete else held.each()))
        case "keys" if held.complete:
            return site.allocate("keys", ListObject(tuple(Constant(name) for name, _ in held.items)))
        case "items" if held.complete:
            pairs = tuple(TupleValue((Constant(name), item)) for name, item in held.items)
            return site.allocate("items", ListObject(pairs, singly=held.singly))
        case "items":
            return site.allocate("items", ListObject(None, TupleValue((UNKNOWN, held.each()))))
        case "update":
            site.env.heap[value.object] = updated(site, held)
            return Constant(None)
        case _:
            return UNKNOWN


def updated(site: LibraryCall, held: DictObject) -> DictObject:
    """A dict after `update(other, key=value)`."""
    unknown = DictObject((), UNKNOWN, False, held.module)
    if not site.arguments.exact or len(site.arguments.positional) > 1:
        return unknown
    for given in site.arguments.positional:
        pairs = pairs_of(site, given.value)
        if pairs is None:
            return unknown
        for key, item in pairs:
            held = held.put(key, item)
    for name, given in site.arguments.keywords:
        held = held.put(name, given.value)
    return held


def pairs_of(site: LibraryCall, value: Value) -> tuple[tuple[object, Value], ...] | None:
    """What `dict(value)` holds, where all of it is known."""
    held = site.held(value)
    if isinstance(held, DictObject):
        return held.items if held.complete else None
    pairs: list[tuple[object, Value]] = []
    for item in items_of(site.frame, site.env, value) or (UNKNOWN,):
        if not (isinstance(item, TupleValue) and len(item.items) == 2 and isinstance(item.items[0], Constant)):
            return None
        pairs.append((item.items[0].value, item.items[1]))
    return tuple(pairs)


def text_method(value: Constant | DeviceType, name: str, arguments: Arguments, devices: int | None) -> Value:
    """A method of a known text, or of the name of a device; `devices` as for `present`."""
    if isinstance(value, DeviceType):
        first = arguments.first()
        return UNKNOWN if first is None or name != "startswith" else has_part(value, first.value)
    text = value.value
    assert isinstance(text, str)
    if name in ("startswith", "endswith") and len(arguments.positional) == 1:
        part = arguments.positional[0].value
        if isinstance(part, Constant) and isinstance(part.value, str):
            holds = text.startswith(part.value) if name == "startswith" else text.endswith(part.value)
            return decided(holds, value, part, devices=devices)
        return UNKNOWN
    if name == "format" and not arguments.keywords:
        parts = [item.value for item in arguments.positional]
        if all(isinstance(part, Constant) for part in parts) and not is_wide(text):
            try:
                made = text.format(*(part.value for part in parts if isinstance(part, Constant)))
            except (IndexError, KeyError, ValueError, AttributeError, TypeError):
                return TEXT
            found = bool(parts) and all(isinstance(part, Constant) and part.checked for part in parts)
            return Constant(made, value.checked or found, value.origin)
        return numbered(parts[0]) if text in CUDA_FORMATS and len(parts) == 1 else TEXT
    if name in _REWRITES and not arguments.keywords and len(text) <= LONGEST_TEXT:
        parts = [item.value for item in arguments.positional]
        written = [part.value for part in parts if isinstance(part, Constant) and isinstance(part.value, str)]
        if len(written) == len(parts) == _REWRITES[name]:
            return replace(value, value=getattr(text, name)(*written))
    return UNKNOWN if name in ("split", "join", "encode") else TEXT


_REWRITES = {"lower": 0, "upper": 0, "strip": 0, "lstrip": 0, "rstrip": 0, "replace": 2}
"""Methods of texts that give another text, each with how many texts it is given."""

LONGEST_TEXT = 200
"""Longer texts are not rewritten."""
