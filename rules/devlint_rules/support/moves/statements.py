"""The statement that moves a name: behind the binding that its value comes from, or before the operation."""

from __future__ import annotations

import builtins

import libcst as cst
from devlint.diagnostics import Edit, Place, Safety
from devlint.facts import Meeting, OriginKind
from devlint.fixes.names import stands_for_a_value
from devlint.fixes.placing import statement_before

from devlint_rules.support.messages import quoted
from devlint_rules.support.moves.bindings import (
    Binding,
    begin_of_value,
    branch_around,
    carrier,
    is_read_behind,
    reads_between,
    sources,
)
from devlint_rules.support.moves.device_text import HARMLESS, is_written_out, root_of
from devlint_rules.support.program_device import devices_in_reach
from devlint_rules.support.scopes import names_in
from devlint_rules.support.site import Remedy, Site


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
    birth = stray.trace[-1].place
    first = node if target is None else _before_loops(node, nearest.name, target, birth, site)
    branch = branch_around(first, nearest, site.syntax)
    if (
        nearest.name == stray.name
        and branch is None
        and not _is_given_away(nearest.name, _following(nearest, site), site)
    ):
        return None
    for binding in reversed(found):
        at = site.syntax.before(binding.following, "").place
        device = _device_at(at, target, settled, site)
        is_given = device is None and _is_given_away(binding.name, _following(binding, site), site)
        if is_given:  # that call needs the move as well
            reach = devices_in_reach(at, site.syntax, site.surroundings)
            device = reach[0] if len(reach) == 1 else None
        if device is not None and site.rebinds(binding.name):
            return _behind(binding, device, stray, site)
        if is_given:
            return Remedy(f"move {quoted(binding.name)} on the line that assigns it")
    if branch is not None and is_read_behind(nearest.name, branch, site.syntax, site.surroundings):
        return Remedy(f"move {quoted(nearest.name)} on the line that assigns it")
    if nearest.name == stray.name or target is None or not site.rebinds(nearest.name):
        return None
    text = f"{nearest.name} = {nearest.name}.to({target})"
    edits = statement(text, nearest.name, target, node, site, birth)
    what = f"move {quoted(nearest.name)} before it is used: {quoted(text)}"
    return Remedy(what, edits, Safety.UNSAFE, site.subject(nearest.name))


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
        if stands_for_a_value(name, site.syntax) and site.surroundings.binds(name.value, where)
    }
    before = birth.start < where.start
    return before and not where.holds(birth) and len(names - {stray.name}) > 1


def _device_at(at: Place, target: str | None, settled: Meeting, site: Site) -> str | None:
    """Source text for the device of a value at an earlier place: the name that the program gave it, or its own."""
    chosen = site.device(settled, at)
    if target is None or is_written_out(target) or not site.means_the_same(target, at):
        return chosen
    return target if chosen is None or is_written_out(chosen) else chosen


def _behind(binding: Binding, device: str, stray: Meeting, site: Site) -> Remedy:
    text = f"{binding.name} = {binding.name}.to({device})"
    edit = site.syntax.before(binding.following, f"{text}\n{site.syntax.indentation(binding.following)}")
    reads = reads_between(binding.name, _following(binding, site), site.place, site.syntax)
    alone = site.safety_of_rebinding(binding.name, _following(binding, site)) is Safety.SAFE
    safe = alone and stray.name == binding.name and all(_is_harmless(read, site) for read in reads)
    advice = f"move {quoted(binding.name)} after it gets its value: {quoted(text)}"
    return Remedy(advice, (edit,), Safety.SAFE if safe else Safety.UNSAFE, site.subject(binding.name))


def _is_harmless(read: cst.Name, site: Site) -> bool:
    parent = next(site.syntax.parents(read))
    return isinstance(parent, cst.Attribute) and parent.attr.value in HARMLESS


def is_used_earlier(value: cst.BaseExpression, birth: Place, site: Site) -> bool:
    """Whether a call before the operation is given the name that a value is computed from, whatever statement binds it.

    That call may need the move too, and then fails first. Calls before the value's `birth` are given another one.
    """
    name = carrier(value)
    if name is None:
        return False
    begin = begin_of_value(name, value, site.syntax, site.surroundings)
    if site.surroundings.together(birth, site.place):
        begin = max(begin, Place(birth.file, *birth.end, *birth.end))
    return _is_given_away(name, begin, site)


def _is_given_away(name: str, begin: Place, site: Site) -> bool:
    """Whether a call between a place and the operation is given a name, so that it may need the move too."""
    for read in reads_between(name, begin, site.place, site.syntax):
        argument, call, *_ = [*site.syntax.parents(read), None]
        if isinstance(argument, cst.Arg) and isinstance(call, cst.Call):
            called = call.func.value if isinstance(call.func, cst.Name) else ""
            if not hasattr(builtins, called):
                return True
    return False


def _following(binding: Binding, site: Site) -> Place:
    return site.syntax.place_of(binding.following)


def statement(
    text: str, name: str, target: str, node: cst.BaseExpression | None, site: Site, birth: Place | None = None
) -> tuple[Edit, ...]:
    """A statement before the operation, or before the loops that change nothing of it.

    Nothing if a name in it is unknown there. The loops may compute the name anew if it was made before them, at
    `birth`, since only their first turn finds it where it was made.
    """
    if node is not None:
        node = _before_loops(node, name, target, birth, site)
    edit = None if node is None else statement_before(node, text, site.syntax)
    if edit is None or not all(site.surroundings.knows(one, edit.place) for one in (name, target)):
        return ()
    return (edit,)


def _before_loops(
    node: cst.BaseExpression, name: str, target: str, birth: Place | None, site: Site
) -> cst.BaseExpression:
    """The node, or what the outermost loop around it iterates over that leaves the names of the statement alone."""
    root, others = root_of(name), names_in(target)
    for parent in site.syntax.parents(node):
        if isinstance(parent, (cst.FunctionDef, cst.Lambda, cst.While)):
            break
        if isinstance(parent, cst.For):
            stretch = site.syntax.place_of(parent)
            if any(site.surroundings.binds_within(other, stretch) for other in others):
                break
            is_older = birth is not None and not stretch.holds(birth) and site.surroundings.together(birth, stretch)
            if site.surroundings.binds_within(root, stretch) and not (is_older and name == root):
                break
            node = parent.iter
    return node
