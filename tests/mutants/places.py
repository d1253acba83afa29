"""Places where code says that a value goes where another one is, and the text without that one word.

A place is `device=x.device` of a call that makes a tensor, or `.to(x.device)` of anything. Without it the call makes
its tensor on the CPU, or the value stays where it is.

Not every function shows that something is missing then. What it only hands on, by `return` or in an attribute, meets
nothing there; and of what it was given, or has from a call, it does not say that it is not where it should be, nor of
what is made like that. A tensor made of one number has no dimensions: in elementwise operations it may be on the CPU.
An index on the CPU selects from any tensor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

FACTORIES = frozenset(
    """
    arange as_tensor asarray empty empty_like eye from_numpy full full_like linspace logspace normal ones ones_like rand
    rand_like randint randint_like randn randn_like randperm scalar_tensor tensor tril_indices triu_indices zeros
    zeros_like
    """.split()
)
"""Functions of torch that make a tensor and take a `device`."""

_NOTHING_LEFT = frozenset({"non_blocking", "copy"})
"""Arguments of `to` that ask for nothing by themselves."""


class Place(NamedTuple):
    """One place.

    Attributes:
        path: its file.
        package: the folder among those of the packages that the file is in.
        line: where it stands.
        kind: "factory" or "move"; behind a comma, why its function may not show that it is missing.
        said: the text that is taken away.
        function: which of the file's outermost functions it is in, in the order of the source.
        start, end: the text to leave out, as offsets.
    """

    path: Path
    package: str
    line: int
    kind: str
    said: str
    function: int
    start: int
    end: int

    @property
    def is_in_view(self) -> bool:
        """Whether nothing says that its function may not show that it is missing."""
        return "," not in self.kind

    def without(self, text: str) -> str:
        """The file's text with the place taken away."""
        return text[: self.start] + text[self.end :]


def outermost_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions and methods that are in no other function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        else:
            yield from outermost_functions(node)


def lines_of(function: int, text: str) -> range:
    """The lines of one of the outermost functions of a file."""
    node = list(outermost_functions(ast.parse(text)))[function]
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def places(path: Path, package: str, text: str) -> Iterator[Place]:
    """The places of one file; one that is not Python has none."""
    if re.search(r"\.\s*device\b", text) is None:
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    finder = _Finder(text)
    for number, function in enumerate(outermost_functions(tree)):
        flow: Flow | None = None
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                for kind, start, end in finder.cuts(node):
                    if flow is None:
                        flow = Flow(function)
                    told = kind + (flow.why_not_of_factory(node) if kind == "factory" else flow.why_not_of_move(node))
                    yield Place(path, package, node.lineno, told, text[start:end], number, start, end)


class Flow:
    """Where the values of one function come from and go, by the names it gives them: no more than the text says."""

    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
        self._loads: dict[str, list[ast.expr]] = {}
        self._stored: dict[str, list[ast.expr]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._loads.setdefault(node.id, []).append(node)
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for name in (inner for target in targets for inner in ast.walk(target)):
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                        self._stored.setdefault(name.id, []).append(node.value)

    def why_not_of_factory(self, call: ast.Call) -> str:
        """Why the function may not show that a tensor is made on the CPU; empty if nothing says so."""
        if _is_like(call) and not self._is_made(call.args[0], frozenset()):
            return ", like one from elsewhere"
        if self._is_handed_on(call):
            return ", handed on"
        return ", of a number" if _is_of_number(call) else ", an index" if self._is_index(call) else ""

    def why_not_of_move(self, call: ast.Call) -> str:
        """Why it may not show that something is not moved: it has neither made it nor brought it to the CPU."""
        assert isinstance(call.func, ast.Attribute)
        return "" if self._is_made(call.func.value, frozenset()) else ", from elsewhere"

    def _is_made(self, value: ast.expr, seen: frozenset[str]) -> bool:
        for node in ast.walk(value):
            if isinstance(node, ast.Call) and (_is_factory(node.func) or _brings_to_cpu(node.func)):
                return True
            if isinstance(node, ast.Name) and node.id not in seen:
                inner = seen | {node.id}
                if any(self._is_made(stored, inner) for stored in self._stored.get(node.id, ())):
                    return True
        return False

    def _is_handed_on(self, value: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """Whether all that becomes of a value is that it is returned or kept."""
        node: ast.AST = value
        while isinstance(parent := self._parents.get(node), _CONTAINERS):
            node = parent
        match parent:
            case ast.Return() | ast.Yield():
                return True
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()], value=value) if value is node:
                return True
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return name in seen or all(
                    self._is_no_meeting(load) or self._is_handed_on(load, seen | {name})
                    for load in self._loads.get(name, ())
                )
            case _:
                return False

    def _is_index(self, value: ast.expr) -> bool:
        """Whether all that becomes of a value is that it selects from others: `x[i]`, `x[:, i]`."""
        node: ast.AST = value
        parent = self._parents.get(node)
        if isinstance(parent, ast.Tuple):
            node, parent = parent, self._parents.get(parent)
        match parent:
            case ast.Subscript(slice=chosen):
                return chosen is node
            case ast.Assign(targets=[ast.Name(id=name)]):
                loads = self._loads.get(name, ())
                return len(self._stored.get(name, ())) == 1 and bool(loads) and all(map(self._is_index, loads))
            case _:
                return False

    def _is_no_meeting(self, load: ast.expr) -> bool:
        """Whether a use only fills what a name holds, or asks for its shape: `x[i] = y`, `x.shape`."""
        match self._parents.get(load):
            case ast.Subscript(value=value, ctx=ast.Store()):
                return value is load
            case ast.Attribute(attr="shape" | "ndim" | "dtype" | "device"):
                return True
            case _:
                return False


