"""What a body contains, wherever in it, for questions about code that the execution at hand does not follow.

    for part in model.children():
        part.to(device)

The analysis executes this loop part by part because `to` is among the methods that the body calls.
"""

from __future__ import annotations

from devlint.analysis.index.loops import instructions_of
from devlint.frontend import ir
from devlint.records import dataclass
from devlint.torchlib.knowledge import MOVES


@dataclass(frozen=True, slots=True)
class Contents:
    """What a body contains.

    Attributes:
        called: the names of the functions and methods that the body calls, such as `to` in `x.to(device)`.
        stored: the names of the attributes that the body stores.
        named: the names of values, attributes, parameters and keywords.
    """

    called: frozenset[str]
    stored: frozenset[str]
    named: frozenset[str]

    @property
    def moves(self) -> bool:
        """Whether the body calls a method that moves a tensor or a module."""
        return not MOVES.isdisjoint(self.called) or "to_empty" in self.called


def contents_of(scope: ir.Scope) -> Contents:
    """Return what a body contains, with its inner functions and classes; of a file, what the file itself executes."""
    called: set[str] = set()
    stored: set[str] = set()
    named: set[str] = set()
    pending = [scope]
    while pending:
        body = pending.pop()
        names: dict[ir.Register, str] = {}
        if isinstance(body, ir.Function):
            named.update(parameter.name for parameter in body.parameters)
        for item in instructions_of(body.body, into_loops=True):
            match item:
                case ir.Load(target=target, name=name) | ir.Attribute(target=target, name=name):
                    names[target] = name
                    named.add(name)
                case ir.Store(name=name):
                    named.add(name)
                case ir.StoreAttribute(name=name):
                    stored.add(name)
                case ir.Call(function=function):
                    if function in names:
                        called.add(names[function])
                case ir.Argument(keyword=str(name)):
                    named.add(name)
                case ir.MakeFunction(function=inner) | ir.MakeClass(body=inner) if not isinstance(scope, ir.File):
                    pending.append(inner)
                case _:
                    pass
    return Contents(frozenset(called), frozenset(stored), frozenset(named | stored))
