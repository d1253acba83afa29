"""Programs that tell what they compute: calls around expressions, and at the beginning of bodies."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

WORDS: Final[dict[type[ast.AST], str]] = {
    ast.Name: "Load",
    ast.Attribute: "Attribute",
    ast.Subscript: "Subscript",
    ast.Call: "Call",
    ast.BinOp: "Binary",
    ast.Compare: "Compare",
    ast.UnaryOp: "Unary",
    ast.BoolOp: "Logic",
    ast.IfExp: "Conditional",
}
"""The instruction that an expression becomes."""

OF_THE_FRAME: Final = frozenset({"locals", "globals", "super", "vars", "exec", "eval", "dir"})
"""Functions that read the frame of their caller."""

TELL, ENTER, HERE, ERROR = "__fact__", "__enter__body__", "__here__", "__error__"


class Place(NamedTuple):
    """An expression: its file, its instruction, its text, and the places of its operands."""

    path: str
    word: str
    span: tuple[int, int, int, int]
    operands: tuple[int, ...]


def instrumented(text: bytes, path: str, places: list[Place]) -> ast.Module:
    """Return a file that calls TELL(number, value, HERE) for each expression; `places` gets the place of each number.

    Raises:
        SyntaxError, ValueError: the text is no Python.
    """
    tree = ast.parse(text, path)
    _Teller(path, places).visit(tree)
    return ast.fix_missing_locations(tree)


class _Teller(ast.NodeTransformer):
    def __init__(self, path: str, places: list[Place]) -> None:
        self._path = path
        self._places = places
        self._operands: list[int] = []

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.JoinedStr, ast.Match, ast.Delete)):  # have other positions, or are other instructions
            return node
        if type(node) in WORDS and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return self._told(node)
        return super().visit(node)

    def _told(self, node: ast.AST) -> ast.AST:
        around, self._operands = self._operands, []
        self.generic_visit(node)
        operands, self._operands = tuple(self._operands), around
        name = node.func if isinstance(node, ast.Call) else node
        if isinstance(name, ast.Name) and (name.id in OF_THE_FRAME or name.id.startswith("__")):
            return node
        if isinstance(node, ast.Compare) and (len(node.ops) > 1 or ast.unparse(node.left) == "__name__"):
            return node  # several instructions with one text; and each file is a program for the inference
        assert isinstance(node, ast.expr)
        end_line, end_column = node.end_lineno, node.end_col_offset
        assert end_line is not None
        assert end_column is not None
        number = len(self._places)
        span = (node.lineno, node.col_offset, end_line, end_column)
        self._places.append(Place(self._path, WORDS[type(node)], span, operands))
        self._operands.append(number)
        return ast.copy_location(ast.Call(_name(TELL), [ast.Constant(number), node, _name(HERE)], []), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        node.value = self.visit(node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = None if node.value is None else self.visit(node.value)
        return node

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self.generic_visit(node)
        node.body = self._entered(node.body, 0, 0)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        self._defaults(node.args)
        node.body = self._entered([self.visit(each) for each in node.body], node.lineno, node.col_offset)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._defaults(node.args)
        arguments = ast.arguments([], [ast.arg(HERE)], None, [], [], None, [])
        inner = ast.Lambda(arguments, self.visit(node.body))
        node.body = ast.Call(inner, [self._begin(node.lineno, node.col_offset)], [])
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        for name in ("decorator_list", "bases", "body"):
            setattr(node, name, [self.visit(each) for each in getattr(node, name)])
        return node

    def _defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.visit(each) for each in arguments.defaults]
        arguments.kw_defaults = [None if each is None else self.visit(each) for each in arguments.kw_defaults]

    def _begin(self, line: int, column: int) -> ast.expr:
        scope = ast.Call(_name("locals"), [], [])
        where: list[ast.expr] = [ast.Constant(self._path), ast.Constant(line), ast.Constant(column)]
        return ast.Call(_name(ENTER), [*where, scope], [])

    def _entered(self, body: Sequence[ast.stmt], line: int, column: int) -> list[ast.stmt]:
        """Return a body that tells how it begins, and which exception leaves it."""
        first = 0
        while first < len(body) and _stays_first(body[first]):
            first += 1
        begin = ast.Assign([ast.Name(HERE, ast.Store())], self._begin(line, column))
        told = ast.Expr(ast.Call(ast.Attribute(_name(HERE), "left_by", ast.Load()), [_name(ERROR)], []))
        handler = ast.ExceptHandler(_name("BaseException"), ERROR, [told, ast.Raise()])
        rest = list(body[first:]) or [ast.Pass()]
        return [*body[:first], begin, ast.Try(rest, [handler], [], [])]


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _stays_first(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    return isinstance(node, (ast.Global, ast.Nonlocal)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
