"""Lists, tuples and dictionaries: reads and stores of their elements.

If the number of its elements is known, a list has ITEMS. Else it has the join of them, ELEMENT, and the PARTS that it
certainly holds side by side. A dictionary has a `Row`. For a symbol, the heap has the elements that the body stored.
"""

from __future__ import annotations

from typing import Final

from devlint.inference.state.frame import Frame
from devlint.inference.state.where import device_of, rank_of, source_of
from devlint.inference.values import ranks
from devlint.inference.values.data import LENGTH, Code, Question
from devlint.inference.values.devices import possible
from devlint.inference.values.folding import CODE, is_answerable
from devlint.inference.values.joins import either, join, join_all
from devlint.inference.values.objects import DICT, ENVIRONMENT, LIST, MODULE, SET, Instance
from devlint.inference.values.tensors import (
    WHOLE,
    Alternatives,
    Array,
    Piece,
    Row,
    Tensor,
    Tuple,
    array,
    pack,
    row,
    tensor,
)
from devlint.inference.values.terms import (
    ABSENT,
    APPENDED,
    BOTTOM,
    ELEMENT,
    FALSE,
    ITEMS,
    MAPPING,
    NONE,
    NUMBER,
    OTHER_KEYS,
    PARTS,
    POSITIVE,
    REPLACED,
    TRUE,
    UNKNOWN,
    VALUE,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
    constant,
    element,
    is_symbolic,
    root_of,
    symbol,
    term,
)

MOST_ITEMS: Final = 24
"""The largest number of elements of a list that are kept apart."""
MOST_PARTS: Final = 6
MOST_ASKED: Final = 16
"""The largest number of elements of a caller's list that are kept apart."""


def content(frame: Frame, value: Value) -> Row:
    """Return the content of a dictionary."""
    if isinstance(value, Row):
        return value
    held = frame.heap.get(value, MAPPING)
    if isinstance(held, Row):
        return held
    top = root_of(value)
    return row(value) if top is not None and top.kind in REPLACED else row(UNKNOWN)


def get(frame: Frame, owner: Value, key: Value, default: Value) -> Value:
    """Return the value of a dictionary or row under a key, or the default."""
    found = owner if isinstance(owner, Row) else content(frame, owner)
    if not isinstance(key, Constant):
        return any_value(frame, found) if default is UNKNOWN else join(any_value(frame, found), default)
    for each, held in found.entries:
        if each is key:
            return _or_default(held, default)
    for each, held in found.entries:
        if each is OTHER_KEYS:
            return join(held, default)
    if found.base is NONE:
        return default
    if found.base is UNKNOWN:
        return UNKNOWN
    return term("get", found.base, key, UNKNOWN if default is BOTTOM else default)


def _or_default(held: Value, default: Value) -> Value:
    if held is ABSENT:
        return default
    if isinstance(held, Alternatives) and ABSENT in held.options:
        return join_all([default if each is ABSENT else each for each in held.options])
    if isinstance(held, Term) and held.operator == "ite" and ABSENT in held.arguments:
        return either(held.arguments[0], *[_or_default(each, default) for each in held.arguments[1:]])
    return held


def has(frame: Frame, owner: Value, key: Value) -> Value:
    """Return whether a dictionary has a key."""
    found = owner if isinstance(owner, Row) else content(frame, owner)
    for each, held in found.entries:
        if each is key:
            return FALSE if held is ABSENT else NUMBER if may_be_absent(held) else TRUE
    if any(each is OTHER_KEYS for each, _ in found.entries) or found.base is UNKNOWN:
        return NUMBER
    if found.base is NONE:
        return FALSE if isinstance(key, Constant) else NUMBER
    asked = term("has", found.base, key)
    return NUMBER if asked is UNKNOWN or not isinstance(key, Constant) else asked


