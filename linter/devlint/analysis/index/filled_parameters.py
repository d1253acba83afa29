"""The parameters into which a function stores.

    def send(batch, device):
        for key in batch:
            batch[key] = batch[key].to(device)

`send` stores into `batch`: behind a call, other tensors may be in the batch of the caller.
"""

from __future__ import annotations

from devlint.analysis.index.loops import instructions_of
from devlint.frontend import ir


def filled_parameters(function: ir.Function) -> frozenset[str]:
    """Return the names of the parameters of a function into which its body stores by a subscript."""
    names: dict[ir.Register, str] = {}
    filled: set[str] = set()
    for item in instructions_of(function.body, into_loops=True):
        match item:
            case ir.Load(target=target, name=name):
                names[target] = name
            case ir.StoreSubscript(base=base) if base in names:
                filled.add(names[base])
            case _:
                pass
    return frozenset(parameter.name for parameter in function.parameters if parameter.name in filled)
