"""The move of a module whose parameters are not where its input is: where it is made, or before the operation."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Edit, Safety
from devlint.facts import Meeting

from devlint_rules.support.class_usage import derives_from_module
from devlint_rules.support.messages import quoted
from devlint_rules.support.moves.bindings import binding_before, reads_between
from devlint_rules.support.moves.creation import move_module_where_made
from devlint_rules.support.moves.device_text import is_addressable, root_of
from devlint_rules.support.moves.statements import statement
from devlint_rules.support.site import Remedy, Site


def move_module(stray: Meeting, target: str | None, goal: str, settled: Meeting, site: Site) -> Remedy:
    """Return the move of a module that is called where its parameters are not.

    Args:
        stray: the module.
        target: source text for the device of its input, if there is one.
        goal: that device in words.
        settled: the input.
        site: the call.
    """
    made = move_module_where_made(stray, settled, site) if is_addressable(stray.name) else None
    if made is not None and target is not None:
        return made
    if not site.sees(stray):
        file = "" if stray.place.file == site.place.file else f" of {stray.place.file}"
        return Remedy(f"on line {stray.place.line}{file}, move the module {quoted(stray.name)} to {goal}")
    if _is_kept_by_a_module(stray, site):
        owner, bracket, _ = stray.name.partition("[")
        kept = f"make {quoted(owner)} an `nn.ModuleList` or `nn.ModuleDict`, so that its elements move with the module"
        return Remedy(kept if bracket else f"move the module {quoted(owner)} to {goal}")
    if target is None or not is_addressable(stray.name):
        return Remedy(f"move the module {quoted(stray.name)} to {goal}")
    call = f"{stray.name}.to({target})"
    node = site.node(stray)
    edits = () if node is None else statement(call, stray.name, target, node, site)
    edits = edits if node is not None and _is_first_use(stray.name, node, edits, site) else ()
    return Remedy(f"move the module before it is used: `{call}`", edits, Safety.UNSAFE, site.subject(stray.name))


def _is_kept_by_a_module(stray: Meeting, site: Site) -> bool:
    """Whether an attribute of a module, or an element of one, is left behind where that module is used."""
    cls = site.syntax.class_at(site.place)
    return root_of(stray.name) == "self" and cls is not None and derives_from_module(site.syntax, cls)


def _is_first_use(name: str, node: cst.BaseExpression, edits: tuple[Edit, ...], site: Site) -> bool:
    """Whether a statement would move a module once, and before anything else has its parameters."""
    root = root_of(name)
    if site.surroundings.is_global(root) and not site.surroundings.binds(root, site.place):
        return False
    if any(_is_repeated(edit, node, site) for edit in edits):
        return False
    binding = binding_before(root, node, site.syntax, site.surroundings)
    if binding is None:
        return True
    return not reads_between(root, site.syntax.place_of(binding.following), site.place, site.syntax)


def _is_repeated(edit: Edit, node: cst.BaseExpression, site: Site) -> bool:
    """Whether an edit stands in a loop around a node."""
    for parent in site.syntax.parents(node):
        if isinstance(parent, (cst.FunctionDef, cst.Lambda)):
            return False
        loop = site.syntax.place_of(parent) if isinstance(parent, (cst.For, cst.While)) else None
        if loop is not None and loop.start < edit.place.start:
            return True
    return False


def move_owner(stray: Meeting, target: str | None, goal: str) -> str:
    """Return the advice for a parameter or buffer of a module that is left behind."""
    owner = stray.name.rpartition(".")[0]
    if target is None or not owner or not is_addressable(stray.name):
        return f"move the module that {quoted(stray.name)} comes from to {goal}"
    return f"move the module that owns {quoted(stray.name)}: `{owner}.to({target})`"
