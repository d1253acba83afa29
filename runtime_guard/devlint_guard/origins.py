"""Where the source gives a value its device, as far as reading it tells: the assignment that a name was bound by.

This needs no record of the run. A step is given only where one assignment can be meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType, FunctionType

import torch

from devlint_guard.expressions import Reader
from devlint_guard.finding import Step
from devlint_guard.frames import Site, Source, place_in_code, place_of, source_of, source_of_file
from devlint_guard.stored import UNKNOWN

_LONGEST = 60


def origin_of(site: Site, node: ast.expr) -> Step | None:
    """The assignment of a variable, or of an attribute, that a frame reads; None where none or several may be it."""
    source = source_of(site)
    if source is None:
        return None
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return _of_variable(site, source, node)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = Reader.at(site, source).value(node.value)
        return None if owner is UNKNOWN else _of_attribute(type(owner), node.attr)
    return _of_result(site, source, node)


def _of_result(site: Site, source: Source, node: ast.expr) -> Step | None:
    """The assignment of the only tensor that a result was computed from and that is where the result is."""
    reader = Reader.at(site, source)
    device = reader.device(node)
    parts = {
        source.of(part): part
        for part in ast.walk(node)
        if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(reader.value(part), torch.Tensor)
    }
    here = [(text, part) for text, part in parts.items() if reader.device(part) == device]
    if device is None or len(here) != 1:
        return None
    ((text, part),) = here
    step = origin_of(site, part)
    return None if step is None else Step(f"is computed from `{text}`, {step.message}", step.place)


def _of_variable(site: Site, source: Source, node: ast.Name) -> Step | None:
    """The last assignment above the line in the same function."""
    code = site.frame.f_code
    function = source.tree if code.co_name == "<module>" else _function(source.tree, code)
    if function is None:
        return None
    bindings = [
        (statement, value)
        for statement, target, value in _bindings(function)
        if isinstance(target, ast.Name) and target.id == node.id and _ends_before(statement, node)
    ]
    if not bindings:
        return None
    statement, value = max(bindings, key=lambda found: (found[0].lineno, found[0].col_offset))
    taken = isinstance(statement, (ast.For, ast.AsyncFor))
    return Step(f"{'taken from' if taken else 'assigned'} {_quoted(source, value)}", place_of(site, value))


def _ends_before(statement: ast.stmt, node: ast.expr) -> bool:
    """Whether a binding is done when a node is reached, reading downwards."""
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return statement.lineno < node.lineno <= (statement.end_lineno or statement.lineno)
    return (statement.end_lineno or statement.lineno) < node.lineno


def _of_attribute(owner: type, name: str) -> Step | None:
    """The only assignment of an attribute of `self` in the methods of a class and of its bases."""
    found: list[Step] = []
    for method in _methods(owner):
        code = method.__code__
        source = source_of_file(code.co_filename)
        function = None if source is None else _function(source.tree, code)
        if source is None or function is None or not function.args.args:
            continue
        own = function.args.args[0].arg
        for _, target, value in _bindings(function):
            match target:
                case ast.Attribute(value=ast.Name(id=of), attr=attr) if (of, attr) == (own, name):
                    found.append(Step(f"assigned {_quoted(source, value)}", place_in_code(code, value)))
    return found[0] if len(found) == 1 else None


def _methods(owner: type) -> Iterator[FunctionType]:
    for base in owner.__mro__:
        if not base.__module__.startswith("torch."):
            yield from (one for one in vars(base).values() if isinstance(one, FunctionType))


def _function(tree: ast.Module, code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The definition that a code object was compiled from; its decorators come before it."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def _bindings(function: ast.AST) -> Iterator[tuple[ast.stmt, ast.expr, ast.expr]]:
    """The assignments in a function, without those in functions within it: statement, target, value."""
    for node in ast.iter_child_nodes(function):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                continue
            case ast.Assign():
                for target in node.targets:
                    yield from ((node, one, node.value) for one in _targets(target))
            case ast.AnnAssign(value=ast.expr() as value):
                yield node, node.target, value
            case ast.For() | ast.AsyncFor():
                yield from ((node, one, node.iter) for one in _targets(node.target))
        yield from _bindings(node)


def _targets(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _targets(element)
    else:
        yield target.value if isinstance(target, ast.Starred) else target


def _quoted(source: Source, value: ast.expr) -> str:
    text = source.of(value)
    return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}`"
