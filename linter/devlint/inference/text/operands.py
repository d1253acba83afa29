"""The operands of operations in the text: where they stand, and where their names are bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from devlint.frontend import ir
from devlint.inference.text.captured import instructions
from devlint.inference.values.code import Operand

Operands: TypeAlias = dict[ir.Span, list[Operand]]
"""By operation, in the order of the text: the receiver of a method, arguments, and the elements of a display."""


def operands(scope: ir.Scope, file: ir.Scope) -> Operands:
    """Return the operands of all operations of a scope in a file."""
    places = {name: place for name, place in _places(file).items() if name not in scope.local_names}
    places.update(_places(scope))
    made: dict[int, ir.Instruction] = {}
    found: Operands = {}
    for each in instructions(scope.body):
        registers = list(_read(each, made))
        if registers:
            known = found.setdefault(each.span, [])
            known += [Operand(one, made[one].span, _bound(made[one], places)) for one in registers if one in made]
        target = getattr(each, "target", None)
        if isinstance(target, int):
            made[target] = each
    return found


def _read(each: ir.Instruction, made: dict[int, ir.Instruction]) -> Iterator[int]:
    """Yield the registers that an operation reads, with those of its receiver and of lists that its arguments are."""
    if isinstance(each, (ir.Binary, ir.Compare)):
        yield from (each.left, each.right)
    elif isinstance(each, (ir.Attribute, ir.Subscript, ir.StoreSubscript)):
        yield each.base
        if not isinstance(each, ir.Attribute):
            yield each.index
        if isinstance(each, ir.StoreSubscript):
            yield each.source
    elif isinstance(each, ir.Call):
        method = made.get(each.function)
        yield method.base if isinstance(method, ir.Attribute) else each.function
        for argument in each.arguments:
            yield argument.register
            display = made.get(argument.register)
            if isinstance(display, ir.Build):
                yield from (item.register for item in display.items)


def _bound(each: ir.Instruction, places: dict[str, ir.Span]) -> ir.Span | None:
    return places.get(each.name) if isinstance(each, ir.Load) else None


def _places(scope: ir.Scope) -> dict[str, ir.Span]:
    stores = [each for each in instructions(scope.body) if isinstance(each, ir.Store)]
    return {each.name: each.span for each in stores if scope.store_counts.get(each.name) == 1}
