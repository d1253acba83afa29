"""Knowledge of a frame about its values: whether a test holds, and which code a value is."""

from __future__ import annotations

from typing import Final

from devlint.inference.state.containers import is_true
from devlint.inference.state.frame import Frame
from devlint.inference.values.data import CODE, TRUTH, Code, Question
from devlint.inference.values.folding import is_answerable, truth
from devlint.inference.values.objects import (
    LIBRARY,
    MODULE,
    OBJECT,
    Bound,
    ClassValue,
    Function,
    Instance,
    Library,
    Method,
)
from devlint.inference.values.tensors import Alternatives
from devlint.inference.values.terms import (
    ABSENT,
    NONE,
    Term,
    Value,
    is_symbolic,
)

MOST_TARGETS: Final = 14


def truth_of(frame: Frame, value: Value) -> bool | None:
    """Return whether a test holds, if this execution or its caller knows."""
    if isinstance(value, Term) and value.operator == "not":
        known = truth_of(frame, value.arguments[0])
        return None if known is None else not known
    known = truth(value)
    if known is None:
        known = is_true(frame, value)
    if known is None and is_answerable(value):
        answer = frame.ask(Question(TRUTH, value))
        known = answer if isinstance(answer, bool) else None
    return known


def code_of(frame: Frame, value: Value) -> Code | None:
    """Return the code of a value; None if neither this execution nor its caller knows it."""
    if isinstance(value, Function):
        return Code("function", value.body)
    if isinstance(value, Bound):
        return Code("bound", value.function.body) if isinstance(value.function, Function) else None
    if isinstance(value, ClassValue):
        return Code("class", value.code)
    if isinstance(value, Library):
        return Code("library", value.name)
    if isinstance(value, Method):
        return Code("method", (value.of, value.name)) if value.of else None
    if isinstance(value, Instance):
        return _of_instance(value)
    if isinstance(value, Alternatives):
        found = [code_of(frame, each) for each in value.options if each not in (NONE, ABSENT)]
        return several(found)
    if isinstance(value, Term) and value.operator == "ite":
        held = [code_of(frame, each) for each in value.arguments[1:] if each is not NONE]
        if len(held) == 2 and None not in held and held[0] != held[1]:
            return Code("either", tuple(held))
        return several(held)
    if is_symbolic(value) and is_answerable(value):
        answer = frame.ask(Question(CODE, value))
        return answer if isinstance(answer, Code) else None
    return None


def _of_instance(value: Instance) -> Code | None:
    if value.kind == OBJECT and isinstance(value.of, ClassValue):
        return Code("object", value.of.code)
    if value.kind in (MODULE, LIBRARY) and isinstance(value.of, Library):
        return Code("instance", (value.kind, value.of.name))
    return None


def several(found: list[Code | None]) -> Code | None:
    """Return one code for several alternatives; None stands for an unknown alternative."""
    flat: dict[Code, None] = {}
    is_partly_unknown = False
    for each in found:
        if each is None:
            is_partly_unknown = True
        elif each.kind == "several" and isinstance(each.what, tuple):
            flat.update(dict.fromkeys(each.what))
        else:
            flat[each] = None
    if not flat or len(flat) > MOST_TARGETS:
        return None
    if is_partly_unknown:
        flat[Code("unknown", "")] = None
    return next(iter(flat)) if len(flat) == 1 else Code("several", tuple(flat))
