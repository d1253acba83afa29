"""Lowering of statements, except for definitions and `match`."""

from __future__ import annotations

import ast
from typing import Any, TypeAlias

from devlint.frontend import ir
from devlint.frontend.annotations import annotation_of
from devlint.frontend.expressions import call
from devlint.frontend.patterns import close_chain, match
from devlint.frontend.scopes import ScopeBuilder, StatementTable, span_of
from devlint.frontend.targets import augment, delete, store, store_annotated

_With: TypeAlias = ast.With | ast.AsyncWith


def _expression(scope: ScopeBuilder, node: ast.Expr) -> None:
    _discard(scope, node.value)


def _discard(scope: ScopeBuilder, value: ast.expr) -> None:
    """Lowers an expression whose value nothing uses; of `f(), g()` nothing uses either result."""
    kind = type(value)
    if kind is ast.Call:
        call(scope, value, discarded=True)  # type: ignore[arg-type]
    elif isinstance(value, ast.Tuple) and not any(isinstance(element, ast.Starred) for element in value.elts):
        for element in value.elts:
            _discard(scope, element)
    elif kind is not ast.Constant:
        scope.value(value)


def _assign(scope: ScopeBuilder, node: ast.Assign) -> None:
    value = node.value
    source = scope.values[type(value)](scope, value)
    for target in node.targets:
        store(scope, target, source, node)


def _annotated_assign(scope: ScopeBuilder, node: ast.AnnAssign) -> None:
    if node.value is None:
        return
    source = scope.value(node.value)
    if isinstance(node.target, ast.Name):
        store_annotated(scope, node.target, source, annotation_of(node.annotation))
    else:
        store(scope, node.target, source, node)


def _delete(scope: ScopeBuilder, node: ast.Delete) -> None:
    for target in node.targets:
        delete(scope, target)


def _if(scope: ScopeBuilder, node: ast.If) -> None:
    chain: list[tuple[list[ir.Instruction], ir.Register, ir.Block, ir.Span]] = []
    # `elif` is an `if` alone in the `orelse`; there can be thousands, so they are walked without recursion.
    while True:
        test = scope.value(node.test)
        then = scope.block(node.body)
        chain.append((scope.begin(), test, then, span_of(node)))
        orelse = node.orelse
        if len(orelse) != 1 or not isinstance(orelse[0], ast.If):
            break
        node = orelse[0]
    scope.run(orelse)
    close_chain(scope, chain)


def _while(scope: ScopeBuilder, node: ast.While) -> None:
    test = scope.operand(node.test)
    body = scope.block(node.body)
    scope.out.append(ir.While(test, body, scope.block(node.orelse), span_of(node)))


def _for(scope: ScopeBuilder, node: ast.For | ast.AsyncFor) -> None:
    iterable = scope.value(node.iter)
    element = scope.register()
    outer = scope.begin()
    store(scope, node.target, element)
    scope.run(node.body)
    body = scope.end(outer)
    orelse = scope.block(node.orelse)
    scope.out.append(ir.For(iterable, element, body, orelse, span_of(node)))


def _try(scope: ScopeBuilder, node: Any) -> None:
    # The class of `try … except*` exists since Python 3.11 only; its fields are those of `try`.
    body = scope.block(node.body)
    handlers = tuple([_handler(scope, handler) for handler in node.handlers])
    orelse = scope.block(node.orelse)
    final = scope.block(node.finalbody)
    scope.out.append(ir.Try(body, handlers, orelse, final, span_of(node)))


def _handler(scope: ScopeBuilder, node: ast.ExceptHandler) -> ir.Handler:
    test = None if node.type is None else scope.operand(node.type)
    outer = scope.begin()
    if node.name is not None:
        span = span_of(node)
        scope.store_name(node.name, scope.anything(span), span)
    scope.run(node.body)
    return ir.Handler(test, node.name, scope.end(outer))


def _with(scope: ScopeBuilder, node: _With) -> None:
    span = span_of(node)
    opened: list[tuple[list[ir.Instruction], ir.Register, ir.Register]] = []
    for item in node.items:
        context = scope.value(item.context_expr)
        result = scope.register()
        opened.append((scope.begin(), context, result))
        if item.optional_vars is not None:
            store(scope, item.optional_vars, result)
    scope.run(node.body)
    for outer, context, result in reversed(opened):
        body = scope.end(outer)
        scope.out.append(ir.With(context, result, body, span))


def _return(scope: ScopeBuilder, node: ast.Return) -> None:
    source = None if node.value is None else scope.value(node.value)
    scope.out.append(ir.Return(source, span_of(node)))


def _raise(scope: ScopeBuilder, node: ast.Raise) -> None:
    if node.exc is not None:
        scope.value(node.exc)
    if node.cause is not None:
        scope.value(node.cause)
    scope.out.append(ir.Raise(span_of(node)))


def _assert(scope: ScopeBuilder, node: ast.Assert) -> None:
    test = scope.value(node.test)
    span = span_of(node)
    outer = scope.begin()
    if node.msg is not None:
        scope.value(node.msg)
    scope.out.append(ir.Raise(span))
    orelse = scope.end(outer)
    scope.out.append(ir.If(test, (), orelse, span))


def _break(scope: ScopeBuilder, node: ast.Break) -> None:
    scope.out.append(ir.Break(span_of(node)))


def _continue(scope: ScopeBuilder, node: ast.Continue) -> None:
    scope.out.append(ir.Continue(span_of(node)))


def _pass(scope: ScopeBuilder, node: ast.Pass) -> None:
    return


def _global(scope: ScopeBuilder, node: ast.Global) -> None:
    scope.global_names.update(node.names)


def _nonlocal(scope: ScopeBuilder, node: ast.Nonlocal) -> None:
    scope.nonlocal_names.update(node.names)


def _import(scope: ScopeBuilder, node: ast.Import) -> None:
    for alias in node.names:
        first = alias.name.partition(".")[0]
        whole = alias.asname is not None or first == alias.name
        name = scope.bind(alias.asname or first)
        scope.out.append(ir.Import(name, alias.name, whole, span_of(alias)))


def _import_from(scope: ScopeBuilder, node: ast.ImportFrom) -> None:
    module = node.module or ""
    for alias in node.names:
        name = "*" if alias.name == "*" else scope.bind(alias.asname or alias.name)
        scope.out.append(ir.ImportFrom(name, module, alias.name, node.level, span_of(alias)))


def _type_alias(scope: ScopeBuilder, node: Any) -> None:
    # `type X = …` (Python 3.12) has no class in the `ast` of earlier versions.
    span = span_of(node)
    scope.store_name(node.name.id, scope.anything(span), span)


STATEMENTS: StatementTable = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated_assign,
    ast.AugAssign: augment,
    ast.Delete: _delete,
    ast.If: _if,
    ast.While: _while,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.Try: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Match: match,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Pass: _pass,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
}
for _node_name, _function in (("TryStar", _try), ("TypeAlias", _type_alias)):
    if hasattr(ast, _node_name):
        STATEMENTS[getattr(ast, _node_name)] = _function
