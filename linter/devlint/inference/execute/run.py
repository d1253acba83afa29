"""The table of instructions, and the execution of a block by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from devlint.frontend import ir
from devlint.inference.state.frame import Frame

Executes: TypeAlias = Callable[[Frame, Any], None]

TABLE: Final[dict[type, Executes]] = {}
"""The function that executes an instruction, by the class of the instruction; `statements` fills the table."""


def block(frame: Frame, instructions: ir.Block) -> None:
    """Execute instructions until one leaves the block."""
    recorder = frame.engine.recorder
    for each in instructions:
        TABLE[type(each)](frame, each)
        if recorder is not None:
            recorder.saw(frame, each)
        if not frame.is_live:
            return
