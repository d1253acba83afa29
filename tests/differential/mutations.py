"""Programs that lack one thing on which a device depends; PyTorch says which of them fail for it."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator

from tests.differential.program import Program, parsed

_MOVED = re.compile(r"(\w+) = \1(\.(?:to|cuda|cpu)\(.*\))")
_BUFFER = re.compile(r"self\.register_buffer\('(\w+)', (.+?)(?:, persistent=False)?\)")


def mutant(program: Program) -> Program | None:
    """One of the program's mutants, the same each time; None if there is nothing to take away."""
    found = [*program.rewritten(changes)]
    return random.Random(program.text).choice(found) if found else None


def changes(text: str) -> Iterator[str]:
    """A statement without a move, without what keeps its result, without a device, or with a buffer unregistered."""
    discarded = _MOVED.fullmatch(text)
    if discarded is not None:
        yield f"{discarded[1]}{discarded[2]}"
    buffer = _BUFFER.fullmatch(text)
    if buffer is not None:
        yield f"self.{buffer[1]} = {buffer[2]}"
    tree = parsed(text)
    for node in () if tree is None or "\n" in text else ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _without(text, node)


def _without(text: str, call: ast.Call) -> Iterator[str]:
    """The text with a call of `to` and its like replaced by its receiver, or a call without its `device=`."""
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in ("to", "cuda", "cpu"):
        kept = ast.get_source_segment(text, function.value)
        yield f"{text[: call.col_offset]}{kept}{text[call.end_col_offset :]}"
    for keyword in call.keywords:
        before = text[: keyword.col_offset]
        if keyword.arg == "device" and before.endswith(", "):
            yield before[:-2] + text[keyword.end_col_offset :]
