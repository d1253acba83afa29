"""Loops: executed element by element if the elements are few and known, else until the state no longer changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from devlint.frontend import ir
from devlint.inference.calls.items import iterated, own_method
from devlint.inference.calls.knowledge import truth_of
from devlint.inference.execute.run import block
from devlint.inference.state.containers import elements
from devlint.inference.state.frame import IN_LOOP, Frame, Loop, State, is_mark
from devlint.inference.state.where import is_module
from devlint.inference.values.folding import fold
from devlint.inference.values.joins import join_all
from devlint.inference.values.tensors import Alternatives, Tensor, is_made_of, pack, tensor
from devlint.inference.values.terms import FIRST, PARTS, TURNS, UNKNOWN, Term, Value, constant, term

MOST_ROUNDS: Final = 6
"""How often a loop is executed; a name that changes in each round is unknown then."""
SHARED_RANKS: Final = frozenset({"product", "some", "ite"})
"""Operations that leave a rank as it is, if they are repeated."""
FEW: Final = 3
"""How many elements are executed one by one."""
FEW_MODULES: Final = 8
"""The same for modules, which a loop changes in place."""


def for_(frame: Frame, instruction: ir.For) -> None:
    """Execute a `for`."""
    value = frame.registers[instruction.iterable]
    found = elements(frame, value) if own_method(value, "__iter__") is None else None
    if found is not None and not found:
        block(frame, instruction.orelse)
        return
    if found is not None and _one_by_one(frame, found):
        _unrolled(frame, instruction, found)
        return
    element = join_all(found) if found is not None else iterated(frame, value, instruction.span)
    if element is UNKNOWN:
        element = frame.unknown("element", instruction.span)

    def turn() -> None:
        frame.registers[instruction.element] = element
        block(frame, instruction.body)

    first, turns, path = frame.heap.get(value, FIRST), frame.heap.get(value, TURNS), frame.path
    if turns is not None:
        frame.under(fold(">", turns, constant(0)))
    if first is None:
        is_filled = frame.heap.get(value, PARTS) not in (None, pack())
        repeat(frame, turn, instruction.orelse, is_entered=bool(found) or is_filled)
    else:
        _first_turn(frame, instruction, first, turn)
    frame.path = path


def _first_turn(frame: Frame, instruction: ir.For, first: Value, turn: Callable[[], None]) -> None:
    """Execute a loop whose first turn has another element than the others; it may also have no turn at all."""
    before = frame.state.fork()
    loop = Loop(True)
    frame.loops.append(loop)
    frame.registers[instruction.element] = first
    block(frame, instruction.body)
    frame.loops.pop()
    for state in loop.continues:
        frame.state = frame.state.joined(state)
    if frame.is_live:
        repeat(frame, turn, instruction.orelse)
    for state in (before, *loop.breaks):
        frame.state = frame.state.joined(state)


def _one_by_one(frame: Frame, found: tuple[Value, ...]) -> bool:
    few = FEW_MODULES if all(map(is_module, found)) else FEW
    return len(found) <= few and len(frame.loops) <= 1 and not frame.repeats


def _unrolled(frame: Frame, instruction: ir.For, found: tuple[Value, ...]) -> None:
    loop = Loop(False)
    frame.loops.append(loop)
    for each in found:
        frame.registers[instruction.element] = each
        block(frame, instruction.body)
        for state in loop.continues:
            frame.state = frame.state.joined(state)
        loop.continues = []
        if not frame.is_live:
            break
    frame.loops.pop()
    _leave(frame, loop, instruction.orelse)


def while_(frame: Frame, instruction: ir.While) -> None:
    """Execute a `while`."""

    def turn() -> None:
        block(frame, instruction.test.block)
        if not frame.is_live:
            return
        test = frame.registers[instruction.test.register]
        if truth_of(frame, test) is False:
            return
        path = frame.under(test)
        block(frame, instruction.body)
        frame.path = path

    test = instruction.test.block
    ends = not (len(test) == 1 and isinstance(test[0], ir.Const) and test[0].value)
    repeat(frame, turn, instruction.orelse, ends)


def repeat(
    frame: Frame, turn: Callable[[], None], orelse: ir.Block, ends: bool = True, is_entered: bool = False
) -> None:
    """Execute turns of a loop until the state at their beginning stays.

    Args:
        frame: the execution.
        turn: executes one turn.
        orelse: the `else` block.
        ends: whether it ends without a `break`, other than `while True`.
        is_entered: whether there is at least one turn.
    """
    loop, path, marks = Loop(True), frame.path, frame.state.passed
    if not is_entered:
        frame.path = (*path, IN_LOOP)
    frame.loops.append(loop)
    whole, first = frame.state.fork(), frame.state.names
    left: list[State] = []  # behind each turn
    for number in range(MOST_ROUNDS):
        before = whole
        loop.continues = []
        turn()
        end = frame.state
        for state in loop.continues:
            end = end.joined(state)
        if number == 0 and is_entered:
            marks = tuple([each for each in end.passed if is_mark(each) or each in before.passed])
        end.passed = before.passed
        if number == 0:
            first = dict(end.names)
        for name, value in end.names.items():
            end.names[name] = settled(value, first.get(name, value))
        whole = before.fork().joined(end.fork())
        whole.passed = before.passed
        left.append(end.fork())
        if whole.same_as(before):
            break
        if number >= MOST_ROUNDS - 2:
            _widen(whole, before)
        # The second turn begins with what the first one has left, and with nothing else.
        frame.state = end.fork() if number == 0 and end.is_live else whole.fork()
    if is_entered:
        names = [name for name, value in whole.names.items() if value is UNKNOWN]
        whole = left[0]
        for state in left[1:]:
            whole = whole.joined(state)
        whole.names.update(dict.fromkeys(names, UNKNOWN))
    whole.passed = marks
    frame.state, frame.path = whole, path
    frame.loops.pop()
    if not ends:
        frame.leave()
    _leave(frame, loop, orelse)


def settled(value: Value, first: Value) -> Value:
    """Return the value of a name after a turn; if each turn adds to it, the value after the first turn.

    The devices and ranks that operands share stay in all later turns, whatever the number of turns.
    """
    if value is first:
        return value
    if isinstance(value, Alternatives):
        return join_all([settled(each, first) for each in value.options])
    if isinstance(value, Tensor) and isinstance(first, Tensor):
        where = first.device if is_made_of(value.device, first.device) else value.device
        rank = value.rank
        if is_made_of(rank, first.rank):
            rank = first.rank if isinstance(rank, Term) and rank.operator in SHARED_RANKS else UNKNOWN
        return tensor(where, rank, value.owner, value.source)
    return term("looped", first) if is_made_of(value, first) else value


def _widen(state: State, start: State) -> None:
    """Make each name unknown that a turn has changed."""
    for name, value in state.names.items():
        if start.names.get(name) is not value:
            state.names[name] = UNKNOWN


def _leave(frame: Frame, loop: Loop, orelse: ir.Block) -> None:
    """Execute the `else` block of a loop, and join the states of its `break` statements."""
    if frame.is_live:
        block(frame, orelse)
    for state in loop.breaks:
        frame.state = frame.state.joined(state)


def break_(frame: Frame, instruction: ir.Break) -> None:
    """Execute `Break`."""
    if frame.loops:
        frame.loops[-1].breaks.append(frame.state)
    frame.leave()


def continue_(frame: Frame, instruction: ir.Continue) -> None:
    """Execute `Continue`."""
    if frame.loops:
        frame.loops[-1].continues.append(frame.state)
    frame.leave()
