"""Why a value has its device: the story that a diagnostic tells.

An `Origin` is the last event that decided the device, with the origin of the device that was asked for, if it
was given by a value (`x.to(device)`: where `device` came from). Origins take no part in comparing values, so a
loop that moves a tensor again and again still reaches its fixpoint.
"""

from __future__ import annotations

from devlint.domain.device import UNKNOWN_DEVICE, Device
from devlint.domain.kinds import OriginKind
from devlint.frontend.ir import Span
from devlint.records import dataclass

LEADS_THERE = "this call leads to the operation"
"""The words for a call on the way to an operation that has a conflict."""


@dataclass(frozen=True, slots=True)
class Origin:
    """One event.

    Attributes:
        what: what happened, ready to print: "created on the CPU by `torch.zeros`".
        file: the display path of the source file.
        span: where.
        kind: how the value came to be; see `OriginKind`.
        because: why the device was that one, or None when the event itself says so.
        checked: the device was chosen by asking whether it is there.
        left: of a move, where it came from.
        is_empty: a factory creates a tensor without elements. The tensor holds the place of one that is not there yet,
            and its users ask for its size first.
    """

    what: str
    file: str
    span: Span
    kind: OriginKind
    because: Origin | None = None
    checked: bool = False
    left: Device | None = None
    is_empty: bool = False

    @property
    def is_unasked(self) -> bool:
        """Whether nothing has asked for that device."""
        return self.because is None and not self.checked

    def steps(self) -> tuple[Origin, ...]:
        """The trace, oldest first."""
        return (self,) if self.because is None else (self.because, self)


OTHERS = "other elements of a list"
"""The subject of a stray that stands for all elements of a list: one of them was created on the CPU."""

TURN = "a turn of a loop"
"""The subject of a stray that a loop begins with: the first turn has it, whatever the later ones leave."""


@dataclass(frozen=True, slots=True)
class CpuOnOnePath:
    """How a value was created on the CPU, on one of the paths to a place.

    Attributes:
        subject: what chose the path, or `OTHERS`, of which it is not said that it meets anything.
        rank: how many dimensions it has on that path, as for a tensor.
        beside: where it is on the other paths.
        is_later: a turn of a loop has created it, so that only the next turn meets it, if there is one.
    """

    origin: Origin
    subject: str
    rank: int | None = None
    beside: Device = UNKNOWN_DEVICE
    is_later: bool = False

    @property
    def may_meet(self) -> bool:
        """Whether the value may meet others on that path."""
        return self.subject != OTHERS
