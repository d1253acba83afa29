"""unregistered-submodules: a module keeps modules or parameters in a plain list, tuple or dict."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Certainty, Related, Severity
from devlint.facts import UnregisteredMembers
from devlint.rule import OperationRule

from devlint_rules._wording import quoted

_REGISTERING = {
    ("list", False): "nn.ModuleList",
    ("tuple", False): "nn.ModuleList",
    ("dict", False): "nn.ModuleDict",
    ("list", True): "nn.ParameterList",
    ("tuple", True): "nn.ParameterList",
    ("dict", True): "nn.ParameterDict",
}
"""The module that holds the members of a container and registers them; True: they are parameters."""


class UnregisteredSubmodules(OperationRule):
    """
    ## What it does
    Reports modules and parameters that a module keeps in a plain list, tuple or dict.

    ## Why is this bad
    `nn.Module` registers what is stored in its attributes, and does not look inside of containers. Such layers stay
    on the CPU when the module is moved; `parameters()` does not know them, so no optimizer trains them, and
    `state_dict()` does not save them.

    ## Example

        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [nn.Linear(3, 3) for _ in range(2)]  # error: [unregistered-submodules] "Linear" later

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        Net().to("cuda:0")(torch.ones(2, 3, device="cuda:0"))

    ## Use instead

        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        Net().to("cuda:0")(torch.ones(2, 3, device="cuda:0"))

    ## Fix safety
    No fix is offered: with the members registered, `state_dict()` has other keys.

    ## Known limits
    Members that are registered by hand as well are found if that happens in `__init__`. Of containers that other
    methods store, and of members that the module is given from outside, nothing is said: hiding a module in
    a list is a way of not owning it.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but got mat1 is on cuda:0, different from other tensors on cpu
    """  # noqa: E501

    code = "DEV202"
    severity = Severity.WARNING
    since = "0.1.0"
    wants = (UnregisteredMembers,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the containers that are stored at the node."""
        for found in self.facts_of(node, UnregisteredMembers):
            holder = _REGISTERING[found.container, found.member == "Parameter"]
            made = () if found.made is None else (Related(found.made.place, found.made.what),)
            self.report(
                node,
                f"{quoted(found.attribute)} is a plain {found.container}: "
                f"a move of the module does not reach the {quoted(found.member)} in it",
                certainty=Certainty.ON_ACCELERATOR,
                related=made,
                advice=f"keep them in an `{holder}`, which registers them",
            )
