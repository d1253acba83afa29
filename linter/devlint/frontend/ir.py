"""The intermediate representation: what the interpreter executes.

Terms. A *register* is a number; an instruction that computes something names the register that receives it,
and every register is written before it is read, in straight-line order, within one execution of its block.
A *block* is a tuple of instructions executed in order. Control flow is structured: an instruction that
branches or repeats holds the blocks it governs, so a transfer function needs no graph.

Syntax that is only a shorthand is gone after lowering: comprehensions are loops that append, `assert` is an
`If` that raises, `match` is a chain of `If`s, an augmented assignment is a load, an in-place `Binary` and a
store, f-strings are `Format`. For example::

    y = x.to(d) if ok else x

lowers to::

    0 = Load ok
    1 = Conditional 0 [2 = Load x; 3 = Attribute 2 to; 4 = Load d; 5 = Call 3 (4)] -> 5 [6 = Load x] -> 6
    Store y 1

Spans are those of Python's own `ast`: 1-based lines and 0-based columns counted in UTF-8 bytes. Instructions
are named tuples: immutable, and cheap enough to make for every expression of a large project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple, TypeAlias

from devlint.definitions import Imports
from devlint.records import dataclass

Register: TypeAlias = int


class Span(NamedTuple):
    """A stretch of source text in `ast` coordinates."""

    line: int
    column: int
    end_line: int
    end_column: int

    def holds(self, part: Span) -> bool:
        """Whether a stretch of the same file lies in this one; a stretch lies in itself."""
        return self[:2] <= part[:2] and part[2:] <= self[2:]


# --- values -------------------------------------------------------------------------------------------------


class Const(NamedTuple):
    """A literal: None, bool, int, float, complex, str, bytes or Ellipsis."""

    target: Register
    value: object
    span: Span


class Load(NamedTuple):
    """Reads a name; which scope it belongs to is said by the enclosing `Scope`."""

    target: Register
    name: str
    span: Span


class Attribute(NamedTuple):
    """`base.name`."""

    target: Register
    base: Register
    name: str
    span: Span


class Subscript(NamedTuple):
    """`base[index]`."""

    target: Register
    base: Register
    index: Register  # type: ignore[assignment]  # hides the method of tuple, which nothing here calls
    span: Span


class Slice(NamedTuple):
    """`lower:upper:step` inside a subscript; an absent part is None."""

    target: Register
    lower: Register | None
    upper: Register | None
    step: Register | None
    span: Span


class Argument(NamedTuple):
    """One argument of a call: `a`, `k=a`, `*a` (unpack, no keyword) or `**a` (unpack, keyword "")."""

    register: Register
    keyword: str | None
    unpack: bool
    span: Span


class Call(NamedTuple):
    """`function(arguments)`; `discarded` when the result is thrown away by an expression statement."""

    target: Register
    function: Register
    arguments: tuple[Argument, ...]
    discarded: bool
    span: Span


class Binary(NamedTuple):
    """`left operator right`, e.g. "+"; `in_place` for `left += right`, whose span is the whole statement."""

    target: Register
    operator: str
    left: Register
    right: Register
    in_place: bool
    span: Span


class Unary(NamedTuple):
    """`operator operand`; operator is one of "-", "+", "~", "not"."""

    target: Register
    operator: str
    operand: Register
    span: Span


class Compare(NamedTuple):
    """`left operator right`.

    `a < b < c` is `Logic "and"` of two of these, each with the span of the chain, and `b` is computed once,
    before; a longer chain has another such `Logic` as its second operand.
    """

    target: Register
    operator: str
    left: Register
    right: Register
    span: Span


class Operand(NamedTuple):
    """A block evaluated only if control reaches it, and the register that then holds its value."""

    block: Block
    register: Register


class Logic(NamedTuple):
    """`a and b and …` or `a or b or …`: later operands run only if the earlier ones allow it."""

    target: Register
    operator: str
    operands: tuple[Operand, ...]
    span: Span


class Conditional(NamedTuple):
    """`then if test else orelse`."""

    target: Register
    test: Register
    then: Operand
    orelse: Operand
    span: Span


class Format(NamedTuple):
    """An f-string: literal pieces and the registers of the replacement fields, in order.

    A field with a format specification, or a conversion other than `!s`, is Anything after its evaluation.
    """

    target: Register
    parts: tuple[str | Register, ...]
    span: Span


class Item(NamedTuple):
    """One element of a display; `unpack` for `*element`."""

    register: Register
    unpack: bool


class Build(NamedTuple):
    """A display: kind "tuple", "list" or "set"."""

    target: Register
    kind: str
    items: tuple[Item, ...]
    span: Span


class BuildMapping(NamedTuple):
    """A dict display; a key of None stands for `**value`."""

    target: Register
    items: tuple[tuple[Register | None, Register], ...]
    span: Span


class Append(NamedTuple):
    """Adds one element to the list or set that a comprehension builds."""

    container: Register
    source: Register
    span: Span


class Unpack(NamedTuple):
    """Takes `source` apart; `starred` is the position that receives a list of the rest, if any."""

    targets: tuple[Register, ...]
    starred: int | None
    source: Register
    span: Span


class MakeFunction(NamedTuple):
    """Makes a closure of `function`, then applies `decorators`, innermost (last written) first.

    `defaults` holds one register per parameter that has a default, by parameter name.
    """

    target: Register
    function: Function
    defaults: tuple[tuple[str, Register], ...]
    decorators: tuple[Register, ...]
    span: Span


class MakeClass(NamedTuple):
    """Makes a class by executing its body, then applies `decorators`, innermost first."""

    target: Register
    body: Class
    bases: tuple[Argument, ...]
    decorators: tuple[Register, ...]
    span: Span


class Yield(NamedTuple):
    """`yield source` or `yield from source`; `target` receives the sent value."""

    target: Register
    source: Register | None
    delegate: bool
    span: Span


class Await(NamedTuple):
    """`await source`."""

    target: Register
    source: Register
    span: Span


class Anything(NamedTuple):
    """An unknown value, such as that of an exception handler or a pattern."""

    target: Register
    span: Span


# --- effects ------------------------------------------------------------------------------------------------


class Store(NamedTuple):
    """Binds a name."""

    name: str
    source: Register
    span: Span
    annotation: Annotation | None = None


class StoreAttribute(NamedTuple):
    """`base.name = source`."""

    base: Register
    name: str
    source: Register
    span: Span


class StoreSubscript(NamedTuple):
    """`base[index] = source`; span: the whole statement."""

    base: Register
    index: Register  # type: ignore[assignment]  # hides the method of tuple, which nothing here calls
    source: Register
    span: Span


class Delete(NamedTuple):
    """`del name`."""

    name: str
    span: Span


class DeleteAttribute(NamedTuple):
    """`del base.name`."""

    base: Register
    name: str
    span: Span


class DeleteSubscript(NamedTuple):
    """`del base[index]`."""

    base: Register
    index: Register  # type: ignore[assignment]  # hides the method of tuple, which nothing here calls
    span: Span


class Import(NamedTuple):
    """`import module as name`; without `as`, `name` is the first component and `module` the whole path.

    `whole`: `name` stands for `module`; otherwise for the first component of `module`.
    """

    name: str
    module: str
    whole: bool
    span: Span


class ImportFrom(NamedTuple):
    """`from module import member as name`; `level` counts the leading dots; member "*" binds every name."""

    name: str
    module: str
    member: str
    level: int
    span: Span


# --- control ------------------------------------------------------------------------------------------------


class If(NamedTuple):
    """`if test: then else: orelse`."""

    test: Register
    then: Block
    orelse: Block
    span: Span


class While(NamedTuple):
    """`while test: body else: orelse`; `orelse` runs when the test fails, not after a break."""

    test: Operand
    body: Block
    orelse: Block
    span: Span


class For(NamedTuple):
    """`for element in iterable: body else: orelse`; `body` begins by storing `element`.

    `comprehension` marks the loops that comprehensions become; their variables are renamed so that no other
    loop shares them, e.g. `x` to `x@12:5`, by where the comprehension begins. `async for` is the same.
    """

    iterable: Register
    element: Register
    body: Block
    orelse: Block
    span: Span
    comprehension: bool = False


class Handler(NamedTuple):
    """`except kind as name: body`; `kind` is evaluated in `test`, None for a bare `except`.

    `body` begins by storing Anything in `name`, if there is one.
    """

    test: Operand | None
    name: str | None
    body: Block


class Try(NamedTuple):
    """`try: body except …: handlers else: orelse finally: final`."""

    body: Block
    handlers: tuple[Handler, ...]
    orelse: Block
    final: Block
    span: Span


class With(NamedTuple):
    """`with context as result: body`; several context managers are nested, all with the statement's span.

    `body` begins by storing `result`, if there is an `as`. `async with` is the same.
    """

    context: Register
    result: Register
    body: Block
    span: Span


class Return(NamedTuple):
    """`return source`."""

    source: Register | None
    span: Span


class Raise(NamedTuple):
    """`raise`: control leaves the block."""

    span: Span


class Break(NamedTuple):
    """`break`."""

    span: Span


class Continue(NamedTuple):
    """`continue`."""

    span: Span


Instruction: TypeAlias = (
    Const | Load | Attribute | Subscript | Slice | Call | Binary | Unary | Compare | Logic | Conditional
    | Format | Build | BuildMapping | Append | Unpack | MakeFunction | MakeClass | Yield | Await | Anything
    | Store | StoreAttribute | StoreSubscript | Delete | DeleteAttribute | DeleteSubscript | Import
    | ImportFrom | If | While | For | Try | With | Return | Raise | Break | Continue
)  # fmt: skip
Block: TypeAlias = tuple[Instruction, ...]


# --- scopes -------------------------------------------------------------------------------------------------


class Annotation(NamedTuple):
    """A type annotation as the dotted names of its alternatives, subscripts dropped.

    `Optional[torch.Tensor]` is ("torch.Tensor", "None"), `list[Tensor] | None` is ("list", "None"), and
    `"Tensor"` in quotes is ("Tensor",). `element` is the annotation of the subscript of a container with
    one element type, e.g. that of `list[Tensor]`, `Sequence[Tensor]`, `tuple[Tensor, ...]` or of the values
    of `dict[str, Tensor]`; None elsewhere.
    """

    names: tuple[str, ...]
    element: Annotation | None = None


class Parameter(NamedTuple):
    """A parameter; kind is "positional", "keyword", "normal" (both), "args" or "kwargs"."""

    name: str
    kind: str
    has_default: bool
    annotation: Annotation | None
    span: Span


@dataclass(slots=True, eq=False)
class Scope:
    """A file, class or function body with what its names mean.

    Attributes:
        name: dotted path inside the file: "" for the file itself, "Net.forward", "f.<lambda>".
        body: the executed block.
        local_names: names bound in this scope; all others are looked up outside.
        global_names: names declared `global`.
        nonlocal_names: names declared `nonlocal`.
        registers: how many registers the body uses.
        span: the whole definition; for a file, its first to last line.
        store_counts: how often each local name is bound, in the text; a parameter once, `del` never.
    """

    name: str
    body: Block
    local_names: frozenset[str]
    global_names: frozenset[str]
    nonlocal_names: frozenset[str]
    registers: int
    span: Span
    store_counts: dict[str, int]


@dataclass(slots=True, eq=False)
class File(Scope):
    """A whole source file.

    Attributes:
        parts: the digests of its parts by name, see `parts_of`.
        imports: its imports, see `imports_of`.
        rebound: the names that its functions may bind anew.
    """

    parts: Mapping[str, str] = field(default_factory=dict)
    imports: Imports = frozenset()
    rebound: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Class(Scope):
    """A class body.

    `fields` are the annotated names of the body, in order: those of a dataclass or named tuple. `self_stores`
    maps each method name to the attributes that the method, or a function inside it, stores on
    the method's first parameter. A static method stores none.
    """

    self_stores: dict[str, frozenset[str]]
    fields: tuple[tuple[str, Annotation | None], ...] = ()


@dataclass(slots=True, eq=False)
class Function(Scope):
    """A function or lambda.

    Attributes:
        parameters: in declaration order.
        returns: the return annotation, if any.
        is_generator: contains `yield`.
        is_stub: the body is only a docstring, `pass`, `...` or `raise NotImplementedError`.
        is_wrapped: a decorator may put something else in its place, or hand it on.
        documentation: its docstring, behind those of the functions around it.
    """

    parameters: tuple[Parameter, ...]
    returns: Annotation | None
    is_generator: bool
    is_stub: bool
    is_wrapped: bool
    documentation: str

    @property
    def is_private(self) -> bool:
        """Whether its name says that only its own class or file, or its own project, uses it."""
        name = self.name.rpartition(".")[2]
        return name.startswith("_") and not name.endswith("__")
