"""Methods of Python's lists, sets, dictionaries and texts."""

from __future__ import annotations

from devlint.inference.libraries.table import CallSite, handles
from devlint.inference.state.containers import (
    any_value,
    append,
    content,
    elements,
    fill,
    get,
    keys,
    loosen,
    one_element,
    set_key,
)
from devlint.inference.values.folding import TEXT_METHOD, TEXT_METHODS, filled, fold
from devlint.inference.values.joins import join
from devlint.inference.values.objects import DICT, LIST, Instance
from devlint.inference.values.tensors import Tuple, pack, row
from devlint.inference.values.terms import (
    ABSENT,
    BOTTOM,
    ELEMENT,
    ITEMS,
    MAPPING,
    NONE,
    NUMBER,
    PARTS,
    UNKNOWN,
    Constant,
    Value,
    constant,
)


def _register(kinds: tuple[str, ...], names: str) -> tuple[str, ...]:
    return tuple([f"{kind}:{name}" for kind in kinds for name in names.split()])


@handles(*_register((LIST, "set", ""), "append add"))
def append_(call: CallSite) -> Value:
    """Add an element."""
    append(call.frame, call.receiver, (call.argument(0, ""),))
    return NONE


@handles(*_register((LIST, "set"), "extend update"))
def extend(call: CallSite) -> Value:
    """Add the elements of something."""
    frame, source = call.frame, call.argument(0, "")
    found = elements(frame, source)
    more = (frame.engine.iterated(frame, source, call.span),) if found is None else found
    append(frame, call.receiver, more)
    return NONE


@handles(*_register((LIST,), "insert"))
def insert(call: CallSite) -> Value:
    """Add an element somewhere."""
    frame, owner, index = call.frame, call.receiver, call.argument(0, "")
    held = frame.heap.get(owner, ITEMS)
    if isinstance(held, Tuple) and not frame.repeats and isinstance(index, Constant) and type(index.value) is int:
        items = list(held.items)
        items.insert(index.value, call.argument(1, ""))
        fill(frame, owner, items, True)
        return NONE
    if isinstance(owner, Instance):
        loosen(frame, owner)
    append(frame, owner, (call.argument(1, ""),))
    return NONE


@handles(*_register((LIST, "set"), "pop popleft remove discard sort reverse clear"))
def change(call: CallSite) -> Value:
    """Take an element, or change the order."""
    frame, owner = call.frame, call.receiver
    if not isinstance(owner, Instance):
        return UNKNOWN
    held = frame.heap.get(owner, ITEMS)
    index = call.given(0, "") or constant(-1 if call.name == "pop" else 0)
    if isinstance(held, Tuple) and not frame.repeats and call.name == "reverse":
        frame.heap.put(owner, ITEMS, pack(*held.items[::-1]))
        return NONE
    if isinstance(held, Tuple) and not frame.repeats and call.name.startswith("pop") and isinstance(index, Constant):
        items = list(held.items)
        if isinstance(index.value, int) and -len(items) <= index.value < len(items):
            taken = items.pop(index.value)
            frame.heap.put(owner, ITEMS, pack(*items))
            return taken
    if call.name == "clear":
        frame.heap.drop(owner, ELEMENT)
        frame.heap.drop(owner, PARTS)
        frame.heap.put(owner, ITEMS, pack())
        return NONE
    value = one_element(frame, owner)
    loosen(frame, owner)
    return value if call.name.startswith("pop") else NONE


@handles(*_register((LIST, "set", DICT), "copy"))
def copy(call: CallSite) -> Value:
    """Return a container with the same elements."""
    frame, owner = call.frame, call.receiver
    if not isinstance(owner, Instance):
        return UNKNOWN
    made = frame.make(owner.kind, call.span)
    for field in (ITEMS, ELEMENT, PARTS, MAPPING):
        held = frame.heap.get(owner, field)
        if held is not None:
            frame.heap.put(made, field, held)
    return made


@handles(*_register((LIST, "set"), "index count"))
def count(call: CallSite) -> Value:
    """Return a number."""
    return NUMBER


@handles(*_register((DICT, ""), "get"))
def get_(call: CallSite) -> Value:
    """Return a value of a dictionary, or a default."""
    return get(call.frame, call.receiver, call.argument(0, "key"), call.given(1, "default") or NONE)


@handles(*_register((DICT,), "pop setdefault"))
def take(call: CallSite) -> Value:
    """Return a value of a dictionary, and take it out or put the default in."""
    frame, key = call.frame, call.argument(0, "key")
    default = call.given(1, "default")
    value = get(
        frame, call.receiver, key, (NONE if call.name == "setdefault" else BOTTOM) if default is None else default
    )
    if isinstance(key, Constant):
        set_key(frame, call.receiver, key, ABSENT if call.name == "pop" else value)
    return UNKNOWN if value is BOTTOM else value


@handles(*_register((DICT,), "update"))
def update(call: CallSite) -> Value:
    """Take over the values of a dictionary and of the named arguments."""
    frame = call.frame
    whole = content(frame, call.receiver)
    entries = dict(whole.entries)
    base = whole.base
    for source in call.arguments.positional:
        other = content(frame, source)
        entries.update(dict(other.entries))
        base = base if other.base is NONE else UNKNOWN
    entries.update({constant(name): value for name, value in call.arguments.named.items()})
    if base is UNKNOWN:
        entries = {key: join(value, UNKNOWN) for key, value in entries.items()}
    frame.heap.put(call.receiver, MAPPING, row(base, tuple(entries.items())))
    return NONE


@handles(*_register((DICT,), "keys values items"))
def views(call: CallSite) -> Value:
    """Return the keys, the values or both."""
    frame = call.frame
    known = keys(frame, call.receiver)
    if known is not None:
        pairs = {"keys": [key for key, _ in known], "values": [value for _, value in known]}
        return pack(*pairs.get(call.name, [pack(key, value) for key, value in known]))
    made = frame.make(LIST, call.span, NONE, call.name)
    value = any_value(frame, call.receiver)
    frame.heap.put(made, ELEMENT, {"keys": NUMBER, "values": value}.get(call.name, pack(NUMBER, value)))
    return made


@handles("str:format")
def format_(call: CallSite) -> Value:
    """Return a text with values in its places."""
    template = call.receiver
    if not isinstance(template, Constant) or not isinstance(template.value, str) or call.arguments.named:
        return NUMBER
    text = template.value.replace("{0}", "{}") if len(call.arguments.positional) == 1 else template.value
    return filled(text, "{}", tuple(call.arguments.positional))


@handles(*_register(("str",), " ".join(sorted(TEXT_METHODS))))
def text_method(call: CallSite) -> Value:
    """Return the result of a string method."""
    return fold(TEXT_METHOD + call.name, call.receiver, *call.arguments.positional)
