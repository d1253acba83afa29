"""distributed-device-ids: DistributedDataParallel and its module or ids disagree."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Fix, Place, Severity
from devlint.facts import ParallelMisuse, ParallelProblem

from devlint_rules.support.messages import quoted, story
from devlint_rules.support.moves.wrappers import device_ids, module_moved
from devlint_rules.support.scopes import SurroundedRule

_PROBLEMS = {
    ParallelProblem.MODULE_ELSEWHERE: "the module is on {module}, but {given} moves its inputs to {wanted}",
    ParallelProblem.MODULE_ON_CPU: "the module is on the CPU, but {ids} needs a module on a CUDA device",
    ParallelProblem.SEVERAL_DEVICES: "the module is spread over several devices, but {ids} needs a module on one",
    ParallelProblem.SEVERAL_TYPES: "some parameters of the module are on the CPU and some are not",
    ParallelProblem.SEVERAL: "{ids} names several devices, but DistributedDataParallel takes one",
    ParallelProblem.OUTPUT_WITHOUT_IDS: "{ids} needs `device_ids` too",
    ParallelProblem.NOT_CUDA: "{ids} names a device that is not a CUDA device",
    ParallelProblem.BEYOND: "{ids} names a device that the machine does not have",
    ParallelProblem.NOT_A_LIST: "`device_ids` is {ids}, but DistributedDataParallel needs a list of one device",
}


class DistributedDeviceIds(SurroundedRule):
    """
    ## What it does
    Reports a `DistributedDataParallel` with `device_ids` or an `output_device` that do not fit the device of its
    module, name several devices, no CUDA device or a device that the machine lacks, or are not a list.

    ## Why is this bad
    DistributedDataParallel moves no module. With an id, it moves each input to that device, so the module must be
    there. A module on the CPU, or on several devices, must get no ids. One process serves one device: several ids
    belong to a mode that PyTorch has removed.

    ## Example

        import torch
        import torch.distributed as dist
        from torch import nn
        from torch.nn.parallel import DistributedDataParallel

        dist.init_process_group("gloo", rank=0, world_size=1)
        net = nn.Linear(4, 2)
        parallel = DistributedDataParallel(net, device_ids=[0])  # error: [distributed-device-ids] "`device_ids=[0]`"

    ## Use instead

        import torch
        import torch.distributed as dist
        from torch import nn
        from torch.nn.parallel import DistributedDataParallel

        dist.init_process_group("gloo", rank=0, world_size=1)
        net = nn.Linear(4, 2).to("cuda:0")
        parallel = DistributedDataParallel(net, device_ids=[0])

    ## Fix safety
    Unsafe: a module on the CPU moves to the one id before it is wrapped. The author may prefer to remove the ids. No
    other fix is offered.

    ## Known limits
    devlint does not know ids from a launcher, such as a rank, and compares a module with them only if it is on the CPU.
    It also checks a parameter that `_set_params_and_buffers_to_ignore_for_model` excludes.

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
                _PROBLEMS[misuse.problem].format(
                    ids=ids, given=quoted(f"device_ids={misuse.ids}"), module=misuse.module, wanted=misuse.wanted
                ),
                related=story(misuse.related),
                pytorch=misuse.message,
                advice=misuse.advice,
                fix=self._moved(misuse, self.place_of(node)),
            )

    def _moved(self, misuse: ParallelMisuse, place: Place) -> Fix | None:
        """The module on the device whose id is written beside it."""
        call = self.syntax().at(place, cst.Call)
        ids = None if call is None else device_ids(call)
        if misuse.problem is not ParallelProblem.MODULE_ON_CPU or call is None:
            return None
        if not isinstance(ids, cst.List) or len(ids.elements) != 1:
            return None
        return module_moved(call, self.syntax().code(ids.elements[0].value), self.syntax(), self.surroundings())
