"""Constants that a call hands over, and what the called body asks about them.

    def placed(x, where, name):
        log(name)
        return x.to("cuda") if where > 0 else x

For a summary, the analysis executes a body with a `GivenConstant` in the place of each constant of the call. To read a
`GivenConstant` is to ask a question, and the constant notes the question. The body of `placed(x, 1, "a")` asks for the
whole of `where` and for nothing of `name`. So the summary also serves `placed(y, 1, "b")`, a call with the same
answers. A constant that is only stored, returned or passed on is never asked about: the summary holds the place of the
argument, and each call puts its own constant there.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable
from dataclasses import field, replace
from typing import TypeAlias

from devlint.domain.place import AccessPath
from devlint.domain.provenance import Origin
from devlint.domain.value import Closure, Constant, Host, PartialCall, TupleValue, Value
from devlint.records import dataclass


class Aspect(enum.Enum):
    """How much of a constant a body asks for."""

    TYPE = "type"
    TRUTH = "truth"
    WHOLE = "whole"


Question: TypeAlias = tuple[AccessPath, Hashable]
"""The place of an argument, and what the body asks: how much of a constant, or a question about an object."""


@dataclass(slots=True, eq=False)
class QuestionLog:
    """The questions that one execution for a summary has asked.

    Attributes:
        asked: the questions, in the order in which they were asked.
        are_settled: the summary is made. It serves calls with other constants, so nothing may ask for more.
        needs_object: an answer means something to the caller only; see `given_object`.
    """

    asked: dict[Question, None] = field(default_factory=dict)
    are_settled: bool = False
    needs_object: bool = False

    def ask(self, place: AccessPath, aspect: Hashable) -> None:
        """Note a question, unless the answers so far contain its answer."""
        if (place, aspect) in self.asked or (place, Aspect.WHOLE) in self.asked:
            return
        assert not self.are_settled, f"{place} of a call is read behind its summary"
        self.asked[place, aspect] = None


class GivenConstant(Constant):
    """A constant that a call has handed over for a place among the parameters; reading it asks about it.

    To copy it is to read it: a copy is a `Constant`.
    """

    __slots__ = ("_behind", "_questions", "place")

    place: AccessPath
    _behind: Constant
    _questions: QuestionLog

    def __new__(cls, value: object, checked: bool = False, origin: Origin | None = None) -> Constant:  # type: ignore[misc]
        """Return a plain constant; `given` makes the others."""
        return Constant(value, checked, origin)

    @property
    def value(self) -> object:
        """See `Constant`."""
        return self._ask(Aspect.WHOLE).value

    @property
    def checked(self) -> bool:
        """See `Constant`."""
        return self._ask(Aspect.TYPE).checked

    @property
    def origin(self) -> Origin | None:
        """See `Constant`."""
        return self._ask(Aspect.WHOLE).origin

    @property
    def python_type(self) -> type:
        """See `Constant`."""
        return self._ask(Aspect.TYPE).python_type

    @property
    def is_true(self) -> bool:
        """See `Constant`."""
        return self._ask(Aspect.TRUTH).is_true

    def ask(self) -> None:
        """Ask for the whole constant: something that a summary says of all calls depends on it."""
        self._ask(Aspect.WHOLE)

    def _ask(self, aspect: Aspect) -> Constant:
        self._questions.ask(self.place, aspect)
        return self._behind

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return Constant.__eq__(self, other)

    def __hash__(self) -> int:
        return Constant.__hash__(self)


def given(behind: Constant, place: AccessPath, questions: QuestionLog) -> GivenConstant:
    """Return the constant of a call for the called body, which asks its `questions` by reading the constant."""
    made: GivenConstant = object.__new__(GivenConstant)
    made.place, made._behind, made._questions = place, behind, questions
    return made


def plain(value: Value) -> Value:
    """Return a value without the constants of a call, whose places mean nothing in the execution of another body."""
    match value:
        case GivenConstant():
            return Constant(value.value, value.checked, value.origin)
        case TupleValue(items):
            return replace(value, items=tuple(map(plain, items)))
        case Closure(defaults=defaults, enclosing=enclosing) if defaults or enclosing:
            return replace(value, defaults=plain_named(defaults), enclosing=plain_named(enclosing))
        case PartialCall(function, arguments, keywords):
            return PartialCall(plain(function), tuple(map(plain, arguments)), plain_named(keywords))
        case _:
            return value


def plain_named(values: Iterable[tuple[str, Value]]) -> tuple[tuple[str, Value], ...]:
    """Return named values, each as `plain` returns it."""
    return tuple((name, plain(value)) for name, value in values)


ANY_CONSTANT = Host("constant")
"""Stands for each constant of a call where entries and answers are compared without them."""


def with_constants(place: AccessPath, value: Value, change: Callable[[AccessPath, Constant], Value]) -> Value:
    """Return a value with its constants changed, each by its place."""
    match value:
        case Constant():
            return change(place, value)
        case TupleValue(items):
            changed = tuple(with_constants(place.item(i), one, change) for i, one in enumerate(items))
            return replace(value, items=changed)
        case _:
            return value


def answer(aspect: Hashable, constant: Constant) -> object:
    """Return what a constant of a call answers, for comparisons; it may not be hashable.

    The type of a constant belongs to the whole, since 1, 1.0 and True are different constants.
    """
    if aspect is Aspect.TYPE:
        return constant.python_type, constant.checked
    if aspect is Aspect.TRUTH:
        return constant.is_true
    return constant.python_type, constant.value, constant.checked, constant.origin
