"""module-has-no-device-attribute: `module.device` is read, but modules have no `device`."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import MissingAttribute

from devlint_rules.support.messages import quoted
from devlint_rules.support.moves.module_device import module_device
from devlint_rules.support.scopes import SurroundedRule


class ModuleHasNoDeviceAttribute(SurroundedRule):
    """
    ## What it does
    Reports `module.device` on a module of a known class without such an attribute.

    ## Why is this bad
    A tensor has a device. A module has parameters, perhaps on several devices, so `nn.Module` has no attribute `device`
    and the line raises.

    ## Example

        import torch
        from torch import nn

        net = nn.Linear(4, 2)
        x = torch.randn(1, 4, device=net.device)  # error: [module-has-no-device-attribute] "Linear"

    ## Use instead

        import torch
        from torch import nn

        net = nn.Linear(4, 2)
        x = torch.randn(1, 4, device=net.weight.device)

    ## Fix safety
    No fix is offered: devlint does not know which device is meant.

    ## Known limits
    devlint does not report classes with `__getattr__`, classes with bases outside the project other than those of
    torch, classes that get the attribute from outside, and classes with a subclass in the same file that has the
    attribute.

    ## PyTorch says
    AttributeError: 'Linear' object has no attribute 'device'
    """

    code = "DEV306"
    severity = Severity.WARNING
    since = "0.1.0"
    wants = (MissingAttribute,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the missing attributes at the node."""
        for missing in self.facts_of(node, MissingAttribute):
            owner = missing.owner.rpartition(".")[2]
            device = module_device(missing.name, self.place_of(node), self.syntax(), self.surroundings())
            take = (
                "" if device in (None, f"{missing.name}.device") else f", or take that of a parameter: {quoted(device)}"
            )
            self.report(
                node,
                f"{quoted(missing.name)} is a {quoted(owner)}: modules have no attribute `device`",
                pytorch=f"'{owner}' object has no attribute 'device'",
                advice=f"use the name of the device that {quoted(missing.name)} is moved to{take}",
            )
