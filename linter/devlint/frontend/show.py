"""Prints blocks of the intermediate representation for people: tests and debugging."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from devlint.frontend import ir

_NAMED = ("lower", "upper", "step", "starred")
"""Fields that are shown with their names, since each of them may be absent."""

_ELSEWHERE = {"orelse": "else", "final": "finally"}
"""Fields with a further block of an instruction, and the words that introduce it."""


def ir_text(block: ir.Block) -> str:
    """The instructions of a block, one per line, the blocks they hold indented below them.

    Spans are left out, and so are absent and false fields. Operands appear in brackets, e.g.
    `1 = Logic and ([0 = Load a] -> 0, [2 = Load b] -> 2)`.
    """
    return "\n".join(_lines(block, ""))


def annotation_text(annotation: ir.Annotation | None) -> str:
    """An annotation as in `list[Tensor]|None`; "?" for one that is not understood or absent."""
    if annotation is None:
        return "?"
    first, *others = annotation.names
    element = "" if annotation.element is None else f"[{annotation_text(annotation.element)}]"
    return "|".join([first + element, *others])


def _lines(block: ir.Block, indent: str) -> Iterator[str]:
    for instruction in block:
        for label, inner in _sections(instruction):
            yield f"{indent}{label}" if inner is None else f"{indent}{label}:"
            yield from _lines(inner or (), indent + "    ")


def _inline(block: ir.Block) -> str:
    """A block on one line; the blocks inside it in braces."""
    sections = (_sections(instruction) for instruction in block)
    return "; ".join(" ".join(_braced(*section) for section in each) for each in sections)


def _braced(label: str, inner: ir.Block | None) -> str:
    return label if inner is None else f"{label} {{{_inline(inner)}}}"


def _sections(instruction: ir.Instruction) -> list[tuple[str, ir.Block | None]]:
    """The words for an instruction with its first block, if it has one, and its other blocks with theirs."""
    fields: dict[str, Any] = instruction._asdict()
    target = f"{fields.pop('target')} = " if "target" in fields else ""
    words, first, others = [f"{target}{type(instruction).__name__}"], None, []
    for name, value in fields.items():
        if isinstance(value, ir.Scope):
            first = value.body
            words.append(_scope(value))
        elif name in ("then", "body") and not isinstance(value, ir.Operand):
            first = value
        elif name in _ELSEWHERE and not isinstance(value, ir.Operand):
            others += [(_ELSEWHERE[name], value)] if value else []
        elif name == "handlers":
            others += [(" ".join(["except", *_present(one.test, one.name)]), one.body) for one in value]
        elif name in ("value", "parts"):
            words.append(repr(value))
        elif name != "span":
            words += [f"{name}={value}"] if name in _NAMED and value is not None else _present(value, flag=name)
    return [(" ".join(words), first), *others]


def _present(*values: object, flag: str = "") -> list[str]:
    """The texts of values, without those that are absent or false; of one that is true, its name."""
    present = (value for value in values if not (value is None or value is False or value == ()))
    return [flag if value is True else _value(value) for value in present]


def _scope(scope: ir.Scope) -> str:
    if not isinstance(scope, ir.Function):
        return scope.name
    parameters = [" ".join([one.name, one.kind, *_present(one.annotation)]) for one in scope.parameters]
    return " -> ".join([f"{scope.name}({', '.join(parameters)})", *_present(scope.returns)])


def _value(value: object) -> str:
    match value:
        case ir.Operand(block, register):
            return f"[{_inline(block)}] -> {register}"
        case ir.Argument(register, keyword, unpack):
            sign = "" if not unpack else "*" if keyword is None else "**"
            return f"{sign}{register}" if unpack or keyword is None else f"{keyword}={register}"
        case ir.Item(register, unpack):
            return f"{'*' * unpack}{register}"
        case ir.Annotation():
            return annotation_text(value)
        case tuple():
            return f"({', '.join(map(_value, value))})"
    return str(value)
