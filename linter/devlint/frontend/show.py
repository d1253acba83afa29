"""Prints blocks of the intermediate representation for people: tests and debugging."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from devlint.frontend import ir


class _Section(NamedTuple):
    """A block that an instruction holds, under the words that introduce it."""

    label: str
    block: ir.Block


_Shown: TypeAlias = "str | list[_Section]"


def ir_text(block: ir.Block) -> str:
    """The instructions of a block, one per line, the blocks they hold indented below them.

    Spans are left out, and so are the fields of scopes; operands appear in brackets on the line of their
    instruction, e.g. `1 = Logic [0 = Load a] -> 0 and [2 = Load b] -> 2`.
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
        shown = _shown(instruction)
        if isinstance(shown, str):
            yield indent + shown
            continue
        for section in shown:
            yield f"{indent}{section.label}:"
            yield from _lines(section.block, indent + "    ")


def _inline(block: ir.Block) -> str:
    """A block on one line, in brackets; the blocks inside it in braces."""
    parts: list[str] = []
    for instruction in block:
        shown = _shown(instruction)
        if isinstance(shown, str):
            parts.append(shown)
        else:
            parts.append(" ".join(f"{section.label} {{{_inline(section.block)}}}" for section in shown))
    return "; ".join(parts)


def _shown(instruction: ir.Instruction) -> _Shown:
    return _SHOWN[type(instruction)](instruction)


def _operand(operand: ir.Operand) -> str:
    return f"[{_inline(operand.block)}] -> {operand.register}"


def _arguments(arguments: tuple[ir.Argument, ...]) -> str:
    return ", ".join(map(_argument, arguments))


def _argument(argument: ir.Argument) -> str:
    if argument.unpack:
        return f"{'*' if argument.keyword is None else '**'}{argument.register}"
    return str(argument.register) if argument.keyword is None else f"{argument.keyword}={argument.register}"


def _slice(i: ir.Slice) -> str:
    parts = ["" if part is None else str(part) for part in (i.lower, i.upper, i.step)]
    return f"{i.target} = Slice {':'.join(parts)}"


def _call(i: ir.Call) -> str:
    discarded = " discarded" if i.discarded else ""
    return f"{i.target} = Call {i.function}({_arguments(i.arguments)}){discarded}"


def _build(i: ir.Build) -> str:
    items = [f"*{item.register}" if item.unpack else str(item.register) for item in i.items]
    return f"{i.target} = Build {i.kind}({', '.join(items)})"


def _build_mapping(i: ir.BuildMapping) -> str:
    items = [f"**{value}" if key is None else f"{key}: {value}" for key, value in i.items]
    return f"{i.target} = BuildMapping {{{', '.join(items)}}}"


def _unpack(i: ir.Unpack) -> str:
    targets = [f"*{target}" if position == i.starred else str(target) for position, target in enumerate(i.targets)]
    return f"{', '.join(targets)} = Unpack {i.source}"


def _logic(i: ir.Logic) -> str:
    return f"{i.target} = Logic {f' {i.operator} '.join(map(_operand, i.operands))}"


def _format(i: ir.Format) -> str:
    return f"{i.target} = Format {' '.join(repr(p) if isinstance(p, str) else str(p) for p in i.parts)}"


def _yield(i: ir.Yield) -> str:
    source = "" if i.source is None else f" {i.source}"
    return f"{i.target} = Yield{' from' if i.delegate else ''}{source}"


def _store(i: ir.Store) -> str:
    annotation = "" if i.annotation is None else f": {annotation_text(i.annotation)}"
    return f"Store {i.name}{annotation} {i.source}"


def _import(i: ir.Import) -> str:
    return f"Import {i.module} as {i.name}" if i.whole else f"Import {i.module} for {i.name}"


def _import_from(i: ir.ImportFrom) -> str:
    return f"ImportFrom {'.' * i.level}{i.module} {i.member} as {i.name}"


def _decorators(registers: tuple[ir.Register, ...]) -> str:
    return "".join(f" @{register}" for register in registers)


