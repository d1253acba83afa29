"""Claims: what each execution for every caller knows about the values of its expressions, kept for comparisons."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias, final

from devlint.frontend import ir
from devlint.inference.state.frame import NOBODY, Frame, Recorder
from devlint.inference.state.where import device_of, device_of_module, rank_of
from devlint.inference.values.code import Body
from devlint.inference.values.joins import join
from devlint.inference.values.terms import Value

EXPRESSIONS: Final = (
    ir.Load,
    ir.Attribute,
    ir.Subscript,
    ir.Call,
    ir.Binary,
    ir.Compare,
    ir.Unary,
    ir.Logic,
    ir.Conditional,
)

Expression: TypeAlias = "tuple[str, ir.Span]"
"""The name of a class of `EXPRESSIONS`, and the text of the expression."""


class Claim(NamedTuple):
    """The knowledge about one expression, in terms of the symbols of its body.

    Attributes:
        value, device, rank: the joins over all turns of loops that execute it.
        module_device: likewise, the device if the value is a module.
        conditions: terms that hold in each of these turns.
    """

    value: Value
    device: Value
    module_device: Value
    rank: Value
    conditions: tuple[Value, ...]


@final
class Claims(Recorder):
    """Keeps the claims of each body, from its last execution that holds for every caller."""

    __slots__ = ("_frames",)

    def __init__(self) -> None:
        self._frames: dict[Frame, dict[Expression, Claim]] = {}

    def saw(self, frame: Frame, instruction: ir.Instruction) -> None:
        """See `Recorder`."""
        if frame.oracle is not NOBODY or not frame.is_live or not isinstance(instruction, EXPRESSIONS):
            return
        value = frame.registers[instruction.target]
        device, home, rank = device_of(frame, value), device_of_module(frame, value), rank_of(frame, value)
        found = Claim(value, device, home, rank, frame.conditions())
        of = self._frames.setdefault(frame, {})
        key = (type(instruction).__name__, instruction.span)
        of[key] = _joined(of[key], found) if key in of else found

    def of_bodies(self) -> dict[Body, dict[Expression, Claim]]:
        """Return the claims of each body."""
        return {frame.body: claims for frame, claims in self._frames.items()}


def _joined(one: Claim, two: Claim) -> Claim:
    return Claim(
        join(one.value, two.value),
        join(one.device, two.device),
        join(one.module_device, two.module_device),
        join(one.rank, two.rank),
        tuple([each for each in two.conditions if each in one.conditions]),
    )
