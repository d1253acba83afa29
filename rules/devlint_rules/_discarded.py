"""A move whose result is thrown away, as the cause of a conflict: the statement that should have kept it."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Safety
from devlint.facts import Meeting, OriginKind

from devlint_rules._device_text import root_of
from devlint_rules._site import Remedy, Site
from devlint_rules._wording import quoted


def keep_the_result(stray: Meeting, site: Site) -> Remedy | None:
    """Return the fix of `discarded-move` for a tensor that a statement before the operation was to move, or None."""
    root = root_of(stray.name)
    if stray.kind in (OriginKind.MODULE, OriginKind.OBJECT) or not root.isidentifier() or not site.rebinds(root):
        return None
    for statement in site.syntax.within(site.syntax.module, cst.Expr):
        match statement.value:
            case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="to" | "cuda"))):
                place = site.syntax.place_of(statement)
                if name == root and place < site.place and site.surroundings.together(place, site.place):
                    kept = f"{root} = "
                    what = f"keep the result in line {place.line}: {quoted(kept + site.syntax.code(statement.value))}"
                    return Remedy(what, (site.syntax.before(statement, kept),), Safety.SAFE, site.subject(root))
    return None
