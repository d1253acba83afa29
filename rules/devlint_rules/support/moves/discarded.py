"""A move whose result is thrown away, as the cause of a conflict: the statement that should have kept it."""

from __future__ import annotations

import libcst as cst
from devlint.facts import Meeting, OriginKind

from devlint_rules.support.messages import quoted
from devlint_rules.support.moves.bindings import carrier, sources
from devlint_rules.support.site import Remedy, Site


def keep_the_result(stray: Meeting, site: Site) -> Remedy | None:
    """Return the fix of `discarded-move` for a tensor that an earlier statement was to move, or None.

    The tensor may be the one that the value is computed from.
    """
    node = site.syntax.value_at(stray.place)
    if node is None or stray.kind in (OriginKind.MODULE, OriginKind.OBJECT):
        return None
    names = {one.name for one in sources(node, stray.trace[-1].place, site.syntax, site.surroundings)}
    names.add(carrier(node) or "")
    movable = {name for name in names if site.rebinds(name, stray.place)}
    for statement in site.syntax.within(site.syntax.module, cst.Expr):
        match statement.value:
            case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="to" | "cuda"))):
                place = site.syntax.place_of(statement)
                if name in movable and place < stray.place and site.surroundings.together(place, stray.place):
                    kept = f"{name} = "
                    move = site.syntax.code(statement.value)
                    what = f"line {place.line} throws the result of {quoted(move)} away: keep it, {quoted(kept + move)}"
                    edits = (site.syntax.before(statement, kept),)
                    return Remedy(
                        what,
                        edits,
                        site.safety_of_rebinding(name, place),
                        site.surroundings.qualified(name, stray.place),
                    )
    return None
