"""What is known of a loop from its text: whether it trains, and which moves in it are the same in every turn."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.frontend import ir
from devlint.records import dataclass
from devlint.torchlib.knowledge import MOVES


@dataclass(frozen=True, slots=True)
class Plan:
    """Facts of a loop's body.

    Attributes:
        trains: each turn computes gradients.
        bound: the names that a turn binds.
        invariant: the moves of which neither what is moved nor the target changes from turn to turn.
    """

    trains: bool = False
    invariant: frozenset[ir.Span] = frozenset()
    bound: frozenset[str] = frozenset()


NO_PLAN = Plan()


def plan(body: ir.Block) -> Plan:
    """The plan of a loop with this body."""
    own = list(instructions_of(body, into_loops=False))
    trains = any(isinstance(item, ir.Attribute) and item.name == "backward" for item in own)
    every = list(instructions_of(body, into_loops=True))
    changed = _changed(every)
    made = {item.target: item for item in every if isinstance(item, (ir.Load, ir.Const, ir.Attribute))}
    invariant = frozenset(item.span for item in own if isinstance(item, ir.Call) and _is_invariant(item, made, changed))
    return Plan(trains, invariant, frozenset(name.partition("@")[0] for name in changed))


def instructions_of(block: ir.Block, *, into_loops: bool) -> Iterator[object]:
    """Yield every instruction of a block and of the blocks in it; inner functions are not executed by it."""
    pending: list[tuple[object, ...]] = [*reversed(block)]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is not tuple:
            yield item
        if into_loops or kind not in (ir.For, ir.While):
            pending.extend([part for part in reversed(item) if isinstance(part, tuple) and type(part) is not ir.Span])


def _changed(instructions: list[object]) -> frozenset[str]:
    """The names that are bound, or whose values are changed in place."""
    loads = {item.target: item.name for item in instructions if isinstance(item, ir.Load)}
    names: set[str] = set()
    for item in instructions:
        match item:
            case ir.Store(name=name) | ir.Delete(name=name) | ir.Import(name=name) | ir.ImportFrom(name=name):
                names.add(name)
            case ir.StoreAttribute(base=base) | ir.StoreSubscript(base=base) if base in loads:
                names.add(loads[base])
            case ir.Attribute(base=base, name=name) if base in loads and name.endswith("_") and base in loads:
                names.add(loads[base])
            case _:
                pass
    return frozenset(names)


def _is_invariant(
    call: ir.Call, made: dict[ir.Register, ir.Load | ir.Const | ir.Attribute], changed: frozenset[str]
) -> bool:
    function = made.get(call.function)
    if not isinstance(function, ir.Attribute) or function.name not in MOVES:
        return False
    receiver = made.get(function.base)
    if not isinstance(receiver, ir.Load) or receiver.name in changed:
        return False
    return all(not given.unpack and _is_constant(made.get(given.register), made, changed) for given in call.arguments)


def _is_constant(
    item: object, made: dict[ir.Register, ir.Load | ir.Const | ir.Attribute], changed: frozenset[str]
) -> bool:
    match item:
        case ir.Const():
            return True
        case ir.Load(name=name):
            return name not in changed
        case ir.Attribute(base=base):
            return _is_constant(made.get(base), made, changed)
        case _:
            return False