def may_be_absent(value: Value) -> bool:
    """Whether a key or attribute with this value is perhaps not there."""
    if isinstance(value, Alternatives):
        return ABSENT in value.options
    if isinstance(value, Term) and value.operator == "ite":
        return may_be_absent(value.arguments[1]) or may_be_absent(value.arguments[2])
    return value is ABSENT or value is UNKNOWN


def any_value(frame: Frame, owner: Value) -> Value:
    """Return any value of a dictionary."""
    found = owner if isinstance(owner, Row) else content(frame, owner)
    others: Value = BOTTOM
    if found.base is not NONE:
        others = symbol(found.base, VALUE) if isinstance(found.base, (Root, Symbol)) else UNKNOWN
    return join_all([others, *[each for _, each in found.entries if each is not ABSENT]])


def keys(frame: Frame, owner: Value) -> tuple[tuple[Value, Value], ...] | None:
    """Return the keys and values of a dictionary, if all are known."""
    found = content(frame, owner)
    held = frame.ask(Question(LENGTH, found.base)) if is_answerable(found.base) else None
    if isinstance(held, tuple) and not isinstance(held, Code):
        below = {key: symbol(found.base, element(key)) for key in held}  # type: ignore[arg-type]
        found = row(NONE, tuple({**below, **dict(found.entries)}.items()))
    is_known = found.base is NONE and not any(
        key is OTHER_KEYS or (each is not ABSENT and may_be_absent(each)) for key, each in found.entries
    )
    return tuple([entry for entry in found.entries if entry[1] is not ABSENT]) if is_known else None


def set_key(frame: Frame, owner: Value, key: Value, value: Value) -> None:
    """Store a value in a dictionary; a store under an unknown key may replace the value of each known key."""
    found = content(frame, owner)
    entries = dict(found.entries)
    if isinstance(key, Constant):
        entries[key] = value
    else:
        for each, held in entries.items():
            entries[each] = join(held, value)
        entries[OTHER_KEYS] = join(entries.get(OTHER_KEYS, BOTTOM), value)
    frame.heap.put(owner, MAPPING, row(found.base, tuple(entries.items())))


def is_list(value: Value) -> bool:
    """Whether a value is a list or a set, or a container of modules."""
    return isinstance(value, Instance) and value.kind in (LIST, SET)


def elements(frame: Frame, value: Value) -> tuple[Value, ...] | None:
    """Return the elements of an iterable; None if their number is unknown."""
    if isinstance(value, Tuple):
        return value.items
    held = frame.heap.get(value, ITEMS)
    if isinstance(held, Tuple):
        return held.items
    if isinstance(value, Instance):
        known = keys(frame, value) if value.kind == DICT else None
        return None if known is None else tuple([key for key, _ in known])
    if is_symbolic(value) and is_answerable(value) and not frame.heap.fields(value):
        length = frame.ask(Question(LENGTH, value))
        if isinstance(length, tuple) and not isinstance(length, Code):
            return length
        if isinstance(length, int) and length <= MOST_ASKED:
            return tuple([item(frame, value, constant(number)) for number in range(length)])
    return None


def known_length(frame: Frame, value: Value) -> int | tuple[Value, ...] | None:
    """Return the number of elements of a value, or the keys of a dictionary: what `elements` asks the caller for."""
    known = keys(frame, value) if isinstance(value, Row) or is_dictionary(value) else None
    if known is not None and all(isinstance(key, Constant) for key, _ in known):
        return tuple([key for key, _ in known])
    return length_of(frame, value)


def is_dictionary(value: Value) -> bool:
    """Whether a value is a dictionary."""
    return isinstance(value, Instance) and value.kind == DICT


def length_of(frame: Frame, value: Value) -> int | None:
    """Return the number of elements of a value."""
    found = elements(frame, value)
    return None if found is None else len(found)


