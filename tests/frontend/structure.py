"""The rules that every lowered file keeps, whatever its source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from devlint.frontend import ir

_OPERANDS = {
    ir.Attribute: ("base",),
    ir.Subscript: ("base", "index"),
    ir.Slice: ("lower", "upper", "step"),
    ir.Call: ("function",),
    ir.Binary: ("left", "right"),
    ir.Unary: ("operand",),
    ir.Compare: ("left", "right"),
    ir.Append: ("container", "source"),
    ir.Unpack: ("source",),
    ir.Yield: ("source",),
    ir.Await: ("source",),
    ir.Store: ("source",),
    ir.StoreAttribute: ("base", "source"),
    ir.StoreSubscript: ("base", "index", "source"),
    ir.DeleteAttribute: ("base",),
    ir.DeleteSubscript: ("base", "index"),
    ir.If: ("test",),
    ir.For: ("iterable",),
    ir.With: ("context",),
    ir.Return: ("source",),
}

_HOLDERS = frozenset(
    {ir.Logic, ir.Conditional, ir.If, ir.While, ir.For, ir.With, ir.Try, ir.MakeFunction, ir.MakeClass}
)


class StructureError(Exception):
    """A lowered file that breaks a rule of the intermediate representation."""


def validate(file: ir.File, text: str) -> int:
    """Checks registers, names and spans of a file and of all scopes in it.

    Returns:
        How many instructions there are.

    Raises:
        StructureError: a register is read before it is written, written twice or not counted; a stored name
            belongs to no scope; a span ends before it begins or leaves the text.
    """
    lines = [len(line.encode("utf-8", "surrogatepass")) for line in re.split(r"\r\n|\r|\n", text)]
    return _Scope(file, lines).check()


class _Scope:
    def __init__(self, scope: ir.Scope, lines: list[int]) -> None:
        self.scope = scope
        self.lines = lines
        self.written: set[ir.Register] = set()
        self.stores: dict[str, int] = {}
        self.count = 0

    def check(self) -> int:
        scope = self.scope
        self.span(scope.span)
        if isinstance(scope, ir.Function):
            for parameter in scope.parameters:
                self.stores[parameter.name] = self.stores.get(parameter.name, 0) + 1
                self.span(parameter.span)
        self.block(scope.body, set())
        self.require(self.written == set(range(scope.registers)), "registers are not those counted")
        self.require(scope.local_names == set(scope.store_counts), "local names are not those counted")
        foreign = scope.global_names | scope.nonlocal_names
        own = {name: count for name, count in self.stores.items() if name not in foreign}
        counted = {name: count for name, count in scope.store_counts.items() if count}
        self.require(own == counted, f"stores {own} are not those counted {counted}")
        return self.count

    def require(self, holds: bool, message: str, where: object = None) -> None:
        if not holds:
            raise StructureError(f"in {self.scope.name!r}: {message}: {where}")

    def span(self, span: ir.Span) -> None:
        line, column, end_line, end_column = span
        if (line, column) > (end_line, end_column):
            self.require(False, "span ends before it begins", span)
        if line < 1 or column < 0 or end_line > len(self.lines):
            self.require(False, "span outside of the text", span)
        if column > self.lines[line - 1] or end_column > self.lines[end_line - 1]:
            self.require(False, "span outside of the text", span)

    def block(self, block: ir.Block, known: set[ir.Register]) -> set[ir.Register]:
        """Checks a block that may read the `known` registers; returns what may be read after it."""
        self.require(type(block) is tuple, "block is not a tuple", block)
        visible = set(known)
        for instruction in block:
            self.count += 1
            self.span(instruction.span)
            for register in _reads(instruction):
                if register not in visible:
                    self.require(False, f"register {register} read before written", instruction)
            if type(instruction) in _HOLDERS:
                self.nested(instruction, visible)
            for register in _writes(instruction):
                self.require(register not in self.written, f"register {register} written twice", instruction)
                self.written.add(register)
                visible.add(register)
            if isinstance(instruction, ir.Call):
                for argument in instruction.arguments:
                    self.span(argument.span)
            self.name(instruction)
        return visible

    def operand(self, operand: ir.Operand, known: set[ir.Register]) -> None:
        visible = self.block(operand.block, known)
        self.require(operand.register in visible, "operand without its register", operand)

    def entered(self, block: ir.Block, known: set[ir.Register], register: ir.Register) -> None:
        """Checks a block that receives a register from the instruction holding it."""
        self.require(register not in self.written, f"register {register} written twice", block)
        self.written.add(register)
        self.block(block, known | {register})

    def nested(self, i: ir.Instruction, known: set[ir.Register]) -> None:
        if isinstance(i, ir.Logic):
            self.require(len(i.operands) > 1, "logic of one operand", i)
            for operand in i.operands:
                self.operand(operand, known)
        elif isinstance(i, ir.Conditional):
            self.operand(i.then, known)
            self.operand(i.orelse, known)
        elif isinstance(i, ir.If):
            self.block(i.then, known)
            self.block(i.orelse, known)
        elif isinstance(i, ir.While):
            self.operand(i.test, known)
            self.block(i.body, known)
            self.block(i.orelse, known)
        elif isinstance(i, ir.For):
            self.entered(i.body, known, i.element)
            self.block(i.orelse, known)
        elif isinstance(i, ir.With):
            self.entered(i.body, known, i.result)
        elif isinstance(i, ir.Try):
            for handler in i.handlers:
                if handler.test is not None:
                    self.operand(handler.test, known)
                self.block(handler.body, known)
            for block in (i.body, i.orelse, i.final):
                self.block(block, known)
        elif isinstance(i, ir.MakeFunction):
            self.count += _Scope(i.function, self.lines).check()
        elif isinstance(i, ir.MakeClass):
            self.count += _Scope(i.body, self.lines).check()

    def name(self, i: ir.Instruction) -> None:
        if isinstance(i, (ir.Store, ir.Import, ir.ImportFrom)) and i.name != "*":
            self.stores[i.name] = self.stores.get(i.name, 0) + 1


def _reads(i: ir.Instruction) -> Iterator[ir.Register]:
    fields = _OPERANDS.get(type(i), ())
    for field in fields:
        register = getattr(i, field)
        if register is not None:
            yield register
    if fields and not isinstance(i, ir.Call):
        return
    if isinstance(i, ir.Call):
        yield from (argument.register for argument in i.arguments)
    elif isinstance(i, ir.Conditional):
        yield i.test
    elif isinstance(i, ir.Format):
        yield from (part for part in i.parts if isinstance(part, int))
    elif isinstance(i, ir.Build):
        yield from (item.register for item in i.items)
    elif isinstance(i, ir.BuildMapping):
        for key, value in i.items:
            if key is not None:
                yield key
            yield value
    elif isinstance(i, ir.MakeFunction):
        yield from (register for _, register in i.defaults)
        yield from i.decorators
    elif isinstance(i, ir.MakeClass):
        yield from (argument.register for argument in i.bases)
        yield from i.decorators


def _writes(i: ir.Instruction) -> Iterable[ir.Register]:
    if isinstance(i, ir.Unpack):
        return i.targets
    target = getattr(i, "target", None)
    return () if target is None else (target,)
