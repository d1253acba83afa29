"""Requirements of a body, at a call of it."""

from __future__ import annotations

from devlint.frontend import ir
from devlint.inference.requirements.judge import is_decidable
from devlint.inference.requirements.machines import pursue
from devlint.inference.requirements.make import note
from devlint.inference.state.frame import Frame
from devlint.inference.values.data import DISCARDED, LONGEST_CHAIN, MOST_CONDITIONS, ON_MACHINE, Requirement
from devlint.inference.values.folding import truth
from devlint.inference.values.terms import Constant, Value


def hand_on(frame: Frame, requirement: Requirement, span: ir.Span | None) -> None:
    """Judge a requirement with the values of a caller. If one of its conditions is false, it is met.

    Args:
        frame: of the caller.
        requirement: with the caller's values.
        span: of the call; None for an entry.
    """
    kept: dict[Value, None] = {}
    is_on_machine = requirement.kind in ON_MACHINE
    chain = requirement.chain if span is None else (frame.place(span), *requirement.chain)[:LONGEST_CHAIN]
    for each in requirement.conditions:
        known = truth(each)
        if known is False:
            return
        if known is None and (is_on_machine or not isinstance(each, Constant)):
            kept[each] = None
    if is_on_machine and requirement.body == frame.body.name:
        return  # the body has told it of itself, and each round of a recursion would add another test
    if is_on_machine:
        kept.update(dict.fromkeys(frame.every_test()))
        pursue(frame, requirement._replace(conditions=tuple(kept), chain=chain))
        return
    kept.update(dict.fromkeys(frame.conditions()))
    taking_part = [each for each in requirement.participants if is_decidable(each.device)]
    if requirement.kind == DISCARDED:
        taking_part = list(requirement.participants)
    elif len(taking_part) < 2:
        return
    conditions = tuple(kept)[-MOST_CONDITIONS:]
    note(frame, requirement._replace(participants=tuple(taking_part), conditions=conditions, chain=chain))