def one_element(frame: Frame, value: Value) -> Value:
    """Return the join of all elements of an iterable; UNKNOWN if the heap does not have them."""
    if not isinstance(value, (Root, Symbol)):
        found = elements(frame, value)
        if found is not None:
            return join_all(found)
    if isinstance(value, Instance):
        if value.kind == DICT:
            return NUMBER
        held = frame.heap.get(value, ELEMENT)
        return UNKNOWN if held is None or value.kind == ENVIRONMENT else held
    if isinstance(value, Tensor):
        return tensor(value.device, ranks.more(value.rank, constant(-1)), NONE, value.source)
    if isinstance(value, Array):
        return _part_of_array(ranks.more(value.rank, constant(-1)))
    if isinstance(value, (Root, Symbol)):
        added = frame.heap.get(value, APPENDED)
        first = symbol(value, ELEMENT)
        return first if added is None else join(first, added)
    if isinstance(value, Term) and value.operator == "ite":
        test, then, orelse = value.arguments
        return either(test, one_element(frame, then), one_element(frame, orelse))
    if isinstance(value, Term):
        return term("element", value)
    if isinstance(value, Alternatives):
        return join_all([one_element(frame, each) for each in value.options])
    return NUMBER if value is NUMBER or isinstance(value, Constant) else UNKNOWN


def side_by_side(frame: Frame, value: Value) -> tuple[Value, ...]:
    """Return values that a list certainly holds, each an element or the join of all elements."""
    found = elements(frame, value)
    if found is not None:
        return found
    parts = frame.heap.get(value, PARTS)
    if isinstance(parts, Tuple) and parts.items:
        return parts.items
    each = one_element(frame, value)
    return () if each is UNKNOWN or each is BOTTOM else (each,)


def item(frame: Frame, value: Value, index: Value) -> Value:
    """Return `value[index]`, as far as no code of the project is executed."""
    if isinstance(value, Tensor):
        return tensor(value.device, rank_of_item(value.rank, index), NONE, value.source)
    if isinstance(value, Array):
        return _part_of_array(rank_of_item(value.rank, index))
    if isinstance(value, Tuple):
        return _item_of_tuple(value, index)
    if isinstance(value, Row):
        return get(frame, value, index, UNKNOWN)
    if isinstance(value, Instance):
        if value.kind == DICT or frame.heap.get(value, MAPPING) is not None:
            return get(frame, value, index, BOTTOM)
        if isinstance(index, Piece):
            return _part_of_list(frame, value, index)
        held = frame.heap.get(value, ITEMS)
        return _item_of_tuple(held, index) if isinstance(held, Tuple) else one_element(frame, value)
    if isinstance(value, (Root, Symbol)):
        return _item_of_symbol(frame, value, index)
    if isinstance(value, Alternatives):
        return join_all([item(frame, each, index) for each in value.options if each is not NONE])
    if isinstance(value, Term):
        if value.operator == "ite":
            test, then, orelse = value.arguments
            if NONE in (then, orelse):
                return item(frame, orelse if then is NONE else then, index)
            return either(test, item(frame, then, index), item(frame, orelse, index))
        if value.operator == "to" or _is_of_numbers(value):
            rank = rank_of_item(rank_of(frame, value), index)
            return tensor(device_of(frame, value), rank, NONE, source_of(frame, value))
        return term("item", value, index)
    if isinstance(value, Constant) and isinstance(value.value, str):
        is_known = isinstance(index, Piece) and index.bounds is not None and index.bounds[2] != 0
        return constant(value.value[slice(*index.bounds)]) if is_known else NUMBER  # type: ignore[attr-defined]
    return NUMBER if value is NUMBER else UNKNOWN


def _is_of_numbers(value: Value) -> bool:
    """Whether an operation is one on numbers, tensors or arrays, and not one on lists or texts."""
    if not isinstance(value, Term):
        return isinstance(value, Tensor) or (isinstance(value, Constant) and isinstance(value.value, float))
    return value.operator in ("-", "/", "@", "**") or (
        value.operator in ("+", "*") and any(map(_is_of_numbers, value.arguments))
    )


def _part_of_array(rank: Value) -> Value:
    """Return a part of an array: without dimensions, it is a number."""
    return array(rank) if ranks.is_positive(rank) else NUMBER if ranks.number(rank) == 0 else UNKNOWN


