"""The statement that moves a name: behind the binding that its value comes from, or before the operation."""

from __future__ import annotations

import builtins

import libcst as cst
from devlint.diagnostics import Edit, Place, Safety
from devlint.facts import Meeting, OriginKind

from devlint_rules.support.messages import quoted
from devlint_rules.support.moves.bindings import Binding, reads_between, sources
from devlint_rules.support.moves.device_text import HARMLESS, is_written_out, root_of
from devlint_rules.support.program_device import devices_in_reach
from devlint_rules.support.scopes import inside, names_in, stands_for_a_value
from devlint_rules.support.site import Remedy, Site

_BRANCHES = (cst.If, cst.For, cst.While, cst.Try, cst.TryStar, cst.Match)
"""Statements that hold others which are not always executed."""


def move_at_source(stray: Meeting, target: str | None, settled: Meeting, site: Site) -> Remedy | None:
    """Return the move of the local name that a value is computed from; None for a value without one.

    All uses of the name then have the same cause, and one fix. If the name itself is used in the block that binds it,
    the move stands before the operation, see `statement`.
    """
    node = site.node(stray)
    if node is None:
        return None
    found = list(sources(node, stray.trace[-1].place, site.syntax, site.surroundings))
    if not found:
        return None
    nearest = found[0]
    first = node if target is None else _before_loops(node, nearest.name, target, site)
    branch = _branch(first, nearest, site)
    if nearest.name == stray.name and branch is None and not _is_used_earlier(nearest, site):
        return None
    for binding in reversed(found):
        at = _start(site.syntax.place_of(binding.following))
        device = _device_at(at, target, settled, site)
        is_given = device is None and _is_used_earlier(binding, site)
        if is_given:  # that call needs the move as well
            reach = devices_in_reach(at, site.syntax, site.surroundings)
            device = reach[0] if len(reach) == 1 else None
        if device is not None and site.rebinds(binding.name):
            return _behind(binding, device, stray, site)
        if is_given:
            return Remedy(f"move {quoted(binding.name)} on the line that assigns it")
    if branch is not None and _is_read_behind(nearest.name, branch, site):
        return Remedy(f"move {quoted(nearest.name)} on the line that assigns it")
    if nearest.name == stray.name or target is None or not site.rebinds(nearest.name):
        return None
    text = f"{nearest.name} = {nearest.name}.to({target})"
    edits = statement(text, nearest.name, target, node, site)
    return Remedy(
        f"move {quoted(nearest.name)} before it is used: {quoted(text)}",
        edits,
        Safety.UNSAFE,
        site.subject(nearest.name),
    )


def is_computed_from_several(stray: Meeting, site: Site) -> bool:
    """Whether a local name holds what was computed from several names, of which an earlier statement created one.

    The others may be on the device already: then what computes it fails first, and a later move comes too late.
    """
    node, birth = site.node(stray), stray.trace[-1].place
    if node is None or stray.kind is not OriginKind.CREATED or not site.surroundings.together(birth, site.place):
        return False
    nearest = next(sources(node, birth, site.syntax, site.surroundings), None)
    if nearest is None or nearest.value is None:
        return False
    where = site.syntax.place(nearest.value)
    names = {
        name.value
        for name in site.syntax.within(nearest.value, cst.Name)
        if stands_for_a_value(name, next(site.syntax.parents(name))) and site.surroundings.binds(name.value, where)
    }
    before = (birth.line, birth.column) < (where.line, where.column)
    return before and not inside(birth, where) and len(names - {stray.name}) > 1


def _device_at(at: Place, target: str | None, settled: Meeting, site: Site) -> str | None:
    """Source text for the device of a value at an earlier place: the name that the program gave it, or its own."""
    chosen = site.device(settled, at)
    if target is None or is_written_out(target) or not site.means_the_same(target, at):
        return chosen
    return target if chosen is None or is_written_out(chosen) else chosen


def _behind(binding: Binding, device: str, stray: Meeting, site: Site) -> Remedy:
    text = f"{binding.name} = {binding.name}.to({device})"
    edit = Edit(
        _start(site.syntax.place_of(binding.following)), f"{text}\n{site.syntax.indentation(binding.following)}"
    )
    reads = reads_between(binding, site.place, site.syntax)
    safe = stray.name == binding.name and all(_is_harmless(read, site) for read in reads)
    advice = f"move {quoted(binding.name)} after it gets its value: {quoted(text)}"
    return Remedy(advice, (edit,), Safety.SAFE if safe else Safety.UNSAFE, site.subject(binding.name))


def _is_harmless(read: cst.Name, site: Site) -> bool:
    parent = next(site.syntax.parents(read))
    return isinstance(parent, cst.Attribute) and parent.attr.value in HARMLESS


def _branch(node: cst.BaseExpression, binding: Binding, site: Site) -> cst.CSTNode | None:
    """Return the outermost test or loop between a binding and an expression: code outside may need the move too."""
    (block, *_) = site.syntax.parents(binding.following)
    found: cst.CSTNode | None = None
    inner: cst.CSTNode = node
    for parent in site.syntax.parents(node):
        if parent is block:
            break
        comes_first = (isinstance(parent, cst.For) and inner is parent.iter) or (
            isinstance(parent, cst.If) and inner is parent.test
        )
        if isinstance(parent, _BRANCHES) and not comes_first:
            found = parent
        inner = parent
    return found


def _is_used_earlier(binding: Binding, site: Site) -> bool:
    """Whether a call before the operation is given the value as well, so that it may need the move too."""
    for read in reads_between(binding, site.place, site.syntax):
        argument, call, *_ = [*site.syntax.parents(read), None]
        if isinstance(argument, cst.Arg) and isinstance(call, cst.Call):
            name = call.func.value if isinstance(call.func, cst.Name) else ""
            if not hasattr(builtins, name):
                return True
    return False


def _is_read_behind(name: str, branch: cst.CSTNode, site: Site) -> bool:
    """Whether the scope reads a name behind a statement, with the value that it has there."""
    end = site.syntax.place_of(branch)
    for read in site.syntax.names(name):
        place = site.syntax.place_of(read)
        behind = (place.line, place.column) >= (end.end_line, end.end_column) and site.surroundings.together(place, end)
        if behind and not site.syntax.is_target(read) and stands_for_a_value(read, next(site.syntax.parents(read))):
            return True
    return False


def _start(place: Place) -> Place:
    return Place(place.file, place.line, place.column, place.line, place.column)


def statement(text: str, name: str, target: str, node: cst.BaseExpression | None, site: Site) -> tuple[Edit, ...]:
    """A statement before the operation, or before the loops that change nothing of it.

    Nothing if a name in it is unknown there.
    """
    if node is not None:
        node = _before_loops(node, name, target, site)
    edit = None if node is None else site.syntax.statement_before(node, text)
    if edit is None or not all(site.surroundings.knows(one, edit.place) for one in (name, target)):
        return ()
    return (edit,)


def _before_loops(node: cst.BaseExpression, name: str, target: str, site: Site) -> cst.BaseExpression:
    """The node, or what the outermost loop around it iterates over that gives no value to a name of the statement."""
    roots = {root_of(name), *names_in(target)}
    for parent in site.syntax.parents(node):
        if isinstance(parent, (cst.FunctionDef, cst.Lambda, cst.While)):
            break
        if isinstance(parent, cst.For):
            stretch = site.syntax.place_of(parent)
            if any(site.surroundings.binds_within(root, stretch) for root in roots):
                break
            node = parent.iter
    return node
