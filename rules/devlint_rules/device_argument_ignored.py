"""device-argument-ignored: a module is created without the given `device`."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Certainty, Related, Severity
from devlint.facts import IgnoredDevice, UnforwardedDevice
from devlint.rule import OperationRule

from devlint_rules.support.headlines import Broken
from devlint_rules.support.messages import in_words, quoted


class DeviceArgumentIgnored(OperationRule):
    """
    ## What it does
    Reports the construction of a module without its `device` argument, if the module keeps that device in an attribute,
    and the surrounding code has a device that it keeps or passes on. Reports also a method that ignores its `device`
    argument and puts a value on `self.device`.

    ## Why is this bad
    A module with `self.device = device` sends its inputs to that device. A later move of the module moves its
    parameters, not the attribute: without the argument, the module keeps working on its default device.

    ## Example

        import torch
        from torch import nn

        class Encoder(nn.Module):
            def __init__(self, device="cpu"):
                super().__init__()
                self.device = device
                self.layer = nn.Linear(3, 3)

            def forward(self, x):
                return self.layer(x.to(self.device))

        class Agent(nn.Module):
            def __init__(self, device="cpu"):
                super().__init__()
                self.device = device
                self.encoder = Encoder()  # error: [device-argument-ignored] "Encoder()" later

            def forward(self, x):
                return self.encoder(x.to(self.device))

        Agent("cuda:0").to("cuda:0")(torch.ones(2, 3))

    ## Use instead

        import torch
        from torch import nn

        class Encoder(nn.Module):
            def __init__(self, device="cpu"):
                super().__init__()
                self.device = device
                self.layer = nn.Linear(3, 3)

            def forward(self, x):
                return self.layer(x.to(self.device))

        class Agent(nn.Module):
            def __init__(self, device="cpu"):
                super().__init__()
                self.device = device
                self.encoder = Encoder(device)

            def forward(self, x):
                return self.encoder(x.to(self.device))

        Agent("cuda:0").to("cuda:0")(torch.ones(2, 3))

    ## Fix safety
    No fix is offered: the author has to say which device was meant.

    ## Known limits
    devlint does not report modules that use a device only to create parameters, because a later move has the same
    effect. It does not report functions, and classes that are not modules, because these often belong on the CPU.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but got mat1 is on cpu, different from other tensors on cuda:0
    """  # noqa: E501

    code = "DEV204"
    severity = Severity.WARNING
    since = "0.1.0"
    wants = (UnforwardedDevice, IgnoredDevice)

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"{quoted(broken.call)} stays on the CPU: a device that is at hand is not passed on"

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the constructions at the node, and the uses of another device."""
        for ignored in self.facts_of(node, IgnoredDevice):
            parameter, used = quoted(ignored.parameter), quoted(ignored.used)
            self.report(
                node,
                f"this code moves to {used}, but the function never uses its parameter {parameter}",
                certainty=Certainty.ON_ACCELERATOR,
                related=(Related(ignored.where, f"{parameter} is an argument of this function"),),
                advice=f"use {parameter} in place of {used}, or remove the parameter",
            )
        for found in self.facts_of(node, UnforwardedDevice):
            default = "None" if found.device is None else in_words(found.device)
            self.report(
                node,
                f"{quoted(found.construction)} gets no device, so its {quoted(found.attribute)} is {default}",
                certainty=Certainty.ON_ACCELERATOR,
                advice=f"pass `device=` to {quoted(found.module)}, as for the other modules",
            )