def _item_of_tuple(value: Tuple, index: Value) -> Value:
    if isinstance(index, Constant) and type(index.value) is int:
        if -len(value.items) <= index.value < len(value.items):
            return value.items[index.value]
        return BOTTOM
    if isinstance(index, Piece) and index.bounds is not None and index.bounds[2] != 0:
        return pack(*value.items[slice(*index.bounds)])
    if index is NUMBER or is_symbolic(index):
        return join_all(value.items) if value.items else BOTTOM
    return UNKNOWN


def _part_of_list(frame: Frame, value: Instance, index: Piece) -> Value:
    """Return some elements of a list or container, as another one."""
    if value.kind not in (LIST, MODULE):
        return UNKNOWN
    made = frame.make(value.kind, frame.span, value.of, f"{index.text} of {value.text}")
    held = frame.heap.get(value, ITEMS)
    found = _item_of_tuple(held, index) if isinstance(held, Tuple) else UNKNOWN
    if isinstance(found, Tuple):
        frame.heap.put(made, ITEMS, found)
    else:
        frame.heap.put(made, ELEMENT, one_element(frame, value))
    return made


def _item_of_symbol(frame: Frame, value: Root | Symbol, index: Value) -> Value:
    if _is_fixed(index):
        held = frame.heap.get(value, element(index))
        if held is not None:
            return held
        if frame.heap.get(value, MAPPING) is not None:
            return get(frame, value, index, UNKNOWN)
        return symbol(value, element(index))
    return term("item", value, index)


def _is_fixed(index: Value) -> bool:
    """Whether a subscript is the same wherever it is written: constants and slices."""
    if isinstance(index, Tuple):
        return all(_is_fixed(each) for each in index.items)
    return isinstance(index, (Constant, Piece))


def rank_of_item(rank: Value, index: Value) -> Value:
    """Return the rank of `x[index]`."""
    kept, taken, added, indexed = 0, 0, 0, 0  # tensors that are indices share their dimensions
    is_part = False
    for each in index.items if isinstance(index, Tuple) else (index,):
        if isinstance(each, Piece):
            kept += 1
            is_part = is_part or each is not WHOLE
        elif each is NONE:
            added += 1
        elif isinstance(each, Constant) and each.value is ...:
            continue
        elif each is NUMBER or (isinstance(each, Constant) and type(each.value) is int):
            taken += 1
        elif is_list(each) or (isinstance(each, Tensor) and ranks.number(each.rank) == 1):
            indexed = 1
            taken += 1
        else:
            is_some = kept or added or indexed or (isinstance(each, Tensor) and ranks.is_positive(each.rank))
            return POSITIVE if is_some else UNKNOWN
    exact = ranks.number(rank)
    if exact is not None and exact < taken:
        return UNKNOWN
    left = ranks.more(rank, constant(added + indexed - taken))
    if is_part and ranks.number(left) == 1:  # perhaps one element
        return POSITIVE
    return ranks.some(left) if kept or added or indexed else left


def set_item(frame: Frame, owner: Value, index: Value, value: Value) -> None:
    """Store `owner[index] = value`, as far as no code of the project is executed; tensors are copied into."""
    heap, several = frame.heap, possible(owner)
    if len(several) > 1:
        for each in several:
            before = frame.state.fork()
            set_item(frame, each, index, value)
            frame.state = frame.state.joined(before)
    elif isinstance(owner, Instance):
        if owner.kind == DICT or heap.get(owner, MAPPING) is not None:
            set_key(frame, owner, index, value)
        elif owner.kind in (LIST, SET, MODULE):
            _set_list_item(frame, owner, index, value)
    elif isinstance(owner, (Root, Symbol)):
        if heap.get(owner, MAPPING) is not None:
            set_key(frame, owner, index, value)
        elif _is_fixed(index):
            heap.put(owner, element(index), value)
        else:
            heap.put(owner, APPENDED, join(heap.get(owner, APPENDED) or BOTTOM, value))
            for field in list(heap.fields(owner)):
                if field.key is not None:
                    heap.put(owner, field, join(heap.fields(owner)[field], value))


