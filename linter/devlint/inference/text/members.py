"""The attributes that the methods of a class read of their own object."""

from __future__ import annotations

from devlint.frontend import ir
from devlint.inference.text.captured import instructions


def read_of_self(scope: ir.Class) -> frozenset[str]:
    """Return the names of the attributes that methods read of their first parameter."""
    found: set[str] = set()
    for each in scope.body:
        if isinstance(each, ir.MakeFunction) and each.function.parameters:
            first = each.function.parameters[0].name
            registers: set[int] = set()
            for one in instructions(each.function.body):
                if isinstance(one, ir.Load) and one.name == first:
                    registers.add(one.target)
                elif isinstance(one, ir.Attribute) and one.base in registers:
                    found.add(one.name)
    return frozenset(found)
