"""The scope that is being lowered: its current block, its registers and the names it binds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from devlint.frontend import ir

# A table holds one function per node class; its node parameter has that class, which no type can say.
ValueTable: TypeAlias = dict[type[ast.AST], Callable[["ScopeBuilder", Any], ir.Register]]
StatementTable: TypeAlias = dict[type[ast.AST], Callable[["ScopeBuilder", Any], None]]


class Tables(NamedTuple):
    """How each kind of expression and of statement is lowered."""

    values: ValueTable
    statements: StatementTable


class Receiver(NamedTuple):
    """The first parameter of a method, and the attributes stored on it so far."""

    name: str
    stores: set[str]


_new_tuple = tuple.__new__


def span_of(node: Any) -> ir.Span:
    """The stretch of source that a located `ast` node covers."""
    # Skips the checks of the named tuple's own constructor: this is the most frequent call of all lowering.
    return _new_tuple(ir.Span, (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset))


def span_between(first: Any, last: Any) -> ir.Span:
    """The stretch from the start of one node to the end of another."""
    return ir.Span(first.lineno, first.col_offset, last.end_lineno, last.end_col_offset)


class ScopeBuilder:
    """Collects one scope. Lowering functions append instructions to `out`, the block being written.

    Args:
        name: dotted path of the scope inside its file.
        tables: how nodes are lowered, handed on to inner scopes.
        renames: new names of the comprehension variables in sight.
        receiver: the first parameter of the method this scope belongs to, if it is visible here.
        is_class: whether this is a class body.

    Attributes:
        documentation: the docstrings of the functions that this scope is in.
    """

    __slots__ = (
        "documentation",
        "global_names",
        "has_yield",
        "method_stores",
        "name",
        "nonlocal_names",
        "out",
        "receiver",
        "registers",
        "renames",
        "statements",
        "store_counts",
        "tables",
        "values",
    )

    def __init__(
        self,
        name: str,
        tables: Tables,
        renames: dict[str, str],
        receiver: Receiver | None = None,
        is_class: bool = False,
    ) -> None:
        self.name = name
        self.tables = tables
        self.values = tables.values
        self.statements = tables.statements
        self.renames = renames
        self.receiver = receiver
        self.method_stores: dict[str, set[str]] | None = {} if is_class else None
        self.out: list[ir.Instruction] = []
        self.registers = 0
        self.store_counts: dict[str, int] = {}
        self.global_names: set[str] = set()
        self.nonlocal_names: set[str] = set()
        self.has_yield = False
        self.documentation = ""

    def register(self) -> ir.Register:
        """A register not used before."""
        register = self.registers
        self.registers = register + 1
        return register

    def value(self, node: ast.expr) -> ir.Register:
        """Lowers an expression into the current block and returns the register that holds its value."""
        return self.values[type(node)](self, node)

    def block(self, statements: Iterable[ast.stmt]) -> ir.Block:
        """Lowers statements into a block of their own."""
        outer = self.begin()
        self.run(statements)
        return self.end(outer)

    def run(self, statements: Iterable[ast.stmt]) -> None:
        """Lowers statements into the current block."""
        table = self.statements
        for statement in statements:
            table[type(statement)](self, statement)

    def operand(self, node: ast.expr) -> ir.Operand:
        """Lowers an expression into a block of its own, to be executed only if control reaches it."""
        outer = self.begin()
        register = self.values[type(node)](self, node)
        return ir.Operand(self.end(outer), register)

    def begin(self) -> list[ir.Instruction]:
        """Opens a new block and returns the interrupted one, for `end`."""
        outer = self.out
        self.out = []
        return outer

    def end(self, outer: list[ir.Instruction]) -> ir.Block:
        """Closes the block opened by the `begin` that returned `outer`."""
        block = tuple(self.out)
        self.out = outer
        return block

    def anything(self, span: ir.Span) -> ir.Register:
        """A register with an unknown value."""
        register = self.register()
        self.out.append(ir.Anything(register, span))
        return register

    def bind(self, name: str) -> str:
        """Records that the text binds `name` here; returns the name to bind."""
        if self.renames:
            name = self.renames.get(name, name)
        counts = self.store_counts
        counts[name] = counts.get(name, 0) + 1
        return name

    def store_name(self, name: str, source: ir.Register, span: ir.Span) -> None:
        """Binds a name to a register."""
        self.out.append(ir.Store(self.bind(name), source, span))

    def inner_name(self, name: str) -> str:
        """The dotted path of a scope defined in this one."""
        return f"{self.name}.{name}" if self.name else name

    def local_counts(self) -> dict[str, int]:
        """The names that belong to this scope, and how often each is bound."""
        foreign = self.global_names | self.nonlocal_names
        if not foreign:
            return self.store_counts
        return {name: count for name, count in self.store_counts.items() if name not in foreign}
