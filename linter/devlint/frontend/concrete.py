"""Runs rules over one file: the LibCST parse, its positions, and the proof that no fact was overlooked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import libcst as cst
from libcst.metadata import MetadataWrapper

from devlint.diagnostics import Diagnostic, Place
from devlint.errors import RuleError
from devlint.facts import Anchored, FileFacts
from devlint.frontend.flattening import Stretch
from devlint.frontend.pieces import Tree, Trees, room_for
from devlint.rule import OPERATIONS, OperationRule, Rule, Shared
from devlint.sources.program import Cell


def check(
    text: str,
    display: str,
    facts: FileFacts,
    rules: Sequence[type[Rule]],
    trees: Trees | None = None,
    cells: tuple[Cell, ...] = (),
) -> list[Diagnostic]:
    """Return what the rules report of one file, sorted; the file is parsed only if it concerns a rule.

    Code that is nested too deeply for LibCST is cut. Facts about the cut code are reported all the same. Such a file
    gets no fix, because a fix would take the text in place of the cut for code.

    Args:
        text: the file's text, without a byte order mark.
        display: its path, as in the facts' places.
        facts: what the analysis found in it.
        rules: the enabled rules.
        trees: keeps what LibCST parses for the next text of the file.
        cells: of a notebook.

    Raises:
        RuleError: LibCST cannot read the text, a rule raised an error, or a wanted fact belongs to no node that
            its rule visits: a fact never vanishes without a word.
    """
    busy = [_made(rule, display) for rule in rules if rule.declaration().concerns(text, facts)]
    if not busy:
        return []
    wanted = tuple({kind for rule in busy for kind in rule.wants})
    facts = FileFacts(tuple(anchored for anchored in facts.facts if isinstance(anchored.fact, wanted)))
    tree = _tree(text, display, trees or Trees())
    try:
        _visit(tree, display, facts, busy, cells)
    except Exception as error:
        failure = _failure_of_a_rule(error, display, busy)
        if failure is None:
            raise
        raise failure from error
    for rule in busy:
        for anchored in rule.unasked(facts):
            if not tree.is_cut:
                raise _overlooked(rule, anchored)
    found = [replace(found, fix=None) if tree.is_cut else found for rule in busy for found in rule.diagnostics]
    return sorted(found, key=lambda each: each.sort_key)


def _tree(text: str, display: str, trees: Trees) -> Tree:
    """Return the nodes of a file.

    Raises:
        RuleError: it is not Python, or LibCST cannot read it.
    """
    try:
        return trees.of(text, display)
    except cst.ParserSyntaxError as error:
        reason = f"LibCST cannot parse this file: {error.message}"
        raise RuleError(reason, path=display, line=error.raw_line) from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RuleError(f"Python cannot parse this file: {error}", path=display) from error


def _visit(tree: Tree, display: str, facts: FileFacts, rules: list[Rule], cells: tuple[Cell, ...]) -> None:
    """Let the rules visit a file.

    Raises:
        RuleError: the code is nested too deeply for LibCST.
    """
    with room_for(tree.depth):
        try:
            by_node = _by_node(facts, tree)
            shared = Shared(tree, by_node | _by_stand_in(facts, by_node) if tree.is_cut else by_node, cells)
            for rule in rules:
                rule.shared = shared
            _hand_over([rule for rule in rules if isinstance(rule, OperationRule)], shared)
            visitors = [rule for rule in rules if not isinstance(rule, OperationRule)]
            if visitors:
                _Wrapper(tree.module, True).visit_batched(visitors)
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


def _by_node(facts: FileFacts, tree: Tree) -> dict[cst.CSTNode, tuple[Anchored, ...]]:
    """The facts of each node that has some, outer nodes before inner ones.

    Analysis and LibCST agree on the stretches of all nodes (brackets around an expression are no part of it)
    but two: the brackets of a tuple or generator belong to it for Python's `ast`, and not for LibCST.
    """
    by_stretch = _by_stretch(facts)
    found: list[tuple[Stretch, cst.CSTNode]] = []
    for number in sorted({tree.number_at(line) for line, *_ in by_stretch}):
        for node, stretch in tree.nodes_of(number):
            if stretch not in by_stretch and isinstance(node, (cst.Tuple, cst.GeneratorExp)) and node.lpar:
                stretch = (*tree.stretch(node.lpar[-1])[:2], *tree.stretch(node.rpar[0])[2:])
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


def _by_stretch(facts: FileFacts) -> dict[Stretch, tuple[Anchored, ...]]:
    found: dict[Stretch, tuple[Anchored, ...]] = {}
    for anchored in facts.facts:
        place = anchored.place
        stretch = (place.line, place.column - 1, place.end_line, place.end_column - 1)
        found[stretch] = found.get(stretch, ()) + (anchored,)
    return found


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
            line = None if node is None or rule.shared.tree is None else rule.shared.tree.line_of(node)
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
