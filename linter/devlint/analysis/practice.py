"""Whether a value whose device its surroundings choose is on an accelerator when the program is used on one.

That an operation accepts tensors on the CPU only says nothing against it: much code works with data that never
leaves the host. It needs a reason to believe that the value does.
"""

from __future__ import annotations

from devlint.analysis.frame import Frame
from devlint.domain.summary import Side


def is_on_accelerator_in_practice(frame: Frame, side: Side) -> bool:
    """Whether there is such a reason: it was moved to a chosen device, or computed by a module."""
    return side.origin is not None and side.origin.born in ("moved", "module")
