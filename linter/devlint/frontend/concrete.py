"""Runs rules over one file: the LibCST parse, its positions, and the proof that no fact was overlooked."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from devlint.diagnostics import Diagnostic, Place
from devlint.errors import RuleError
from devlint.facts import Anchored, FileFacts
from devlint.frontend.flattening import Flat, Stretch, flatten
from devlint.rule import OPERATIONS, OperationRule, Rule, Shared

_FRAMES_PER_LEVEL = 12
"""At most so many Python frames does LibCST need for one level of nesting (measured: 10)."""


def check(text: str, display: str, facts: FileFacts, rules: Sequence[type[Rule]]) -> list[Diagnostic]:
    """Return what the rules report of one file, sorted; the file is parsed only if it concerns a rule.

    Code that is nested too deeply for LibCST is cut. Facts about the cut code are reported all the same. Such a file
    gets no fix, because a fix would take the text in place of the cut for code.

    Args:
        text: the file's text, without a byte order mark.
        display: its path, as in the facts' places.
        facts: what the analysis found in it.
        rules: the enabled rules.

    Raises:
        RuleError: LibCST cannot read the text, a rule raised an error, or a wanted fact belongs to no node that
            its rule visits: a fact never vanishes without a word.
    """
    busy = [_made(rule, display) for rule in rules if rule.declaration().concerns(text, facts)]
    if not busy:
        return []
    wanted = tuple({kind for rule in busy for kind in rule.wants})
    facts = FileFacts(tuple(anchored for anchored in facts.facts if isinstance(anchored.fact, wanted)))
    try:
        flat = _flat(text, display)
        _visit(flat, display, facts, busy)
    except Exception as error:
        failure = _failure_of_a_rule(error, display, busy)
        if failure is None:
            raise
        raise failure from error
    for rule in busy:
        for anchored in rule.unasked(facts):
            if not flat.cut:
                raise _overlooked(rule, anchored)
    found = [found if not flat.cut else replace(found, fix=None) for rule in busy for found in rule.diagnostics]
    return sorted(found, key=lambda each: each.sort_key)


def _flat(text: str, display: str) -> Flat:
    """Return the text without the code that is nested too deeply.

    Raises:
        RuleError: it is not Python.
    """
    try:
        return flatten(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RuleError(f"Python cannot parse this file: {error}", path=display) from error


def _visit(flat: Flat, display: str, facts: FileFacts, rules: list[Rule]) -> None:
    """Parse the text and lets the rules visit it.

    Raises:
        RuleError: LibCST cannot read it.
    """
    plain, shifts = _without_leading_form_feeds(flat.text)
    with _room_for(flat.depth):
        try:
            module = cst.parse_module(plain)
            wrapper = _Wrapper(module, True)
            positions = wrapper.resolve(PositionProvider)
            by_node = _by_node(facts, positions, shifts)
            shared = Shared(shifts, module, positions, by_node | _by_stand_in(facts, by_node) if flat.cut else by_node)
            for rule in rules:
                rule.shared = shared
            _hand_over([rule for rule in rules if isinstance(rule, OperationRule)], shared)
            visitors = [rule for rule in rules if not isinstance(rule, OperationRule)]
            if visitors:
                wrapper.visit_batched(visitors)
        except cst.ParserSyntaxError as error:
            reason = f"LibCST cannot parse this file: {error.message}"
            raise RuleError(reason, path=display, line=error.raw_line) from error
        except RecursionError as error:
            raise RuleError("the code is nested too deeply for LibCST", path=display) from error


class _Wrapper(MetadataWrapper):
    """LibCST visits a module for positions, and once more for metadata that share a visit: there are none here."""

    def visit_batched(
        self,
        visitors: Iterable[cst.BatchableCSTVisitor],
        before_visit: Callable[[cst.CSTNode], None] | None = None,
        after_leave: Callable[[cst.CSTNode], None] | None = None,
    ) -> cst.CSTNode:
        """Visits the module with all of them; without any, it does not."""
        found = list(visitors)
        return super().visit_batched(found, before_visit, after_leave) if found else self.module


def _hand_over(rules: Sequence[OperationRule], shared: Shared) -> None:
    """Shows the operations with facts to the rules that ask for no other nodes."""
    for node in shared.facts:
        if isinstance(node, OPERATIONS):
            for rule in rules:
                rule.operation(node)


def _by_node(
    facts: FileFacts, positions: Mapping[cst.CSTNode, CodeRange], shifts: Mapping[int, int]
) -> dict[cst.CSTNode, tuple[Anchored, ...]]:
    """The facts of each node that has some, outer nodes before inner ones.

    Analysis and LibCST agree on the stretches of all nodes (brackets around an expression are no part of it)
    but two: the brackets of a tuple or generator belong to it for Python's `ast`, and not for LibCST.
    """
    by_stretch = _by_stretch(facts, shifts)
    found: list[tuple[Stretch, cst.CSTNode]] = []
    # LibCST notes where a node is when it leaves it: of two with one stretch, the outer one is the later.
    for node, position in reversed([*positions.items()]):
        stretch = _stretch(position, position)
        if stretch not in by_stretch and isinstance(node, (cst.Tuple, cst.GeneratorExp)) and node.lpar:
            stretch = _stretch(positions[node.lpar[-1]], positions[node.rpar[0]])
        if stretch in by_stretch:
            found.append((stretch, node))
    found.sort(key=lambda each: (each[0][:2], [-end for end in each[0][2:]]))
    return {node: by_stretch[stretch] for stretch, node in found}


def _by_stand_in(
    facts: FileFacts, by_node: Mapping[cst.CSTNode, tuple[Anchored, ...]]
) -> dict[cst.CSTNode, tuple[Anchored, ...]]:
    """Return the facts of nodes that were cut, each stretch with a node that stands for the one that was there."""
    known = {id(anchored) for group in by_node.values() for anchored in group}
    lost: dict[Place, tuple[Anchored, ...]] = {}
    for anchored in facts.facts:
        if id(anchored) not in known:
            lost[anchored.place] = lost.get(anchored.place, ()) + (anchored,)
    return {cst.Name("_"): group for group in lost.values()}


def _stretch(first: CodeRange, last: CodeRange) -> Stretch:
    return (first.start.line, first.start.column, last.end.line, last.end.column)


def _by_stretch(facts: FileFacts, shifts: Mapping[int, int]) -> dict[Stretch, tuple[Anchored, ...]]:
    found: dict[Stretch, tuple[Anchored, ...]] = {}
    for anchored in facts.facts:
        place = anchored.place
        column = place.column - 1 - shifts.get(place.line, 0)
        end_column = place.end_column - 1 - shifts.get(place.end_line, 0)
        stretch = (place.line, column, place.end_line, end_column)
        found[stretch] = found.get(stretch, ()) + (anchored,)
    return found


def _without_leading_form_feeds(text: str) -> tuple[str, dict[int, int]]:
    """The text without the form feeds that begin its lines, and how many each line lost.

    Python ignores them; LibCST drops them without counting their columns.
    """
    if "\f" not in text:
        return text, {}
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
    plain = [line.lstrip("\f") for line in lines]
    shifts = {
        number: len(line) - len(left)
        for number, (line, left) in enumerate(zip(lines, plain, strict=True), start=1)
        if len(line) > len(left)
    }
    return "".join(plain), shifts


@contextlib.contextmanager
def _room_for(depth: int) -> Iterator[None]:
    """Lets LibCST's visitors, which are recursive Python functions, go that deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + _FRAMES_PER_LEVEL * depth)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _made(rule: type[Rule], display: str) -> Rule:
    """Return a rule's checker of a file.

    Raises:
        RuleError: its `__init__` raised an error.
    """
    try:
        return rule(display)
    except Exception as error:
        raise RuleError(_raised(rule, error), path=display) from error


