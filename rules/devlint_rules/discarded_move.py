"""discarded-move: the result of `x.to(device)` is lost."""

from __future__ import annotations

import re

import libcst as cst
from devlint.diagnostics import Certainty, Place, Safety, Severity
from devlint.domain.device import Concrete, UnknownDevice
from devlint.facts import DiscardedMove as DiscardedMoveFact

from devlint_rules.support.headlines import Broken
from devlint_rules.support.messages import in_words, quoted, story
from devlint_rules.support.moves.device_text import is_addressable
from devlint_rules.support.scopes import SurroundedRule
from devlint_rules.support.site import Remedy

_LAYER = re.compile(r"created (?:.* )?by `torch\.nn\.")


class DiscardedMove(SurroundedRule):
    """
    ## What it does
    Reports `x.to(device)`, `x.cuda()` and `x.cpu()` of a tensor as a statement of its own, and other moves with an
    unused result.

    ## Why is this bad
    A tensor never moves: `to` returns a new tensor and leaves the old one on its device. Modules do move in place,
    which is why the mistake looks right. The code goes on with the unmoved tensor and raises later, elsewhere.

    In `for x in tensors: x = x.to(device)`, each turn gives the name `x` to the moved tensor. The list `tensors` keeps
    the old tensors, and the next turn forgets the moved one.

    ## Example

        import torch

        x = torch.ones(3)
        x.to("cuda:0")  # error: [discarded-move] "`x`" later
        y = x + torch.ones(3, device="cuda:0")

    ## Use instead

        import torch

        x = torch.ones(3)
        x = x.to("cuda:0")
        y = x + torch.ones(3, device="cuda:0")

    ## Fix safety
    Keeping the result in a local name is safe if devlint also reports a later operation that fails because of the
    missing move: then the fix changes no program that works. Otherwise the fix is unsafe, because all later code
    computes on the other device. It is also unsafe for attributes and elements, because other code may hold the same
    object. A parameter of a module gets no fix.

    ## Known limits
    devlint reports only receivers that are certainly tensors. Modules, the outputs of tokenizers and the packed
    sequences of other libraries move in place. devlint does not report a tensor that the statement itself creates:
    `torch.zeros(1).cuda()` wakes a device up, and no later code uses the tensor.

    ## PyTorch says
    Nothing here. At the later operation with a tensor on the device:
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    """

    code = "DEV203"
    severity = Severity.ERROR
    since = "0.1.0"
    wants = (DiscardedMoveFact,)

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"{quoted(broken.call)} has no effect: its result is thrown away"

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the discarded moves at the node."""
        for move in self.facts_of(node, DiscardedMoveFact):
            if _is_temporary(move, self.place_of(node)):
                continue
            call = quoted(f"{move.name}.{move.method}({'…' if move.method == 'to' else ''})")
            known = not isinstance(move.device, UnknownDevice)
            goal = f" to {in_words(move.device)}" if known else ""
            remedy = _STORE_BACK if move.is_bound else self._keep(move, self.place_of(node))
            lost = "is never used" if move.is_bound else "is thrown away"
            is_elsewhere = isinstance(move.before, Concrete) and isinstance(move.device, Concrete)
            self.report(
                node,
                f"the result of {call} {lost}: {quoted(move.name)} does not move{goal}",
                certainty=Certainty.CERTAIN if is_elsewhere else Certainty.ON_ACCELERATOR,
                related=story(move.trace),
                advice=remedy.advice,
                fix=remedy.fix,
            )

    def _keep(self, move: DiscardedMoveFact, place: Place) -> Remedy:
        """How to make the move count; a parameter of a module moves with the module and takes no plain tensor."""
        syntax, surroundings = self.syntax(), self.surroundings()
        statement, call = syntax.at(place, cst.Expr), syntax.at(place, cst.Call)
        code = syntax.code(call) if call is not None else ""
        owner = move.name.rpartition(".")[0]
        if owner and any(_LAYER.search(step.what) for step in move.trace):
            return Remedy(f"move the module that owns it: `{code.replace(move.name, owner, 1)}`")
        if not is_addressable(move.name):
            return Remedy("use the result, or give it a name")
        kept = f"{move.name} = "
        local = surroundings.binds(move.name, place)
        edits = (
            () if statement is None or (move.name.isidentifier() and not local) else (syntax.before(statement, kept),)
        )
        subject = surroundings.qualified(move.name, place)
        alone = local and surroundings.is_alone(move.name, place)
        safety = Safety.SAFE if alone and move.needed else Safety.UNSAFE
        return Remedy(f"keep the result: `{kept}{code}`", edits, safety, subject)


_STORE_BACK = Remedy(
    "store the moved tensor where the loop takes it from, as in `tensors = [x.to(…) for x in tensors]`"
)


def _is_temporary(move: DiscardedMoveFact, place: Place) -> bool:
    """Whether the statement creates the tensor it moves; then no other code has the unmoved tensor."""
    birth = move.trace[-1] if move.trace else None
    return birth is not None and birth.what.startswith("created") and place.holds(birth.place)
