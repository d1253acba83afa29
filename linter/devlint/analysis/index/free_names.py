"""The names that a body reads from the functions around it, its own inner functions included.

    def train(model, loader):
        def step(x):
            return model(x)

`step` reads `model`: who calls `step` hands over what `model` is at that moment.
"""

from __future__ import annotations

from devlint.analysis.index.loops import instructions_of
from devlint.frontend import ir


def read_inside(file: ir.File) -> frozenset[str]:
    """Return the names of a file that its functions and classes read, if the file binds them more than once."""
    read: set[str] = set()
    for item in instructions_of(file.body, into_loops=True):
        match item:
            case ir.MakeFunction(function=scope) | ir.MakeClass(body=scope):
                read |= free_names(scope)
            case _:
                pass
    return frozenset(name for name in read - file.rebound if file.store_counts.get(name, 0) > 1)


def free_names(scope: ir.Scope) -> frozenset[str]:
    """Return the names that a body reads and does not bind; those of its file and the built-in ones are among them."""
    read: set[str] = {*scope.nonlocal_names}
    for item in instructions_of(scope.body, into_loops=True):
        match item:
            case ir.Load(name=name):
                read.add(name)
            case ir.MakeFunction(function=inner) | ir.MakeClass(body=inner):
                read |= free_names(inner)
            case _:
                pass
    return frozenset(read - (scope.local_names - scope.nonlocal_names))
