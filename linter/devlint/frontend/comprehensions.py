"""Lowering of comprehensions and generator expressions: loops in place, with variables of their own."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from devlint.frontend import ir
from devlint.frontend.scopes import ScopeBuilder, ValueTable, span_between, span_of
from devlint.frontend.targets import store

_Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _collection(scope: ScopeBuilder, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> ir.Register:
    container = scope.register()
    kind = "set" if type(node) is ast.SetComp else "list"
    scope.out.append(ir.Build(container, kind, (), span_of(node)))

    def add_element() -> None:
        source = scope.value(node.elt)
        scope.out.append(ir.Append(container, source, span_of(node.elt)))

    _loops(scope, node, add_element)
    return container


def _mapping(scope: ScopeBuilder, node: ast.DictComp) -> ir.Register:
    container = scope.register()
    scope.out.append(ir.BuildMapping(container, (), span_of(node)))

    def add_entry() -> None:
        key = scope.value(node.key)
        source = scope.value(node.value)
        scope.out.append(ir.StoreSubscript(container, key, source, span_between(node.key, node.value)))

    _loops(scope, node, add_entry)
    return container


def _loops(scope: ScopeBuilder, node: _Comprehension, add: Callable[[], None]) -> None:
    """Lowers the `for` and `if` clauses around `add`, which writes the innermost block.

    The first iterable is evaluated before the comprehension's variables come into sight.
    """
    iterable = scope.value(node.generators[0].iter)
    outer_renames = scope.renames
    scope.renames = outer_renames | _fresh_names(node)
    _loop(scope, node.generators, 0, iterable, add)
    scope.renames = outer_renames


def _loop(
    scope: ScopeBuilder,
    generators: list[ast.comprehension],
    position: int,
    iterable: ir.Register,
    add: Callable[[], None],
) -> None:
    generator = generators[position]
    element = scope.register()
    outer = scope.begin()
    store(scope, generator.target, element)
    tests: list[tuple[list[ir.Instruction], ir.Register, ir.Span]] = []
    for condition in generator.ifs:
        test = scope.value(condition)
        tests.append((scope.begin(), test, span_of(condition)))
    if position + 1 == len(generators):
        add()
    else:
        inner_iterable = scope.value(generators[position + 1].iter)
        _loop(scope, generators, position + 1, inner_iterable, add)
    for unfinished, test, span in reversed(tests):
        then = scope.end(unfinished)
        scope.out.append(ir.If(test, then, (), span))
    body = scope.end(outer)
    span = span_between(generator.target, generator.iter)
    scope.out.append(ir.For(iterable, element, body, (), span, True))


def _fresh_names(node: _Comprehension) -> dict[str, str]:
    """A name for each loop variable that no other comprehension has and no source can write."""
    suffix = f"@{node.lineno}:{node.col_offset}"
    fresh: dict[str, str] = {}
    for generator in node.generators:
        target = generator.target
        if type(target) is ast.Name:
            fresh[target.id] = target.id + suffix
        else:
            for part in ast.walk(target):
                if type(part) is ast.Name and type(part.ctx) is ast.Store:
                    fresh[part.id] = part.id + suffix
    return fresh


VALUES: ValueTable = {
    ast.ListComp: _collection,
    ast.SetComp: _collection,
    ast.GeneratorExp: _collection,
    ast.DictComp: _mapping,
}
