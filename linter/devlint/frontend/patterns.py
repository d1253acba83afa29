"""Lowering of `match` statements to chains of `If`s."""

from __future__ import annotations

import ast
from typing import TypeAlias

from devlint.frontend import ir
from devlint.frontend.scopes import ScopeBuilder, span_between, span_of

_Chain: TypeAlias = list[tuple[list[ir.Instruction], ir.Register, ir.Block, ir.Span]]


def match(scope: ScopeBuilder, node: ast.Match) -> None:
    """Lowers `match`: each case tests the subject, and the cases after it are the `orelse` of its `If`."""
    subject = scope.value(node.subject)
    chain: _Chain = []
    for case in node.cases:
        if irrefutable(case.pattern) and case.guard is None:
            _bind_captures(scope, case.pattern, subject)
            scope.run(case.body)
            break
        test = _case_test(scope, case, subject)
        outer = scope.begin()
        if case.guard is None:
            _bind_captures(scope, case.pattern, subject)
        scope.run(case.body)
        then = scope.end(outer)
        chain.append((scope.begin(), test, then, span_between(case.pattern, case.body[-1])))
    close_chain(scope, chain)


def close_chain(scope: ScopeBuilder, chain: _Chain) -> None:
    """Ends a chain of branches, each written in the `orelse` of the one before: last branch first.

    Each entry holds the interrupted block, the register of the test, the block for its success, and the span.
    """
    for outer, test, then, span in reversed(chain):
        orelse = scope.end(outer)
        scope.out.append(ir.If(test, then, orelse, span))


def irrefutable(pattern: ast.pattern) -> bool:
    """Whether a pattern matches everything: `_` or a plain name."""
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or irrefutable(pattern.pattern)
    return isinstance(pattern, ast.MatchOr) and any(irrefutable(each) for each in pattern.patterns)


def _case_test(scope: ScopeBuilder, case: ast.match_case, subject: ir.Register) -> ir.Register:
    """Whether a case is taken; captures are bound before the condition after `if` is evaluated."""
    if case.guard is None:
        return _pattern_test(scope, case.pattern, subject)
    if irrefutable(case.pattern):
        _bind_captures(scope, case.pattern, subject)
        return scope.value(case.guard)
    target = scope.register()
    outer = scope.begin()
    matched = _pattern_test(scope, case.pattern, subject)
    first = ir.Operand(scope.end(outer), matched)
    outer = scope.begin()
    _bind_captures(scope, case.pattern, subject)
    condition = scope.value(case.guard)
    second = ir.Operand(scope.end(outer), condition)
    scope.out.append(ir.Logic(target, "and", (first, second), span_between(case.pattern, case.guard)))
    return target


def _pattern_test(scope: ScopeBuilder, pattern: ast.pattern, subject: ir.Register) -> ir.Register:
    """Lowers the question whether the subject matches; Anything where the IR has no words for it."""
    span = span_of(pattern)
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        return _pattern_test(scope, pattern.pattern, subject)
    if isinstance(pattern, ast.MatchValue):
        value = scope.value(pattern.value)
        register = scope.register()
        scope.out.append(ir.Compare(register, "==", subject, value, span))
        return register
    if isinstance(pattern, ast.MatchSingleton):
        value = scope.register()
        scope.out.append(ir.Const(value, pattern.value, span))
        register = scope.register()
        scope.out.append(ir.Compare(register, "is", subject, value, span))
        return register
    if isinstance(pattern, ast.MatchClass):
        return _class_test(scope, pattern, subject, span)
    if isinstance(pattern, ast.MatchOr) and not irrefutable(pattern):
        register = scope.register()
        operands = tuple([_pattern_operand(scope, each, subject) for each in pattern.patterns])
        scope.out.append(ir.Logic(register, "or", operands, span))
        return register
    return scope.anything(span)


def _pattern_operand(scope: ScopeBuilder, pattern: ast.pattern, subject: ir.Register) -> ir.Operand:
    outer = scope.begin()
    register = _pattern_test(scope, pattern, subject)
    return ir.Operand(scope.end(outer), register)


def _class_test(scope: ScopeBuilder, pattern: ast.MatchClass, subject: ir.Register, span: ir.Span) -> ir.Register:
    """`isinstance(subject, cls)`, and more that is not known if the pattern looks inside the subject."""
    looks_inside = bool(pattern.patterns or pattern.kwd_patterns)
    target = scope.register()
    outer = scope.begin()
    function = scope.register()
    scope.out.append(ir.Load(function, "isinstance", span))
    kind = scope.value(pattern.cls)
    result = scope.register() if looks_inside else target
    given = (
        ir.Argument(subject, None, False, span),
        ir.Argument(kind, None, False, span_of(pattern.cls)),
    )
    scope.out.append(ir.Call(result, function, given, False, span))
    block = scope.end(outer)
    if not looks_inside:
        scope.out.extend(block)
        return target
    outer = scope.begin()
    inside = scope.anything(span)
    rest = ir.Operand(scope.end(outer), inside)
    scope.out.append(ir.Logic(target, "and", (ir.Operand(block, result), rest), span))
    return target


def _bind_captures(scope: ScopeBuilder, pattern: ast.pattern, subject: ir.Register) -> None:
    """Binds the names of a pattern: to the subject where the whole of it is captured, else to Anything."""
    while isinstance(pattern, ast.MatchAs):
        if pattern.name is not None:
            scope.store_name(pattern.name, subject, span_of(pattern))
        if pattern.pattern is None:
            return
        pattern = pattern.pattern
    for name, part in _captures(pattern).items():
        span = span_of(part)
        scope.store_name(name, scope.anything(span), span)


def _captures(pattern: ast.pattern) -> dict[str, ast.pattern]:
    """The names bound inside a pattern; alternatives of an or-pattern bind the same ones."""
    found: dict[str, ast.pattern] = {}
    for part in ast.walk(pattern):
        name: str | None = None
        if isinstance(part, (ast.MatchAs, ast.MatchStar)):
            name = part.name
        elif isinstance(part, ast.MatchMapping):
            name = part.rest
        if name is not None and isinstance(part, ast.pattern):
            found.setdefault(name, part)
    return found
