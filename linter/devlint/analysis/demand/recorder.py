"""Collects facts during the last pass and hands them out file by file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from devlint.analysis.demand.callers import MERELY_POSSIBLE, CallSite, Demand, Doubt, Files, Followed, Given
from devlint.analysis.demand.missed import with_need
from devlint.diagnostics import Certainty, Place
from devlint.domain.body import Body
from devlint.domain.device import CPU
from devlint.domain.kinds import OriginKind
from devlint.domain.place import AccessPath
from devlint.domain.provenance import LEADS_THERE
from devlint.facts import (
    Anchored,
    Conflict,
    ConflictKind,
    Fact,
    FileFacts,
    Meeting,
    Occurrence,
    Reveal,
    Step,
)
from devlint.frontend.ir import Span


class Recorder:
    """Facts by file and place; the same fact about the same place is kept once.

    Args:
        place: a span as people count.
        about: the files of the project.

    Attributes:
        demand: of the functions that facts are about.
        files: the files whose facts have been recorded.
    """

    def __init__(self, place: Callable[[str, Span], Place], about: Files) -> None:
        self.demand = Demand(about)
        self.files: set[str] = set()
        self._place = place
        self._facts: dict[str, dict[tuple[Span, object], Anchored]] = {}  # by place and `_subject`
        self._environment: dict[str, list[tuple[int, str, str]]] = {}
        self._occurrences: dict[str, dict[Place, Occurrence]] = {}
        self._doubts: dict[str, dict[tuple[Span, object], list[tuple[Doubt, ...]]]] = {}
        self._waiting: list[Callable[[], None]] | None = None

    def attempt(self) -> None:
        """Makes what is recorded from now on wait for `settle`."""
        self._waiting = []

    def settle(self, *, keep: bool) -> None:
        """Adds what has been recorded since `attempt`, or drops it."""
        waiting, self._waiting = self._waiting or [], None
        for add in waiting if keep else ():
            add()

    def forget(self, file: str) -> None:
        """Drops everything about one file."""
        for found in (self._facts, self._doubts, self._environment, self._occurrences):
            found.pop(file, None)

    def drop(self, file: str) -> None:
        """Drops everything about one file, and what its calls hand over to functions of others."""
        self.forget(file)
        self.files.discard(file)
        self.demand.drop(file)

    def record(self, file: str, span: Span, fact: Fact, doubts: tuple[Doubt, ...] = ()) -> None:
        """Adds a fact; a place has one fact of each class, and a call one conflict of each operation inside.

        `doubts`: what the calls of the function may have in common, so that the fact does not hold.
        """
        if self._waiting is not None:
            self._waiting.append(partial(self.record, file, span, fact, doubts))
            return
        key = (span, _subject(fact))
        self._doubts.setdefault(file, {}).setdefault(key, []).append(doubts)
        found = self._facts.setdefault(file, {})
        known = found.get(key)
        if isinstance(fact, Reveal):
            if known is not None and known.fact != fact:
                fact = Reveal("unknown")  # a line that is executed several times, each time for other values
        elif known is not None:
            return
        found[key] = Anchored(self._place(file, span), fact)

    def note_call(self, function: Body, checked: bool, body: Body, file: str) -> None:
        """Adds a call of a function; see `Demand.note_call`."""
        if self._waiting is not None:
            self._waiting.append(partial(self.note_call, function, checked, body, file))
            return
        self.demand.note_call(function, checked, body, file)

    def note_argument(self, function: Body, parameter: AccessPath, given: Collection[Given], call: CallSite) -> None:
        """Adds what a call hands over for a parameter; see `Demand.note_argument`."""
        if self._waiting is not None:
            self._waiting.append(partial(self.note_argument, function, parameter, given, call))
            return
        self.demand.note_argument(function, parameter, given, call)

    def note_followed(self, function: Body, call: Followed, file: str) -> None:
        """Adds how a call was followed; see `Demand.note_followed`."""
        if self._waiting is not None:
            self._waiting.append(partial(self.note_followed, function, call, file))
            return
        self.demand.note_followed(function, call, file)

    def questions(self, file: str) -> set[Body]:
        """The functions whose callers decide the doubts about the facts of a file.

        With those of the functions in which conflicts of the file are told, or where they are met.
        """
        of_files = [self._doubts.get(one, {}) for one in {file, *self.called_files(file)}]
        found = [doubts for of_file in of_files for every in of_file.values() for doubts in every]
        return self.demand.questions(doubt for doubts in found for doubt in doubts)

    def _doubts_of(self, file: str, span: object, fact: Fact) -> list[tuple[Doubt, ...]]:
        """The doubts about a fact, one tuple for each time that the fact was recorded."""
        return self._doubts.get(file, {}).get((span, _subject(fact)), []) if isinstance(span, Span) else []

    def _is_refuted(self, file: str, span: object, fact: Fact) -> bool:
        """Whether a fact was doubted each time that it was recorded, and rightly so."""
        doubts = self._doubts_of(file, span, fact)
        return bool(doubts) and all(map(self._is_wrong, doubts))

    def _is_wrong(self, doubts: tuple[Doubt, ...]) -> bool:
        return any(self.demand.holds(doubt) for doubt in doubts if not isinstance(doubt, MERELY_POSSIBLE))

    def _with_certainty(self, file: str, span: object, fact: Fact) -> Fact:
        """A fact with what the calls of the function say about it.

        A conflict with an argument is merely possible if no call hands over a tensor on an accelerator.
        """
        if not isinstance(fact, Conflict) or not isinstance(span, Span):
            return fact
        doubts = self._doubts_of(file, span, fact)
        if doubts and all(map(self._is_only_possible, doubts)):
            return replace(fact, certainty=Certainty.POSSIBLE)
        call = self.demand.witness(chain.from_iterable(doubts))
        if call is None or call.place.file == file:
            return fact
        return replace(fact, witness=Step(call.place, "this call hands over a tensor on an accelerator"))

    def _is_only_possible(self, doubts: tuple[Doubt, ...]) -> bool:
        return any(self.demand.holds(doubt) for doubt in doubts if isinstance(doubt, MERELY_POSSIBLE))

    def called_files(self, file: str) -> set[str]:
        """The files of the functions inside which calls in a file have values apart, and of these values."""
        conflicts = [item.fact for item in self._facts.get(file, {}).values() if isinstance(item.fact, Conflict)]
        return set().union(*(_files_of(fact) for fact in conflicts if fact.via))

    def _is_told_elsewhere(self, item: Anchored) -> bool:
        """Whether a conflict inside a called function is reported there, where it can be mended.

        It is, too, where that function passes both values on: the call then stands there in which they meet. So it is
        at a call on the way that has shown it.
        """
        fact = item.fact
        if not isinstance(fact, Conflict) or not fact.via:
            return False
        inner, on_the_way = fact.via[-1].place, {step.place for step in fact.via[:-1]}

        def tells(file: str, span: object, other: Anchored) -> bool:
            if not isinstance(other.fact, Conflict) or self._is_refuted(file, span, other.fact):
                return False
            led = other.place in on_the_way and bool(other.fact.via) and other.fact.via[-1].place == inner
            if not (led or other.place == inner):
                return False
            return not _is_merely_possible(self._with_certainty(file, span, other.fact))

        found = (
            (file, span, other) for file in _files_of(fact) for (span, _), other in self._facts.get(file, {}).items()
        )
        return any(tells(*each) for each in found)

    def note(self, file: str, line: int, name: str, text: str) -> None:
        """Adds what is known of a name, for `devlint facts`."""
        if self._waiting is not None:
            self._waiting.append(partial(self.note, file, line, name, text))
            return
        self._environment.setdefault(file, []).append((line, name, text))

    def observe(self, file: str, seen: Occurrence) -> None:
        """Adds a value at its place; a place that is executed several times has whatever it had any time."""
        if self._waiting is not None:
            self._waiting.append(partial(self.observe, file, seen))
            return
        found = self._occurrences.setdefault(file, {})
        known = found.get(seen.anchor)
        if known is not None and known != seen:
            texts = dict.fromkeys((*known.text.split(" or "), seen.text))
            devices, trace = dict.fromkeys(known.devices + seen.devices), dict.fromkeys(known.trace + seen.trace)
            seen = replace(known, text=" or ".join(texts), devices=tuple(devices), trace=tuple(trace))
        found[seen.anchor] = seen

    def facts(self, file: str) -> FileFacts:
        """Everything about one file, in source order."""
        found = self._facts.get(file, {})
        own = [
            replace(item, fact=self._with_certainty(file, span, item.fact))
            for (span, _), item in found.items()
            if not self._is_told_elsewhere(item) and not self._is_refuted(file, span, item.fact)
        ]
        needed = with_need(sorted(_once(own), key=_in_order))
        told = sorted(map(_at_operation, needed), key=_in_order)
        seen = self._occurrences.get(file, {})
        return FileFacts(
            tuple(item for item in told if item.place.file == file),
            tuple(sorted(set(self._environment.get(file, [])))),
            tuple(seen[anchor] for anchor in sorted(seen)),
            tuple(item for item in told if item.place.file != file),
        )


def _in_order(item: Anchored) -> tuple[Place, str]:
    return item.place, type(item.fact).__name__


def _at_operation(item: Anchored) -> Anchored:
    """Return a conflict that arises inside a called function as one of the operation, with the names used there.

    If calls inside have handed over both values, it is one of the outermost of these.
    """
    fact = item.fact
    if not isinstance(fact, Conflict) or not fact.arises_inside or not fact.via:
        return item
    position = _wrong_step(fact)
    led = (Step(item.place, LEADS_THERE), *fact.via[:position])
    if position < len(fact.via) - 1:
        return Anchored(fact.via[position].place, replace(fact, via=fact.via[position + 1 :], led=led))
    first, second = _as_named_inside(fact.first), _as_named_inside(fact.second)
    return Anchored(fact.via[position].place, replace(fact, first=first, second=second, via=(), led=led))


def _wrong_step(conflict: Conflict) -> int:
    """Return the position in `via` of the operation, or of the call that hands over both values to it."""
    return max(len(conflict.via) - 1 - conflict.handing, 0)


def _as_named_inside(side: Meeting) -> Meeting:
    return side if side.inside is None else replace(side, name=side.inside.name, place=side.inside.place, inside=None)


def _subject(fact: Fact) -> object:
    """Return what tells the facts about one place apart: their class, and the operation inside of a call."""
    return (Conflict, fact.via[-1].place) if isinstance(fact, Conflict) and fact.via else type(fact)


def _once(facts: Sequence[Anchored]) -> list[Anchored]:
    """Keep of the conflicts inside called functions one for each cause, with the number of other calls.

    The cause is the function if the conflict arises inside, else the value on the CPU that calls hand over, or the
    call that hands over a module there. Of the tensors of a batch, each is a value. In one call, a value that is astray
    has one report, at the first operation; so have modules on the CPU that meet one value, since they are parts of the
    module that was left there.
    """
    found = [item for item in facts if not (isinstance(item.fact, Conflict) and item.fact.via)]
    through = [(item, item.fact) for item in facts if isinstance(item.fact, Conflict) and item.fact.via]
    calls: dict[object, list[tuple[Anchored, Conflict]]] = {}
    for item, fact in sorted(through, key=lambda pair: (pair[0].place, [_as_run(step.place) for step in pair[1].via])):
        calls.setdefault(_cause(fact, item.place), []).append((item, fact))
    told: set[object] = set()
    for (first, fact), *others in calls.values():
        subjects: set[object] = {(first.place, _astray(fact).trace)}
        if not fact.arises_inside:
            subjects.add(first.place)
        if fact.kind is ConflictKind.MODULE_INPUT and _astray(fact) is fact.first:
            subjects.add((first.place, fact.kind, fact.second.trace))
        if told.isdisjoint(subjects):
            more = sorted({item.place for item, _ in others} - {first.place})
            found.append(replace(first, fact=replace(fact, other_calls=tuple(more))))
        told |= subjects
    return found


def _as_run(place: Place) -> tuple[object, ...]:
    """Order operations as Python runs them: what ends first, and of those that end together the innermost."""
    return place.file, place.end_line, place.end_column, -place.line, -place.column


def _cause(conflict: Conflict, call: Place) -> object:
    inner = conflict.via[-1].place
    if conflict.arises_inside:
        return conflict.kind, conflict.via[_wrong_step(conflict)].place
    if conflict.kind is ConflictKind.MODULE_INPUT and conflict.first.device == CPU:
        return conflict.kind, inner, call
    astray = _astray(conflict)
    return conflict.kind, inner, astray.trace, astray.name if astray.kind is OriginKind.LOADER else ""


def _astray(conflict: Conflict) -> Meeting:
    """Return the value that is not where it has to be: the one on the CPU, unless the operation wants it there."""
    wanted_there = conflict.kind in (ConflictKind.HOST, ConflictKind.CPU_ARGUMENT)
    return conflict.second if conflict.second.device == CPU and not wanted_there else conflict.first


def _files_of(conflict: Conflict) -> set[str]:
    """Where a conflict inside a called function may be told."""
    return {conflict.via[-1].place.file, conflict.first.place.file}


def _is_merely_possible(fact: Fact) -> bool:
    """Whether a fact is a conflict that no call is known to show."""
    return isinstance(fact, Conflict) and fact.certainty is Certainty.POSSIBLE
