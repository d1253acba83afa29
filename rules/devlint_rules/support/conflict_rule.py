"""The part that the rules about two values on two devices share: they differ in which conflicts they take."""

from __future__ import annotations

from typing import ClassVar

import libcst as cst
from devlint.diagnostics import Certainty
from devlint.facts import Conflict, ConflictKind

from devlint_rules.support.causes import cause_of
from devlint_rules.support.messages import both_stories, labels, on_two_devices, story
from devlint_rules.support.moves.choose import bring_together
from devlint_rules.support.scopes import SurroundedRule
from devlint_rules.support.site import Site


class ConflictRule(SurroundedRule):
    """Base of the rules that report every conflict of one `kind`, at the operation that raises.

    A conflict that only a caller shows is reported there too, and the calls that lead to the operation are notes.

    `possible`: also those that are merely possible.
    """

    wants = (Conflict,)
    kind: ClassVar[ConflictKind]
    possible: ClassVar[bool] = True

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the conflicts of this rule's kind at the node."""
        for conflict in self.facts_of(node, Conflict):
            if conflict.kind is not self.kind or self.is_for_another_rule(node, conflict):
                continue
            if conflict.certainty is Certainty.POSSIBLE and not self.possible:
                continue
            place = self.place_of(node)
            site = Site(place, self.surroundings(), self.syntax())
            remedy = bring_together(conflict, site)
            calls = (*(step.place for step in conflict.led[:1]), *conflict.other_calls)
            edits = remedy.fix.edits if remedy.fix is not None and conflict.other_calls else ()
            is_for_one_call = not all(site.surroundings.within_scope(edit.place, place) for edit in edits)
            self.report(
                place,
                on_two_devices(conflict),
                certainty=conflict.certainty,
                labels=labels(conflict),
                related=(*both_stories(conflict), *story(conflict.led)),
                pytorch=conflict.message,
                advice=remedy.advice,
                fix=None if is_for_one_call else remedy.fix,
                calls=calls,
                cause=cause_of(conflict, site),
            )

    def is_for_another_rule(self, node: cst.CSTNode, conflict: Conflict) -> bool:
        """Whether another rule, if it is on, reports a conflict of this rule's kind."""
        return False
