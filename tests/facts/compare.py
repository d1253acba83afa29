"""Compares values with claims, and requirements with what happens."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from devlint.frontend import ir
from devlint.inference.execute.claims import Claim, Expression
from devlint.inference.requirements.judge import broken
from devlint.inference.values.data import DISCARDED, Requirement
from devlint.inference.values.folding import CODE
from devlint.inference.values.objects import DICT, LIST, MODULE, OBJECT, SET, Instance, Library
from devlint.inference.values.tensors import Array, Device, Tensor, Tuple, device
from devlint.inference.values.terms import (
    DEVICE,
    NUMBER,
    PARAMETER,
    RANK,
    UNKNOWN,
    Constant,
    Root,
    Symbol,
    Term,
    Value,
    constant,
)

from tests.facts.instrument import Place
from tests.facts.meaning import NOWHERE, Meaning, is_bound_late, parts_of
from tests.facts.observe import BASIC, Seen, is_plain, seen
from tests.judge.kinds import kind_of

MOST: Final = 25
"""How many values of an expression are compared, and how many executions of a body."""

AGREE, UNKNOWN_TO_IT, DISAGREE = range(3)

Aspect = tuple[int, str]
"""The number of an expression, and KIND, DEVICE, RANK, CONDITION, REACHED, CODE or ITSELF."""


class Body:
    """What the inference says about a body.

    Attributes:
        claims: by expression.
        values: all values in claims and requirements, each behind its parts.
        requirements: of the body's callers, and broken ones.
    """

    def __init__(self, claims: Mapping[Expression, Claim], requirements: list[Requirement]) -> None:
        self.claims = claims
        self.requirements = [each for each in requirements if each.kind != DISCARDED]
        self.entries = 0
        self.values: dict[Value, None] = {}
        for claim in claims.values():
            for each in (*claim[:-1], *claim.conditions):
                self._add(each)
        for requirement in self.requirements:
            for value in (*requirement.conditions, *[v for p in requirement.participants for v in (p.device, p.rank)]):
                self._add(value)

    def _add(self, value: Value) -> None:
        if value not in self.values:
            for each in parts_of(value):
                self._add(each)
            self.values[value] = None


@dataclass
class Result:
    """What one run shows.

    Attributes:
        verdicts: for each aspect of an expression, how many values agree, are unknown to the inference, and disagree.
        wrong: the first disagreement of an aspect: whether it follows from none, and both sides as text.
        conflicts: requirements that the run breaks without an error, as text by place.
        misses: device errors that nothing has predicted, as text by place.
        requirements: how many were met, not decided, and broken.
        error: the exception that ended the program.
    """

    verdicts: dict[Aspect, list[int]] = field(default_factory=dict)
    wrong: dict[Aspect, tuple[bool, str]] = field(default_factory=dict)
    conflicts: dict[str, str] = field(default_factory=dict)
    misses: dict[str, str] = field(default_factory=dict)
    requirements: Counter[str] = field(default_factory=Counter)
    error: str = ""


class Activation:
    """One execution of a body in the run; `left_by` is called with the exception that leaves it."""

    __slots__ = ("_run", "body", "broken", "is_left", "meaning", "path")

    def __init__(self, run: Run, path: str, body: Body | None, meaning: Meaning) -> None:
        self._run, self.path, self.body, self.meaning = run, path, body, meaning
        self.broken: list[Requirement] = []
        self.is_left = False

    def left_by(self, error: BaseException) -> None:
        """Note that an exception leaves the body."""
        self._run.left_by(self, error)


class Run:
    """Compares one run of a program.

    Args:
        places: of the expressions.
        bodies: by path, line and column; of a file with 0 and 0.
        modules: the name of each file's module in the inference, by path.
        devices: the number of accelerators.
    """

    def __init__(
        self, places: list[Place], bodies: Mapping[tuple[str, int, int], Body], modules: Mapping[str, str], devices: int
    ) -> None:
        self.result = Result()
        self._places = places
        self._bodies = bodies
        self._modules = modules
        self._devices = devices
        self._files: dict[str, Mapping[str, Any]] = {}
        self._is_busy = False
        self._counts: Counter[int] = Counter()
        self._bound: dict[int, Value] = {}
        self._wrong_now: set[int] = set()
        self._tainted: dict[int, Any] = {}
        self._wrong_claims: set[Value] = set()
        self._open: list[Activation] = []
        self._errors: dict[int, BaseException] = {}
        self._error_lines: set[tuple[str, int]] = set()

    # --- bodies -------------------------------------------------------------------------------------------------

    def enter(self, path: str, line: int, column: int, names: Mapping[str, Any]) -> Activation:
        """Begin an execution of a body with these variables."""
        if not line:
            self._files[self._modules.get(path, path)] = names
        body = self._bodies.get((path, line, column))
        if body is not None:
            body.entries += 1
        is_compared = body is not None and body.entries <= MOST and not self._is_busy
        self._is_busy, before = True, self._is_busy
        meaning = Meaning(names if not line else dict(names), self._files, self._devices)
        activation = Activation(self, path, body if is_compared else None, meaning)
        if body is not None and is_compared:
            meaning.begin(body.values)
            if line:
                activation.broken = [each for each in body.requirements if self._is_broken(each, meaning)]
            self._open.append(activation)
        self._is_busy = before
        return activation

    def _is_broken(self, requirement: Requirement, meaning: Meaning) -> bool:
        tests = [meaning.truth(each) for each in requirement.conditions]
        participants = []
        for each in requirement.participants:
            where, ranks = meaning.devices(each.device), meaning.ranks(each.rank)
            known = next(iter(where)) if where is not None and len(where) == 1 else NOWHERE
            rank = constant(next(iter(ranks))) if ranks is not None and len(ranks) == 1 else UNKNOWN
            participants.append(each._replace(device=UNKNOWN if known == NOWHERE else device(known), rank=rank))
        found = False not in tests and broken(requirement._replace(participants=tuple(participants))) is not None
        is_decided = False in tests or all(each.device is not UNKNOWN for each in participants)
        word = "broken" if found and None not in tests else "not decided" if found or not is_decided else "met"
        self.result.requirements[word] += 1
        return word == "broken"

    def left_by(self, activation: Activation, error: BaseException) -> None:
        """Note that an exception leaves a body, and whether a requirement has predicted it."""
        activation.is_left = True
        if kind_of(type(error).__name__, str(error)) is None or id(error) in self._errors:
            return
        self._errors[id(error)] = error
        lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        own = [each for each in lines if each[0] in self._modules]
        self._error_lines.update(own[-1:])
        ahead = {(each.place.path, each.place.line) for one in self._open for each in one.broken}
        if own and own[-1] not in ahead:
            self.result.misses[f"{own[-1][0]}:{own[-1][1]}"] = str(error).splitlines()[0][:120]

    def end(self, error: BaseException | None) -> Result:
        """Return the result, after the program has ended."""
        self._is_busy = True
        for activation in self._open:
            if not activation.broken and activation.body is self._bodies.get((activation.path, 0, 0)):
                requirements = activation.body.requirements if activation.body is not None else []
                activation.broken = [each for each in requirements if self._is_broken(each, activation.meaning)]
            for each in activation.broken:
                place = (each.place.path, each.place.line)
                self.result.misses.pop(f"{place[0]}:{place[1]}", None)
                if place not in self._error_lines and not activation.is_left:
                    text = f"{each.operation} {[one.device for one in each.participants]} if {each.conditions}"
                    self.result.conflicts.setdefault(f"{place[0]}:{place[1]}", text[:400])
        self.result.error = "" if error is None else f"{type(error).__name__}: {error}"[:200]
        return self.result

    # --- values -------------------------------------------------------------------------------------------------

    def fact(self, number: int, thing: Any, activation: Activation) -> Any:
        """Compare the value of an expression with its claim, and return the value."""
        if activation.body is None or self._is_busy:
            return thing
        if self._counts[number] >= MOST:
            if number in self._bound:  # what it stands for now is not looked at any more
                activation.meaning.forget(self._bound[number])
            return thing
        self._counts[number] += 1
        self._is_busy = True
        try:
            self._compare(number, thing, activation.body, activation.meaning)
        finally:
            self._is_busy = False
        return thing

    def _compare(self, number: int, thing: Any, body: Body, meaning: Meaning) -> None:
        place = self._places[number]
        claim = body.claims.get((place.word, ir.Span(*place.span)))
        self._wrong_now.discard(number)
        if claim is None:
            self._note(number, "reached", False, thing, UNKNOWN, f"{type(thing).__name__}, claimed not to be reached")
            return
        found = seen(thing)
        if is_bound_late(claim.value):
            meaning.bind(claim.value, found)
            self._bound[number] = claim.value
        options = [each for each in meaning.chosen(claim.value) if each is not UNKNOWN] or [UNKNOWN]
        for each in claim.conditions:
            self._note(number, "condition", meaning.truth(each), thing, each, f"{each} does not hold")
        is_itself = is_bound_late(claim.value) or (isinstance(claim.value, Root) and claim.value.kind == PARAMETER)
        fitting = {fits(each, found, meaning) for each in options}
        fit = True if True in fitting else None if None in fitting else False
        aspect = "code" if all(isinstance(each, CODE) for each in options) else "itself" if is_itself else "kind"
        self._note(number, aspect, fit, thing, claim.value, f"{_shown(found)}, claimed {claim.value}")
        if fit is not False and aspect != "code":
            self._compare_device(number, found, claim, meaning, is_itself)
        if fit is not False and found.rank is not None and not (is_itself and _is_own(claim.rank, claim.value, RANK)):
            ranks = meaning.ranks(claim.rank)
            says = None if ranks is None else found.rank in ranks
            self._note(number, "rank", says, thing, claim.rank, f"rank {found.rank}, claimed {claim.rank}")

    def _compare_device(self, number: int, found: Seen, claim: Claim, meaning: Meaning, is_itself: bool) -> None:
        where = {"device": claim.value, "module": claim.module_device}.get(found.kind, claim.device)
        if not found.devices or (is_itself and _is_own(where, claim.value, DEVICE)):
            return
        allowed = meaning.named(where, UNKNOWN) if found.kind == "device" else meaning.devices(where)
        if allowed == frozenset({NOWHERE}) and found.kind == "module":
            allowed = None
        says = None if allowed is None else bool(found.devices & allowed)
        text = f"{found.kind} on {sorted(found.devices)}, claimed {where} of {claim.value}"
        self._note(number, "device", says, found.thing, where, text)

    def _note(self, number: int, aspect: str, says: bool | None, thing: Any, claimed: Value, text: str) -> None:
        verdict = UNKNOWN_TO_IT if says is None else AGREE if says else DISAGREE
        self.result.verdicts.setdefault((number, aspect), [0, 0, 0])[verdict] += 1
        if verdict != DISAGREE:
            return
        follows = any(each in self._wrong_now for each in self._places[number].operands)
        follows = follows or id(thing) in self._tainted or claimed in self._wrong_claims
        self._wrong_now.add(number)
        if not is_plain(thing):
            self._tainted[id(thing)] = thing
        if not isinstance(claimed, Constant) and claimed not in (UNKNOWN, NUMBER):
            self._wrong_claims.add(claimed)
        self.result.wrong.setdefault((number, aspect), (not follows, text[:500]))


def _is_own(claimed: Value, value: Value, name: object) -> bool:
    """Whether a claim only says that a value is where it is."""
    return claimed is UNKNOWN or (isinstance(claimed, Symbol) and claimed.parent is value and claimed.field is name)


def _shown(found: Seen) -> str:
    return f"{found.kind} {type(found.thing).__name__}" + (f" {found.thing!r}"[:60] if is_plain(found.thing) else "")


def fits(value: Value, found: Seen, meaning: Meaning) -> bool | None:
    """Return whether a claim allows the kind of a value; None if it says nothing."""
    kind, thing = found.kind, found.thing
    if isinstance(value, Tensor):  # nothing is claimed of what has no device in this run
        is_void = meaning.devices(value.device) == frozenset({NOWHERE}) or hasattr(thing, "__await__")
        return kind == "tensor" or (None if is_void else False)
    if isinstance(value, Array):
        return kind == "array" or isinstance(thing, np.generic)
    if isinstance(value, Constant):
        return thing == value.value if is_plain(thing) else None if kind in ("object", "number") else False
    if value is NUMBER:
        return kind in ("number", "device", "code") or (False if kind in BASIC else None)
    if isinstance(value, Device):
        return kind == "device" or isinstance(thing, str) or value.name.endswith(f":{thing}")
    if isinstance(value, Tuple):
        is_alike = isinstance(thing, (tuple, list)) and len(thing) == len(value.items)
        return is_alike or (False if kind in BASIC else None)
    if isinstance(value, Instance):
        return _is_instance(value, found)
    if isinstance(value, CODE):
        is_other = kind in BASIC and not isinstance(value, Library)
        return kind == "code" or (False if is_other else None)
    if isinstance(value, (Root, Symbol, Term)):
        return _is_same(value, found, meaning)
    return None


def _is_instance(value: Instance, found: Seen) -> bool | None:
    thing, kind = found.thing, found.kind
    names = {each.__name__ for each in type(thing).__mro__}
    if value.kind == OBJECT:
        return value.of.text.rpartition("@")[0].rpartition(":")[2].rpartition(".")[2] in names
    if value.kind == MODULE:
        return kind == "module"
    if value.kind in (LIST, SET):
        return kind == "list" or hasattr(thing, "__next__") or (False if kind in BASIC else None)
    if value.kind == DICT:
        return kind == "dict" or (False if kind in BASIC else None)
    last = value.of.name.rpartition(".")[2] if isinstance(value.of, Library) else ""
    return last in names or (False if kind in BASIC - {"dict", "list"} else None)


def _is_same(value: Value, found: Seen, meaning: Meaning) -> bool | None:
    """Return whether a symbol or term stands for a value of this kind, or for this very number or text."""
    if isinstance(value, Term) and value.operator == "to":
        claimed = [meaning.seen(each) for each in meaning.chosen(value.arguments[0])]
        known = [each for each in claimed if each is not None and each.kind != "object"]
        return None if len(known) < len(claimed) else any(each.kind == found.kind for each in known)
    if isinstance(value, Term) and value.operator in ("asked", "len"):
        return found.kind == "number" or (False if found.kind in BASIC else None)
    expected = meaning.seen(value)
    if expected is None:
        return None
    if expected.thing is found.thing:
        return True
    if is_plain(found.thing) and is_plain(expected.thing):
        return bool(expected.thing == found.thing)
    return expected.kind == found.kind if expected.kind in BASIC or found.kind in BASIC else None
