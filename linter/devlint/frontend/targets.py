"""Lowering of targets: on the left of an assignment, in a `for` or `with`, or after `del`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from devlint.frontend import ir
from devlint.frontend.expressions import BINARY_OPERATORS
from devlint.frontend.scopes import ScopeBuilder, span_of


def store(scope: ScopeBuilder, node: ast.expr, source: ir.Register, statement: ast.stmt | None = None) -> None:
    """Stores a register in a target of any form.

    Args:
        scope: where.
        node: the target.
        source: the stored value.
        statement: the assignment, whose span a subscript store gets; the target's own span without one.
    """
    kind = type(node)
    if kind is ast.Name:
        scope.store_name(node.id, source, span_of(node))  # type: ignore[attr-defined]
    elif isinstance(node, ast.Attribute):
        base = scope.value(node.value)
        note_receiver_store(scope, node)
        scope.out.append(ir.StoreAttribute(base, node.attr, source, span_of(node)))
    elif isinstance(node, ast.Subscript):
        base = scope.value(node.value)
        index = scope.value(node.slice)
        scope.out.append(ir.StoreSubscript(base, index, source, span_of(statement or node)))
    elif isinstance(node, (ast.Tuple, ast.List)):
        _unpack(scope, node.elts, source, span_of(node), statement)
    elif isinstance(node, ast.Starred):
        store(scope, node.value, source, statement)


def _unpack(
    scope: ScopeBuilder,
    elements: Sequence[ast.expr],
    source: ir.Register,
    span: ir.Span,
    statement: ast.stmt | None,
) -> None:
    starred: int | None = None
    registers: list[ir.Register] = []
    for position, element in enumerate(elements):
        if type(element) is ast.Starred:
            starred = position
        registers.append(scope.register())
    scope.out.append(ir.Unpack(tuple(registers), starred, source, span))
    for element, register in zip(elements, registers, strict=True):
        store(scope, element, register, statement)


def note_receiver_store(scope: ScopeBuilder, node: ast.Attribute) -> None:
    """Records `self.name = …` for the class that the method belongs to."""
    receiver = scope.receiver
    if receiver is not None and type(node.value) is ast.Name and node.value.id == receiver.name:
        receiver.stores.add(node.attr)


def store_annotated(scope: ScopeBuilder, name: ast.Name, source: ir.Register, annotation: ir.Annotation | None) -> None:
    """Stores a register in a name that carries an annotation."""
    scope.out.append(ir.Store(scope.bind(name.id), source, span_of(name), annotation))


def augment(scope: ScopeBuilder, node: ast.AugAssign) -> None:
    """Lowers `target operator= value`: the parts of the target are evaluated once, before the value."""
    target = node.target
    span = span_of(node)
    operator = BINARY_OPERATORS[type(node.op)]
    if isinstance(target, ast.Name):
        result = _in_place(scope, operator, scope.value(target), node.value, span)
        scope.store_name(target.id, result, span)
    elif isinstance(target, ast.Attribute):
        base = scope.value(target.value)
        old = scope.register()
        scope.out.append(ir.Attribute(old, base, target.attr, span_of(target)))
        result = _in_place(scope, operator, old, node.value, span)
        note_receiver_store(scope, target)
        scope.out.append(ir.StoreAttribute(base, target.attr, result, span))
    else:
        base = scope.value(target.value)
        index = scope.value(target.slice)
        old = scope.register()
        scope.out.append(ir.Subscript(old, base, index, span_of(target)))
        result = _in_place(scope, operator, old, node.value, span)
        scope.out.append(ir.StoreSubscript(base, index, result, span))


def _in_place(scope: ScopeBuilder, operator: str, left: ir.Register, value: ast.expr, span: ir.Span) -> ir.Register:
    right = scope.value(value)
    result = scope.register()
    scope.out.append(ir.Binary(result, operator, left, right, True, span))
    return result


def delete(scope: ScopeBuilder, node: ast.expr) -> None:
    """Lowers one target of `del`; a deleted name belongs to the scope without a binding."""
    span = span_of(node)
    if isinstance(node, ast.Name):
        scope.store_counts.setdefault(node.id, 0)
        scope.out.append(ir.Delete(node.id, span))
    elif isinstance(node, ast.Attribute):
        scope.out.append(ir.DeleteAttribute(scope.value(node.value), node.attr, span))
    elif isinstance(node, ast.Subscript):
        base = scope.value(node.value)
        scope.out.append(ir.DeleteSubscript(base, scope.value(node.slice), span))
    elif isinstance(node, (ast.Tuple, ast.List)):
        for element in node.elts:
            delete(scope, element)