_CONTAINERS = (ast.Tuple, ast.List, ast.Dict, ast.IfExp)


def _is_like(call: ast.Call) -> bool:
    """Whether a factory makes its tensor where another one is, if it is not told."""
    return isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_like") and bool(call.args)


def _is_of_number(call: ast.Call) -> bool:
    """Whether a factory is given a number as its data, or `()` as its shape."""
    match call.args[:1]:
        case [ast.Constant(value=int() | float())] | [ast.UnaryOp(operand=ast.Constant())]:
            return isinstance(call.func, ast.Attribute) and call.func.attr in ("tensor", "as_tensor", "scalar_tensor")
        case [ast.Tuple(elts=[])]:
            return True
        case _:
            return False


def _brings_to_cpu(function: ast.expr) -> bool:
    """Whether what is called gives a tensor on the CPU whatever it is given."""
    match function:
        case ast.Attribute(attr="cpu") | ast.Attribute(value=ast.Name(id="torch"), attr="load"):
            return True
        case _:
            return False


class _Finder:
    """Finds what to cut out of one file's text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]

    def _offset(self, line: int, column: int) -> int:
        """An offset in characters from a line and a column that `ast` counts in bytes."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def cuts(self, call: ast.Call) -> Iterator[tuple[str, int, int]]:
        """What can be taken away from one call: the kind, and the stretch of text."""
        if _is_factory(call.func):
            for keyword in call.keywords:
                if keyword.arg == "device" and _is_device_of(keyword.value):
                    yield "factory", *self._argument(keyword)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "to":
            named = [keyword for keyword in call.keywords if keyword.arg == "device"]
            given: list[ast.expr | ast.keyword] = [*named, *([] if named else call.args[:1])]
            for item in given:
                if not _is_device_of(item.value if isinstance(item, ast.keyword) else item):
                    continue
                others = [arg for arg in call.args if arg is not item]
                keywords = [keyword for keyword in call.keywords if keyword is not item]
                if others or any(keyword.arg not in _NOTHING_LEFT for keyword in keywords):
                    yield "move", *self._argument(item)
                else:
                    yield "move", *self._whole_call(call, call.func)

    def _argument(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        """An argument with the comma behind it, or else the one before it."""
        start, end = self._span(node)
        behind = re.compile(r"\s*,[ \t]*").match(self._text, end)
        if behind is not None:
            return start, behind.end()
        before = re.compile(r",\s*$").search(self._text[:start])
        return (start if before is None else before.start()), end

    def _whole_call(self, call: ast.Call, function: ast.Attribute) -> tuple[int, int]:
        """`.to(…)` with its dot."""
        _, end = self._span(function)
        dot = re.compile(r"\.\s*to$").search(self._text[:end])
        assert dot is not None
        return dot.start(), self._span(call)[1]


def _is_factory(function: ast.expr) -> bool:
    match function:
        case ast.Attribute(value=ast.Name(id="torch"), attr=name):
            return name in FACTORIES
        case _:
            return False


def _is_device_of(value: ast.expr) -> bool:
    return isinstance(value, ast.Attribute) and value.attr == "device"
