"""The caller's values in place of the symbols of a summary; and the caller's answers to the questions of a body."""

from __future__ import annotations

from typing import final

from devlint.frontend import ir
from devlint.inference.calls.attributes import read
from devlint.inference.calls.evaluation import evaluate
from devlint.inference.calls.items import iterated, subscript
from devlint.inference.calls.knowledge import code_of, truth_of
from devlint.inference.libraries.loading import item_of
from devlint.inference.requirements.causes import attributes_of, how_kept, state_of
from devlint.inference.state.containers import any_value, content, known_length
from devlint.inference.state.frame import FROZEN, NOBODY, Frame, Oracle
from devlint.inference.state.where import (
    PROCESS_STATE,
    device_of,
    device_of_module,
    rank_of,
    source_of,
    stored,
)
from devlint.inference.values.data import (
    DISCARDED,
    LENGTH,
    MODULE,
    ON_MACHINE,
    TRUTH,
    Answer,
    Participant,
    Question,
    Requirement,
)
from devlint.inference.values.folding import asks_device, truth
from devlint.inference.values.joins import join_all
from devlint.inference.values.objects import (
    Bound,
    Function,
    Instance,
    Method,
    Site,
    Super,
    bound,
    function,
    instance,
    method,
    super_of,
    through,
)
from devlint.inference.values.tensors import (
    CPU,
    Alternatives,
    Row,
    Tensor,
    Tuple,
    alternatives,
    as_test,
    pack,
    row,
    tensor,
)
from devlint.inference.values.terms import (
    ABSENT,
    CHOOSES,
    COMPUTED,
    DEVICE,
    ELEMENT,
    ENVIRONMENT_OF,
    GLOBAL,
    ITEM,
    NO_DEVICE,
    NONE,
    NUMBER,
    RANK,
    RECEIVER,
    SOURCE,
    UNKNOWN,
    UNKNOWN_RESULT,
    VALUE,
    Field,
    Root,
    Symbol,
    Term,
    Value,
    is_symbolic,
    root,
)


