"""Where the names that a call is given are bound: the only place in the text that binds them."""

from __future__ import annotations

from typing import TypeAlias

from devlint.frontend import ir
from devlint.inference.text.captured import instructions

Bindings: TypeAlias = dict[ir.Span, list[tuple[int, ir.Span]]]
"""By call: the register of each argument that is a name, and the place that binds this name."""


def bindings(scope: ir.Scope, file: ir.Scope) -> Bindings:
    """Return the bindings of the arguments of all calls of a scope in a file."""
    places = {name: place for name, place in _places(file).items() if name not in scope.local_names}
    places.update(_places(scope))
    loads: dict[int, str] = {}
    found: Bindings = {}
    for each in instructions(scope.body):
        if isinstance(each, ir.Load):
            loads[each.target] = each.name
        elif isinstance(each, ir.Call):
            named = [(one.register, loads[one.register]) for one in each.arguments if one.register in loads]
            found[each.span] = [(register, places[name]) for register, name in named if name in places]
    return found


def _places(scope: ir.Scope) -> dict[str, ir.Span]:
    stores = [each for each in instructions(scope.body) if isinstance(each, ir.Store)]
    return {each.name: each.span for each in stores if scope.store_counts.get(each.name) == 1}
