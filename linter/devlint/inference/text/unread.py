"""What nobody reads: a moved variable of a loop, whose move is as good as thrown away; a parameter."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.frontend import ir
from devlint.inference.text.captured import instructions, used_from_outside


def unread_results(scope: ir.Scope) -> frozenset[ir.Span]:
    """Return the calls whose result a loop stores in its own variable, which nothing reads before its next turn."""
    found: set[ir.Span] = set()
    every = list(instructions(scope.body))
    for each in every:
        if isinstance(each, ir.For):
            found.update(_of_loop(each, every))
    return frozenset(found)


def is_unread(scope: ir.Scope, name: str) -> bool:
    """Whether nothing in a scope reads a name."""
    return not any(_reads(each, name) for each in instructions(scope.body))


def _of_loop(loop: ir.For, every: list[ir.Instruction]) -> Iterator[ir.Span]:
    body = list(instructions(loop.body))
    names = set(_variables(loop))
    calls = {each.target: each.span for each in body if isinstance(each, ir.Call)}
    inside = {id(each) for each in body}
    for place, each in enumerate(body):
        if not isinstance(each, ir.Store) or each.name not in names or each.source not in calls:
            continue
        later = [*body[place + 1 :], *[one for one in every if id(one) not in inside], *_again(body, each)]
        if not any(_reads(one, each.name) for one in (*later, *_functions(every))):
            yield calls[each.source]


def _again(body: list[ir.Instruction], store: ir.Store) -> Iterator[ir.Instruction]:
    """Yield what the next turn of an inner loop executes that a store stands in."""
    for each in body:
        if isinstance(each, (ir.For, ir.While)):
            inner = list(instructions(each.body))
            if any(one is store for one in inner):
                yield from inner


def _functions(every: list[ir.Instruction]) -> list[ir.Instruction]:
    return [each for each in every if isinstance(each, ir.MakeFunction)]


def _variables(loop: ir.For) -> Iterator[str]:
    """Yield the names that a loop binds at the beginning of each turn."""
    bound = {loop.element}
    for each in loop.body:
        if isinstance(each, ir.Store) and each.source in bound:
            yield each.name
        elif isinstance(each, ir.Unpack) and each.source in bound:
            bound.update(each.targets)
        else:
            return


def _reads(each: ir.Instruction, name: str) -> bool:
    """Whether an instruction reads a name, or defines a function that may."""
    if isinstance(each, ir.MakeFunction):
        return name in used_from_outside(each.function)
    return isinstance(each, ir.Load) and each.name == name