@final
class Substitution(Oracle):
    """Puts in the values of one call, as they are before the call has an effect.

    Args:
        frame: of the caller.
        given: its values by symbol.
        span: of the call.
    """

    def __init__(self, frame: Frame, given: dict[Value, Value], span: ir.Span) -> None:
        self._frame = frame
        self._given = given
        self._span = span
        self._site = frame.site(span)
        self._known: dict[Value, Value] = {}

    def frozen(self) -> Substitution:
        """Return a substitution for later: an execution of a function goes on and changes what the values lead to."""
        if self._frame.body.function is None:
            return self
        return Substitution(self._frame.frozen(self._given.values()), self._given, self._span)

    @property
    def is_frozen(self) -> bool:
        """Whether it can put in values later."""
        return self._frame.oracle is FROZEN

    def answer(self, question: Question) -> Answer:
        """Answer a question about a term with the caller's values; None if the answer is unknown."""
        value = self.value(question.term)
        if question.kind == TRUTH:
            return truth_of(self._frame, value)
        if question.kind == LENGTH:
            return known_length(self._frame, value)
        found, owner = code_of(self._frame, value), owner_of(question.term)
        if owner is None or found is None:
            return found
        is_known = found.is_own or isinstance(value, (Bound, Method))
        return found._replace(is_own=is_known and owner_of(value) is self.value(owner))

    def own_answer(self, question: Question) -> Answer:
        """Answer a question with the values of the caller alone: if it only knows `n != 0`, `n - 1 == 0` is open."""
        frame = self._frame
        oracle, answers = frame.oracle, frame.answers
        frame.oracle, frame.answers = NOBODY, dict(answers)
        found = Substitution(frame, self._given, self._span).answer(question)
        frame.oracle, frame.answers = oracle, answers
        return found

    def value(self, value: Value) -> Value:
        """Return a value of the summary as the caller has it."""
        if value.is_fixed:
            return value
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._put_in(value)
        return found

    def requirement(self, requirement: Requirement) -> Requirement | None:
        """Return a requirement of the summary for the caller's values; None, if these values meet it.

        It is met as well if a test on the way asks for the type of a device that the caller does not know.
        """
        conditions = tuple([as_test(self.value(each)) for each in requirement.conditions])
        if False in map(truth, conditions):
            return None
        if requirement.kind != DISCARDED and requirement.kind not in ON_MACHINE:
            devices = {self._device(each) for each in requirement.participants}
            is_guarded = any(
                new in (NUMBER, UNKNOWN) and asks_device(old)
                for old, new in zip(requirement.conditions, conditions, strict=True)
            )
            if is_guarded or len(devices - {NO_DEVICE, UNKNOWN}) < 2:
                return None
        participants = tuple([self._participant(each) for each in requirement.participants])
        return requirement._replace(participants=participants, conditions=conditions)

    def _participant(self, one: Participant) -> Participant:
        device, rank, subject = self._device(one), self.value(one.rank), self.value(one.subject)
        source, kept = self.value(one.source), one.kept
        if kept is NONE and one.role == MODULE:
            kept = state_of(self._frame, subject)
        for found in (*attributes_of(one.source), *(attributes_of(one.device) if device is CPU else ())):
            if kept is NONE:
                kept = how_kept(self._frame, self.value(found.parent), found.field.name, source)
        return Participant(one.role, device, rank, source, one.exemption, subject, kept, one.place)

    def _device(self, one: Participant) -> Value:
        """Return the device of a participant: a module was perhaps moved in place, a tensor never is."""
        if one.role == MODULE and isinstance(one.device, Symbol) and one.device.parent is one.subject:
            return device_of_module(self._frame, self.value(one.subject))
        return self.value(one.device)

    def _put_in(self, value: Value) -> Value:
        if isinstance(value, Instance):
            where = through(value.site, self._site)
            return instance(where, value.kind, value.of) if isinstance(where, Site) else value
        if isinstance(value, Site):
            return through(value, self._site)
        if isinstance(value, Root):
            return self._of_root(value)
        if isinstance(value, Symbol):
            return self._of_symbol(value)
        if isinstance(value, Term):
            return evaluate(
                self._frame, value.operator, tuple([self.value(each) for each in value.arguments]), self._span
            )
        if isinstance(value, Tensor):
            owner = self.value(value.owner) if is_symbolic(value.owner) else value.owner
            where = self.value(value.device)
            if where is NO_DEVICE:  # the caller's object is no tensor: its method of that name returns something else
                return UNKNOWN
            return tensor(where, self.value(value.rank), owner, self.value(value.source))
        if isinstance(value, Tuple):
            return pack(*[self.value(each) for each in value.items])
        if isinstance(value, Alternatives):
            if ABSENT in value.options:
                rest = [self.value(each) for each in value.options if each is not ABSENT]
                whole = join_all(rest)
                return whole if whole is UNKNOWN else _or_absent(whole)
            return join_all([self.value(each) for each in value.options])
        if isinstance(value, Row):
            return self._row(value)
        return self._object(value)

    def _object(self, value: Value) -> Value:
        if isinstance(value, Function):
            return function(value.body, self.value(value.environment))
        if isinstance(value, Bound):
            return bound(self.value(value.function), self.value(value.receiver))
        if isinstance(value, Method):
            return method(self.value(value.receiver), value.of, value.name)
        if isinstance(value, Super):
            return super_of(value.owner, self.value(value.receiver))
        return value

    def _of_root(self, value: Root) -> Value:
        if value in self._given:
            return self._given[value]
        if value.kind == UNKNOWN_RESULT:
            return root(UNKNOWN_RESULT, value.name, through(value.place, self._site))
        if value.kind == GLOBAL:
            return self._frame.engine.global_value(self._frame, value)
        return value

    def _of_symbol(self, value: Symbol) -> Value:
        frame, field = self._frame, value.field
        if value.parent is PROCESS_STATE:
            return stored(frame, PROCESS_STATE, field)
        base = self.value(value.parent)
        if base is value.parent and value.root not in self._given:
            return value
        if field is DEVICE:
            return device_of(frame, base)
        if field is RANK:
            return rank_of(frame, base)
        if field is SOURCE:
            return source_of(frame, base)
        return field_of(frame, base, field, self._span)

    def _row(self, value: Row) -> Value:
        entries = {key: each if each is ABSENT else self.value(each) for key, each in value.entries}
        if value.base is NONE or value.base is UNKNOWN:
            return row(value.base, tuple(entries.items()))
        below = content(self._frame, self.value(value.base))
        whole: dict[Value, Value] = {**dict(below.entries), **entries}
        if below.base is NONE:
            whole = {key: each for key, each in whole.items() if each is not ABSENT}
        return row(below.base, tuple(whole.items()))


def owner_of(value: Value) -> Value | None:
    """Return the object that an attribute or method was read from; None for any other value."""
    if isinstance(value, (Bound, Method)):
        return value.receiver
    if isinstance(value, Symbol):
        return value.parent if value.field.kind == "." else None
    return value.arguments[0] if isinstance(value, Term) and value.operator == "attribute" else None


def _or_absent(value: Value) -> Value:
    held = value.options if isinstance(value, Alternatives) else (value,)
    return alternatives(tuple(dict.fromkeys((*held, ABSENT))))


def field_of(frame: Frame, base: Value, field: Field, span: ir.Span) -> Value:
    """Return the value of a field of a caller's value."""
    if field is COMPUTED and isinstance(base, Instance):
        return frame.heap.get(base, field) or ABSENT
    if field.kind == ".":
        return read(frame, base, field.name, span)
    if field.key is not None:
        return subscript(frame, base, field.key, span)
    if field is ELEMENT:
        return iterated(frame, base, span)
    if field is VALUE:
        return any_value(frame, base)
    if field is ITEM:
        return item_of(frame, base, span)
    if field is CHOOSES and isinstance(base, Term) and base.operator == "ite":
        return base.arguments[0]
    if field is RECEIVER and isinstance(base, (Bound, Method)):
        return base.receiver
    if field is ENVIRONMENT_OF:
        called = base.function if isinstance(base, Bound) else base
        if isinstance(called, Function):
            return called.environment
    return stored(frame, base, field)
