"""unregistered-tensor-attribute: a module uses a tensor that does not move with it."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Certainty, Fix, Place, Related, Safety, Severity
from devlint.domain.device import CPU
from devlint.facts import LeftBehind

from devlint_rules.support.class_usage import derives_from_module
from devlint_rules.support.headlines import Broken
from devlint_rules.support.messages import in_words, quoted
from devlint_rules.support.moves.buffers import ADVICE, as_buffer
from devlint_rules.support.scopes import SurroundedRule


class UnregisteredTensorAttribute(SurroundedRule):
    """
    ## What it does
    Reports a tensor in a plain attribute of a module that uses it with an input, a parameter or a buffer.

    ## Why is this bad
    `module.to(device)` moves parameters, buffers and submodules, and nothing else. A tensor stored with
    `self.x = torch.ones(3)` stays where it is, and `forward` raises as soon as the module is on an accelerator.

    ## Example

        import torch
        from torch import nn

        class Shift(nn.Module):
            def __init__(self):
                super().__init__()
                self.offset = torch.ones(3)  # error: [unregistered-tensor-attribute] "self.offset" later

            def forward(self, x):
                return x + self.offset

        Shift().to("cuda:0")(torch.ones(2, 3, device="cuda:0"))

    ## Use instead

        import torch
        from torch import nn

        class Shift(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("offset", torch.ones(3), persistent=False)

            def forward(self, x):
                return x + self.offset

        Shift().to("cuda:0")(torch.ones(2, 3, device="cuda:0"))

    ## Fix safety
    Safe if the module creates the tensor itself and derives from `nn.Module` directly: the new buffer is not
    persistent, so `state_dict()` stays unchanged. Unsafe if the tensor comes from outside, because it may be a
    parameter, or if a base class may know the attribute. A tensor to be trained should be a parameter; the author has
    to decide. If the attribute is stored more than once, there is no fix.

    ## Known limits
    A tensor without dimensions, and a tensor that only serves as an index, may stay on the CPU. devlint does not report
    these attributes:

    * an attribute that a method other than `__init__` stores from its arguments;
    * an attribute that `__init__` puts on a device that it gets as an argument;
    * an attribute in a list or dict, and an attribute of a class that overrides `to` or `_apply`.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    """

    code = "DEV201"
    severity = Severity.WARNING
    since = "0.1.0"
    wants = (LeftBehind,)

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"{quoted(broken.attribute)} does not move with the model: it is not a buffer"

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the attributes that are stored at the node."""
        for left in self.facts_of(node, LeftBehind):
            name = left.attribute.rpartition(".")[2]
            stays = "on the CPU" if left.device == CPU else "on its device"
            met = quoted(left.name)
            where = "" if in_words(left.other).endswith(met) else f", which is on {in_words(left.other)}"
            fix = self._as_buffer(left, self.place_of(node))
            self.report(
                node,
                f"{quoted(left.attribute)} is not a buffer: it stays {stays} when the module moves, "
                f"and is combined with {met}{where}",
                certainty=Certainty.ON_ACCELERATOR,
                related=(Related(left.meets, f"it is combined with {met} here"),),
                advice=ADVICE.format(name=name),
                fix=fix,
            )

    def _as_buffer(self, left: LeftBehind, place: Place) -> Fix | None:
        """The assignment as a call of `register_buffer`; None where that could raise."""
        syntax = self.syntax()
        edits = as_buffer(place, syntax)
        cls = syntax.class_at(place)
        if not edits or cls is None:
            return None
        safety = Safety.SAFE if left.device == CPU and derives_from_module(syntax, cls) else Safety.UNSAFE
        name = left.attribute.rpartition(".")[2]
        subject = self.surroundings().qualified(left.attribute, place)
        return Fix(safety, ADVICE.format(name=name), edits, subject)
