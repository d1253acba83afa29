"""data-parallel-device-ids: DataParallel and its module or device ids disagree."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Edit, Fix, Place, Safety, Severity
from devlint.domain.device import CPU
from devlint.facts import ParallelMisuse, ParallelProblem

from devlint_rules.support.headlines import Broken
from devlint_rules.support.messages import index_of, quoted, story
from devlint_rules.support.moves.wrappers import device_ids, module_moved
from devlint_rules.support.program_device import devices_in_reach
from devlint_rules.support.scopes import SurroundedRule

_PROBLEMS = {
    ParallelProblem.MODULE_ELSEWHERE: "the module is on {module}, but DataParallel looks for it on {wanted}, "
    "the first of {ids}",
    ParallelProblem.DUPLICATE: "{ids} names a device twice: two replicas share it and wait for each other",
    ParallelProblem.EMPTY: "{ids} names no device to run on",
    ParallelProblem.NOT_CUDA: "{ids} names a device that is not a CUDA device",
    ParallelProblem.BEYOND: "{ids} names a device that the machine does not have",
    ParallelProblem.NOT_A_LIST: "`device_ids` is {ids}, but DataParallel needs a list of devices",
    ParallelProblem.RESULT_ON_CPU: "the module returns a tensor on the CPU, but DataParallel gathers results "
    "from CUDA devices only",
}


class DataParallelDeviceIds(SurroundedRule):
    """
    ## What it does
    Reports a `DataParallel` with a module that is not on the first of its `device_ids`, and ids that are empty,
    repeated, not CUDA devices, more than the machine has, or not a list.

    ## Why is this bad
    DataParallel copies the module from `device_ids[0]` to the other devices. It does not move the module there, and it
    complains only when it is called; on a machine with at most one GPU it never complains. A repeated id raises
    nothing: two replicas share one device, which is slower than one. devlint reports it as a warning.

    ## Example

        import torch
        from torch import nn

        net = nn.Linear(4, 2).to("cuda:0")
        parallel = nn.DataParallel(net, device_ids=[1, 0])
        out = parallel(torch.randn(8, 4))  # error: [data-parallel-device-ids] "[1, 0]"

    ## Use instead

        import torch
        from torch import nn

        net = nn.Linear(4, 2).to("cuda:1")
        parallel = nn.DataParallel(net, device_ids=[1, 0])
        out = parallel(torch.randn(8, 4))

    ## Fix safety
    Safe: literal ids get the device of the module first, if it is among them; one id becomes a list. A program with
    such ids raises today. Unsafe: a repeated id is removed, which splits a batch into other parts. Unsafe too: a module
    on the CPU moves, before it is wrapped, to the one device that the program names elsewhere; an optimizer may have
    its parameters already. If the module is on a GPU that is not among the ids, there is no fix: the author may move
    the module or change the ids.

    ## Known limits
    devlint checks only the first of computed ids, such as `range(torch.cuda.device_count())`.

    ## PyTorch says
    RuntimeError: module must have its parameters and buffers on device cuda:1 (device_ids[0]) but found one of them on device: cuda:0
    """  # noqa: E501

    code = "DEV401"
    severity = Severity.ERROR
    since = "0.1.0"
    wants = (ParallelMisuse,)

    @classmethod
    def headline(cls, broken: Broken) -> str:
        """Return the sentence of a report."""
        where, needed = broken.culprit.where, broken.other.where
        if not broken.culprit.is_module:
            return f"{quoted(broken.call)} {broken.fails}: its ids or its output device do not fit"
        return f"{quoted(broken.call)} {broken.fails}: the module is on {where}, not {needed}"

    def operation(self, node: cst.CSTNode) -> None:
        """Reports the misuses of a parallel wrapper at the node."""
        for misuse in self.facts_of(node, ParallelMisuse):
            if misuse.wrapper != "DataParallel":
                continue
            ids = quoted(misuse.ids) if misuse.ids else "all devices"
            self.report(
                node,
                _PROBLEMS[misuse.problem].format(ids=ids, module=misuse.module, wanted=misuse.wanted),
                severity=Severity.WARNING if misuse.problem == ParallelProblem.DUPLICATE else self.severity,
                related=story(misuse.related),
                pytorch=misuse.message or None,
                advice=misuse.advice,
                fix=self._other_ids(misuse, self.place_of(node)),
            )

    def _other_ids(self, misuse: ParallelMisuse, place: Place) -> Fix | None:
        """Ids that go with each other and with the module, if they are written down as numbers."""
        syntax = self.syntax()
        wrapped = [step.place for step in misuse.related if step.what.startswith("wrapped in")] or [place]
        node = syntax.value_at(wrapped[-1])
        ids = device_ids(node) if isinstance(node, cst.Call) else node
        if misuse.problem == ParallelProblem.MODULE_ELSEWHERE and misuse.module == CPU and isinstance(node, cst.Call):
            reach = devices_in_reach(syntax.place(node), syntax, self.surroundings())
            return module_moved(node, reach[0], syntax, self.surroundings()) if len(reach) == 1 else None
        if ids is None:
            return None
        where = index_of(misuse.module) if misuse.module is not None else None
        numbers = _numbers(ids)
        match misuse.problem:
            case ParallelProblem.NOT_A_LIST if isinstance(ids, cst.Integer):
                what, wanted = "name it in a list", [int(ids.value)]
            case ParallelProblem.DUPLICATE if numbers:
                what, wanted = "name each device once", list(dict.fromkeys(numbers))
            case ParallelProblem.MODULE_ELSEWHERE if numbers and where in numbers:
                what, wanted = (
                    "begin with the device of the module",
                    sorted(numbers, key=lambda number: number != where),
                )
            case _:
                return None
        # With fewer ids, a batch is split into other parts.
        safety = Safety.UNSAFE if misuse.problem == ParallelProblem.DUPLICATE else Safety.SAFE
        return Fix(safety, f"{what}: `{wanted}`", (Edit(syntax.place(ids), str(wanted)),))


def _numbers(ids: cst.BaseExpression) -> list[int]:
    """The ids of a list that is written with numbers only; empty for anything else."""
    if not isinstance(ids, cst.List):
        return []
    numbers = [int(element.value.value) for element in ids.elements if isinstance(element.value, cst.Integer)]
    return numbers if len(numbers) == len(ids.elements) else []
