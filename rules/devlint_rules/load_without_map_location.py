"""load-without-map-location: a checkpoint is read to the devices that it was written from."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import UnmappedLoad
from devlint.rule import OperationRule

from devlint_rules._wording import quoted


class LoadWithoutMapLocation(OperationRule):
    """
    ## What it does
    Reports `torch.load`, `torch.hub.load_state_dict_from_url` and `torch.utils.model_zoo.load_url` without
    `map_location` where no test of `torch.cuda.is_available()` leads to them. The rule is opt-in.

    ## Why is this bad
    A checkpoint remembers the device of every tensor in it, and `torch.load` puts each back there. A file
    that was written on `cuda:3` can be read only by a machine with four GPUs, where it takes memory on the
    fourth; a machine without one raises. Whether it happens depends on the file, which is why this rule has
    to be asked for.

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
    No fix is offered: whether the checkpoint should be read to the CPU or to the device of the module is for
    the author to say. `load_state_dict` copies from any device to that of the module.

    ## Known limits
    That a file was written on the CPU is not known, and neither is that it holds no tensor at all. Any
    `map_location` counts, even None. Readers of other libraries are not looked at.

    ## PyTorch says
    Nothing where the checkpoint was written on the CPU. Where it was written on a GPU and there is none:
    RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.
    """

    code = "DEV304"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    wants = (UnmappedLoad,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the unmapped loads at the node."""
        for load in self.facts_of(node, UnmappedLoad):
            self.report(
                node,
                f"{quoted(load.function)} without `map_location` puts each tensor on the device it was saved from",
                pytorch="Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
                advice='add `map_location="cpu"`, or the device of what the checkpoint is for',
            )
