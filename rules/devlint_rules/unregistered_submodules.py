"""unregistered-submodules: a Python list, tuple or dict holds modules or parameters."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Certainty, Edit, Fix, Place, Related, Safety, Severity
from devlint.facts import UnregisteredMembers
from devlint.fixes.placing import named

from devlint_rules.support.class_usage import MODULE_ATTRIBUTES, assigned, literal_keys
from devlint_rules.support.headlines import Broken
from devlint_rules.support.messages import quoted
from devlint_rules.support.scopes import SurroundedRule

_REGISTERING = {
    ("list", False): "nn.ModuleList",
    ("tuple", False): "nn.ModuleList",
    ("dict", False): "nn.ModuleDict",
    ("list", True): "nn.ParameterList",
    ("tuple", True): "nn.ParameterList",
    ("dict", True): "nn.ParameterDict",
}
"""The module that holds the members of a container and registers them; True: they are parameters."""

_ADVICE = "keep its elements in an `{holder}`, which registers them"
_CONTAINERS = (cst.List, cst.ListComp, cst.Tuple, cst.Dict)


class UnregisteredSubmodules(SurroundedRule):
    """
    ## What it does
    Reports modules and parameters in a plain list, tuple or dict of a module.

    ## Why is this bad
    `nn.Module` registers the values of its attributes and does not look inside of containers. Layers in a plain
    container stay on the CPU when the module moves. `parameters()` does not list them, so no optimizer trains them, and
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
    Unsafe, because the fix changes a run that works today. After the fix, `parameters()` and `state_dict()` include
    the members: an optimizer trains them, also on the CPU, and a checkpoint from before lacks them.

    ## Known limits
    devlint knows members that `__init__` also registers by hand. It does not report a container that another method
    stores, and members that come from outside: hiding a module in a list is a way of not owning it. It does not report
    a container that only the constructor reads, because such a container is a choice from which one member is
    registered.

    ## PyTorch says
    RuntimeError: Expected all tensors to be on the same device, but got mat1 is on cuda:0, different from other tensors on cpu
    """  # noqa: E501

    code = "DEV202"
    severity = Severity.WARNING
    since = "0.1.0"
    wants = (UnregisteredMembers,)

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"the layers in {quoted(broken.attribute)} do not move with the model"

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the containers that are stored at the node."""
        for found in self.facts_of(node, UnregisteredMembers):
            holder = _REGISTERING[found.container, found.member == "Parameter"]
            # The stubs call a class that users know by other names by one with an underscore.
            member = "module" if found.member.startswith("_") else quoted(found.member)
            name, kind = quoted(found.attribute), found.container
            made = () if found.made is None else (Related(found.made.place, found.made.what),)
            self.report(
                node,
                f"{name} is a Python {kind}: when its module moves, each {member} in the {kind} stays where it is",
                certainty=Certainty.ON_ACCELERATOR,
                related=made,
                advice=_ADVICE.format(holder=holder),
                fix=self._held(holder, self.place_of(node)),
            )

    def _held(self, holder: str, place: Place) -> Fix | None:
        """The container inside a module that registers its members."""
        syntax = self.syntax()
        target = syntax.at(place, cst.Attribute)
        value = None if target is None else assigned(syntax, target)
        nn = named("torch.nn", place, syntax)
        if target is None or value is None or nn is None:
            return None
        keys = literal_keys(value)
        if not isinstance(value, _CONTAINERS) or any(key in MODULE_ATTRIBUTES or "." in key for key in keys or ()):
            return None
        name, imports = nn
        made = f"{name}.{holder.removeprefix('nn.')}("
        if isinstance(value, (cst.List, cst.Tuple, cst.Dict)) and not value.elements:
            held: tuple[Edit, ...] = (Edit(syntax.place(value), f"{made})"),)
        else:
            held = (syntax.before(value, made), syntax.behind(value, ")"))
        edits = (*imports, *held)
        subject = self.surroundings().qualified(syntax.code(target), place)
        return Fix(Safety.UNSAFE, _ADVICE.format(holder=holder), tuple(sorted(edits)), subject)
