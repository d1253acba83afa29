"""Devices, sources, tensors and arrays; tuples, alternatives and the contents of dictionaries."""

from __future__ import annotations

from typing import Final, TypeAlias, final

from devlint.inference.values.data import Place
from devlint.inference.values.terms import DEEPEST, NONE, UNKNOWN, Term, Value, all_fixed, asked

MOST_INSIDE: Final = 400
"""How large a tuple may be, or alternatives together; what would be larger is unknown."""


@final
class Device(Value):
    """A device: "cpu", "cuda:0", "cuda" for the current one, "meta", or the one of a client."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def _shown(self) -> str:
        return f"device {self.name}"


_devices: Final[dict[str, Device]] = {}


def device(name: str) -> Device:
    """Return a device by the name that PyTorch has for it."""
    found = _devices.get(name)
    if found is None:
        found = _devices[name] = Device(name)
    return found


CPU: Final = device("cpu")
ACCELERATOR: Final = device("accelerator")
"""The accelerator of a client, whichever it is; it is not the CPU."""


@final
class Source(Value):
    """A place in the text that decided a device."""

    __slots__ = ("place",)

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place

    def _shown(self) -> str:
        path, line, column, end_line, end_column = self.place
        return f"{path}:{line:06}:{column:04}:{end_line:06}:{end_column:04}"


_sources: Final[dict[Place, Source]] = {}


def source(place: Place) -> Source:
    """Return a place as a value."""
    found = _sources.get(place)
    if found is None:
        found = _sources[place] = Source(place)
    return found


@final
class Tensor(Value):
    """A value that is certainly a tensor.

    Attributes:
        device, rank, source: of the tensor; values, so each may be a symbol.
        owner: for a parameter, its module, or TRUE if it has no module yet; else NONE.
    """

    __slots__ = ("device", "owner", "rank", "source")

    def __init__(self, where: Value, rank: Value, owner: Value, decided: Value) -> None:
        super().__init__(where.nodes + rank.nodes, all_fixed((where, rank, owner, decided)))
        self.device = where
        self.rank = rank
        self.owner = owner
        self.source = decided

    def _shown(self) -> str:
        return f"tensor({self.device.text}, {self.rank.text}, {self.owner.text}, {self.source.text})"


_tensors: Final[dict[tuple[Value, Value, Value, Value], Tensor]] = {}


def tensor(where: Value, rank: Value = UNKNOWN, owner: Value = NONE, decided: Value = NONE) -> Tensor:
    """Return a tensor on a device."""
    key = (where, rank, owner, decided)
    found = _tensors.get(key)
    if found is None:
        found = _tensors[key] = Tensor(where, rank, owner, decided)
    return found


@final
class Array(Value):
    """An array of numpy, which is in the memory of the host."""

    __slots__ = ("rank",)

    def __init__(self, rank: Value) -> None:
        super().__init__(1, rank.is_fixed)
        self.rank = rank

    def _shown(self) -> str:
        return f"array({self.rank.text})"


_arrays: Final[dict[Value, Array]] = {}


def array(rank: Value = UNKNOWN) -> Array:
    """Return an array."""
    found = _arrays.get(rank)
    if found is None:
        found = _arrays[rank] = Array(rank)
    return found


@final
class Tuple(Value):
    """A tuple of known length."""

    __slots__ = ("items", "nesting")

    def __init__(self, items: tuple[Value, ...], nesting: int, nodes: int) -> None:
        super().__init__(nodes, all_fixed(items))
        self.items = items
        self.nesting = nesting

    def _shown(self) -> str:
        return f"({', '.join([each.text for each in self.items])})"


_tuples: Final[dict[tuple[Value, ...], Tuple]] = {}


def pack(*items: Value) -> Value:
    """Return a tuple; unknown, if it is nested too deep."""
    found = _tuples.get(items)
    if found is None:
        nesting, nodes = 1, 1
        for each in items:
            nodes += each.nodes
            if isinstance(each, Tuple) and each.nesting >= nesting:
                nesting = each.nesting + 1
        if nesting > DEEPEST or nodes > MOST_INSIDE:
            return UNKNOWN
        found = _tuples[items] = Tuple(items, nesting, nodes)
    return found


Bounds: TypeAlias = "tuple[int | None, int | None, int | None] | None"
"""The three parts of a slice; None, if one of them is no known number."""


@final
class Piece(Value):
    """`lower:upper:step` inside of a subscript."""

    __slots__ = ("bounds",)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__()
        self.bounds = bounds

    def _shown(self) -> str:
        return f"piece {self.bounds}"


_pieces: Final[dict[Bounds, Piece]] = {}


def piece(bounds: Bounds) -> Piece:
    """Return a slice."""
    found = _pieces.get(bounds)
    if found is None:
        found = _pieces[bounds] = Piece(bounds)
    return found


WHOLE: Final = piece((None, None, None))


@final
class Alternatives(Value):
    """One of several values, in the order of their texts; none of them is UNKNOWN."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[Value, ...], nodes: int) -> None:
        super().__init__(nodes, all_fixed(options))
        self.options = options

    def _shown(self) -> str:
        return " | ".join([each.text for each in self.options])


_alternatives: Final[dict[tuple[Value, ...], Alternatives]] = {}


def alternatives(options: tuple[Value, ...]) -> Value:
    """Return the alternatives of at least two different values; `join` decides which values may be alternatives."""
    ordered = tuple(sorted(options, key=_text))
    found = _alternatives.get(ordered)
    if found is None:
        nodes = 1
        for each in ordered:
            nodes += each.nodes
        if nodes > MOST_INSIDE:
            return UNKNOWN
        found = _alternatives[ordered] = Alternatives(ordered, nodes)
    return found


def as_test(value: Value) -> Value:
    """Return the truth of a value as a symbol or term, if the value is a tensor."""
    return asked(value) if isinstance(value, Tensor) else value


def _text(value: Value) -> str:
    return value.text


def options(value: Value) -> tuple[Value, ...]:
    """Return the alternatives of a value; most have one."""
    return value.options if isinstance(value, Alternatives) else (value,)


def is_made_of(value: Value, part: Value) -> bool:
    """Whether a term has a part, a symbol or another term, as an operand."""
    if isinstance(value, Alternatives):
        return any(is_made_of(each, part) for each in value.options)
    return isinstance(value, Term) and any(part in options(each) or is_made_of(each, part) for each in value.arguments)


@final
class Row(Value):
    """The content of a dictionary: its known keys, and a base for all other keys.

    Attributes:
        base: NONE if there are no other keys, UNKNOWN, or the symbol of the dictionary that it was at first.
        entries: values by key, in the order of insertion; ABSENT for a key that is not there any more.
    """

    __slots__ = ("base", "entries")

    def __init__(self, base: Value, entries: tuple[tuple[Value, Value], ...]) -> None:
        super().__init__(1, base.is_fixed and all_fixed(tuple([value for _, value in entries])))
        self.base = base
        self.entries = entries

    def _shown(self) -> str:
        return f"{{{self.base.text}: {', '.join([f'{key.text}: {value.text}' for key, value in self.entries])}}}"


_rows: Final[dict[tuple[Value, tuple[tuple[Value, Value], ...]], Row]] = {}


def row(base: Value, entries: tuple[tuple[Value, Value], ...] = ()) -> Row:
    """Return the content of a dictionary."""
    found = _rows.get((base, entries))
    if found is None:
        found = _rows[base, entries] = Row(base, entries)
    return found
