"""The part that the rules about two values on two devices share: they differ in which conflicts they take."""

from __future__ import annotations

from typing import ClassVar

import libcst as cst
from devlint.diagnostics import Certainty
from devlint.facts import Conflict, ConflictKind

from devlint_rules.support.messages import (
    as_named_inside,
    at_the_call,
    both_stories,
    calls,
    labels,
    on_two_devices,
    where_it_raises,
)
from devlint_rules.support.moves.choose import bring_together
from devlint_rules.support.scopes import SurroundedRule
from devlint_rules.support.site import Site


class ConflictRule(SurroundedRule):
    """Base of the rules that report every conflict of one `kind`, at the operation that raises.

    If the operation is inside a called function of the same file, the call is a note of the report. The remedy is
    sought at the call, where the two values are handed over. Except: a copy to the CPU is made at the operation.

    `possible`: only those that are merely possible, or only the others; None for all of them.
    `fixes`: the remedy is also offered as a fix, where there is one.
    """

    wants = (Conflict,)
    kind: ClassVar[ConflictKind]
    possible: ClassVar[bool | None] = None
    fixes: ClassVar[bool] = True

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the conflicts of this rule's kind at the node."""
        for conflict in self.facts_of(node, Conflict):
            if conflict.kind is not self.kind:
                continue
            if self.possible is not None and self.possible is not (conflict.certainty is Certainty.POSSIBLE):
                continue
            place = self.place_of(node)
            raises = where_it_raises(conflict, place)
            shown = conflict if raises == place else as_named_inside(conflict)
            copies = conflict.kind in (ConflictKind.HOST, ConflictKind.CPU_ARGUMENT)
            mended, at = (shown, raises) if copies else (conflict, place)
            remedy = bring_together(mended, Site(at, self.surroundings(), self.syntax()))
            related = both_stories(conflict) if raises == place else (*both_stories(shown), *calls(conflict, place))
            self.report(
                raises,
                f"{on_two_devices(shown)} (observed at run time)" if conflict.observed else on_two_devices(shown),
                certainty=conflict.certainty,
                labels=labels(shown),
                related=related,
                pytorch=conflict.message,
                advice=remedy.advice if raises == at else at_the_call(remedy.advice, conflict, place),
                fix=remedy.fix if self.fixes and not conflict.observed else None,  # other runs may be right as they are
            )
