"""The values of an execution: constants, symbols and terms; `tensors` and `objects` hold the others.

Equal values are identical: `is` compares them, and a dictionary may have them as keys. Each class has a function that
makes its values, and nothing else may call a constructor. `Value.text` is the same in every process and for files in
any order: code that needs an order of values sorts by it.
"""

from __future__ import annotations

from typing import Final, final

MOST_NODES: Final = 40
"""How large a term may be; one that would be larger is unknown."""

DEEPEST: Final = 6
"""How many steps lead from the root of a symbol, and how deep tuples are nested, at most."""


class Value:
    """The knowledge of an execution about the content of a name, an attribute or an element.

    Attributes:
        nodes: its number of terms and leaves.
        is_fixed: whether it is the same for every caller: it has no symbol that a caller replaces, and no site.
        is_answerable: whether a caller may know something of it; None if nobody has asked (see `folding`).
    """

    __slots__ = ("_text", "is_answerable", "is_fixed", "nodes")

    def __init__(self, nodes: int = 1, is_fixed: bool = True) -> None:
        self._text = ""
        self.nodes = nodes
        self.is_fixed = is_fixed
        self.is_answerable: bool | None = None

    @property
    def text(self) -> str:
        """The value as text, which only decides the order of values."""
        if not self._text:
            self._text = self._shown()
        return self._text

    def _shown(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.text


def all_fixed(values: tuple[Value, ...]) -> bool:
    """Whether all of some values are the same for every caller."""
    return all(each.is_fixed for each in values)


@final
class Field:
    """A part of an object: an attribute, the element under a key, or a property that the analysis keeps.

    Attributes:
        kind: "." for an attribute, "[]" for the element under a key that is known, "#" for a property.
        name: of the attribute or the property.
        key: of the element; for an attribute that is an option of a program, its default.
    """

    __slots__ = ("key", "kind", "name", "text")

    def __init__(self, kind: str, name: str, key: Value | None) -> None:
        self.kind = kind
        self.name = name
        self.key = key
        self.text = f"[{key.text}]" if key is not None and kind != "." else kind + name

    def __repr__(self) -> str:
        return self.text


_fields: Final[dict[tuple[str, str, Value | None], Field]] = {}


def _field(kind: str, name: str, key: Value | None) -> Field:
    found = _fields.get((kind, name, key))
    if found is None:
        found = _fields[kind, name, key] = Field(kind, name, key)
    return found


def attribute(name: str) -> Field:
    """Return the field of an attribute."""
    return _field(".", name, None)


def option(name: str, default: Value) -> Field:
    """Return the field of an option of a program that has a default."""
    return _field(".", name, default)


def element(key: Value) -> Field:
    """Return the field of the element under a key."""
    return _field("[]", "", key)


def kept(name: str) -> Field:
    """Return the field of a property that the analysis keeps."""
    return _field("#", name, None)


DEVICE: Final = kept("device")
"""Where a tensor is, or the parameters of a module of a library."""
CURRENT: Final = kept("current")
"""Of the process, in the body that has changed it: the current CUDA device, whose number is not followed."""
RANK: Final = kept("rank")
"""How many dimensions a tensor has."""
SOURCE: Final = kept("source")
"""The place in the text that decided a device."""
MOVED: Final = kept("moved")
"""Of a passed object: the device to which the body has moved it as a whole."""
ITEMS: Final = kept("items")
"""The elements of a list, if their number is known."""
ELEMENT: Final = kept("element")
"""Any element of a list or of another iterable."""
MAPPING: Final = kept("mapping")
"""The content of a dictionary: a `Row`."""
VALUE: Final = kept("value")
"""Any value of a dictionary."""
PARTS: Final = kept("parts")
"""Elements that a list certainly holds side by side: it is filled piece by piece."""
APPENDED: Final = kept("appended")
"""The elements that a body has appended to a list of its caller."""
DATA: Final = kept("data")
"""Of a data set or loader: the source of its items."""
ITEM: Final = kept("item")
"""Of a data set: any of its items."""
COLLATES: Final = kept("collates")
"""Of a loader: the function that makes a batch of items."""
DRAWS_WITH: Final = kept("draws with")
"""Of a loader or sampler: its random generator; NONE for one that it makes."""
PINS: Final = kept("pins")
"""Of a loader that pins the memory of its batches: the place in the text that asks for it; else NONE."""
FIRST: Final = kept("first")
"""Of an iterable: its first element, if it is more precise than ELEMENT."""
TURNS: Final = kept("turns")
"""Of numbers from 0: how many there are, if the machine decides that."""
LAZY: Final = kept("lazy")
"""Of an iterator: a function that is called for each element, and the iterables of its arguments."""
RECEIVER: Final = kept("receiver")
"""Of a bound method: its first argument."""
CHOOSES: Final = kept("chooses")
"""Of a choice between two values: the test that chooses."""
ENVIRONMENT_OF: Final = kept("environment")
"""Of a function: the variables of the functions around it."""
TRAINED: Final = kept("trained")
"""Of an optimizer: the module whose parameters it changes, or one of several; of a symbol, the device of that."""
STATE: Final = kept("state")
"""Of an optimizer: where the state is that it keeps for its parameters."""
WORKS_ON: Final = kept("works on")
"""Of a wrapper of a module: the device on which it looks for the module, and to which it moves inputs."""
RETURNS_ON: Final = kept("returns on")
"""Of a wrapper of a module: the device to which it moves results."""
BACKEND: Final = kept("backend")
"""Of the process: the device of the tensors that its process group sends."""
VISIBLE_DEVICES: Final = kept("visible devices")
"""Of the process: the text of CUDA_VISIBLE_DEVICES."""
BY_DEFAULT: Final = kept("by default")
"""Of a new module: the CPU as a default of its constructor, the place of the call, and the devices known there."""
RUNS_IF: Final = kept("runs if")
"""Of a decorator: a framework skips the decorated test if this does not hold."""
COMPUTED: Final = attribute("<computed>")
"""All attributes whose names were computed."""


@final
class Marker(Value):
    """One of the values below that say little."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def _shown(self) -> str:
        return f"<{self.name}>"


UNKNOWN: Final = Marker("unknown")
"""Any value at all, or as a device or rank any device or rank."""
BOTTOM: Final = Marker("bottom")
"""No value: the result of a body that never returns."""
ABSENT: Final = Marker("absent")
"""An attribute or element that is not there."""
NUMBER: Final = Marker("number")
"""Some number, string, size or dtype: on no device, and never None."""
NO_DEVICE: Final = Marker("no device")
"""The device of a value that is neither a tensor nor a module."""
POSITIVE: Final = Marker("positive")
"""Some rank above 0."""
OTHER_KEYS: Final = Marker("other keys")
"""The key of a row that stands for all keys that it does not name."""


@final
class Constant(Value):
    """A literal, or a value computed from literals: None, bool, int, float, complex, str, bytes or Ellipsis."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value

    def _shown(self) -> str:
        return repr(self.value)


_constants: Final[dict[tuple[str, object], Constant]] = {}


def constant(value: object) -> Constant:
    """Return the value of a literal; 1, 1.0 and True are three, as are 0.0 and -0.0."""
    key = (type(value).__name__, repr(value) if isinstance(value, (float, complex)) else value)
    found = _constants.get(key)
    if found is None:
        found = _constants[key] = Constant(value)
    return found


NONE: Final = constant(None)
TRUE: Final = constant(True)
FALSE: Final = constant(False)


@final
class Root(Value):
    """A value from outside of a body: symbols begin at roots.

    Attributes:
        kind: one of the constants below.
        name: the name of the parameter, global or option; for an unknown result, a word for the operation.
        place: distinguishes roots of one name: the file of a global, the site of an unknown result, or NONE.
    """

    __slots__ = ("kind", "name", "place")

    def __init__(self, kind: str, name: str, place: Value) -> None:
        super().__init__(1, kind in (OPTION, MACHINE, INPUT, MARK))
        self.kind = kind
        self.name = name
        self.place = place

    def _shown(self) -> str:
        return f"{self.kind} {self.name}" + (f" {self.place.text}" if self.place is not NONE else "")


PARAMETER: Final = "parameter"
"""Of the body that is executed; each call puts the caller's value in its place."""
CLOSURE: Final = "closure"
"""The variables of the functions around the body."""
GLOBAL: Final = "global"
"""Of a file."""
OPTION: Final = "option"
"""A choice of the user of a program, or of the code that makes an object; one option, one value."""
INPUT: Final = "input"
"""An argument of a client."""
UNKNOWN_RESULT: Final = "unknown"
"""The result of unknown code: an object of its own."""
MACHINE: Final = "machine"
"""A fact of the machine, such as the number of its accelerators."""
MARK: Final = "mark"
"""A condition that no world decides: a test that is not known, or something that has happened before."""
PROCESS: Final = "process"
"""The state of the process, such as the default device."""

REPLACED: Final = (PARAMETER, CLOSURE, GLOBAL)
"""The kinds of roots that a caller replaces by its values."""

_roots: Final[dict[tuple[str, str, Value], Root]] = {}


def root(kind: str, name: str, place: Value = NONE) -> Root:
    """Return a root."""
    found = _roots.get((kind, name, place))
    if found is None:
        found = _roots[kind, name, place] = Root(kind, name, place)
    return found


@final
class Symbol(Value):
    """The value of a field of an object at the entry of the body."""

    __slots__ = ("depth", "field", "parent", "root")

    def __init__(self, parent: Value, field: Field, top: Root, depth: int) -> None:
        super().__init__(1, top.is_fixed)
        self.parent = parent
        self.field = field
        self.root = top
        self.depth = depth

    def _shown(self) -> str:
        return self.parent.text + self.field.text


_symbols: Final[dict[tuple[Value, Field], Symbol]] = {}


def symbol(parent: Root | Symbol, field: Field) -> Value:
    """Return the initial value of a field of a root or symbol; UNKNOWN if the path from the root is too long."""
    found = _symbols.get((parent, field))
    if found is None:
        depth = parent.depth + 1 if isinstance(parent, Symbol) else 1
        if depth > DEEPEST and field.kind != "#":
            return UNKNOWN
        found = Symbol(parent, field, parent.root if isinstance(parent, Symbol) else parent, depth)
        _symbols[parent, field] = found
    return found


@final
class Term(Value):
    """An operation on symbols that cannot be computed yet, such as `args.n == 1`.

    Attributes:
        operator, arguments: the operation.
        rank: the rank of its result, once somebody has asked for it.
    """

    __slots__ = ("arguments", "operator", "rank")

    def __init__(self, operator: str, arguments: tuple[Value, ...], nodes: int) -> None:
        super().__init__(nodes, all_fixed(arguments))
        self.operator = operator
        self.arguments = arguments
        self.rank: Value | None = None

    def _shown(self) -> str:
        return f"{self.operator}({', '.join([each.text for each in self.arguments])})"


_terms: Final[dict[tuple[str, tuple[Value, ...]], Term]] = {}


def term(operator: str, *arguments: Value) -> Value:
    """Return a term; unknown, if it would be too large."""
    key = (operator, arguments)
    found = _terms.get(key)
    if found is None:
        nodes = 1
        for each in arguments:
            nodes += each.nodes
        if nodes > MOST_NODES:
            return UNKNOWN
        found = _terms[key] = Term(operator, arguments, nodes)
    return found


def is_symbolic(value: Value) -> bool:
    """Whether a value is a symbol or a term of symbols."""
    return isinstance(value, (Symbol, Term, Root))


def root_of(value: Value) -> Root | None:
    """Return the root of a symbol; None for any other value."""
    if isinstance(value, Symbol):
        return value.root
    return value if isinstance(value, Root) else None


def asked(value: Value) -> Value:
    """Return an unknown number or truth value that is read from a known tensor, such as `x.item()`."""
    found = term("asked", value)
    return NUMBER if found is UNKNOWN else found
