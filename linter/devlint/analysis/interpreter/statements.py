"""Transfer functions for control flow.

`execute` runs a block and returns the environment behind it, or None when control never gets there. An
environment that is passed in belongs to the callee, which may change it. Loops are in `loop_statements`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

from devlint.analysis.execution.frame import Frame
from devlint.analysis.findings import host_waits
from devlint.analysis.index import loops
from devlint.analysis.interpreter import with_blocks
from devlint.analysis.interpreter.joins import Cleared, drop_strays, merge, put_back, returned, test_again
from devlint.analysis.values import occurrences
from devlint.analysis.values.narrowing import apply_constraints, changed_by, truth, widen_back
from devlint.domain.body import Side
from devlint.domain.environment import Environment, join
from devlint.domain.value import UNKNOWN, Assume, Constant, Kind, Opaque, Predicate, Present, Tensor
from devlint.frontend import ir

Transfer: TypeAlias = Callable[[Frame, Any, Environment], Environment | None]
"""Takes the instruction class it is registered for; a table cannot say so."""

TRANSFERS: dict[type[ir.Instruction], Transfer] = {}
"""By instruction class; `devlint.analysis.interpreter.expressions` fills it."""


def execute(frame: Frame, block: ir.Block, env: Environment) -> Environment | None:
    """Runs a block; the result is the environment behind it, None if control does not get there."""
    program = frame.program
    observing = frame.recording and program.observing
    program.steps.take(len(block))
    around = frame.path
    for instruction in block:
        after = TRANSFERS[type(instruction)](frame, instruction, env)
        if after is None:
            frame.path = around
            return None
        env = after
        if observing:
            occurrences.observe(frame, instruction, env)
    frame.path = around
    return env


def evaluate(frame: Frame, operand: ir.Operand, env: Environment) -> Environment | None:
    """Runs the block of an operand; its value is then in its register."""
    return execute(frame, operand.block, env)


def branch(
    frame: Frame,
    test: ir.Register,
    env: Environment,
    then: Callable[[Environment], Environment | None],
    orelse: Callable[[Environment], Environment | None],
) -> Environment | None:
    """Runs two continuations under what a truth value proves on each side, and joins what they leave."""
    host_waits.read(frame, env, frame.registers[test], frame.spans[test], "testing")
    outcome = truth(
        frame.registers[test], env, frame.program.devices, frame.text(frame.spans[test]), optional=frame.optional[test]
    )
    if outcome.known is not None:
        proofs = outcome.holds if outcome.known else outcome.fails
        narrowed = apply_constraints(env, proofs)
        if narrowed is None:
            return None
        frame.skipped.add(Side(frame.spans[test], not outcome.known))
        frame.branching += 1
        around = frame.enter(Side(frame.spans[test], outcome.known))
        after = (then if outcome.known else orelse)(narrowed)
        frame.path = around
        frame.branching -= 1
        return after
    frame.note_tested(test)
    always, exits = env.always, frame.exits
    before = env.copy() if _is_option(frame, test, outcome) else None
    holds = apply_constraints(env.copy(), outcome.holds)
    fails = apply_constraints(env, outcome.fails)
    cleared: list[Cleared] = []
    for side in (holds, fails):
        if side is not None:
            cleared.append(test_again(frame, side, frame.spans[test]))
            side.always = always and side.fallback is False and _is_decided_by_machine(outcome)
    frame.branching += 1
    around = frame.enter(Side(frame.spans[test], holds=True))
    after_then, ends_then = _side(frame, holds, then)
    frame.path = around
    frame.enter(Side(frame.spans[test], holds=False))
    after_else, ends_else = _side(frame, fails, orelse)
    frame.path = around
    if (after_then is None) != (after_else is None):
        frame.enter(Side(frame.spans[test], holds=after_else is None))  # the other side leaves the block
    frame.branching -= 1
    if after_then is not None and after_else is not None:
        by_then = changed_by(after_then, outcome.holds, outcome.fails)
        by_else = changed_by(after_else, outcome.fails, outcome.holds)
        widen_back(after_then, outcome.holds, by_else)
        widen_back(after_else, outcome.fails, by_then)
    result = merge(frame, after_then, after_else, frame.spans[test], before=before)
    if result is not None:
        result.always = always and frame.exits == exits
        if ends_then is not None and ends_else is not None:
            excludes = after_then is None or after_else is None
            put_back(result, tuple(zip((ends_then, ends_else), cleared, strict=True)), turn_only=excludes)
    return result


def _side(
    frame: Frame, env: Environment | None, run: Callable[[Environment], Environment | None]
) -> tuple[Environment | None, Environment | None]:
    """What one side of a branch leaves behind it, and what it leaves there or for the next turn of the loop."""
    if env is None:
        return None, None
    loop = frame.loops[-1] if frame.loops else None
    if loop is not None:
        loop.continued = None
    after = run(env)
    return after, loop.continued if after is None and loop is not None else after


def _is_decided_by_machine(outcome: Predicate) -> bool:
    """Whether a test only asks which accelerators there are: the accelerated side is then the one that counts."""
    return bool(outcome.holds or outcome.fails) and all(
        isinstance(proof, Present) for proof in outcome.holds + outcome.fails
    )


def _is_option(frame: Frame, test: ir.Register, outcome: Predicate) -> bool:
    """Whether a test reads an option of the program: neither what tensors hold nor where they are."""
    value = frame.registers[test]
    reads_tensor = isinstance(value, Tensor) or (isinstance(value, Opaque) and frame.kind(value) is Kind.TENSOR)
    return not reads_tensor and not any(isinstance(proof, Assume) for proof in outcome.holds + outcome.fails)


def transfer_if(frame: Frame, instruction: ir.If, env: Environment) -> Environment | None:
    """`if`: both sides, each with what the test proves there."""
    # Partial functions are no frames of their own on Python's stack: a chain may be a thousand `elif` long.
    return branch(
        frame,
        instruction.test,
        env,
        functools.partial(execute, frame, instruction.then),
        functools.partial(_otherwise, frame, instruction.orelse),
    )


def _otherwise(frame: Frame, block: ir.Block, env: Environment) -> Environment | None:
    """The other side of an `if`; behind the last `elif` without an `else`, no stray is what was there before.

    Such a chain goes through all that there is, and what stands before it holds a place for what the branches store.
    """
    last = block[-1] if block else None
    if not isinstance(last, ir.If) or last.orelse:
        return execute(frame, block, env)
    start = execute(frame, block[:-1], env)
    before = {} if start is None else dict(start.names)
    after = None if start is None else execute(frame, block[-1:], start)
    if after is not None:
        drop_strays(after, before)
    return after


def transfer_try(frame: Frame, instruction: ir.Try, env: Environment) -> Environment | None:
    """`try`: a handler starts from any point of the body, here taken as its beginning joined with its end."""
    always, before = env.always, env.copy()
    protected, answered = bool(instruction.handlers), _falls_back(instruction)
    frame.handled += protected
    frame.answered += answered
    frame.raised.append(None)
    body = execute(frame, instruction.body, env)
    raised = frame.raised.pop()
    frame.handled -= protected
    frame.answered -= answered
    after = None if body is None else execute(frame, instruction.orelse, body.copy())
    for handler in instruction.handlers:
        start = join(join(before, body), raised)
        assert start is not None
        start.always = False
        start.checked = before.checked
        if handler.test is not None:
            tested = evaluate(frame, handler.test, start)
            if tested is None:
                continue
            start = tested
        if handler.name is not None:
            start.names[handler.name] = UNKNOWN
        after = join(after, execute(frame, handler.body, start))
    if instruction.final:
        if after is None:
            # The final block runs on the way out; what it leaves goes nowhere.
            start = join(before, body)
            assert start is not None
            execute(frame, instruction.final, start)
            return None
        after = execute(frame, instruction.final, after)
    if after is not None:
        after.always = always
    return after


def _falls_back(instruction: ir.Try) -> bool:
    """Whether a handler answers a missing device by other means.

    It catches what PyTorch raises then (torch 2.13: AssertionError or RuntimeError), goes on, and gives what the body
    would have given; or the body is so short that this is all it can be about.
    """
    body = tuple(loops.instructions_of(instruction.body, into_loops=True))
    lines = [span.line for item in body if isinstance(span := getattr(item, "span", None), ir.Span)]
    short = bool(lines) and max(lines) - min(lines) < _SHORT
    for handler in instruction.handlers:
        caught = () if handler.test is None else handler.test.block
        names = {item.name for item in caught if isinstance(item, (ir.Load, ir.Attribute))}
        answer = tuple(loops.instructions_of(handler.body, into_loops=True))
        if (handler.test is not None and names.isdisjoint(_RAISED)) or any(isinstance(one, ir.Raise) for one in answer):
            continue
        if short or not _given(body).isdisjoint(_given(answer)):
            return True
    return False


def _given(instructions: tuple[object, ...]) -> set[str]:
    """The names and attributes that instructions bind, and "return" if they return."""
    bound = {item.name for item in instructions if isinstance(item, (ir.Store, ir.StoreAttribute))}
    return bound | {"return" for item in instructions if isinstance(item, ir.Return)}


_RAISED = frozenset({"Exception", "BaseException", "RuntimeError", "AssertionError"})
_SHORT = 3
"""Lines of a body."""


def transfer_with(frame: Frame, instruction: ir.With, env: Environment) -> Environment | None:
    """`with`: device scopes change the default or the current device for the body and put it back."""
    frame.scopes.append(with_blocks.enter(frame, instruction, env))
    after = execute(frame, instruction.body, env)
    scope = frame.scopes.pop()
    return None if after is None else scope.left(after)


def transfer_return(frame: Frame, instruction: ir.Return, env: Environment) -> None:
    """`return`: control leaves the function."""
    value = Constant(None) if instruction.source is None else frame.kept(instruction.source)
    frame.iterated(env, value)
    frame.leave(env, value, lambda before, now: returned(frame, before, now, instruction.span))


def transfer_raise(frame: Frame, instruction: ir.Raise, env: Environment) -> None:
    """`raise`: on in the handlers around, if any."""
    if frame.raised:
        frame.raised[-1] = join(frame.raised[-1], env)


def transfer_break(frame: Frame, instruction: ir.Break, env: Environment) -> None:
    """`break`: on behind the loop."""
    if frame.loops:  # else the text can be parsed, but Python does not compile it
        loop = frame.loops[-1]
        loop.breaks = join(loop.breaks, frame.behind_scopes(env, loop.scopes))


def transfer_continue(frame: Frame, instruction: ir.Continue, env: Environment) -> None:
    """`continue`: on to the next turn."""
    if frame.loops:  # else the text can be parsed, but Python does not compile it
        loop = frame.loops[-1]
        loop.continued = env
        loop.continues = join(loop.continues, frame.behind_scopes(env, loop.scopes))
