"""load-without-map-location: a checkpoint is loaded without `map_location`."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Fix, Place, Safety, Severity
from devlint.facts import UnmappedLoad
from devlint.rule import OperationRule
from devlint.syntax import Syntax

from devlint_rules.support.headlines import Broken
from devlint_rules.support.messages import quoted


class LoadWithoutMapLocation(OperationRule):
    """
    ## What it does
    Reports `torch.load`, `torch.hub.load_state_dict_from_url` and `torch.utils.model_zoo.load_url` without
    `map_location` and without a test of `torch.cuda.is_available()` before it. The rule is opt-in.

    ## Why is this bad
    A checkpoint records the device of each tensor, and `torch.load` puts each tensor back there. Only a machine with
    four GPUs can read a file that was written on `cuda:3`; a machine without a GPU raises. Whether this happens depends
    on the file; therefore the rule is opt-in.

    ## Example

        import io

        import torch

        checkpoint = io.BytesIO()
        torch.save(torch.ones(3), checkpoint)
        checkpoint.seek(0)
        weights = torch.load(checkpoint)  # error: [load-without-map-location] "map_location" never

    ## Use instead

        import io

        import torch

        checkpoint = io.BytesIO()
        torch.save(torch.ones(3), checkpoint)
        checkpoint.seek(0)
        weights = torch.load(checkpoint, map_location="cpu")

    ## Fix safety
    Unsafe: with `map_location="cpu"`, the tensors are on the CPU on machines that load them to a GPU today.
    devlint offers no fix if the program neither copies nor moves a part of the checkpoint.

    ## Known limits
    devlint does not know whether the file was written on the CPU, or whether it holds tensors at all. Any
    `map_location` counts, even None. devlint does not check the readers of other libraries.

    ## PyTorch says
    Nothing where the checkpoint was written on the CPU. Where it was written on a GPU and there is none:
    RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.
    """

    code = "DEV304"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    wants = (UnmappedLoad,)

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        return f"{quoted(broken.operation)} fails without a GPU if the file was saved on one"

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the unmapped loads at the node."""
        for load in self.facts_of(node, UnmappedLoad):
            called = self._named(load.function, self.place_of(node))
            self.report(
                node,
                f"{called} without `map_location` puts each tensor on the device it was saved from",
                pytorch="Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
                advice='set `map_location` to `"cpu"`, or to the device of the module that gets the tensors',
                fix=self._to_the_cpu(self.place_of(node)),
            )

    def _named(self, function: str, place: Place) -> str:
        """The subject of the message: the function, introduced by the name that the program has for it."""
        call = self.syntax().at(place, cst.Call)
        name = function if call is None else self.syntax().code(call.func)
        is_same = name.rpartition(".")[2] == function.rpartition(".")[2]
        return quoted(function) if is_same else f"{quoted(name)} calls {quoted(function)}, which"

    def _to_the_cpu(self, place: Place) -> Fix | None:
        """The argument `map_location="cpu"`."""
        syntax = self.syntax()
        call = syntax.at(place, cst.Call)
        edit = None if call is None else syntax.keyword(call, "map_location", '"cpu"')
        if call is None or edit is None or not self._leaves_the_cpu(call):
            return None
        return Fix(Safety.UNSAFE, 'add `map_location="cpu"`', (edit,))

    def _leaves_the_cpu(self, load: cst.Call) -> bool:
        """Whether the program copies from a checkpoint or moves it; otherwise its tensors would stay on the CPU."""
        syntax = self.syntax()
        parent = next(syntax.parents(load))
        targets = parent.targets if isinstance(parent, cst.Assign) else ()
        names = {one.target.value for one in targets if isinstance(one.target, cst.Name)}
        scope = syntax.around(load, cst.FunctionDef) or syntax.module
        uses = [node for node in syntax.within(scope, cst.Name) if node.value in names]
        return any(_is_placed(syntax, node) for node in (load, *uses))


def _is_placed(syntax: Syntax, node: cst.BaseExpression) -> bool:
    """Whether an expression is a part of what `load_state_dict` is given, or is moved or read by numpy."""
    inner: cst.CSTNode = node
    for parent in syntax.parents(node):
        match parent:
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="load_state_dict")) as function):
                return inner is not function
            case cst.Attribute(value=value, attr=cst.Name(value="to" | "cuda" | "cpu" | "numpy")) if value is inner:
                return True
            case cst.BaseStatement():
                return False
        inner = parent
    return False
