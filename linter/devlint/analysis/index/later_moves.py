"""Moves after a call: a body that moves a result or an argument later had it on the CPU at the call.

    x, mask = self.mask_out(x, lengths)
    x, mask = to_cuda(x, mask)

`x` is on the CPU where `mask_out` gets it, as the next line moves the result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from devlint.analysis.index.loops import instructions_of
from devlint.frontend import ir


def calls_before_moves(body: ir.Block, moves_arguments: Callable[[str], bool]) -> frozenset[ir.Span]:
    """Return the calls in a body whose results, or arguments by name, the body moves to its device afterwards.

    Args:
        body: the instructions.
        moves_arguments: whether a call of the function with a name moves its arguments.
    """
    text = _Text(body)
    moved: set[object] = set()
    """The names, and the registers of results, that are moved behind the instruction that is looked at."""
    found: set[ir.Span] = set()
    for item in reversed(text.instructions):
        match item:
            case ir.Unpack(targets=targets, source=source) if not moved.isdisjoint(targets):
                moved.add(source)
            case ir.Store(name=name, source=source):
                if name in moved:
                    moved.add(source)
                moved.discard(name)
            case ir.Call():
                named = [text.names[one.register] for one in item.arguments if one.register in text.names]
                if item.target in moved or not moved.isdisjoint(named):
                    found.add(item.span)
                moved.update(text.moved_by(item))
                if moves_arguments(text.names.get(item.function, "")):
                    moved.update(named)
            case _:
                pass
    return frozenset(found)


def moves_something(function: ir.Function) -> bool:
    """Whether the body of a function moves something to its device."""
    text = _Text(function.body)
    return any(text.moved_by(item) for item in text.instructions if isinstance(item, ir.Call))


def moved_names(function: ir.Function) -> frozenset[str]:
    """Return the names of what the body of a function moves to its device."""
    text = _Text(function.body)
    moved = (one for item in text.instructions if isinstance(item, ir.Call) for one in text.moved_by(item))
    return frozenset(one for one in moved if isinstance(one, str))


class _Text:
    """The instructions of a body, with what its registers were read from."""

    def __init__(self, body: ir.Block) -> None:
        self.instructions = list(instructions_of(body, into_loops=True))
        self.names = {item.target: item.name for item in self.instructions if isinstance(item, ir.Load)}
        self._attributes = {item.target: item for item in self.instructions if isinstance(item, ir.Attribute)}
        self._texts = {item.target: item.value for item in self.instructions if isinstance(item, ir.Const)}

    def moved_by(self, call: ir.Call) -> Collection[object]:
        """The operand that `x.cuda()` or `x.to(device)` moves: its name, or its register if it has no name."""
        method = self._attributes.get(call.function)
        if method is None or not (method.name == "cuda" or (method.name == "to" and self._is_to_device(call))):
            return ()
        return (self.names.get(method.base, method.base),)

    def _is_to_device(self, call: ir.Call) -> bool:
        """Whether an argument is what programs call a device, or the name of an accelerator."""
        for given in call.arguments:
            text = self._texts.get(given.register)
            attribute = self._attributes.get(given.register)
            name = self.names.get(given.register, "" if attribute is None else attribute.name)
            if name.endswith("device") or (isinstance(text, str) and not text.startswith("cpu")):
                return True
        return False
