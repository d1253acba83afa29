"""Lowering of functions, lambdas and classes, which open a scope."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeAlias

from devlint.frontend import ir
from devlint.frontend.annotations import annotation_of
from devlint.frontend.expressions import arguments
from devlint.frontend.scopes import Receiver, ScopeBuilder, StatementTable, ValueTable, span_of

_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def _function(scope: ScopeBuilder, node: _Definition) -> None:
    decorators = tuple([scope.value(decorator) for decorator in node.decorator_list])
    defaults = _defaults(scope, node.args)
    parameters = _parameters(node.args)
    inner = ScopeBuilder(scope.inner_name(node.name), scope.tables, scope.renames, _receiver(scope, node, parameters))
    inner.documentation = scope.documentation + (ast.get_docstring(node, clean=False) or "")
    for parameter in parameters:
        inner.bind(parameter.name)
    _bind_type_parameters(inner, node)
    inner.run(node.body)
    span = span_of(node)
    function = ir.Function(
        name=inner.name,
        body=tuple(inner.out),
        **_names(inner),
        registers=inner.registers,
        span=span,
        parameters=parameters,
        returns=annotation_of(node.returns),
        is_generator=inner.has_yield,
        is_stub=_is_stub(node.body),
        is_wrapped=any(_name_of(each) not in ("staticmethod", "classmethod") for each in node.decorator_list),
        documentation=inner.documentation,
    )
    register = scope.register()
    scope.out.append(ir.MakeFunction(register, function, defaults, decorators, span))
    scope.store_name(node.name, register, span)


def _lambda(scope: ScopeBuilder, node: ast.Lambda) -> ir.Register:
    defaults = _defaults(scope, node.args)
    parameters = _parameters(node.args)
    inner = ScopeBuilder(scope.inner_name("<lambda>"), scope.tables, {}, _inherited_receiver(scope, parameters))
    if scope.renames:
        own = {parameter.name for parameter in parameters}
        inner.renames = {name: fresh for name, fresh in scope.renames.items() if name not in own}
    for parameter in parameters:
        inner.bind(parameter.name)
    inner.out.append(ir.Return(inner.value(node.body), span_of(node.body)))
    span = span_of(node)
    function = ir.Function(
        name=inner.name,
        body=tuple(inner.out),
        **_names(inner),
        registers=inner.registers,
        span=span,
        parameters=parameters,
        returns=None,
        is_generator=inner.has_yield,
        is_stub=False,
        is_wrapped=False,
        documentation=scope.documentation,
    )
    register = scope.register()
    scope.out.append(ir.MakeFunction(register, function, defaults, (), span))
    return register


def _class(scope: ScopeBuilder, node: ast.ClassDef) -> None:
    decorators = tuple([scope.value(decorator) for decorator in node.decorator_list])
    bases = arguments(scope, node.bases, node.keywords)
    inner = ScopeBuilder(scope.inner_name(node.name), scope.tables, scope.renames, scope.receiver, is_class=True)
    _bind_type_parameters(inner, node)
    inner.run(node.body)
    span = span_of(node)
    methods = inner.method_stores or {}
    body = ir.Class(
        name=inner.name,
        body=tuple(inner.out),
        **_names(inner),
        registers=inner.registers,
        span=span,
        self_stores={name: frozenset(stores) for name, stores in methods.items()},
        fields=tuple(
            (statement.target.id, annotation_of(statement.annotation))
            for statement in node.body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        ),
    )
    register = scope.register()
    scope.out.append(ir.MakeClass(register, body, bases, decorators, span))
    scope.store_name(node.name, register, span)


def _names(scope: ScopeBuilder) -> dict[str, Any]:
    """The fields of `ir.Scope` that say what its names mean."""
    counts = scope.local_counts()
    return {
        "local_names": frozenset(counts),
        "global_names": frozenset(scope.global_names),
        "nonlocal_names": frozenset(scope.nonlocal_names),
        "store_counts": counts,
    }


def _defaults(scope: ScopeBuilder, node: ast.arguments) -> tuple[tuple[str, ir.Register], ...]:
    """Evaluates the default values of parameters, in the scope around the function."""
    found: list[tuple[str, ir.Register]] = []
    if node.defaults:
        positional = [*node.posonlyargs, *node.args]
        with_default = positional[len(positional) - len(node.defaults) :]
        for parameter, default in zip(with_default, node.defaults, strict=True):
            found.append((parameter.arg, scope.value(default)))
    for parameter, keyword_default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        if keyword_default is not None:
            found.append((parameter.arg, scope.value(keyword_default)))
    return tuple(found)


def _parameters(node: ast.arguments) -> tuple[ir.Parameter, ...]:
    found: list[ir.Parameter] = []
    first_default = len(node.posonlyargs) + len(node.args) - len(node.defaults)
    for each in node.posonlyargs:
        found.append(_parameter(each, "positional", len(found) >= first_default))
    for each in node.args:
        found.append(_parameter(each, "normal", len(found) >= first_default))
    if node.vararg is not None:
        found.append(_parameter(node.vararg, "args", False))
    for each, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        found.append(_parameter(each, "keyword", default is not None))
    if node.kwarg is not None:
        found.append(_parameter(node.kwarg, "kwargs", False))
    return tuple(found)


def _parameter(node: ast.arg, kind: str, has_default: bool) -> ir.Parameter:
    return ir.Parameter(node.arg, kind, has_default, annotation_of(node.annotation), span_of(node))


def _receiver(scope: ScopeBuilder, node: _Definition, parameters: tuple[ir.Parameter, ...]) -> Receiver | None:
    """The receiver whose attribute stores the body of this function adds to."""
    methods = scope.method_stores
    if methods is None:
        return _inherited_receiver(scope, parameters)
    stores = methods.setdefault(node.name, set())
    if not parameters or parameters[0].kind not in ("positional", "normal"):
        return None
    if any(_name_of(each) == "staticmethod" for each in node.decorator_list):
        return None
    return Receiver(parameters[0].name, stores)


def _name_of(decorator: ast.expr) -> str | None:
    return decorator.id if type(decorator) is ast.Name else None


def _inherited_receiver(scope: ScopeBuilder, parameters: tuple[ir.Parameter, ...]) -> Receiver | None:
    """A function inside a method sees the method's receiver unless a parameter hides it."""
    receiver = scope.receiver
    if receiver is None or any(parameter.name == receiver.name for parameter in parameters):
        return None
    return receiver


def _bind_type_parameters(scope: ScopeBuilder, node: ast.AST) -> None:
    """Binds the type parameters in brackets after the name (Python 3.12) to values nobody knows."""
    for parameter in getattr(node, "type_params", ()):
        span = span_of(parameter)
        scope.store_name(parameter.name, scope.anything(span), span)


def _is_stub(body: Sequence[ast.stmt]) -> bool:
    """Whether a body has placeholders only; code after a `raise` is not reached."""
    for statement in body:
        if not _is_placeholder(statement):
            return False
        if isinstance(statement, ast.Raise):
            break
    return True


def _is_placeholder(statement: ast.stmt) -> bool:
    """Whether a statement only stands where code is missing: docstring, `...`, `pass`, not implemented."""
    if isinstance(statement, ast.Expr):
        value = statement.value
        return isinstance(value, ast.Constant) and (isinstance(value.value, str) or value.value is Ellipsis)
    if isinstance(statement, ast.Raise):
        raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return isinstance(statement, ast.Pass)


VALUES: ValueTable = {ast.Lambda: _lambda}
STATEMENTS: StatementTable = {
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
}
