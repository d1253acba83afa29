"""Findings as data for people: names from the text, devices in words, and the value to change."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from devlint.diagnostics import Place
from devlint.facts import Broken, Side
from devlint.inference.calls.attributes import MOVES
from devlint.inference.libraries.parallel import NOWHERE
from devlint.inference.requirements.machines import NO_ATTRIBUTE
from devlint.inference.values import data
from devlint.inference.values.data import (
    DRAWN,
    HOST,
    MODULE,
    ON_MACHINE,
    READ_INDEX,
    SHARE,
    WRAPPED,
    Finding,
    Participant,
)
from devlint.inference.values.tensors import ACCELERATOR, CPU, Device, Source, Tuple
from devlint.inference.values.terms import Constant, Value
from devlint.inference.verdict.codes import code_of, place_of
from devlint.inference.verdict.levels import level_of
from devlint.inference.verdict.words import names

LONGEST_NAME: Final = 24
"""How many characters of a value's text are its name."""


class Texts:
    """The texts of files.

    Args:
        texts: by the path that is shown.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._lines: dict[str, list[bytes]] = {}

    def _of(self, path: str) -> list[bytes]:
        if path not in self._lines:
            text = self._texts.get(path, "")
            self._lines[path] = [each.encode("utf-8", "surrogatepass") for each in text.split("\n")]
        return self._lines[path]

    def place(self, of: data.Place) -> Place:
        """Return a place as people count; one without an end is the rest of its line."""
        lines = self._of(of.path)
        line = lines[of.line - 1] if of.line <= len(lines) else b" " * of.column
        last = lines[of.end_line - 1] if 0 < of.end_line <= len(lines) else line
        end = of.end_column if of.end_line else len(line)
        return Place(of.path, of.line, _characters(line, of.column), of.end_line or of.line, _characters(last, end))

    def text(self, of: data.Place) -> str:
        """Return the text at a place that has an end; else ""."""
        if not of.end_line:
            return ""
        lines = self._of(of.path)[of.line - 1 : of.end_line]
        if not lines:
            return ""
        lines[-1] = lines[-1][: of.end_column]
        lines[0] = lines[0][of.column :]
        return b"\n".join(lines).decode("utf-8", "replace")


def _characters(line: bytes, column: int) -> int:
    return len(line[:column].decode("utf-8", "surrogatepass")) + 1


def broken(finding: Finding, texts: Texts) -> Broken:
    """Return a finding as data for people."""
    requirement = finding.requirement
    one, two = (finding.two, finding.one) if _is_second(finding) else (finding.one, finding.two)
    place = place_of(finding)
    text = texts.text(place)
    has_numbers = requirement.kind in ON_MACHINE or requirement.kind == WRAPPED
    return Broken(
        code_of(finding),
        _operation(text, requirement.operation),
        shortened(text) or requirement.operation,
        texts.place(place),
        _side(one, two, texts, has_numbers),
        _side(two, one, texts, has_numbers),
        level_of(finding),
        "with two GPUs" if _is_gpu(one.device) and _is_gpu(two.device) else "on a GPU",
        calls=tuple([texts.place(each) for each in requirement.chain]),
    )


def _is_second(finding: Finding) -> bool:
    """Whether the second participant is the one to change.

    That is a tensor that the host reads, a generator, or the tensor on the CPU; of two on accelerators, the later one.
    """
    kind, one, two = finding.requirement.kind, finding.one, finding.two
    if kind in (SHARE, READ_INDEX):
        return one.device is not CPU
    return kind == DRAWN or (one.role == HOST and two.role != HOST)


def _is_gpu(where: Value) -> bool:
    return isinstance(where, Device) and where not in (CPU, NOWHERE)


def _side(one: Participant, beside: Participant, texts: Texts, has_numbers: bool) -> Side:
    named = texts.text(one.place) if one.place is not None else ""
    where = _in_words(one.device, beside.device, has_numbers)
    source = one.source.items[0] if isinstance(one.source, Tuple) else one.source  # with devices not passed on
    decided = source.place if isinstance(source, Source) else None
    return Side(
        shortened(named),
        None if one.place is None else texts.place(one.place),
        where,
        None if decided is None else texts.place(decided),
        "" if decided is None else _how(texts.text(decided)),
        one.role == MODULE,
    )


def _how(text: str) -> str:
    """Return what the text does that decides a device."""
    node = _parsed(text)
    if not isinstance(node, ast.Call):
        return ""
    return "moved" if isinstance(node.func, ast.Attribute) and node.func.attr in MOVES else "created"


def _in_words(where: Value, beside: Value, has_numbers: bool) -> str:
    """Return a device in words: a GPU has a number only if two GPUs are involved, or the operation speaks of it."""
    if isinstance(where, Constant):
        return "" if where is NO_ATTRIBUTE else repr(where.value)
    if where is CPU:
        return "the CPU"
    if not isinstance(where, Device):
        return next((each for each in names(where) if each != CPU.name), "")
    if where is NOWHERE:
        return ""
    are_two = _is_gpu(beside) and beside is not where
    return where.name if (are_two or has_numbers) and where is not ACCELERATOR else "the GPU"


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(f"({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def shortened(text: str) -> str:
    """Return the name of a value: its text; of a long one, its function or its last part with `…`."""
    line = " ".join(text.split())
    if len(line) <= LONGEST_NAME:
        return line
    node = _parsed(text)
    if isinstance(node, ast.Call):
        called = ast.get_source_segment(f"({text})", node.func) or ""
        if len(called) + 3 <= LONGEST_NAME:
            return f"{called}(…)"
        return f"….{node.func.attr}(…)" if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node, ast.Subscript):
        base = shortened(ast.get_source_segment(f"({text})", node.value) or "")
        return f"{base}[…]" if base else ""
    return f"….{node.attr}" if isinstance(node, ast.Attribute) else ""


def _operation(text: str, otherwise: str) -> str:
    """Return an operation as the text names it: the function of a call, the value of a subscript."""
    node = _parsed(text)
    if isinstance(node, ast.Call):
        return shortened(ast.get_source_segment(f"({text})", node.func) or "") or otherwise
    if isinstance(node, ast.Subscript):
        return f"{shortened(ast.get_source_segment(f'({text})', node.value) or '')}[…]"
    return shortened(text) if isinstance(node, (ast.Attribute, ast.Constant)) else otherwise
