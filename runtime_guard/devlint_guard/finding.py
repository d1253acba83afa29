"""What the guard finds: plain data, from whichever layer, to whichever report."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

from devlint_guard.codes import NAMES


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A stretch of the user's source as people count: lines and columns start at 1, columns count code points.

    The end is exclusive. Where only the line is known (CPython 3.10), columns are 0 and `end_line` is `line`.

    Attributes:
        file: as reports show it, relative to the working directory where it lies below it.
        function: the qualified name of the function, `<module>` at the top of a file.
    """

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""


class Role(enum.Enum):
    """What a tensor is to the program."""

    PARAMETER = "parameter"
    BUFFER = "buffer"
    ATTRIBUTE = "unregistered attribute"
    ARGUMENT = "argument"
    VARIABLE = "variable"
    TEMPORARY = "temporary"
    OPTIMIZER_STATE = "optimizer state"
    GRADIENT = "gradient"
    MODULE = "module"
    GENERATOR = "generator"
    UNKNOWN = "value"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of how a value came to where it is, such as `created on the CPU by torch.full`."""

    message: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Operand:
    """One of the values that meet.

    Attributes:
        name: as the user's source calls it (`self.pe`, `batch['mask']`), or the parameter that it is passed for.
        role: see `Role`.
        device: `cpu`, `cuda:1`, `meta`; of a module that is split, each of them, joined by ` and `.
        detail: dtype and shape, `float32[128, 128]`; of a module, how many of its tensors are there.
        qualified: its path from the root, `model.encoder.layers.3.pos`, where it has one.
        place: where this expression stands in the user's source.
        history: what put it where it is, oldest first; empty while nothing records.
        blamed: whether this is the one to move.
    """

    name: str
    role: Role
    device: str
    detail: str = ""
    qualified: str = ""
    place: Place | None = None
    history: tuple[Step, ...] = ()
    blamed: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the user's source, as it is and as it should be.

    Attributes:
        place: the line.
        before: its text.
        after: the text to put there, of one line or two.
    """

    place: Place
    before: str
    after: str

    def lines(self) -> list[tuple[str, str]]:
        """The lines of a diff, without their common indentation, each with its sign: `-`, `+`, or nothing."""
        after = self.after.split("\n")
        indent = min(len(line) - len(line.lstrip()) for line in [self.before, *after])
        removed = [] if self.before in after else [("-", self.before)]
        signed = [*removed, *(("" if line == self.before else "+", line) for line in after)]
        return [(sign, line[indent:]) for sign, line in signed]


Changes = tuple[Change, ...]
"""One change: of one line, or of a line at each end of an expression; empty where it cannot be made."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do.

    Attributes:
        text: in the imperative.
        changes: the lines that do it.
        cause: what happened at that place.
    """

    text: str
    changes: Changes
    cause: Step | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found.

    Attributes:
        code: a key of `codes.NAMES`.
        message: one sentence without a full stop that names both sides and both devices.
        place: the user's line, or None when no user code is on the stack.
        module: the path of the innermost module, `model.encoder.layers.0.self_attn`; empty outside of any.
        module_class: its class.
        operands: the values that meet, the blamed one first.
        pytorch: PyTorch's own message, or None when PyTorch has raised nothing.
        help: changes to make, in the imperative, the best first.
        changes: the first of them, carried out; empty where it takes more than to exchange a line.
        suspect: something may legitimately mend it before it matters; shown only when the call fails.
        step: the number of the training step or root call, from 0; None where no steps are counted.
        ranks: of the processes that have found it; empty in a job of one process.
        count: how often it was found.
        tried: what became of the program with the changes, or of those that were tried in vain; empty without a trial.
        advice: all that may mend it, the best first: what a trial may try. It is no part of a report.
    """

    code: str
    message: str
    place: Place | None = None
    module: str = ""
    module_class: str = ""
    operands: tuple[Operand, ...] = ()
    pytorch: str | None = None
    help: tuple[str, ...] = ()
    changes: Changes = ()
    suspect: bool = False
    step: int | None = None
    ranks: tuple[int, ...] = ()
    count: int = 1
    tried: str = ""
    advice: tuple[Advice, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        assert self.code in NAMES, self.code

    @property
    def name(self) -> str:
        """The kebab-case name of the code."""
        return NAMES[self.code]

    @property
    def key(self) -> tuple[str, str, str, Place | None]:
        """Equal for repetitions of one finding: code, module, blamed operand, place."""
        return (self.code, self.module, next((o.name for o in self.operands if o.blamed), ""), self.place)


def ranks_named(ranks: Sequence[int]) -> str:
    """`rank 1`, `ranks 1, 3`; empty for none."""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}" if ranks else ""