def _make_function(i: ir.MakeFunction) -> list[_Section]:
    function = i.function
    defaults = dict(i.defaults)
    parameters: list[str] = []
    for parameter in function.parameters:
        text = f"{parameter.name} {parameter.kind}"
        if parameter.annotation is not None:
            text += f": {annotation_text(parameter.annotation)}"
        if parameter.name in defaults:
            text += f" = {defaults[parameter.name]}"
        parameters.append(text)
    returns = "" if function.returns is None else f" -> {annotation_text(function.returns)}"
    head = f"{i.target} = MakeFunction {function.name}({', '.join(parameters)}){returns}"
    return [_Section(head + _decorators(i.decorators), function.body)]


def _make_class(i: ir.MakeClass) -> list[_Section]:
    head = f"{i.target} = MakeClass {i.body.name}({_arguments(i.bases)}){_decorators(i.decorators)}"
    return [_Section(head, i.body.body)]


def _optional(label: str, block: ir.Block) -> list[_Section]:
    return [_Section(label, block)] if block else []


def _if(i: ir.If) -> list[_Section]:
    return [_Section(f"If {i.test}", i.then), *_optional("else", i.orelse)]


def _while(i: ir.While) -> list[_Section]:
    return [_Section(f"While {_operand(i.test)}", i.body), *_optional("else", i.orelse)]


def _for(i: ir.For) -> list[_Section]:
    kind = " comprehension" if i.comprehension else ""
    return [_Section(f"For {i.element} in {i.iterable}{kind}", i.body), *_optional("else", i.orelse)]


def _try(i: ir.Try) -> list[_Section]:
    sections = [_Section("Try", i.body)]
    for handler in i.handlers:
        test = "" if handler.test is None else f" {_operand(handler.test)}"
        name = "" if handler.name is None else f" as {handler.name}"
        sections.append(_Section(f"except{test}{name}", handler.body))
    return [*sections, *_optional("else", i.orelse), *_optional("finally", i.final)]


_SHOWN: dict[type[Any], Callable[[Any], _Shown]] = {
    ir.Const: lambda i: f"{i.target} = Const {i.value!r}",
    ir.Load: lambda i: f"{i.target} = Load {i.name}",
    ir.Attribute: lambda i: f"{i.target} = Attribute {i.base} .{i.name}",
    ir.Subscript: lambda i: f"{i.target} = Subscript {i.base}[{i.index}]",
    ir.Slice: _slice,
    ir.Call: _call,
    ir.Binary: lambda i: f"{i.target} = Binary {i.left} {i.operator}{'=' if i.in_place else ''} {i.right}",
    ir.Unary: lambda i: f"{i.target} = Unary {i.operator} {i.operand}",
    ir.Compare: lambda i: f"{i.target} = Compare {i.left} {i.operator} {i.right}",
    ir.Logic: _logic,
    ir.Conditional: lambda i: f"{i.target} = Conditional {i.test} ? {_operand(i.then)} : {_operand(i.orelse)}",
    ir.Format: _format,
    ir.Build: _build,
    ir.BuildMapping: _build_mapping,
    ir.Append: lambda i: f"Append {i.container} {i.source}",
    ir.Unpack: _unpack,
    ir.MakeFunction: _make_function,
    ir.MakeClass: _make_class,
    ir.Yield: _yield,
    ir.Await: lambda i: f"{i.target} = Await {i.source}",
    ir.Anything: lambda i: f"{i.target} = Anything",
    ir.Store: _store,
    ir.StoreAttribute: lambda i: f"StoreAttribute {i.base} .{i.name} {i.source}",
    ir.StoreSubscript: lambda i: f"StoreSubscript {i.base}[{i.index}] {i.source}",
    ir.Delete: lambda i: f"Delete {i.name}",
    ir.DeleteAttribute: lambda i: f"DeleteAttribute {i.base} .{i.name}",
    ir.DeleteSubscript: lambda i: f"DeleteSubscript {i.base}[{i.index}]",
    ir.Import: _import,
    ir.ImportFrom: _import_from,
    ir.If: _if,
    ir.While: _while,
    ir.For: _for,
    ir.Try: _try,
    ir.With: lambda i: [_Section(f"With {i.context} as {i.result}", i.body)],
    ir.Return: lambda i: "Return" if i.source is None else f"Return {i.source}",
    ir.Raise: lambda i: "Raise",
    ir.Break: lambda i: "Break",
    ir.Continue: lambda i: "Continue",
}