def _set_list_item(frame: Frame, owner: Instance, index: Value, value: Value) -> None:
    heap = frame.heap
    held = heap.get(owner, ITEMS)
    if isinstance(held, Tuple) and isinstance(index, Constant) and type(index.value) is int:
        if -len(held.items) <= index.value < len(held.items):
            new = list(held.items)
            new[index.value] = value
            heap.put(owner, ITEMS, pack(*new))
        return
    known = join_all(held.items) if isinstance(held, Tuple) else heap.get(owner, ELEMENT) or UNKNOWN
    heap.drop(owner, ITEMS)
    heap.drop(owner, PARTS)
    heap.put(owner, ELEMENT, join(known, value))


def fill(frame: Frame, owner: Value, items: list[Value], is_exact: bool) -> None:
    """Fill a new list or set. If `is_exact` is false, it may hold each item any number of times.

    A set has each item once; two items may be equal, unless they are constants.
    """
    if isinstance(owner, Instance) and owner.kind == SET:
        items = list(dict.fromkeys(items))
        is_exact = is_exact and (len(items) == 1 or all(isinstance(each, Constant) for each in items))
    if is_exact and len(items) <= MOST_ITEMS:
        frame.heap.put(owner, ITEMS, pack(*items))
    else:
        frame.heap.put(owner, ELEMENT, join_all(items))
        _note_parts(frame, owner, items)


def append(frame: Frame, owner: Value, values: tuple[Value, ...]) -> None:
    """Append elements to a list; after an append in a loop, the number of elements is unknown."""
    heap = frame.heap
    held = heap.get(owner, ITEMS)
    if isinstance(owner, (Root, Symbol)) and not isinstance(held, Tuple):
        heap.put(owner, APPENDED, join_all([heap.get(owner, APPENDED) or BOTTOM, *values]))
        return
    if not isinstance(owner, (Instance, Root, Symbol)):
        return
    if isinstance(held, Tuple) and not frame.repeats and len(held.items) + len(values) <= MOST_ITEMS:
        heap.put(owner, ITEMS, pack(*held.items, *values))
        return
    known = held.items if isinstance(held, Tuple) else (heap.get(owner, ELEMENT) or BOTTOM,)
    _note_parts(frame, owner, [*(held.items if isinstance(held, Tuple) else ()), *values])
    heap.drop(owner, ITEMS)
    heap.put(owner, ELEMENT, join_all([*known, *values]))


def _note_parts(frame: Frame, owner: Value, values: list[Value]) -> None:
    held = frame.heap.get(owner, PARTS)
    known = held.items if isinstance(held, Tuple) else ()
    parts = [each for each in dict.fromkeys((*known, *values)) if isinstance(each, Tensor) or is_symbolic(each)]
    if len(parts) <= MOST_PARTS:
        frame.heap.put(owner, PARTS, pack(*parts))


def loosen(frame: Frame, owner: Instance) -> None:
    """Forget how many elements a list has, and their order."""
    held = frame.heap.get(owner, ITEMS)
    if isinstance(held, Tuple):
        frame.heap.drop(owner, ITEMS)
        frame.heap.put(owner, ELEMENT, join_all(held.items))
    frame.heap.drop(owner, PARTS)


def is_true(frame: Frame, value: Value) -> bool | None:
    """Return whether a test on a container holds, if its length is known."""
    if not isinstance(value, Instance) or value.kind not in (LIST, SET, DICT):
        return True if isinstance(value, CODE) else None
    if value.kind == DICT:
        found = content(frame, value)
        if any(not may_be_absent(each) for _, each in found.entries):
            return True
        return False if found.base is NONE and not found.entries else None
    held = frame.heap.get(value, ITEMS)
    if isinstance(held, Tuple):
        return bool(held.items)
    return True if frame.heap.get(value, PARTS) not in (None, pack()) else None
