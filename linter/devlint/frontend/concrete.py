"""Runs rules over one file: the LibCST parse, its positions, and the proof that no fact was overlooked."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence

import libcst as cst
from libcst.metadata import MetadataWrapper

from devlint.diagnostics import Diagnostic
from devlint.errors import RuleError
from devlint.facts import Anchored, FileFacts
from devlint.rule import FactsProvider, Rule, Shared, Stretch

MAX_DEPTH = 400
"""The deepest nesting of expressions and statements that is given to LibCST.

Its parser is native code and recursive: it ends the process on a few thousand levels (libcst 1.9). Python's
own parser refuses 200 nested brackets, but neither long chains of operators nor long chains of `elif`.
"""

_FRAMES_PER_LEVEL = 12
"""At most so many Python frames does LibCST need for one level of nesting (measured: 10)."""


def check(text: str, display: str, facts: FileFacts, rules: Sequence[type[Rule]]) -> list[Diagnostic]:
    """What the rules report of one file, sorted; the file is parsed only if it concerns a rule.

    Args:
        text: the file's text, without a byte order mark.
        display: its path, as in the facts' places.
        facts: what the analysis found in it.
        rules: the enabled rules.

    Raises:
        RuleError: LibCST cannot read the text, or a wanted fact belongs to no node that its rule visits: a
            fact never vanishes without a word.
    """
    busy = [rule(display) for rule in rules if rule.declaration().concerns(text, facts)]
    if not busy:
        return []
    wanted = tuple({kind for rule in busy for kind in rule.wants})
    facts = FileFacts(tuple(anchored for anchored in facts.facts if isinstance(anchored.fact, wanted)))
    _visit(text, display, facts, busy)
    for rule in busy:
        for anchored in rule.unasked(facts):
            raise _overlooked(rule, anchored)
    return sorted((found for rule in busy for found in rule.diagnostics), key=lambda found: found.sort_key)


def _visit(text: str, display: str, facts: FileFacts, rules: list[Rule]) -> None:
    """Parses the text and lets the rules visit it.

    Raises:
        RuleError: LibCST cannot read it.
    """
    plain, shifts = _without_leading_form_feeds(text)
    shared = Shared(shifts)
    for rule in rules:
        rule.shared = shared
    with _room_for(_depth(text, display)):
        try:
            module = cst.parse_module(plain)
            wrapper = MetadataWrapper(module, True, {FactsProvider: _by_stretch(facts, shifts)})
            wrapper.visit_batched(rules)
        except cst.ParserSyntaxError as error:
            reason = f"LibCST cannot parse this file: {error.message}"
            raise RuleError(reason, path=display, line=error.raw_line) from error
        except RecursionError as error:
            raise RuleError("the code is nested too deeply for LibCST", path=display) from error


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


def _depth(text: str, display: str) -> int:
    """How deeply the code is nested.

    Raises:
        RuleError: deeper than `MAX_DEPTH`, or not Python.
    """
    try:
        level: list[ast.AST] = [ast.parse(text)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RuleError(f"Python cannot parse this file: {error}", path=display) from error
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            line = getattr(level[0], "lineno", None)
            raise RuleError(f"the code is nested more than {MAX_DEPTH} levels deep", path=display, line=line)
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


@contextlib.contextmanager
def _room_for(depth: int) -> Iterator[None]:
    """Lets LibCST's visitors, which are recursive Python functions, go that deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + _FRAMES_PER_LEVEL * depth)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _overlooked(rule: Rule, anchored: Anchored) -> RuleError:
    place = anchored.place
    where = f"columns {place.column} to {place.end_column}"
    if place.end_line != place.line:
        where = f"column {place.column} to line {place.end_line}, column {place.end_column}"
    fact = type(anchored.fact).__name__
    reason = f"rule {rule.name} was not shown the fact {fact} at {where}: no node that it visits is there"
    return RuleError(reason, path=place.file, line=place.line)
