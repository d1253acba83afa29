"""distributed-device-ids: DistributedDataParallel and its module or ids disagree."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Fix, Place, Severity
from devlint.facts import ParallelMisuse

from devlint_rules.support.messages import quoted, story
from devlint_rules.support.moves.wrappers import device_ids, module_moved
from devlint_rules.support.scopes import SurroundedRule

_PROBLEMS = {
    "module-elsewhere": "the module is on {module}, and {ids} has its inputs moved to {wanted}",
    "module-on-cpu": "the module is on the CPU, and {ids} is for modules on a CUDA device",
    "several-devices": "the module is spread over several devices, and {ids} is for modules on one",
    "several-types": "some parameters of the module are on the CPU and some are not",
    "several": "{ids} names several devices, DistributedDataParallel takes one",
    "output-without-ids": "{ids} as output_device needs device_ids",
    "not-cuda": "{ids} names a device that is not a CUDA device",
    "beyond": "{ids} names a device that the machine does not have",
    "not-a-list": "{ids} is one device, DistributedDataParallel wants a list of it",
}


class DistributedDeviceIds(SurroundedRule):
    """
    ## What it does
    Reports a `DistributedDataParallel` whose `device_ids` or `output_device` do not go with where its module
    is, name several devices, no CUDA device, one that the machine does not have, or are not a list.

    ## Why is this bad
    DistributedDataParallel moves no module. With an id it moves each input to that device, where the module
    then must be; a module that is still on the CPU, or is spread over several devices, must be given none.
    One process is for one device: several ids were for a mode that PyTorch has dropped.

    ## Example

        import torch
        import torch.distributed as dist
        from torch import nn
        from torch.nn.parallel import DistributedDataParallel

        dist.init_process_group("gloo", rank=0, world_size=1)
        net = nn.Linear(4, 2)
        parallel = DistributedDataParallel(net, device_ids=[0])  # error: [distributed-device-ids] "`[0]`"

    ## Use instead

        import torch
        import torch.distributed as dist
        from torch import nn
        from torch.nn.parallel import DistributedDataParallel

        dist.init_process_group("gloo", rank=0, world_size=1)
        net = nn.Linear(4, 2).to("cuda:0")
        parallel = DistributedDataParallel(net, device_ids=[0])

    ## Fix safety
    Unsafe: a module on the CPU is moved to the one id before it is wrapped. Leaving the ids out is possible too. No
    other fix is offered.

    ## Known limits
    Ids that come from a launcher, such as a rank, are not known, and a module is compared with them only where
    it is on the CPU. A parameter that is left out of the replicas by
    `_set_params_and_buffers_to_ignore_for_model` is looked at all the same.

    ## PyTorch says
    ValueError: DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU modules or CPU modules
    """  # noqa: E501

    code = "DEV402"
    severity = Severity.ERROR
    since = "0.1.0"
    wants = (ParallelMisuse,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the misuses of the distributed wrapper at the node."""
        for misuse in self.facts_of(node, ParallelMisuse):
            if misuse.wrapper != "DistributedDataParallel":
                continue
            ids = quoted(misuse.ids)
            self.report(
                node,
                _PROBLEMS[misuse.problem].format(ids=ids, module=misuse.module, wanted=misuse.wanted),
                related=story(misuse.related),
                pytorch=misuse.message,
                advice=misuse.advice,
                fix=self._moved(misuse, self.place_of(node)),
            )

    def _moved(self, misuse: ParallelMisuse, place: Place) -> Fix | None:
        """The module on the device whose id is written beside it."""
        call = self.syntax().at(place, cst.Call)
        ids = None if call is None else device_ids(call)
        if misuse.problem != "module-on-cpu" or call is None or not isinstance(ids, cst.List) or len(ids.elements) != 1:
            return None
        return module_moved(call, self.syntax().code(ids.elements[0].value), self.syntax(), self.surroundings())
