"""Loops: a body is repeated with recording off until the environment it begins with no longer changes.

Then it is executed once more, with recording as it was: a diagnostic can therefore never stem from an unfinished
fixpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from devlint.analysis.execution.frame import DeepLoop, Frame, Loop
from devlint.analysis.interpreter import iteration
from devlint.analysis.interpreter.joins import merge
from devlint.analysis.interpreter.statements import branch, evaluate, execute
from devlint.analysis.values.containers import Elements
from devlint.domain.environment import Environment, join
from devlint.domain.heap import Heap, ListObject, summary
from devlint.domain.provenance import TURN
from devlint.domain.value import UNKNOWN, cpu_on_one_path, without_cpu_path
from devlint.frontend import ir

PASSES = 8
"""How often a loop body may be repeated. Chains in the domain are short; this is a stop for faults of it."""

DEEP = 4
"""A loop inside so many others is deep: its passes are counted together, however often those others repeat it."""

MOST_TURNS = 64
"""How often the body of a loop over known elements may be executed element by element, the loops around it included."""


def _repeat(
    frame: Frame, env: Environment, span: ir.Span, once: Callable[[Environment, Loop], Environment | None]
) -> tuple[Environment | None, Loop]:
    """Iterate a loop body to its fixpoint; the result is what a pass from there leaves, and its jumps.

    That is a pass of its own if it has to record, or if the one before has proved something that it did not know.

    Each pass of an outer loop repeats the inner one, so the passes multiply. A deep loop therefore begins where its
    last fixpoint was, joined with what it is given now. If that is nothing new, one pass is enough; and of passes that
    change something it has `PASSES` in all.
    """
    deep, passes, entry, recording = len(frame.loops) >= DEEP, 0, env, frame.recording
    if deep and span in frame.deep:
        earlier = frame.deep[span]
        passes, known_entry = earlier.passes, merge(frame, earlier.entry, env, span, TURN)
        assert known_entry is not None
        entry = known_entry
        entry.always = env.always
        if entry == earlier.entry and passes < PASSES:
            return _pass(frame, entry, once)

    frame.recording = False
    while passes < PASSES:
        known = frame.proofs.count
        after, loop = _pass(frame, entry.copy(), once)
        back = join(after, loop.continues)
        if back is not None:
            back.undo_mends(entry.mended)  # each turn begins with what the first report in it found
        widened = merge(frame, entry, back, span, TURN)
        assert widened is not None
        widened.always = entry.always
        if widened == entry:
            if deep:
                frame.deep[span] = DeepLoop(entry.copy(), passes)
            if not recording and frame.proofs.count == known:
                return after, loop
            break
        entry = widened
        passes += 1
    else:
        if deep:
            frame.deep[span] = DeepLoop(entry.copy(), passes)
        entry = _give_up(env, entry)
    frame.recording = recording
    return _pass(frame, entry, once)


def _pass(
    frame: Frame, start: Environment, once: Callable[[Environment, Loop], Environment | None]
) -> tuple[Environment | None, Loop]:
    """Execute the body of a loop once; return what it leaves, and its jumps."""
    loop = Loop(len(frame.scopes))
    frame.loops.append(loop)
    after = once(start, loop)
    frame.loops.pop()
    return after, loop


def _give_up(before: Environment, entry: Environment) -> Environment:
    """Forgets every name that still changed: the fixpoint was not reached within the passes allowed."""
    names = {name: value if before.names.get(name) == value else UNKNOWN for name, value in entry.names.items()}
    return replace(entry, names=names, heap=Heap())


def _turn(frame: Frame, instruction: ir.While | ir.For, env: Environment) -> Environment | None:
    """One turn of the innermost loop, which is that of the instruction."""
    loop = frame.loops[-1]
    loop.plan, loop.branching = frame.program.plan(frame.file, instruction), frame.branching
    return execute(frame, instruction.body, env)


def transfer_while(frame: Frame, instruction: ir.While, env: Environment) -> Environment | None:
    """`while`: test and body to a fixpoint; then `orelse` where the test fails, joined with the breaks."""
    left: Environment | None = None

    def once(start: Environment, loop: Loop) -> Environment | None:
        nonlocal left
        left = None
        tested = evaluate(frame, instruction.test, start)
        if tested is None:
            return None
        failed: list[Environment] = []

        def stop(side: Environment) -> None:
            failed.append(side)

        after = branch(
            frame,
            instruction.test.register,
            tested,
            lambda side: _turn(frame, instruction, side),
            stop,
        )
        left = failed[0] if failed else None
        return after

    always = env.always
    turned, loop = _repeat(frame, env, instruction.span, once)
    if left is not None and turned is not None:
        left.mend(turned.mended)
    after = None if left is None else execute(frame, instruction.orelse, left)
    return _behind(frame, join(after, loop.breaks), always=always)


def transfer_for(frame: Frame, instruction: ir.For, env: Environment) -> Environment | None:
    """`for`: the body with each element, or with one value that covers them all.

    The body is taken to run at least once, so what it does to names is not lost in a join with a loop that
    never ran. An empty loop is rare, and the code behind a loop is written for the other case. Where no turn comes to
    its end, as all return, or as a recursive call is not known to return yet, only an empty loop leads behind it.
    """
    always, empty = env.always, env.copy()
    span = frame.spans[instruction.iterable]
    elements = iteration.iterate(frame, env, frame.registers[instruction.iterable], instruction.span, span)

    def once(start: Environment, loop: Loop) -> Environment | None:
        each = frame.with_identity(elements.each, "element", instruction.span)
        frame.set(instruction.element, each, span)
        return _turn(frame, instruction, start)

    few = elements.few
    if few is not None and frame.unrolled * len(few) > MOST_TURNS:
        few, elements = None, Elements(summary(ListObject(few)))
    if few is not None:
        current: Environment | None = env
        breaks: Environment | None = None
        before, frame.unrolled = frame.unrolled, frame.unrolled * max(len(few), 1)
        for value in few:
            if current is None:
                break
            loop = Loop(len(frame.scopes))
            frame.loops.append(loop)
            frame.set(instruction.element, value, span)
            after = _turn(frame, instruction, current)
            frame.loops.pop()
            current = join(after, loop.continues)
            breaks = join(breaks, loop.breaks)
        frame.unrolled = before
    else:
        after, loop = _repeat(frame, env, instruction.span, once)
        current, breaks = join(after, loop.continues), loop.breaks
        if current is None and breaks is None:
            current, always = empty, False
    after_else = None if current is None else execute(frame, instruction.orelse, current)
    return _behind(frame, join(after_else, breaks), always=always)


def _behind(frame: Frame, env: Environment | None, *, always: bool) -> Environment | None:
    """What a loop leaves: what its first turn began with, the last one may have put anywhere."""
    if env is None:
        return None
    env.always = always
    may_be_stray = not frame.loops and TURN in frame.program.subjects
    for name, value in tuple(env.names.items()) if may_be_stray else ():
        stray = cpu_on_one_path(value)
        if stray is not None and stray.subject == TURN:
            env.names[name] = without_cpu_path(value)
    return env