def _failure_of_a_rule(error: Exception, display: str, rules: Sequence[Rule]) -> RuleError | None:
    """Return the error of the rule whose code raised, at the node that it was looking at; None if no rule's did."""
    trace = error.__traceback__
    while trace is not None:
        names = trace.tb_frame.f_locals
        rule = next((rule for rule in rules if names.get("self") is rule), None)
        if rule is not None:
            node = next((value for value in names.values() if isinstance(value, cst.CSTNode)), None)
            position = None if node is None else rule.shared.positions.get(node)
            line = None if position is None else position.start.line
            return RuleError(_raised(type(rule), error), path=display, line=line)
        trace = trace.tb_next
    return None


def _raised(rule: type[Rule], error: Exception) -> str:
    return f"rule {rule.name} ({rule.code}) raised {type(error).__name__}: {error}"


def _overlooked(rule: Rule, anchored: Anchored) -> RuleError:
    place = anchored.place
    where = f"columns {place.column} to {place.end_column}"
    if place.end_line != place.line:
        where = f"column {place.column} to line {place.end_line}, column {place.end_column}"
    fact = type(anchored.fact).__name__
    reason = f"rule {rule.name} was not shown the fact {fact} at {where}: no node that it visits is there"
    return RuleError(reason, path=place.file, line=place.line)
