"""Variables that functions share with the functions inside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from devlint.frontend import ir

DEFAULTS: Final = "<defaults>"


def instructions(block: ir.Block) -> Iterator[ir.Instruction]:
    """Yield all instructions of a block and of its inner blocks and class bodies, but not of function bodies."""
    for each in block:
        yield each
        for inner in _blocks(each):
            yield from instructions(inner)


def _blocks(each: ir.Instruction) -> Iterator[ir.Block]:
    if isinstance(each, ir.If):
        yield from (each.then, each.orelse)
    elif isinstance(each, ir.For):
        yield from (each.body, each.orelse)
    elif isinstance(each, ir.While):
        yield from (each.test.block, each.body, each.orelse)
    elif isinstance(each, ir.Try):
        yield each.body
        for handler in each.handlers:
            if handler.test is not None:
                yield handler.test.block
            yield handler.body
        yield from (each.orelse, each.final)
    elif isinstance(each, ir.With):
        yield each.body
    elif isinstance(each, ir.Logic):
        yield from (operand.block for operand in each.operands)
    elif isinstance(each, ir.Conditional):
        yield from (each.then.block, each.orelse.block)
    elif isinstance(each, ir.MakeClass):
        yield each.body.body


def used_from_outside(function: ir.Function) -> frozenset[str]:
    """Return the names that a function, or a function in it, takes from outside."""
    found: set[str] = set(function.nonlocal_names)
    for each in instructions(function.body):
        if isinstance(each, ir.Load):
            found.add(each.name)
        elif isinstance(each, ir.MakeFunction):
            found |= used_from_outside(each.function)
    return frozenset(found - function.local_names | function.nonlocal_names)


def captured(function: ir.Function, around: frozenset[str]) -> frozenset[str]:
    """Return the names of a function, or of the functions around it, that functions inside it use.

    One more name stands for the defaults of functions inside, which each call of the function makes anew.
    """
    found: set[str] = set()
    names = function.local_names | around
    for each in instructions(function.body):
        if isinstance(each, ir.MakeFunction):
            found |= used_from_outside(each.function)
            if each.defaults:
                found.add(DEFAULTS)
    return frozenset(found & (names | {DEFAULTS}))
