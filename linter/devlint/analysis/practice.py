"""Whether a value whose device its surroundings choose is on an accelerator when the program is used on one.

That an operation accepts tensors on the CPU only says nothing against it: much code works with data that never
leaves the host. It needs a reason to believe that the value does.
"""

from __future__ import annotations

import re

from devlint.analysis import classes
from devlint.analysis.frame import Frame
from devlint.domain.device import Variable
from devlint.domain.summary import Side

_ELEMENT = re.compile(r"\w+\[")


def is_on_accelerator_in_practice(frame: Frame, side: Side, role: str) -> bool:
    """Whether there is such a reason, for an operation that has a role of the CPU (see `Side`).

    * It was moved to a device that the program chooses, or computed by a module.
    * It was taken out of the graph, so it comes out of a computation that is trained: `x.detach().numpy()`.
    * It is an input of `forward`, which follows the module. A tensor that only says lengths may be handed over on the
      CPU on its own; an element of a batch is moved with the batch.
    """
    if side.origin is not None and side.origin.born in ("moved", "module"):
        return True
    if not isinstance(side.device, Variable):
        return False
    if side.name.endswith(".detach()"):
        return True
    in_forward = frame.owner is not None and frame.scope.name.endswith(".forward") and classes.is_module(frame.owner)
    return in_forward and (role == "host" or _ELEMENT.match(side.device.place) is not None)
