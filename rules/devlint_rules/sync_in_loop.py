"""sync-in-loop: a training step waits for the device."""

from __future__ import annotations

import libcst as cst
from devlint.diagnostics import Severity
from devlint.facts import SyncInLoop as SyncInLoopFact
from devlint.rule import OperationRule

from devlint_rules.support.messages import in_words, reading


class SyncInLoop(OperationRule):
    """
    ## What it does
    Reports `.item()`, `.tolist()`, `.cpu()`, `print`, `float()` and conditions on a tensor of a device in each step of
    a training loop. The rule is opt-in. A training loop is a loop that calls `backward`.

    ## Why is this bad
    A GPU works through its queue while Python fills it. A read waits until the queue is empty, and then the GPU waits
    for Python. In each step, both stand still for a while.

    ## Example

        import torch
        from torch import nn

        net = nn.Linear(4, 1).to("cuda")
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        total = 0.0
        for step in range(3):
            loss = net(torch.randn(8, 4, device="cuda")).mean()
            loss.backward()
            optimizer.step()
            total += loss.item()  # error: [sync-in-loop] "loss.item()" never

    ## Use instead

        import torch
        from torch import nn

        net = nn.Linear(4, 1).to("cuda")
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        total = torch.zeros((), device="cuda")
        for step in range(3):
            loss = net(torch.randn(8, 4, device="cuda")).mean()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        print(total.item())

    ## Fix safety
    No fix is offered: the program may need the number at once.

    ## Known limits
    devlint assumes that the body of an `if` with an unknown condition runs only now and then. It does not look into the
    functions that the loop calls, nor at a loop around the one that calls `backward`.

    ## PyTorch says
    Nothing: the program is right, and slower than it could be.
    """

    code = "DEV501"
    severity = Severity.WARNING
    opt_in = True
    since = "0.1.0"
    wants = (SyncInLoopFact,)

    def operation(self, node: cst.CSTNode) -> None:
        """Reports what waits for the device at the node."""
        for sync in self.facts_of(node, SyncInLoopFact):
            self.report(
                node,
                f"{reading(sync.text, sync.how)} in each step waits for {in_words(sync.device)} to finish",
                advice="keep the number on the device, and read it every few steps or after the loop",
            )
