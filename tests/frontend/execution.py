"""Executes lowered files on real values, so that lowering can be compared with Python itself.

Generators, coroutines, classes and what lowering leaves open (Anything) are not executed.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NoReturn

from devlint.frontend import ir

_BINARY: dict[str, str] = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "@": "matmul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "<<": "lshift",
    ">>": "rshift",
    "|": "or",
    "^": "xor",
    "&": "and",
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
}


class RaisedError(Exception):
    """What a `raise` statement raises here: the IR does not say which exception it is."""


class _Return(BaseException):
    pass


class _Break(BaseException):
    pass


class _Continue(BaseException):
    pass


def execute(file: ir.File, names: dict[str, Any]) -> dict[str, Any]:
    """Executes a file with some names given, and returns all names that it leaves behind."""
    frame = _Frame(file, None, names)
    frame.block(file.body)
    return frame.names


class _Frame:
    """One execution of a scope."""

    def __init__(self, scope: ir.Scope, outer: _Frame | None, names: dict[str, Any]) -> None:
        self.scope = scope
        self.outer = outer
        self.names = names
        self.registers: dict[ir.Register, Any] = {}

    def block(self, block: ir.Block) -> None:
        for instruction in block:
            execute_one = getattr(self, f"execute_{type(instruction).__name__}")
            value = execute_one(instruction)
            target = getattr(instruction, "target", None)
            if target is not None:
                self.registers[target] = value

    def operand(self, operand: ir.Operand) -> Any:
        self.block(operand.block)
        return self.registers[operand.register]

    def optional(self, register: ir.Register | None) -> Any:
        return None if register is None else self.registers[register]

    def owner(self, name: str) -> _Frame:
        """The frame in which a name is looked up and bound."""
        frame = self
        while frame.outer is not None and name not in frame.scope.local_names:
            jump = name in frame.scope.global_names
            frame = frame.outer
            while jump and frame.outer is not None:
                frame = frame.outer
        return frame

    def execute_Const(self, i: ir.Const) -> Any:  # noqa: N802
        return i.value

    def execute_Load(self, i: ir.Load) -> Any:  # noqa: N802
        frame = self.owner(i.name)
        if i.name in frame.names:
            return frame.names[i.name]
        if frame.outer is not None:
            raise UnboundLocalError(i.name) if frame is self else NameError(i.name)
        try:
            return getattr(builtins, i.name)
        except AttributeError:
            raise NameError(i.name) from None

    def execute_Attribute(self, i: ir.Attribute) -> Any:  # noqa: N802
        return getattr(self.registers[i.base], i.name)

    def execute_Subscript(self, i: ir.Subscript) -> Any:  # noqa: N802
        return self.registers[i.base][self.registers[i.index]]

    def execute_Slice(self, i: ir.Slice) -> Any:  # noqa: N802
        return slice(self.optional(i.lower), self.optional(i.upper), self.optional(i.step))

    def execute_Call(self, i: ir.Call) -> Any:  # noqa: N802
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for argument in i.arguments:
            value = self.registers[argument.register]
            if argument.keyword is None:
                positional.extend(value if argument.unpack else [value])
            else:
                keywords.update(value if argument.unpack else {argument.keyword: value})
        return self.registers[i.function](*positional, **keywords)

    def execute_Binary(self, i: ir.Binary) -> Any:  # noqa: N802
        name = _BINARY[i.operator]
        method = f"i{name}" if i.in_place else f"{name}_" if name in ("or", "and") else name
        return getattr(operator, method)(self.registers[i.left], self.registers[i.right])

    def execute_Unary(self, i: ir.Unary) -> Any:  # noqa: N802
        return _UNARY[i.operator](self.registers[i.operand])

    def execute_Compare(self, i: ir.Compare) -> Any:  # noqa: N802
        return _COMPARE[i.operator](self.registers[i.left], self.registers[i.right])

    def execute_Logic(self, i: ir.Logic) -> Any:  # noqa: N802
        value: Any = None
        for operand in i.operands:
            value = self.operand(operand)
            if bool(value) == (i.operator == "or"):
                break
        return value

    def execute_Conditional(self, i: ir.Conditional) -> Any:  # noqa: N802
        return self.operand(i.then if self.registers[i.test] else i.orelse)

    def execute_Format(self, i: ir.Format) -> str:  # noqa: N802
        return "".join(part if isinstance(part, str) else format(self.registers[part]) for part in i.parts)

    def execute_Build(self, i: ir.Build) -> Any:  # noqa: N802
        items: list[Any] = []
        for item in i.items:
            value = self.registers[item.register]
            items.extend(value if item.unpack else [value])
        return {"tuple": tuple, "list": list, "set": set}[i.kind](items)

    def execute_BuildMapping(self, i: ir.BuildMapping) -> Any:  # noqa: N802
        mapping: dict[Any, Any] = {}
        for key, value in i.items:
            entry = self.registers[value]
            mapping.update(entry if key is None else {self.registers[key]: entry})
        return mapping

    def execute_Append(self, i: ir.Append) -> None:  # noqa: N802
        container = self.registers[i.container]
        add = container.append if isinstance(container, list) else container.add
        add(self.registers[i.source])

    def execute_Unpack(self, i: ir.Unpack) -> None:  # noqa: N802
        values = list(self.registers[i.source])
        if i.starred is not None:
            after = len(i.targets) - i.starred - 1
            end = len(values) - after
            values[i.starred : end] = [values[i.starred : end]]
        self.registers.update(zip(i.targets, values, strict=True))

    def execute_MakeFunction(self, i: ir.MakeFunction) -> Any:  # noqa: N802
        function = i.function
        defaults = {name: self.registers[register] for name, register in i.defaults}

        def run(*positional: Any, **keywords: Any) -> Any:
            frame = _Frame(function, self, _bound(function, defaults, list(positional), keywords))
            try:
                frame.block(function.body)
            except _Return as result:
                return result.args[0]
            return None

        made: Any = run
        for decorator in reversed(i.decorators):
            made = self.registers[decorator](made)
        return made

    def execute_Store(self, i: ir.Store) -> None:  # noqa: N802
        self.owner(i.name).names[i.name] = self.registers[i.source]

    def execute_StoreAttribute(self, i: ir.StoreAttribute) -> None:  # noqa: N802
        setattr(self.registers[i.base], i.name, self.registers[i.source])

    def execute_StoreSubscript(self, i: ir.StoreSubscript) -> None:  # noqa: N802
        self.registers[i.base][self.registers[i.index]] = self.registers[i.source]

    def execute_Delete(self, i: ir.Delete) -> None:  # noqa: N802
        del self.owner(i.name).names[i.name]

    def execute_DeleteSubscript(self, i: ir.DeleteSubscript) -> None:  # noqa: N802
        del self.registers[i.base][self.registers[i.index]]

    def execute_If(self, i: ir.If) -> None:  # noqa: N802
        self.block(i.then if self.registers[i.test] else i.orelse)

    def execute_While(self, i: ir.While) -> None:  # noqa: N802
        with suppress(_Break):
            while self.operand(i.test):
                with suppress(_Continue):
                    self.block(i.body)
            self.block(i.orelse)

    def execute_For(self, i: ir.For) -> None:  # noqa: N802
        elements: Iterator[Any] = iter(self.registers[i.iterable])
        with suppress(_Break):
            for self.registers[i.element] in elements:
                with suppress(_Continue):
                    self.block(i.body)
            self.block(i.orelse)

    def execute_Try(self, i: ir.Try) -> None:  # noqa: N802
        try:
            try:
                self.block(i.body)
            except Exception as error:
                self.handle(i, error)
            else:
                self.block(i.orelse)
        finally:
            self.block(i.final)

    def handle(self, i: ir.Try, error: Exception) -> None:
        for handler in i.handlers:
            if handler.test is None or isinstance(error, self.operand(handler.test)):
                self.block(handler.body)
                return
        raise error

    def execute_With(self, i: ir.With) -> None:  # noqa: N802
        with self.registers[i.context] as self.registers[i.result]:
            self.block(i.body)

    def execute_Return(self, i: ir.Return) -> NoReturn:  # noqa: N802
        raise _Return(self.optional(i.source))

    def execute_Raise(self, i: ir.Raise) -> NoReturn:  # noqa: N802
        raise RaisedError

    def execute_Break(self, i: ir.Break) -> NoReturn:  # noqa: N802
        raise _Break

    def execute_Continue(self, i: ir.Continue) -> NoReturn:  # noqa: N802
        raise _Continue


def _bound(
    function: ir.Function, defaults: dict[str, Any], positional: list[Any], keywords: dict[str, Any]
) -> dict[str, Any]:
    """The names of a function at its entry, for a call with these arguments."""
    names: dict[str, Any] = {}
    for parameter in function.parameters:
        name = parameter.name
        if parameter.kind == "args":
            names[name], positional = tuple(positional), []
        elif parameter.kind == "kwargs":
            names[name], keywords = keywords, {}
        elif parameter.kind != "keyword" and positional:
            names[name] = positional.pop(0)
        elif parameter.kind != "positional" and name in keywords:
            names[name] = keywords.pop(name)
        elif parameter.has_default:
            names[name] = defaults[name]
        else:
            raise TypeError(f"no argument for {name}")
    if positional or keywords:
        raise TypeError("too many arguments")
    return names
